"""A free intercept in dual methods that have none of their own.

The dual of a free intercept is an equation, which methods that change a few dual variables at a
time cannot keep. Instead the intercept is drawn to its last value by a proximal term, and all is
solved again from there until that has no effect (Rockafellar, 1976): with a constant column of
the right size that term is one more part of a squared l2 penalty.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..problems import Point, Problem
from .monitor import Monitor

__all__ = ["SETTINGS", "CentredMethod", "CentringSettings", "constant_column", "solve_in_rounds"]


@dataclass(frozen=True)
class CentringSettings:
    """Numbers of the rounds. None has a part in a proof."""

    # Weight of the proximal term on the intercept, in units of the loss of the best constant over
    # the square of the scale of predictions: rounds are a few, and hardly harder than without it
    proximal_weight: float = 1e-2
    # The constant column at least and at most: whatever it is, it must leave numbers to calculate
    # with
    least_constant: float = 1e-100
    largest_constant: float = 1e100
    # The gap at which the last round ends, as a share of that asked for, with an intercept, whose
    # move costs the rest, and without one; and its factor where the certificate wants more
    last_share: float = 0.5
    last_share_without: float = 0.9
    last_factor: float = 0.5
    # The gap at which the first round ends, in units of the loss of the best constant; and the
    # next ones, as a share of what the last move of the intercept was worth, and of the last
    first_gap: float = 0.1
    gap_of_move: float = 0.3
    gap_factor: float = 0.5


SETTINGS = CentringSettings()


def constant_column(problem: Problem, ridge: float) -> float:
    """The entry of a column for the intercept, 0 without one.

    ``ridge`` is the weight of half the squared norm of the coefficients.
    """
    if not problem.fit_intercept:
        return 0.0
    curvature = problem.objective_unit / problem.prediction_scale / problem.prediction_scale
    constant = np.sqrt(ridge / SETTINGS.proximal_weight) / np.sqrt(curvature)
    return float(np.clip(constant, SETTINGS.least_constant, SETTINGS.largest_constant))


class CentredMethod(ABC):
    """A method for a problem with a proximal term on the intercept, if there is one."""

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """Whether it has done what it may."""

    @abstractmethod
    def run(self, accuracy: float, most: int) -> tuple[int, float]:
        """Iterate until the gap is at most so large, at most so often, or for a while.

        Returns the number of iterations, and the gap, larger than asked for if it goes on.
        """

    @abstractmethod
    def point(self) -> Point:
        """Where it is."""

    @abstractmethod
    def recentre(self) -> float:
        """Draw the intercept to where it is now; by how much that changes predictions."""

    @abstractmethod
    def refresh(self) -> None:
        """Compute anew what has gathered rounding errors."""


def solve_in_rounds(
    method: CentredMethod, problem: Problem, monitor: Monitor, max_iter: int, free: bool
) -> None:
    """Run a method until the monitor is content, from one centre of the intercept to the next.

    ``free`` says whether there is an intercept.
    """
    goal = max(monitor.tol * problem.objective_unit, np.finfo(float).tiny)
    last = (SETTINGS.last_share if free else SETTINGS.last_share_without) * goal
    inner = SETTINGS.first_gap * problem.objective_unit if free else last
    n_iter = monitor.n_iter
    while n_iter < max_iter and not monitor.done and not method.exhausted:
        accuracy = max(last, inner)
        taken, gap = method.run(accuracy, max_iter - n_iter)
        n_iter += taken
        point = method.point()
        if gap > accuracy:
            monitor.check(n_iter, point)
            continue
        moved = abs(method.recentre()) * problem.prediction_scale if free else 0.0
        if moved + gap <= goal:
            monitor.check(n_iter, point)
            method.refresh()
            last *= SETTINGS.last_factor
        inner = min(SETTINGS.gap_of_move * moved, SETTINGS.gap_factor * inner)

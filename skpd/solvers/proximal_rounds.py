"""A free intercept in dual methods that do not support one, by proximal rounds.

The dual of a free intercept is an equation, which methods that change a few dual variables at a
time cannot satisfy. Instead, a proximal term holds the intercept near its last value, and the
problem is solved repeatedly until the intercept does not change (Rockafellar, 1976). If the
intercept is the coefficient of a constant column of suitable size, the proximal term is part of a
squared l2 penalty.
"""

from typing import Any, Protocol

import numpy as np

from ..problems import Point, Problem
from .certificate_schedule import CERTIFY_AT, FINER
from .solver_context import SolverContext

# Weight of the proximal term on the intercept, in units of the loss of the best constant over
# the squared scale of predictions. With this weight a few rounds suffice, and the conditioning
# is similar to that without the term. It is divided by the number of classes, as each has a
# share of the rows.
PROXIMAL_WEIGHT = 1e-2
# The least square of the constant column, summed over the rows, in units of the mean square of
# a singular value of X: with less, a round moves the intercept of separable data by a small
# share of what is left, as the objective hardly depends on it; with much more, sweeps over the
# rows converge slowly.
LEAST_SQUARE = 9.0
# The gap at which the first round ends, in units of the loss of the best constant; and those
# of later rounds, as a share of the effect of the last change of the intercept, and as a share
# of the last gap. The last number is also the share of the requested gap at which the last
# round ends, as the change of the intercept accounts for the rest.
FIRST_GAP = 0.1
GAP_OF_MOVE = 0.3
GAP_FACTOR = 0.5


def constant_column(problem: Problem, ridge: float) -> float:
    """The entry of a column for the intercept, 0 without one.

    ``ridge`` is the weight of half the squared norm of the coefficients.
    """
    if not problem.fit_intercept:
        return 0.0
    curvature = problem.objective_unit / problem.prediction_scale / problem.prediction_scale
    curvature /= problem.n_outputs
    constant = np.sqrt(ridge / PROXIMAL_WEIGHT) / np.sqrt(curvature)
    square_of_rows = float(np.sum(problem.squares[: problem.n_coefficients]))
    smaller_side = min(problem.n_samples, problem.n_coefficients)
    constant = max(constant, np.sqrt(LEAST_SQUARE * square_of_rows / smaller_side))
    return float(np.clip(constant, 1e-100, 1e100))  # against under- and overflow


class MethodInRounds(Protocol):
    """The base class of methods for a problem with a proximal term on its intercept.

    Attributes
    ----------
    compiled : object
        The compiled iteration. It can centre the proximal term at the current intercept, which
        returns the change of predictions, and recompute what has accumulated rounding errors.
    constant : float
        The entry of the column for the intercept (`constant_column`).
    """

    compiled: Any
    constant: float

    @property
    def exhausted(self) -> bool:
        """Whether the method has reached its own limit of work."""

    def run(self, accuracy: float, most: int) -> tuple[int, float]:
        """Iterate until the gap is at most ``accuracy``, with at most ``most`` iterations.

        The method may return earlier, to be called again. Returns the number of iterations and the
        gap, which is larger than ``accuracy`` if the method is to be called again.
        """

    def point(self) -> Point:
        """The current primal and dual point."""


def solve_in_rounds(method: MethodInRounds, context: SolverContext) -> None:
    """Run a method until the monitor's tolerance is reached, with a new centre in each round."""
    problem, monitor, free = context.problem, context.monitor, method.constant > 0.0
    share = GAP_FACTOR if free else CERTIFY_AT
    inner = FIRST_GAP * problem.objective_unit if free else 0.0
    n_iter = monitor.n_iter
    while not (context.is_over(n_iter) or method.exhausted):
        goal = max(context.monitor.goal, np.finfo(float).tiny)
        accuracy = max(share * goal, inner)
        taken, gap = method.run(accuracy, context.max_iter - n_iter)
        n_iter += taken
        point = method.point()
        if gap > accuracy:
            monitor.check(n_iter, point)
            continue
        moved = abs(method.compiled.recentre()) * problem.prediction_scale if free else 0.0
        if moved + gap <= goal or context.is_over(n_iter):
            monitor.check(n_iter, point)
            if context.is_over(n_iter):  # a refresh costs a product with the data
                return
            method.compiled.refresh()
            share *= FINER
        inner = min(GAP_OF_MOVE * moved, GAP_FACTOR * inner)

"""Minimisation of a smoothed objective, at a fixed or at decreasing levels of the smoothing."""

from abc import ABC, abstractmethod

import numpy as np

from ..._typing import Array
from ...problems import Point
from ..run import Run
from .estimate_functions import Composite, Iterate, infinite_memory, one_memory
from .settings import SETTINGS


class SmoothedObjectives(ABC):
    """The smoothed objectives of a run, which are minimised with reports to the monitor.

    Parameters
    ----------
    run : Run
    memory : {"infinite", "one"}
        The method of `skpd.solvers.accelerated.estimate_functions`.
    adaptive : bool
        Whether L is found by a search.

    Attributes
    ----------
    n_iter : int
        The number of gradients.
    """

    def __init__(self, run: Run, memory: str, adaptive: bool) -> None:
        self.run, self.problem, self.monitor = run, run.problem, run.monitor
        self.method = infinite_memory if memory == "infinite" else one_memory
        self.adaptive = adaptive
        self.n_iter = run.monitor.n_iter

    @abstractmethod
    def composite(self, w: Array, mu: float) -> Composite:
        """The objective at a level mu; the search for L starts at w."""

    @abstractmethod
    def gap(self, iterate: Iterate, n_averaged: int) -> tuple[float, Point]:
        """The estimated gap, and the point for which a certificate would be computed.

        ``n_averaged`` is the number of iterates before this one.
        """

    def variables(self, w: Array) -> Array:
        """The variables of the prox for w."""
        return w

    def coef(self, x: Array) -> Array:
        """The w of variables of the prox."""
        return x

    def minimise_by_levels(self, w: Array, largest: float, smoothing: str) -> None:
        """Minimise until the tolerance is reached, at the last level or at decreasing ones.

        ``largest`` is the largest effect of a level of 1 on the loss.
        """
        problem, monitor = self.problem, self.monitor
        tol = max(monitor.tol, SETTINGS.least_tol)
        last = SETTINGS.last_level * tol * problem.objective_unit / largest
        gap = monitor.primal - monitor.dual
        mu = max(last, SETTINGS.first_level * gap / largest) if smoothing == "homotopy" else last
        while not self.run.is_over(self.n_iter):
            final = mu <= last
            w = self.minimise(w, mu, 0.0 if final else SETTINGS.level_gap * mu * largest)
            mu = (
                SETTINGS.last_level_factor * mu if final else max(mu / SETTINGS.level_factor, last)
            )

    def minimise(self, w: Array, mu: float, error: float) -> Array:
        """Iterate until the gap of the unsmoothed loss is at most ``error``, or the run ends."""
        monitor, composite = self.monitor, self.composite(w, mu)
        enough = max(error, SETTINGS.near_goal * self.run.goal)
        before, check_at = self.n_iter, self.n_iter + SETTINGS.check_every
        x, lowest = self.variables(w), np.inf
        while True:
            for n_averaged, iterate in enumerate(self.method(composite, x)):
                self.n_iter, x = before + composite.n_gradients, iterate.x
                last = self.n_iter >= self.run.max_iter
                gap, point = self.gap(iterate, n_averaged)
                if gap <= enough or self.n_iter >= check_at or last:
                    monitor.check(self.n_iter, point)
                    part = (self.n_iter - before) // SETTINGS.check_share
                    check_at = self.n_iter + max(SETTINGS.check_every, part)
                    if monitor.done or last or gap <= error != 0.0:
                        return self.coef(x)
            # after failed searches, restart; without searches if there was no progress
            if lowest - iterate.objective <= SETTINGS.objective_rounding * abs(iterate.objective):
                composite.hessian = None
            lowest = iterate.objective

"""Estimates of the gap, and certificates where they are small enough."""

from collections.abc import Callable
from typing import NamedTuple

from ...problems import Point
from ..run import Run
from .settings import CADENCE as SETTINGS


class Result(NamedTuple):
    """The current iterate of a method.

    Attributes
    ----------
    primal, dual : float
        The objective value and the dual bound, without bounds on rounding.
    point : callable
        Returns the point for a certificate.
    """

    primal: float
    dual: float
    point: Callable[[], Point]


class Progress:
    """The iterations of a run, with a certificate where the gap is estimated to be small enough.

    Parameters
    ----------
    run : Run
    patience : float, default=2000
        Iterations without progress, at least, after which it ends unfinished (`Monitor.watch`).

    Attributes
    ----------
    n_iter : int
        The number of iterations, which the method counts.
    """

    def __init__(self, run: Run, patience: float = SETTINGS.patience) -> None:
        self.run, self.n_iter = run, run.monitor.n_iter
        self._next_check, self._next_near = self.n_iter + SETTINGS.first_check, 0
        run.monitor.watch(patience)

    @property
    def is_due(self) -> bool:
        """Whether the gap should be estimated, where an estimate costs a part of an iteration."""
        return self.n_iter % SETTINGS.estimate_every == 0 or self.n_iter >= self.run.max_iter

    @property
    def ended(self) -> bool:
        return self.run.is_over(self.n_iter) or self.run.monitor.stalled

    def report(self, result: Result, enough: float = 0.0) -> float:
        """Certify a point if its estimated gap is small, or the last certificate is long ago.

        Parameters
        ----------
        result : Result
        enough : float, default=0.0
            A gap at which the method ends, if it is larger than the requested one.

        Returns
        -------
        gap : float
            The estimated gap of the best points.
        """
        monitor, n = self.run.monitor, self.n_iter
        gap = min(result.primal, monitor.primal) - max(result.dual, monitor.dual)
        near = gap <= max(enough, SETTINGS.near_goal * self.run.goal) and n >= self._next_near
        if near or n >= min(self._next_check, self.run.max_iter):
            monitor.check(n, result.point())
            self._next_check = int(SETTINGS.check_growth * n) + 1
            self._next_near = int((1.0 + SETTINGS.check_share) * n)
        return gap


def within(run: Run, budget: float, overhead: float) -> Run:
    """The run with at most ``budget`` multiplications, in iterations of two products with X.

    ``overhead`` is the fixed cost of an iteration.
    """
    cost = SETTINGS.step_cost * run.problem.design.n_entries + overhead
    return run._replace(max_iter=run.monitor.n_iter + int(min(budget / cost, run.left)))

"""Estimates of the gap, and certificates where they are small enough."""

from collections.abc import Callable
from typing import NamedTuple

from ...problems import Point
from ..certificate_schedule import CertificateSchedule, ScheduleSettings
from ..solver_context import SolverContext
from .settings import GRADIENTS, SCHEDULE


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


class EstimateSchedule(CertificateSchedule):
    """The iterations of a run, with a certificate where the gap is estimated to be small.

    Attributes
    ----------
    n_iter : int
        The number of iterations, which the method counts.
    """

    def __init__(self, context: SolverContext, settings: ScheduleSettings = SCHEDULE) -> None:
        super().__init__(context, settings)
        self.n_iter = self.first

    @property
    def is_estimated(self) -> bool:
        """Whether the gap should be estimated, where an estimate costs a part of an iteration."""
        return self.n_iter % GRADIENTS.estimate_every == 0 or self.n_iter >= self.max_iter

    def report(self, result: Result, sufficient_gap: float = 0.0) -> float:
        """Certify a point if its estimated gap is small, or the last certificate is long ago.

        Parameters
        ----------
        result : Result
        sufficient_gap : float, default=0.0
            A gap at which the method ends, if it is larger than the requested one.

        Returns
        -------
        gap : float
            The estimated gap of the points that the monitor would keep.
        """
        monitor = self.context.monitor
        gap = monitor.gap_with(result.primal, result.dual)
        if self.is_due(self.n_iter, gap if gap > sufficient_gap else 0.0, result.primal):
            monitor.check(self.n_iter, result.point())
        return gap


def within(context: SolverContext, budget: float, overhead: float) -> SolverContext:
    """The run with at most ``budget`` multiplications, in iterations of two products with X.

    ``overhead`` is the fixed cost of an iteration.
    """
    cost = GRADIENTS.step_cost * context.problem.design.n_entries + overhead
    return context._replace(
        max_iter=context.monitor.n_iter + int(min(budget / cost, context.left))
    )

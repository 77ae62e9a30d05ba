"""Solving a problem with centred features, with certificates for the original features."""

from typing import Any

from .._typing import Array
from ..problems import Point, Problem
from .monitor import Monitor
from .run import Run

__all__ = ["centred"]


def centred(run: Run, other: Problem, shift: Array) -> Run:
    """The run of a method on the centred problem.

    ``other`` and ``shift`` are the results of `Problem.centred`. Points that solvers report are
    certified for the original problem and data.
    """
    view: Any = _View(run.monitor, other, shift)
    start = None if run.start is None else view.shifted(run.start)
    return run._replace(problem=other, monitor=view, start=start)


class _View:
    """A monitor for solvers of the centred problem, which reports to that of the original one."""

    def __init__(self, monitor: Monitor, problem: Problem, shift: Array) -> None:
        self._monitor, self.problem, self._shift = monitor, problem, shift

    def __getattr__(self, name: str) -> Any:
        return getattr(self._monitor, name)

    def shifted(self, point: Point) -> Point:
        intercept = self.problem.rows.shifted_intercept(point.intercept, self._shift, point.coef)
        return Point(point.coef, intercept, point.dual_coef)

    @property
    def best(self) -> Point:
        return self.shifted(self._monitor.best)

    def check(self, n_iter: int, point: Point) -> float:
        # the intercept is computed for the feasible coefficients, which are certified
        coef, intercept = self.problem.feasible_model(point.coef, point.intercept)
        intercept = self.problem.rows.shifted_intercept(intercept, -self._shift, coef)
        return self._monitor.check(n_iter, Point(coef, intercept, point.dual_coef))

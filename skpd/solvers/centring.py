"""Solving with centred features what is monitored with the features as they are."""

from typing import Any

from .._typing import Array
from ..problems import Point, Problem
from .monitor import Monitor

__all__ = ["centred"]


def centred(
    other: Problem, shift: Array, monitor: Monitor, start: Point | None
) -> tuple[Problem, Any, Point | None]:
    """The problem and the shift of `Problem.centred`, with a monitor and a start for its solvers.

    What solvers report is certified for the problem and the data as they were given.
    """
    view = _View(monitor, other, shift)
    return other, view, None if start is None else view.shifted(start)


class _View:
    """A monitor as solvers of the centred problem see it."""

    def __init__(self, monitor: Monitor, problem: Problem, shift: Array) -> None:
        self._monitor, self.problem, self._shift = monitor, problem, shift

    def __getattr__(self, name: str) -> Any:
        return getattr(self._monitor, name)

    def shifted(self, point: Point) -> Point:
        intercept = self.problem.shifted_intercept(point.intercept, self._shift, point.coef)
        return Point(point.coef, intercept, point.dual_coef)

    @property
    def best(self) -> Point:
        return self.shifted(self._monitor.best)

    def check(self, n_iter: int, point: Point) -> float:
        # the intercept must go with the coefficients that are certified
        coef, intercept = self.problem.feasible_model(point.coef, point.intercept)
        intercept = self.problem.shifted_intercept(intercept, -self._shift, coef)
        return self._monitor.check(n_iter, Point(coef, intercept, point.dual_coef))

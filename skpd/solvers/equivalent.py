"""Problems that are solved as equivalent ones: with centred features, or in other variables."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

from .._typing import Array
from ..problems import Point, Problem
from .monitor import Monitor
from .run import Run

Map = Callable[[Point], Point]


class _View:
    """A monitor for methods of an equivalent problem, which reports to that of the original one.

    Points are certified for the original problem and data. ``there`` and ``back`` map points of
    the original problem to those of the equivalent one, and back.
    """

    def __init__(self, monitor: Monitor, problem: Problem, there: Map, back: Map) -> None:
        self.problem = problem
        self._monitor, self._there, self._back = monitor, there, back

    def __getattr__(self, name: str) -> Any:
        return getattr(self._monitor, name)

    @property
    def method(self) -> str:
        """The name of the method that reports."""
        return self._monitor.method

    @method.setter
    def method(self, name: str) -> None:
        self._monitor.method = name

    @property
    def best(self) -> Point:
        return self._there(self._monitor.best)

    def check(self, n_iter: int, point: Point) -> float:
        return self._monitor.check(n_iter, self._back(point))


def _on(run: Run, problem: Problem, there: Map, back: Map) -> Run:
    """The run of a method on an equivalent problem."""
    view: Any = _View(run.monitor, problem, there, back)
    start = None if run.start is None else there(run.start)
    return run._replace(problem=problem, monitor=view, start=start)


def centred(run: Run, other: Problem, shift: Array) -> Run:
    """The run on the centred problem; ``other`` and ``shift`` are those of `Problem.centred`."""

    def there(point: Point) -> Point:
        intercept = other.rows.shifted_intercept(point.intercept, shift, point.coef)
        return Point(point.coef, intercept, point.dual_coef)

    def back(point: Point) -> Point:
        # the intercept is computed for the feasible coefficients, which are certified
        coef, intercept = other.feasible_model(point.coef, point.intercept)
        intercept = other.rows.shifted_intercept(intercept, -shift, coef)
        return Point(coef, intercept, point.dual_coef)

    return _on(run, other, there, back)


def in_model(method: Callable[..., None]) -> Callable[..., None]:
    """A published method, in the variables of the model where a problem has a form in these."""

    @wraps(method)
    def published(run: Run, **options: Any) -> None:
        problem, lift = run.problem, run.problem.lift
        if lift is None or (own := lift.problem_of_model(problem)) is None:
            method(run, **options)
            return

        def there(point: Point) -> Point:
            return replace(point, coef=lift.of_model(point.coef))

        def back(point: Point) -> Point:
            return replace(point, coef=lift.completed(problem, point.coef, point.intercept))

        method(_on(run, own, there, back), **options)

    return published

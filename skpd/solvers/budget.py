"""The method for a noise budget, which solves the lifted problem."""

from collections.abc import Callable
from typing import Any

from ..problems import Point
from ..problems.budget import BudgetProblem
from .monitor import Monitor
from .run import Run

__all__ = ["by_lifted_problem"]


def by_lifted_problem(run: Run, *, method: Callable[..., None]) -> None:
    """Solve the lifted problem.

    Their points are certified for the original problem, whose coefficients do not include the
    multiplier of the noise budget.

    Parameters
    ----------
    run : Run
    method : callable
        The method for the lifted problem.
    """
    problem: BudgetProblem = run.problem
    view: Any = _View(run.monitor, problem)
    start = None if run.start is None else problem.lifted_point(run.start)
    method(run._replace(problem=problem.lifted, monitor=view, start=start))


class _View:
    """A monitor for solvers of the lifted problem, which reports to that of the original one."""

    def __init__(self, monitor: Monitor, problem: BudgetProblem) -> None:
        object.__setattr__(self, "_monitor", monitor)
        object.__setattr__(self, "_given", problem)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._monitor, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._monitor, name, value)

    @property
    def problem(self) -> Any:
        return self._given.lifted

    @property
    def best(self) -> Point:
        return self._given.lifted_point(self._monitor.best)

    def check(self, n_iter: int, point: Point) -> float:
        lifted = Point(point.coef[:-1], point.intercept, point.dual_coef)
        return self._monitor.check(n_iter, lifted)

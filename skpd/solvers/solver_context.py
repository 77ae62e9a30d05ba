"""What a method is given to solve a problem."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._typing import Array
from ..designs import spectral_norm_bound
from ..problems import Point, Problem
from .monitor import Monitor


class SolverContext(NamedTuple):
    """A problem with a monitor, a start and limits, which methods take as their only argument.

    Attributes
    ----------
    problem : Problem
    monitor : Monitor
        The monitor to which points are reported.
    start : Point or None
        The starting point; None for the start of the method.
    max_iter : int
        The largest number of iterations, including those of earlier methods.
    random_state : RandomState
        The source of random numbers, such as start vectors of norm estimates and orders of rows.
    """

    problem: Problem
    monitor: Monitor
    start: Point | None
    max_iter: int
    random_state: np.random.RandomState

    @property
    def first(self) -> Point:
        """The start, or the best constant prediction without one."""
        return self.problem.null_point if self.start is None else self.start

    @property
    def first_theta(self) -> Array:
        """The feasible dual variables nearest to those of the start, 0 without one."""
        problem = self.problem
        if self.start is None:
            return np.zeros(problem.n_samples)
        return problem.loss.project_dual(problem.y, self.start.dual_coef)

    @property
    def left(self) -> int:
        """The number of iterations that are left."""
        return self.max_iter - self.monitor.n_iter

    def is_over(self, n_iter: int) -> bool:
        """Whether a method ends after this number of iterations."""
        return self.monitor.done or n_iter >= self.max_iter

    def solved(
        self, problem: Problem, tol: float, method: Callable[..., None],
        on_check: Callable[[Monitor], bool | None] | None = None,
    ) -> Monitor:  # fmt: skip
        """The monitor of a run of a method on another problem, with this start and this limit."""
        monitor = Monitor(problem, tol, on_check)
        monitor.begin(has_start=self.start is not None)
        if not monitor.done:
            method(self._replace(problem=problem, monitor=monitor))
        return monitor

    def norm(self, problem: Problem, roots: Array) -> float:
        """A bound on the spectral norm of diag(roots) A for the predictions A x of a problem."""
        return spectral_norm_bound(
            lambda x: roots * problem.matvec(x), lambda rows: problem.rmatvec(roots * rows),
            (problem.n_samples, problem.n_variables), self.random_state,
        )  # fmt: skip

    def seed(self) -> int:
        """A seed of the random numbers of a compiled method."""
        return int(self.random_state.randint(1, np.iinfo(np.int32).max))

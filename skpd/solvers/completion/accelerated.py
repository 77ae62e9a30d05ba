"""Soft-impute with acceleration: proximal gradients with singular value thresholding.

    M <- prox of (alpha / L) ||.||_* at  Y - (entries of the gradient at Y) / L

(Mazumder, Hastie and Tibshirani, 2010, Spectral regularization algorithms), at points Y ahead of M
(Beck and Teboulle, 2009) until the momentum points uphill (O'Donoghue and Candes, 2015). The free
numbers are at their best for every Y, which leaves the constant L of the gradient as it is.
"""

from math import sqrt

import numpy as np

from ..._typing import Array
from ...problems import Point
from ...problems.completion import CompletionProblem
from ..monitor import Monitor
from .factors import Factors, SingularThreshold
from .progress import Progress
from .settings import SETTINGS

__all__ = ["soft_impute"]


def soft_impute(
    problem: CompletionProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """Accelerated soft-impute, for a smooth loss.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `skpd.solvers.proximal.pdprox.pdprox_dual`.
    """
    run = _Run(problem, problem.null_point if start is None else start, random_state)
    progress = Progress(problem, monitor, max_iter, SETTINGS.estimate_every)
    try:
        while not progress.ended:
            run.step()
            progress.n_iter += 1
            if progress.is_due:
                progress.report(*run.result())
    except KeyboardInterrupt:
        monitor.check(progress.n_iter, run.result()[1])
        raise


class _Run:
    """The matrix M, the point Y ahead of it, their entries and the free numbers."""

    def __init__(
        self, problem: CompletionProblem, start: Point, random_state: np.random.RandomState
    ) -> None:
        self.problem = problem
        self.threshold = SingularThreshold(problem.design, random_state)
        self.curvature = problem.loss.smoothness * problem.largest_weight
        self.M = self.Y = Factors.of(start.coef, problem.design)
        self.of_M = self.of_Y = problem.design.entries(*self.M)
        self.free, self.momentum = start.intercept, 1.0

    def step(self) -> None:
        """A proximal gradient step from Y, and the next Y."""
        problem, before = self.problem, self.M
        theta, self.free = self._fitted(self.of_Y, self.free)
        entries = problem.design.of_rows(problem.weights * theta) / -self.curvature
        M = self.threshold(self.Y, entries, problem.alpha / self.curvature)
        of_M = problem.design.entries(*M)
        # whether M - M_before and Y - M point the same way
        move = M.plus(before.times(-1.0))
        if self.Y.plus(M.times(-1.0)).dot(move) > 0.0:
            self.momentum = 1.0
        momentum = 0.5 * (1.0 + sqrt(1.0 + 4.0 * self.momentum**2))
        ahead = (self.momentum - 1.0) / momentum
        self.Y = M.times(1.0 + ahead).plus(before.times(-ahead)) if ahead else M
        self.of_Y = of_M + ahead * (of_M - self.of_M)
        self.M, self.of_M, self.momentum = M, of_M, momentum

    def _fitted(self, entries: Array, free: Array) -> tuple[Array, Array]:
        """The derivatives of the losses, and the free numbers nearer to their best before that."""
        problem = self.problem
        z, groups = problem.design.to_rows(entries), problem.groups
        if groups is None:
            return problem.loss.gradient(problem.y, z), free
        for _ in range(1 if problem.loss.constant_curvature else SETTINGS.free_steps):
            theta = problem.loss.gradient(problem.y, z + groups.values(free))
            sums = groups.sums(problem.weights * theta)
            step = groups.solve_for_weights(sums, SETTINGS.free_accuracy)
            free = free - step / problem.loss.smoothness
        return problem.loss.gradient(problem.y, z + groups.values(free)), free

    def result(self) -> tuple[float, Point]:
        """The objective at M and the point that it makes with the derivatives there."""
        problem = self.problem
        theta, free = self._fitted(self.of_M, self.free)
        z = problem.design.to_rows(self.of_M) + problem.free_values(free)
        coef = self.M.coef
        primal = float(problem.weights @ problem.loss.value(problem.y, z))
        primal += problem.alpha * problem.penalty.value(coef)
        return primal, Point(coef, free, theta)

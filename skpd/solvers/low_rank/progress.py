"""When a method whose iterates are factors asks for a certificate."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._typing import Array
from ...certificates import relative_gap
from ...designs.largest_singular import estimated_largest_singular_value
from ...problems import Point
from ..monitor import Monitor
from .models import LowRankModel
from .settings import SETTINGS

__all__ = ["Progress", "Result"]


class Result(NamedTuple):
    """Where a method is.

    Attributes
    ----------
    primal : float
        The objective, by plain sums.
    theta : ndarray
        Dual variables.
    vectors : ndarray of shape (n_columns, rank)
        Those that a largest singular vector of the gradient is looked for among: near the solution
        the singular values of all that have a part in the matrix are nearly the same.
    point : callable
        Makes the point, which may be larger than what iterations hold.
    """

    primal: float
    theta: Array
    vectors: Array
    point: Callable[[], Point]


class Progress:
    """Estimates gaps by a few Lanczos steps, and checks where they are small enough.

    Parameters
    ----------
    model : LowRankModel
    monitor : Monitor
    max_iter : int
    every : int
        Iterations between estimates.
    """

    def __init__(self, model: LowRankModel, monitor: Monitor, max_iter: int, every: int) -> None:
        self.model, self.monitor, self.every = model, monitor, every
        self.n_iter, self.max_iter = monitor.n_iter, max_iter
        self._next_check = self.n_iter + SETTINGS.first_check
        self._next_near = 0
        self._dual = -np.inf

    @property
    def is_due(self) -> bool:
        """Whether the gap should be estimated."""
        return self.n_iter % self.every == 0 or self.n_iter >= self.max_iter

    @property
    def ended(self) -> bool:
        return self.monitor.done or self.n_iter >= self.max_iter

    def report(self, result: Result) -> None:
        """Check a point if the gap seems small enough, or has not been seen for long."""
        self._dual = max(self._dual, self._estimated_dual(result.theta, result.vectors))
        gap = min(result.primal, self.monitor.primal) - self._dual
        near = relative_gap(self.model.problem, gap) <= SETTINGS.near_goal * self.monitor.tol
        near &= self.n_iter >= self._next_near
        if near or self.n_iter >= min(self._next_check, self.max_iter):
            self.monitor.check(self.n_iter, result.point())
            self._next_check = int(SETTINGS.check_growth * self.n_iter) + 1
            self._next_near = int((1.0 + SETTINGS.check_share) * self.n_iter)

    def _estimated_dual(self, theta: Array, vectors: Array) -> float:
        """The dual value of theta, scaled to be feasible, by plain sums."""
        problem, gradient = self.model.problem, self.model.gradient(theta)
        start = _largest_among(vectors, gradient @ vectors)
        sigma, _ = estimated_largest_singular_value(gradient, start, SETTINGS.lanczos_steps)
        scale = min(1.0, problem.alpha / sigma) if sigma > 0.0 else 1.0
        return -float(problem.weights @ problem.loss.conjugate(problem.y, scale * theta))


def _largest_among(vectors: Array, products: Array) -> Array | None:
    """The combination of vectors whose product is the largest, by those with the vectors."""
    square = products.T @ products
    if not np.isfinite(square).all():
        return None
    combination: Array = vectors @ np.linalg.eigh(square)[1][:, -1]
    return combination

"""Estimates of the gap and certificates for methods whose iterates are factors."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._typing import Array
from ...certificates import relative_gap
from ...designs.largest_singular import estimated_largest_singular_value
from ...problems import Point
from ..run import Run
from .models import LowRankModel
from .settings import SETTINGS


class Result(NamedTuple):
    """The current iterate of a method.

    Attributes
    ----------
    primal : float
        The objective value, without bounds on rounding.
    theta : ndarray
        The dual variables.
    vectors : ndarray of shape (n_columns, rank)
        Singular vectors of the matrix, in whose span the largest singular vector of the gradient
        is estimated: near the solution, all of them have nearly the largest singular value.
    point : callable
        Returns the point for a certificate.
    """

    primal: float
    theta: Array
    vectors: Array
    point: Callable[[], Point]


class Progress:
    """Estimates of the gap by a few Lanczos steps, with certificates when it is small enough.

    Parameters
    ----------
    model : LowRankModel
    run : Run
    every : int
        Iterations between estimates.
    """

    def __init__(self, model: LowRankModel, run: Run, every: int) -> None:
        self.model, self.run, self.every = model, run, every
        self.n_iter = run.monitor.n_iter
        self._next_check = self.n_iter + SETTINGS.first_check
        self._next_near = 0
        self._dual = -np.inf

    @property
    def is_due(self) -> bool:
        """Whether the gap should be estimated."""
        return self.n_iter % self.every == 0 or self.n_iter >= self.run.max_iter

    @property
    def ended(self) -> bool:
        return self.run.is_over(self.n_iter)

    def report(self, result: Result) -> None:
        """Certify a point if its estimated gap is small, or the last certificate is long ago."""
        monitor = self.run.monitor
        self._dual = max(self._dual, self._estimated_dual(result.theta, result.vectors))
        gap = min(result.primal, monitor.primal) - self._dual
        near = relative_gap(self.model.problem, gap) <= SETTINGS.near_goal * monitor.tol
        near &= self.n_iter >= self._next_near
        if near or self.n_iter >= min(self._next_check, self.run.max_iter):
            monitor.check(self.n_iter, result.point())
            self._next_check = int(SETTINGS.check_growth * self.n_iter) + 1
            self._next_near = int((1.0 + SETTINGS.check_share) * self.n_iter)

    def _estimated_dual(self, theta: Array, vectors: Array) -> float:
        """The estimated dual value of theta, scaled to be feasible."""
        problem, gradient = self.model.problem, self.model.gradient(theta)
        start = _largest_among(vectors, gradient @ vectors)
        sigma, _ = estimated_largest_singular_value(gradient, start, SETTINGS.lanczos_steps)
        scale = min(1.0, problem.alpha / sigma) if sigma > 0.0 else 1.0
        return -float(problem.weights @ problem.loss.conjugate(problem.y, scale * theta))


def _largest_among(vectors: Array, products: Array) -> Array | None:
    """The unit combination of vectors with the largest product, from the vectors' products."""
    square = products.T @ products
    if not np.isfinite(square).all():
        return None
    return vectors @ np.linalg.eigh(square)[1][:, -1]

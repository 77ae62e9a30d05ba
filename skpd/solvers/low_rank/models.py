"""Problems with a matrix of low rank: predictions, gradients, free numbers.

No array of the size of the matrix is formed, and gradients are linear maps.
"""

from abc import abstractmethod
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from ..._typing import Array
from ...designs import spectral_norm_bound
from ...designs.largest_singular import estimated_largest_singular_value
from ...problems import Point
from ..accelerated.certified_estimates import Result
from ..accelerated.proximal_gradient import SmoothModel
from ..solver_context import SolverContext
from .factors import Factors, SingularThreshold, Sum
from .settings import SETTINGS


class LowRankModel(SmoothModel):
    """The part of a problem that depends on the map from the matrix M to predictions.

    The free numbers are optimised for every y, which does not increase the curvature.

    Attributes
    ----------
    shape : tuple of int
        The shape of the matrix M.
    has_free : bool
        Whether there are free numbers.
    free : ndarray
        The free numbers.
    """

    shape: tuple[int, int]
    has_free: bool

    def __init__(self, context: SolverContext) -> None:
        super().__init__(context.problem, context.problem.weights)
        self.free, self.random_state = context.first.intercept, context.random_state
        self.threshold = SingularThreshold(context.random_state)

    @abstractmethod
    def free_step(self, theta: Array) -> Array | float:
        """The solution f of F' diag(c) (theta - F f) = 0, a step for losses of curvature 1."""

    @abstractmethod
    def point(self, M: Factors, free: Array, theta: Array) -> Point: ...

    def predictions(self, image: Array) -> Array:
        return self.shifted(image, self.free)

    def shifted(self, image: Array, free: Array) -> Array:
        """The predictions of M and free numbers."""
        return image + self.problem.rows.spread(free) if self.has_free else image

    def linearise(self, image: Array) -> None:
        self.free = self.fitted(image)
        super().linearise(image)

    def fitted(self, image: Array) -> Array:
        """The free numbers, improved by some steps for M of the given image."""
        loss, y, free = self.problem.loss, self.problem.y, self.free
        rounds = 1 if loss.constant_curvature else SETTINGS.free_steps
        for _ in range(rounds if self.has_free else 0):
            theta = loss.gradient(y, self.shifted(image, free))
            free = free - self.free_step(theta) / loss.smoothness
        return free

    def proximal_step(self, y: Factors, curvature: float) -> Factors:
        towards = Sum(y, -1.0 / curvature, self.slope)
        return self.threshold.truncated(towards, self.problem.alpha / curvature)

    def inner(self, x: Factors, other: Factors) -> float:
        return x.dot(other)

    def result(self, x: Factors, image: Array) -> Result:
        free = self.fitted(image)
        loss, theta = self.evaluate(self.shifted(image, free))
        return self.result_of(x, free, loss, theta)

    def result_of(self, M: Factors, free: Array, loss: float, theta: Array) -> Result:
        """The result of M and dual variables, whose bound is estimated by a few Lanczos steps.

        The largest singular vector of the gradient is estimated in the span of the singular
        vectors of M: near the solution, all of them have nearly the largest singular value.
        """
        gradient, vectors = self.gradient(theta), self.threshold.vectors
        start = _largest_among(vectors, gradient @ vectors)
        sigma, *_ = estimated_largest_singular_value(gradient, start, SETTINGS.lanczos_steps)
        scale = min(1.0, self.problem.alpha / sigma) if sigma > 0.0 else 1.0
        dual = -float(self.weights @ self.problem.loss.conjugate(self.problem.y, scale * theta))
        primal = loss + self.problem.alpha * M.trace_norm
        return Result(primal, dual, partial(self.point, M, free, theta))


def _largest_among(vectors: Array, products: Array) -> Array | None:
    """The unit combination of vectors with the largest product, from the vectors' products."""
    square = products.T @ products
    if not np.isfinite(square).all():
        return None
    return vectors @ np.linalg.eigh(square)[1][:, -1]


class OutputsModel(LowRankModel):
    """The model X W of several outputs, whose gradients are products X' R."""

    def __init__(self, context: SolverContext) -> None:
        super().__init__(context)
        self.X = self.problem.design.base
        self.n_outputs, self.has_free = self.problem.n_outputs, self.problem.fit_intercept
        self.shape = self.X.shape[1], self.n_outputs
        features = np.arange(self.shape[0])
        self.X_map = LinearOperator(
            self.X.shape, dtype=np.float64, matvec=lambda v: self.X.matvec(np.ravel(v)),
            rmatvec=lambda r: self.X.rmatvec(np.ravel(r)),
            matmat=lambda table: self.X.matmul(np.ascontiguousarray(table), features),
            rmatmat=lambda rows: self.X.rmatmul(np.ascontiguousarray(rows)),
        )  # fmt: skip

    def image(self, x: Factors) -> Array:
        return np.ravel((self.X_map @ x.U) @ x.V.T)

    def gradient(self, theta: Array) -> Any:
        rows = (self.weights * theta).reshape(-1, self.n_outputs)
        return self.X_map.T @ aslinearoperator(rows)

    def free_step(self, theta: Array) -> Array | float:
        return self.problem.rows.sums(self.weights * theta) / self.problem.rows.sums(self.weights)

    def first_curvature(self) -> float:
        root = np.sqrt(self.weights[:: self.n_outputs])
        norm = spectral_norm_bound(
            lambda v: root * self.X.matvec(v), lambda r: self.X.rmatvec(root * r),
            self.X.shape, self.random_state,
        )  # fmt: skip
        return self.problem.loss.smoothness * norm**2

    def start(self, point: Point) -> Factors:
        W = np.reshape(point.coef, self.shape)
        if not W.any():
            return Factors(np.zeros((self.shape[0], 0)), np.zeros((self.shape[1], 0)))
        left, values, right = np.linalg.svd(W, full_matrices=False)
        kept = values > SETTINGS.negligible * values[0]
        return Factors(left[:, kept] * values[kept], np.ascontiguousarray(right[kept].T))

    def point(self, M: Factors, free: Array, theta: Array) -> Point:
        problem = self.problem
        variables = problem.join(np.ravel(M.U @ M.V.T), free)
        return Point(*problem.split(variables), theta)

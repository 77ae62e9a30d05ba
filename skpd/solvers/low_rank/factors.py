"""Matrices given by factors, and singular value thresholding of low rank plus a gradient.

The prox of t ||.||_* subtracts t from the singular values. Its argument is a matrix of low rank
plus one that is sparse, or a product of two matrices (Mazumder, Hastie and Tibshirani, 2010). Its
largest singular values are found by subspace iteration, started at the vectors of the last
decomposition.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ... import kernels
from ..._typing import Array
from ...designs import SubspaceIteration
from .settings import SETTINGS


class LinearMap(Protocol):
    """A matrix, or what has its shape, its transpose and its products with vectors."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def T(self) -> "LinearMap": ...

    def __matmul__(self, vectors: Array) -> Array: ...


@dataclass(frozen=True, eq=False)
class Factors:
    """The matrix U V', given by its factors U and V."""

    U: Array
    V: Array

    __array_ufunc__ = None  # NumPy's scalars then leave products to __rmul__

    @property
    def coef(self) -> Array:
        """The table of coefficients, U above V."""
        return np.vstack([self.U, self.V])

    @property
    def rank(self) -> int:
        """The number of columns of U and of V."""
        return int(self.U.shape[1])

    @property
    def trace_norm(self) -> float:
        """The trace norm of U V', for factors of singular vectors times roots of the values."""
        return 0.5 * float(np.sum(self.U**2) + np.sum(self.V**2))

    def __rmul__(self, scale: float) -> "Factors":
        return Factors(scale * self.U, self.V)

    def __add__(self, other: "Factors") -> "Factors":
        return Factors(np.hstack([self.U, other.U]), np.hstack([self.V, other.V]))

    def __sub__(self, other: "Factors") -> "Factors":
        return self + -1.0 * other

    def dot(self, other: "Factors") -> float:
        """The sum of products of entries, without cancellation for small differences."""
        products = (self.U.T @ other.U) * (self.V.T @ other.V)
        value, size = float(np.sum(products)), float(np.sum(np.abs(products)))
        if abs(value) >= SETTINGS.negligible * size:
            return value
        (Q, R), (P, S) = np.linalg.qr(self.U), np.linalg.qr(self.V)
        return float(np.sum((R @ S.T) * ((Q.T @ other.U) @ (other.V.T @ P))))


class Sum:
    """The linear map U V' plus a multiple of another linear map."""

    def __init__(self, low_rank: Factors, scale: float, other: LinearMap) -> None:
        self.low_rank, self.scale, self.other = low_rank, scale, other

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.low_rank.U), len(self.low_rank.V)

    def __matmul__(self, vectors: Array) -> Array:
        product: Array = self.low_rank.U @ (self.low_rank.V.T @ vectors)
        return product + self.scale * (self.other @ vectors)

    @property
    def T(self) -> "Sum":
        return Sum(Factors(self.low_rank.V, self.low_rank.U), self.scale, self.other.T)


class SingularThreshold:
    """Singular value thresholding, started at the singular vectors of the last call.

    Parameters
    ----------
    random_state : RandomState
        The source of the first start vectors.
    rank : int, default=None
        A fixed number of singular values that are kept at most. By default it follows the number
        above the threshold.

    Attributes
    ----------
    rank : int
        The number of singular values that the next call computes first.
    largest : SubspaceIteration
        The largest singular triplets of a matrix.
    level : float
        The number that the last call subtracted from the singular values.
    """

    def __init__(self, random_state: np.random.RandomState, rank: int | None = None) -> None:
        self.largest = SubspaceIteration(
            random_state, SETTINGS.extra_vectors, SETTINGS.warm_sweeps, SETTINGS.cold_sweeps
        )
        self.is_fixed, self.rank, self.level = rank is not None, rank or SETTINGS.first_rank, 0.0

    @property
    def vectors(self) -> Array:
        """The right singular vectors of the last call and some more, as columns."""
        return self.largest.V

    def __call__(self, M: LinearMap, threshold: float) -> Factors:
        """The matrix or linear map with its singular values reduced by a threshold."""
        while True:
            rank = self.rank
            factors = self.truncated(M, threshold)
            if factors.rank <= rank or factors.rank == min(M.shape):
                return factors

    def truncated(self, M: LinearMap, threshold: float) -> Factors:
        """The matrix of the largest singular values reduced by a threshold.

        If more singular values may be above the threshold, the next call computes twice as many.
        This is sufficient for iterates that converge to a matrix of low rank.
        """
        U, sigma, right = self.largest(M, min(self.rank, *M.shape))
        if self.is_fixed:
            sigma = sigma[: self.rank]
        self.level = self._level(sigma, threshold)
        rounding = SETTINGS.negligible * float(np.max(sigma, initial=0.0))
        kept = int(np.sum(sigma > max(self.level, rounding)))
        if not self.is_fixed:
            self.rank = 2 * self.rank if kept > self.rank else max(kept + 1, SETTINGS.first_rank)
        roots = np.sqrt(sigma[:kept] - self.level)
        return Factors(U[:, :kept] * roots, right[:kept].T * roots)

    def _level(self, sigma: Array, threshold: float) -> float:
        return threshold


def ball_level(sigma: Array, radius: float) -> float:
    """The least tau >= 0 with sum_j max(sigma_j - tau, 0) <= radius."""
    inside = kernels.project_l1_ball(np.ascontiguousarray(sigma), radius)
    return float(np.max(sigma - inside, initial=0.0))


class BallProjection(SingularThreshold):
    """Projections onto the trace-norm ball, whose radius is the threshold of a call."""

    def _level(self, sigma: Array, threshold: float) -> float:
        return ball_level(sigma, threshold)


def compressed(factors: Factors) -> Factors:
    """The matrix U V' with factors that have as many columns as its rank.

    The new factors are singular vectors times the square roots of the singular values.
    """
    Q, R = np.linalg.qr(factors.U)
    P, S = np.linalg.qr(factors.V)
    left, sigma, right = np.linalg.svd(R @ S.T, full_matrices=False)
    kept = int(np.sum(sigma > SETTINGS.negligible * np.max(sigma, initial=0.0)))
    roots = np.sqrt(sigma[:kept])
    return Factors(Q @ (left[:, :kept] * roots), P @ (right[:kept].T * roots))

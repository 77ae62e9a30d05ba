"""Matrices given by factors, and singular value thresholding of low rank plus a gradient.

The prox of t ||.||_* subtracts t from the singular values. Its argument is a matrix of low rank
plus one that is sparse, or a product of two matrices (Mazumder, Hastie and Tibshirani, 2010). Its
largest singular values are found by subspace iteration, started at the vectors of the last
decomposition.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import Array
from ...designs import SubspaceIteration
from .settings import SETTINGS


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
        return self.U.shape[1]

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

    def __init__(self, low_rank: Factors, scale: float, other: Any) -> None:
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
    """

    def __init__(self, random_state: np.random.RandomState) -> None:
        self._largest = SubspaceIteration(
            random_state, SETTINGS.extra_vectors, SETTINGS.warm_sweeps, SETTINGS.cold_sweeps
        )
        self.rank = SETTINGS.first_rank

    @property
    def vectors(self) -> Array:
        """The right singular vectors of the last call and some more, as columns."""
        return self._largest.V

    def __call__(self, M: Any, threshold: float) -> Factors:
        """The matrix or linear map with its singular values reduced by a threshold."""
        while True:
            rank = self.rank
            found = self.truncated(M, threshold)
            if found.rank <= rank or found.rank == min(M.shape):
                return found

    def truncated(self, M: Any, threshold: float) -> Factors:
        """The matrix of the largest singular values reduced by a threshold.

        If more singular values may be above the threshold, the next call computes twice as many.
        This is sufficient for iterates that converge to a matrix of low rank.
        """
        U, sigma, right = self._largest(M, min(self.rank, *M.shape))
        kept = int(np.sum(sigma > threshold))
        self.rank = 2 * self.rank if kept > self.rank else max(kept + 1, SETTINGS.first_rank)
        roots = np.sqrt(sigma[:kept] - threshold)
        return Factors(U[:, :kept] * roots, right[:kept].T * roots)


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

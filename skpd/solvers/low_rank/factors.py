"""Matrices by their factors, and singular value thresholding of low rank plus a gradient.

The prox of t ||.||_* takes t off the singular values. Its argument is a matrix of low rank plus
one that is sparse, or a product of two (Mazumder, Hastie and Tibshirani, 2010), of which the
largest singular values are found by subspace iteration from the vectors of the last decomposition.
"""

from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array
from .settings import SETTINGS

__all__ = ["Factors", "SingularThreshold", "Sum", "compressed"]


class Factors(NamedTuple):
    """U V'."""

    U: Array
    V: Array

    @property
    def coef(self) -> Array:
        """The table of coefficients, U above V."""
        return np.vstack([self.U, self.V])

    def times(self, scale: float) -> "Factors":
        return Factors(scale * self.U, self.V)

    def plus(self, other: "Factors") -> "Factors":
        return Factors(np.hstack([self.U, other.U]), np.hstack([self.V, other.V]))

    def square(self) -> float:
        """The sum of the squares of all entries, precise also for a small difference."""
        products = (self.U.T @ self.U) * (self.V.T @ self.V)
        value, size = float(np.sum(products)), float(np.sum(np.abs(products)))
        if value >= SETTINGS.cancelled * size:
            return value
        R, S = (np.asarray(np.linalg.qr(factor, mode="r")) for factor in self)
        return float(np.sum((R @ S.T) ** 2))


class Sum:
    """U V' plus a multiple of a linear map."""

    def __init__(self, low_rank: Factors, scale: float, other: Any) -> None:
        self.low_rank, self.scale, self.other = low_rank, scale, other

    def __matmul__(self, vectors: Array) -> Array:
        product: Array = self.low_rank.U @ (self.low_rank.V.T @ vectors)
        return product + self.scale * (self.other @ vectors)

    @property
    def T(self) -> "Sum":
        return Sum(Factors(self.low_rank.V, self.low_rank.U), self.scale, self.other.T)


class SingularThreshold:
    """Singular value thresholding with the vectors of the last call.

    Parameters
    ----------
    shape : tuple of int
        That of the matrices.
    random_state : RandomState
        Vectors to begin with.
    """

    def __init__(self, shape: tuple[int, int], random_state: np.random.RandomState) -> None:
        self.most, self.random_state = min(shape), random_state
        self.rank = SETTINGS.first_rank
        self._right: Array = np.empty((shape[1], 0))

    def __call__(self, M: Any, threshold: float) -> Factors:
        """A matrix, or a linear map, with its singular values less a threshold."""
        transposed = M.T
        while True:
            U, sigma, V = self._largest(M, transposed, min(self.rank, self.most))
            kept = int(np.sum(sigma > threshold))
            if kept <= self.rank or len(sigma) == self.most:
                break
            self.rank = 2 * self.rank
        self.rank = max(kept + 1, SETTINGS.first_rank)
        roots = np.sqrt(sigma[:kept] - threshold)
        return Factors(U[:, :kept] * roots, V[:, :kept] * roots)

    def _largest(self, M: Any, transposed: Any, rank: int) -> tuple[Array, Array, Array]:
        n_vectors = min(rank + SETTINGS.extra_vectors, self.most)
        V = self._right[:, :n_vectors]
        missing = n_vectors - V.shape[1]
        sweeps = SETTINGS.warm_sweeps
        if missing:
            new = self.random_state.standard_normal((len(V), missing))
            V, sweeps = np.hstack([V, new]), SETTINGS.cold_sweeps
        for sweep in range(sweeps):
            Q = np.linalg.qr(M @ V)[0]
            V = transposed @ Q
            if sweep < sweeps - 1:
                V = np.linalg.qr(V)[0]
        right, sigma, inner = np.linalg.svd(V, full_matrices=False)
        self._right = right
        return Q @ inner.T, sigma, right


def compressed(factors: Factors) -> Factors:
    """The same matrix by factors with as many columns as it has rank."""
    Q, R = np.linalg.qr(factors.U)
    P, S = np.linalg.qr(factors.V)
    left, sigma, right = np.linalg.svd(R @ S.T, full_matrices=False)
    kept = int(np.sum(sigma > SETTINGS.negligible * np.max(sigma, initial=0.0)))
    roots = np.sqrt(sigma[:kept])
    return Factors(Q @ (left[:, :kept] * roots), P @ (right[:kept].T * roots))

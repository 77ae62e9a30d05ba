"""Matrices by their factors, and singular value thresholding of low rank plus some entries.

The prox of t ||.||_* takes t off the singular values. Its argument is a matrix of low rank plus
one with the pattern of the data (Mazumder, Hastie and Tibshirani, 2010), of which the largest
singular values are found by subspace iteration from the vectors of the last decomposition.
"""

from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array
from ...designs import EntriesDesign
from .settings import SETTINGS

__all__ = ["Factors", "SingularThreshold", "compressed"]


class Factors(NamedTuple):
    """U V'."""

    U: Array
    V: Array

    @classmethod
    def of(cls, coef: Array, design: EntriesDesign) -> "Factors":
        return cls(coef[: design.n_left], coef[design.n_left :])

    @property
    def coef(self) -> Array:
        """The table of coefficients, U above V."""
        return np.vstack([self.U, self.V])

    def times(self, scale: float) -> "Factors":
        return Factors(scale * self.U, self.V)

    def plus(self, other: "Factors") -> "Factors":
        return Factors(np.hstack([self.U, other.U]), np.hstack([self.V, other.V]))

    def dot(self, other: "Factors") -> float:
        """The sum of the products of all entries."""
        return float(np.sum((self.U.T @ other.U) * (self.V.T @ other.V)))


class _Sum:
    """U V' plus a sparse matrix."""

    def __init__(self, left: Array, right: Array, sparse: Any) -> None:
        self.left, self.right, self.sparse = left, right, sparse

    def __matmul__(self, vectors: Array) -> Array:
        product: Array = self.sparse @ vectors
        return product + self.left @ (self.right.T @ vectors)


class SingularThreshold:
    """Singular value thresholding of U V' plus entries, with the vectors of the last call.

    Parameters
    ----------
    design : EntriesDesign
    random_state : RandomState
        Vectors to begin with.
    """

    def __init__(self, design: EntriesDesign, random_state: np.random.RandomState) -> None:
        self.design, self.random_state = design, random_state
        self.rank = SETTINGS.first_rank
        self._right: Array = np.empty((design.n_right, 0))

    def __call__(self, low_rank: Factors, entries: Array, threshold: float) -> Factors:
        """The matrix U V' + entries with its singular values less a threshold."""
        M = _Sum(*low_rank, self.design.matrix(entries))
        transposed = _Sum(*low_rank[::-1], self.design.transposed_matrix(entries))
        return self.of(M, transposed, threshold)

    def of(self, M: Any, transposed: Any, threshold: float) -> Factors:
        """The same for any linear map and its transpose."""
        most = min(self.design.n_left, self.design.n_right)
        while True:
            U, sigma, V = self._largest(M, transposed, min(self.rank, most))
            kept = int(np.sum(sigma > threshold))
            if kept <= self.rank or len(sigma) == most:
                break
            self.rank = 2 * self.rank
        self.rank = max(kept + 1, SETTINGS.first_rank)
        roots = np.sqrt(sigma[:kept] - threshold)
        return Factors(U[:, :kept] * roots, V[:, :kept] * roots)

    def _largest(self, M: Any, transposed: Any, rank: int) -> tuple[Array, Array, Array]:
        n_vectors = min(rank + SETTINGS.extra_vectors, self.design.n_left, self.design.n_right)
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

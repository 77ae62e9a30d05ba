"""Cholesky factors of RKHS kernel matrices: pivoted ones of low rank, and whole ones."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpstrf

from ..._floats import EPSILON
from ..._typing import Array, Indices
from ...designs.threads import blas_threads_for_product

ValuesOf = Callable[[Indices], Array]  # rows of K, of shape (n_rows, n_samples), by their indices
# The number of pivots chosen at a time: larger blocks make products faster, smaller ones choose
# better pivots.
PIVOTS = 64
# The least pivot of a block, relative to the largest; smaller ones wait for the next block.
LEAST_PIVOT = 0.01
# The share of rows as pivots at which the decrease of the residual is first checked. The partial
# factorisation continues only if it is expected to end before the share WORTH, above which an
# ordinary factorisation of K takes less time.
TRIED = 1.0 / 10.0
WORTH = 0.5


@dataclass(frozen=True, eq=False)
class KernelFactor:
    """A factor L with K = L L' + E, where E is positive semidefinite up to rounding.

    Attributes
    ----------
    padded : ndarray of shape (n_samples, rank + 1)
        L, whose rows at the pivots are lower triangular, followed by a column of zeros.
    pivots : ndarray of shape (rank,)
    residual : ndarray of shape (n_samples,)
        The computed diagonal of E.
    is_complete : bool
        Whether further columns would consist of rounding errors.
    """

    padded: Array
    pivots: Indices
    residual: Array
    is_complete: bool

    @classmethod
    def empty(cls, residual: Array) -> "KernelFactor":
        """The factor of rank 0, with all of K as residual."""
        return cls(np.zeros((len(residual), 1)), np.empty(0, dtype=np.int64), residual, False)

    @property
    def table(self) -> Array:
        """The factor L, of shape (n_samples, rank)."""
        return self.padded[:, :-1]

    @property
    def rank(self) -> int:
        return self.padded.shape[1] - 1

    @property
    def trace(self) -> float:
        """The computed trace of the residual E."""
        return float(np.sum(self.residual))

    def weights(self, coef: Array) -> Array:
        """The weights a for which sum_i a_i k(x_i, .) has the coefficients ``coef`` of L.

        They are 0 except at the pivots.
        """
        weights = np.zeros(len(self.residual))
        if self.rank:
            triangle = self.table[self.pivots]
            weights[self.pivots] = solve_triangular(
                triangle, coef, trans="T", lower=True, check_finite=False
            )
        return weights


def whole_factor(matrix: Array) -> KernelFactor | None:
    """The ordinary Cholesky factor of K, which is overwritten; None if the factorisation fails."""
    n = len(matrix)
    with blas_threads_for_product(n**3):
        upper, failed = dpotrf(matrix.T, lower=0, overwrite_a=1)
    if failed:
        return None
    return KernelFactor(_padded(upper.T), np.arange(n), np.zeros(n), True)


def _padded(table: Array) -> Array:
    """The table with an additional column of zeros."""
    return np.pad(table, ((0, 0), (0, 1)))


class PartialFactor:
    """A pivoted Cholesky factorisation, with blocks of pivots chosen by the residual's diagonal.

    See Harbrecht, Peters and Schneider (2012), On the low-rank approximation by the pivoted
    Cholesky decomposition.

    Parameters
    ----------
    diagonal : ndarray of shape (n_samples,)
        The diagonal of K.
    values : callable
        Returns rows of K, from their indices.
    """

    def __init__(self, diagonal: Array, values: ValuesOf) -> None:
        n = len(diagonal)
        self.values, self.residual = values, diagonal.copy()
        self.floor = n * EPSILON * diagonal  # smaller pivots are rounding errors
        self.pivots = np.empty(0, dtype=np.int64)
        self.table = np.empty((n, 0))
        self.traces = [(0, float(np.sum(self.residual)))]

    @property
    def rank(self) -> int:
        return len(self.pivots)

    @property
    def is_complete(self) -> bool:
        return not np.any(self.residual > self.floor)

    def extend(self, trace: float, to_the_end: bool = False) -> bool:
        """Extend the factor to a residual of at most this trace.

        Returns False where that is expected to take too many pivots, unless ``to_the_end``.
        """
        with blas_threads_for_product(len(self.floor) ** 2 * PIVOTS):
            while float(np.sum(self.residual)) > trace and not self.is_complete:
                if not to_the_end and self._takes_long(trace):
                    return False
                self._add_block()
                self.traces.append((self.rank, float(np.sum(self.residual))))
        return True

    @property
    def factor(self) -> KernelFactor:
        padded = _padded(self.table)
        return KernelFactor(padded, self.pivots, self.residual.copy(), self.is_complete)

    def _takes_long(self, trace: float) -> bool:
        """Whether the trace decreases too slowly, by extrapolation from half of the pivots."""
        n = len(self.floor)
        if self.rank < max(PIVOTS, TRIED * n):
            return False
        now = self.traces[-1][1]
        rank, before = next(pair for pair in self.traces if 2 * pair[0] >= self.rank)
        if not 0.0 < now < before or trace <= 0.0:
            return True
        rate = np.log(before / now) / max(self.rank - rank, 1)
        return bool(self.rank + np.log(now / trace) / rate > WORTH * n)

    def _add_block(self) -> None:
        rows = np.flatnonzero(self.residual > self.floor)
        rows = rows[self.residual[rows] > LEAST_PIVOT * np.max(self.residual[rows])]
        # those with the largest residuals, in decreasing order
        chosen = rows[np.argsort(-self.residual[rows], kind="stable")[:PIVOTS]]
        block = self.values(chosen).T - self.table @ self.table[chosen].T
        triangle, order, rank, _ = dpstrf(
            block[chosen], tol=LEAST_PIVOT * float(self.residual[chosen[0]]), lower=1
        )
        if rank == 0:  # the residuals of these rows were rounding errors
            self.residual[chosen] = 0.0
            return
        chosen = chosen[order[:rank] - 1]
        block = block[:, order[:rank] - 1]
        triangle = np.tril(triangle[:rank, :rank])
        new = solve_triangular(triangle, block.T, lower=True, check_finite=False).T
        new[chosen], new[self.pivots] = triangle, 0.0
        self.table = np.hstack([self.table, new])
        self.pivots = np.concatenate([self.pivots, chosen])
        self.residual = np.maximum(self.residual - np.sum(new * new, axis=1), 0.0)
        self.residual[self.pivots] = 0.0

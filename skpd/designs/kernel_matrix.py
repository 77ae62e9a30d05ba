"""RKHS kernel matrices: squared norms with error bounds, and partial Cholesky factors."""

from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf
from threading import Lock

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpstrf

from .._floats import EPSILON
from .._typing import Array, Indices
from .design import Design
from .threads import blas_threads_for_product

# The number of columns of K multiplied at a time: few, so that sums have small rounding errors,
# and enough for a product to run at the speed of the memory.
BLOCK = 256
# The products that are kept: plain and precise ones of a model and of a dual point
KEPT = 4
# The least number of a vector that may be a multiple of another one: far above underflow
LEAST = np.finfo(np.float64).tiny / EPSILON
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


class KernelMatrix:
    """A symmetric positive definite RKHS kernel matrix K between rows.

    Parameters
    ----------
    matrix : ndarray of shape (n_samples, n_samples)
        K in float64, positive semidefinite beyond rounding errors; it must not be changed.
    added : ndarray of shape (n_samples,) or float, default=0.0
        The difference between the diagonal of K and the kernel values used in predictions, at
        least 0.
    asymmetry : float, default=0.0
        An upper bound on the difference between the off-diagonal entries K_ij and the kernel
        values used in predictions, relative to sqrt(K_ii K_jj).
    """

    def __init__(self, matrix: Array, added: Array | float = 0.0, asymmetry: float = 0.0) -> None:
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        self.added, self.asymmetry = added, asymmetry
        self.diagonal = np.maximum(np.diagonal(self.matrix), 0.0)
        self._products: tuple[tuple[Array, bool, tuple[Array, Array, Array]], ...] = ()
        self._partial: _PartialFactor | None = None
        self._factor: KernelFactor | None = None
        self._lock = Lock()

    @property
    def n_samples(self) -> int:
        return len(self.diagonal)

    @cached_property
    def sizes(self) -> Array:
        """The numbers sqrt(K_ii), which are at least K_ij / sqrt(K_jj) for every j."""
        return np.sqrt(self.diagonal)

    def product(self, x: Array, precise: bool = False) -> tuple[Array, Array, Array]:
        """The product K x as a sum (high, low), and a bound on its error.

        By default low is 0, and products with blocks of columns are added. A sum of m products in
        any order has an error of at most m eps sum_j |K_ij x_j| (Higham, 2002, section 3.1), and
        |K_ij| is at most sqrt(K_ii K_jj). With ``precise`` the product is computed in twice the
        working precision. The last products are kept: predictions and norms need the same ones,
        or multiples of them.
        """
        for of_x, is_precise, product in self._products:
            if is_precise == precise and np.array_equal(of_x, x):
                return product
        if precise:
            product = self._design.matvec_compensated(np.ascontiguousarray(x), 0.0)
        else:
            multiple = self._multiple_of_kept(x)
            if multiple is not None:
                return multiple
            product = self._plain_product(x)
        for part in product:  # which several callers have
            part.flags.writeable = False
        self._products = (*self._products[1 - KEPT :], (x.copy(), precise, product))
        return product

    def _plain_product(self, x: Array) -> tuple[Array, Array, Array]:
        y = np.zeros(len(x))
        for start, block in zip(range(0, len(x), BLOCK), self._blocks, strict=True):
            part = np.ascontiguousarray(x[start : start + BLOCK])
            if part.any():  # dual points are sparse
                y += block.rmatvec(part)
        n_roundings = min(BLOCK, len(x)) + len(x) // BLOCK + 4
        size = n_roundings * EPSILON * float(self.sizes @ np.abs(x)) * (1.0 + 1e-9)
        return y, np.zeros(len(x)), size * self.sizes

    @cached_property
    def _blocks(self) -> list[Design]:
        """Blocks of rows, whose products leave out rows where a vector is 0."""
        return [
            Design(self.matrix[start : start + BLOCK]) for start in range(0, self.n_samples, BLOCK)
        ]

    def _multiple_of_kept(self, x: Array) -> tuple[Array, Array, Array] | None:
        """The product for a multiple x = t z of a vector z whose product is kept, up to rounding.

        Where every x_j differs from t z_j by at most 2 eps |x_j|, that of t K z from K x is at
        most 2 eps sum_j |K_ij x_j|.
        """
        used = x != 0.0
        if not LEAST <= np.min(np.abs(x[used]), initial=inf) < inf:
            return None
        for z, is_precise, (y, low, error) in self._products:
            if is_precise or not np.array_equal(used, z != 0.0):
                continue
            place = int(np.argmax(np.abs(z)))
            with np.errstate(all="ignore"):
                factor = x[place] / z[place]
                # the difference as computed has an error of half a unit in the last place of x_j
                is_multiple = np.all(np.abs(x - factor * z) <= EPSILON * np.abs(x))
            if is_multiple:
                product = factor * y
                rest = 2.0 * EPSILON * float(self.sizes @ np.abs(x)) * (1.0 + 1e-9)
                error = abs(factor) * error + EPSILON * np.abs(product) + rest * self.sizes
                return product, low, error
        return None

    def predictions_of(
        self, x: Array, y: Array, low: Array, error: Array
    ) -> tuple[Array, Array, Array]:
        """The product of x with the kernel values used in predictions, from K x = y + low."""
        taken, sizes = self.added * x, np.abs(x)
        error = error + EPSILON * (np.abs(y) + np.abs(taken))
        error += self.asymmetry * float(self.sizes @ sizes) * self.sizes
        return y - taken, low, error

    @cached_property
    def _design(self) -> Design:
        return Design(self.matrix)

    def squared_norm(self, x: Array, precise: bool = False) -> tuple[float, float]:
        """The squared norm x'K x and a bound on its error, including rounding errors of x.

        With errors e of K x and relative errors eps / 2 of each x_i, the error is at most
        sum_i |x_i| (e_i + 4 eps |(K x)_i|) + eps^2 (sum_i |x_i| sqrt(K_ii))^2, as K is positive
        semidefinite. With ``precise``, K x is computed in twice the working precision.
        """
        return self.squared_norm_of(x, *self.product(x, precise))

    def squared_norm_of(
        self, x: Array, y: Array, low: Array, of_product: Array
    ) -> tuple[float, float]:
        """The result of `squared_norm` from the result of `product`."""
        sizes = np.abs(x)
        error = float(sizes @ (of_product + 4.0 * EPSILON * np.abs(y)))
        error += float((EPSILON * (self.sizes @ sizes)) ** 2)  # in NumPy, where it may be inf
        return fsum([*(x * y).tolist(), *(x * low).tolist()]), error * (1.0 + 1e-9)

    def factor(self, trace: float) -> KernelFactor:
        """A factor whose residual has at most this trace, as far as rounding allows.

        The last factor is extended, so that several models of the same kernel share the work.
        """
        with self._lock:
            factor = self._factor
            if factor is None or (factor.trace > trace and not factor.is_complete):
                self._factor = factor = self._extended(trace)
            return factor

    def _extended(self, trace: float) -> KernelFactor:
        if self._partial is None:
            self._partial = _PartialFactor(self)
        if not self._partial.extend(trace):
            whole = self._whole()
            if whole is not None:
                return whole
            self._partial.extend(trace, to_the_end=True)
        return self._partial.factor

    def _whole(self) -> KernelFactor | None:
        """The ordinary Cholesky factor of K, None if the factorisation fails."""
        n = self.n_samples
        with blas_threads_for_product(n**3):
            upper, failed = dpotrf(self.matrix.copy().T, lower=0, overwrite_a=1)
        if failed:
            return None
        return KernelFactor(_padded(upper.T), np.arange(n), np.zeros(n), True)


def _padded(table: Array) -> Array:
    """The table with an additional column of zeros."""
    return np.pad(table, ((0, 0), (0, 1)))


class _PartialFactor:
    """A pivoted Cholesky factorisation, with blocks of pivots chosen by the residual's diagonal.

    See Harbrecht, Peters and Schneider (2012), On the low-rank approximation by the pivoted
    Cholesky decomposition.
    """

    def __init__(self, kernel: KernelMatrix) -> None:
        n = kernel.n_samples
        self.kernel, self.residual = kernel, kernel.diagonal.copy()
        self.floor = n * EPSILON * kernel.diagonal  # smaller pivots are rounding errors
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
        with blas_threads_for_product(self.kernel.matrix.size * PIVOTS):
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
        n = self.kernel.n_samples
        if self.rank < max(PIVOTS, TRIED * n):
            return False
        now = self.traces[-1][1]
        rank, before = next(pair for pair in self.traces if 2 * pair[0] >= self.rank)
        if not 0.0 < now < before or trace <= 0.0:
            return True
        rate = np.log(before / now) / max(self.rank - rank, 1)
        return bool(self.rank + np.log(now / trace) / rate > WORTH * n)

    def _add_block(self) -> None:
        chosen = self._candidates()
        block = self.kernel.matrix[chosen].T - self.table @ self.table[chosen].T
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

    def _candidates(self) -> Indices:
        """The rows with the largest residuals, in decreasing order."""
        rows = np.flatnonzero(self.residual > self.floor)
        rows = rows[self.residual[rows] > LEAST_PIVOT * np.max(self.residual[rows])]
        return rows[np.argsort(-self.residual[rows], kind="stable")[:PIVOTS]]

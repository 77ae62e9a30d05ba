"""RKHS kernel matrices: their rows, products and squared norms with error bounds."""

from dataclasses import dataclass
from functools import cached_property
from math import fsum, inf
from threading import RLock
from typing import ClassVar, cast

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array, Indices
from ...designs.design import Design
from ...designs.sums import BoundedSum
from .factor import KernelFactor, PartialFactor, ValuesOf, whole_factor

# The largest number of rows of K that are computed and multiplied at a time: few, so that sums
# have small rounding errors, and enough for a product to run at the speed of the memory.
BLOCK = 256
# The products that are kept: plain and precise ones of a model and of a dual point
KEPT = 4
# The least number of a vector that may be a multiple of another one: far above underflow
LEAST = np.finfo(np.float64).tiny / EPSILON


@dataclass(frozen=True, eq=False)
class KernelBlock:
    """The values of a kernel between some rows and all of them.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
    values : ndarray of shape (n_rows, n_samples)
        In float64, stored by rows; they must not be changed.
    """

    rows: Indices
    values: Array

    @cached_property
    def design(self) -> Design:
        """The values as a table, whose products leave out rows where a vector is 0."""
        return Design(self.values)


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

    computes_rows: ClassVar[bool] = False  # whether rows are computed when they are needed

    def __init__(self, matrix: Array, added: Array | float = 0.0, asymmetry: float = 0.0) -> None:
        matrix = np.ascontiguousarray(matrix, dtype=np.float64)
        self._set_diagonal(np.diagonal(matrix), added, asymmetry)
        for rows in np.split(np.arange(len(matrix)), range(BLOCK, len(matrix), BLOCK)):
            self._keep(KernelBlock(rows, matrix[rows[0] : rows[-1] + 1]))

    def _set_diagonal(self, diagonal: Array, added: Array | float, asymmetry: float) -> None:
        self.added, self.asymmetry = added, asymmetry
        self.diagonal = np.maximum(diagonal, 0.0)
        self._products: tuple[tuple[Array, bool, tuple[Array, Array, Array]], ...] = ()
        self._partial: PartialFactor | None = None
        self._factor: KernelFactor | None = None
        self._lock = RLock()
        # The known blocks; the block of each row, -1 where no block has it, and its place there.
        # They change together, as Ctrl-C may end a fit anywhere.
        self._known: tuple[tuple[KernelBlock, ...], Indices] = (), np.full((self.n_samples, 2), -1)

    def _keep(self, block: KernelBlock) -> None:
        blocks, places = self._known[0], self._known[1].copy()
        places[block.rows, 0], places[block.rows, 1] = len(blocks), np.arange(len(block.rows))
        self._known = (*blocks, block), places

    @property
    def n_samples(self) -> int:
        return len(self.diagonal)

    @cached_property
    def sizes(self) -> Array:
        """The numbers sqrt(K_ii), which are at least K_ij / sqrt(K_jj) for every j."""
        return np.sqrt(self.diagonal)

    # Values

    def blocks(self, rows: Indices) -> tuple[KernelBlock, ...]:
        """All blocks that are known, in the order of their computation, after that of these rows.

        They hold the given rows and may hold many others.
        """
        return self._known[0]

    def values(self, rows: Indices) -> Array:
        """The rows of K with these indices, of shape (len(rows), n_samples)."""
        self.blocks(rows)
        blocks, places = self._known
        return np.stack([blocks[block].values[place] for block, place in places[rows]])

    def to_array(self) -> Array:
        """K as a new array."""
        rows = np.arange(self.n_samples)
        matrix = np.empty((self.n_samples, self.n_samples))
        for block in self.blocks(rows):
            matrix[block.rows] = block.values
        return matrix

    # Products

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
            product = self._precise_product(x)
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
        y, blocks = np.zeros(len(x)), self.blocks(np.flatnonzero(x))
        for block in blocks:
            part = x[block.rows]
            if part.any():  # dual points are sparse
                y += block.design.rmatvec(part)
        n_roundings = min(BLOCK, len(x)) + len(blocks) + 4
        size = n_roundings * EPSILON * float(self.sizes @ np.abs(x)) * (1.0 + 1e-9)
        return y, np.zeros(len(x)), size * self.sizes

    def _precise_product(self, x: Array) -> tuple[Array, Array, Array]:
        total = BoundedSum(np.zeros(len(x)), np.zeros(len(x)), np.zeros(len(x)))
        for block in self.blocks(np.flatnonzero(x)):
            part = x[block.rows]
            if part.any():
                high, low, error = block.design.transposed.matvec_compensated(part, 0.0)
                total += BoundedSum(high, error, low)
        return cast(tuple[Array, Array, Array], (total.high, total.low, total.error))

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
            self._partial = PartialFactor(self.diagonal, self.values)
        if not self._partial.extend(trace):
            whole = whole_factor(self.to_array())
            if whole is not None:
                return whole
            self._partial.extend(trace, to_the_end=True)
        return self._partial.factor


class KernelMatrixByRows(KernelMatrix):
    """A kernel matrix whose rows are computed when they are needed first.

    Two rows may differ in the entry that they share, by rounding errors. K_ij is the mean of both.
    Quadratic forms x'K x from products with the rows are those of the means; products K x differ
    from them by at most ``asymmetry``, which predictions take into account.

    Parameters
    ----------
    values_of : callable
        Returns the values of rows, from their indices, of shape (n_rows, n_samples), with the
        entries of ``diagonal``.
    diagonal : ndarray of shape (n_samples,)
    added, asymmetry
        See `KernelMatrix`.
    """

    computes_rows: ClassVar[bool] = True

    def __init__(
        self, values_of: ValuesOf, diagonal: Array, added: Array, asymmetry: float
    ) -> None:
        self._values_of = values_of
        self._set_diagonal(diagonal, added, asymmetry)

    def blocks(self, rows: Indices) -> tuple[KernelBlock, ...]:
        with self._lock:
            missing = np.unique(rows[self._known[1][rows, 0] < 0])
            for start in range(0, len(missing), BLOCK):
                some = missing[start : start + BLOCK]
                self._keep(KernelBlock(some, self._values_of(some)))
            return self._known[0]

"""The curvature of several outputs on a working set: in matrices for the outputs, or by products.

A row's loss has the curvature diag(d_i) - e_i e_i' in its predictions: e_i is 0 for losses of
single predictions. That of the coefficients is sum_i x_i x_i' (x) (diag(d_i) - e_i e_i'), in three
shapes:

`RowBlocks`
    where e is 0: a Gram matrix for each output, or one for all where their curvatures agree;
a matrix
    of all entries of the working set, where these are few;
`OutputColumns`
    products with X, X read once for all outputs.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import kernels
from .._typing import Array, Indices
from .design import Design
from .gram import ROUNDING, WeightedGram
from .outputs import OutputsDesign
from .outputs_spectrum import OutputsSpectrum
from .threads import blas_threads_for_product

__all__ = ["OutputColumns", "OutputsGram", "RowBlocks"]

LARGEST_BLOCKS = 16e6  # numbers in the matrices of all outputs: 128 MB
LARGEST_MATRIX = 1000  # entries of a working set: 8 MB, and few enough to factorise often
PAIRS_AT_A_TIME = 1e5  # products of pairs of features, which stay in the cache
FORMING = 15.0  # multiplications by BLAS in the time of forming such a product
SHIFT_FREE = 1e-12  # of the largest curvature: what a shift may have of it by rounding
FEWER_ROWS = 2.0  # times as many features as samples: products cost less than matrices


@dataclass
class RowBlocks:
    """Matrices of the features for one output after the other, or one for all.

    Attributes
    ----------
    matrices : ndarray of shape (n, n, n_blocks)
        n features, a column of ones behind them if there are intercepts; n_blocks is 1 where
        the outputs share their matrix.
    n_outputs : int
    """

    matrices: Array
    n_outputs: int

    def blocks(self, places: Indices) -> list[Array]:
        """The matrices on some of the features."""
        return [
            np.ascontiguousarray(self.matrices[..., k][np.ix_(places, places)])
            for k in range(self.matrices.shape[-1])
        ]

    def times(self, table: Array, places: Indices) -> Array:
        """The product with a table that is 0 but in some rows."""
        if self.matrices.shape[-1] == 1:
            product: Array = self.matrices[:, places, 0] @ table[places]
            return product
        return np.einsum("ijk,jk->ik", self.matrices[:, places], table[places])


@dataclass
class OutputColumns:
    """Products with the features of a working set, and the curvature of the rows.

    Attributes
    ----------
    design : Design
        X.
    features : ndarray of shape (n_features,)
    ones : bool
        Whether there is a column of ones behind them.
    d, e : ndarray of shape (n_samples, n_outputs)
    mask : ndarray of bool, of shape (n_features + ones, n_outputs)
        The entries of the working set.
    ridge : ndarray of the same shape
        What is added to the diagonal, 0 outside of the working set.
    spectrum : OutputsSpectrum or None
        Of all features, for curvatures that hardly change and are taken of all of them.
    """

    design: Design
    features: Indices
    ones: bool
    d: Array
    e: Array
    mask: Any
    ridge: Array
    spectrum: OutputsSpectrum | None = None

    @cached_property
    def _some(self) -> Design:
        if len(self.features) == self.design.shape[1]:
            return self.design
        return self.design.columns(self.features)

    @cached_property
    def _is_whole(self) -> bool:
        """Whether all entries of the features are in the working set."""
        return bool(self.mask.all())

    def predictions(self, table: Array) -> Array:
        """X times a table of coefficients."""
        z = self._some.matmul(table[: len(self.features)], np.arange(len(self.features)))
        return z + table[-1] if self.ones else z

    def of_rows(self, z: Array) -> Array:
        """The curvature of the rows times a change of their predictions."""
        along = np.einsum("ik,ik->i", self.e, z)
        return self.d * z - self.e * along[:, np.newaxis]

    def gradient(self, rows: Array) -> Array:
        """X' times a table of the rows, on the working set."""
        table = self._some.rmatmul(rows)
        if self.ones:
            table = np.vstack([table, rows.sum(axis=0)])
        return table if self._is_whole else np.where(self.mask, table, 0.0)

    def times(self, table: Array) -> Array:
        """The curvature on the working set times a table of coefficients."""
        if self.design.dense:  # BLAS is faster than one pass over the rows
            return self.gradient(self.of_rows(self.predictions(table))) + self.ridge * table
        out = np.empty(table.shape)
        kernels.curvature_product(
            self._some.by_rows.matrix, self.ones, self.d, self.e, np.ascontiguousarray(table), out
        )
        if not self._is_whole:
            out[~self.mask] = 0.0
        out += self.ridge * table
        return out

    @cached_property
    def diagonal(self) -> Array:
        """That of X' diag(d) X, which is at least that of the curvature."""
        table = self._some.rmatmul_square(self.d)
        if self.ones:
            table = np.vstack([table, self.d.sum(axis=0)])
        return np.where(self.mask, table, 0.0)

    @cached_property
    def is_shift_free(self) -> bool:
        """Whether a number added to all outputs of a feature has no curvature but by rounding."""
        left = self.d - self.e * np.sum(self.e, axis=1, keepdims=True)
        return bool(np.max(np.abs(left)) <= SHIFT_FREE * np.max(self.d))

    @property
    def of_outputs(self) -> Array:
        """The sum of the curvatures of the rows, a matrix of the outputs."""
        total: Array = np.diag(np.sum(self.d, axis=0)) - self.e.T @ self.e
        return total

    @cached_property
    def averaged(self) -> Array:
        """The curvature of one output, on the average: a matrix of the features."""
        weights = np.ascontiguousarray(np.mean(self.d - self.e * self.e, axis=1))
        return self.design.gram(weights, self.features, self.ones)

    def scaled_table(self, places: Indices) -> Array:
        """A with A'A the curvature of one output, on the average, for some of the features."""
        weights = np.maximum(np.mean(self.d - self.e * self.e, axis=1), 0.0)
        table = self.design.table(self.features[places[places < len(self.features)]])
        if self.ones and len(places) and places[-1] == len(self.features):
            table = np.column_stack([table, np.ones(len(table))])
        return np.sqrt(weights)[:, np.newaxis] * table

    def descend(
        self, G: Array, W: Array, penalty: tuple, P: Array, U: Array, *, sweeps: int, tol: float
    ) -> float:
        """Sweeps over the rows of P, U the curvature of the rows times X (P - W)."""
        weights, l1, l2 = penalty
        return kernels.descend_outputs(
            self.design.by_columns.matrix, self.features, self.ones, self.d, self.e,
            self.diagonal, self.ridge, G, W, weights, l1, l2, P, U, sweeps, tol,
        )  # fmt: skip


class OutputsGram:
    """The last curvature of several outputs, and what it was computed from.

    Parameters
    ----------
    n_outputs : int
    ones : bool
        Whether an intercept of each output follows the coefficients.
    agree : bool
        Whether the curvatures of all outputs are the same.
    all_at_once : bool
        Whether all features are in every working set: then a matrix serves a single linear system
        and products cost less.
    """

    def __init__(self, n_outputs: int, ones: bool, agree: bool, all_at_once: bool) -> None:
        self.n_outputs, self.ones, self.agree = n_outputs, ones, agree
        self.all_at_once = all_at_once
        self.system: Any = None
        self._last: tuple[Indices, Array] | None = None  # columns and the matrix of these
        self._grams = [WeightedGram(ones) for _ in range(1 if agree else n_outputs)]
        self._h: Array = np.empty(0)
        self._spectrum: tuple[OutputsSpectrum | None] | None = None

    @property
    def last_h(self) -> Array:
        return self._h

    def may_hold(self, design: OutputsDesign, n_columns: int) -> bool:
        """Whether there is room for the curvature: products take none but X."""
        features = n_columns / self.n_outputs
        return design.shares_data or features**2 * len(self._grams) <= LARGEST_BLOCKS

    def take_rows(self, rows: Indices) -> None:
        """Go on with some rows."""
        self._last = self._spectrum = None
        self._grams = [WeightedGram(self.ones) for _ in self._grams]

    def all_rows(self, rows: Indices, n_rows: int) -> None:
        """Back from some rows to all."""
        self.take_rows(rows)

    def curvature(
        self, design: OutputsDesign, h: Array, e: Array | None, columns: Indices, *, scale: float,
        ridge: Array | None, again: bool = False,
    ) -> tuple[RowBlocks | OutputColumns | Array, bool]:  # fmt: skip
        """scale A_W' (diag(h) - e e') A_W + diag(ridge) on the coefficients W.

        If ``again`` it is that of the last call, if that is at hand; whether it is, is returned
        beside it.

        Parameters
        ----------
        design : OutputsDesign
        h, e : ndarray of shape (n_rows,)
            Of all predictions; e is None where it is 0.
        scale : float
        columns : ndarray of shape (n_columns,)
            Coefficients, increasing.
        ridge : ndarray of shape (n_columns + n_outputs,) or None
            For the coefficients and the intercepts behind them.
        """
        last, self._last = self._last, None
        if again and ridge is None and last is not None and kernels.equal(last[0], columns):
            self._last = last
            return last[1], True
        self._h = h.copy()
        K, features = self.n_outputs, design.features_of(columns)
        m = len(features)
        if e is None:
            n_samples = len(h) / K
            many = design.shares_data and m > max(FEWER_ROWS * n_samples, LARGEST_MATRIX / K)
            if m * m * len(self._grams) <= LARGEST_BLOCKS and not many:
                return self._blocks(design, h, scale, features, ridge), False
        elif len(columns) <= LARGEST_MATRIX and not self.all_at_once:
            H = self._matrix(design, h, e, scale, columns, ridge)
            if ridge is None:
                self._last = columns, H
            return H, False
        return self._by_products(design, h, e, columns, scale=scale, ridge=ridge), False

    def _blocks(
        self, design: OutputsDesign, h: Array, scale: float, features: Indices, ridge: Array | None
    ) -> RowBlocks:
        n = len(features) + self.ones
        blocks = np.empty((n, n, len(self._grams)))
        for k, gram in enumerate(self._grams):
            own = np.ascontiguousarray(h[design.places[k]])
            if len(own) == 0:
                blocks[..., k] = 0.0
                continue
            blocks[..., k] = gram.of(design.parts[k], own, features)
        blocks *= scale
        diagonal = np.einsum("iik->ik", blocks)
        diagonal *= 1.0 + ROUNDING
        if ridge is not None:
            by_output = ridge.reshape(n, self.n_outputs)
            diagonal += by_output[:, :1] if self.agree else by_output
        return RowBlocks(blocks, self.n_outputs)

    def _matrix(
        self, design: Any, h: Array, e: Array, scale: float, columns: Indices, ridge: Array | None
    ) -> Array:
        K, m = self.n_outputs, len(columns)
        size = m + K * self.ones
        d, e = h.reshape(-1, K), e.reshape(-1, K)
        if design.dense:
            H = self._dense_matrix(design, d, e, columns)
        else:
            H = np.empty((size, size))
            place = np.full(design.shape[1], -1)
            place[columns] = np.arange(m)
            ones = np.arange(m, size)
            kernels.coupled_gram(design.base.by_rows.matrix, d, e, place, ones, H)
        H *= scale
        H.ravel()[:: size + 1] *= 1.0 + ROUNDING
        if ridge is not None:
            H.ravel()[:: size + 1] += ridge
        self.system = kernels.SupportSystem()
        return H

    def _dense_matrix(self, design: Any, d: Array, e: Array, columns: Indices) -> Array:
        """By the product of a matrix, x_i (x) e_i in its rows, with itself, or by pairs."""
        K, some = self.n_outputs, design.features_of(columns)
        table = design.base.table(some)
        # rows of a kinked loss that are certain of their class have no curvature
        curved = np.flatnonzero(np.sum(d - e * e, axis=1) > ROUNDING * np.sum(d, axis=1))
        if 2 * len(curved) < len(d):
            table, d, e = table[curved], d[curved], e[curved]
        features = np.searchsorted(some, columns // K)
        outputs = columns % K
        if self.ones:
            table = np.column_stack([table, np.ones(len(table))])
            features = np.append(features, np.full(K, len(some)))
            outputs = np.append(outputs, np.arange(K))
        # by columns, so that entries are whole rows of what is copied and multiplied
        table, d, e = (np.ascontiguousarray(part.T) for part in (table, d, e))
        counts = np.bincount(outputs, minlength=K).astype(float)
        # twice the multiplications for each row
        by_entries = np.sum(counts) ** 2 + np.sum(counts**2)
        if by_entries > len(table) ** 2 * (K * (K + 1) / 2 + FORMING):
            return _matrix_by_pairs(table, d, e, features * K + outputs)
        factor = table[features] * e[outputs]
        with blas_threads_for_product(factor.size * len(factor)):
            H = -(factor @ factor.T)
            for k, root in enumerate(np.sqrt(d)):
                own = np.flatnonzero(outputs == k)
                part = table[features[own]] * root
                H[np.ix_(own, own)] += part @ part.T
        return H

    def _by_products(
        self, design: Any, h: Array, e: Array | None, columns: Indices, *, scale: float,
        ridge: Array | None,
    ) -> OutputColumns:  # fmt: skip
        K, features = self.n_outputs, design.features_of(columns)
        m = len(features)
        mask = np.zeros((m + self.ones, K), dtype=bool)
        places = np.searchsorted(features, columns // K)
        mask[places, columns % K] = True
        mask[m:] = True
        table = np.zeros(mask.shape)
        if ridge is not None:
            table[places, columns % K] = ridge[: len(columns)]
            table[m:] = ridge[len(columns) :].reshape(-1, K)
        d = scale * h.reshape(-1, K)
        e = np.zeros_like(d) if e is None else np.sqrt(scale) * e.reshape(-1, K)
        found = OutputColumns(design.base, features, self.ones, d, e, mask, table)
        if not self.all_at_once:
            found.ridge += ROUNDING * found.diagonal
            return found
        found.ridge[m:] += ROUNDING * np.sum(d, axis=0)  # the others have a ridge
        if ridge is None:
            if self._spectrum is None:
                weights = np.sum(d - e * e, axis=1)
                self._spectrum = (OutputsSpectrum.of(design.base, weights, features, self.ones),)
            (found.spectrum,) = self._spectrum
        return found


def _matrix_by_pairs(table: Array, d: Array, e: Array, entries: Indices) -> Array:
    """sum_i x_i x_i' (x) (diag(d_i) - e_i e_i') on some entries, X, d and e by columns.

    Both factors are symmetric: one product of the pairs of features with those of outputs takes
    half the multiplications that all entries with each other do.
    """
    (m, n), K = table.shape, len(d)
    left, right = np.triu_indices(m)
    first, second = np.triu_indices(K)
    weights = -e[first] * e[second]
    weights[first == second] += d
    sums = np.zeros((len(left), len(first)))
    size = max(int(PAIRS_AT_A_TIME) // len(left), 1)
    with blas_threads_for_product(n * sums.size):
        for start in range(0, n, size):
            some = table[:, start : start + size]
            sums += (some[left] * some[right]) @ weights[:, start : start + size].T
    features, outputs = np.empty((m, m), dtype=np.int64), np.empty((K, K), dtype=np.int64)
    features[left, right] = features[right, left] = np.arange(len(left))
    outputs[first, second] = outputs[second, first] = np.arange(len(first))
    H = sums[features[:, np.newaxis, :, np.newaxis], outputs[:, np.newaxis, :]]
    H = H.reshape(m * K, m * K)
    return H if len(entries) == len(H) else H[np.ix_(entries, entries)]

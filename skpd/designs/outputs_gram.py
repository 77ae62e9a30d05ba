"""A cache of the last curvature of several outputs, in its cheapest representation.

The representations are those of `skpd.designs.outputs_curvature`.
"""

import numpy as np

from .. import kernels
from .._typing import Array, Indices, Mask
from .curvature_form import ROUNDING
from .gram import MatrixCurvature, WeightedGram
from .outputs import LARGEST_MATRIX, PASSES, WIDE, OutputsDesign, SharedDesign, positions_in
from .outputs_curvature import GramMatrices, OutputColumns
from .threads import blas_threads_for_product

LARGEST_BLOCKS = 16e6  # most numbers in the matrices of all outputs, 128 MB
LARGEST_FORMING = 1e10  # most multiplications to form such a matrix, about 1 s
LARGEST_GRAM = 600  # most features whose Gram matrix replaces X, 3 MB


class OutputsGram:
    """A cache of the last curvature of several outputs, and the data of its computation.

    Parameters
    ----------
    n_outputs : int
    ones : bool
        Whether an intercept of each output follows the coefficients.
    agree : bool
        Whether the curvatures of all outputs are the same.
    all_at_once : bool
        Whether all features are in every working set. A matrix would then be used for a single
        linear system, and products cost less.
    of_rows : bool
        Whether the penalty treats all entries or all rows alike, as products require.
    """

    def __init__(
        self, n_outputs: int, ones: bool, agree: bool, all_at_once: bool, *, of_rows: bool = True
    ) -> None:
        self.n_outputs, self.ones, self.agree = n_outputs, ones, agree
        self.all_at_once, self.of_rows = all_at_once, of_rows
        self.forget()

    def forget(self) -> None:
        """Empty the cache, as for other rows."""
        self._gram, self._rows = WeightedGram(self.ones), np.empty(0)  # the Gram and row weights
        n_grams = 1 if self.agree else self.n_outputs
        self._grams = [WeightedGram(self.ones) for _ in range(n_grams)]

    def may_hold(self, design: OutputsDesign, n_columns: int) -> bool:
        """Whether the curvature fits in memory, which representations by products always do."""
        features = n_columns / self.n_outputs
        return design.shares_data or features**2 * len(self._grams) <= LARGEST_BLOCKS

    def curvature(
        self, design: OutputsDesign, h: Array, e: Array | None, columns: Indices, *, scale: float,
        ridge: Array | None,
    ) -> GramMatrices | OutputColumns | MatrixCurvature:  # fmt: skip
        """The curvature scale A_W' (diag(h) - e e') A_W + diag(ridge) on the coefficients W.

        Parameters
        ----------
        design : OutputsDesign
        h, e : ndarray of shape (n_rows,)
            The Hessians diag(h) - e e' in the predictions; e is None where it is 0.
        scale : float
        columns : ndarray of shape (n_columns,)
            The indices of the coefficients W, increasing.
        ridge : ndarray of shape (n_columns + n_outputs,) or None
            The ridge for the coefficients, followed by that for the intercepts.
        """
        features = design.features_of(columns)
        m = len(features)
        if e is None:
            fits = m * m * len(self._grams) <= LARGEST_BLOCKS
            if fits and not self._favours_columns(design, m):
                return self._blocks(design, h, scale, features, ridge)
        shared = design.as_kind(SharedDesign)
        if e is None or self.all_at_once:
            return self._by_products(shared, h, e, columns, scale=scale, ridge=ridge)
        if self._favours_matrix(shared, h, e, len(columns), m, ridge):
            return self._matrix(shared, h, e, scale, columns, ridge)
        return self._by_products(shared, h, e, columns, scale=scale, ridge=ridge)

    def _favours_matrix(
        self, design: SharedDesign, h: Array, e: Array, n_entries: int, n_features: int,
        ridge: Array | None,
    ) -> bool:  # fmt: skip
        """Whether to form a matrix over all entries, with which systems are solved more reliably.

        Losses with kinks need this, whose curvature has a ridge, and a small matrix costs next to
        nothing. So do conjugate gradients where only some outputs of the features are in the
        working set, as they would take many steps. Otherwise products are used where they have a
        Gram matrix of the features, and where a matrix would cost much more: for many dense rows,
        and for sparse rows whose curvature is not singular because of its rank.
        """
        if n_entries > LARGEST_MATRIX or not self.of_rows:
            return n_entries <= LARGEST_MATRIX
        whole = n_entries == n_features * self.n_outputs
        small = n_entries <= PASSES
        if whole and not small and ridge is None and self._has_gram(design, n_features, e):
            return False
        n_curved = int(np.count_nonzero(self._curved(h, e)))
        if design.dense or n_entries > n_curved * (self.n_outputs - 1):
            return n_curved * n_entries**2 <= LARGEST_FORMING
        return not whole or small

    def _favours_columns(self, design: OutputsDesign, n_features: int) -> bool:
        """Whether sweeps over the columns of X cost less than those over a Gram matrix."""
        if self.all_at_once or not design.shares_data:
            return False
        return n_features > WIDE * design.n_entries / design.n_inputs

    def _curved(self, d: Array, e: Array) -> Mask:
        """Whether rows have curvature: those of a loss with kinks mostly have none."""
        d, e = d.reshape(-1, self.n_outputs), e.reshape(-1, self.n_outputs)
        ones = np.ones(self.n_outputs)  # sums over short rows would take 5 times as long
        is_curved: Mask = (d - e * e) @ ones > ROUNDING * (d @ ones)
        return is_curved

    def _blocks(
        self, design: OutputsDesign, h: Array, scale: float, features: Indices, ridge: Array | None
    ) -> GramMatrices:
        n = len(features) + self.ones
        blocks = np.empty((n, n, len(self._grams)))
        for k, gram in enumerate(self._grams):
            h_of_output = np.ascontiguousarray(h[design.row_indices[k]])
            if len(h_of_output) == 0:
                blocks[..., k] = 0.0
                continue
            blocks[..., k] = gram.of(design.parts[k], h_of_output, features)
        blocks *= scale
        diagonal = np.einsum("iik->ik", blocks)
        diagonal *= 1.0 + ROUNDING
        if ridge is not None:
            by_output = ridge.reshape(n, self.n_outputs)
            diagonal += by_output[:, :1] if self.agree else by_output
        return GramMatrices(blocks, self.n_outputs)

    def _matrix(
        self, design: SharedDesign, h: Array, e: Array, scale: float, columns: Indices,
        ridge: Array | None,
    ) -> MatrixCurvature:  # fmt: skip
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
        return MatrixCurvature(H)

    def _dense_matrix(self, design: SharedDesign, d: Array, e: Array, columns: Indices) -> Array:
        """The matrix over the entries, by a product of the rows x_i (x) e_i."""
        K, active = self.n_outputs, design.features_of(columns)
        base, curved = design.base, np.flatnonzero(self._curved(d, e))
        if 2 * len(curved) >= len(d):
            table = base.table(active)
        else:
            rows_first = len(curved) * base.shape[1] < len(d) * len(active)
            table = base.rows(curved).table(active) if rows_first else base.table(active)[curved]
            d, e = d[curved], e[curved]
        features = positions_in(active, columns // K)
        outputs = columns % K
        if self.ones:
            table = np.column_stack([table, np.ones(len(table))])
            features = np.append(features, np.full(K, len(active)))
            outputs = np.append(outputs, np.arange(K))
        # transposed, so that the columns of entries are contiguous rows
        table, d, e = (np.ascontiguousarray(part.T) for part in (table, d, e))
        # few rows tie outputs where quantiles cross: their products are then 3 times faster
        rows = _rows_or_all(np.max(np.abs(e), axis=0))
        factor = table[:, rows][features] * e[:, rows][outputs]
        with blas_threads_for_product(factor.size * len(factor)):
            H = -(factor @ factor.T)
            for k, root in enumerate(np.sqrt(d)):
                entries, rows = np.flatnonzero(outputs == k), _rows_or_all(root)
                part = table[:, rows][features[entries]] * root[rows]
                H[np.ix_(entries, entries)] += part @ part.T
        return H

    def _has_gram(self, design: SharedDesign, m: int, e: Array) -> bool:
        """Whether sweeps use a Gram matrix of the features instead of the columns of X."""
        return bool(design.dense and m <= LARGEST_GRAM and m <= design.base.shape[0] and e.any())

    def _by_products(
        self, design: SharedDesign, h: Array, e: Array | None, columns: Indices, *, scale: float,
        ridge: Array | None,
    ) -> OutputColumns:  # fmt: skip
        K, features = self.n_outputs, design.features_of(columns)
        if self.all_at_once:  # empty columns cost less than a copy without them
            features = np.arange(design.n_inputs)
        m = len(features)
        mask = np.full((m + self.ones, K), self.all_at_once)
        table, indices = np.zeros(mask.shape), positions_in(features, columns // K)
        mask[m:] = mask[indices, columns % K] = True
        if ridge is not None:
            table[indices, columns % K] = ridge[: len(columns)]
            table[m:] = ridge[len(columns) :].reshape(-1, K)
        d = scale * h.reshape(-1, K)
        e = np.zeros_like(d) if e is None else np.sqrt(scale) * e.reshape(-1, K)
        subset = design.base if m == design.n_inputs else design.base.columns(features)
        curvature = OutputColumns(design.base, features, self.ones, d, e, mask, table, subset)
        if self.all_at_once:
            curvature.ridge[m:] += ROUNDING * np.sum(d, axis=0)  # the others have a ridge
        elif ridge is None and self._has_gram(design, m, e):
            if len(self._rows) == 0:  # later weights are similar, and the moments remain
                self._rows = np.sum(d, axis=1)
            curvature.gram = self._gram.of(design.base, self._rows, features)
            curvature.gram *= np.sum(d - e * e) / np.sum(self._rows)
            curvature.ridge += ROUNDING * np.outer(curvature.gram.diagonal(), curvature.shares)
        else:
            curvature.ridge += ROUNDING * curvature.diagonal
        return curvature


def _rows_or_all(values: Array) -> Indices | slice:
    """The rows with values other than 0, or a slice of all rows where these are half of them."""
    rows = np.flatnonzero(values)
    return rows if 2 * len(rows) < len(values) else slice(None)

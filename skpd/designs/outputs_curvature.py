"""The curvature of several outputs on a working set, as models take it.

A row's loss has the curvature diag(d_i) - e_i e_i' in its predictions: e_i is 0 for losses of
single predictions. That of the coefficients is sum_i x_i x_i' (x) (diag(d_i) - e_i e_i'), in three
shapes:

`RowBlocks`
    where e is 0: a Gram matrix for each output, or one for all where their curvatures agree;
a matrix
    of all entries of the working set, where these are few;
`OutputColumns`
    products with X, X read once for all outputs.

See `skpd.designs.outputs_gram` for which is taken when.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .. import kernels
from .._typing import Array, Indices
from .design import Design
from .outputs_moments import FeatureMoments

__all__ = ["OutputColumns", "RowBlocks"]

SHIFT_FREE = 1e-12  # of the largest curvature: what a shift may have of it by rounding
CALLS_COST_MORE = 4e6  # multiplications up to which one call saves more than BLAS does
SWEEPS = 10  # at most, until rows neither leave 0 nor come to it


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

    def descend(
        self, penalty: tuple[Array, float, float], P: Array, R: Array, *, sweeps: int, tol: float
    ) -> float:
        """Sweeps over the rows of P, R the gradient."""
        shares, mask = np.ones(self.n_outputs), np.ones(P.shape)
        return kernels.descend_rows(self.matrices, shares, mask, *penalty, P, R, sweeps, tol)

    def blocks(self, places: Indices) -> Array:
        """The matrices on some of the features, of shape (n_blocks, n_places, n_places)."""
        some = self.matrices[places[:, np.newaxis], places]
        return np.ascontiguousarray(some.transpose(2, 0, 1))

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
    some : Design
        The columns of X for the features.
    gram : ndarray of shape (n_features + ones, n_features + ones) or None
        G with the curvature about G (x) C, where rows are many beside the features.
    moments : FeatureMoments or None
        Of all features, for curvatures that hardly change and are taken of all of them.
    """

    design: Design
    features: Indices
    ones: bool
    d: Array
    e: Array
    mask: Any
    ridge: Array
    some: Design
    gram: Array | None = None
    moments: FeatureMoments | None = None

    @cached_property
    def _is_whole(self) -> bool:
        """Whether all entries of the features are in the working set."""
        return bool(self.mask.all())

    def predictions(self, table: Array) -> Array:
        """X times a table of coefficients."""
        z = self.some.matmul(table[: len(self.features)], np.arange(len(self.features)))
        return z + table[-1] if self.ones else z

    def of_rows(self, z: Array) -> Array:
        """The curvature of the rows times a change of their predictions."""
        along = np.einsum("ik,ik->i", self.e, z)
        return self.d * z - self.e * along[:, np.newaxis]

    def gradient(self, rows: Array) -> Array:
        """X' times a table of the rows, on the working set."""
        table = self.some.rmatmul(rows)
        if self.ones:
            table = np.vstack([table, rows.sum(axis=0)])
        return table if self._is_whole else np.where(self.mask, table, 0.0)

    def times(self, table: Array) -> Array:
        """The curvature on the working set times a table of coefficients."""
        if self.design.dense and self.d.size * len(table) > CALLS_COST_MORE:
            return self.gradient(self.of_rows(self.predictions(table))) + self.ridge * table
        out = np.empty(table.shape)
        given = self.ones, self.d, self.e, np.ascontiguousarray(table), out
        if self.design.dense:
            matrix = self.design.by_columns.matrix
            kernels.curvature_product_by_columns(matrix, self.features, *given)
        else:
            kernels.curvature_product(self.some.by_rows.matrix, *given)
        if not self._is_whole:
            out[~self.mask] = 0.0
        out += self.ridge * table
        return out

    @cached_property
    def diagonal(self) -> Array:
        """That of X' diag(d) X, which is at least that of the curvature."""
        table = self.some.rmatmul_square(self.d)
        if self.ones:
            table = np.vstack([table, self.d.sum(axis=0)])
        return np.where(self.mask, table, 0.0)

    @property
    def n_outputs(self) -> int:
        return self.d.shape[1]

    @cached_property
    def scales(self) -> Array:
        """g with the curvature of feature j about g_j times that of the outputs."""
        weights = np.sum(self.d - self.e * self.e, axis=1)
        shares = weights / max(float(np.sum(weights)), np.finfo(float).tiny)
        scales = self.some.rmatmul_square(shares[:, np.newaxis])[:, 0]
        return np.append(scales, 1.0) if self.ones else scales

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
        if self.gram is not None:
            return self.gram / self.n_outputs
        weights = np.ascontiguousarray(np.mean(self.d - self.e * self.e, axis=1))
        return self.design.gram(weights, self.features, self.ones)

    def scaled_table(self, places: Indices) -> Array:
        """A with A'A the curvature of one output, on the average, for some of the features."""
        weights = np.maximum(np.mean(self.d - self.e * self.e, axis=1), 0.0)
        table = self.design.table(self.features[places[places < len(self.features)]])
        if self.ones and len(places) and places[-1] == len(self.features):
            table = np.column_stack([table, np.ones(len(table))])
        return np.sqrt(weights)[:, np.newaxis] * table

    @cached_property
    def shares(self) -> Array:
        """Of the outputs in the curvature d of the rows, which is at least theirs."""
        weights = np.sum(self.d - self.e * self.e)
        found: Array = np.sum(self.d, axis=0) / weights
        return found

    def descend_by_gram(
        self, penalty: tuple[Array, float, float], P: Array, R: Array, scale: float, *, tol: float
    ) -> bool:
        """Sweeps over the rows of P with the curvature G (x) diag(scale times the shares).

        Whether the last changed a gradient by at most tol.
        """
        assert self.gram is not None
        matrix, mask = self.gram[:, :, np.newaxis], self.mask.astype(float)
        shares = scale * self.shares
        change = kernels.descend_rows(matrix, shares, mask, *penalty, P, R, SWEEPS, tol)
        return bool(change <= tol)

    def descend(
        self, G: Array, W: Array, penalty: tuple, P: Array, U: Array, *, sweeps: int, tol: float
    ) -> float:
        """Sweeps over the rows of P, U the curvature of the rows times X (P - W)."""
        weights, l1, l2 = penalty
        return kernels.descend_outputs(
            self.design.by_columns.matrix, self.features, self.ones, self.d, self.e,
            self.diagonal, self.ridge, G, W, weights, l1, l2, P, U, sweeps, tol,
        )  # fmt: skip

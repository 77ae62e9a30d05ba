"""The curvature of several outputs on a working set, in the forms that solvers use.

The loss of a row has the Hessian diag(d_i) - e_i e_i' in its predictions, with e_i = 0 for losses
of single predictions. The Hessian in the coefficients is the sum of Kronecker products
sum_i x_i x_i' (x) (diag(d_i) - e_i e_i'). It is represented in one of three forms:

`GramMatrices`
    where e is 0: a Gram matrix for each output, or one for all if their curvatures agree;
a matrix
    over all entries of the working set, if these are few;
`OutputColumns`
    products with X, which is read once for all outputs.

The choice among them is made in `skpd.designs.outputs_gram`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from .. import kernels
from .._typing import Array, Indices, Mask
from .curvature_form import CurvatureForm
from .design import Design
from .gram import product_of_symmetric

SHIFT_FREE = 1e-12  # curvature of a shift, relative to the largest, that is a rounding error
SWEEPS = 10  # most sweeps until the set of non-zero rows does not change


@dataclass
class GramMatrices:
    """Gram matrices of the features for each output, or one for all outputs.

    Attributes
    ----------
    matrices : ndarray of shape (n, n, n_blocks)
        Matrices over n features, the last one being a column of ones if there are intercepts.
        n_blocks is 1 if the outputs share their matrix.
    n_outputs : int
    """

    form: ClassVar[CurvatureForm] = CurvatureForm.BLOCKS

    matrices: Array
    n_outputs: int

    def descend(
        self, penalty: tuple[Array, float, float], P: Array, R: Array, *, sweeps: int, tol: float
    ) -> float:
        """Update P and the gradient R by sweeps of block coordinate descent over the rows of P.

        Returns the last change of a gradient, at which the sweeps end if it is at most ``tol``.
        """
        shares, mask = np.ones(self.n_outputs), np.ones(P.shape)
        return kernels.descend_rows(
            self.matrices, shares, mask, *penalty, P, R, sweeps, tol, False
        )  # fmt: skip

    @property
    def n_blocks(self) -> int:
        """The number of matrices: one for each output, or one for all."""
        return int(self.matrices.shape[-1])

    def times(self, table: Array) -> Array:
        """The product with a table, many of whose rows may be 0."""
        if self.n_blocks == 1:
            return product_of_symmetric(self.matrices[..., 0], table)
        features = np.flatnonzero(table.any(axis=1))
        if 2 * len(features) >= len(table):  # a copy of the columns would cost more
            return np.einsum("ijk,jk->ik", self.matrices, table)
        return np.einsum("ijk,jk->ik", self.matrices[:, features], table[features])

    # What `OutputColumns` says of its entries: all are in the working set, with their ridge in the
    # matrices.
    ridge: ClassVar[Array] = np.zeros((1, 1))

    @property
    def mask(self) -> Mask:
        return np.ones((len(self.matrices), self.n_outputs), dtype=bool)

    @property
    def diagonal(self) -> Array:
        """The diagonals of the matrices, of shape (n, n_outputs)."""
        return np.einsum("iik->ik", self.matrices) * np.ones(self.n_outputs)


@dataclass
class OutputColumns:
    """The curvature given by products with the features of a working set and Hessians of rows.

    Attributes
    ----------
    design : Design
        X.
    features : ndarray of shape (n_features,)
        The features of the working set.
    ones : bool
        Whether a column of ones follows the features.
    d, e : ndarray of shape (n_samples, n_outputs)
    mask : ndarray of bool, of shape (n_features + ones, n_outputs)
        The entries of the working set.
    ridge : ndarray of the same shape
        A ridge that is added to the diagonal, 0 outside of the working set.
    subset : Design
        The columns of X for the features.
    gram : ndarray of shape (n_features + ones, n_features + ones) or None
        G of the approximation G (x) C of the curvature, if there are many more rows than features.
    """

    form: ClassVar[CurvatureForm] = CurvatureForm.PRODUCTS

    design: Design
    features: Indices
    ones: bool
    d: Array
    e: Array
    mask: Mask
    ridge: Array
    subset: Design
    gram: Array | None = None

    def predictions(self, table: Array) -> Array:
        """The predictions of a table of coefficients, of shape (n_samples, n_outputs)."""
        coefs, every = table[: len(self.features)], np.arange(len(self.features))
        # steps are far less precise than products in the precision of X
        z = self.subset.matmul(coefs.astype(self.subset.dtype), every).astype(np.float64)
        return z + table[-1] if self.ones else z

    def of_rows(self, z: Array) -> Array:
        """The products of the Hessians of the rows with changes z of their predictions."""
        along = np.einsum("ik,ik->i", self.e, z)
        return self.d * z - self.e * along[:, np.newaxis]

    def gradient(self, rows: Array) -> Array:
        """The product X' rows on the working set, 0 for other entries."""
        product = self.subset.rmatmul(rows.astype(self.subset.dtype)).astype(np.float64)
        table = self._and_ones(product, rows)
        return table if self.mask.all() else np.where(self.mask, table, 0.0)

    def _and_ones(self, table: Array, rows: Array) -> Array:
        """Sums over the rows for each feature, followed by those for the column of ones."""
        return np.vstack([table, np.ones(len(rows)) @ rows]) if self.ones else table

    def times(self, table: Array) -> Array:
        """The product of the curvature on the working set with a table of coefficients."""
        return self.gradient(self.of_rows(self.predictions(table))) + self.ridge * table

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal sum_i x_ij^2 d_ik, an upper bound on that of the curvature."""
        columns = [self.subset.rmatvec_square(np.ascontiguousarray(d)) for d in self.d.T]
        table = self._and_ones(np.column_stack(columns), self.d)
        return np.where(self.mask, table, 0.0)

    @cached_property
    def is_shift_free(self) -> bool:
        """Whether adding a number to all outputs of a feature has no curvature up to rounding."""
        left = self.d - self.e * np.sum(self.e, axis=1, keepdims=True)
        return bool(np.max(np.abs(left)) <= SHIFT_FREE * np.max(self.d))

    @cached_property
    def shares(self) -> Array:
        """The shares sum_i d_ik / sum (d - e^2) of the outputs in an upper bound on C."""
        weights = np.sum(self.d - self.e * self.e)
        return np.sum(self.d, axis=0) / weights

    def descend_by_gram(
        self, penalty: tuple[Array, float, float], P: Array, R: Array, scale: float, *, tol: float
    ) -> bool:
        """Update P by sweeps over its rows, with the curvature G (x) diag(scale times shares).

        Returns whether the last sweep changed gradients by at most tol.
        """
        assert self.gram is not None
        matrix, mask = self.gram[:, :, np.newaxis], self.mask.astype(float)
        shares = scale * self.shares
        change = kernels.descend_rows(matrix, shares, mask, *penalty, P, R, SWEEPS, tol, True)
        return bool(change <= tol)

    def descend(
        self, G: Array, W: Array, penalty: tuple, P: Array, U: Array, *, sweeps: int, tol: float,
        until_settled: bool = True,
    ) -> float:  # fmt: skip
        """Update P and U by sweeps over the rows of P, and return the last change of a gradient.

        U has the products of the Hessians of the rows with X (P - W). With ``until_settled`` the
        sweeps end when the set of non-zero rows does not change.
        """
        weights, l1, l2 = penalty
        return kernels.descend_outputs(
            self.design.by_columns.matrix, self.features, self.ones, self.d, self.e,
            self.diagonal, self.ridge, G, W, weights, l1, l2, P, U, sweeps, tol, until_settled,
        )  # fmt: skip

"""The curvature of several outputs on a working set, in the forms that solvers use.

The loss of a row has the Hessian diag(d_i) - e_i e_i' in its predictions, with e_i = 0 for losses
of single predictions. The Hessian in the coefficients is the sum of Kronecker products
sum_i x_i x_i' (x) (diag(d_i) - e_i e_i'). It is represented in one of four forms:

`GramMatrices`
    where e is 0: a Gram matrix for each output, or one for all if their curvatures agree;
`WideOutputs`
    where e is 0 and there are more features than entries in a column of X, as in wide data:
    sweeps over the columns of X, and systems formed for the features of a support;
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
from numpy.typing import DTypeLike

from .. import kernels
from .._typing import Array, Indices, Mask
from .curvature_form import CurvatureForm
from .design import Design
from .gram import BLAS, product_of_symmetric
from .output_inverses import FactorInverses, OutputInverses, RowSpaceInverses
from .outputs_moment_preconditioner import FeatureMoments, mean_squares

SHIFT_FREE = 1e-12  # curvature of a shift, relative to the largest, that is a rounding error
CALLS_COST_MORE = 4e6  # multiplications below which one compiled call is faster than BLAS
# Features for each row of a linear system from which systems of the rows cost less than one of the
# features: 2 n^2 m + n m^2 multiplications for each output, compared with m^3
FEATURES_OF_ROW = 2.0
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

    @property
    def sweeps_of_system(self) -> float:
        """The sweeps in the time of a linear system of all n features.

        Its inverses take n_blocks n^3 multiplications in BLAS, the system of the norms n^3 / 3,
        and a sweep n^2 n_outputs / 2 in loops, as rows that stay 0 cost little.
        """
        return len(self.matrices) * (2.0 * self.n_blocks + 2.0 / 3.0) / (self.n_outputs * BLAS)

    def times(self, table: Array) -> Array:
        """The product with a table, many of whose rows may be 0."""
        if self.n_blocks == 1:
            return product_of_symmetric(self.matrices[..., 0], table)
        features = np.flatnonzero(table.any(axis=1))
        if 2 * len(features) >= len(table):  # a copy of the columns would cost more
            return np.einsum("ijk,jk->ik", self.matrices, table)
        return np.einsum("ijk,jk->ik", self.matrices[:, features], table[features])

    @property
    def curvatures(self) -> Array:
        """The means over the outputs of the diagonals of the matrices, of shape (n, 1)."""
        diagonals = np.einsum("iik->ik", self.matrices)
        return np.asarray(np.mean(diagonals, axis=1, keepdims=True))

    def inverses(
        self, features: Indices, diagonal: Array, n_normed: int, precision: DTypeLike
    ) -> OutputInverses:
        """The inverses of the matrices plus diag(diagonal), on some of the features.

        Those with a norm are the first ``n_normed``.

        Raises
        ------
        LinAlgError
        """
        matrices = self.matrices[features[:, np.newaxis], features]
        matrices = np.ascontiguousarray(matrices.transpose(2, 0, 1))
        among = np.arange(len(features))
        matrices[:, among, among] += diagonal
        return FactorInverses(matrices.astype(precision, copy=False))


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
    moments : FeatureMoments or None
        The second moments of all features, if all are in every working set.
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
    moments: FeatureMoments | None = None

    @cached_property
    def _is_whole(self) -> bool:
        """Whether all entries of the features are in the working set."""
        return bool(self.mask.all())

    def predictions(self, table: Array) -> Array:
        """The predictions of a table of coefficients, of shape (n_samples, n_outputs)."""
        z = self.subset.matmul(table[: len(self.features)], np.arange(len(self.features)))
        return z + table[-1] if self.ones else z

    def of_rows(self, z: Array) -> Array:
        """The products of the Hessians of the rows with changes z of their predictions."""
        along = np.einsum("ik,ik->i", self.e, z)
        return self.d * z - self.e * along[:, np.newaxis]

    def gradient(self, rows: Array) -> Array:
        """The product X' rows on the working set, 0 for other entries."""
        table = self._and_ones(self.subset.rmatmul(rows), rows)
        return table if self._is_whole else np.where(self.mask, table, 0.0)

    def _and_ones(self, table: Array, rows: Array) -> Array:
        """Sums over the rows for each feature, followed by those for the column of ones."""
        return np.vstack([table, rows.sum(axis=0)]) if self.ones else table

    def times(self, table: Array) -> Array:
        """The product of the curvature on the working set with a table of coefficients."""
        if self.design.dense and self.d.size * len(table) > CALLS_COST_MORE:
            return self.gradient(self.of_rows(self.predictions(table))) + self.ridge * table
        out = np.empty(table.shape)
        arguments = self.ones, self.d, self.e, np.ascontiguousarray(table), out
        if self.design.dense:
            matrix = self.design.by_columns.matrix
            kernels.curvature_product_by_columns(matrix, self.features, *arguments)
        else:
            kernels.curvature_product(self.subset.by_rows.matrix, *arguments)
        if not self._is_whole:
            out[~self.mask] = 0.0
        out += self.ridge * table
        return out

    @cached_property
    def diagonal(self) -> Array:
        """The diagonal sum_i x_ij^2 d_ik, an upper bound on that of the curvature."""
        of_outputs = [self.subset.rmatvec_square(np.ascontiguousarray(d)) for d in self.d.T]
        table = self._and_ones(np.column_stack(of_outputs), self.d)
        return np.where(self.mask, table, 0.0)

    @property
    def n_outputs(self) -> int:
        return self.d.shape[1]

    @cached_property
    def scales(self) -> Array:
        """The scales g for which the curvature of feature j is about g_j times that of outputs."""
        return mean_squares(self.subset, np.sum(self.d - self.e * self.e, axis=1), self.ones)

    @cached_property
    def is_shift_free(self) -> bool:
        """Whether adding a number to all outputs of a feature has no curvature up to rounding."""
        left = self.d - self.e * np.sum(self.e, axis=1, keepdims=True)
        return bool(np.max(np.abs(left)) <= SHIFT_FREE * np.max(self.d))

    @property
    def of_outputs(self) -> Array:
        """The sum C of the Hessians of the rows, of shape (n_outputs, n_outputs)."""
        return np.diag(np.sum(self.d, axis=0)) - self.e.T @ self.e

    @cached_property
    def averaged(self) -> Array:
        """The average over the outputs of their curvatures, a matrix over the features."""
        if self.gram is not None:
            return self.gram / self.n_outputs
        weights = np.ascontiguousarray(np.mean(self.d - self.e * self.e, axis=1))
        return self.design.gram(weights, self.features, self.ones)

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


@dataclass
class WideOutputs:
    """The curvature of outputs that are not coupled, by the columns of X.

    With more features than twice the entries of a column, sweeps and products cost less than with
    Gram matrices of the working set. These are formed for the features of a linear system, or,
    where these are many more than the rows, matrices over the rows.

    Attributes
    ----------
    columns : OutputColumns
    agree : bool
        Whether the outputs share their matrix.
    """

    form: ClassVar[CurvatureForm] = CurvatureForm.BLOCKS

    columns: OutputColumns
    agree: bool

    @property
    def n_outputs(self) -> int:
        return self.columns.n_outputs

    @property
    def n_blocks(self) -> int:
        """See `GramMatrices.n_blocks`."""
        return 1 if self.agree else self.n_outputs

    @property
    def sweeps_of_system(self) -> float:
        """See `GramMatrices.sweeps_of_system`: 2 n K m^2 in BLAS, over 2 n m K in loops."""
        return len(self.columns.mask) / BLAS

    @property
    def curvatures(self) -> Array:
        """See `GramMatrices.curvatures`."""
        diagonals = self.columns.diagonal + self.columns.ridge
        return np.asarray(np.mean(diagonals, axis=1, keepdims=True))

    def descend(
        self, penalty: tuple[Array, float, float], P: Array, R: Array, *, sweeps: int, tol: float
    ) -> float:
        """See `GramMatrices.descend`."""
        columns, before, of_rows = self.columns, P.copy(), np.zeros(self.columns.d.shape)
        change = columns.descend(
            R, before, penalty, P, of_rows, sweeps=sweeps, tol=tol, until_settled=False
        )
        R += columns.gradient(of_rows) + columns.ridge * (P - before)
        return change

    def times(self, table: Array) -> Array:
        """See `GramMatrices.times`."""
        return self.columns.times(table)

    def inverses(
        self, features: Indices, diagonal: Array, n_normed: int, precision: DTypeLike
    ) -> OutputInverses:
        """See `GramMatrices.inverses`; in double precision where systems of rows cost less."""
        columns, n = self.columns, len(features)
        s = diagonal[:, np.newaxis] + columns.ridge[features]
        curved = [np.flatnonzero(d) for d in columns.d[:, : self.n_blocks].T]  # few at kinks
        if FEATURES_OF_ROW * sum(map(len, curved)) >= n * self.n_blocks:
            return FactorInverses(self._matrices(features, s).astype(precision, copy=False))
        table = columns.subset.table(features[features < len(columns.features)])
        if table.shape[1] < n:
            table = np.column_stack([table, np.ones(len(table))])
        roots = np.sqrt(columns.d)
        factors = [table[i] * roots[i, k : k + 1] for k, i in enumerate(curved)]
        return RowSpaceInverses(factors, s, n_normed)

    def _matrices(self, features: Indices, diagonals: Array) -> Array:
        """The matrices on some of the features, plus a diagonal for each output."""
        columns, n = self.columns, len(features)
        order = np.argsort(features)
        inside = features[order][features[order] < len(columns.features)]
        matrices = np.empty((self.n_blocks, n, n))
        for k, matrix in enumerate(matrices):
            weights = np.ascontiguousarray(columns.d[:, k])
            matrix[np.ix_(order, order)] = columns.subset.gram(weights, inside, len(inside) < n)
            matrix.ravel()[:: n + 1] += diagonals[:, k]
        return matrices

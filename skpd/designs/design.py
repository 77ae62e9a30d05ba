"""What a solver may ask of the data matrix, whatever its layout and precision."""

from functools import cached_property
from math import fsum, inf
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from .. import kernels
from .._typing import Array, Indices
from .far_columns import FAR, columns_that_seem_far, shift_by_means
from .tables import product, transposed_product, transposed_product_of
from .threads import blas_threads_for_product

__all__ = ["Design"]

NARROW = 50  # columns up to which a kernel forms Gram matrices; BLAS first needs scaled copies
FEW = 8  # times as many columns: that some of them are worth a copy
_BLOCK = 1 << 19  # numbers of a dense matrix to copy at a time: 4 MB


def _row_blocks(h, width):
    """(sign, |h|, rows) for blocks of rows of one sign, ``width`` numbers of each at a time."""
    block = max(_BLOCK // max(width, 1), 256)
    for sign, rows in ((1.0, np.flatnonzero(h > 0.0)), (-1.0, np.flatnonzero(h < 0.0))):
        for first in range(0, len(rows), block):
            some = rows[first : first + block]
            if some[-1] - some[0] + 1 == len(some):  # no need to pick them one by one
                some = slice(some[0], some[-1] + 1)
            yield sign, np.abs(h[some]), some


class Design:
    """A data matrix X of shape (n_samples, n_features), borrowed where its layout allows.

    Dense arrays (C or Fortran order), CSR and CSC matrices and arrays, in float64 or
    float32. Products are accumulated in float64 in either case. An array in another
    layout (neither rows nor columns contiguous, unsorted or duplicate entries) is copied once.

    Parameters
    ----------
    X : {ndarray, sparse matrix, sparse array} of shape (n_samples, n_features)
        Validated data: finite, float32 or float64.
    by_columns : bool, default=False
        Whether an array of a single row or column, whose layout does not tell, is by columns.
    n_parallel : int, default=1
        How many that use it at the same time share the threads for products with a large X.

    Raises
    ------
    ValueError
        If the indices of a sparse matrix do not fit its shape.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.designs import Design
    >>> Design(np.array([[1.0, 2.0], [0.0, 1.0]])).matvec(np.ones(2))
    array([3., 1.])
    """

    most_copied_rows: ClassVar[float] = inf  # that a solver may go on with

    def __init__(self, X, by_columns: bool = False, n_parallel: int = 1) -> None:
        self.shape = X.shape
        if 0 in X.shape:  # a task whose rows are all left out, say: no kernel takes such an array
            X = sp.csr_array(X)
        n_threads = max(1, _openmp_effective_n_threads() // n_parallel)
        if sp.issparse(X):
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            index = X.indices.dtype
            if index != X.indptr.dtype or index not in (np.int32, np.int64):
                index = np.dtype(np.int64)
            self.matrix = kernels.Matrix.sparse(
                np.ascontiguousarray(X.data),
                np.ascontiguousarray(X.indices, dtype=index),
                np.ascontiguousarray(X.indptr, dtype=index),
                X.shape[0],
                X.shape[1],
                X.format == "csr",
                n_threads,
            )
        else:
            if X.itemsize not in X.strides:
                X = np.ascontiguousarray(X)
            self.matrix = kernels.Matrix.dense(X, by_columns, n_threads)
        self._X, self._n_parallel = X, n_parallel
        self.dense = not sp.issparse(X)  # whether X is an array

    def _like(self, X, by_columns: bool = False) -> "Design":
        return Design(X, by_columns, self._n_parallel)

    def shared_by(self, n_parallel: int) -> "Design":
        """The same data, for so many that use it or parts of it at the same time."""
        if n_parallel == self._n_parallel:
            return self
        return Design(self._X, not self.matrix.by_row, n_parallel)

    @cached_property
    def by_rows(self) -> "Design":
        """The same data stored row by row, converted where it is not."""
        if self.matrix.by_row:
            return self
        return self._like(
            self._X.tocsr() if sp.issparse(self._X) else np.ascontiguousarray(self._X)
        )

    @cached_property
    def transposed(self) -> "Design":
        """The same data with rows for columns."""
        return self._like(self._X.T)

    @cached_property
    def by_columns(self) -> "Design":
        """The same data stored column by column, with the same type of indices."""
        if not self.matrix.by_row:
            return self
        if not sp.issparse(self._X):
            return self._like(np.asfortranarray(self._X), by_columns=True)
        columns = self._X.tocsc()
        index = self._X.indptr.dtype
        columns.indices = columns.indices.astype(index, copy=False)
        columns.indptr = columns.indptr.astype(index, copy=False)
        return self._like(columns)

    def whole_rows(self, rows: Indices) -> Indices:
        """Rows that can be taken alone: any of them."""
        return rows

    def rows(self, indices: Indices) -> "Design":
        """Some of the rows, copied."""
        some = self._X[indices]
        return self._like(some if sp.issparse(some) else np.ascontiguousarray(some))

    def columns(self, indices: Indices) -> "Design":
        """Some of the columns, copied."""
        some = self._X[:, indices]
        return self._like(some if sp.issparse(some) else np.ascontiguousarray(some))

    def table(self, columns: Indices) -> Array:
        """Some of the columns as an array."""
        some = self._X[:, columns]
        return np.asarray(some.toarray() if sp.issparse(some) else some, dtype=np.float64)

    def rows_as_they_are(self, indices: Indices) -> Any:
        """Some of the rows as an array or a sparse matrix, X itself where they are all of them."""
        return self._X if len(indices) == self.shape[0] else self._X[indices]

    def with_ones(self) -> "Design":
        """The same data with a last column of ones, copied."""
        ones = np.ones((self.shape[0], 1))
        if not sp.issparse(self._X):
            return self._like(np.hstack([self._X, ones]))
        return self._like(sp.hstack([self._X, ones], format=self._X.format))

    def with_column(self, column: Array) -> "Design":
        """The same data with a last column, in their type, copied."""
        values = column.astype(self._X.dtype)[:, np.newaxis]
        if not sp.issparse(self._X):
            return self._like(np.hstack([self._X, values]))
        return self._like(sp.hstack([self._X, values], format=self._X.format))

    def with_rows(self, rows: Array) -> "Design":
        """The same data with more rows behind it, copied."""
        if not sp.issparse(self._X):
            return self._like(np.vstack([self._X, rows]))
        return self._like(sp.vstack([self._X, sp.csr_array(rows)], format=self._X.format))

    def matvec(self, coef: Array) -> Array:
        """X coef, of shape (n_samples,)."""
        if kernels.max_abs(coef) == 0.0:
            return np.zeros(self.shape[0])
        return self.matrix.matvec(coef)

    def rmatvec(self, rows: Array) -> Array:
        """X' rows, of shape (n_features,)."""
        return self.matrix.rmatvec(rows)

    def rmatvec_some(self, rows: Array, columns: Indices) -> Array:
        """X_W' rows over the columns W, of shape (n_columns,), of a matrix by columns or dense."""
        return self.matrix.rmatvec_some(rows, columns)

    def work_on(self, columns: Indices) -> float:
        """About the time of `rmatvec_some` over that of `rmatvec`."""
        if not sp.issparse(self._X):
            gather = 5.0 if self.matrix.by_row else 1.0
            return gather * len(columns) / self.shape[1]
        if self.matrix.by_row:
            return np.inf
        return float(np.sum(self.column_counts[columns])) / max(self._X.nnz, 1)

    @property
    def n_entries(self) -> int:
        """Entries that a product reads."""
        return int(self.matrix.n_entries)

    @cached_property
    def longest_row(self) -> int:
        """Entries of a row at most."""
        if self.dense:
            return int(self.shape[1])
        X = self._X
        counts = np.diff(X.indptr) if self.matrix.by_row else np.bincount(X.indices)
        return int(np.max(counts, initial=0))

    def matmul(self, coefs: Array, active: Indices) -> Array:
        """X coefs for coefs of shape (n_features, n_outputs), 0 but in the active rows."""
        X, few = self._X, FEW * len(active) <= self.shape[1]
        if self.dense and X.dtype != np.float64:
            return np.column_stack([self.matvec(np.ascontiguousarray(w)) for w in coefs.T])
        if few and (self.dense or not self.matrix.by_row):
            X, coefs = X[:, active], coefs[active]
        return product(X, coefs)

    def rmatmul(self, rows: Array, columns: Indices | None = None) -> Array:
        """X' rows for rows of shape (n_samples, n_outputs), or some of its rows."""
        X = self._X if columns is None else self._X[:, columns]
        if self.dense and X.dtype != np.float64:
            own = self if columns is None else self.columns(columns)
            return np.column_stack([own.rmatvec(np.ascontiguousarray(r)) for r in rows.T])
        return transposed_product(X, rows)

    def rmatmul_square(self, rows: Array) -> Array:
        """sum_i x_ij^2 rows_ik, of shape (n_features, n_outputs)."""
        return transposed_product_of(np.square, self._X, rows)

    def rmatmul_absolute(self, rows: Array) -> Array:
        """sum_i abs(x_ij) rows_ik, of shape (n_features, n_outputs)."""
        return transposed_product_of(np.abs, self._X, rows)

    def matvec_bounded(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        """X coef + intercept and a bound on its rounding error."""
        if kernels.max_abs(coef) == 0.0:
            return np.full(self.shape[0], intercept), np.zeros(self.shape[0])
        return self.matrix.matvec_bounded(coef, intercept)

    def rmatvec_bounded(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        """X' (weights * rows) and a bound on its rounding error."""
        return self.matrix.rmatvec_bounded(weights, rows)

    def matvec_compensated(self, coef: Array, intercept: float) -> tuple[Array, Array, Array]:
        """X coef + intercept as an unevaluated sum (high, low), and a bound on its error."""
        if kernels.max_abs(coef) == 0.0:
            nothing = np.zeros(self.shape[0])
            return np.full(self.shape[0], intercept), nothing, nothing
        return self.matrix.matvec_compensated(coef, intercept)

    def rmatvec_compensated(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        """X' (weights * rows) in twice the working precision, and a bound on its error."""
        high, low, error = self.rmatvec_high_low(weights, rows)
        return high, error + np.abs(low)

    def rmatvec_high_low(self, weights: Array, rows: Array) -> tuple[Array, Array, Array]:
        """The same as an unevaluated sum (high, low), and a bound on its error."""
        high, low, error = self.matrix.rmatvec_compensated(weights, rows)
        return high, low, error

    def gram(self, h: Array, columns: Indices, ones: bool) -> Array:
        """X_W' diag(h) X_W over the columns W, with a last column of ones if asked for.

        Parameters
        ----------
        h : ndarray of shape (n_samples,)
            Weights of the rows.
        columns : ndarray of shape (n_columns,)
            Increasing indices.
        ones : bool

        Returns
        -------
        gram : ndarray of shape (n_columns + ones, n_columns + ones)
        """
        m = len(columns) + ones
        out = np.empty((m, m))
        if sp.issparse(self._X) or m <= NARROW:
            self.matrix.gram(h, columns, ones, out)
            return out
        out[:] = 0.0
        all_of_them = len(columns) == self.shape[1] and not ones and self._X.dtype == np.float64
        for sign, h_some, some in _row_blocks(h, m):
            part = self._X[some] if all_of_them else self._block(some, columns, ones)
            scale = h_some[0]
            if np.any(h_some != scale):
                part = part * np.sqrt(h_some)[:, np.newaxis]
                scale = 1.0
            with blas_threads_for_product(part.size * m):
                product = part.T @ part
            out += sign * scale * product
        return out

    def cross_gram(self, h: Array, left: Indices, right: Indices, ones: bool) -> Array:
        """X_R' diag(h) [X_L X_R] over disjoint L and R, with a last column X_R' h if asked for.

        Parameters
        ----------
        h : ndarray of shape (n_samples,)
            Weights of the rows.
        left, right : ndarray of shape (n_left,) and (n_right,)
        ones : bool

        Returns
        -------
        gram : ndarray of shape (n_right, n_left + n_right + ones)
        """
        n_left, both = len(left), np.concatenate([left, right])
        m = len(both) + ones
        out = np.empty((len(right), m))
        if sp.issparse(self._X):
            self.matrix.cross_gram(h, left, right, ones, out)
            return out
        out[:] = 0.0
        for sign, h_some, some in _row_blocks(h, m + len(right)):
            part = self._block(some, both, ones)
            weighted = part[:, n_left : len(both)] * (sign * h_some)[:, np.newaxis]
            with blas_threads_for_product(weighted.size * m):
                out += weighted.T @ part
        return out

    def columns_that_seem_far(self, far: float) -> tuple[Indices, Array]:
        """Columns whose mean, in some of the rows, is so many standard deviations; these means."""
        return columns_that_seem_far(self._X, far)

    def shift_of_columns(self, weights: Array, far: float = FAR) -> Array | None:
        """Weighted means of the columns that are far from 0 beside their spread, or None.

        Far is a mean of so many standard deviations. Some rows tell which they are; the others
        have 0.
        """
        return shift_by_means(self, self.columns_that_seem_far(far), weights)

    def shifted(self, shift: Array) -> "Design":
        """X less a number in every column, copied; a sparse X stores the shifted columns whole."""
        if not sp.issparse(self._X):
            return self._like(self._X - shift, not self.matrix.by_row)  # in the same order
        columns = np.flatnonzero(shift)
        others = np.flatnonzero(shift == 0.0)
        part = self._X[:, columns].toarray() - shift[columns]
        both = sp.hstack([self._X[:, others], part], format="csc", dtype=np.float64)
        places = np.argsort(np.concatenate([others, columns]), kind="stable")
        return self._like(both[:, places].asformat(self._X.format))

    def common_row_sum(self) -> float | None:
        """What all rows sum to, rounded, if that is the same in exact arithmetic (one-hot rows).

        It is 0 only for sums of exactly 0, and None where rows differ.
        """
        sums, _, _ = self.matvec_compensated(np.ones(self.shape[1]), 0.0)
        if np.ptp(sums) > 0.0:
            return None
        if sp.issparse(self._X):
            X = self._X.tocsr()
            rows = (X.data[X.indptr[i] : X.indptr[i + 1]] for i in range(self.shape[0]))
        else:
            rows = iter(self._X)
        first = next(rows)
        same = all(fsum([*row, *(-first)]) == 0.0 for row in rows)
        return fsum(first) if same else None

    def _block(self, rows: Indices | slice, columns: Indices, ones: bool) -> Array:
        """A copy of some rows of some columns, in the order of X, and a column of ones."""
        if not isinstance(rows, slice):
            picked = self._X[np.ix_(rows, columns)]
        elif self.matrix.by_row:
            picked = np.take(self._X[rows], columns, axis=1)
        else:
            picked = self._X.T[:, rows][columns].T  # whole columns are copied at once
        if not ones and picked.dtype == np.float64:
            return picked
        n_rows, n_columns = picked.shape
        shape = n_rows, n_columns + ones
        block = np.ones(shape, order="C" if self.matrix.by_row else "F")
        block[:, :n_columns] = picked
        return block

    @cached_property
    def column_counts(self) -> Indices:
        """Entries of every column that are stored, of shape (n_features,)."""
        if not sp.issparse(self._X):
            return np.full(self.shape[1], self.shape[0])
        if self.matrix.by_row:
            indices, n_columns = self._X.indices, self.shape[1]
            size = max(n_columns, 65536)  # at a time: each is copied as 64-bit integers
            counts = np.zeros(n_columns, dtype=np.int64)
            for first in range(0, len(indices), size):
                counts += np.bincount(indices[first : first + size], minlength=n_columns)
            return counts
        return np.diff(self._X.indptr)

    def row_sums(self) -> Array:
        """``sum_j |x_ij|``, of shape (n_samples,)."""
        return self.matrix.matvec_absolute(np.ones(self.shape[1]))

    def column_sums(self, weights: Array) -> Array:
        """``sum_i weights_i |x_ij|``, of shape (n_features,)."""
        return self.matrix.rmatvec_absolute(weights)

    def row_norms(self) -> Array:
        """Euclidean norms of the rows, of shape (n_samples,)."""
        return np.sqrt(self.matrix.matvec_square(np.ones(self.shape[1])))

    def column_norms(self, weights: Array) -> Array:
        """sqrt(sum_i weights_i x_ij^2), of shape (n_features,)."""
        return np.sqrt(self.matrix.rmatvec_square(weights))

"""The data matrix with its products and Gram matrices, for all layouts and precisions."""

from collections.abc import Callable
from functools import cached_property, wraps
from math import fsum, inf
from typing import ClassVar, TypeVar

import numpy as np
import scipy.sparse as sp

from .. import kernels
from .._compat import _openmp_effective_n_threads
from .._immutable_base import OfKinds, computed
from .._typing import Array, Indices, Table
from .dense_gram import dense_gram
from .far_columns import FAR, columns_that_seem_far, shift_by_means
from .products_with_tables import canonical, product, transposed_product, with_columns

T = TypeVar("T")

NARROW = 250  # most columns of dense Gram matrices that compiled code forms, without copies
FAR_NORM = 1e140  # norms of columns from here on, or below its inverse, are computed by scaling
FEW = 8  # a subset of columns is copied if there are at least this times as many columns


def keeps_last(method: Callable[..., T]) -> Callable[..., T]:
    """A method of vectors whose last result is kept, as the next caller may ask for the same.

    Classes one against the rest do, and the certificates of one model.
    """
    name = f"_last_{method.__name__}"

    @wraps(method)
    def keeping(design: "RowsOfSamples", *vectors: Array) -> T:
        last, result = vars(design).get(name, (None, None))
        if last is None or not all(map(np.array_equal, last, vectors)):
            result = method(design, *vectors)
            vars(design)[name] = [np.array(vector) for vector in vectors], result
        return result

    return keeping


class RowsOfSamples(OfKinds):
    """A linear map to rows, each of which belongs to a sample of its own, with its defaults."""

    shape: tuple[int, int]

    shares_data: ClassVar[bool] = False  # whether several outputs have the same X

    most_copied_rows: ClassVar[float] = inf  # a solver may copy any number
    # whether features are in products with bounds on errors, but in no others
    leaves_features_out: ClassVar[bool] = False

    def whole_rows(self, rows: Indices) -> Indices:
        """The rows together with those that belong to the same samples, here the rows."""
        return rows

    @property
    def samples(self) -> Indices:
        """The sample that each row belongs to, here the row itself."""
        return np.arange(self.shape[0])


class Design(RowsOfSamples):
    """A data matrix X of shape (n_samples, n_features), without a copy where its layout allows.

    X may be a dense array in C or Fortran order, or a CSR or CSC matrix or array, in float64 or
    float32. Products are accumulated in float64 in either case. A matrix in another layout
    (neither rows nor columns contiguous, unsorted or duplicate entries) is copied once.

    Parameters
    ----------
    X : {ndarray, sparse matrix, sparse array} of shape (n_samples, n_features)
        Validated data: finite, float32 or float64.
    by_columns : bool, default=False
        Whether an array with a single row or column, whose layout is ambiguous, is treated as
        stored by columns.
    n_parallel : int, default=1
        The number of concurrent users that share the threads for products with a large X.

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

    # The number of outputs, the features of each, and the X of all and of each of them.
    n_outputs: int = 1
    n_inputs: int = computed(lambda self: int(self.shape[1]))
    base: "Design" = computed(lambda self: self)
    parts: "list[Design]" = computed(lambda self: [self])

    def __init__(self, X, by_columns: bool = False, n_parallel: int = 1) -> None:
        self.shape = X.shape
        if 0 in X.shape:  # compiled functions take no empty arrays, as of a task without rows
            X = sp.csr_array(X)
        n_threads = max(1, _openmp_effective_n_threads() // n_parallel)
        if sp.issparse(X):
            X = canonical(X)
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

    def _by_rows(self, X) -> "Design":
        return self._like(X if sp.issparse(X) else np.ascontiguousarray(X))

    def half_ranges(self, rows: Indices) -> Array:
        """Half the differences of the largest and the least entry of every column in some rows."""
        table = self._X if len(rows) == self.shape[0] else self._X[rows]
        ends = [table.max(axis=0), table.min(axis=0)]
        if sp.issparse(table):
            ends = [np.ravel(end.toarray()) for end in ends]
        half: Array = 0.5 * (ends[0].astype(np.float64) - ends[1])
        return half

    @property
    def as_given(self) -> Table:
        """The array or sparse matrix itself."""
        return self._X

    def shared_by(self, n_parallel: int) -> "Design":
        """The data with the threads of products divided among ``n_parallel`` users."""
        if n_parallel == self._n_parallel:
            return self
        return Design(self._X, not self.matrix.by_row, n_parallel)

    @cached_property
    def by_rows(self) -> "Design":
        """The data stored by rows, converted if necessary."""
        if self.matrix.by_row:
            return self
        return self._by_rows(self._X.tocsr() if sp.issparse(self._X) else self._X)

    @cached_property
    def transposed(self) -> "Design":
        """The transposed data X'."""
        return self._like(self._X.T)

    @cached_property
    def by_columns(self) -> "Design":
        """The data stored by columns, converted if necessary, with the same type of indices."""
        if not self.matrix.by_row:
            return self
        if not sp.issparse(self._X):
            return self._like(np.asfortranarray(self._X), by_columns=True)
        columns = self._X.tocsc()
        index = self._X.indptr.dtype
        columns.indices = columns.indices.astype(index, copy=False)
        columns.indptr = columns.indptr.astype(index, copy=False)
        return self._like(columns)

    def rows(self, indices: Indices) -> "Design":
        """A subset of the rows, copied."""
        return self._by_rows(self._X[indices])

    def columns(self, indices: Indices) -> "Design":
        """A subset of the columns, copied."""
        return self._by_rows(self._X[:, indices])

    @property
    def dtype(self) -> np.dtype:
        """The type in which the data are stored."""
        return self._X.dtype

    @property
    def precision(self) -> float:
        """The distance from 1 to the next number of the type in which the data are stored."""
        return float(np.finfo(self.dtype).eps)

    def table(self, columns: Indices) -> Array:
        """Distinct columns as a dense array of float64, for all of them without a copy."""
        table = self._X if len(columns) == self.shape[1] else self._X[:, columns]
        return np.asarray(table.toarray() if sp.issparse(table) else table, dtype=np.float64)

    def rows_as_they_are(self, indices: Indices) -> Table:
        """A subset of the rows as an array or a sparse matrix; X itself for all rows."""
        return self._X if len(indices) == self.shape[0] else self._X[indices]

    def with_ones(self) -> "Design":
        """A copy of the data with a last column of ones."""
        return self._like(with_columns(self._X, np.ones((self.shape[0], 1))))

    def with_column(self, column: Array) -> "Design":
        """A copy of the data with an additional last column, converted to its type."""
        return self._like(with_columns(self._X, column.astype(self._X.dtype)[:, np.newaxis]))

    def with_rows(self, rows: Array) -> "Design":
        """A copy of the data with additional rows at the end."""
        if not sp.issparse(self._X):
            return self._like(np.vstack([self._X, rows]))
        return self._like(sp.vstack([self._X, sp.csr_array(rows)], format=self._X.format))

    def matvec(self, coef: Array) -> Array:
        """The product X coef, of shape (n_samples,)."""
        if kernels.max_abs(coef) == 0.0:
            return np.zeros(self.shape[0])
        return self.matrix.matvec(coef)

    def rmatvec(self, rows: Array) -> Array:
        """The product X' rows, of shape (n_features,)."""
        return self.matrix.rmatvec(rows)

    def rmatvec_some(self, rows: Array, columns: Indices) -> Array:
        """The product X_W' rows over the columns W, of shape (n_columns,).

        X must be dense or stored by columns.
        """
        return self.matrix.rmatvec_some(rows, columns)

    @property
    def n_entries(self) -> int:
        """The number of entries that a product reads."""
        return int(self.matrix.n_entries)

    @cached_property
    def longest_row(self) -> int:
        """The largest number of stored entries of a row."""
        if self.dense:
            return int(self.shape[1])
        X = self._X
        counts = np.diff(X.indptr) if self.matrix.by_row else np.bincount(X.indices)
        return int(np.max(counts, initial=0))

    def matmul(self, coefs: Array, active: Indices) -> Array:
        """The product X coefs for coefs of shape (n_features, n_outputs).

        The rows of coefs that are not in ``active`` must be 0.
        """
        X, few = self._X, FEW * len(active) <= self.shape[1]
        if few and (self.dense or not self.matrix.by_row):
            X, coefs = X[:, active], coefs[active]
        return product(X, coefs)

    def rmatmul(self, rows: Array, columns: Indices | None = None) -> Array:
        """The product X' rows for rows of shape (n_samples, n_outputs), or its given rows."""
        X = self._X if columns is None else self._X[:, columns]
        return transposed_product(X, rows)

    def rmatvec_square(self, rows: Array) -> Array:
        """The sums sum_i x_ij^2 rows_i, of shape (n_features,)."""
        return self.matrix.rmatvec_square(rows)

    @keeps_last
    def matvec_bounded(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        """The predictions X coef + intercept and bounds on their rounding errors."""
        if kernels.max_abs(coef) == 0.0:
            return np.full(self.shape[0], intercept), np.zeros(self.shape[0])
        return self.matrix.matvec_bounded(coef, intercept)

    def rmatvec_bounded(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        """The product X' (weights * rows) and bounds on its rounding errors."""
        return self.matrix.rmatvec_bounded(weights, rows)

    def mean_row_bounded(self, weights: Array, scale: float) -> tuple[Array, Array]:
        """The mean row scale X' weights and a bound on its error."""
        return self.rmatvec_bounded(weights, np.full(self.shape[0], scale))

    def matvec_compensated(self, coef: Array, intercept: float) -> tuple[Array, Array, Array]:
        """The predictions X coef + intercept as sums of (high, low), with error bounds."""
        if kernels.max_abs(coef) == 0.0:
            nothing = np.zeros(self.shape[0])
            return np.full(self.shape[0], intercept), nothing, nothing
        return self.matrix.matvec_compensated(coef, intercept)

    def rmatvec_compensated(self, weights: Array, rows: Array) -> tuple[Array, Array]:
        """The product X' (weights * rows) in twice the working precision, with error bounds."""
        high, low, error = self.rmatvec_high_low(weights, rows)
        return high, error + np.abs(low)

    def rmatvec_high_low(self, weights: Array, rows: Array) -> tuple[Array, Array, Array]:
        """The product X' (weights * rows) as unevaluated sums (high, low), with error bounds."""
        return self.matrix.rmatvec_compensated(weights, rows)

    def gram(self, h: Array, columns: Indices, ones: bool) -> Array:
        """The Gram matrix X_W' diag(h) X_W over the columns W, and a column of ones if ``ones``.

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
        if self.dense and m > NARROW:
            return dense_gram(self._X, self.matrix.by_row, h, columns, ones)
        out, matrix = np.empty((m, m)), self.matrix
        by_columns = not (self.dense or matrix.by_row)
        if by_columns and 2 * np.sum(self.column_counts[columns]) >= self.n_entries:
            matrix = self.by_rows.matrix  # .2 to .8 of the time, for half of the entries or more
        matrix.gram(h, columns, ones, out)
        return out

    def columns_that_seem_far(self, far: float) -> tuple[Indices, Array]:
        """The columns with a mean above ``far`` standard deviations in a sample of rows.

        Their means in the sample are returned as well.
        """
        return columns_that_seem_far(self._X, far)

    def shift_of_columns(self, weights: Array, far: float = FAR) -> Array | None:
        """The weighted means of columns that are far from 0, and 0 for others; None if all are 0.

        A column is far from 0 if its mean is above ``far`` standard deviations in a sample of
        rows.
        """
        return shift_by_means(
            self.columns_that_seem_far(far), lambda: self.rmatvec(weights), self.shape[1]
        )

    @keeps_last
    def shifted(self, shift: Array) -> "Design":
        """A copy of X with a number subtracted from every column.

        A sparse X stores all entries of the shifted columns.
        """
        if not sp.issparse(self._X):
            return self._like(self._X - shift, not self.matrix.by_row)  # in the same order
        columns = np.flatnonzero(shift)
        others = np.flatnonzero(shift == 0.0)
        part = self._X[:, columns].toarray() - shift[columns]
        both = sp.hstack([self._X[:, others], part], format="csc", dtype=np.float64)
        order = np.argsort(np.concatenate([others, columns]), kind="stable")
        return self._like(both[:, order].asformat(self._X.format))

    def in_units(self, exponents: Indices) -> "Design":
        """A copy of X with the columns times 2^-exponent."""
        X = self._X
        if not sp.issparse(X):
            return self._like(np.ldexp(X, -exponents), not self.matrix.by_row)
        X = X.copy()
        by_row, counts = self.matrix.by_row, np.diff(X.indptr)
        of_entries = exponents[X.indices] if by_row else np.repeat(exponents, counts)
        X.data = np.ldexp(X.data, -of_entries)
        return self._like(X)

    def with_table(self, table: Array) -> "Design":
        """A table in place of X."""
        return self._like(table)

    def common_row_sum(self) -> float | None:
        """The rounded sum of each row, if it is exactly the same for all rows, else None.

        The sums are equal for one-hot features, for example. The result is 0 only if they are
        exactly 0.
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

    @cached_property
    def column_counts(self) -> Indices:
        """The number of stored entries of every column, of shape (n_features,)."""
        if not sp.issparse(self._X):
            return np.full(self.shape[1], self.shape[0])
        if self.matrix.by_row:
            indices, n_columns = self._X.indices, self.shape[1]
            size = max(n_columns, 65536)  # indices converted to 64-bit integers at a time
            counts = np.zeros(n_columns, dtype=np.int64)
            for first in range(0, len(indices), size):
                counts += np.bincount(indices[first : first + size], minlength=n_columns)
            return counts
        return np.diff(self._X.indptr)

    def row_sums(self) -> Array:
        """The sums ``sum_j |x_ij|``, of shape (n_samples,)."""
        return self.matrix.matvec_absolute(np.ones(self.shape[1]))

    def column_sums(self, weights: Array) -> Array:
        """The sums ``sum_i weights_i |x_ij|``, of shape (n_features,)."""
        return self.matrix.rmatvec_absolute(weights)

    def row_norms(self) -> Array:
        """The Euclidean norms of the rows, of shape (n_samples,)."""
        return np.sqrt(self._matvec_square(np.ones(self.shape[1])))

    @keeps_last
    def _matvec_square(self, coef: Array) -> Array:
        return self.matrix.matvec_square(coef)

    @keeps_last
    def column_norms(self, weights: Array) -> Array:
        """The norms sqrt(sum_i weights_i x_ij^2) of the columns, of shape (n_features,).

        Columns whose squares over- or underflow are scaled by powers of two before.
        """
        with np.errstate(over="ignore"):
            norms: Array = np.sqrt(self.rmatvec_square(weights))
        extreme = np.flatnonzero(~((norms > 1.0 / FAR_NORM) & (norms < FAR_NORM)))
        if len(extreme) and len(extreme := extreme[self.column_sums(weights)[extreme] > 0.0]):
            _, units = np.frexp(self.column_sums(weights)[extreme])
            scaled = self.columns(extreme).in_units(units).rmatvec_square(weights)
            norms[extreme] = np.ldexp(np.sqrt(scaled), units)
        return norms

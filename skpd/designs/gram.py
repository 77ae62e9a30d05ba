"""The curvature X_W' diag(h) X_W on a working set W, as a Gram matrix or by a factor of it."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from .. import kernels
from .._typing import Array, ArrayLike, Indices
from .curvature_form import ROUNDING, CurvatureForm
from .design import Design
from .smooth_systems import SystemCurvature, SystemFactors

LARGEST_GRAM = 4000  # most columns of a Gram matrix, 128 MB
# and per row with curvature for losses with kinks, where few rows have it: with five times this
# limit, hinge losses with groups took up to 2.6 times as long
MOST_COLUMNS = 2.0
SMALLEST_SYSTEM = 80  # most features whose system takes a Gram matrix, not conjugate gradients
SMALL_GRAM = 100  # up to this size a Gram matrix is used instead of columns, which is reproducible

# The estimated cost of a Newton step, in units of multiplications of dense vectors
SWEEPS = 20  # number of sweeps of coordinate descent
PASSES = 40  # initial estimate of passes over the columns, two for each sweep or step
BLAS = 8.0  # multiplications in products of matrices in the time of one in vectors
SPARSE = 5.0  # cost of a multiplication for an entry of a sparse vector
# The cost of a pair of entries of a sparse row, in a Gram matrix that stays in a cache (18 MB)
PAIR, CACHED = 1.5, 1500
COPY = 10.0  # cost for each entry of the weighted copies of dense rows for a Gram matrix
PRODUCTS = 6.0  # number of products with X, for gradients and along the step
OVERHEAD = 2e5  # fixed cost of a step


def newton_cost(design: Design, n_rows: float, n_columns: float) -> float:
    """The estimated cost of a Newton step, in units of multiplications of dense vectors."""
    entries, fewer = design.n_entries, min(n_rows, n_columns)
    if design.dense:
        forming = n_rows * n_columns * fewer / BLAS
    else:
        length = min(entries / max(design.shape[0], 1), n_columns)
        forming = SPARSE * n_rows * length**2
    return forming + fewer**3 / (3.0 * BLAS) + PRODUCTS * entries + OVERHEAD


def product_of_symmetric(matrix: Array, table: Array) -> Array:
    """The product of a symmetric matrix with a vector or table, many of whose rows may be 0."""
    rows = np.flatnonzero(table if table.ndim == 1 else table.any(axis=1))
    if 2 * len(rows) >= len(table):
        return np.asarray(matrix @ table)
    return np.asarray(matrix[rows].T @ table[rows])


@dataclass
class MatrixCurvature:
    """A matrix over the working set, with the linear systems of its submatrices."""

    form: ClassVar[CurvatureForm] = CurvatureForm.MATRIX

    matrix: Array
    system: kernels.SupportSystem = field(default_factory=kernels.SupportSystem)
    passes: float = 0.0  # over columns: none

    def rearranged(self, order: Indices, ridge: Array) -> "MatrixCurvature":
        """The curvature plus a ridge, with rows and columns in another order."""
        H = self.matrix[np.ix_(order, order)]
        H.ravel()[:: len(H) + 1] += ridge[order]
        return MatrixCurvature(H)


@dataclass
class ColumnCurvature:
    """The matrix A'A + diag(ridge), given by A = diag(h)^(1/2) X_W without the rows with h = 0.

    The columns of A are ``columns[indices]``, with the column of ones last. ``passes`` counts the
    passes over them.
    """

    form: ClassVar[CurvatureForm] = CurvatureForm.COLUMNS

    columns: kernels.ScaledColumns
    indices: Indices
    ridge: Array
    passes: float = 0.0

    def rearranged(self, order: Indices, ridge: Array) -> "ColumnCurvature":
        """The curvature plus a ridge, with columns in another order."""
        return replace(self, indices=self.indices[order], ridge=(self.ridge + ridge)[order])


class WeightedGram:
    """A cache of the last Gram matrix, with the data from which it was computed.

    Between two Newton steps few rows enter or leave the curved part of a loss, and the weights h
    of the squared loss never change. The Gram matrix of the same columns is updated where that
    costs less than computing a new one.

    Parameters
    ----------
    ones : bool
        Whether a column of ones follows the columns of X.
    by_systems : bool, default=False
        Whether systems of all features of a dense X are solved by conjugate gradients: the penalty
        has no kinks, and the weights h do not jump between Newton steps.
    """

    def __init__(self, ones: bool, *, by_systems: bool = False) -> None:
        self.ones = ones
        self._systems = SystemFactors() if by_systems else None
        self._columns: Indices = np.empty(0, dtype=np.int64)  # in increasing order
        self.h: Array = np.empty(0)  # the weights of the last curvature
        self._matrix: Array = np.empty((0, 0))
        self._last: ColumnCurvature | None = None  # the last curvature, if it is by columns
        self._system = kernels.SupportSystem()  # factors of the last matrix
        # for a matrix without scale or ridge: its h, columns and the curvature
        self._cached: tuple[Array, Indices, MatrixCurvature] | None = None
        self._passes = float(PASSES)  # estimate of the passes of the next curvature
        self._densities: Array | None = None  # shares of stored entries of the columns

    def curvature(
        self, design: Design, h: Array, scale: float, columns: Indices, ridge: Array | None = None
    ) -> MatrixCurvature | ColumnCurvature | SystemCurvature:
        """The curvature scale X_W' diag(h) X_W + diag(ridge), in the cheaper form.

        The form depends on the estimated cost of a Newton step. A matrix is cached, and must not
        be changed.
        """
        plain = scale == 1.0 and ridge is None
        m, d = len(columns), design.shape[1]
        if self._systems is not None and plain and SMALLEST_SYSTEM < m == d <= LARGEST_GRAM:
            max_steps = 0.5 * (0.5 * m / BLAS + COPY)
            self.forget(h)
            return SystemCurvature(design, self.h, self.ones, max_steps, self._systems)
        last = self._cached if plain else None
        same_h = last is not None and np.array_equal(h, last[0])
        if last and same_h and np.array_equal(columns, last[1]):
            return last[2]
        self._cached = last = None  # frees memory before the next matrix is formed
        if self._last is not None:
            self._passes = max(float(PASSES), self._last.passes)
        ridge = np.zeros(len(columns) + self.ones) if ridge is None else ridge
        if self._favours_columns(design, h, columns, plain):
            self.forget(h)
            scaled = kernels.ScaledColumns(design.matrix, scale * h, columns, self.ones)
            indices = np.arange(scaled.size)
            if self.ones:  # the column of ones is the first, and becomes the last
                indices = np.roll(indices, -1)
            ridge = ridge + ROUNDING * scaled.squares()[indices]
            self._last = ColumnCurvature(scaled, indices, ridge)
            return self._last
        self._last = None
        H = self.of(design, h, columns)
        if scale != 1.0:
            H *= scale
        diagonal = H.ravel()[:: len(H) + 1]
        diagonal += ridge + ROUNDING * diagonal
        if not same_h:
            self._system = kernels.SupportSystem()
        curvature = MatrixCurvature(H, self._system)
        if plain:
            self._cached = self.h, columns, curvature
        return curvature

    def _favours_columns(self, design: Design, h: Array, columns: Indices, plain: bool) -> bool:
        """Whether passes over the columns cost less than forming and using a Gram matrix."""
        m = len(columns)
        if m <= SMALL_GRAM:
            return False
        n_curved = int(np.count_nonzero(h))
        if m > LARGEST_GRAM or not (plain or m <= MOST_COLUMNS * n_curved):
            return True
        length, pair, entry = self._costs(design, columns)
        by_columns = self._passes * n_curved * length * entry
        forming = n_curved * length * length * pair
        using = SWEEPS * m * m + m**3 / (3.0 * BLAS)
        return by_columns < forming + using

    def _costs(self, design: Design, columns: Indices) -> tuple[float, float, float]:
        """The expected entries of a row, and the costs of a pair of them and of an entry."""
        m = len(columns)
        if self._densities is None:
            self._densities = design.column_counts / design.shape[0]
        length = float(np.sum(self._densities[columns]))
        if length == m:
            return length, 0.5 / BLAS, 1.0  # half of the pairs, as the matrix is symmetric
        return length, PAIR if m <= CACHED else SPARSE, SPARSE

    def of(self, design: Design, h: Array, columns: Indices) -> Array:
        """The matrix X_W' diag(h) X_W over the columns W in increasing order, as a new array."""
        # an upper bound on the number of pairs of entries, compared with passes over the matrix
        length = min(design.n_entries / design.shape[0], len(columns))
        if np.count_nonzero(h) * length * length < 8 * len(columns) ** 2:  # a copy would cost more
            self.forget(h)
            return design.gram(h, columns, self.ones)
        is_known = self._matrix.size > 0 and np.array_equal(columns, self._columns)
        if is_known and len(h) == len(self.h):
            # equal weights that are infinite do not change
            change = np.subtract(h, self.h, out=np.zeros_like(h), where=h != self.h)
            if 2 * np.count_nonzero(change) <= np.count_nonzero(h):
                if change.any():
                    self._matrix += design.gram(change, columns, self.ones)
                self.h = h.copy()
                return self._matrix.copy()
        self._matrix = design.gram(h, columns, self.ones)
        self._columns, self.h = columns, h.copy()
        return self._matrix.copy()

    def forget(self, h: ArrayLike = ()) -> None:
        """Empty the caches of matrices and columns, as for other rows, and keep the weights."""
        self._columns, self.h = self._columns[:0], np.array(h, dtype=np.float64)
        self._matrix = self._matrix[:0, :0].copy()
        self._last = self._cached = None

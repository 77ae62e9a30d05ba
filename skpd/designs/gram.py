"""The curvature X_W' diag(h) X_W on a working set W, as a Gram matrix or by a factor of it."""

from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import ClassVar

import numpy as np

from .. import kernels
from .._typing import Array, Indices
from .design import Design

LARGEST_GRAM = 4000  # most columns of a Gram matrix, 128 MB
# and per row with curvature: on 100 dense rows, a group lasso takes half the time with this limit
MOST_COLUMNS = 2.0
SMALL_GRAM = 100  # up to this size a Gram matrix is used always, so that results are reproducible
ROUNDING = 1e-12  # ridge that is added to a diagonal, relative to it

# The estimated cost of a Newton step, in units of multiplications of dense vectors
SWEEPS = 20  # number of sweeps of coordinate descent
PASSES = 40  # initial estimate of passes over the columns, two for each sweep or step
BLAS = 8.0  # multiplications in products of matrices in the time of one in vectors
SPARSE = 5.0  # cost of a multiplication for an entry of a sparse vector
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


class CurvatureForm(Enum):
    """The form in which a curvature is given, by which solvers choose how to minimise."""

    MATRIX = auto()
    COLUMNS = auto()
    BLOCKS = auto()
    PRODUCTS = auto()


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

    The columns of A are ``columns[places]``, with the column of ones last. ``passes`` counts the
    passes over them.
    """

    form: ClassVar[CurvatureForm] = CurvatureForm.COLUMNS

    columns: kernels.ScaledColumns
    places: Indices
    ridge: Array
    passes: float = 0.0

    def rearranged(self, order: Indices, ridge: Array) -> "ColumnCurvature":
        """The curvature plus a ridge, with columns in another order."""
        return replace(self, places=self.places[order], ridge=(self.ridge + ridge)[order])


class WeightedGram:
    """A cache of the last Gram matrix, with the data from which it was computed.

    Between two Newton steps few rows enter or leave the curved part of a loss, and the weights h
    of the squared loss never change. The Gram matrix is updated where that costs less than
    computing a new one.

    Parameters
    ----------
    ones : bool
        Whether a column of ones follows the columns of X.
    """

    def __init__(self, ones: bool) -> None:
        self.ones = ones
        self._columns: Indices = np.empty(0, dtype=np.int64)  # in increasing order
        self.h: Array = np.empty(0)
        self._matrix: Array = np.empty((0, 0))
        self._factor: _Factor | None = None  # columns of the last curvature, or None
        self._system = kernels.SupportSystem()  # factors of the last matrix
        # for a matrix without scale or ridge: its h, columns and the curvature
        self._given: tuple[Array, Indices, MatrixCurvature] | None = None
        self._passes = float(PASSES)  # estimate of the passes of the next curvature
        self._densities: Array | None = None  # shares of stored entries of the columns

    @property
    def last_h(self) -> Array:
        """The weights h of the last curvature."""
        return self.h if self._factor is None else self._factor.h

    def curvature(
        self, design: Design, h: Array, scale: float, columns: Indices, ridge: Array | None = None
    ) -> MatrixCurvature | ColumnCurvature:
        """The curvature scale X_W' diag(h) X_W + diag(ridge), in the cheaper form.

        The form depends on the estimated cost of a Newton step. A matrix is cached, and must not
        be changed.
        """
        factor, plain = self._factor, scale == 1.0 and ridge is None
        last = self._given if plain else None
        same_h = last is not None and kernels.equal(h, last[0])
        if last and same_h and factor is None and kernels.equal(columns, last[1]):
            return last[2]
        self._given = last = None  # frees memory before the next matrix is formed
        if factor is not None:
            self._passes = max(float(PASSES), factor.given.passes)
        ridge = np.zeros(len(columns) + self.ones) if ridge is None else ridge
        if self._favours_columns(design, h, columns):
            if factor is None or factor.scale != scale or not kernels.equal(factor.h, h):
                self._columns, self._matrix = self._columns[:0], self._matrix[:0, :0].copy()
                factor = self._factor = _Factor(design, h, scale, self.ones)
            factor.give(design, columns, ridge)
            return factor.given
        self._factor = None
        H = self.of(design, h, columns)
        if scale != 1.0:
            H *= scale
        diagonal = H.ravel()[:: len(H) + 1]
        diagonal += ridge + ROUNDING * diagonal
        if not same_h:
            self._system = kernels.SupportSystem()
        curvature = MatrixCurvature(H, self._system)
        if plain:
            self._given = self.h, columns, curvature
        return curvature

    def _favours_columns(self, design: Design, h: Array, columns: Indices) -> bool:
        """Whether passes over the columns cost less than forming and using a Gram matrix."""
        m = len(columns)
        if m <= SMALL_GRAM:
            return False
        n_curved = int(np.count_nonzero(h))
        if m > min(LARGEST_GRAM, MOST_COLUMNS * n_curved):
            return True
        if self._densities is None:
            self._densities = design.column_counts / design.shape[0]
        length = float(np.sum(self._densities[columns]))  # expected number of entries of a row
        dense = length == m
        by_columns = self._passes * n_curved * length * (1.0 if dense else SPARSE)
        forming = n_curved * length * length * (1.0 / BLAS if dense else SPARSE)
        using = SWEEPS * m * m + m**3 / (3.0 * BLAS)
        if by_columns >= forming + using:
            return False
        if kernels.equal(h, self.h):
            known = float(np.isin(columns, self._columns, assume_unique=True).mean())
            forming *= 1.0 - known * known
        return by_columns < forming + using

    def of(self, design: Design, h: Array, columns: Indices) -> Array:
        """The matrix X_W' diag(h) X_W over the columns W in increasing order, as a new array."""
        # an upper bound on the number of pairs of entries, compared with passes over the matrix
        length = min(design.n_entries / design.shape[0], len(columns))
        pairs = np.count_nonzero(h) * length * length
        if pairs < 8 * len(columns) ** 2:  # a cache would cost more
            self._columns, self._matrix, self.h = self._columns[:0], self._matrix[:0], h.copy()
            return design.gram(h, columns, self.ones)
        if len(h) != len(self.h):
            return self._anew(design, h, columns)
        changed = np.empty(0, int) if kernels.equal(h, self.h) else np.flatnonzero(h != self.h)
        if 2 * len(changed) > np.count_nonzero(h):
            return self._anew(design, h, columns)
        known = self.knows(columns)
        n_known, n_stored = int(known.sum()), len(self._columns)
        if 4 * n_known <= n_stored:  # most columns are no longer used
            return self._anew(design, h, columns)
        if len(changed) > 0:
            delta = np.zeros_like(h)
            delta[changed] = h[changed] - self.h[changed]
            self._matrix += design.gram(delta, self._columns, self.ones)
            self.h = h.copy()
        if n_known < len(columns):
            self._extend(design, columns[~known])
        places = self._with_ones(np.searchsorted(self._columns, columns))
        return self._matrix.take(places, axis=0).take(places, axis=1)

    def knows(self, columns: Indices) -> np.ndarray:
        """A mask of the given columns that are in the cached matrix."""
        if len(self._columns) == 0:
            return np.zeros(len(columns), dtype=bool)
        places = np.searchsorted(self._columns, columns)
        return self._columns[np.minimum(places, len(self._columns) - 1)] == columns

    def _with_ones(self, places: Indices) -> Indices:
        return np.append(places, len(self._columns)) if self.ones else places

    def _anew(self, design: Design, h: Array, columns: Indices) -> Array:
        self._matrix = design.gram(h, columns, self.ones)
        self._columns, self.h = columns, h.copy()
        return self._matrix.copy()

    def _extend(self, design: Design, new: Indices) -> None:
        """Add columns to the cached matrix."""
        old, both = self._columns, np.append(self._columns, new)
        new_rows = design.cross_gram(self.h, old, new, self.ones)
        self._columns = np.sort(both)
        places = self._with_ones(np.searchsorted(self._columns, both))
        added, known = places[len(old) : len(both)], np.delete(places, slice(len(old), len(both)))
        matrix = np.empty((len(places), len(places)))
        matrix[np.ix_(known, known)] = self._matrix
        matrix[np.ix_(added, places)] = new_rows
        matrix[np.ix_(places, added)] = new_rows.T
        self._matrix = matrix

    def take_rows(self, rows: Indices) -> None:
        """Restrict the cache to some rows; the others must have h = 0 from now on."""
        self._factor = self._given = None
        if len(self.h) and self.h.sum() == self.h[rows].sum():
            self.h = self.h[rows]
        else:
            self._columns = self._columns[:0]

    def all_rows(self, rows: Indices, n_rows: int) -> None:
        """Extend the cache from some rows to all rows."""
        h = np.zeros(n_rows)
        if len(self.h) == len(rows):
            h[rows] = self.h
        self.h = h


class _Factor:
    """A cache of the columns of (scale diag(h))^(1/2) X that were used so far."""

    def __init__(self, design: Design, h: Array, scale: float, ones: bool) -> None:
        self.h, self.scale, self.ones = h.copy(), scale, ones
        self.columns = kernels.ScaledColumns(design.matrix, scale * h, ones)
        self.places = np.full(design.shape[1], -1)
        self.given: ColumnCurvature  # the last result

    def give(self, design: Design, columns: Indices, ridge: Array) -> None:
        new = columns[self.places[columns] < 0]
        size = self.columns.size
        self.columns.append(design.matrix, new)
        self.places[new] = np.arange(size, size + len(new))
        places = self.places[columns]
        if self.ones:
            places = np.append(places, 0)
        ridge = ridge + ROUNDING * self.columns.squares()[places]
        self.given = ColumnCurvature(self.columns, places, ridge)

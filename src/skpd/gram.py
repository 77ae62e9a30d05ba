"""A Gram matrix X_W' diag(h) X_W that is updated where that costs less than a new one."""

import numpy as np

from . import kernels
from ._typing import Array, Indices
from .design import Design

__all__ = ["WeightedGram"]


class WeightedGram:
    """The last Gram matrix, and what it was computed from.

    Between two Newton steps few rows enter or leave the curved part of a loss, and those of
    the squared loss never change.

    Parameters
    ----------
    ones : bool
        Whether a column of ones follows the columns of X.
    """

    def __init__(self, ones: bool) -> None:
        self.ones = ones
        self._columns: Indices = np.empty(0, dtype=np.int64)  # increasing
        self._places: Indices = np.empty(0, dtype=np.int64)  # theirs in the matrix
        self.h: Array = np.empty(0)
        self._matrix: Array = np.empty((0, 0))  # with room to grow
        self._size = self._place_of_ones = 0

    def of(self, design: Design, h: Array, columns: Indices) -> Array:
        """X_W' diag(h) X_W over the columns W, increasing, as a new array."""
        if len(h) != len(self.h):
            return self._anew(design, h, columns)
        changed = np.flatnonzero(h != self.h)
        if 2 * len(changed) > np.count_nonzero(h):
            return self._anew(design, h, columns)
        known = self.knows(columns)
        n_known, n_stored = int(known.sum()), len(self._columns)
        if 4 * n_known < n_stored:  # most of it is of no more use
            return self._anew(design, h, columns)
        if n_known < len(columns) or 2 * n_known < n_stored:
            # pairs of entries to add up, at most, against passes over the matrix
            length = min(design.matrix.n_entries / design.shape[0], len(columns))
            if np.count_nonzero(h) * length * length < 64 * n_stored * n_stored:
                return self._anew(design, h, columns)
        if len(changed) > 0:
            delta = np.zeros_like(h)
            delta[changed] = h[changed] - self.h[changed]
            places = self._with_ones(self._places)
            self._matrix[np.ix_(places, places)] += design.gram(delta, self._columns, self.ones)
            self.h = h.copy()
        if n_known < len(columns):
            self._extend(design, columns[~known])
        places = self._with_ones(self._places[np.searchsorted(self._columns, columns)])
        out = np.empty((len(places), len(places)))
        kernels.principal_submatrix(self._matrix, places, out)
        return out

    def knows(self, columns: Indices) -> np.ndarray:
        """Which of some columns are in the last matrix."""
        if len(self._columns) == 0:
            return np.zeros(len(columns), dtype=bool)
        places = np.searchsorted(self._columns, columns)
        return self._columns[np.minimum(places, len(self._columns) - 1)] == columns

    def _with_ones(self, places: Indices) -> Indices:
        return np.append(places, self._place_of_ones) if self.ones else places

    def _anew(self, design: Design, h: Array, columns: Indices) -> Array:
        self._matrix = design.gram(h, columns, self.ones)
        self._columns, self._places, self.h = columns, np.arange(len(columns)), h.copy()
        self._size, self._place_of_ones = len(self._matrix), len(columns)
        return self._matrix.copy()

    def _extend(self, design: Design, new: Indices) -> None:
        """Take in columns, behind those at hand."""
        old, size = self._columns, self._size + len(new)
        places = self._with_ones(self._places)
        if size > len(self._matrix):
            matrix = np.empty((size + size // 2,) * 2)
            matrix[: self._size, : self._size] = self._matrix[: self._size, : self._size]
            self._matrix = matrix
        behind = slice(self._size, size)
        beside = design.cross_gram(self.h, old, new, self.ones)
        self._matrix[behind, places] = beside
        self._matrix[places, behind] = beside.T
        self._matrix[behind, behind] = design.gram(self.h, new, False)
        self._columns = np.concatenate([old, new])
        self._places = np.concatenate([self._places, np.arange(self._size, size)])
        order = np.argsort(self._columns)
        self._columns, self._places = self._columns[order], self._places[order]
        self._size = size

    def take_rows(self, rows: Indices) -> None:
        """Go on with some rows; the others must have h = 0 from now on."""
        if len(self.h) and self.h.sum() == self.h[rows].sum():
            self.h = self.h[rows]
        else:
            self._columns = self._columns[:0]

    def all_rows(self, rows: Indices, n_rows: int) -> None:
        """Back from some rows to all."""
        h = np.zeros(n_rows)
        if len(self.h) == len(rows):
            h[rows] = self.h
        self.h = h

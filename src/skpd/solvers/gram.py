"""A Gram matrix X_W' diag(h) X_W that is updated where that costs less than a new one."""

import numpy as np

from .. import kernels
from .._typing import Array, Indices
from ..design import Design

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
        self._columns: Indices = np.empty(0, dtype=np.int64)
        self._h: Array = np.empty(0)
        self._matrix: Array = np.empty((0, 0))

    def of(self, design: Design, h: Array, columns: Indices) -> Array:
        """X_W' diag(h) X_W over the columns W, increasing, as a new array."""
        places = self._places(columns)
        changed = np.flatnonzero(h != self._h) if len(h) == len(self._h) else None
        if places is None or changed is None or 2 * len(changed) > np.count_nonzero(h):
            self._matrix = design.gram(h, columns, self.ones)
            self._columns, self._h = columns, h.copy()
            return self._matrix.copy()
        if len(changed) > 0:
            delta = np.zeros_like(h)
            delta[changed] = h[changed] - self._h[changed]
            self._matrix += design.gram(delta, self._columns, self.ones)
            self._h = h.copy()
        if self.ones:
            places = np.append(places, len(self._columns))
        out = np.empty((len(places), len(places)))
        kernels.principal_submatrix(self._matrix, places, out)
        return out

    def _places(self, columns: Indices) -> Indices | None:
        """Where the columns are among those at hand, if all are and not too many others."""
        known = self._columns
        if len(known) == 0 or len(known) > 2 * len(columns) + 20:
            return None
        places = np.minimum(np.searchsorted(known, columns), len(known) - 1)
        return places if np.array_equal(known[places], columns) else None

    def take_rows(self, rows: Indices) -> None:
        """Go on with some rows; the others must have h = 0 from now on."""
        if len(self._h) and self._h.sum() == self._h[rows].sum():
            self._h = self._h[rows]
        else:
            self._columns = self._columns[:0]

    def all_rows(self, rows: Indices, n_rows: int) -> None:
        """Back from some rows to all."""
        h = np.zeros(n_rows)
        if len(self._h) == len(rows):
            h[rows] = self._h
        self._h = h

"""The linear map from a matrix, given by its factors, to some of its entries."""

from functools import cached_property
from typing import cast

import numpy as np
import scipy.sparse as sp

from ... import kernels
from ..._floats import EPSILON
from ..._typing import Array, Indices


class EntriesDesign:
    """The map from factors U and V to some entries of U V', each observed in one or several rows.

    The coefficients are a table of shape (n_left + n_right, rank), U above V.

    Parameters
    ----------
    left, right : ndarray of shape (n_rows,)
        The row and the column of the matrix entry that each row of the problem observes, sorted by
        the rows of the matrix, and then by its columns.
    n_left, n_right : int
        The numbers of rows and of columns of the matrix.
    """

    def __init__(self, left: Indices, right: Indices, n_left: int, n_right: int) -> None:
        self.n_left, self.n_right = n_left, n_right
        new = np.ones(len(left), dtype=bool)
        new[1:] = (np.diff(left) != 0) | (np.diff(right) != 0)
        # None where no entry is repeated, which saves a vector of the length of the entries
        self._first = None if new.all() else np.flatnonzero(new)
        first: Indices | slice = slice(None) if self._first is None else self._first
        self.left = np.ascontiguousarray(left[first], dtype=np.int32)
        self.right = np.ascontiguousarray(right[first], dtype=np.int32)
        self.shape = len(left), (n_left + n_right)

    @property
    def n_entries(self) -> int:
        """The number of different observed entries of the matrix."""
        return len(self.left)

    @cached_property
    def _repeats(self) -> Indices:
        """The number of rows of the problem that observe each entry."""
        return np.diff(cast(Indices, self._first), append=self.shape[0])

    def of_rows(self, rows: Array) -> Array:
        """The sums over the rows of the problem that observe the same entry, for each entry."""
        return rows if self._first is None else np.add.reduceat(rows, self._first)

    def to_rows(self, entries: Array) -> Array:
        """The transpose of `of_rows`."""
        return entries if self._first is None else np.repeat(entries, self._repeats)

    @property
    def most_repeats(self) -> int:
        return 1 if self._first is None else int(np.max(self._repeats))

    def entries(self, U: Array, V: Array) -> Array:
        """The observed entries of U V', of shape (n_entries,)."""
        out = np.empty(self.n_entries)
        U, V = np.ascontiguousarray(U), np.ascontiguousarray(V)
        kernels.sampled_products(U, V, self.left, self.right, out)
        return out

    def matvec(self, coef: Array) -> Array:
        """The entries of U V' observed by the rows of the problem, of shape (n_rows,)."""
        return self.to_rows(self.entries(coef[: self.n_left], coef[self.n_left :]))

    def matvec_bounded(self, coef: Array) -> tuple[Array, Array]:
        """The result of `matvec`, with bounds on its errors by the Cauchy-Schwarz inequality."""
        norms = np.sqrt(np.einsum("ij,ij->i", coef, coef)) + np.finfo(float).tiny
        error = norms[self.left] * norms[self.n_left + self.right]
        error *= (coef.shape[1] + 8.0) * EPSILON
        return self.matvec(coef), self.to_rows(error)

    def sparse(self, entries: Array) -> sp.csr_array:
        """The sparse matrix with these entries, stored by rows."""
        return sp.csr_array((entries, self.right, self._starts), shape=(self.n_left, self.n_right))

    @cached_property
    def _starts(self) -> Indices:
        counts = np.bincount(self.left, minlength=self.n_left)
        return np.append(0, np.cumsum(counts)).astype(np.int32)

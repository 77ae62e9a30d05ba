"""The packed lower triangle of a symmetric matrix, with an in-place Cholesky factorisation."""

import numpy as np
from scipy.linalg.lapack import dpftrf

from .._typing import Array


class PackedTriangle:
    """The lower triangle of a symmetric matrix A with an even number of rows.

    The triangle is stored in LAPACK's rectangular full packed format (Gustavson, Wasniewski,
    Dongarra and Langou, 2010, Rectangular full packed format for Cholesky's algorithm), which is
    factorised as fast as a full matrix. The format is a table of m + 1 rows and m / 2 columns. The
    first m / 2 columns of A are columns of the table, one row further down; the triangle above
    them has the other columns of A as rows.

    Parameters
    ----------
    size : int
        The number of rows, m.

    Attributes
    ----------
    numbers : ndarray of shape (m (m + 1) / 2,)
        The columns of the table, one after the other, uninitialised at first.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.numbers: Array = np.empty(size * (size + 1) // 2)

    @property
    def _table(self) -> Array:
        return self.numbers.reshape((self.size + 1, self.size // 2), order="F")

    def set_columns(self, first: int, columns: Array) -> None:
        """Set the columns of A from the index ``first`` on, given from the row ``first`` on."""
        table, half = self._table, self.size // 2
        for offset, column in enumerate(columns.T):
            j = first + offset
            if j < half:
                table[j + 1 :, j] = column[offset:]
            else:
                table[j - half, j - half :] = column[offset:]

    def subtract_from(self, multiple: float) -> None:
        """Replace A by a multiple of the identity minus A."""
        np.negative(self.numbers, out=self.numbers)
        table, j = self._table, np.arange(self.size // 2)
        table[j + 1, j] += multiple
        table[j, j] += multiple

    def factorise(self) -> bool:
        """Overwrite A by its Cholesky factor, and return whether it has one."""
        _, failed = dpftrf(self.size, self.numbers, transr="N", uplo="L", overwrite_a=True)
        return failed == 0

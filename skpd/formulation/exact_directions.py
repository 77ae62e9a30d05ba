"""Directions d with A d >= 0 and A d != 0 in exact arithmetic, or the proof that there are none.

Either there is such a direction, or numbers lambda > 0 with A' lambda = 0 (Stiemke, 1915). With g
the sum of the rows of A the question is whether ::

    A' mu = -g    for any mu >= 0

A simplex method minimises the sum of absolute residuals. If that vanishes, lambda = 1 + mu, and
otherwise the multipliers of the equations are a direction with g d > 0. All numbers are whole: the
columns are multiplied by powers of two, and the inverse of a basis by its determinant (Edmonds,
1967, Systems of distinct representatives and linear algebra). The rows that may enter the basis
are found in floating-point numbers, where bounds on rounding errors decide.
"""

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from .._floats import EPSILON
from .._typing import Array, Indices

MOST_PIVOTS = 20  # of a programme, in the number of its columns; two to five are usual
ROUNDING = 2**49  # products below their largest terms over this are rounding errors of the data
MOST_COLUMNS = 32  # 50 columns of 53 bits take ten seconds
LARGEST = 3e6  # entries of a table whose conversion to whole numbers takes seconds


class ExactRows:
    """The rows of A = M (T, I), for a matrix M of whole numbers and a table T.

    Parameters
    ----------
    matrix : csr_array of shape (n_rows, n_samples + n_others)
    table : ndarray of shape (n_samples, n_features)

    Attributes
    ----------
    approximate : ndarray of shape (n_rows, n_features + n_others)
        The rows with features in units of powers of two and a relative error of one rounding.
    """

    def __init__(self, matrix: sp.csr_array, table: Array) -> None:
        self.matrix, self.table, n = matrix, table, len(table)
        self.others = matrix[:, n:].toarray()
        mantissa, exponent = np.frexp(table)
        whole = np.ldexp(mantissa, 53).astype(np.int64)
        lowest = exponent - 53 + np.log2(np.maximum(whole & -whole, 1)).astype(np.int64)
        # features are whole multiples of 2^unit, and below 2^largest
        self.unit = np.min(lowest, axis=0, where=whole != 0, initial=1024)
        largest = np.max(exponent, axis=0, where=whole != 0, initial=-1074)
        self.bits = [*np.maximum(largest - self.unit, 0).tolist(), *[0] * self.others.shape[1]]
        self.approximate = np.hstack([matrix[:, :n] @ np.ldexp(table, -largest), self.others])
        self.sizes = np.max(np.abs(self.approximate), axis=1, initial=EPSILON)

    def _whole(self, rows: Indices) -> np.ndarray:
        """Rows of the table as whole numbers."""
        mantissa, exponent = np.frexp(self.table[rows])
        whole = np.ldexp(mantissa, 53).astype(np.int64).astype(object)
        shift = (exponent - 53 - self.unit).astype(object)
        return np.where(shift >= 0, whole << np.maximum(shift, 0), whole >> np.maximum(-shift, 0))

    def rows(self, indices: Indices) -> np.ndarray:
        """Some of the rows, exactly."""
        part = self.matrix[indices][:, : len(self.table)].tocoo()
        exact = np.zeros((len(indices), self.table.shape[1]), dtype=object)
        used, where = np.unique(part.col, return_inverse=True)
        signs = part.data.astype(np.int64).astype(object)[:, np.newaxis]
        np.add.at(exact, part.row, signs * self._whole(used)[where])
        return np.hstack([exact, self.others[indices].astype(np.int64).astype(object)])

    def total(self) -> np.ndarray:
        """The sum of all rows, exactly."""
        counts = self.matrix.sum(axis=0).astype(np.int64).astype(object)
        n = len(self.table)
        used = np.flatnonzero(counts[:n])
        return np.append(counts[used] @ self._whole(used), counts[n:])

    def levels(self, columns: Indices, d: np.ndarray) -> Indices:
        """The order of the exact predictions of samples along a direction of some features."""
        scores = self._whole(np.arange(len(self.table)))[:, columns] @ d
        return np.unique(scores, return_inverse=True)[1]

    def is_rounding(self, columns: Indices, d: np.ndarray) -> bool:
        """Whether all products with a direction are rounding errors of the columns.

        So they are for a column that is a combination of others as far as its numbers can be.
        """
        A = self.rows(np.arange(len(self.sizes)))[:, columns]
        return bool(np.all(A @ d * ROUNDING <= np.abs(A) @ np.abs(d)))

    def direction(self, columns: Indices, ends: Array) -> tuple[bool, np.ndarray | None]:
        """A direction of some columns as whole numbers, of which None is left if there is none.

        Parameters
        ----------
        columns : ndarray of int
        ends : ndarray of shape (2, n_columns)
            Whether each column may increase, and whether it may decrease.

        Returns
        -------
        is_decided : bool
            False where the method would take too long.
        direction : ndarray of object or None
        """
        m = len(columns)
        if m > MOST_COLUMNS or self.table.size > LARGEST:
            return False, None
        right = -self.total()[columns]
        inverse = np.diag(np.where(right < 0, -1, 1).astype(object))  # times the determinant
        determinant, artificial = 1, np.ones(m, dtype=bool)
        for _ in range(MOST_PIVOTS * (m + 1)):
            values = inverse @ right
            if not np.any(values[artificial] > 0):
                return True, None
            d = -np.sum(inverse[artificial], axis=0)
            column = self._entering(d, columns, ends)
            if column is None:
                return True, d
            steps = inverse @ column
            ratios = {i: Fraction(values[i], steps[i]) for i in np.flatnonzero(steps > 0)}
            leaving = min(ratios, key=lambda i: (ratios[i], not artificial[i]))
            row, pivot = inverse[leaving], steps[leaving]
            inverse = (inverse * pivot - np.multiply.outer(steps, row)) // determinant
            inverse[leaving], determinant, artificial[leaving] = row, pivot, False
        return False, None

    def _entering(self, d: np.ndarray, columns: Indices, ends: Array) -> np.ndarray | None:
        """A row a with a d < 0, or a bound that d violates; None where there is neither."""
        outside = np.flatnonzero(((d > 0) & (ends[0] == 0.0)) | ((d < 0) & (ends[1] == 0.0)))
        if len(outside):
            bound = np.zeros(len(d), dtype=object)
            bound[outside[0]] = -1 if d[outside[0]] > 0 else 1
            return bound
        scaled = [x << self.bits[j] for x, j in zip(d.tolist(), columns, strict=True)]
        largest = max(map(abs, scaled), default=0) or 1
        direction = np.array([x / largest for x in scaled])
        A = self.approximate[:, columns]
        slack = A @ direction
        error = (len(d) + 8.0) * EPSILON * (np.abs(A) @ np.abs(direction))
        first = int(np.argmin((slack + error) / self.sizes))
        if slack[first] + error[first] < 0.0:
            return self.rows(np.array([first]))[0, columns]
        unclear = np.flatnonzero(slack - error < 0.0)
        exact = self.rows(unclear)[:, columns]
        violated = np.flatnonzero(exact @ d < 0) if len(unclear) else unclear
        return exact[violated[0]] if len(violated) else None

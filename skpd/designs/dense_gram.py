"""Gram matrices of columns of a dense array, by products of BLAS with copies of some rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._typing import Array, Indices
from .threads import blas_threads_for_product

AT_A_TIME = 1 << 19  # numbers of the array that are copied at a time, 4 MB


def dense_gram(X: Any, by_row: bool, h: Array, columns: Indices, ones: bool) -> Array:
    """The result of `Design.gram` for an array X, which is stored by rows if ``by_row``."""
    m = len(columns) + ones
    out = np.zeros((m, m))
    all_of_them = len(columns) == X.shape[1] and not ones and X.dtype == np.float64
    for sign, h_some, some in _row_blocks(h, m):
        part = X[some] if all_of_them else _block(X, by_row, some, columns, ones)
        scale = h_some[0]
        if np.any(h_some != scale):
            part = part * np.sqrt(h_some)[:, np.newaxis]
            scale = 1.0
        with blas_threads_for_product(part.size * m):
            product = part.T @ part
        out += sign * scale * product
    return out


def dense_cross_gram(
    X: Any, by_row: bool, h: Array, left: Indices, right: Indices, ones: bool
) -> Array:
    """The result of `Design.cross_gram` for an array X, which is stored by rows if ``by_row``."""
    n_left, both = len(left), np.concatenate([left, right])
    m = len(both) + ones
    out = np.zeros((len(right), m))
    for sign, h_some, some in _row_blocks(h, m + len(right)):
        part = _block(X, by_row, some, both, ones)
        weighted = part[:, n_left : len(both)] * (sign * h_some)[:, np.newaxis]
        with blas_threads_for_product(weighted.size * m):
            out += weighted.T @ part
    return out


def _row_blocks(h: Array, width: int) -> Iterator[tuple[float, Array, Any]]:
    """Blocks (sign, |h|, rows) of rows of equal sign of h, for copies of ``width`` columns."""
    block = max(AT_A_TIME // max(width, 1), 256)
    for sign, rows in ((1.0, np.flatnonzero(h > 0.0)), (-1.0, np.flatnonzero(h < 0.0))):
        for first in range(0, len(rows), block):
            some: Any = rows[first : first + block]
            if some[-1] - some[0] + 1 == len(some):  # contiguous rows are taken as a slice
                some = slice(some[0], some[-1] + 1)
            yield sign, np.abs(h[some]), some


def _block(X: Any, by_row: bool, rows: Indices | slice, columns: Indices, ones: bool) -> Array:
    """A copy of some rows and columns in the memory order of X, with a column of ones."""
    if not isinstance(rows, slice):
        picked = X[np.ix_(rows, columns)]
    elif by_row:
        picked = np.take(X[rows], columns, axis=1)
    else:
        picked = X.T[:, rows][columns].T  # whole columns are copied at once
    if not ones and picked.dtype == np.float64:
        return picked
    n_rows, n_columns = picked.shape
    block = np.ones((n_rows, n_columns + ones), order="C" if by_row else "F")
    block[:, :n_columns] = picked
    return block

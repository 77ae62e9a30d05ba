"""Gram matrices of columns of a dense array, by products of BLAS with copies of some rows."""

from collections.abc import Iterator

import numpy as np

from .. import kernels
from .._typing import Array, Indices
from .threads import blas_threads_for_product

AT_A_TIME = 1 << 19  # numbers of the array that are copied at a time, 4 MB


def dense_gram(X: np.ndarray, by_row: bool, h: Array, columns: Indices, ones: bool) -> Array:
    """The result of `Design.gram` for an array X, which is stored by rows if ``by_row``."""
    d = len(columns)
    out = np.zeros((d + ones, d + ones))
    all_of_them = d == X.shape[1] and X.dtype == np.float64
    copies = not all_of_them or kernels.max_abs(h - h[:1]) > 0.0
    for sign, h_some, rows in _blocks_of_one_sign(h, d if copies else 0):
        part = X[rows] if all_of_them else _block(X, by_row, rows, columns)
        scale, column = sign * h_some[0], np.ones(len(h_some))
        if np.any(h_some != h_some[0]):
            scale, column = sign, np.sqrt(h_some)
            into = part if part.flags.owndata else None
            part = np.multiply(part, column[:, np.newaxis], out=into)
        with blas_threads_for_product(part.size * d):
            product = part.T @ part
        if scale != 1.0:
            product *= scale
        out[:d, :d] += product
        if ones:  # apart: with copies of rows with such a column, a matrix takes twice as long
            out[d:, :d] += scale * (column @ part)
            out[d, d] += scale * (column @ column)
    out[:d, d:] = out[d:, :d].T
    return out


def _blocks_of_one_sign(h: Array, width: int) -> Iterator[tuple[float, Array, Indices | slice]]:
    """Blocks (sign, |h|, rows) of rows of equal sign of h, for copies of ``width`` columns."""
    block = max(AT_A_TIME // max(width, 1), 256)
    for sign, rows in ((1.0, np.flatnonzero(h > 0.0)), (-1.0, np.flatnonzero(h < 0.0))):
        for first in range(0, len(rows), block):
            indices = rows[first : first + block]
            first_row, end = indices[0], indices[-1] + 1
            # contiguous rows are taken as a slice
            part = slice(first_row, end) if end - first_row == len(indices) else indices
            yield sign, np.abs(h[part]), part


def _block(X: np.ndarray, by_row: bool, rows: Indices | slice, columns: Indices) -> np.ndarray:
    """A copy of some rows and columns in double precision."""
    if not by_row:
        picked = X.T[columns][:, rows].T  # whole columns are copied at once
    elif isinstance(rows, slice) or len(rows) * X.shape[1] <= len(X) * len(columns):
        picked = np.take(X[rows], columns, axis=1)
    else:
        picked = X.take(columns, axis=1).take(rows, axis=0)
    return picked.astype(np.float64, copy=False)

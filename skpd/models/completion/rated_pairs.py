"""Pairs of labels and their ratings, the data of matrix completion."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._checks import require_unmasked, shown
from ..._typing import Array, ArrayLike, Indices, MatrixLike, PerRow
from ...formulation.validation import of_one_type, require_lengths, require_numbers, require_size


class Labels(NamedTuple):
    """The labels of rows and of columns, in order, and the weight of the pairs with each."""

    rows: np.ndarray
    columns: np.ndarray
    row_weights: Array
    column_weights: Array


def pairs_and_ratings(X: MatrixLike, y: PerRow) -> tuple[tuple, tuple, Array]:
    """Labels, indices of the labels of each pair, and ratings, of pairs or of a sparse matrix."""
    if sp.issparse(X):
        if y is not None:
            raise ValueError("y must be None where X is a sparse matrix: it holds the ratings.")
        matrix = sp.coo_array(sp.csr_array(X))
        of_rows, of_columns = matrix.coords
        row_labels, column_labels = map(np.arange, matrix.shape)
        y = matrix.data
    else:
        if y is None:
            raise ValueError("y must hold the ratings of the pairs in X, got None.")
        rows, columns = two_columns(X)
        row_labels, of_rows = np.unique(rows, return_inverse=True)
        column_labels, of_columns = np.unique(columns, return_inverse=True)
    y = np.asarray(of_one_type(y))
    if np.iscomplexobj(y):
        raise ValueError("The ratings must be real numbers, got complex ones.")
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension, got {y.ndim}.")
    require_lengths(X=of_rows, y=y)
    if not len(y):
        raise ValueError("X must hold at least one pair, got none.")
    pairs = of_rows.astype(np.int32), of_columns.astype(np.int32)
    return (row_labels, column_labels), pairs, y


def _pairs(X: Any) -> list[tuple]:
    """The pairs of an iterable as tuples; letters of a string are no labels."""
    pairs = list(X) if np.iterable(X) else [X]
    if any(isinstance(pair, str) or not np.iterable(pair) for pair in pairs):
        raise ValueError(f"X must hold pairs of labels of a row and a column, got {shown(X)}.")
    return list(map(tuple, pairs))


def two_columns(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels of rows and of columns of pairs, each with its own type where possible."""
    require_unmasked("X", X)
    if hasattr(X, "iloc"):
        shape = X.shape
        columns = [np.asarray(X.iloc[:, k]) for k in range(min(2, shape[-1]))]
    else:
        # NumPy would make strings of numbers in a list with strings
        table = X if isinstance(X, np.ndarray) else np.array(_pairs(X), dtype=object)
        shape, columns = table.shape, []
        if table.ndim == 2 and shape[1] == 2:
            columns = list(table.T)
        if table.dtype == object:  # numbers as numbers, strings as strings
            columns = [np.array(column.tolist()) for column in columns]
    if len(shape) != 2 or shape[1] != 2:
        raise ValueError(f"X must hold pairs, in the shape (n_pairs, 2), got {tuple(shape)}.")
    for k, column in enumerate(columns):
        if column.ndim != 1 or np.any(column != column):  # NaN is not equal to itself
            raise ValueError(f"The labels in column {k} of X must be single values, got NaN.")
        if column.dtype.kind == "f" and np.any(np.isinf(column) | (column != np.floor(column))):
            raise ValueError(f"Numbers in column {k} of X must be whole, got {shown(column)}.")
    return columns[0], columns[1]


def checked_thresholds(thresholds: ArrayLike, levels: Array) -> Array:
    """Increasing thresholds between levels in float64, after a check that they are.

    Raises
    ------
    ValueError
        If they are not increasing finite numbers, one fewer than the levels.
    """
    require_numbers("thresholds", thresholds)
    table = np.asarray(thresholds, dtype=np.float64)
    increasing = np.isfinite(table).all() and np.all(np.diff(table) > 0.0)
    if table.shape != (len(levels) - 1,) or not increasing:
        raise ValueError(
            f"thresholds must be {len(levels) - 1} increasing finite numbers, one fewer than the "
            f"{len(levels)} levels of y, got {shown(thresholds)}."
        )
    require_size("thresholds", table)
    return table


def indices_of(labels: np.ndarray, wanted: np.ndarray) -> tuple[Indices, np.ndarray]:
    """Indices of labels among sorted labels, and whether each label is among them."""
    index = np.minimum(np.searchsorted(labels, wanted), len(labels) - 1)
    return index, labels[index] == wanted

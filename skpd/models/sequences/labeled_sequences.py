"""Sequences of rows and labels, one below the other."""

from collections.abc import Collection, Hashable, Sequence
from contextlib import suppress

import numpy as np
import scipy.sparse as sp

from ..._checks import require_unmasked, shown
from ..._typing import Indices, Matrix


def stacked(X: Sequence[Matrix]) -> tuple[Matrix, Indices]:
    """The tokens of all sequences as one array or CSR matrix, and the lengths of the sequences.

    Raises
    ------
    ValueError
        If X is no list of tables with at least a row each, of the same columns.
    """
    is_table = isinstance(X, str | bytes) or sp.issparse(X) or hasattr(X, "columns")
    if is_table or not isinstance(X, Collection) or not len(X):
        got = "an empty list" if isinstance(X, list) and not X else type(X).__name__
        raise ValueError(
            "X must be a list of at least one sequence, each an array or sparse matrix of shape "
            f"(n_tokens, n_features), got {got}."
        )
    sequences = list(X)
    tables = [table if sp.issparse(table) else np.asarray(table) for table in sequences]
    names = [_names_of_columns(table) for table in sequences]
    for i, table in enumerate(tables):
        require_unmasked(f"X[{i}]", sequences[i])
        if table.ndim != 2 or table.shape[0] == 0:
            raise ValueError(
                f"X[{i}] must have the shape (n_tokens, n_features) with at least one token, got "
                f"{table.shape}."
            )
        if table.shape[1] != tables[0].shape[1]:
            raise ValueError(
                f"All sequences must have the same number of features, got {table.shape[1]} in "
                f"X[{i}] and {tables[0].shape[1]} in X[0]."
            )
        if names[i] and names[0] and names[i] != names[0]:
            raise ValueError(
                "All sequences must have the same columns in the same order, got "
                f"{shown(names[i])} in X[{i}] and {shown(names[0])} in X[0]."
            )
    lengths = np.array([table.shape[0] for table in tables])
    if any(map(sp.issparse, tables)):
        return sp.csr_array(sp.vstack(tables, format="csr")), lengths
    return np.concatenate(tables), lengths


def _names_of_columns(table: Matrix) -> list[str]:
    """The names of the columns of a frame; numbers are none."""
    columns = list(getattr(table, "columns", ()))
    return columns if all(isinstance(name, str) for name in columns) else []


def encoded(y: Sequence[Sequence[Hashable]], lengths: Indices) -> tuple[np.ndarray, Indices]:
    """The labels that occur, sorted where possible, and the index of each token's label.

    Raises
    ------
    ValueError
        If y does not have a label for each token, if labels are not hashable, or if there are
        fewer than two.
    """
    if y is None:
        raise ValueError("y must hold the labels of each sequence, got None.")
    if len(y) != len(lengths):
        raise ValueError(f"y must have as many sequences as X, {len(lengths)}, got {len(y)}.")
    for i, (labels, length) in enumerate(zip(y, lengths, strict=True)):
        if len(labels) != length:
            raise ValueError(
                f"y[{i}] must have a label for each of the {length} tokens of X[{i}], got "
                f"{len(labels)}."
            )
    tokens = [x.item() if isinstance(x, np.generic) else x for labels in y for x in labels]
    if not all(isinstance(label, Hashable) for label in tokens):
        raise ValueError("The labels in y must be hashable, such as numbers or strings.")
    if not all(np.isfinite(label) for label in tokens if isinstance(label, float)):
        raise ValueError("The labels in y must not be NaN or infinity, which mark missing ones.")
    classes = list(dict.fromkeys(tokens))
    if len(classes) < 2:
        raise ValueError(f"y must have at least 2 different labels, got {classes}.")
    with suppress(TypeError):  # labels without an order stay in that of the data
        classes = sorted(classes)  # type: ignore[type-var]
    index = {label: k for k, label in enumerate(classes)}
    return _array_of(classes), np.array([index[label] for label in tokens])


def _array_of(labels: Sequence[Hashable]) -> np.ndarray:
    """An array of labels, of numbers or strings where all labels are, otherwise of objects."""
    for kind in (str, bool, int, float):
        if all(type(label) is kind for label in labels):
            return np.array(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def split_at(rows: np.ndarray, lengths: Indices) -> list[np.ndarray]:
    """The rows of each sequence."""
    return np.split(rows, np.cumsum(lengths)[:-1])

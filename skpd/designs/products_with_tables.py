"""The format of a matrix, and its products with tables of a few columns, one for each output."""

import numpy as np
import scipy.sparse as sp

from .._typing import Array, Table
from .dense_gram import AT_A_TIME
from .threads import blas_threads_for_product


def with_columns(X: Table, columns: Array) -> Table:
    """The matrix with more columns behind its own, in its own format."""
    if not sp.issparse(X):
        return np.hstack([X, columns])
    return sp.hstack([X, columns], format=X.format)


def canonical(X: Table) -> Table:
    """A sparse matrix that stores each entry once, in order: X itself if it does, else a copy."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _blocks(X: Table) -> list[slice]:
    """Blocks of rows whose copies in double precision stay in a cache."""
    size = max(AT_A_TIME // max(X.shape[1], 1), 1)
    return [slice(first, first + size) for first in range(0, X.shape[0], size)]


def product(X: Table, table: Array) -> Array:
    """The product X table.

    It is computed as (table' X')', with the narrow matrix first, which is faster in BLAS where X
    is tall.
    """
    if sp.issparse(X):
        return np.ascontiguousarray(X @ table)
    if X.dtype != table.dtype:
        return np.concatenate([product(X[part].astype(np.float64), table) for part in _blocks(X)])
    with blas_threads_for_product(X.shape[0] * table.size):
        return np.ascontiguousarray((table.T @ X.T).T)


def transposed_product(X: Table, table: Array) -> Array:
    """The product X' table."""
    if sp.issparse(X):
        return np.ascontiguousarray(X.T @ table)
    if X.dtype != table.dtype:
        out = np.zeros((X.shape[1], table.shape[1]))
        for part in _blocks(X):
            out += transposed_product(X[part].astype(np.float64), table[part])
        return out
    with blas_threads_for_product(X.shape[1] * table.size):
        return np.ascontiguousarray((table.T @ X).T)

"""The format of a matrix, and its products with tables of a few columns, one for each output."""

import numpy as np
import scipy.sparse as sp

from .._typing import Array, Table
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


def product(X: Table, table: Array) -> Array:
    """The product X table.

    It is computed as (table' X')', with the narrow matrix first, which is faster in BLAS where X
    is tall.
    """
    if sp.issparse(X):
        return np.ascontiguousarray(X @ table)
    with blas_threads_for_product(X.shape[0] * table.size):
        return np.ascontiguousarray((table.T @ X.T).T)


def transposed_product(X: Table, table: Array) -> Array:
    """The product X' table."""
    if sp.issparse(X):
        return np.ascontiguousarray(X.T @ table)
    with blas_threads_for_product(X.shape[1] * table.size):
        return np.ascontiguousarray((table.T @ X).T)

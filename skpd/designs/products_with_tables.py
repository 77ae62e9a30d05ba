"""The format of a matrix, and its products with tables of a few columns, one for each output."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from .._typing import Array, Table
from .threads import blas_threads_for_product

AT_A_TIME = 64  # number of columns to which a function is applied at a time


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


def transposed_product_of(function: Callable[[Array], Array], X: Table, table: Array) -> Array:
    """The product f(X)' table in double precision, for a function f of entries with f(0) = 0."""
    if sp.issparse(X):
        entries = function(X.data.astype(np.float64))
        return transposed_product(type(X)((entries, X.indices, X.indptr), shape=X.shape), table)
    result = np.empty((X.shape[1], table.shape[1]))
    with blas_threads_for_product(X.shape[1] * table.size):  # one context for all products
        for first in range(0, X.shape[1], AT_A_TIME):
            columns = slice(first, first + AT_A_TIME)
            part = function(X[:, columns].astype(np.float64, copy=False))
            result[columns] = (table.T @ part).T
    return result

"""Columns whose mean is far from 0, such as calendar years, and the shift that centres them."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from .._typing import Array, Indices, Table

SAMPLE = 50  # number of rows from which columns far from 0 are detected
LEAST_SHARE = 0.1  # the mean of all rows must be at least this times that of the sample
FAR = 10.0  # columns with a larger ratio of mean and standard deviation are far from 0


def columns_that_seem_far(X: Table, far: float) -> tuple[Indices, Array]:
    """The columns with a mean above ``far`` standard deviations in a sample of rows; their means.

    A column of a sparse X is far from 0 only if nearly all of its entries are stored.
    """
    n, d = X.shape
    if sp.issparse(X):
        if X.format == "csr":
            first = X.indices[: X.indptr[min(n, SAMPLE)]]
            counts = np.bincount(first, minlength=d)
        else:
            counts = np.diff(X.indptr) * (min(n, SAMPLE) / max(n, 1))
        columns = np.flatnonzero(counts > 0.9 * min(n, SAMPLE))
        part = X[:SAMPLE][:, columns].toarray()
    else:
        columns, part = np.arange(d), X[:: max(1, n // SAMPLE)][:SAMPLE]
    if part.size == 0:
        return columns[:0], np.empty(0)
    mean = np.asarray(np.mean(part, axis=0, dtype=np.float64))
    spread = np.std(part, axis=0)
    seems_far = (np.abs(mean) > far * spread) & (spread > 0.0)
    return columns[seems_far], mean[seems_far]


def shift_by_means(
    seeming: tuple[Indices, Array], means: Callable[[], Array], n_columns: int
) -> Array | None:
    """The weighted means of columns that seem far from 0, and 0 for others; None if all are 0."""
    chosen, mean = seeming
    if len(chosen) == 0:
        return None
    shift = np.zeros(n_columns)
    shift[chosen] = means()[chosen]
    # the sample may be misleading for features that are constant in nearly all rows
    shift[chosen[np.abs(shift[chosen]) < LEAST_SHARE * np.abs(mean)]] = 0.0
    return shift if shift.any() else None

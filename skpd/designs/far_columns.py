"""Columns that are far from 0, as calendar years are, and what to shift them by."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import Array, Indices

__all__ = ["FAR", "SAMPLE", "columns_that_seem_far", "shift_by_means"]

SAMPLE = 50  # rows that tell which columns are far from 0
LEAST_SHARE = 0.1  # of the mean of some rows that a mean of all is, or they tell nothing
FAR = 10.0  # mean over standard deviation from which on a column is


def columns_that_seem_far(X: Any, far: float) -> tuple[Indices, Array]:
    """Columns whose mean, in some of the rows, is so many standard deviations; these means.

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


def shift_by_means(design: Any, seeming: tuple[Indices, Array], weights: Array) -> Array | None:
    """Weighted means of the columns that seem far from 0, and 0 for others; None without any."""
    chosen, mean = seeming
    if len(chosen) == 0:
        return None
    shift = np.zeros(design.shape[1])
    shift[chosen] = design.rmatvec(weights)[chosen]
    # some rows do not tell of features that are the same in nearly all
    shift[chosen[np.abs(shift[chosen]) < LEAST_SHARE * np.abs(mean)]] = 0.0
    return shift if shift.any() else None

"""Checks of Dask collections that need no data, and the chunks of rows as futures."""

from typing import Any, Protocol, TypeGuard, cast

import dask
import dask.array as da
import numpy as np
from distributed import Client, default_client
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from .._typing import Array, ArrayLike
from .._warn import warn
from .row_store import label_weights, merged
from .worker_group import WorkerGroup


class Frame(Protocol):
    """A dataframe or a series of Dask, whose library is optional."""

    def to_dask_array(self) -> da.Array: ...


Collection = da.Array | Frame
PerRow = Collection | ArrayLike | None  # numbers for the rows, or the default


def client_of(client: Client | None) -> Client:
    """The given client, or the current one, or the client of a new local cluster.

    Warns
    -----
    UserWarning
        If a cluster is started.
    """
    if client is not None:
        return client
    try:
        return default_client()
    except ValueError:
        warn(
            "There is no distributed.Client: one with a LocalCluster of this machine is made, and "
            "stays the current one.",
        )
        return Client()


def is_frame(X: Collection | ArrayLike | None) -> TypeGuard[Frame]:
    return hasattr(X, "to_dask_array")


def as_array(X: Collection | ArrayLike | None, name: str) -> da.Array:
    """The collection as a dask array.

    Raises
    ------
    ValueError
        If X is not a Dask collection, or if a column does not hold numbers.
    """
    if is_frame(X):
        header = cast(Any, X)._meta
        if name == "X" and header.ndim == 2:
            others = header.select_dtypes(exclude=["number", "bool"]).dtypes.astype(str)
            if not others.empty:
                raise ValueError(f"X must hold numbers, got columns of the types {[*others]}.")
        return X.to_dask_array()
    if isinstance(X, da.Array):
        return X
    raise ValueError(f"{name} must be a dask array or dataframe, got {type(X).__name__}.")


def checked(estimator: BaseEstimator, X: Collection | ArrayLike, *, reset: bool) -> None:
    """Check the number and the names of the columns of X as scikit-learn does, or record them."""
    header = cast(Any, X)._meta if is_frame(X) else X
    validate_data(estimator, header, reset=reset, skip_check_array=True)


def workers_with(
    client: Client, X: Collection, y: PerRow, sample_weight: PerRow = None, offset: PerRow = None
) -> WorkerGroup:
    """The workers of a client that hold the chunks of the rows.

    Parameters
    ----------
    client : Client
    X : dask array or dataframe of shape (n_samples, n_features)
        Chunked by rows.
    y, sample_weight, offset : dask array or series, or array where chunks have known lengths
        Arrays of shape (n_samples,); weights are 1 and offsets 0 by default.

    Raises
    ------
    ValueError
        If X is chunked by columns, or if the length of another array differs from that of X.
    """
    X = as_array(X, "X")
    if X.ndim != 2:
        raise ValueError(
            f"X must have the shape (n_samples, n_features), got {X.ndim} dimensions."
        )
    if X.numblocks[1] != 1:
        raise ValueError(
            f"X must be chunked by rows alone, got {X.numblocks[1]} chunks of columns: "
            "X.rechunk({1: -1}) makes them one."
        )
    with client.as_current():
        per_row = {"sample_weight": sample_weight, "offset": offset}
        columns: list[da.Array | None] = [X, chunked_like(X, y, "y")]
        columns += [None if x is None else chunked_like(X, x, name) for name, x in per_row.items()]
    chunks = [c if c is None else c.to_delayed(optimize_graph=False).ravel() for c in columns]
    futures = [c if c is None else client.compute([*c], optimize_graph=False) for c in chunks]
    return WorkerGroup(client, futures)


def chunked_like(X: da.Array, y: PerRow, name: str) -> da.Array:
    """Targets, weights or offsets, chunked as X is.

    If the lengths of chunks are not known and the numbers of chunks differ, all rows are counted
    first. This occurs for columns of a dataframe that are read from files separately.
    """
    if dask.is_dask_collection(y):
        rows = as_array(y, name)
    else:
        values = np.asarray(y)
        if values.ndim == 0:
            raise ValueError(f"{name} must be a dask array or series, got {y!r}.")
        if not _are_known(X):
            raise ValueError(
                f"{name} must be a dask collection, as the lengths of the chunks of X are not "
                f"known, got {type(y).__name__}."
            )
        rows = da.from_array(values, chunks=(len(values), *values.shape[1:]))
    if rows.ndim == 2 and rows.shape[1] == 1:
        rows = rows[:, 0]
    if rows.ndim != 1:
        raise ValueError(f"{name} must have the shape (n_samples,), got {rows.ndim} dimensions.")
    chunks = X.chunks[:1]
    if rows.numblocks[0] != X.numblocks[0]:
        X, rows = (each if _are_known(each) else _counted(each) for each in (X, rows))
    if not (_are_known(X) and _are_known(rows)):
        return rows
    if rows.shape[0] != X.shape[0]:
        raise ValueError(
            f"{name} must have one entry for each row of X, got {rows.shape[0]} for "
            f"{X.shape[0]} rows."
        )
    rows = rows.rechunk(X.chunks[:1])
    return da.Array(rows.dask, rows.name, chunks, dtype=rows.dtype, meta=rows._meta)


def _are_known(X: da.Array) -> bool:
    """Whether the lengths of the chunks of X are known."""
    return not np.isnan(np.array(X.chunks[0], dtype=float)).any()


def _counted(X: da.Array) -> da.Array:
    """The array X with the lengths of its chunks, which are computed."""
    return da.Array(X.dask, X.name, X.chunks, dtype=X.dtype, meta=X._meta).compute_chunk_sizes()


def class_weights(workers: WorkerGroup) -> tuple[np.ndarray, Array]:
    """The sorted distinct labels, and the sum of the weights of the rows of each."""
    chunks = merged(workers.of_chunks(label_weights)).values()
    classes = np.unique(np.concatenate([labels for labels, _ in chunks]))
    weights = np.zeros(len(classes))
    for labels, sums in chunks:
        weights[np.searchsorted(classes, labels)] += sums
    return classes, weights

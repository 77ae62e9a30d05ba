"""Checks of Dask collections that need no data, and the chunks of rows as futures."""

from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, Future, default_client

from .._typing import Array
from .._warn import warn
from .team import Team


def client_of(given: Client | None) -> Client:
    """The given client, or the current one, or the client of a new local cluster.

    Warns
    -----
    UserWarning
        If a cluster is started.
    """
    if given is not None:
        return given
    try:
        return default_client()
    except ValueError:
        warn(
            "There is no distributed.Client: one with a LocalCluster of this machine is made, and "
            "stays the current one.",
        )
        return Client()


def as_array(X: Any, name: str) -> da.Array:
    """The collection as a dask array.

    Raises
    ------
    ValueError
        If X is not a Dask collection, or if a column does not hold numbers.
    """
    if hasattr(X, "to_dask_array"):  # a dataframe or a series
        if name == "X":
            import pandas

            wrong = [str(t) for t in X.dtypes if not pandas.api.types.is_numeric_dtype(t)]
            if wrong:
                raise ValueError(f"X must hold numbers, got columns of the types {wrong}.")
        return X.to_dask_array()
    if isinstance(X, da.Array):
        return X
    raise ValueError(f"{name} must be a dask array or dataframe, got {type(X).__name__}.")


def feature_names(X: Any) -> np.ndarray | None:
    """The names of the columns of a dataframe if all of them are strings, else None."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(columns, dtype=object)


def team_of(client: Client, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Team:
    """The `Team` of workers of a client that hold the chunks of the rows.

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
        columns = [X, beside(y, X, "y"), None, None]
        for place, name, given in ((2, "sample_weight", sample_weight), (3, "offset", offset)):
            if given is not None:
                columns[place] = beside(given, X, name)
    return Team(client, partial(_computed, client, columns))


def _computed(client: Client, columns: list[Any], in_ranges: bool) -> list:
    """Futures of the chunks of X, y, sample_weight and offset; the last two may be None.

    With ``in_ranges``, chunks that are not yet computed are assigned to workers in contiguous
    ranges, so that each worker sends few partial sums (`DaskShards`).
    """
    used = [column for column in columns if column is not None]
    delayed = [list(np.ravel(column.to_delayed(optimize_graph=False))) for column in used]
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"]) if in_ranges else []
    futures: list[list[Future]] = [[] for _ in used]
    for k, some in enumerate(np.array_split(np.arange(len(delayed[0])), max(len(workers), 1))):
        own = [blocks[j] for blocks in delayed for j in some]
        placed = {"workers": workers[k : k + 1], "allow_other_workers": True} if workers else {}
        found = client.compute(own, optimize_graph=False, **placed)
        for column, first in zip(futures, range(0, len(own), max(len(some), 1)), strict=False):
            column += found[first : first + len(some)]
    found = iter(futures)
    return [None if column is None else next(found) for column in columns]


def beside(y: Any, X: da.Array, name: str) -> da.Array:
    """Targets or weights, chunked as X is.

    If the lengths of chunks are not known and the numbers of chunks differ, all rows are counted
    first. This occurs for columns of a dataframe that are read from files separately.
    """
    if not dask.is_dask_collection(y):
        y = np.asarray(y)
        if y.ndim == 0:
            raise ValueError(f"{name} must be a dask array or series, got {y}.")
        if not _are_known(X):
            raise ValueError(
                f"{name} must be a dask collection, as the lengths of the chunks of X are not "
                f"known, got {type(y).__name__}."
            )
        y = da.from_array(y, chunks=(len(y), *y.shape[1:]))
    else:
        y = as_array(y, name)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"{name} must have the shape (n_samples,), got {y.ndim} dimensions.")
    given = X.chunks[:1]
    if y.numblocks[0] != X.numblocks[0]:
        X, y = _counted(X), _counted(y)
    if not (_are_known(X) and _are_known(y)):
        return y
    if y.shape[0] != X.shape[0]:
        raise ValueError(
            f"{name} must have one entry for each row of X, got {y.shape[0]} for "
            f"{X.shape[0]} rows."
        )
    if y.chunks != X.chunks[:1]:
        y = y.rechunk(X.chunks[:1])
    return da.Array(y.dask, y.name, given, dtype=y.dtype, meta=y._meta)


def _are_known(X: da.Array) -> bool:
    """Whether the lengths of the chunks of X are known."""
    return not np.isnan(np.array(X.chunks[0], dtype=float)).any()


def _counted(X: da.Array) -> da.Array:
    """The array X with known lengths of its chunks, which may have to be computed."""
    if _are_known(X):
        return X
    blocks = X.to_delayed(optimize_graph=False).ravel()
    shapes = dask.compute(*map(dask.delayed(np.shape), blocks), optimize_graph=False)
    chunks = tuple(shape[0] for shape in shapes), *X.chunks[1:]
    return da.Array(X.dask, X.name, chunks, dtype=X.dtype, meta=X._meta)


def class_weights(team: Team) -> tuple[np.ndarray, Array]:
    """The sorted distinct labels, and the sum of the weights of the rows of each."""
    found = [part for answer in team.ask_anew("class_weights") for part in answer.values()]
    classes = np.unique(np.concatenate([labels for labels, _ in found]))
    weights = np.zeros(len(classes))
    for labels, own in found:
        weights[np.searchsorted(classes, labels)] += own
    return classes, weights

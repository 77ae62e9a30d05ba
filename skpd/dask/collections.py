"""Dask collections as rows: checks that need no data, and their chunks as futures."""

import warnings
from typing import Any

import dask
import dask.array as da
import numpy as np
from distributed import Client, default_client

from .team import Team

__all__ = ["as_array", "client_of", "feature_names", "is_collection", "team_of"]


def is_collection(X: Any) -> bool:
    """Whether X is a collection of Dask."""
    return bool(dask.is_dask_collection(X))


def client_of(given: Client | None) -> Client:
    """The client that is given, the current one, or one of a new local cluster.

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
        warnings.warn(
            "There is no distributed.Client: one with a LocalCluster of this machine is made, and "
            "stays the current one.",
            UserWarning,
            stacklevel=6,
        )
        return Client()


def as_array(X: Any, name: str) -> Any:
    """A dask array of a collection.

    Raises
    ------
    ValueError
        If it is none, or of columns that are no numbers.
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


def feature_names(X: Any) -> Any:
    """The names of the columns of a dataframe if all of them are strings, else None."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.asarray(columns, dtype=object)


def team_of(
    client: Client, X: Any, y: Any, sample_weight: Any = None, n_features: int | None = None
) -> Team:
    """The workers of a client, each with its chunks of the rows.

    Parameters
    ----------
    client : Client
    X : dask array or dataframe of shape (n_samples, n_features)
        Chunked by rows.
    y, sample_weight : dask array or series, or array where the chunks of X have known lengths
        Of shape (n_samples,); weights of 1 by default.

    Raises
    ------
    ValueError
        If X is chunked by columns, or if the others do not fit it.
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
    columns = [X, _beside(y, X, "y")]
    if sample_weight is not None:
        columns.append(_beside(sample_weight, X, "sample_weight"))
    futures = _computed(client, columns)
    return Team(client, futures[0], futures[1], futures[2] if sample_weight is not None else None)


def _computed(client: Client, columns: list[Any]) -> list[list[Any]]:
    """Futures of the chunks of some collections.

    Chunks that are not yet computed go to workers in ranges, one after the other: so each has few
    partial sums to tell (`DaskShards`).
    """
    delayed = [list(np.ravel(column.to_delayed(optimize_graph=False))) for column in columns]
    workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
    futures: list[list[Any]] = [[] for _ in columns]
    for k, some in enumerate(np.array_split(np.arange(len(delayed[0])), max(len(workers), 1))):
        own = [blocks[j] for blocks in delayed for j in some]
        found = client.compute(
            own, optimize_graph=False, workers=workers[k : k + 1] or None,
            allow_other_workers=True,
        )  # fmt: skip
        for column, first in zip(futures, range(0, len(own), max(len(some), 1)), strict=False):
            column += found[first : first + len(some)]
    return futures


def _beside(y: Any, X: Any, name: str) -> Any:
    """Targets or weights with the chunks of X."""
    known = not np.isnan(np.array(X.chunks[0], dtype=float)).any()
    if not is_collection(y):
        y = np.asarray(y)
        if not known:
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
    own_known = not np.isnan(np.array(y.chunks[0], dtype=float)).any()
    if known and own_known:
        if y.shape[0] != X.shape[0]:
            raise ValueError(
                f"{name} must have one entry for each row of X, got {y.shape[0]} for "
                f"{X.shape[0]} rows."
            )
        return y if y.chunks[0] == X.chunks[0] else y.rechunk((X.chunks[0],))
    if y.numblocks[0] != X.numblocks[0]:
        raise ValueError(
            f"{name} must have as many chunks as X, as their lengths are not known, got "
            f"{y.numblocks[0]} for {X.numblocks[0]}."
        )
    return y

"""Sums over the rows of one problem that workers hold (`DaskShards`)."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast
from weakref import finalize

import dask.array as da
import numpy as np

from .._typing import Array
from ..designs.sums import Sums
from ..problems.shards.remote_dual import RemoteKey
from ..problems.shards.shard import Shard
from ..problems.shards.shards import RowsLostError, Shards
from .row_store import RowSpecification, RowStore, merged, sums_of_ranges
from .worker_group import WorkerGroup, WorkersLostError

T = TypeVar("T")


class DaskShards(Shards):
    """The rows that a group of workers holds, as the shards of one problem.

    Partial sums are added in an order that depends only on the number of chunks. So the results
    are the same to the last bit whichever worker has which chunk, and whichever is faster.

    Parameters
    ----------
    workers : WorkerGroup
    specification : RowSpecification
    """

    def __init__(self, workers: WorkerGroup, specification: RowSpecification) -> None:
        super().__init__()
        self.workers, self._generation = workers, workers.generation
        self._problem = workers.new_problem(specification)
        finalize(self, workers.drop, self._problem)
        self._n_keys = 0  # number of keys in use
        n_samples, n_features = workers.shape
        extra = 0 if specification.column is None else 1
        self.shape, self.dense = (n_samples, n_features + extra), workers.dense
        self.n_shards = len(workers.filled)

    def new_key(self) -> RemoteKey:
        self._n_keys += 1
        return super().new_key()

    def released(self) -> list[int]:
        keys = super().released()
        self._n_keys -= len(keys)
        return keys

    def each(self, function: Callable[[Shard], T]) -> list[T]:
        return list(merged(self._ask(RowStore.each, function)).values())

    def sums(self, function: Callable[[Shard], Sums | None]) -> dict[str, Any]:
        n_chunks = self.workers.n_chunks
        parts = merged(self._ask(RowStore.sums, function, n_chunks=n_chunks))
        (sums,) = sums_of_ranges(parts, lambda part: part, 0, n_chunks).values()
        assert sums is not None  # as some chunk has rows
        return sums

    def _ask(self, request: Callable[..., T], function: Callable, **given: int) -> list[T]:
        """The results of all workers for a request about the shards of this problem.

        Raises
        ------
        RowsLostError
            If workers were lost and vectors were kept with them.
        """
        of_problem = partial(
            request, problem=self._problem, function=self.releasing(function), **given
        )
        while True:
            with suppress(WorkersLostError):
                if self._generation == self.workers.generation:
                    return self.workers.ask(of_problem)
            self._generation = self.workers.generation
            if self._n_keys:
                raise RowsLostError

    def divide_weights(self, total: float) -> None:
        super().divide_weights(total)
        self.workers.divide_weights(self._problem, total)

    def gathered(self, part: Callable[[Shard], Array]) -> Array:
        """A vector of all rows, as a dask array whose chunks stay with the workers."""
        try:
            futures = self.workers.parts(self._problem, part)
        except WorkersLostError:
            self._generation = self.workers.generation
            raise RowsLostError from None
        chunks = [
            da.from_delayed(future, shape=(size.n_rows,), dtype=np.float64)
            for future, size in zip(futures, self.workers.filled.values(), strict=True)
        ]
        return cast(Array, da.concatenate(chunks))

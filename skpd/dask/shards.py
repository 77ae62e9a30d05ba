"""Sums over the rows of one problem that workers hold (`DaskShards`)."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

import dask.array as da
import numpy as np
from distributed import Future

from .._typing import Array
from ..designs.sums import Sums
from ..problems.shards.remote_dual import RemoteKey
from ..problems.shards.shard import Shard
from ..problems.shards.shards import RowsLostError, Shards
from .row_store import Key, RowSpecification, RowStore, merged, part_of, sums_of_ranges
from .worker_group import WorkerGroup

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
        self.workers = workers
        self._n_keys = 0  # number of keys in use
        n_features = workers.shape[1] + (specification.column is not None)
        self.shape, self.dense = (workers.shape[0], n_features), workers.dense
        self.n_shards = len(workers.filled)
        self._create(specification)

    def _create(self, specification: RowSpecification) -> None:
        self._specification, self._stores = specification, self.workers.stores(specification)
        self._known: list[Key | None] = [None] * len(self._stores)  # keys of the last replies

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
        of_shards = partial(request, function=self.releasing(function), **given)
        while True:
            replies = self.workers.ask(self._stores, self._known, of_shards)
            known, self._known = self._known, [reply.key for reply in replies]
            places = zip(known, replies, self.workers.shares, strict=True)
            lost = [(key[0], share) for key, reply, share in places if key and key != reply.key]
            if not lost:
                return [cast(T, reply.result) for reply in replies]
            for address, share in lost:
                self.workers.record_loss(address, share)
            if self._n_keys:
                raise RowsLostError

    def divide_weights(self, total: float) -> None:
        specification = self._specification
        self._create(replace(specification, total=specification.total * total))

    def gathered(self, part: Callable[[Shard], Array]) -> Array:
        """A vector of all rows, as a dask array whose chunks stay with the workers."""
        workers, futures = self.workers, dict[int, Future]()
        for store, key, share in zip(self._stores, self._known, workers.shares, strict=True):
            for number in share:
                if number in workers.filled:
                    futures[number] = workers.submit(
                        part_of, store, key, number, part, worker=key and key[0], or_another=True
                    )
        workers.wait(list(futures.values()))
        if any(future.status != "finished" for future in futures.values()):
            self.each(bool)  # which raises an error if rows are lost
            failed = [future for future in futures.values() if future.status == "error"]
            for error in [future.exception() for future in failed]:
                if not isinstance(error, RowsLostError):
                    raise error
            return self.gathered(part)
        chunks = [
            da.from_delayed(futures[number], shape=(size.n_rows,), dtype=np.float64)
            for number, size in workers.filled.items()
        ]
        return da.concatenate(chunks)

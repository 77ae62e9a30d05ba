"""The workers that hold the rows of one fit, and the requests to them (`WorkerGroup`)."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TypeVar
from uuid import uuid4

import numpy as np
from distributed import CancelledError, Client, Future, wait
from toolz import groupby

from .._warn import warn
from . import row_store
from .communication_counts import Communication
from .row_store import Chunks, ChunkSize, Key, Reply, RowSpecification, RowStore

T = TypeVar("T")
Column = list[Future] | None  # the chunks of X, y, weights or offsets, if there are any

WAIT_FOR_WORKER = 60.0  # seconds to wait for another worker where none is left
PATIENCE = 2.0  # seconds to wait for futures before checking that there is a worker
MOST_LOSSES = 10  # losses of workers after which a fit stops with an error


class WorkerGroup:
    """The workers that hold all chunks of the rows.

    The rows of a worker are the result of a task, and a request to it is another task on that
    result. Dask repeats the tasks of a lost worker on others.

    Parameters
    ----------
    client : Client
    columns : list
        The futures of the chunks of X, y, sample_weight and offset; the last two may be None.

    Attributes
    ----------
    shape : tuple of int
        (n_samples, n_features) of all rows together.
    dense : bool
    n_chunks : int
    shares : list of list of int
        The indices of the chunks of each worker.
    filled : dict
        The sizes of the chunks that have rows, by their indices.
    has_weights : bool
        Whether there is a sample_weight.
    cost : Communication

    Raises
    ------
    ValueError
        If the chunks are not matrices of numbers with the same number of columns, or if the
        targets and weights do not fit them.
    RuntimeError
        If a chunk cannot be computed, or if there is no worker for a minute.
    """

    def __init__(self, client: Client, columns: list[Column]) -> None:
        self.client, self._columns, self.cost = client, columns, Communication()
        self._lock, self._lost = Lock(), set[str]()
        self.n_chunks, self.has_weights = len(columns[0] or ()), columns[2] is not None
        self.wait([future for column in columns for future in column or ()])
        self.shares = self._shares(columns[0] or [])
        parts = [[c and [c[k] for k in share] for c in columns] for share in self.shares]
        shares = zip(self.shares, parts, strict=True)
        self._chunks = [self.submit(row_store.validated_chunks, *share) for share in shares]
        self.filled: dict[int, ChunkSize] = row_store.merged(self.of_chunks(row_store.sizes))
        if not self.filled:
            raise ValueError("X must have at least one row, got none.")
        n_rows, widths, _, dense = zip(*self.filled.values(), strict=True)
        if len(set(widths)) > 1:
            raise ValueError(f"All chunks of X must have as many columns, got {set(widths)}.")
        firsts = np.cumsum([0, *n_rows[:-1]]).tolist()
        self._first_rows = dict(zip(self.filled, firsts, strict=True))
        self.shape, self.dense = (sum(n_rows), widths[0]), all(dense)

    def _shares(self, X: list[Future]) -> list[list[int]]:
        """The indices of the chunks of each worker, which has them already."""
        locations = self.client.who_has(X)

        def address(k: int) -> str:
            having = sorted(locations.get(X[k].key, ()))
            return having[k % len(having)] if having else ""

        return list(groupby(address, range(len(X))).values())

    def of_chunks(self, function: Callable[[Chunks], T]) -> list[T]:
        """The results of a function for the chunks of each worker."""
        futures = [self.submit(function, chunks) for chunks in self._chunks]
        self.wait(futures)
        return list(self.client.gather(futures))

    def stores(self, specification: RowSpecification) -> list[Future]:
        """The futures of the rows of a problem on each worker, as `RowStore`."""
        return [
            self.submit(RowStore, chunks, share, self._first_rows, specification)
            for chunks, share in zip(self._chunks, self.shares, strict=True)
        ]

    def submit(
        self, function: Callable, *arguments: object,
        worker: str | None = None, or_another: bool = False,
    ) -> Future:  # fmt: skip
        """The future of a function, called where its rows are.

        Dask does not spread a task over the workers that is a group of its own, by its key. But
        it moves a task to an idle worker, and copies the rows, unless the worker is given. If that
        worker is lost, the task waits for ever, unless it may move to another.
        """
        key = f"{function.__name__}-{uuid4().hex}", 0
        return self.client.submit(
            function, *arguments, key=key, workers=worker,
            allow_other_workers=or_another and worker is not None,
        )  # fmt: skip

    def ask(
        self, stores: list[Future], keys: Sequence[Key | None], request: Callable[[RowStore], T]
    ) -> list[Reply[T]]:
        """The replies of stores to a request; the keys are those of the last replies, or None."""
        start, cost, replies = time.perf_counter(), self.cost, list[Reply[T]]()
        addresses = [key and key[0] for key in keys]
        while not replies:
            asked = zip(stores, keys, addresses, strict=True)
            futures = [
                self.submit(row_store.reply_of, store, key, request, worker=address)
                for store, key, address in asked
            ]
            self.wait(futures, addresses)
            if all(future.done() for future in futures):
                replies = self._gathered(futures, addresses)
            if not replies:  # tasks for a worker that is lost wait for ever
                present = self.client.nthreads()
                addresses = [each if each in present else None for each in addresses]
        with self._lock:
            cost.n_rounds += 1
            cost.seconds_waiting += time.perf_counter() - start
        return replies

    def _gathered(self, futures: list[Future], addresses: Sequence[str | None]) -> list:
        """The results of finished tasks; none if a worker is lost before it sends its result."""
        gather, patience = partial(self.client.gather, futures, asynchronous=True), PATIENCE
        while True:
            try:
                return list(self.client.sync(gather, callback_timeout=patience))
            except TimeoutError:
                present = self.client.nthreads()
                if any(address and address not in present for address in addresses):
                    return []
                patience *= 2.0  # for results that take longer

    def record_loss(self, address: str, share: list[int]) -> None:
        """Warn of a lost worker, once; a RuntimeError if too many are lost."""
        with self._lock:
            if address in self._lost:
                return
            self._lost.add(address)
            self.cost.workers_lost += 1
        if self.cost.workers_lost > MOST_LOSSES:
            raise RuntimeError(
                f"{self.cost.workers_lost} workers were lost during this fit, perhaps for want of "
                f"memory: X takes {sum(s.n_bytes for s in self.filled.values()) / 1e6:.0f} MB, "
                "beside which workers want room for four numbers a row."
            )
        n_rows = sum(self.filled[k].n_rows for k in share if k in self.filled)
        warn(
            f"A worker was lost that held {n_rows:,} rows. Others hold them now, their dual "
            "points begin anew from the last model, and the fit goes on.",
        )

    # Waiting

    def wait(self, futures: list[Future], addresses: Sequence[str | None] = ()) -> None:
        """Wait until tasks finish or fail, or until one of the given workers is lost.

        Raises
        ------
        RuntimeError
            If a chunk cannot be computed, or if there is no worker for a minute.
        """
        with_worker = time.monotonic()  # when there was one
        while True:
            try:
                wait(futures, timeout=PATIENCE)
                break
            except CancelledError:
                break
            except TimeoutError:
                present = self.client.nthreads()
                if present:
                    with_worker = time.monotonic()
                    if any(address and address not in present for address in addresses):
                        return
                elif time.monotonic() > with_worker + WAIT_FOR_WORKER:
                    raise RuntimeError(
                        "The cluster has no worker left to hold the rows, and none has come for "
                        f"{WAIT_FOR_WORKER:.0f} seconds."
                    ) from None
        if all(future.status == "finished" for future in futures):
            return
        names = "X", "y", "sample_weight", "offset"
        for name, column in zip(names, self._columns, strict=True):
            for k, future in enumerate(column or ()):
                if future.status in ("error", "cancelled"):
                    error = future.exception() if future.status == "error" else None
                    how = f"be computed: {error!r}" if error else "come back: it is lost"
                    raise RuntimeError(f"Chunk {k} of {name} cannot {how}.") from error

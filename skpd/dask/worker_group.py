"""The workers that hold the rows of one fit, and the requests to them (`WorkerGroup`)."""

import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from threading import RLock
from typing import TypeVar, cast

import numpy as np
from dask.sizeof import sizeof
from distributed import Actor, CancelledError, Client, Future, wait

from .._warn import warn
from ..problems.shards.shard import Shard
from .communication_counts import Communication
from .row_store import ChunkSize, Reply, RowSpecification, RowStore, merged

T = TypeVar("T")
Column = list[Future] | None  # the chunks of X, y, weights or offsets, if there are any

WAIT_FOR_WORKER = 60.0  # seconds to wait for another worker where none is left
PATIENCE = 2.0  # seconds to wait for futures before checking that there is a worker
MOST_LOSSES = 10  # losses of workers after which a fit stops with an error
# The errors that calls of an actor raise when its worker is gone
LOST = OSError, RuntimeError, CancelledError
COLUMNS = "X", "y", "sample_weight", "offset"


class WorkersLostError(Exception):
    """Workers were lost; others hold their rows now, but vectors kept with them are lost."""


@dataclass(frozen=True)
class Store:
    """The store of some chunks: the future of its creation, and the actor on a worker."""

    future: Future
    actor: Actor
    numbers: Sequence[int]

    def replies(
        self, request: Callable[[RowStore], T], dropped: Sequence[int]
    ) -> Callable[[], Reply[T] | None]:
        """A function that waits for the reply, which is None if the worker is lost."""
        pending = None
        with suppress(*LOST):
            pending = self.actor.reply(request, dropped)

        def reply() -> Reply[T] | None:
            with suppress(*LOST):
                return None if pending is None else pending.result()
            return None

        return reply


class WorkerGroup:
    """The workers that hold all chunks of the rows.

    Parameters
    ----------
    client : Client
    compute : callable
        Returns the futures of the chunks of X, y, sample_weight and offset (or None). Its
        argument is whether contiguous ranges of chunks are to be computed by one worker each.

    Attributes
    ----------
    shape : tuple of int
        (n_samples, n_features) of all rows together.
    dense : bool
    n_chunks : int
    cost : Communication
    generation : int
        The number of times that rows were lost.

    Raises
    ------
    ValueError
        If the chunks are not matrices of numbers with the same number of columns, or if the
        targets and weights do not fit them.
    """

    def __init__(self, client: Client, compute: Callable[[bool], list[Column]]) -> None:
        self.client, self._compute = client, compute
        self._known_workers, self._columns = self._addresses(), compute(True)
        assert self._columns[0] is not None
        self.n_chunks, self.cost, self.generation = len(self._columns[0]), Communication(), 0
        self._lock, self._problem_numbers = RLock(), count()
        self._specifications: dict[int, RowSpecification] = {}
        self._dropped = deque[int]()
        self._stores: list[Store] = []
        self._sizes: dict[int, ChunkSize] = {}
        self._first_rows: dict[int, int] = {}
        self._store(range(self.n_chunks))
        self._sizes = merged(self.ask_anew(RowStore.sizes))
        n_rows = [size.n_rows for size in self._sizes.values()]
        self._first_rows = dict(enumerate(np.cumsum([0, *n_rows[:-1]]).tolist()))
        filled = self.filled.values()
        if not filled:
            raise ValueError("X must have at least one row, got none.")
        widths = sorted({size.n_features for size in filled})
        if len(widths) > 1:
            raise ValueError(f"All chunks of X must have as many columns, got {widths}.")
        self.shape = sum(n_rows), widths[0]
        self.dense = all(size.dense for size in filled)

    @property
    def has_weights(self) -> bool:
        """Whether there is a sample_weight."""
        return self._columns[2] is not None

    @property
    def filled(self) -> dict[int, ChunkSize]:
        """The sizes of the chunks that have rows, by their indices."""
        return {k: size for k, size in self._sizes.items() if size.n_rows}

    # Requests

    def ask(self, request: Callable[[RowStore], T]) -> list[T]:
        """The results of a request to all workers.

        Raises
        ------
        WorkersLostError
            If workers are lost.
        """
        with self._lock:
            start, cost = time.perf_counter(), self.cost
            dropped = [self._dropped.popleft() for _ in range(len(self._dropped))]
            pending = [store.replies(request, dropped) for store in self._stores]
            replies = [reply() for reply in pending]
            received = [reply for reply in replies if reply is not None]
            cost.n_rounds += 1
            cost.bytes_sent += len(pending) * sizeof(request)
            cost.bytes_received += sum(sizeof(reply.result) for reply in received)
            cost.seconds_waiting += time.perf_counter() - start
            if len(received) < len(replies):
                pairs = zip(self._stores, replies, strict=True)
                self._replace([store for store, reply in pairs if reply is None])
                raise WorkersLostError
            return [self._result(reply) for reply in received]

    def ask_anew(self, request: Callable[[RowStore], T]) -> list[T]:
        """The results of a request to all workers, repeated if workers are lost.

        The request must not depend on vectors that are kept with the workers.
        """
        while True:
            with suppress(WorkersLostError):
                return self.ask(request)

    def _result(self, reply: Reply[T]) -> T:
        if isinstance(reply.error, MemoryError) and self._sizes:
            sizes = [size.n_bytes for size in self._sizes.values()]
            raise MemoryError(
                f"A worker is out of memory. The largest chunk of X takes {max(sizes) / 1e6:.0f} "
                f"MB, all together {sum(sizes) / 1e6:.0f} MB for {len(self._stores)} workers, "
                "beside which each wants room for four numbers a row: take more workers."
            ) from reply.error
        if reply.error is not None:
            raise reply.error
        return cast(T, reply.result)

    def parts(self, problem: int, function: Callable[[Shard], T]) -> list[Future]:
        """Futures of the results of a function for each shard, which stay with the workers.

        Raises
        ------
        WorkersLostError
            If workers are lost.
        """
        filled = self.filled
        futures = {
            number: self.client.submit(
                _part_of, store.future, problem=problem, number=number, function=function,
                pure=False,
            )
            for store in self._stores for number in store.numbers if number in filled
        }  # fmt: skip
        wait(list(futures.values()))
        if failed := [future for future in futures.values() if future.status != "finished"]:
            self.ask(RowStore.sizes)  # which raises an error if workers are lost
            raise failed[0].exception()
        return [futures[number] for number in filled]

    # Problems

    def new_problem(self, specification: RowSpecification) -> int:
        """Have all workers create shards for a problem, and return the number of the problem."""
        number = next(self._problem_numbers)
        create = partial(
            RowStore.create_shards, problem=number, specification=specification,
            first_rows=self._first_rows,
        )  # fmt: skip
        self.ask_anew(create)
        self._specifications[number] = specification
        return number

    def divide_weights(self, problem: int, total: float) -> None:
        """Record that all weights of a problem were divided by ``total``, for later workers."""
        specification = self._specifications[problem]
        self._specifications[problem] = replace(specification, total=specification.total * total)

    def drop(self, problem: int) -> None:
        """Forget a problem; workers delete its shards at the next request."""
        self._specifications.pop(problem, None)
        self._dropped.append(problem)

    # Assignment of chunks to workers

    def _store(self, numbers: Sequence[int]) -> None:
        """Have workers store some chunks, which Dask computes, again if a worker was lost.

        Raises
        ------
        RuntimeError
            If chunks cannot be computed, or if there is no worker.
        """
        for _ in range(MOST_LOSSES):
            chunks = [[column[k] for k in numbers] for column in self._columns if column]
            if not self._finished([future for column in chunks for future in column]):
                self._compute_anew()
                continue
            self._require_computed(numbers)
            stores = self._new_stores(numbers)
            if not self._finished(stores):
                continue
            numbers = []
            for future, share in stores.items():
                try:
                    self._stores.append(Store(future, future.result(), share))
                except LOST:
                    numbers += share
            if not numbers:
                return
        raise RuntimeError(f"No worker keeps the chunks {list(numbers)} of X for long enough.")

    def _finished(self, futures: Collection[Future]) -> bool:
        """Whether futures finish or fail; False if all workers that they were for are gone.

        Dask computes what is lost with a worker again. But if there was no worker at all for a
        while, others never get tasks that were for certain workers. Chunks that cannot be computed
        again are neither finished nor failed after a wait.
        """
        end = time.monotonic() + WAIT_FOR_WORKER
        while True:
            try:
                wait(futures, timeout=PATIENCE)
                return True
            except TimeoutError:
                if self._known_workers.isdisjoint(self._addresses()):
                    return False
            except CancelledError:
                return True
            if any(self.client.processing().values()):
                end = time.monotonic() + WAIT_FOR_WORKER
            elif time.monotonic() > end:
                return True

    def _compute_anew(self) -> None:
        """Compute the chunks that are not finished by new tasks, for any worker."""
        for future in [f for column in self._columns if column for f in column]:
            if future.status != "finished":
                future.release()  # the scheduler then forgets which workers it was for
        self._known_workers = self._addresses()  # the reply comes after it has done that
        self._columns = self._compute(False)

    def _require_computed(self, numbers: Sequence[int]) -> None:
        for name, column in zip(COLUMNS, self._columns, strict=True):
            for k in numbers if column else ():
                future = cast(list[Future], column)[k]
                if future.status != "finished":
                    error = future.exception() if future.status == "error" else None
                    how = (
                        f"be computed: {error!r}" if error else f"come back: it is {future.status}"
                    )
                    raise RuntimeError(f"Chunk {k} of {name} cannot {how}.") from error

    def _new_stores(self, numbers: Sequence[int]) -> dict[Future, list[int]]:
        """The futures of new stores, each on a worker that has its chunks, and their indices."""
        assert self._columns[0] is not None
        X, addresses = [self._columns[0][k] for k in numbers], self._addresses()
        locations = self.client.who_has(X)
        shares: dict[str, list[int]] = {}
        for k, future in zip(numbers, X, strict=True):
            having = addresses.intersection(locations.get(future.key, ())) or addresses
            address = min(having, key=lambda name: (len(shares.get(name, ())), name))
            shares.setdefault(address, []).append(k)
        return {
            self.client.submit(
                RowStore, share, [c and [c[k] for k in share] for c in self._columns],
                dict(self._first_rows), dict(self._specifications),
                actor=True, workers=[address], allow_other_workers=True, pure=False,
            ): share
            for address, share in shares.items()
        }  # fmt: skip

    def _addresses(self) -> set[str]:
        """The addresses of the workers; a RuntimeError if none comes for a minute."""
        end = time.monotonic() + WAIT_FOR_WORKER
        while not (addresses := set(self.client.nthreads())):
            if time.monotonic() > end:
                raise RuntimeError(
                    "The cluster has no worker left to hold the rows, and none has come for "
                    f"{WAIT_FOR_WORKER:.0f} seconds."
                )
            time.sleep(0.1)
        return addresses

    def _replace(self, lost: list[Store]) -> None:
        """Have other workers store the chunks of lost ones, with a warning at every call."""
        numbers = [number for store in lost for number in store.numbers]
        self.cost.workers_lost += len(lost)
        self.generation += 1
        if self.cost.workers_lost > MOST_LOSSES:
            total = sum(size.n_bytes for size in self._sizes.values())
            raise RuntimeError(
                f"{self.cost.workers_lost} workers were lost during this fit, perhaps for want "
                f"of memory: the chunks of X take {total / 1e6:.0f} MB together, "
                "beside which workers want room for four numbers a row."
            )
        self._stores = [store for store in self._stores if store not in lost]
        self._store(numbers)
        n_rows = sum(self._sizes[k].n_rows for k in numbers if k in self._sizes)
        warn(
            f"A worker was lost that held {n_rows:,} rows. Others hold them now, their dual "
            "points begin anew from the last model, and the fit goes on.",
        )


def _part_of(store: Actor, problem: int, number: int, function: Callable[[Shard], T]) -> T:
    """The result of a function for one shard, by a task on the worker that has the store."""
    return cast(T, store.of_shard(problem, number, function).result())

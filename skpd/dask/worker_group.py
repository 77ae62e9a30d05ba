"""The workers that hold the rows of one fit, and the requests to them (`WorkerGroup`)."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from threading import RLock
from typing import TypeVar

import numpy as np
from dask.sizeof import sizeof
from distributed import Actor, Client, Future, wait
from distributed.actor import BaseActorFuture
from distributed.client import FutureCancelledError

from .._warn import warn
from ..problems.shards.shard import Shard
from .communication_counts import Communication
from .row_store import ChunkSize, Reply, RowSpecification, RowStore, merged

T = TypeVar("T")
Column = list[Future] | None  # the chunks of X, y, weights or offsets, if there are any

WAIT_FOR_WORKER = 60.0  # seconds to wait for another worker where none is left
PATIENCE = 2.0  # seconds to wait for a reply before checking that a worker is still there
PAUSE = 0.2  # seconds in which the scheduler notices that a worker is gone
MOST_LOSSES = 10  # losses of workers after which a fit stops with an error
# The errors that calls of an actor raise when its worker is gone
LOST = OSError, RuntimeError, FutureCancelledError
COLUMNS = "X", "y", "sample_weight", "offset"


class WorkersLostError(Exception):
    """Workers were lost; others hold their rows now, but vectors kept with them are lost."""


@dataclass(frozen=True)
class Worker:
    """A worker, and the actor there that stores some chunks."""

    address: str
    store: Actor
    numbers: tuple[int, ...]

    def send(
        self, request: Callable[[RowStore], T], dropped: Sequence[int] = ()
    ) -> BaseActorFuture[Reply[T]] | None:
        """The pending reply, None if the worker is lost."""
        try:
            pending: BaseActorFuture[Reply[T]] = self.store.reply(request, dropped)
        except LOST:
            return None
        return pending

    def ask(self, request: Callable[[RowStore], T]) -> Reply[T] | None:
        """The reply, None if the worker is lost."""
        return _reply_of(self.send(request))


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
        self._known_workers, self._columns = set(self._threads()), compute(True)
        assert self._columns[0] is not None
        self.n_chunks, self.cost, self.generation = len(self._columns[0]), Communication(), 0
        self._lock, self._problem_numbers = RLock(), count()
        self._specifications: dict[int, RowSpecification] = {}
        self._dropped = deque[int]()
        self._workers: list[Worker] = []
        self._sizes: dict[int, ChunkSize] = {}
        self._first_rows: dict[int, int] = {}
        self._store(range(self.n_chunks))
        self._sizes = merged(self.ask_anew(RowStore.validate))
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
            pending = [worker.send(request, dropped) for worker in self._workers]
            replies = [_reply_of(each) for each in pending]
            received = [reply for reply in replies if reply is not None]
            cost.n_rounds += 1
            cost.bytes_sent += len(pending) * sizeof(request)
            cost.bytes_received += sum(sizeof(reply.result) for reply in received)
            cost.seconds_waiting += time.perf_counter() - start
            if len(received) < len(replies):
                pairs = zip(self._workers, replies, strict=True)
                self._replace([worker for worker, reply in pairs if reply is None])
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
                f"MB, all together {sum(sizes) / 1e6:.0f} MB for {len(self._workers)} workers, "
                "beside which each wants room for four numbers a row: take more workers."
            ) from reply.error
        return reply.get()

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
                _part_of, worker.store,
                partial(RowStore.of_shard, problem=problem, number=number, function=function),
                workers=[worker.address], pure=False,
            )
            for worker in self._workers for number in worker.numbers if number in filled
        }  # fmt: skip
        lost, late = list[Worker](), True
        while late and not lost:
            late = _are_late(list(futures.values()))
            lost = [worker for worker in self._workers if worker.ask(RowStore.validate) is None]
        if lost:
            with self._lock:
                self._replace(lost)
            raise WorkersLostError
        for future in futures.values():
            if future.status != "finished":
                raise future.exception()
        return [futures[number] for number in filled]

    # Problems

    def new_problem(self, specification: RowSpecification) -> int:
        """Have all workers create shards for a problem, and return the number of the problem."""
        number = next(self._problem_numbers)
        self._specifications[number] = specification
        self.ask_anew(self._creation(number))
        return number

    def _creation(self, problem: int) -> Callable[[RowStore], None]:
        """The request to create the shards of a problem."""
        return partial(
            RowStore.create_shards, problem=problem, first_rows=self._first_rows,
            specification=self._specifications[problem],
        )  # fmt: skip

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
        """Have some chunks stored, each on a worker that already has it.

        Raises
        ------
        RuntimeError
            If chunks cannot be computed, or if there is no worker.
        """
        for _ in range(MOST_LOSSES):
            lost: list[int] = []
            for address, (future, stored) in self._new_stores(numbers).items():
                store = self._created(future, address)
                if store is None:
                    lost += stored
                else:
                    self._workers.append(Worker(address, store, tuple(stored)))
            if not lost:
                return
            numbers = lost
            time.sleep(PAUSE)
        raise RuntimeError(f"No worker keeps the chunks {numbers} of X for long enough.")

    def _created(self, future: Future, address: str) -> Actor | None:
        """The store that a worker creates, None if the worker is lost meanwhile."""
        while True:
            try:
                store: Actor = future.result(timeout=PATIENCE)
            except LOST as error:
                if not isinstance(error, TimeoutError) or address not in self._threads():
                    return None
            else:
                return store

    def _computed(self, numbers: Sequence[int]) -> list[list[Future]]:
        """Futures of some chunks of X, y and weights, after they have been computed.

        The scheduler recomputes chunks that are lost with a worker, if that is possible. But if
        there was no worker at all for a while, it does not reassign their tasks to new workers:
        the chunks are then computed again by new tasks.

        Raises
        ------
        RuntimeError
            If a chunk cannot be computed, or if there is no worker.
        """
        chunks = self._finished_chunks(numbers)
        names = [name for name, column in zip(COLUMNS, self._columns, strict=True) if column]
        for name, column in zip(names, chunks, strict=True):
            for k, future in zip(numbers, column, strict=True):
                if future.status == "finished":
                    continue
                error = future.exception() if future.status == "error" else None
                how = f"be computed: {error!r}" if error else f"come back: it is {future.status}"
                raise RuntimeError(f"Chunk {k} of {name} cannot {how}.") from error
        return chunks

    def _finished_chunks(self, numbers: Sequence[int]) -> list[list[Future]]:
        """Futures of chunks, finished or failed, or as they are after a wait without workers."""
        end = time.monotonic() + WAIT_FOR_WORKER
        while True:
            chunks = [[column[k] for k in numbers] for column in self._columns if column]
            futures = [future for column in chunks for future in column]
            late = _are_late(futures)
            if all(future.status not in ("lost", "pending") for future in futures):
                return chunks
            if late and not self._known_workers <= (workers := set(self._threads())):
                self._compute_anew(workers)
            elif late and any(self.client.processing().values()):
                end = time.monotonic() + WAIT_FOR_WORKER
            elif time.monotonic() > end:
                return chunks
            else:
                time.sleep(PAUSE)

    def _compute_anew(self, workers: set[str]) -> None:
        """Compute the chunks that are not finished by new tasks."""
        for future in [f for column in self._columns if column for f in column]:
            if future.status != "finished":
                future.release()  # the scheduler then forgets the place of the chunk
        self._threads()  # its reply comes after the scheduler has done that
        self._columns, self._known_workers = self._compute(False), workers

    def _new_stores(self, numbers: Sequence[int]) -> dict[str, tuple[Future, list[int]]]:
        """Futures of new stores and the indices of their chunks, by the address of the worker."""
        X = self._computed(numbers)[0]
        locations, threads = self.client.who_has(X), self._threads()
        shares: dict[str, list[int]] = {}
        for k, future in zip(numbers, X, strict=True):
            having = [address for address in locations.get(future.key, ()) if address in threads]
            address = min(having or threads, key=lambda name: (len(shares.get(name, ())), name))
            shares.setdefault(address, []).append(k)
        stores = {}
        for address, share in shares.items():
            columns = [c if c is None else [c[k] for k in share] for c in self._columns]
            future = self.client.submit(
                RowStore, share, *columns, threads[address],
                actor=True, workers=[address], pure=False,
            )  # fmt: skip
            stores[address] = future, share
        return stores

    def _threads(self) -> dict[str, int]:
        """The number of threads of each worker, by address.

        Raises
        ------
        RuntimeError
            If there is no worker within `WAIT_FOR_WORKER` seconds.
        """
        end = time.monotonic() + WAIT_FOR_WORKER
        while not (workers := self.client.scheduler_info(n_workers=-1)["workers"]):
            if time.monotonic() > end:
                raise RuntimeError(
                    "The cluster has no worker left to hold the rows, and none has come for "
                    f"{WAIT_FOR_WORKER:.0f} seconds."
                )
            time.sleep(0.1)
        return {address: each["nthreads"] for address, each in workers.items()}

    def _replace(self, lost: list[Worker]) -> None:
        """Have other workers store the chunks of lost ones, with a warning at every call."""
        numbers = [number for worker in lost for number in worker.numbers]
        self.cost.workers_lost += len(lost)
        self.generation += 1
        if self.cost.workers_lost > MOST_LOSSES:
            total = sum(size.n_bytes for size in self._sizes.values())
            raise RuntimeError(
                f"{self.cost.workers_lost} workers were lost during this fit, perhaps for want "
                f"of memory: the chunks of X take {total / 1e6:.0f} MB together, "
                "beside which workers want room for four numbers a row."
            )
        self._workers = [worker for worker in self._workers if worker not in lost]
        before = len(self._workers)
        self._store(numbers)
        n_rows = sum(self._sizes[k].n_rows for k in numbers if k in self._sizes)
        warn(
            f"A worker was lost that held {n_rows:,} rows. Others hold them now, their dual "
            "points begin anew from the last model, and the fit goes on.",
        )
        for worker in self._workers[before:]:
            # the requests that bring a new store up to date
            for request in (RowStore.validate, *map(self._creation, self._specifications)):
                reply = worker.ask(request)
                if reply is None:
                    self._replace([worker])
                    return
                self._result(reply)


def _reply_of(pending: BaseActorFuture[Reply[T]] | None) -> Reply[T] | None:
    """A pending reply, None if the worker is lost."""
    try:
        return None if pending is None else pending.result()
    except LOST:
        return None


def _are_late(futures: Sequence[Future]) -> bool:
    """Whether some futures are still pending after `PATIENCE` seconds."""
    try:
        wait(futures, timeout=PATIENCE)
    except TimeoutError:
        return True
    return False


def _part_of(store: Actor, request: Callable[[RowStore], T]) -> T:
    """The result of a request, computed by a task on the worker that has the store."""
    reply: Reply[T] = store.reply(request, []).result()
    return reply.get()

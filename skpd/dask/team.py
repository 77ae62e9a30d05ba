"""The workers that hold the rows of one fit, and the requests to them (`Team`)."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from threading import RLock
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from distributed import Actor, Client, Future, wait
from distributed.actor import BaseActorFuture
from distributed.client import FutureCancelledError

from .._warn import warn
from .communication import Communication
from .holder import Answer, RowHolder, Task

WAIT_FOR_WORKER = 60.0  # seconds to wait for another worker where none is left
PATIENCE = 2.0  # seconds to wait for an answer before checking that a worker is still there
PAUSE = 0.2  # seconds in which the scheduler notices that a worker is gone
MOST_LOSSES = 10  # losses of workers after which a fit stops with an error
# The errors that calls of an actor raise when its worker is gone
LOST = OSError, RuntimeError, FutureCancelledError
COLUMNS = "X", "y", "sample_weight", "offset"


class WorkersLostError(Exception):
    """Workers were lost; others hold their rows now, but vectors kept with them are lost."""


@dataclass(frozen=True)
class Member:
    """A worker and its holder of some parts."""

    worker: str
    holder: Actor
    numbers: tuple[int, ...]

    def call(self, method: str, arguments: tuple = (), dropped: Sequence[int] = ()) -> Any:
        """The pending answer of the holder, None if the worker is lost."""
        try:
            return self.holder.ask(list(dropped), method, arguments)
        except LOST:
            return None

    def ask(self, method: str, arguments: tuple = ()) -> Answer | None:
        """The answer of the holder, None if the worker is lost."""
        return _answer_of(self.call(method, arguments))


class Team:
    """The actors that hold all parts of the rows, one for each worker that has some.

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
    n_parts : int
    cost : Communication
    generation : int
        The number of times that rows were lost.

    Raises
    ------
    ValueError
        If the parts are not matrices of numbers with the same number of columns, or if the targets
        and weights do not fit them.
    """

    def __init__(self, client: Client, compute: Callable[[bool], list]) -> None:
        self.client, self._compute = client, compute
        self._workers_then, self._futures = set(self._workers()), compute(True)
        self.n_parts, self.cost, self.generation = len(self._futures[0]), Communication(), 0
        self._lock, self._numbers = RLock(), count()
        self._posed: dict[int, Task] = {}
        self._dropped = deque[int]()
        self._members: list[Member] = []
        self._rows: dict[int, dict[str, int]] = {}
        self._firsts: dict[int, int] = {}
        self._hold(range(self.n_parts))
        answers = self.ask_anew("describe")
        self._rows = {number: each for answer in answers for number, each in answer.items()}
        n_rows = [self._rows[k]["n_rows"] for k in range(self.n_parts)]
        self._firsts = dict(enumerate(np.cumsum([0, *n_rows[:-1]]).tolist()))
        filled = [self._rows[k] for k in self.filled]
        if not filled:
            raise ValueError("X must have at least one row, got none.")
        widths = sorted({each["n_features"] for each in filled})
        if len(widths) > 1:
            raise ValueError(f"All chunks of X must have as many columns, got {widths}.")
        self.shape = sum(n_rows), widths[0]
        self.dense = all(each["dense"] for each in filled)

    @property
    def has_weights(self) -> bool:
        """Whether there is a sample_weight."""
        return self._futures[2] is not None

    @property
    def filled(self) -> list[int]:
        """The indices of the parts that have rows."""
        return [k for k in range(self.n_parts) if self._rows[k]["n_rows"] > 0]

    def of_filled(self, what: str) -> list[int]:
        """The numbers "n_rows" or "n_bytes" of the parts in ``filled``."""
        return [self._rows[k][what] for k in self.filled]

    # Questions

    def ask(self, method: str, *arguments: Any) -> list[Any]:
        """The answers of all holders to a call of a method of `RowHolder`.

        Raises
        ------
        WorkersLostError
            If workers are lost.
        """
        with self._lock:
            start, cost = time.perf_counter(), self.cost
            dropped = [self._dropped.popleft() for _ in range(len(self._dropped))]
            calls = [each.call(method, arguments, dropped) for each in self._members]
            given = list(zip(self._members, map(_answer_of, calls), strict=True))
            answers = [answer for _, answer in given if answer is not None]
            lost = [member for member, answer in given if answer is None]
            cost.n_rounds += 1
            cost.bytes_sent += len(calls) * sizeof(arguments)
            cost.bytes_received += sum(sizeof(answer.result) for answer in answers)
            cost.seconds_waiting += time.perf_counter() - start
            if lost:
                self._replace(lost)
                raise WorkersLostError
            return [self._result(answer) for answer in answers]

    def ask_anew(self, method: str, *arguments: Any) -> list[Any]:
        """The answers of all holders to a call, repeated if workers are lost.

        The method must not depend on vectors that are kept with the workers.
        """
        while True:
            with suppress(WorkersLostError):
                return self.ask(method, *arguments)

    def _result(self, answer: Answer) -> Any:
        if isinstance(answer.error, MemoryError):
            sizes = self.of_filled("n_bytes")
            largest, total = max(sizes), sum(sizes)
            raise MemoryError(
                f"A worker is out of memory. The largest chunk of X takes {largest / 1e6:.0f} MB, "
                f"all together {total / 1e6:.0f} MB for {len(self._members)} workers, "
                "beside which each wants room for four numbers a row: take more workers."
            ) from answer.error
        return answer.get()

    def parts(self, problem: int, function: Callable[..., Any], arguments: tuple) -> list[Future]:
        """Futures of the results of a function for each shard, which stay with the workers.

        Raises
        ------
        WorkersLostError
            If workers are lost.
        """
        found = {
            number: self.client.submit(
                _part_of, member.holder, problem, number, function, arguments,
                workers=[member.worker], pure=False,
            )
            for member in self._members for number in member.numbers
            if self._rows[number]["n_rows"] > 0
        }  # fmt: skip
        gone, late = list[Member](), True
        while late and not gone:
            late = _are_late(list(found.values()))
            gone = [member for member in self._members if member.ask("lives") is None]
        if gone:
            with self._lock:
                self._replace(gone)
            raise WorkersLostError
        for future in found.values():
            if future.status != "finished":
                raise future.exception()
        return [found[number] for number in self.filled]

    # Problems

    def pose(self, task: Task) -> int:
        """Have all workers create shards for a problem, and return the number of the problem."""
        number = next(self._numbers)
        self._posed[number] = task
        self.ask_anew("pose", number, task, self._firsts)
        return number

    def divide_weights(self, problem: int, total: float) -> None:
        """Record that all weights of a problem were divided by ``total``, for later workers."""
        task = self._posed[problem]
        self._posed[problem] = replace(task, total=task.total * total)

    def drop(self, problem: int) -> None:
        """Forget a problem; workers delete its shards at the next request."""
        self._posed.pop(problem, None)
        self._dropped.append(problem)

    # Assignment of parts to workers

    def _hold(self, numbers: Sequence[int]) -> None:
        """Create holders of some parts, each on a worker that already has their chunks.

        Raises
        ------
        RuntimeError
            If parts cannot be computed, or if there is no worker.
        """
        for _ in range(MOST_LOSSES):
            made = self._new_holders(numbers)
            lost: list[int] = []
            for worker, (future, own) in made.items():
                holder = self._made(future, worker)
                if holder is None:
                    lost += own
                else:
                    self._members.append(Member(worker, holder, tuple(own)))
            if not lost:
                return
            numbers = lost
            time.sleep(PAUSE)
        raise RuntimeError(f"No worker keeps the chunks {numbers} of X for long enough.")

    def _made(self, future: Future, worker: str) -> Actor | None:
        """The holder that a worker creates, None if the worker is lost meanwhile."""
        while True:
            try:
                return future.result(timeout=PATIENCE)
            except LOST as error:
                if not isinstance(error, TimeoutError) or worker not in self._workers():
                    return None

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
        chunks = self._chunks_that_came(numbers)
        names = [name for name, column in zip(COLUMNS, self._futures, strict=True) if column]
        for name, column in zip(names, chunks, strict=True):
            for k, future in zip(numbers, column, strict=True):
                if future.status == "finished":
                    continue
                error = future.exception() if future.status == "error" else None
                how = f"be computed: {error!r}" if error else f"come back: it is {future.status}"
                raise RuntimeError(f"Chunk {k} of {name} cannot {how}.") from error
        return chunks

    def _chunks_that_came(self, numbers: Sequence[int]) -> list[list[Any]]:
        """Futures of chunks, finished or failed, or as they are after a wait without workers."""
        end = time.monotonic() + WAIT_FOR_WORKER
        while True:
            chunks = [[column[k] for k in numbers] for column in self._futures if column]
            futures = [future for column in chunks for future in column]
            late = _are_late(futures)
            if all(future.status not in ("lost", "pending") for future in futures):
                return chunks
            if late and not self._workers_then <= (workers := set(self._workers())):
                self._compute_anew(workers)
            elif late and any(self.client.processing().values()):
                end = time.monotonic() + WAIT_FOR_WORKER
            elif time.monotonic() > end:
                return chunks
            else:
                time.sleep(PAUSE)

    def _compute_anew(self, workers: set[str]) -> None:
        """Compute the chunks that are not finished by new tasks."""
        for future in [f for column in self._futures if column for f in column]:
            if future.status != "finished":
                future.release()  # the scheduler then forgets the place of the chunk
        self._workers()  # its answer comes after the scheduler has done that
        self._futures, self._workers_then = self._compute(False), workers

    def _new_holders(self, numbers: Sequence[int]) -> dict[str, tuple[Future, list[int]]]:
        """Futures of holders and the indices of their parts, by the address of the worker."""
        own = self._computed(numbers)
        places, workers = self.client.who_has(own[0]), self._workers()
        shared: dict[str, list[int]] = {}
        for k, future in zip(numbers, own[0], strict=True):
            having = [worker for worker in places.get(future.key, ()) if worker in workers]
            worker = min(having or workers, key=lambda name: (len(shared.get(name, ())), name))
            shared.setdefault(worker, []).append(k)
        made = {}
        for worker, some in shared.items():
            columns = [c if c is None else [c[k] for k in some] for c in self._futures]
            future = self.client.submit(
                RowHolder, some, *columns, workers[worker],
                actor=True, workers=[worker], pure=False,
            )  # fmt: skip
            made[worker] = future, some
        return made

    def _workers(self) -> dict[str, int]:
        """The number of threads of each worker, by address.

        Raises
        ------
        RuntimeError
            If there is no worker within `WAIT_FOR_WORKER` seconds.
        """
        end = time.monotonic() + WAIT_FOR_WORKER
        while not (found := self.client.scheduler_info(n_workers=-1)["workers"]):
            if time.monotonic() > end:
                raise RuntimeError(
                    "The cluster has no worker left to hold the rows, and none has come for "
                    f"{WAIT_FOR_WORKER:.0f} seconds."
                )
            time.sleep(0.1)
        return {worker: each["nthreads"] for worker, each in found.items()}

    def _replace(self, lost: list[Member]) -> None:
        """Have other workers hold the parts of lost ones, whose chunks are computed again.

        Warns
        -----
        UserWarning
            At every call.
        """
        numbers = [number for member in lost for number in member.numbers]
        self.cost.workers_lost += len(lost)
        self.generation += 1
        if self.cost.workers_lost > MOST_LOSSES:
            total = sum(self.of_filled("n_bytes"))
            raise RuntimeError(
                f"{self.cost.workers_lost} workers were lost during this fit, perhaps for want "
                f"of memory: the chunks of X take {total / 1e6:.0f} MB together, "
                "beside which workers want room for four numbers a row."
            )
        self._members = [member for member in self._members if member not in lost]
        before = len(self._members)
        self._hold(numbers)
        n_rows = sum(self._rows[k]["n_rows"] for k in numbers if k in self._rows)
        warn(
            f"A worker was lost that held {n_rows:,} rows. Others hold them now, their dual "
            "points begin anew from the last model, and the fit goes on.",
        )
        history: list[tuple[str, tuple]] = [("describe", ())]  # brings a holder up to date
        for number, task in self._posed.items():
            history.append(("pose", (number, task, self._firsts)))
        for member in self._members[before:]:
            for method, arguments in history:
                answer = member.ask(method, arguments)
                if answer is None:
                    self._replace([member])
                    return
                self._result(answer)


def _answer_of(call: BaseActorFuture | None) -> Answer | None:
    """The answer of a pending call, None if its worker is lost."""
    try:
        answer: Answer | None = None if call is None else call.result()
    except LOST:
        return None
    return answer


def _are_late(futures: Sequence[Future]) -> bool:
    """Whether some futures are still pending after `PATIENCE` seconds."""
    try:
        wait(futures, timeout=PATIENCE)
    except TimeoutError:
        return True
    return False


def _part_of(
    holder: Actor, problem: int, number: int, function: Callable[..., Any], arguments: tuple
) -> Any:
    """The result of a function for one shard, computed by a task on the worker that has it."""
    return holder.ask([], "part_of", (problem, number, function, arguments)).result().get()

"""The actor on a worker that holds its parts of the data, and their shards for each problem."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import Array, Matrix
from ..designs import RowBlocks
from ..designs.sums import added, halves
from ..losses import Loss
from ..losses.shifted import separate_offset
from ..problems.shards.shard import Shard, Targets


@dataclass
class Part:
    """A chunk of the rows.

    Attributes
    ----------
    number : int
        The index of the chunk among all chunks.
    X, y : ndarray, sparse matrix
    sample_weight, offset : ndarray or None
    """

    number: int
    X: Matrix
    y: np.ndarray
    sample_weight: Array | None = None
    offset: Array | None = None


@dataclass(frozen=True)
class Task:
    """The settings in which the problems of one fit differ, such as the positive class.

    Attributes
    ----------
    loss : Loss
    positive, class_weight
        See `Targets`.
    column : float or None
        The value of an additional constant column of X.
    n_parallel : int
        The number of problems that are solved at the same time.
    total : float
        By what all weights are divided.
    """

    loss: Loss
    positive: np.generic | None = None
    class_weight: tuple[np.ndarray, Array] | None = None
    column: float | None = None
    n_parallel: int = 1
    total: float = 1.0


class Chunk(RowBlocks):
    """A chunk of X, with its number in messages of errors."""

    def __init__(self, X: Matrix, number: int) -> None:
        self._name = f"chunk {number} of X"
        super().__init__([X])


@dataclass
class Answer:
    """The answer of a worker: a result, or the error that was raised there."""

    result: Any = None
    error: Exception | None = None

    def get(self) -> Any:
        """The result; the error is raised if there is one."""
        if self.error is not None:
            raise self.error
        return self.result


class RowHolder:
    """The actor that holds the parts of one worker, and whose methods `ask` calls.

    Parameters
    ----------
    numbers : list of int
        The indices of the parts among all parts.
    X, y, sample_weight, offset : list
        The chunks of the parts; the last two are None for weights of 1 and offsets of 0.
    n_threads : int
        The number of threads for products with the data.
    """

    def __init__(
        self, numbers: list[int], X: list, y: list, sample_weight: list | None,
        offset: list | None, n_threads: int,
    ) -> None:  # fmt: skip
        weights, offsets = (
            [None] * len(X) if given is None else given for given in (sample_weight, offset)
        )
        self.n_threads = n_threads
        self.parts = {
            number: Part(number, *given)
            for number, *given in zip(numbers, X, y, weights, offsets, strict=True)
        }
        self.blocks: dict[int, RowBlocks] = {}
        self.shards: dict[int, dict[int, Shard]] = {}

    def ask(self, dropped: list[int], method: str, arguments: tuple) -> Answer:
        """Call a method and return its result, or the error that it raises.

        Errors are part of the answer to distinguish them from those of the connection.

        Parameters
        ----------
        dropped : list of int
            Problems whose shards are deleted first.
        method : str
        arguments : tuple
        """
        for problem in dropped:
            self.shards.pop(problem, None)
        try:
            return Answer(getattr(self, method)(*arguments))
        except Exception as error:
            return Answer(error=error)

    def describe(self) -> dict[int, dict[str, int]]:
        """Validate the parts and return the shape and type of each.

        Raises
        ------
        ValueError
            If a part is not a matrix of numbers, or if targets or weights do not fit it.
        """
        return {number: self._describe(part) for number, part in self.parts.items()}

    def _describe(self, part: Part) -> dict[str, int]:
        if np.shape(part.X)[:1] == (0,):
            return {"n_rows": 0}
        if not (isinstance(part.X, np.ndarray) or sp.issparse(part.X)):
            part.X = np.asarray(part.X)
        part.y = np.asarray(part.y)
        if part.y.ndim == 2 and part.y.shape[1] == 1:
            part.y = part.y[:, 0]
        blocks = self.blocks[part.number] = Chunk(part.X, part.number)
        n = blocks.shape[0]
        if part.y.shape != (n,):
            raise ValueError(
                f"y must have one target for each row of X, got the shape {part.y.shape} for the "
                f"{n} rows of chunk {part.number}: X.compute_chunk_sizes() and the same of y make "
                "their lengths known, so that y is chunked like X."
            )
        if part.offset is not None:
            part.offset = np.asarray(part.offset, dtype=np.float64)
            if part.offset.shape != (n,) or not np.isfinite(part.offset).all():
                raise ValueError(
                    "offset must hold a finite number for each row of X, got others in chunk "
                    f"{part.number}."
                )
        if part.sample_weight is not None:
            part.sample_weight = np.asarray(part.sample_weight, dtype=np.float64)
            weights = part.sample_weight
            if weights.shape != (n,) or not (np.isfinite(weights).all() and weights.min() >= 0.0):
                raise ValueError(
                    "sample_weight must hold a finite weight of at least 0 for each row of X, "
                    f"got others in chunk {part.number}."
                )
        return {
            "n_rows": n,
            "n_features": blocks.shape[1],
            "dense": not blocks.sparse,
            "n_bytes": sum(getattr(part.X, name).nbytes for name in ("data", "indices"))
            if sp.issparse(part.X)
            else part.X.nbytes,
        }

    def class_weights(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """The distinct labels of each part, and the sum of the weights of the rows of each."""
        found = {}
        for number, part in self.parts.items():
            if number in self.blocks:
                labels, places = np.unique(part.y, return_inverse=True)
                found[number] = labels, np.bincount(places, part.sample_weight)
        return found

    def require_numbers(self) -> None:
        """Validate that the targets are finite numbers.

        Raises
        ------
        ValueError
            If one is not.
        """
        for number in self.blocks:
            y = self.parts[number].y
            if y.dtype.kind not in "fiub" or not np.isfinite(y).all():
                raise ValueError(f"y must hold finite numbers, got others in chunk {number}.")

    def lives(self) -> bool:
        return True

    def pose(self, problem: int, task: Task, firsts: dict[int, int]) -> None:
        """Create the shards of a problem.

        ``firsts`` has the index of the first row of each part among all rows.
        """
        self.shards[problem] = {}
        for number, own in self.blocks.items():
            part = self.parts[number]
            y = np.asarray(part.y, dtype=np.float64) if task.positive is None else part.y
            y, offset, loss = separate_offset(task.loss, y, part.offset)
            targets = Targets(
                y, part.sample_weight, task.positive, task.class_weight, task.total, offset
            )
            blocks = own if task.column is None else own.with_column(task.column)
            self.shards[problem][number] = Shard(
                blocks, targets, loss, firsts[number],
                n_parallel=task.n_parallel, n_threads=self.n_threads,
            )  # fmt: skip

    def each(
        self, problem: int, released: list[int], function: Callable[..., Any], arguments: tuple
    ) -> dict[int, Any]:
        """The results of a function for each shard, after releasing vectors no longer used."""
        shards = self._shards_without(problem, released)
        return {number: function(shard, *arguments) for number, shard in shards.items()}

    def _shards_without(self, problem: int, released: list[int]) -> dict[int, Shard]:
        """The shards of a problem, after releasing vectors no longer used."""
        for shard in self.shards[problem].values():
            shard.release(released)
        return self.shards[problem]

    def sums(
        self, problem: int, released: list[int], function: Callable[..., Any], arguments: tuple,
        n_parts: int,
    ) -> dict[tuple[int, int], Any]:  # fmt: skip
        """The sums of a function over the longest ranges of parts that this worker has whole.

        Keys are the first and the last index of a range.
        """
        shards = self._shards_without(problem, released)

        def of(first: int, last: int) -> Any:
            if last - first == 1:
                return function(shards[first], *arguments) if first in shards else None
            return added_or_none(*(of(*half) for half in halves(first, last)))

        ranges = _owned(0, n_parts, sorted(self.parts))
        return {(first, last): of(first, last) for first, last in ranges}

    def part_of(self, problem: int, number: int, function: Callable, arguments: tuple) -> Any:
        """The result of a function for one shard."""
        return function(self.shards[problem][number], *arguments)


def added_or_none(one: Any, other: Any) -> Any:
    """The sum of two results, of which None counts as 0."""
    if one is None or other is None:
        return other if one is None else one
    return added([one, other])


def _owned(first: int, last: int, numbers: list[int]) -> list[tuple[int, int]]:
    """The longest ranges in the binary tree of `halves` whose indices are all in ``numbers``."""
    begin, end = np.searchsorted(numbers, [first, last])
    if end == begin:
        return []
    if end - begin == last - first:
        return [(first, last)]
    return [found for half in halves(first, last) for found in _owned(*half, numbers)]

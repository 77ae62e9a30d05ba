"""The actor on a worker that stores its chunks of the rows, and their shards for each problem."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import numpy as np
import scipy.sparse as sp

from .._typing import Array, Matrix
from ..designs import RowBlocks
from ..designs.sums import Sums, added, halves
from ..losses import Loss
from ..losses.shifted import separate_offset
from ..problems.shards.shard import Shard, Targets

K = TypeVar("K", int, tuple[int, int])
T = TypeVar("T")


@dataclass(frozen=True)
class ChunkSize:
    """The size of a chunk of X; a chunk without rows has no features."""

    n_rows: int
    n_features: int = 0
    n_bytes: int = 0
    dense: bool = True


class BlocksOfChunk(RowBlocks):
    """A chunk of X, with its number in messages of errors."""

    def __init__(self, X: Matrix, number: int) -> None:
        self._name = f"chunk {number} of X"
        super().__init__([X])


@dataclass
class Chunk:
    """A chunk of the rows.

    Attributes
    ----------
    number : int
        The index of the chunk among all chunks.
    X, y : ndarray, sparse matrix
    sample_weight, offset : ndarray or None
    blocks : RowBlocks or None
        The validated X; None before it is validated, and for a chunk without rows.
    """

    number: int
    X: Matrix
    y: np.ndarray
    sample_weight: Array | None = None
    offset: Array | None = None
    blocks: RowBlocks | None = None

    def validate(self) -> ChunkSize:
        """Convert the parts of the chunk to arrays of numbers.

        Raises
        ------
        ValueError
            If X is not a matrix of numbers, or if targets, weights or offsets do not fit it.
        """
        if np.shape(self.X)[:1] == (0,):
            return ChunkSize(0)
        if not (isinstance(self.X, np.ndarray) or sp.issparse(self.X)):
            self.X = np.asarray(self.X)
        self.y = np.asarray(self.y)
        if self.y.ndim == 2 and self.y.shape[1] == 1:
            self.y = self.y[:, 0]
        self.blocks = BlocksOfChunk(self.X, self.number)
        n = self.blocks.shape[0]
        if self.y.shape != (n,):
            raise ValueError(
                f"y must have one target for each row of X, got the shape {self.y.shape} for the "
                f"{n} rows of chunk {self.number}: X.compute_chunk_sizes() and the same of y make "
                "their lengths known, so that y is chunked like X."
            )
        self.offset = self._number_per_row("offset", "number", self.offset, -np.inf)
        self.sample_weight = self._number_per_row(
            "sample_weight", "weight of at least 0", self.sample_weight, 0.0
        )
        names = ("data", "indices") if sp.issparse(self.X) else ("data",)
        n_bytes = sum(getattr(self.X, name).nbytes for name in names)
        return ChunkSize(n, self.blocks.shape[1], n_bytes, not self.blocks.sparse)

    def _number_per_row(
        self, name: str, what: str, values: Array | None, least: float
    ) -> Array | None:
        if values is None:
            return None
        values = np.asarray(values, dtype=np.float64)
        valid = values.shape == self.y.shape and np.isfinite(values).all()
        if not (valid and values.min() >= least):
            raise ValueError(
                f"{name} must hold a finite {what} for each row of X, got others in chunk "
                f"{self.number}."
            )
        return values


@dataclass(frozen=True)
class RowSpecification:
    """What the rows are in one of the problems of a fit, such as which class is positive.

    Attributes
    ----------
    loss : Loss
    positive, class_weight
        See `Targets`.
    column : float or None
        The value of an additional constant column of X.
    total : float
        The divisor of all weights.
    """

    loss: Loss
    positive: np.generic | None = None
    class_weight: tuple[np.ndarray, Array] | None = None
    column: float | None = None
    total: float = 1.0

    def shard(self, chunk: Chunk, first: int, n_threads: int) -> Shard:
        """The shard of a validated chunk, whose first row has the index ``first``."""
        assert chunk.blocks is not None
        y = np.asarray(chunk.y, dtype=np.float64) if self.positive is None else chunk.y
        y, offset, loss = separate_offset(self.loss, y, chunk.offset)
        targets = Targets(
            y, chunk.sample_weight, self.positive, self.class_weight, self.total, offset
        )
        blocks = chunk.blocks
        blocks = blocks if self.column is None else blocks.with_column(self.column)
        return Shard(blocks, targets, loss, first, n_threads=n_threads)


@dataclass(frozen=True)
class Reply(Generic[T]):
    """What a worker replies to a request: a result, or the error that was raised there."""

    result: T | None = None
    error: Exception | None = None

    def get(self) -> T:
        """The result; the error is raised if there is one."""
        if self.error is not None:
            raise self.error
        return cast(T, self.result)


class RowStore:
    """The actor that stores the chunks of one worker.

    A request is a function of the store: one of its methods, or a `functools.partial` of one.

    Parameters
    ----------
    numbers : list of int
        The indices of the chunks among all chunks.
    X, y, sample_weight, offset : list
        The parts of the chunks; the last two are None for weights of 1 and offsets of 0.
    n_threads : int
        The number of threads for products with the data.
    """

    def __init__(
        self, numbers: list[int], X: list, y: list, sample_weight: list | None,
        offset: list | None, n_threads: int,
    ) -> None:  # fmt: skip
        nothing = [None] * len(X)
        parts = zip(numbers, X, y, sample_weight or nothing, offset or nothing, strict=True)
        self.chunks = {part[0]: Chunk(*part) for part in parts}
        self.n_threads = n_threads
        self.shards: dict[int, dict[int, Shard]] = {}  # by problem and by chunk

    def reply(self, request: "Callable[[RowStore], T]", dropped: Sequence[int]) -> Reply[T]:
        """The result of a request, or the error that it raises.

        Errors are part of the reply to distinguish them from those of the connection. The shards
        of the problems in ``dropped`` are deleted first.
        """
        for problem in dropped:
            self.shards.pop(problem, None)
        try:
            return Reply(request(self))
        except Exception as error:
            return Reply(error=error)

    # Requests, whose results are by the index of the chunk

    def validate(self) -> dict[int, ChunkSize]:
        """The sizes of the chunks; a ValueError if one is not valid."""
        return {number: chunk.validate() for number, chunk in self.chunks.items()}

    @property
    def filled(self) -> dict[int, Chunk]:
        """The chunks that have rows."""
        return {k: chunk for k, chunk in self.chunks.items() if chunk.blocks is not None}

    def class_weights(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """The distinct labels of each chunk, and the sum of the weights of the rows of each."""
        weights = {}
        for number, chunk in self.filled.items():
            labels, indices = np.unique(chunk.y, return_inverse=True)
            weights[number] = labels, np.bincount(indices, chunk.sample_weight)
        return weights

    def require_numbers(self) -> None:
        """Raise a ValueError unless the targets are finite numbers."""
        for number, chunk in self.filled.items():
            if chunk.y.dtype.kind not in "fiub" or not np.isfinite(chunk.y).all():
                raise ValueError(f"y must hold finite numbers, got others in chunk {number}.")

    def create_shards(
        self, problem: int, specification: RowSpecification, first_rows: dict[int, int]
    ) -> None:
        """Create the shards of a problem, given the index of the first row of each chunk."""
        self.shards[problem] = {
            number: specification.shard(chunk, first_rows[number], self.n_threads)
            for number, chunk in self.filled.items()
        }

    def each(
        self, problem: int, released: list[int], function: Callable[[Shard], T]
    ) -> dict[int, T]:
        """The results of a function for each shard, after releasing vectors no longer used."""
        shards = self._without(problem, released)
        return {number: function(shard) for number, shard in shards.items()}

    def _without(self, problem: int, released: list[int]) -> dict[int, Shard]:
        """The shards of a problem, after they have released vectors no longer used."""
        for shard in self.shards[problem].values():
            shard.release(released)
        return self.shards[problem]

    def sums(
        self, problem: int, released: list[int], function: Callable[[Shard], Sums | None],
        n_chunks: int,
    ) -> dict[tuple[int, int], Sums | None]:  # fmt: skip
        """The sums of a function over the longest ranges of chunks that this worker has whole.

        Keys are the first and the last index of a range.
        """
        shards = self._without(problem, released)

        def of(first: int, last: int) -> Sums | None:
            if last - first == 1:
                return function(shards[first]) if first in shards else None
            return added_or_none(*(of(*half) for half in halves(first, last)))

        ranges = _whole_ranges(0, n_chunks, sorted(self.chunks))
        return {(first, last): of(first, last) for first, last in ranges}

    def of_shard(self, problem: int, number: int, function: Callable[[Shard], T]) -> T:
        """The result of a function for one shard."""
        return function(self.shards[problem][number])


def merged(replies: Iterable[dict[K, T]]) -> dict[K, T]:
    """The entries of the replies of all workers, in the order of their keys."""
    entries = {key: value for reply in replies for key, value in reply.items()}
    return {key: entries[key] for key in sorted(entries)}


def added_or_none(one: Sums | None, other: Sums | None) -> Sums | None:
    """The sum of two results, of which None counts as 0."""
    if one is None or other is None:
        return other if one is None else one
    return added([one, other])


def _whole_ranges(first: int, last: int, numbers: list[int]) -> list[tuple[int, int]]:
    """The longest ranges in the binary tree of `halves` whose indices are all in ``numbers``."""
    begin, end = np.searchsorted(numbers, [first, last])
    if end == begin:
        return []
    if end - begin == last - first:
        return [(first, last)]
    return [ends for half in halves(first, last) for ends in _whole_ranges(*half, numbers)]

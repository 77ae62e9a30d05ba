"""The actor on a worker that stores its chunks of the rows, and their shards for each problem."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from distributed import get_worker

from .._typing import Array, Matrix
from ..designs import RowBlocks
from ..designs.sums import Sums, added, halves
from ..losses import Loss
from ..losses.shifted import separate_offset
from ..problems.shards.shard import Shard, Targets

Ends = tuple[int, int]  # of a range of chunks
K = TypeVar("K", int, Ends)
T = TypeVar("T")


class ChunkSize(NamedTuple):
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


class Chunk:
    """A chunk of the rows that has at least one, as arrays of numbers.

    Parameters
    ----------
    number : int
        The index of the chunk among all chunks.
    X, y : ndarray, sparse matrix
    sample_weight, offset : ndarray or None

    Raises
    ------
    ValueError
        If X is not a matrix of numbers, or if targets, weights or offsets do not fit it.
    """

    def __init__(
        self, number: int, X: Matrix, y: Array, sample_weight: Array | None, offset: Array | None
    ) -> None:
        X = X if isinstance(X, np.ndarray) or sp.issparse(X) else np.asarray(X)
        y = np.asarray(y)
        self.number, self.blocks = number, BlocksOfChunk(X, number)
        self.y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        n, d = self.blocks.shape
        if self.y.shape != (n,):
            raise ValueError(
                f"y must have one target for each row of X, got the shape {self.y.shape} for the "
                f"{n} rows of chunk {number}: X.compute_chunk_sizes() and the same of y make "
                "their lengths known, so that y is chunked like X."
            )
        self.offset = self._number_per_row("offset", "number", offset, -np.inf)
        self.sample_weight = self._number_per_row(
            "sample_weight", "weight of at least 0", sample_weight, 0.0
        )
        arrays = (X.data, cast(Any, X).indices) if sp.issparse(X) else (X,)
        n_bytes = sum(array.nbytes for array in arrays)
        self.size = ChunkSize(n, d, n_bytes, not self.blocks.sparse)

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
        """The shard of a chunk, whose first row has the index ``first``."""
        y = np.asarray(chunk.y, dtype=np.float64) if self.positive is None else chunk.y
        y, offset, loss = separate_offset(self.loss, y, chunk.offset)
        targets = Targets(
            y, chunk.sample_weight, self.positive, self.class_weight, self.total, offset
        )
        data = chunk.blocks if self.column is None else chunk.blocks.with_column(self.column)
        return Shard(data, targets, loss, first, n_threads=n_threads)


class Reply(NamedTuple, Generic[T]):
    """What a worker replies to a request: a result, or the error that was raised there."""

    result: T | None = None
    error: Exception | None = None


class RowStore:
    """The actor that stores the chunks of one worker.

    A request is a function of the store: one of its methods, or a `functools.partial` of one.

    Parameters
    ----------
    numbers : list of int
        The indices of the chunks among all chunks.
    columns : list
        The parts of the chunks: of X, y, sample_weight and offset, of which the last two may be
        None for weights of 1 and offsets of 0.
    first_rows : dict
        The index of the first row of each chunk, as far as problems need it.
    problems : dict
        What the rows are in each problem.
    """

    def __init__(
        self, numbers: list[int], columns: Sequence[list | None], first_rows: Mapping[int, int],
        problems: Mapping[int, RowSpecification],
    ) -> None:  # fmt: skip
        self.numbers = numbers
        parts = [[None] * len(numbers) if column is None else column for column in columns]
        self.chunks = {
            k: Chunk(k, *chunk)
            for k, *chunk in zip(numbers, *parts, strict=True)
            if np.shape(chunk[0])[:1] != (0,)
        }
        self.shards: dict[int, dict[int, Shard]] = {}  # by problem and by chunk
        for problem, specification in problems.items():
            self.create_shards(problem, specification, first_rows)

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

    def sizes(self) -> dict[int, ChunkSize]:
        """The sizes of the chunks."""
        empty = dict.fromkeys(self.numbers, ChunkSize(0))
        return empty | {number: chunk.size for number, chunk in self.chunks.items()}

    def class_weights(self) -> dict[int, tuple[np.ndarray, np.ndarray]]:
        """The distinct labels of each chunk, and the sum of the weights of the rows of each."""
        weights = {}
        for number, chunk in self.chunks.items():
            labels, indices = np.unique(chunk.y, return_inverse=True)
            weights[number] = labels, np.bincount(indices, chunk.sample_weight)
        return weights

    def require_numbers(self) -> None:
        """Raise a ValueError unless the targets are finite numbers."""
        for number, chunk in self.chunks.items():
            if chunk.y.dtype.kind not in "fiub" or not np.isfinite(chunk.y).all():
                raise ValueError(f"y must hold finite numbers, got others in chunk {number}.")

    def create_shards(
        self, problem: int, specification: RowSpecification, first_rows: Mapping[int, int]
    ) -> None:
        """Create the shards of a problem, given the index of the first row of each chunk."""
        n_threads = get_worker().state.nthreads
        self.shards[problem] = {
            number: specification.shard(chunk, first_rows[number], n_threads)
            for number, chunk in self.chunks.items()
        }

    def each(self, problem: int, function: Callable[[Shard], T]) -> dict[int, T]:
        """The results of a function for each shard."""
        return {number: function(shard) for number, shard in self.shards[problem].items()}

    def sums(
        self, problem: int, function: Callable[[Shard], Sums | None], n_chunks: int
    ) -> dict[Ends, Sums | None]:
        """The sums of a function over the longest ranges of chunks that this worker has whole."""
        shards = {(k, k + 1): self.shards[problem].get(k) for k in self.numbers}
        return sums_of_ranges(
            shards, lambda shard: function(shard) if shard else None, 0, n_chunks
        )

    def of_shard(self, problem: int, number: int, function: Callable[[Shard], T]) -> T:
        """The result of a function for one shard."""
        return function(self.shards[problem][number])


def merged(replies: Iterable[dict[K, T]]) -> dict[K, T]:
    """The entries of the replies of all workers, in the order of their keys."""
    entries = {key: value for reply in replies for key, value in reply.items()}
    return {key: entries[key] for key in sorted(entries)}


def sums_of_ranges(
    parts: Mapping[Ends, T], sums_of: Callable[[T], Sums | None], first: int, last: int
) -> dict[Ends, Sums | None]:
    """The sums over the longest ranges in the binary tree of `halves` whose parts are all known.

    Parts are known by the ends of their ranges. The sums of parts without rows are None.
    """
    if (first, last) in parts:
        return {(first, last): sums_of(parts[first, last])}
    if last - first <= 1:
        return {}
    one, other = halves(first, last)
    sums = sums_of_ranges(parts, sums_of, *one) | sums_of_ranges(parts, sums_of, *other)
    if not (one in sums and other in sums):
        return sums
    with_rows = [part for part in sums.values() if part is not None]
    return {(first, last): added(with_rows) if with_rows else None}

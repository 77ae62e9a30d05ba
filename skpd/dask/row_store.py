"""Chunks of the rows on a worker, and their shards for one problem (`RowStore`)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from dask.sizeof import sizeof
from distributed import get_worker

from .._typing import Array, Matrix
from ..designs import RowBlocks
from ..designs.sums import Sums, added, halves
from ..losses import Loss
from ..losses.shifted import separate_offset
from ..problems.shards.shard import Shard, Targets
from ..problems.shards.shards import RowsLostError

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
        self.size = ChunkSize(n, d, sizeof(X), not self.blocks.sparse)

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


Chunks = dict[int, Chunk]  # those of one worker that have rows, by their indices


def validated_chunks(share: list[int], columns: list[list | None]) -> Chunks:
    """Chunks of the given indices from their parts: of X, y, sample_weight and offset, or None."""
    parts = [[None] * len(share) if column is None else column for column in columns]
    chunks = zip(share, *parts, strict=True)
    return {k: Chunk(k, *chunk) for k, *chunk in chunks if np.shape(chunk[0])[:1] != (0,)}


def sizes(chunks: Chunks) -> dict[int, ChunkSize]:
    """The sizes of the chunks."""
    return {number: chunk.size for number, chunk in chunks.items()}


def label_weights(chunks: Chunks) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """The distinct labels of each chunk, and the sum of the weights of the rows of each."""
    weights = {}
    for number, chunk in chunks.items():
        labels, indices = np.unique(chunk.y, return_inverse=True)
        weights[number] = labels, np.bincount(indices, chunk.sample_weight)
    return weights


def require_numbers(chunks: Chunks) -> None:
    """Raise a ValueError unless the targets are finite numbers."""
    for number, chunk in chunks.items():
        if chunk.y.dtype.kind not in "fiub" or not np.isfinite(chunk.y).all():
            raise ValueError(f"y must hold finite numbers, got others in chunk {number}.")


Key = tuple[str, str]  # the address of a worker, and what tells a store there from others


class Reply(NamedTuple, Generic[T]):
    """The result of a request to a store with this key, None if another store was asked before."""

    key: Key
    result: T | None


class RowStore:
    """The shards of one problem for the chunks of one worker, and the vectors kept with them.

    Dask creates a store again, without these vectors, if its worker is lost. One that another
    worker copies begins anew as well.

    Parameters
    ----------
    chunks : dict
    share : list of int
        The indices of the chunks of the worker.
    first_rows : dict
        The index of the first row of each chunk.
    specification : RowSpecification
    """

    def __init__(
        self, chunks: Chunks, share: list[int], first_rows: dict[int, int],
        specification: RowSpecification,
    ) -> None:  # fmt: skip
        self.share, self._arguments = share, (chunks, share, first_rows, specification)

    @cached_property
    def key(self) -> Key:
        return get_worker().address, uuid4().hex

    @cached_property
    def shards(self) -> dict[int, Shard]:
        chunks, _, first_rows, specification = self._arguments
        n_threads = get_worker().state.nthreads
        return {
            number: specification.shard(chunk, first_rows[number], n_threads)
            for number, chunk in chunks.items()
        }

    def __reduce__(self) -> tuple:
        return RowStore, self._arguments

    def each(self, function: Callable[[Shard], T]) -> dict[int, T]:
        """The results of a function for each shard, by the index of the chunk."""
        return {number: function(shard) for number, shard in self.shards.items()}

    def sums(
        self, function: Callable[[Shard], Sums | None], n_chunks: int
    ) -> dict[Ends, Sums | None]:
        """The sums of a function over the longest ranges of chunks that this worker has whole."""
        shards = {(k, k + 1): self.shards.get(k) for k in self.share}
        return sums_of_ranges(shards, function, 0, n_chunks)


def reply_of(store: RowStore, key: Key | None, request: Callable[[RowStore], T]) -> Reply[T]:
    """The reply of a store that has this key, or of any for None."""
    return Reply(store.key, request(store) if key in (None, store.key) else None)


def part_of(store: RowStore, key: Key | None, number: int, function: Callable[[Shard], T]) -> T:
    """The result of a function for one shard of the store that has this key, or of any for None.

    Raises
    ------
    RowsLostError
        If another store took its place, without the vectors that were kept with it.
    """
    if key not in (None, store.key):
        raise RowsLostError(f"The worker {key[0]} was lost, and the dual variables with it.")
    return function(store.shards[number])


def merged(replies: Iterable[dict[K, T]]) -> dict[K, T]:
    """The entries of the replies of all workers, in the order of their keys."""
    return dict(sorted(entry for reply in replies for entry in reply.items()))


def sums_of_ranges(
    parts: Mapping[Ends, T | None], sums_of: Callable[[T], Sums | None], first: int, last: int
) -> dict[Ends, Sums | None]:
    """The sums over the longest ranges in the binary tree of `halves` whose parts are all known.

    Parts are known by the ends of their ranges; they and their sums are None without rows.
    """
    if (first, last) in parts:
        part = parts[first, last]
        return {(first, last): None if part is None else sums_of(part)}
    if last - first <= 1:
        return {}
    one, other = halves(first, last)
    sums = sums_of_ranges(parts, sums_of, *one) | sums_of_ranges(parts, sums_of, *other)
    if not (one in sums and other in sums):
        return sums
    with_rows = [part for part in sums.values() if part is not None]
    return {(first, last): added(with_rows) if with_rows else None}

"""The rows of one process (`Shard`): data in blocks, targets, weights and dual points."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial, wraps
from itertools import islice
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np

from ..._compat import _openmp_effective_n_threads
from ..._typing import Array, Indices, Table
from ...designs import Design, RowBlocks
from ...designs.sums import Sums, added
from ...losses import Loss

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Targets:
    """Targets and weights of rows, stored in the types in which they were given.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
    sample_weight : ndarray of shape (n_rows,) or None
        The sample weights; None for weights of 1.
    positive : scalar or None
        The label whose rows have the target 1, other rows having -1; None if y are the targets.
    class_weight : tuple of ndarray or None
        The labels in increasing order, and the factors of the weights of their rows.
    total : float
        The divisor of the weights.
    offset : ndarray of shape (n_rows,) or None
        Offsets of the predictions, as a second column of the targets (`skpd.losses.shifted`).
    """

    y: Array
    sample_weight: Array | None = None
    positive: np.generic | None = None
    class_weight: tuple[np.ndarray, Array] | None = None
    total: float = 1.0
    offset: Array | None = None

    def of(self, rows: slice | Indices) -> tuple[Array, Array]:
        """The targets and the weights of some rows, as float64."""
        values = self.y[rows]
        if self.positive is None:
            y = np.ascontiguousarray(values, dtype=np.float64)
        else:
            y = 2.0 * (values == self.positive) - 1.0  # `np.where` would guess at branches
        if self.sample_weight is None:
            weights = np.ones(len(y))
        else:
            weights = np.array(self.sample_weight[rows], dtype=np.float64)
        if self.class_weight is not None:
            labels, factors = self.class_weight
            weights *= factors[np.searchsorted(labels, values)]
        weights /= self.total
        if self.offset is not None:
            y = np.asfortranarray(np.column_stack([y, self.offset[rows]]))
        return y, weights


@dataclass(frozen=True)
class Block:
    """A block of rows, whose data are read when they are first used.

    Attributes
    ----------
    rows : slice
        The indices of the rows in the shard.
    y, weights : ndarray
    read : callable
        Returns the data of the rows.
    """

    rows: slice
    y: Array
    weights: Array
    read: Callable[[], Design]

    @cached_property
    def design(self) -> Design:
        return self.read()


def summed(
    of_block: Callable[Concatenate["Shard", Block, P], Sums],
) -> Callable[Concatenate["Shard", P], Sums]:
    """Make a function of a shard and one of its blocks one of the shard alone, by sums."""

    @wraps(of_block)
    def sums(shard: "Shard", /, *arguments: P.args, **named: P.kwargs) -> Sums:
        return added(shard.map(lambda block: of_block(shard, block, *arguments, **named)))

    return sums


class Shard:
    """The rows of one process, whose sums are computed block by block.

    Parameters
    ----------
    blocks : RowBlocks
    targets : Targets
    loss : Loss
    first : int, default=0
        The index of the first row among the rows of all shards.
    n_parallel : int, default=1
        The number of shards that share the threads of this process.
    n_threads : int, default=None
        The number of threads of this process; that of OpenMP by default.

    Attributes
    ----------
    vectors : dict
        Vectors of the rows that are kept for later requests, such as dual points, by key.
    children : dict
        Shards of subsets of the rows, or of all rows with a shift, by key.
    row_indices : ndarray
        For a subset of the rows, their indices in the larger shard.
    """

    def __init__(
        self, blocks: RowBlocks, targets: Targets, loss: Loss, first: int = 0, *,
        n_parallel: int = 1, n_threads: int | None = None,
    ) -> None:  # fmt: skip
        self.blocks, self.targets, self.loss, self.first = blocks, targets, loss, first
        self.n_parallel, self._given_threads = n_parallel, n_threads
        self.shift: Array | None = None
        self.row_indices: Indices = np.empty(0, dtype=np.int64)
        self.vectors: dict[int, Array] = {}
        self.children: dict[int, Shard] = {}
        self._predictions: Array | None = None
        self._predicted_at: Array | None = None

    @property
    def n_rows(self) -> int:
        return self.blocks.shape[0]

    def map(self, of_block: Callable[[Block], T]) -> Iterator[T]:
        """The results of a function for the blocks, in their order.

        Several threads read and process blocks at the same time.
        """
        slices, n_threads = list(self.blocks.slices()), self._n_threads
        n_parallel = self.n_parallel * (n_threads if len(slices) > 1 else 1)

        def design(k: int) -> Design:
            block = Design(self.blocks.block(k), n_parallel=n_parallel)
            return block if self.shift is None else block.shifted(self.shift)

        def result(k: int) -> T:
            return of_block(Block(slices[k], *self.targets.of(slices[k]), partial(design, k)))

        if len(slices) == 1 or n_threads == 1:
            yield from map(result, range(len(slices)))
            return
        with ThreadPoolExecutor(n_threads) as threads:
            indices = iter(range(len(slices)))
            # One block more than there are threads waits, so that none is idle while a result is
            # added.
            pending = deque(threads.submit(result, k) for k in islice(indices, n_threads + 1))
            while pending:
                first = pending.popleft().result()
                pending.extend(threads.submit(result, k) for k in islice(indices, 1))
                yield first

    @property
    def _n_threads(self) -> int:
        n_threads = self._given_threads or _openmp_effective_n_threads()
        return max(1, n_threads // self.n_parallel)

    def vector(self, of_block: Callable[[Block], Array]) -> Array:
        """A vector of the rows, whose parts a function computes for the blocks."""
        vector = np.empty(self.n_rows)

        def write(block: Block) -> None:
            vector[block.rows] = of_block(block)

        for _ in self.map(write):
            pass
        return vector

    def predictions_at(self, variables: Array) -> Array | None:
        """The last predictions, if they are those of the given variables, else None."""
        at = self._predicted_at
        return self._predictions if at is not None and np.array_equal(at, variables) else None

    @contextmanager
    def new_predictions(self, variables: Array) -> Iterator[Array]:
        """An array for the predictions of the variables, which save later products and reading."""
        self._predicted_at = None
        if self._predictions is None:
            self._predictions = np.empty(self.n_rows)
        yield self._predictions
        self._predicted_at = variables

    def release(self, keys: Iterable[int]) -> None:
        """Delete the vectors and shards kept under some keys."""
        for key in keys:
            self.vectors.pop(key, None)
            self.children.pop(key, None)

    def shifted(self, shift: Array) -> "Shard":
        """The shard with a number subtracted from each column, and the same dual points."""
        other = copy(self)
        other._predictions = other._predicted_at = None
        other.shift = shift if self.shift is None else self.shift + shift
        return other

    def of_rows(self, block: Table, row_indices: Indices, y: Array, weights: Array) -> "Shard":
        """A shard of a subset of the rows in memory, with their data, targets and weights."""
        child = Shard(
            RowBlocks([block]), Targets(y, weights), self.loss,
            n_parallel=self.n_parallel, n_threads=self._given_threads,
        )  # fmt: skip
        child.row_indices = row_indices
        return child

    def divide_weights(self, total: float) -> None:
        self.targets = replace(self.targets, total=self.targets.total * total)

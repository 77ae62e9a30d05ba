"""The rows of one process (`Shard`): data in blocks, targets, weights and dual points."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import wraps
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..._compat import _openmp_effective_n_threads
from ..._typing import Array, Indices, Table
from ...designs import Design, RowBlocks
from ...designs.sums import Sums, added
from ...losses import Loss

T = TypeVar("T")


@dataclass(frozen=True)
class Targets:
    """Targets and weights of rows, stored in the types in which they were given.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
    sample_weight : ndarray of shape (n_rows,) or None
        The sample weights; None for weights of 1.
    positive : object
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
    positive: Any = None
    class_weight: tuple[np.ndarray, Array] | None = None
    total: float = 1.0
    offset: Array | None = None

    def of(self, rows: slice | Indices) -> tuple[Array, Array]:
        """The targets and the weights of some rows, as float64."""
        given = self.y[rows]
        if self.positive is None:
            y = np.ascontiguousarray(given, dtype=np.float64)
        else:
            y = 2.0 * (given == self.positive) - 1.0  # `np.where` would guess at branches
        if self.sample_weight is None:
            weights = np.ones(len(y))
        else:
            weights = np.array(self.sample_weight[rows], dtype=np.float64)
        if self.class_weight is not None:
            labels, factors = self.class_weight
            weights *= factors[np.searchsorted(labels, given)]
        weights /= self.total
        if self.offset is not None:
            y = np.asfortranarray(np.column_stack([y, self.offset[rows]]))
        return y, weights


class Block(NamedTuple):
    """A block of rows in memory.

    Attributes
    ----------
    rows : slice
        The indices of the rows in the shard.
    design : Design
        The data of the rows; None if they were not requested.
    y, weights : ndarray
    """

    rows: slice
    design: Design
    y: Array
    weights: Array


def summed(with_data: bool = True) -> Callable[[Callable[..., Sums]], Callable[..., Sums]]:
    """Make a function of a shard and one of its blocks one of the shard alone, by sums.

    ``with_data`` is whether the blocks have their rows of X.
    """

    def decorate(of_block: Callable[..., Sums]) -> Callable[..., Sums]:
        @wraps(of_block)
        def sums(shard: "Shard", *arguments: Any) -> Sums:
            return shard.sums(lambda block: of_block(shard, block, *arguments), with_data)

        return sums

    return decorate


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
    kept : dict
        Objects kept for later requests, by key: dual points, and shards of subsets of the rows.
    """

    def __init__(
        self,
        blocks: RowBlocks,
        targets: Targets,
        loss: Loss,
        first: int = 0,
        *,
        n_parallel: int = 1,
        n_threads: int | None = None,
    ) -> None:
        self.blocks, self.targets, self.loss, self.first = blocks, targets, loss, first
        self.n_parallel, self._given_threads = n_parallel, n_threads
        self.shift: Array | None = None
        self.places: Indices = np.empty(0, dtype=np.int64)  # indices of its rows in a larger shard
        self.kept: dict[int, Any] = {}
        self._predictions: Array | None = None
        self._predicted_at: Array | None = None

    @property
    def n_rows(self) -> int:
        return self.blocks.shape[0]

    def sums(self, of_block: Callable[[Block], Sums], with_data: bool = True) -> Sums:
        """The sums of the results of a function for the blocks, added in their order."""
        return added(self.map(of_block, with_data))

    def map(self, of_block: Callable[[Block], T], with_data: bool = True) -> Iterator[T]:
        """The results of a function for the blocks, in their order.

        Several threads read and process blocks at the same time.
        """
        slices, n_threads = list(self.blocks.slices()), self._n_threads
        n_parallel = self.n_parallel * (n_threads if len(slices) > 1 else 1)

        def found(k: int) -> T:
            y, weights = self.targets.of(slices[k])
            design: Any = None
            if with_data:
                design = Design(self.blocks.block(k), n_parallel=n_parallel)
                design = design if self.shift is None else design.shifted(self.shift)
            return of_block(Block(slices[k], design, y, weights))

        if len(slices) == 1 or n_threads == 1:
            yield from map(found, range(len(slices)))
            return
        with ThreadPoolExecutor(n_threads) as threads:
            coming = iter(range(len(slices)))
            window = deque(threads.submit(found, k) for k in islice(coming, n_threads + 1))
            while window:
                result = window.popleft().result()
                window.extend(threads.submit(found, k) for k in islice(coming, 1))
                yield result

    @property
    def _n_threads(self) -> int:
        n_threads = self._given_threads or _openmp_effective_n_threads()
        return max(1, n_threads // self.n_parallel)

    def new_vector(self, key: int) -> Array:
        """A new uninitialised vector of the rows, kept under a key."""
        vector = self.kept[key] = np.empty(self.n_rows)
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
        """Delete the objects kept under some keys."""
        for key in keys:
            self.kept.pop(key, None)

    def shifted(self, shift: Array) -> "Shard":
        """The shard with a number subtracted from each column, and the same dual points."""
        other = copy(self)
        other._predictions = other._predicted_at = None
        other.shift = shift if self.shift is None else self.shift + shift
        return other

    def of_rows(self, block: Table, y: Array, weights: Array) -> "Shard":
        """A shard of a subset of the rows in memory, with their data, targets and weights."""
        targets = Targets(y, weights)
        return Shard(
            RowBlocks([block]), targets, self.loss,
            n_parallel=self.n_parallel, n_threads=self._given_threads,
        )  # fmt: skip

    def divide_weights(self, total: float) -> None:
        self.targets = replace(self.targets, total=self.targets.total * total)

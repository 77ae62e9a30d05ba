"""All shards of a problem (`Shards`): requests to each of them, and sums of their results."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Any, TypeVar

from ..._typing import Array
from ...designs.sums import Sums, added
from .recipes import Kept
from .shard import Shard

T = TypeVar("T")


class RowsLostError(Exception):
    """An error for rows lost with their process, restored without the vectors kept there.

    Vectors kept with the shards before the error must not be combined with cached sums of them.
    """


class Shards(ABC):
    """The rows of a problem in one or several processes, used through sums.

    Attributes
    ----------
    shape : tuple of int
        (n_samples, n_features) of all rows together.
    dense : bool
    n_shards : int
    most_gathered : float
        The largest number of bytes of rows that may be copied to this process.
    """

    shape: tuple[int, int]
    dense: bool
    n_shards: int = 1
    most_gathered: float = 1 << 28

    def __init__(self) -> None:
        self._keys, self._released = count(), deque[int]()

    def new(self) -> Kept:
        """A new key under which all shards may keep an object."""
        return Kept(next(self._keys), self._released)

    def released(self) -> list[int]:
        """The keys released since the last call."""
        return [self._released.popleft() for _ in range(len(self._released))]

    def sums(self, function: Callable[..., Sums], *arguments: Any) -> dict[str, Any]:
        """The sums of the results of a function for the shards, added in their order.

        Parameters
        ----------
        function : callable
            A function of a `Shard` and the arguments that returns sums by name.
        """
        return added(part for part in self.each(function, *arguments) if part is not None)

    @abstractmethod
    def each(self, function: Callable[..., T], *arguments: Any) -> list[T]:
        """The results of a function for the shards, in their order."""

    def divide_weights(self, total: float) -> None:
        """Divide all weights by a number."""
        self.each(Shard.divide_weights, total)

    def child(self, kept: Kept, n_rows: int) -> "Shards":
        """The shards kept under a key: subsets of the rows, or all rows with a shift."""
        return ChildShards(self, kept, n_rows)

    def shifted(self, shift: Array) -> "Shards":
        """Shards of the same rows and dual points, with a number subtracted from each column."""
        kept = self.new()
        self.each(_keep_shifted, kept.key, shift)
        return ChildShards(self, kept, self.shape[0], same_rows=True)

    @abstractmethod
    def gathered(self, parts: Callable[..., Array], *arguments: Any) -> Array:
        """A vector of all rows, whose parts a function computes for the shards."""


class LocalShards(Shards):
    """The shards of a problem whose rows are all in this process."""

    def __init__(self, shard: Shard) -> None:
        super().__init__()
        self._shard = shard
        self.shape, self.dense = shard.blocks.shape, not shard.blocks.sparse

    def __del__(self) -> None:
        self._shard.kept.clear()  # breaks reference cycles with shards that share this dict

    def each(self, function: Callable[..., T], *arguments: Any) -> list[T]:
        self._shard.release(self.released())
        return [function(self._shard, *arguments)]

    def gathered(self, parts: Callable[..., Array], *arguments: Any) -> Array:
        (found,) = self.each(parts, *arguments)
        return found


class ChildShards(Shards):
    """Shards of a subset of the rows, or of shifted rows, which other shards keep."""

    def __init__(self, parent: Shards, kept: Kept, n_rows: int, same_rows: bool = False) -> None:
        super().__init__()
        self._parent, self.kept = parent, kept
        self.shape, self.dense = (n_rows, parent.shape[1]), parent.dense
        self.n_shards, self.most_gathered = parent.n_shards, parent.most_gathered
        self._keys = parent._keys
        if same_rows:  # vectors are kept in the parent's dict
            self._released = parent._released

    def each(self, function: Callable[..., T], *arguments: Any) -> list[T]:
        return self._parent.each(_of_child, *self._question(function, arguments))

    def sums(self, function: Callable[..., Sums], *arguments: Any) -> dict[str, Any]:
        return self._parent.sums(_of_child, *self._question(function, arguments))

    def _question(self, function: Callable[..., T], arguments: tuple) -> tuple:
        return self.kept.key, self.released(), function, arguments

    def gathered(self, parts: Callable[..., Array], *arguments: Any) -> Array:
        raise NotImplementedError("Vectors of some of the rows stay where they are.")


def _of_child(
    shard: Shard, key: int, released: list[int], function: Callable[..., Any], arguments: tuple
) -> Any:
    """The result of a function for the child of a shard; None if the child has no rows there."""
    child = shard.kept.get(key)
    if child is None:
        return None
    child.release(released)
    return function(child, *arguments)


def _keep_shifted(shard: Shard, key: int, shift: Array) -> None:
    shard.kept[key] = shard.shifted(shift)

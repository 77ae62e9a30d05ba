"""All shards of a problem (`Shards`): requests to each of them, and sums of their results."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, TypeVar

from ..._typing import Array
from ...designs.sums import Sums, added
from .remote_dual import RemoteKey
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
    """

    shape: tuple[int, int]
    dense: bool
    n_shards: int = 1

    def __init__(self) -> None:
        self._keys, self._released = count(), deque[int]()

    def new_key(self) -> RemoteKey:
        """A new key under which all shards may keep an object."""
        return RemoteKey(next(self._keys), self._released)

    def released(self) -> list[int]:
        """The keys released since the last call."""
        return [self._released.popleft() for _ in range(len(self._released))]

    def releasing(self, function: Callable[[Shard], T]) -> Callable[[Shard], T]:
        """A function for a shard that first deletes what is kept under released keys."""
        return partial(_result_after_release, released=self.released(), function=function)

    def sums(self, function: Callable[[Shard], Sums | None]) -> dict[str, Any]:
        """The sums by name that a function returns for the shards, added in their order."""
        return added(part for part in self.each(function) if part is not None)

    @abstractmethod
    def each(self, function: Callable[[Shard], T]) -> Sequence[T | None]:
        """The results of a function for the shards, in their order; None for one without rows.

        The function is sent to the shards: it must be one of a module or a `partial` of one.
        """

    def divide_weights(self, total: float) -> None:
        """Divide all weights by a number."""
        self.each(partial(Shard.divide_weights, total=total))

    def child(self, owner: RemoteKey, n_rows: int) -> "ChildShards":
        """The subsets of the rows that shards keep under a key."""
        return ChildShards(self, owner, n_rows)

    def shifted(self, shift: Array) -> "Shards":
        """Shards of the same rows and dual points, with a number subtracted from each column."""
        owner = self.new_key()
        self.each(partial(_keep_shifted, key=owner.key, shift=shift))
        return ChildShards(self, owner, self.shape[0], same_rows=True)

    @abstractmethod
    def gathered(self, part: Callable[[Shard], Array]) -> Array:
        """A vector of all rows, whose parts a function computes for the shards."""


class LocalShards(Shards):
    """The shards of a problem whose rows are all in this process."""

    def __init__(self, shard: Shard) -> None:
        super().__init__()
        self._shard = shard
        self.shape, self.dense = shard.blocks.shape, not shard.blocks.sparse

    def __del__(self) -> None:
        self._shard.children.clear()  # breaks reference cycles with shards that share this dict

    def each(self, function: Callable[[Shard], T]) -> list[T]:
        return [self.releasing(function)(self._shard)]

    def gathered(self, part: Callable[[Shard], Array]) -> Array:
        return self.each(part)[0]


class ChildShards(Shards):
    """Shards of a subset of the rows, or of shifted rows, which other shards keep."""

    def __init__(
        self, parent: Shards, owner: RemoteKey, n_rows: int, same_rows: bool = False
    ) -> None:
        super().__init__()
        self._parent, self.owner = parent, owner
        self.shape, self.dense = (n_rows, parent.shape[1]), parent.dense
        self.n_shards, self._keys = parent.n_shards, parent._keys
        if same_rows:  # vectors are kept in the parent's dict
            self._released = parent._released

    def each(self, function: Callable[[Shard], T]) -> Sequence[T | None]:
        return self._parent.each(self._of_child(function))

    def sums(self, function: Callable[[Shard], Sums | None]) -> dict[str, Any]:
        return self._parent.sums(self._of_child(function))

    def _of_child(self, function: Callable[[Shard], T]) -> Callable[[Shard], T | None]:
        return partial(_result_for_child, key=self.owner.key, function=self.releasing(function))

    def gathered(self, part: Callable[[Shard], Array]) -> Array:
        raise NotImplementedError("Vectors of some of the rows stay where they are.")


def _result_after_release(shard: Shard, released: list[int], function: Callable[[Shard], T]) -> T:
    shard.release(released)
    return function(shard)


def _result_for_child(shard: Shard, key: int, function: Callable[[Shard], T]) -> T | None:
    """The result of a function for the child of a shard; None if the child has no rows there."""
    child = shard.children.get(key)
    return None if child is None else function(child)


def _keep_shifted(shard: Shard, key: int, shift: Array) -> None:
    shard.children[key] = shard.shifted(shift)

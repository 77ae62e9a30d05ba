"""Sums over the rows of one problem that workers hold (`DaskShards`)."""

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np

from ..designs.sums import halves
from ..problems.shards.recipes import Kept
from ..problems.shards.shards import RowsLostError, Shards
from .holder import Task, added_or_none
from .team import Team, WorkersLostError


class DaskShards(Shards):
    """The rows that a team of workers holds, as the shards of one problem.

    Partial sums are added in an order that depends only on the number of chunks. So the results
    are the same to the last bit whichever worker has which chunk, and whichever is faster.

    Parameters
    ----------
    team : Team
    task : Task
    """

    most_gathered = 1 << 25  # 32 MB, whatever the number of rows

    def __init__(self, team: Team, task: Task) -> None:
        super().__init__()
        self._problem: int | None = None  # the number that `Team.pose` returns
        self.team, self._generation = team, team.generation
        self._problem = team.pose(task)
        self._n_keys = 0  # number of keys in use
        extra = 0 if task.column is None else 1
        self.shape, self.dense = (team.shape[0], team.shape[1] + extra), team.dense
        self.n_shards = len(team.filled)

    def __del__(self) -> None:
        if self._problem is not None:
            self.team.drop(self._problem)

    def new(self) -> Kept:
        self._n_keys += 1
        return super().new()

    def released(self) -> list[int]:
        found = super().released()
        self._n_keys -= len(found)
        return found

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        found = self._ask("each", function, arguments)
        parts = {number: part for answer in found for number, part in answer.items()}
        return [parts[number] for number in self.team.filled]

    def sums(self, function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
        n_parts = self.team.n_parts
        found = self._ask("sums", function, arguments, n_parts)
        known = {ends: part for answer in found for ends, part in answer.items()}

        def of(first: int, last: int) -> Any:
            if (first, last) in known:
                return known[first, last]
            return added_or_none(*(of(*half) for half in halves(first, last)))

        return of(0, n_parts)

    def _ask(
        self, method: str, function: Callable[..., Any], arguments: tuple, *more: Any
    ) -> list[Any]:
        """The answers of all holders.

        Raises
        ------
        RowsLostError
            If workers were lost and vectors were kept with them.
        """
        team = self.team
        while True:
            released = self.released()
            try:
                if self._generation == team.generation:
                    return team.ask(method, self._problem, released, function, arguments, *more)
            except WorkersLostError:
                pass
            self._generation = team.generation
            if self._n_keys:
                raise RowsLostError

    def divide_weights(self, total: float) -> None:
        super().divide_weights(total)
        assert self._problem is not None
        self.team.divide_weights(self._problem, total)

    def gathered(self, parts: Callable[..., Any], *arguments: Any) -> Any:
        """A vector of all rows, as a dask array whose chunks stay with the workers."""
        assert self._problem is not None
        try:
            futures = self.team.parts(self._problem, parts, arguments)
        except WorkersLostError:
            self._generation = self.team.generation
            raise RowsLostError from None
        lengths = self.team.of_filled("n_rows")
        chunks = [
            da.from_delayed(future, shape=(n,), dtype=np.float64)
            for future, n in zip(futures, lengths, strict=True)
        ]
        return da.concatenate(chunks)

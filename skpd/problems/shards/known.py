"""What is known of rows that are seen as sums, from one question to the next."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..._typing import Array
from ..free_directions import FreeDirections
from ..solution import Point
from .recipes import DualRecipe

__all__ = ["COPIED", "KnownSums", "SharedData", "SharedFreeDirections", "SharedWorkspace"]

COPIED = 1 << 28  # bytes of rows that a shard may copy: 256 MB


@dataclass
class SharedWorkspace:
    """What is kept from one call to the next, by one run or the runs along one path.

    Attributes
    ----------
    gram : None
        Gram matrices are kept with the rows of a run.
    centred : tuple or None
        See `ShardedProblem.centred`, once that has been asked for.
    choices : dict
        The methods selected, by the type of the penalty and whether there is a start.
    solved : object
        What the last run of the method of multipliers tells the next one.
    known : KnownSums or None
        Of the last model and dual point.
    """

    gram: None = None
    centred: Any = None
    choices: dict[tuple[type, bool], list] = field(default_factory=dict)
    solved: Any = None
    known: "KnownSums | None" = None


@dataclass(frozen=True)
class KnownSums:
    """The sums of a model and of a dual point, as of `point_sums`.

    A recipe names what never changes, and no other ever has its key.
    """

    coef: Array
    intercept: float
    recipe: DualRecipe
    sums: dict[str, Any]

    def is_model(self, point: Point) -> bool:
        return bool(self.intercept == point.intercept and np.array_equal(self.coef, point.coef))


@dataclass(frozen=True)
class SharedData:
    """What solvers may ask of data that are not at hand, before they choose.

    Attributes
    ----------
    shape : tuple of int
    dense : bool
    n_entries : float
        Entries that a product reads.
    n_shards : int
    """

    shape: tuple[int, int]
    dense: bool
    n_entries: float
    n_shards: int

    @property
    def most_copied_rows(self) -> float:
        """How many rows shards may copy, to go on with them for a while."""
        return self.n_shards * self.rows_in(COPIED)

    def rows_in(self, n_bytes: float) -> float:
        """About how many rows so many bytes hold."""
        length = self.n_entries / max(self.shape[0], 1)
        return n_bytes / max(length * (8.0 if self.dense else 12.0), 1.0)

    def work_on(self, columns: Any) -> float:
        """About the time of a gradient of some columns over that of all: both read all rows."""
        return 1.0


@dataclass
class SharedFreeDirections(FreeDirections):
    """Free directions of rows that are seen as sums."""

    problem: Any = field(default=None, repr=False)

    @cached_property
    def squares(self) -> Array:
        squares: Array = self.problem.survey["squares"]
        return squares[self.columns]

    @cached_property
    def _mean_rows(self) -> Any:
        problem = self.problem
        return problem.targets.strata(self.loss), self._supports(problem.mean_rows)

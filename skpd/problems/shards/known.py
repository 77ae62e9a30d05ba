"""Cached sums of shards, and the properties of their data that select a solver."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._typing import Array, Indices
from ..solution import Point
from .points import DualSums

COPIED = 1 << 28  # most bytes of rows that a shard may copy, 256 MB


@dataclass(frozen=True)
class KnownSums:
    """The sums of a model and a dual point that `point_sums` returned.

    They are identified by the recipe of the dual point: the vector under its key never changes,
    and keys are not reused.
    """

    coef: Array
    intercept: float
    of_model: dict[str, Any]
    of_dual: DualSums

    def is_model(self, point: Point) -> bool:
        return bool(self.intercept == point.intercept and np.array_equal(self.coef, point.coef))


@dataclass(frozen=True)
class SharedData:
    """Properties of data in files or other processes, for the selection of a solver.

    Attributes
    ----------
    shape : tuple of int
    dense : bool
    n_entries : float
        The number of entries that a product reads.
    n_shards : int
    """

    shape: tuple[int, int]
    dense: bool
    n_entries: float
    n_shards: int

    @property
    def most_copied_rows(self) -> float:
        """The largest number of rows that all shards together may copy to work on a subset."""
        return self.n_shards * self.rows_in(COPIED)

    def rows_in(self, n_bytes: float) -> float:
        """The approximate number of rows in ``n_bytes`` bytes."""
        length = self.n_entries / max(self.shape[0], 1)
        return n_bytes / max(length * (8.0 if self.dense else 12.0), 1.0)

    def work_on(self, columns: Indices) -> float:
        """The relative time of a gradient over some columns, 1 as all rows have to be read."""
        return 1.0

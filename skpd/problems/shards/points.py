"""Dual points of shards, with the interface of `DualPoint`."""

from math import sqrt
from typing import Any

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array
from ...certificates.objective import NOTHING, Sum
from ...designs.sums import Sums
from ..dual_points import RowPoint
from ..interfaces import ProblemParts
from .bounds import dual_values, point_sums
from .recipes import DualRecipe, SharedVector
from .shard import Block, Shard
from .shards import Shards


class DualSums:
    """The sums of a dual point (`point_sums`) from plain and from precise products, on demand.

    Parameters
    ----------
    shards : Shards
    recipe : DualRecipe
    plain : dict, default=None
        The sums from plain products, where they have been computed.

    Attributes
    ----------
    recipe : DualRecipe
    balanced : tuple or None
        What `skpd.problems.shards.balance` has found for the dual point, None if nothing yet.
    """

    def __init__(
        self, shards: Shards, recipe: DualRecipe, plain: dict[str, Any] | None = None
    ) -> None:
        self.recipe, self._shards = recipe, shards
        self.balanced: Any = None
        self._found: dict[bool, dict[str, Any]] = {} if plain is None else {False: plain}

    def __call__(self, precise: bool) -> dict[str, Any]:
        if precise not in self._found:
            self._found[precise] = self._shards.sums(point_sums, None, self.recipe, precise)
        return self._found[precise]


class PartOfPoint(RowPoint):
    """A dual point, or a part of one, whose sums are known.

    Parameters
    ----------
    problem : Problem
    theta : SharedVector
    sums : DualSums
        The sums by name; the names start with ``prefix``.
    prefix : str, default=""
    """

    def __init__(
        self, problem: ProblemParts, theta: SharedVector, given: "DualSums", prefix: str = ""
    ) -> None:
        super().__init__(problem, theta)
        self.given, self._sums, self._prefix = given, given(False), prefix
        for k, scale in enumerate((1.0, 0.5)):
            found = self._sums.get(f"{prefix}value_{k}")
            if found is not None:
                self._values[scale] = found.bounded

    def _value_at(self, scale: float) -> Sum:
        if self.linear and scale not in self._values:
            value, rounding = self._values[1.0]
            return scale * value, abs(scale) * rounding + 4.0 * EPSILON * abs(scale * value)
        if scale not in self._values:
            found = self.problem.rows.shards.sums(dual_values, self.theta.recipe, (scale,))
            self._values[scale] = found["0"].bounded
        return self._values[scale]

    def products(self, precise: bool) -> tuple[Array, Array]:
        sums = self.given(precise)
        return sums[f"{self._prefix}products"].bounded

    def sums_without_products(self) -> list[Sum]:
        if not self.problem.fit_intercept:
            return [NOTHING]
        value, error = self._sums[f"{self._prefix}slope"].bounded
        return [(float(value), float(error))]

    def largest_scale(self) -> float:
        return -float(self._sums[f"{self._prefix}minus_scale"].value)

    def errors_by_precision(self) -> Array:
        norms = np.sqrt(self.problem.squares[: self.problem.n_coefficients])
        return EPSILON * sqrt(self._sums["square"]) * norms


class SharedPoint(PartOfPoint):
    """A dual point in the box of the conjugate losses.

    Parameters
    ----------
    problem : Problem
    theta : SharedVector
    given : DualSums
    """

    def __init__(self, problem: ProblemParts, theta: SharedVector, given: DualSums) -> None:
        super().__init__(problem, theta, given)
        self.largest = float(self._sums["largest"].value)


def gathered_part(shard: Shard, recipe: DualRecipe) -> Array:
    """The part of a dual point that belongs to the rows of a shard."""
    found = np.empty(shard.n_rows)

    def of_block(block: Block) -> Sums:
        found[block.rows] = recipe.of(shard.kept, shard.loss, block.rows, block.y)
        return {}

    shard.sums(of_block, with_data=False)
    return found

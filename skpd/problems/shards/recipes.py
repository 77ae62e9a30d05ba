"""Dual points that stay with the rows, and recipes that compute them block by block."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._typing import Array, Indices
from ...kernels import max_abs, without_negligible
from ...losses import Loss

SMALLEST = 1e-60  # multipliers below this times the largest of a block are set to 0
NEAR = 1e-9  # predictions within this times the size of the target of a kink count as at it


@dataclass(frozen=True)
class Change:
    """A change of a dual point by room_i^2 (F q)_i in row i, with F the free directions.

    Attributes
    ----------
    columns : ndarray of int
        The free features among the directions.
    ones : bool
        Whether the intercept is the first direction.
    q : ndarray of shape (n_directions,)
    largest : float
        The largest size of a dual variable, an upper bound on room_i.
    share : float
        An upper bound on change_i / room_i, so that theta + change / share is in the box.
    """

    columns: Indices
    ones: bool
    q: Array
    largest: float
    share: float = 1.0


class DualRecipe(NamedTuple):
    """A dual point of the rows of a shard: scale times one of three vectors, clipped to the box.

    Attributes
    ----------
    key : int or None
        The key of a vector that the shard keeps.
    null : tuple of float or None
        For a subgradient of the losses at a constant b: (b, whether to use the one-sided slopes of
        rows near a kink, position between the lower slope, 0, and the upper slope, 1).
    reach : float or None
        For the middle of the box, whose ends are cut off at this distance from 0.
    change : Change or None
        A change that is added in the end.
    """

    key: int | None = None
    null: tuple[float, bool, float] | None = None
    reach: float | None = None
    scale: float = 1.0
    change: Change | None = None

    def of(self, vectors: Mapping[int, Array], loss: Loss, rows: slice, y: Array) -> Array:
        """The dual point on some rows, without the change."""
        if self.key is not None:
            theta = vectors[self.key][rows]
        elif self.null is not None:
            constant, near, share = self.null
            low, high = null_ends(loss, y, constant, near)
            theta = low + share * (high - low)
        elif self.reach is not None:
            lower, upper = loss.dual_bounds(y)
            theta = 0.5 * (np.maximum(lower, -self.reach) + np.minimum(upper, self.reach))
        else:
            return np.zeros(len(y))
        theta = theta if self.scale == 1.0 else self.scale * theta
        theta = np.ascontiguousarray(loss.project_dual(y, theta))
        return without_negligible(theta, SMALLEST) if max_abs(theta) > 0.0 else theta


def null_ends(loss: Loss, y: Array, constant: float, near: bool) -> tuple[Array, Array]:
    """The slopes of the losses at a constant, or just below and just above it if ``near``."""
    if not near:
        slope = loss.gradient(y, np.full(len(y), constant))
        return slope, slope
    width = NEAR * (1.0 + abs(constant) + loss.sizes_of(y))
    ends = [loss.gradient(y, constant + side * width) for side in (-1.0, 1.0)]
    return np.minimum(*ends), np.maximum(*ends)


class Kept:
    """The owner of objects that shards keep under a key, which are released when it is deleted.

    The shards receive the key of a deleted owner with the next request.
    """

    def __init__(self, key: int, released: deque[int]) -> None:
        self.key, self._released = key, released

    def __del__(self) -> None:
        self._released.append(self.key)


class SharedVector:
    """A dual point of all rows, whose entries stay with the rows.

    Attributes
    ----------
    recipe : DualRecipe
    shape : tuple of int
    model : ndarray or None
        The primal variables at whose predictions the dual point was computed.
    """

    __array_ufunc__ = None  # NumPy's scalars then leave products to __rmul__

    def __init__(
        self,
        recipe: DualRecipe,
        n_rows: int,
        kept: Kept | None = None,
        model: Array | None = None,
    ) -> None:
        self.recipe, self.shape, self._kept, self.model = recipe, (n_rows,), kept, model

    def __rmul__(self, scale: float) -> "SharedVector":
        return self._with(self.recipe._replace(scale=scale * self.recipe.scale))

    def changed(self, change: Change) -> "SharedVector":
        return self._with(self.recipe._replace(change=change))

    def _with(self, recipe: DualRecipe) -> "SharedVector":
        return SharedVector(recipe, self.shape[0], self._kept, self.model)

    @property
    def is_zero(self) -> bool:
        recipe = self.recipe
        return recipe.key is None and recipe.null is None and recipe.reach is None

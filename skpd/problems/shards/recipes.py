"""Dual points that stay where the rows are: how each is made, block by block."""

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..._typing import Array, Indices
from ...kernels import max_abs, without_negligible
from ...losses import Loss

__all__ = ["Change", "DualRecipe", "Kept", "SharedVector", "null_ends"]

SMALLEST = 1e-60  # multipliers beside the largest of a block: less would harm products
NEAR = 1e-9  # of a kink, beside the sizes of targets: rows at it


@dataclass(frozen=True)
class Change:
    """A change of a dual point by room_i^2 (F q)_i in row i, F the free directions.

    Attributes
    ----------
    columns : ndarray of int
        The free features among the directions.
    ones : bool
        Whether the intercept is the first of them.
    q : ndarray of shape (n_directions,)
    largest : float
        The largest size of a dual variable, as rows have no more room than that.
    share : float
        A bound on the change over the room that a row has: theta + change / share is in the box.
    """

    columns: Indices
    ones: bool
    q: Array
    largest: float
    share: float = 1.0


class DualRecipe(NamedTuple):
    """A dual point of the rows of a shard: scale times one of those below, clipped to its box.

    Attributes
    ----------
    key : int or None
        The vector kept under this key.
    null : tuple of float or None
        Of the best constant b, a subgradient of the losses there: (b, whether rows are to be
        looked at that are near a kink, share of the way from the lower to the upper end).
    reach : float or None
        The middle of the box, cut off at this distance from 0.
    change : Change or None
        What is added in the end.
    """

    key: int | None = None
    null: tuple[float, bool, float] | None = None
    reach: float | None = None
    scale: float = 1.0
    change: Change | None = None

    def of(self, vectors: Any, loss: Loss, rows: slice, y: Array) -> Array:
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
    """The least and the largest slopes of the losses at a constant, or very near to it."""
    if not near:
        slope = loss.gradient(y, np.full(len(y), constant))
        return slope, slope
    width = NEAR * (1.0 + abs(constant) + np.abs(y))
    ends = [loss.gradient(y, constant + side * width) for side in (-1.0, 1.0)]
    return np.minimum(*ends), np.maximum(*ends)


class Kept:
    """Owns what shards keep under a key; when it goes, they are told with the next question."""

    def __init__(self, key: int, released: deque[int]) -> None:
        self.key, self._released = key, released

    def __del__(self) -> None:
        self._released.append(self.key)


class SharedVector:
    """A dual point of all rows, which stays where they are.

    Attributes
    ----------
    recipe : DualRecipe
    shape : tuple of int
    model : ndarray or None
        The variables at whose predictions it was taken.
    """

    __array_ufunc__ = None  # so that NumPy's numbers leave products to it

    def __init__(
        self,
        recipe: DualRecipe,
        n_rows: int,
        kept: Kept | None = None,
        model: Array | None = None,
    ) -> None:
        self.recipe, self.shape, self._kept, self.model = recipe, (n_rows,), kept, model

    def __rmul__(self, scale: float) -> "SharedVector":
        return self._with(scale=scale * self.recipe.scale)

    def changed(self, change: Change) -> "SharedVector":
        return self._with(change=change)

    def _with(self, **changes: Any) -> "SharedVector":
        recipe = self.recipe._replace(**changes)
        return SharedVector(recipe, self.shape[0], self._kept, self.model)

    @property
    def is_zero(self) -> bool:
        recipe = self.recipe
        return recipe.key is None and recipe.null is None and recipe.reach is None

"""Dual points whose entries stay with the rows, computed there block by block."""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._floats import without_negligible
from ..._typing import Array, Indices
from ...kernels import max_abs
from ...losses import Loss
from .shard import Block, Shard

# Dual variables below this times the largest of a block are set to 0, against underflow of their
# squares times weights.
NEGLIGIBLE = 1e-60
# A kink within this times 1 + |b| + |y| of a constant b counts as at b; rounding errors are less.
KINK_WIDTH = 1e-9


@dataclass(frozen=True)
class BalancingChange:
    """A change of a dual point by slack_i^2 (F q)_i in row i, with F the free directions.

    Attributes
    ----------
    columns : ndarray of int
        The free features among the directions.
    ones : bool
        Whether the intercept is the first direction.
    q : ndarray of shape (n_directions,)
    largest : float
        The largest size of a dual variable, an upper bound on slack_i.
    share : float
        An upper bound on change_i / slack_i, so that theta + change / share is in the box.
    """

    columns: Indices
    ones: bool
    q: Array
    largest: float
    share: float = 1.0


class RemoteDualPoint(NamedTuple):
    """A dual point of the rows of a shard: scale times one of three vectors, clipped to the box.

    Attributes
    ----------
    key : int or None
        The key of a vector that the shard keeps.
    null : tuple of float or None
        For a subgradient of the losses at a constant b: (b, whether to use the one-sided slopes of
        rows near a kink, position between the lower slope, 0, and the upper slope, 1).
    cutoff : float or None
        For the middle of the box, whose ends are cut off at this distance from 0.
    change : BalancingChange or None
        A change that is added in the end.
    """

    key: int | None = None
    null: tuple[float, bool, float] | None = None
    cutoff: float | None = None
    scale: float = 1.0
    change: BalancingChange | None = None

    @property
    def is_zero(self) -> bool:
        return self.key is None and self.null is None and self.cutoff is None

    def on(self, shard: Shard, block: Block) -> Array:
        """The dual point on the rows of a block, without the change."""
        loss, y = shard.loss, block.y
        if self.key is not None:
            theta = shard.vectors[self.key][block.rows]
        elif self.null is not None:
            constant, at_kinks, share = self.null
            low, high = null_slopes(loss, y, constant, at_kinks)
            theta = low + share * (high - low)
        elif self.cutoff is not None:
            lower, upper = loss.dual_bounds(y)
            theta = 0.5 * (np.maximum(lower, -self.cutoff) + np.minimum(upper, self.cutoff))
        else:
            return np.zeros(len(y))
        theta = theta if self.scale == 1.0 else self.scale * theta
        theta = np.ascontiguousarray(loss.project_dual(y, theta))
        return without_negligible(theta, NEGLIGIBLE) if max_abs(theta) > 0.0 else theta


def null_slopes(loss: Loss, y: Array, constant: float, at_kinks: bool) -> tuple[Array, Array]:
    """The slopes of the losses at a constant, with ``at_kinks`` those just below and above it."""
    if not at_kinks:
        slope = loss.gradient(y, np.full(len(y), constant))
        return slope, slope
    width = KINK_WIDTH * (1.0 + abs(constant) + loss.sizes_of(y))
    ends = [loss.gradient(y, constant + side * width) for side in (-1.0, 1.0)]
    return np.minimum(*ends), np.maximum(*ends)


class RemoteKey:
    """The owner of a key under which shards keep an object, which they release when it is deleted.

    The shards receive the key of a deleted owner with the next request.
    """

    def __init__(self, key: int, released: deque[int]) -> None:
        self.key, self._released = key, released

    def __del__(self) -> None:
        self._released.append(self.key)


class RemoteVector:
    """A vector of dual variables of all rows, whose entries stay with the rows.

    Parameters
    ----------
    n_rows : int
    point : RemoteDualPoint, default=0
        The dual point of which these are the entries.
    owner : RemoteKey, default=None
        The owner of the key of the point; the point is then by default the vector under this key.
    model : ndarray, default=None
        The primal variables at whose predictions the dual point was computed.
    """

    __array_ufunc__ = None  # NumPy's scalars then leave products to __rmul__

    def __init__(
        self, n_rows: int, point: RemoteDualPoint | None = None, owner: RemoteKey | None = None,
        model: Array | None = None,
    ) -> None:  # fmt: skip
        key = None if owner is None else owner.key
        self.point = RemoteDualPoint(key) if point is None else point
        self.shape, self._owner, self.model = (n_rows,), owner, model

    def __rmul__(self, scale: float) -> "RemoteVector":
        return self._with(self.point._replace(scale=scale * self.point.scale))

    def changed(self, change: BalancingChange) -> "RemoteVector":
        return self._with(self.point._replace(change=change))

    def _with(self, point: RemoteDualPoint) -> "RemoteVector":
        return RemoteVector(self.shape[0], point, self._owner, self.model)

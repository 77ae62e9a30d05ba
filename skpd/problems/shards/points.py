"""Dual points of shards, with the interface of `DualPoint`."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..._floats import EPSILON
from ..._immutable_base import computed
from ..._typing import Array
from ...certificates.interface import NOTHING, Sum
from ..balance import BalanceBounds
from ..dual_points import RowPoint
from ..interfaces import ProblemParts, Rows
from ..solution import Point
from .bounds import dual_values, point_sums
from .remote_dual import RemoteDualPoint, RemoteVector
from .shard import Shard
from .shards import Shards


class DualSums:
    """The sums of a dual point (`point_sums`) from plain and from precise products, on demand.

    Parameters
    ----------
    shards : Shards
    point : RemoteDualPoint
    plain : dict, default=None
        The sums from plain products, where they have been computed.

    Attributes
    ----------
    point : RemoteDualPoint
    balanced : tuple or None
        What `skpd.problems.shards.balance` returned for the dual point, None before that.
    """

    def __init__(
        self, shards: Shards, point: RemoteDualPoint, plain: dict[str, Any] | None = None
    ) -> None:
        self.point, self._shards = point, shards
        self.balanced: Balanced | None = None
        self._sums: dict[bool, dict[str, Any]] = {} if plain is None else {False: plain}

    def __call__(self, precise: bool) -> dict[str, Any]:
        if precise not in self._sums:
            sums = partial(point_sums, dual=self.point, precise=precise)
            self._sums[precise] = self._shards.sums(sums)
        return self._sums[precise]


# The bounds on a change, the changed point and its sums; or that there is no such change.
Balanced = tuple[BalanceBounds, RemoteVector, DualSums] | tuple[None, None, None]


@dataclass(frozen=True)
class CachedSums:
    """The sums of a model and a dual point that `point_sums` returned.

    They are identified by the dual point: the vector under its key never changes, and keys are not
    reused.
    """

    coef: Array
    intercept: float
    of_model: dict[str, Any]
    of_dual: DualSums

    def is_model(self, point: Point) -> bool:
        return bool(self.intercept == point.intercept and np.array_equal(self.coef, point.coef))


class RowsOnShards(Rows[RemoteVector]):
    """Rows as points and free directions use them."""

    shards: Shards


class SummedPoint(RowPoint):
    """A dual point, or a part of one, whose sums are known.

    Parameters
    ----------
    problem : Problem
    theta : RemoteVector
    sums : DualSums
        The sums by name; the names start with ``prefix``.
    prefix : str, default=""
    """

    def __init__(
        self, problem: ProblemParts, theta: RemoteVector, sums: DualSums, prefix: str = ""
    ) -> None:
        super().__init__(problem, theta)
        self.sums, self._plain, self._prefix = sums, sums(False), prefix
        for k, scale in enumerate((1.0, 0.5)):
            value = self._plain.get(f"{prefix}value_{k}")
            if value is not None:
                self._values[scale] = value.bounded

    def _value_at(self, scale: float) -> Sum:
        if self.linear and scale not in self._values:
            value, rounding = self._values[1.0]
            return scale * value, abs(scale) * rounding + 4.0 * EPSILON * abs(scale * value)
        if scale not in self._values:
            values = partial(dual_values, dual=self.theta.point, scales=(scale,))
            self._values[scale] = (
                self.problem.rows.as_kind(RowsOnShards).shards.sums(values)["0"].bounded
            )
        return self._values[scale]

    def products(self, precise: bool) -> tuple[Array, Array]:
        return self.sums(precise)[f"{self._prefix}products"].bounded

    def sums_without_products(self) -> list[Sum]:
        if not self.problem.fit_intercept:
            return [NOTHING]
        value, error = self._plain[f"{self._prefix}slope"].bounded
        return [(float(value), float(error))]

    def largest_scale(self) -> float:
        return -float(self._plain[f"{self._prefix}minus_scale"].value)

    # The largest size of a dual variable.
    largest = computed(lambda self: float(self._plain["largest"].value))


def entries(shard: Shard, point: RemoteDualPoint) -> Array:
    """The entries of a dual point for the rows of a shard."""
    return shard.vector(partial(point.on, shard))

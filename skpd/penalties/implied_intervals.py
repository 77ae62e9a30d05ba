"""Intervals for single coefficients that follow from an upper bound on alpha R(w) - v.w.

For an optimum w* and a dual point theta with v = -A' diag(c) theta, the duality gap is a sum of
non-negative terms. One of these contains alpha R(w*) - v.w*, so that the gap bounds this quantity.
Where R is a sum, the bound and the least values of all other terms bound each single term, and
thereby its coefficients.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from .._floats import EPSILON
from .._typing import Array, Numbers

Terms = tuple[Numbers, Numbers, Numbers, Numbers]  # l1, l2, lower and upper
ROUNDING = 64.0 * EPSILON  # relative rounding error of the few operations for an interval


class Slopes(NamedTuple):
    """The vector v and bounds on its errors, both of shape (n_features,), and alpha."""

    v: Array
    error: Array
    alpha: float


class Side(NamedTuple):
    """The term alpha R - v w of coefficients w = sign u with u >= 0, for one of the two signs.

    The term is curvature u^2 / 2 - excess u for u <= limit, and infinite beyond.
    """

    excess: Array
    curvature: Array
    limit: Array

    @property
    def conjugate(self) -> Array:
        """The maximum of excess u - curvature u^2 / 2 over u in [0, limit], which may be inf."""
        rising = (self.excess > 0.0) & (self.limit > 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            u = np.minimum(self.excess / self.curvature, self.limit)
            value = u * (self.excess - 0.5 * self.curvature * u)
        return np.where(rising, np.where(np.isinf(u), inf, value), 0.0)

    def ends(self, allowed: Array) -> tuple[Array, Array]:
        """The least and the largest u with curvature u^2 / 2 - excess u <= allowed.

        The least is inf where there is no such u.
        """
        e, q = self.excess, self.curvature
        root = np.sqrt(np.maximum(e * e + 2.0 * q * allowed, 0.0))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            largest = np.where(e < 0.0, 2.0 * allowed / (root - e), (e + root) / q)
            smallest = np.where(e > 0.0, -2.0 * allowed / (e + root), inf)
        largest = np.where(np.isnan(largest), inf, largest)  # 0 / 0 where the term is constant
        smallest = np.where(allowed < 0.0, smallest, 0.0)
        return smallest, np.clip(largest, 0.0, self.limit)


def intervals_within(largest: float, n_features: int) -> Array:
    """The interval [-largest, largest] for every coefficient, of shape (n_features, 2)."""
    return wider(np.tile([-largest, largest], (n_features, 1)))


def wider(intervals: Array) -> Array:
    """Intervals widened by a bound on the rounding errors of their ends."""
    return intervals + ROUNDING * np.abs(intervals) * np.array([-1.0, 1.0]) + 0.0  # no -0.0

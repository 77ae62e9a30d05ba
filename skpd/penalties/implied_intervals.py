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
from .._typing import Array, Indices, Numbers
from .partition import Partition

Terms = tuple[Numbers, Numbers, Numbers, Numbers]  # l1, l2, lower and upper
ROUNDING = 64.0 * EPSILON  # relative rounding error of the few operations for an interval


class Slopes(NamedTuple):
    """The vector v and bounds on its errors, both of shape (n_features,), and alpha."""

    v: Array
    error: Array
    alpha: float


class _Side(NamedTuple):
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


def intervals_of_terms(
    terms: Terms, free: Indices, slopes: Slopes, bound: float, radius: float
) -> Array:
    """Intervals of coefficients for R(w) = sum_j l1 |w_j| + l2 w_j^2 / 2 on [lower, upper].

    Parameters
    ----------
    terms : tuple
        l1, l2, lower and upper, numbers or arrays of shape (n_features,).
    free : ndarray of int
        The coefficients that have no term.
    slopes : Slopes
    bound : float
        An upper bound on alpha R(w) - v.w.
    radius : float
        An upper bound on R(w).

    Returns
    -------
    intervals : ndarray of shape (n_features, 2)
    """
    v, error, alpha = slopes
    l1, l2, lower, upper = (np.broadcast_to(np.asarray(t, dtype=float), v.shape) for t in terms)
    error = error + ROUNDING * (np.abs(v) + alpha * l1)  # rounding of the differences below
    up = _Side(v + error - alpha * l1, alpha * l2, upper)
    down = _Side(error - v - alpha * l1, alpha * l2, -lower)
    penalised = np.ones(len(v), dtype=bool)
    penalised[free] = False
    highest = np.where(penalised, np.maximum(up.conjugate, down.conjugate), 0.0)
    # terms that are unbounded below share the bound R(w) <= radius
    steep = np.isinf(highest)
    excess = np.maximum(up.excess, down.excess)[steep]
    total = np.sum(highest[~steep]) + radius * np.max(excess / l1[steep], initial=0.0)
    total += bound + ROUNDING * (abs(bound) + total)
    allowed = np.maximum(total, 0.0) - np.where(steep, 0.0, highest)
    with np.errstate(divide="ignore"):
        within = np.where(l1 > 0.0, radius * (1.0 + ROUNDING) / l1, inf)
    (near_up, far_up), (near_down, far_down) = up.ends(allowed), down.ends(allowed)
    low = np.where(np.isfinite(near_down), -np.minimum(far_down, within), near_up)
    high = np.where(np.isfinite(near_up), np.minimum(far_up, within), -near_down)
    intervals = _wider(np.sort(np.column_stack([low, high]), axis=1))
    intervals[~penalised] = -inf, inf
    return np.clip(intervals, lower[:, np.newaxis], upper[:, np.newaxis])


def intervals_of_groups(
    partition: Partition,
    group_terms: tuple[float, Array],
    slopes: Slopes,
    bound: float,
    radius: float,
) -> Array:
    """Intervals of coefficients for R(w) = l1 ||w||_1 + sum_g weight_g ||w_g||_2.

    The intervals are symmetric around 0. The parameters are those of `intervals_of_terms`, with
    the partition and the ``group_terms`` (l1, weights) of the penalty; ``bound`` must be an upper
    bound on alpha R(w_g) - v_g.w_g for each single group g.
    """
    v, error, alpha = slopes
    l1, weights = group_terms
    sizes = np.abs(v) + error
    beyond = np.maximum(sizes - alpha * l1, 0.0)
    norms = partition.norms(beyond)
    slack = alpha * weights - norms - ROUNDING * (alpha * weights + norms)
    of_l1 = alpha * l1 - sizes - ROUNDING * (alpha * l1 + sizes)
    slack = np.maximum(slack[partition.labels], of_l1)
    with np.errstate(divide="ignore"):
        within = radius / (weights[partition.labels] + l1)
        largest = np.divide(bound, slack, out=np.full_like(slack, inf), where=slack > 0.0)
    largest = np.minimum(largest, within)
    return _wider(np.column_stack([-largest, largest]))


def zeros_of_terms(terms: Terms, free: Indices, slopes: Slopes) -> np.ndarray:
    """A mask of the coefficients at which alpha R(w) - v.w increases on both sides of w_j = 0.

    R is a sum of l1 |w_j| + l2 w_j^2 / 2 on [lower, upper]; a side outside of the bounds counts
    as one on which the function increases.
    """
    v, error, alpha = slopes
    l1, _, lower, upper = (np.broadcast_to(np.asarray(t, dtype=float), v.shape) for t in terms)
    steepness = alpha * l1 * (1.0 - ROUNDING)
    zeros = ((v + error < steepness) | (upper == 0.0)) & ((error - v < steepness) | (lower == 0.0))
    zeros[free] = False
    return zeros


def zeros_of_groups(
    partition: Partition, group_terms: tuple[float, Array], slopes: Slopes
) -> np.ndarray:
    """A mask of the coefficients that are 0 at every minimiser of alpha R(w) - v.w.

    R(w) = l1 ||w||_1 + sum_g weight_g ||w_g||_2.
    """
    v, error, alpha = slopes
    l1, weights = group_terms
    sizes, alpha = np.abs(v) + error, alpha * (1.0 - ROUNDING)
    beyond = np.maximum(sizes - alpha * l1, 0.0)
    whole = partition.norms(beyond) * (1.0 + ROUNDING) < alpha * weights
    return whole[partition.labels] | (sizes < alpha * l1)


def intervals_within(largest: float, n_features: int) -> Array:
    """The interval [-largest, largest] for every coefficient, of shape (n_features, 2)."""
    return _wider(np.tile([-largest, largest], (n_features, 1)))


def _wider(intervals: Array) -> Array:
    """Intervals widened by a bound on the rounding errors of their ends."""
    return intervals + ROUNDING * np.abs(intervals) * np.array([-1.0, 1.0]) + 0.0  # no -0.0

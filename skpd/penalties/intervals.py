"""What an upper bound on alpha R(w) - v.w says of single coefficients.

At an optimum w* and for a dual point theta with v = -A' diag(c) theta, the gap is a sum of terms
that are not negative. So alpha R(w*) - v.w* is at most what the gap leaves for it. Where R is a
sum, each of its terms has an interval of coefficients that obey this while the other terms are as
low as they can be.
"""

from math import inf
from typing import Any, NamedTuple

import numpy as np

from .._floats import EPSILON
from .._typing import Array, Indices

__all__ = [
    "Slopes",
    "intervals_of_groups",
    "intervals_of_terms",
    "intervals_within",
    "zeros_of_groups",
    "zeros_of_terms",
]

ROUNDING = 64.0 * EPSILON  # of the few operations for an interval, relative to what they add up


class Slopes(NamedTuple):
    """v and bounds on its errors, of shape (n_features,), and alpha."""

    v: Array
    error: Array
    alpha: float


class _Side(NamedTuple):
    """Coefficients w = sign u with u >= 0: alpha R - v w is curvature u^2 / 2 - excess u.

    ``limit`` is the largest u that R allows.
    """

    excess: Array
    curvature: Array
    limit: Array

    @property
    def conjugate(self) -> Array:
        """The largest excess u - curvature u^2 / 2; inf where it has no bound."""
        rising = (self.excess > 0.0) & (self.limit > 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            u = np.minimum(self.excess / self.curvature, self.limit)
            value = u * (self.excess - 0.5 * self.curvature * u)
        return np.where(rising, np.where(np.isinf(u), inf, value), 0.0)

    def ends(self, allowed: Array) -> tuple[Array, Array]:
        """The least and the largest u with curvature u^2 / 2 - excess u <= allowed.

        The least is inf where there is none.
        """
        e, q = self.excess, self.curvature
        root = np.sqrt(np.maximum(e * e + 2.0 * q * allowed, 0.0))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            largest = np.where(e < 0.0, 2.0 * allowed / (root - e), (e + root) / q)
            least = np.where(e > 0.0, -2.0 * allowed / (e + root), inf)
        largest = np.where(np.isnan(largest), inf, largest)  # 0 / 0: a flat side
        least = np.where(allowed < 0.0, least, 0.0)
        return least, np.clip(largest, 0.0, self.limit)


def intervals_of_terms(
    terms: tuple[Any, Any, Any, Any], free: Indices, slopes: Slopes, most: float, radius: float
) -> Array:
    """Intervals for a sum of l1 |w_j| + l2 w_j^2 / 2 on [lower, upper].

    Parameters
    ----------
    terms : tuple
        l1, l2, lower and upper, numbers or arrays of shape (n_features,).
    free : ndarray of int
        The coefficients that have no term.
    slopes : Slopes
    most : float
        alpha R(w) - v.w is at most this.
    radius : float
        R(w) is at most this.

    Returns
    -------
    intervals : ndarray of shape (n_features, 2)
    """
    v, error, alpha = slopes
    l1, l2, lower, upper = (np.broadcast_to(np.asarray(t, dtype=float), v.shape) for t in terms)
    error = error + ROUNDING * (np.abs(v) + alpha * l1)  # of the differences below
    up = _Side(v + error - alpha * l1, alpha * l2, upper)
    down = _Side(error - v - alpha * l1, alpha * l2, -lower)
    penalised = np.ones(len(v), dtype=bool)
    penalised[free] = False
    highest = np.where(penalised, np.maximum(up.conjugate, down.conjugate), 0.0)
    # those without a highest value have it in common what the radius leaves them
    steep = np.isinf(highest)
    excess = np.maximum(up.excess, down.excess)[steep]
    total = np.sum(highest[~steep]) + radius * np.max(excess / l1[steep], initial=0.0)
    total += most + ROUNDING * (abs(most) + total)
    allowed = np.maximum(total, 0.0) - np.where(steep, 0.0, highest)
    with np.errstate(divide="ignore"):
        within = np.where(l1 > 0.0, radius * (1.0 + ROUNDING) / l1, inf)
    (near_up, far_up), (near_down, far_down) = up.ends(allowed), down.ends(allowed)
    low = np.where(np.isfinite(near_down), -np.minimum(far_down, within), near_up)
    high = np.where(np.isfinite(near_up), np.minimum(far_up, within), -near_down)
    found = _wider(np.sort(np.column_stack([low, high]), axis=1))
    found[~penalised] = -inf, inf
    return np.clip(found, lower[:, np.newaxis], upper[:, np.newaxis])


def intervals_of_groups(
    partition: Any, group_terms: tuple[float, Array], slopes: Slopes, most: float, radius: float
) -> Array:
    """Intervals for l1 ||w||_1 + sum_g weight_g ||w_g||_2, symmetric around 0.

    Parameters are those of `intervals_of_terms`, with the groups and ``group_terms`` of the
    penalty; alpha R(w_g) - v_g.w_g is at most ``most`` for each group alone.
    """
    v, error, alpha = slopes
    l1, weights = group_terms
    sizes = np.abs(v) + error
    beyond = np.maximum(sizes - alpha * l1, 0.0)
    norms = partition.norms(beyond)
    room = alpha * weights - norms - ROUNDING * (alpha * weights + norms)
    room = np.maximum(room[partition.labels], alpha * l1 - sizes - ROUNDING * (alpha * l1 + sizes))
    with np.errstate(divide="ignore"):
        within = radius / (weights[partition.labels] + l1)
        largest = np.where(room > 0.0, most / np.maximum(room, 0.0), inf)
    largest = np.minimum(largest, within)
    return _wider(np.column_stack([-largest, largest]))


def zeros_of_terms(terms: tuple[Any, Any, Any, Any], free: Indices, slopes: Slopes) -> np.ndarray:
    """Where a sum of terms, less v.w, grows on both sides of w_j = 0 that it allows."""
    v, error, alpha = slopes
    l1, _, lower, upper = (np.broadcast_to(np.asarray(t, dtype=float), v.shape) for t in terms)
    steepness = alpha * l1 * (1.0 - ROUNDING)
    zeros = ((v + error < steepness) | (upper == 0.0)) & ((error - v < steepness) | (lower == 0.0))
    zeros[free] = False
    return zeros


def zeros_of_groups(
    partition: Any, group_terms: tuple[float, Array], slopes: Slopes
) -> np.ndarray:
    """The same for l1 ||w||_1 + sum_g weight_g ||w_g||_2."""
    v, error, alpha = slopes
    l1, weights = group_terms
    sizes, alpha = np.abs(v) + error, alpha * (1.0 - ROUNDING)
    beyond = np.maximum(sizes - alpha * l1, 0.0)
    whole = partition.norms(beyond) * (1.0 + ROUNDING) < alpha * weights
    return whole[partition.labels] | (sizes < alpha * l1)


def intervals_within(largest: float, n_features: int) -> Array:
    """The same interval around 0 for all."""
    return _wider(np.tile([-largest, largest], (n_features, 1)))


def _wider(intervals: Array) -> Array:
    """Intervals with room for the rounding errors of their ends."""
    return intervals + ROUNDING * np.abs(intervals) * np.array([-1.0, 1.0]) + 0.0  # no -0.0

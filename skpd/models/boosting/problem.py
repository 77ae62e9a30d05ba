"""Entropy-regularised LPBoost: distributions over rows, combinations of hypotheses and bounds.

With the edge vectors u_h = (y_i h(x_i))_i of hypotheses h with values -1 and 1 ::

    J(w) = entropy KL(w, c) + max_h u_h.w     over w in Q = {0 <= w <= c / nu, sum_i w_i = 1}
    F(a) = min over w in Q of entropy KL(w, c) + m.w          with the margins m = sum_h a_h u_h

are the two sides of one problem: F(a) <= J(w) for every convex combination a of hypotheses and
every w, with equality at the optimum. Without entropy F(a) is the mean of the share nu of the
smallest margins, max over rho of rho - sum_i c_i max(0, rho - m_i) / nu, which is the soft margin.
"""

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from ..._floats import EPSILON
from ..._immutable_base import computed
from ..._typing import Array
from ...certificates import Certificate
from ...certificates.interface import Sum

OPERATIONS = 16  # an upper bound on the rounding errors of one term of a sum


@dataclass(frozen=True, eq=False)
class BoostingProblem:
    """The problem of LPBoost over distributions on the rows with capped weights.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,)
        The weights c_i > 0, which sum to 1 up to rounding.
    nu : float
        In (0, 1]: the entries of a distribution are at most ``weights / nu``.
    entropy : float, default=0.0
        The weight of the relative entropy KL(w, c), at least 0.
    """

    weights: Array
    nu: float
    entropy: float = 0.0

    @cached_property
    def caps(self) -> Array:
        """The largest weight that a distribution may give to a row."""
        return self.weights / self.nu

    # The largest value of KL(w, c) over Q, log(1 / nu).
    entropy_range = computed(lambda self: log(1.0 / self.nu))

    def with_entropy(self, entropy: float) -> "BoostingProblem":
        """The problem with another weight of the entropy."""
        return BoostingProblem(self.weights, self.nu, entropy)

    def distribution(self, margins: Array) -> tuple[float, Array]:
        """The value F for these margins and the w that attains it, without bounds on rounding.

        The minimiser w is the entropic projection onto the capped simplex: in the order of the
        margins the first rows are at their caps, the others are c_i exp((level - m_i) / entropy).
        """
        if self.entropy == 0.0:
            w = self._smallest_first(margins)
            return float(w @ margins), w
        w = self.feasible(self.weights * self._ratios(margins, self._level(margins)))
        return self.entropy * self.divergence(w)[0] + float(w @ margins), w

    def _smallest_first(self, margins: Array) -> Array:
        """The minimiser of m.w over Q: caps for the smallest margins until the sum is 1."""
        order = np.argsort(margins, kind="stable")
        caps = self.caps[order]
        before = np.concatenate([[0.0], np.cumsum(caps)[:-1]])
        w = np.empty_like(caps)
        w[order] = np.clip(1.0 - before, 0.0, caps)
        return w

    def _ratios(self, margins: Array, level: float) -> Array:
        """The ratios w_i / c_i = min(1 / nu, exp((level - m_i) / entropy))."""
        exponents = np.minimum((level - margins) / self.entropy, self.entropy_range)
        return np.minimum(np.exp(exponents), 1.0 / self.nu)

    def _level(self, margins: Array) -> float:
        """The level at which sum_i c_i ratio_i = 1 (see `_ratios`), by sorting the margins."""
        order = np.argsort(margins, kind="stable")
        m, c = margins[order], self.weights[order]
        # the remainder of the total if the first k weights are at their caps
        remaining = 1.0 - np.concatenate([[0.0], np.cumsum(c)[:-1]]) / self.nu
        log_tail = np.logaddexp.accumulate((np.log(c) - m / self.entropy)[::-1])[::-1]
        with np.errstate(divide="ignore", invalid="ignore"):
            levels = self.entropy * (np.log(np.maximum(remaining, 0.0)) - log_tail)
        highest = self.entropy * self.entropy_range
        holds = levels - m <= highest
        k = int(np.argmax(holds)) if np.any(holds) else len(m)
        if k == len(m) or not np.isfinite(levels[k]):  # the first k are at their caps, w is full
            return float(m[max(k - 1, 0)] + highest)
        return float(levels[k])

    def divergence(self, w: Array) -> Sum:
        """The divergence KL(w, c) and a bound on its rounding error."""
        inside = w > 0.0
        w, c = w[inside], self.weights[inside]
        logarithms = np.log(w / c)
        size = float(np.sum(w * (np.abs(logarithms) + 1.0)))
        return float(w @ logarithms), self._rounding * size

    # A bound on the relative rounding error of a sum over the rows.
    _rounding = computed(lambda self: (len(self.weights) + OPERATIONS) * EPSILON)

    def feasible(self, w: Array) -> Array:
        """A distribution near w within the caps, whose sum is 1 up to rounding."""
        w = np.fmin(np.fmax(w, 0.0), self.caps)
        total = float(np.sum(w))
        if total >= 1.0:
            return w / total
        slack = self.caps - w
        wide = float(np.sum(slack))
        return w + slack * min((1.0 - total) / wide, 1.0) if wide > 0.0 else w

    def upper_bound(self, w: Array, largest_edge: Sum) -> float:
        """The value J(w), rounded up so that it holds for a distribution in Q near w.

        Parameters
        ----------
        w : ndarray of shape (n_samples,)
            A distribution that `feasible` returned. Its distance from Q is that of its sum from 1,
            up to the rounding of caps. The edges of the nearest distribution in Q are larger by at
            most this distance, and its divergence by at most this times log(1 / nu) + 1, its
            largest slope.
        largest_edge : tuple of float
            The largest u_h.w over the hypotheses, and a bound on its rounding error.
        """
        total = float(np.sum(w))
        away = abs(total - 1.0) + self._rounding * (1.0 + total)
        value, rounding = largest_edge
        upper = value + rounding + away * (1.0 + abs(value))
        if self.entropy > 0.0:
            divergence, error = self.divergence(w)
            error += away * (self.entropy_range + 1.0 + abs(divergence))
            upper += self.entropy * (divergence + error)
        return upper + 4.0 * EPSILON * abs(upper)

    def lower_bound(self, margins: Array, error: float) -> float:
        """The value F of a convex combination, rounded down.

        The bound is the Lagrangian at a level, which is at most F for every level.

        Parameters
        ----------
        margins : ndarray of shape (n_samples,)
        error : float
            A bound on the error of each of the margins.
        """
        c = self.weights
        if self.entropy == 0.0:
            level = self._soft_level(margins)
            terms = np.maximum(level - margins, 0.0) / self.nu
            sizes = terms
            value = level - float(c @ terms)
        else:
            level = self._level(margins)
            ratios = self._ratios(margins, level)
            # with the multiplier level + entropy of the sum, `_ratios` minimise the Lagrangian
            with np.errstate(divide="ignore", invalid="ignore"):
                logarithms = np.where(ratios > 0.0, np.log(ratios), 0.0)
            slopes = margins - level - self.entropy
            terms = ratios * (self.entropy * logarithms + slopes)
            # a rounding error of the minimiser changes the term by the square of the error
            sizes = ratios * (np.abs(self.entropy * logarithms) + np.abs(slopes) + self.entropy)
            sizes = sizes + ratios * (abs(level) + np.abs(margins))
            value = level + self.entropy + float(c @ terms)
        size = abs(level) + self.entropy + float(c @ (sizes + np.abs(terms)))
        return value - error - self._rounding * size

    def _soft_level(self, margins: Array) -> float:
        """The maximiser rho of rho - sum_i c_i max(0, rho - m_i) / nu, a quantile of margins."""
        order = np.argsort(margins, kind="stable")
        k = int(np.searchsorted(np.cumsum(self.caps[order]), 1.0))
        return float(margins[order[min(k, len(order) - 1)]])

    def certificate(self, primal: float, dual: float) -> Certificate:
        """The certificate of two bounds; gaps are in units of the largest possible edge, 1."""
        gap = max(primal - dual, 0.0)
        return Certificate(max(primal, dual), dual, gap, gap, "exact", 1.0, 0.0, reference="")

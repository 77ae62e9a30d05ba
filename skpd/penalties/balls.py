"""Penalties that constrain the coefficients to a ball or a box."""

from collections.abc import Callable
from dataclasses import dataclass
from math import expm1, hypot, inf, log1p, sqrt

import numpy as np

from .. import kernels
from .._immutable_base import attribute_of_part, computed, number
from .._typing import Array
from .base import Penalty, PenaltyCones, Structure, _half_square
from .norms import ElasticNet, SquaredL2
from .separable import SeparablePenalty, _weighted_square, soft_threshold


class _ConstraintSet(Penalty):
    """The indicator of a set that contains 0; alpha has no effect."""

    is_finite = False

    def feasible(self, w: Array) -> Array:
        return self.prox(w, 1.0)

    def support(self, v: Array, radius: float) -> float:
        return self.conjugate(v, 1.0)

    bounded_conjugate = Penalty.bounded_conjugate  # the conjugate itself

    def _shortened(self, w: Array) -> Array:
        """A multiple of w that is in the set, of which rounding may have put w outside."""
        for share in 2.0 ** np.arange(-46, 1):
            if self.value(w) == 0.0:
                break
            w = w * (1.0 - share)
        return w


class _OnL1Ball(Penalty):
    """A multiple of half the squared norm, or 0, under the constraint ``||w||_1 <= radius``."""

    radius: float
    symmetric = True
    is_finite = False
    structure = Structure.BALL
    has_cones = True

    l1_radius = attribute_of_part("radius")

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        cones.add_separable(l2=alpha * self.without_ridge()[0])
        cones.add_l1_ball(self.radius)


@dataclass(frozen=True)
class L1Ball(_OnL1Ball, _ConstraintSet):
    """The constraint ``||w||_1 <= radius``.

    Parameters
    ----------
    radius : float, default=1.0
        Radius of the ball, greater than 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import L1Ball
    >>> L1Ball(radius=1.0).prox(np.array([2.0, 1.5]), 1.0)
    array([0.75, 0.25])
    """

    radius: float = number(1.0, above=0.0)

    def value(self, w: Array) -> float:
        return 0.0 if kernels.sum_abs(w) <= self.radius else inf

    def prox(self, w: Array, step: Array | float) -> Array:
        return self._shortened(kernels.project_l1_ball(np.ascontiguousarray(w), self.radius))

    def conjugate(self, v: Array, alpha: float) -> float:
        return self.radius * kernels.max_abs(v)


@dataclass(frozen=True)
class SquaredL2OnL1Ball(_OnL1Ball):
    """Ridge penalty ``weight ||w||_2^2 / 2`` under the constraint ``||w||_1 <= radius``.

    Parameters
    ----------
    radius : float, default=1.0
        Radius of the l1 ball, greater than 0.
    weight : float, default=1.0
        Weight of the ridge penalty, greater than 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import SquaredL2OnL1Ball
    >>> SquaredL2OnL1Ball(radius=1.0).prox(np.array([4.0, 3.0]), 1.0)
    array([0.75, 0.25])
    """

    radius: float = number(1.0, above=0.0)
    weight: float = number(1.0, above=0.0, below=inf)

    _ball = computed(lambda self: L1Ball(self.radius))

    def without_ridge(self) -> tuple[float, Penalty | None, float]:
        return self.weight, self._ball, 1.0

    def value(self, w: Array) -> float:
        return self._ball.value(w) + _weighted_square(self.weight, w)

    def prox(self, w: Array, step: Array | float) -> Array:
        return self._ball.prox(w / (1.0 + step * self.weight), step)

    def conjugate(self, v: Array, alpha: float) -> float:
        # the least over tau >= 0 of tau radius + ||(|v| - tau)_+||^2 / (2 alpha weight), which is
        # an upper bound at any tau; the best is the threshold of a projection
        sizes, ridge = np.abs(v), alpha * self.weight
        if not np.isfinite(sizes).all():
            return inf
        inside = kernels.project_l1_ball(np.ascontiguousarray(sizes), ridge * self.radius)
        tau = float(np.max(sizes - inside, initial=0.0))
        excess = kernels.euclidean_norm(np.maximum(sizes - tau, 0.0))
        return tau * self.radius + _half_square(excess, ridge)

    def support(self, v: Array, radius: float) -> float:
        ridge = SquaredL2().support(v, radius / self.weight)
        return min(self._ball.support(v, radius), ridge)

    feasible = attribute_of_part("_ball.feasible")


@dataclass(frozen=True)
class ElasticNetBall(_ConstraintSet):
    """The constraint ``l1_ratio ||w||_1 + (1 - l1_ratio) ||w||_2^2 / 2 <= radius``.

    Projections and conjugates take linear time: after elimination of the multiplier, both are the
    root of a function that is linear between kinks (Zhang et al., section 5.5.2).

    Parameters
    ----------
    radius : float, default=1.0
        Largest value of the elastic net, greater than 0.
    l1_ratio : float, default=0.5
        Share of the l1 norm, strictly between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import ElasticNetBall
    >>> ElasticNetBall(radius=0.75).prox(np.array([3.0, 0.5]), 1.0)
    array([1., 0.])
    """

    radius: float = number(1.0, above=0.0)
    l1_ratio: float = number(0.5, above=0.0, below=1.0)
    symmetric = True
    has_cones = True

    @property
    def _scaled(self) -> tuple[float, float]:
        """The numbers gamma and q with which the set is gamma ||w||_1 + ||w||_2^2 / 2 <= q^2 / 2.

        Functions that use q must not square it, as q^2 may overflow.
        """
        ridge = 1.0 - self.l1_ratio
        return self.l1_ratio / ridge, sqrt(2.0) * sqrt(self.radius) / sqrt(ridge)

    def value(self, w: Array) -> float:
        return 0.0 if ElasticNet(self.l1_ratio).value(w) <= self.radius else inf

    def prox(self, w: Array, step: Array | float) -> Array:
        if self.value(w) == 0.0:
            return w
        # The projection has the sizes w_j = (|g_j| - lambda gamma)_+ / (1 + lambda). With the k
        # sizes |g_j| above lambda gamma, their sum s and the sum of their squares,
        # (1 + lambda)^2 - 1 = (2 gamma s + square - q^2) / (k gamma^2 + q^2).
        gamma, q = self._scaled
        sizes = np.abs(w)
        unit = max(kernels.max_abs(sizes), gamma)  # so that squares do not overflow
        edge, limit = (gamma / unit) ** 2, (q / unit) ** 2

        def multiplier(k, s, square):
            curvature = k * edge + limit
            excess = 2.0 * (gamma / unit) * s + square - limit
            return expm1(0.5 * log1p(max(excess, 0.0) / curvature)) if curvature > 0.0 else inf

        factor = _root_by_medians(sizes / unit, gamma / unit, multiplier)
        return self._shortened(soft_threshold(w, factor * gamma) / (1.0 + factor))

    def conjugate(self, v: Array, alpha: float) -> float:
        # the least over lambda of lambda r + sum (|v_j| - lambda gamma)_+^2 / (2 lambda), which is
        # an upper bound at any lambda
        scale = kernels.max_abs(v)
        if scale == 0.0 or not np.isfinite(scale):
            return scale
        gamma, q = self._scaled
        sizes = np.abs(v) / scale

        def multiplier(k, s, square):  # where sum (|v_j|^2 - lambda^2 gamma^2)_+ = lambda^2 q^2
            return sqrt(square) / hypot(q, gamma * sqrt(k))

        factor = _root_by_medians(sizes, gamma, multiplier)
        excess = kernels.euclidean_norm(np.maximum(sizes - factor * gamma, 0.0))
        return scale * (0.5 * factor * q * q + _half_square(excess, factor))

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        cones.add_elastic_net_ball(self.radius, self.l1_ratio)


def _root_by_medians(
    sizes: Array, gamma: float, multiplier: Callable[[float, float, float], float]
) -> float:
    """The multiplier lambda that agrees with the set of sizes above lambda gamma, by bisection.

    ``multiplier`` returns lambda from the number of sizes above lambda gamma, their sum and the
    sum of their squares. Medians halve the set of candidates, so that the time is linear.
    """
    above, candidates = [0.0, 0.0, 0.0], sizes
    while len(candidates) > 0:
        middle = float(np.partition(candidates, len(candidates) // 2)[len(candidates) // 2])
        more = candidates[candidates >= middle]
        sums = [float(len(more)), float(np.sum(more)), float(np.sum(more * more))]
        sums = [a + b for a, b in zip(above, sums, strict=True)]
        if gamma * multiplier(*sums) <= middle:  # all of these are above
            above, candidates = sums, candidates[candidates < middle]
        else:
            candidates = candidates[candidates > middle]
    return multiplier(*above)


@dataclass(frozen=True)
class Box(_ConstraintSet, SeparablePenalty):
    """The constraint lower <= w_j <= upper for every coefficient.

    Parameters
    ----------
    lower, upper : float, default=-1.0 and 1.0
        Finite bounds with lower <= 0 <= upper and lower < upper.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import Box
    >>> Box(lower=0.0, upper=1.0).prox(np.array([2.0, -1.5]), 1.0)
    array([1., 0.])
    """

    lower: float = number(-1.0, maximum=0.0)
    upper: float = number(1.0, minimum=0.0)
    _is_free = False
    largest_alpha = Penalty.largest_alpha  # nan, as alpha has no effect

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower == self.upper:
            raise ValueError("lower and upper of Box must differ, got 0 for both.")

    terms = computed(lambda self: (0.0, 0.0, self.lower, self.upper))

    def worst_case(self, v: Array, error: Array) -> Array:
        above, below = v + error, v - error
        larger = np.maximum(self.lower * above, self.upper * above) >= np.maximum(
            self.lower * below, self.upper * below
        )
        return np.where(larger, above, below)

    def conjugate(self, v: Array, alpha: float) -> float:
        return float(np.sum(np.maximum(self.lower * v, self.upper * v)))

"""Norms of all coefficients, half the squared l2 norm and the elastic net."""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from .. import kernels
from .._immutable_base import computed, number
from .._typing import Array
from .base import Norm, Penalty, PenaltyCones, Structure, _half_square, _product
from .group_lasso import GroupL2
from .implied_intervals import Slopes, intervals_within
from .separable import SeparablePenalty


@dataclass(frozen=True)
class L1(Norm, SeparablePenalty):
    """Lasso penalty, ``||w||_1``.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import L1
    >>> L1().prox(np.array([3.0, -0.5]), 1.0)
    array([2., 0.])
    """

    terms = (1.0, 0.0, -inf, inf)
    symmetric = True

    def dual_norm(self, v: Array) -> float:
        return kernels.max_abs(v)


@dataclass(frozen=True)
class NonNegativeL1(Norm, SeparablePenalty):
    """Lasso penalty under the constraint w >= 0: ``sum_j w_j``, or inf.

    This function is a gauge, a norm restricted to w >= 0. The formulas that `Norm` derives from
    the dual norm hold with the polar ``R°(v) = max(v_1, ..., v_d, 0)``.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import NonNegativeL1
    >>> NonNegativeL1().prox(np.array([3.0, -5.0]), 1.0)
    array([2., 0.])
    """

    terms = (1.0, 0.0, 0.0, inf)

    def dual_norm(self, v: Array) -> float:
        return float(np.max(v, initial=0.0))

    def worst_case(self, v: Array, error: Array) -> Array:
        return v + error


@dataclass(frozen=True)
class SquaredL2(SeparablePenalty):
    """Ridge penalty, ``||w||_2^2 / 2``.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import SquaredL2
    >>> SquaredL2().prox(np.array([3.0, -1.0]), 1.0)
    array([ 1.5, -0.5])
    """

    terms = (0.0, 1.0, -inf, inf)
    is_quadratic = True
    largest_alpha = Penalty.largest_alpha  # nan, as no alpha is large enough
    bounded_conjugate = Penalty.bounded_conjugate  # the conjugate itself
    symmetric = True

    def conjugate(self, v: Array, alpha: float) -> float:
        return _half_square(kernels.euclidean_norm(v), alpha)

    def without_ridge(self) -> tuple[float, Penalty | None, float]:
        return 1.0, None, 0.0

    def support(self, v: Array, radius: float) -> float:
        return _product(sqrt(2.0 * radius), kernels.euclidean_norm(v))


@dataclass(frozen=True)
class ElasticNet(SeparablePenalty):
    """Elastic net, ``l1_ratio ||w||_1 + (1 - l1_ratio) ||w||_2^2 / 2``.

    Parameters
    ----------
    l1_ratio : float, default=0.5
        Share of the l1 norm, strictly between 0 and 1; use `SquaredL2` and `L1` at the ends.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import ElasticNet
    >>> ElasticNet(l1_ratio=0.5).prox(np.array([3.5, -0.5]), 1.0)
    array([2., 0.])
    """

    l1_ratio: float = number(0.5, above=0.0, below=1.0)
    symmetric = True

    terms = computed(lambda self: (self.l1_ratio, 1.0 - self.l1_ratio, -inf, inf))

    def conjugate(self, v: Array, alpha: float) -> float:
        excess = np.maximum(np.abs(v) - alpha * self.l1_ratio, 0.0)
        return _half_square(kernels.euclidean_norm(excess), alpha * (1.0 - self.l1_ratio))

    def without_ridge(self) -> tuple[float, Penalty | None, float]:
        return 1.0 - self.l1_ratio, L1(), self.l1_ratio

    def largest_alpha(self, v: Array) -> float:
        """The least alpha with conjugate(v, alpha) = 0."""
        return kernels.max_abs(v) / self.l1_ratio

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        # R(w) <= radius implies ||w||_1 <= r = radius / l1_ratio. With a multiplier tau >= 0 of
        # that, the sup is at most tau r + sum_j max(e_j - tau, 0)^2 / (2 c): for every tau, and
        # least where max(e - tau, 0) / c is the projection of e / c onto the l1 ball
        excess = np.abs(v) - alpha * self.l1_ratio
        excess = excess[~(excess <= 0.0)]
        if len(excess) == 0:
            return 0.0
        c, r = alpha * (1.0 - self.l1_ratio), radius / self.l1_ratio
        largest = kernels.max_abs(excess)
        bound = min(_half_square(kernels.euclidean_norm(excess), c), _product(r, largest))
        if not kernels.sum_abs(excess) > c * r > 0.0:
            return bound
        with np.errstate(over="ignore"):
            unbounded = excess / c
        if np.isfinite(unbounded).all():
            projection = kernels.project_l1_ball(unbounded, r)
            tau = max(largest - c * kernels.max_abs(projection), 0.0)
            quadratic = _half_square(kernels.euclidean_norm(np.maximum(excess - tau, 0.0)), c)
            bound = min(bound, tau * r + quadratic)
        return bound

    def support(self, v: Array, radius: float) -> float:
        largest, norm, l1 = kernels.max_abs(v), kernels.euclidean_norm(v), self.l1_ratio
        return min(_product(radius / l1, largest), _product(sqrt(2.0 * radius / (1.0 - l1)), norm))


class _OfAll(Norm):
    """The base class of symmetric norms with R(w) >= abs(w_j) for every j."""

    symmetric = True
    has_cones = True

    def intervals(self, slopes: Slopes, bound: float, radius: float) -> Array | None:
        """Intervals from alpha R(w) - R°(v) R(w) <= most."""
        worst_case = self.worst_case(slopes.v, slopes.error)
        slack = slopes.alpha - self.dual_norm(worst_case)
        if slack > 0.0:
            radius = min(radius, max(bound, 0.0) / slack)
        return intervals_within(radius, len(slopes.v))


@dataclass(frozen=True)
class L2Norm(_OfAll):
    """Euclidean norm, ``||w||_2``, not squared.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import L2Norm
    >>> L2Norm().prox(np.array([3.0, 4.0]), 1.0)
    array([2.4, 3.2])
    """

    def value(self, w: Array) -> float:
        return kernels.euclidean_norm(w)

    def prox(self, w: Array, step: Array | float) -> Array:
        norm, step = kernels.euclidean_norm(w), np.max(step)
        return w * (1.0 - step / norm) if norm > step else np.zeros_like(w)

    def dual_norm(self, v: Array) -> float:
        return kernels.euclidean_norm(v)

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        cones.add_group_norms(np.array([0, cones.n_coefficients]), np.array([alpha]))

    def with_extra_coefficient(self, n_features: int, weight: float) -> GroupL2:
        return GroupL2([n_features, 1], weights=[1.0, weight])


@dataclass(frozen=True)
class LInf(_OfAll):
    """Maximum norm, ``max_j |w_j|``.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import LInf
    >>> LInf().prox(np.array([3.0, -1.0]), 1.0)
    array([ 2., -1.])
    """

    structure = Structure.MAXIMUM
    has_ties = True

    def value(self, w: Array) -> float:
        return kernels.max_abs(w)

    def prox(self, w: Array, step: Array | float) -> Array:
        # Moreau's identity: the prox of a norm is w minus its projection onto the dual ball
        return w - kernels.project_l1_ball(np.ascontiguousarray(w), float(np.max(step)))

    def dual_norm(self, v: Array) -> float:
        return kernels.sum_abs(v)

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        cones.add_largest_size(alpha)

"""Sums over the coefficients of l1 |w_j| + l2 w_j^2 / 2 within bounds (`SeparablePenalty`)."""

from math import inf, isfinite, sqrt
from operator import attrgetter
from typing import Self

import numpy as np
from scipy.optimize import brentq

from .. import kernels
from .._compat import available_if
from .._floats import EPSILON
from .._immutable_base import computed
from .._typing import Array, Mask, Numbers
from .base import NO_FEATURES, FreeFeatures, Penalty, PenaltyCones, Structure, cached_attribute
from .implied_intervals import ROUNDING, Side, Slopes, wider

STEPS = 30  # largest number of steps to the multiplier of a ball; each one gives a bound
PRECISION = 1e-9  # relative precision of that multiplier
FAR = 1e300  # stands for an infinite size


def soft_threshold(w: Array, threshold: Numbers) -> Array:
    """The vector sign(w) max(|w| - threshold, 0)."""
    return w - np.minimum(np.maximum(w, -threshold), threshold)  # np.clip takes longer


class SeparablePenalty(Penalty):
    """The penalty ``sum_j l1_j |w_j| + l2_j w_j^2 / 2`` on ``[lower_j, upper_j]``.

    A class only has to define ``terms``: the numbers l1, l2, lower and upper, or arrays with a
    number for each coefficient. It is a norm, and then has a ``dual_norm``, if there is no l2 term
    and bounds are 0 or infinite.

    Coefficients with l1_j = l2_j = 0 are free: conjugates, dual norms and supports are suprema
    over the w that are 0 there.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import SeparablePenalty
    >>> class HalfL1(SeparablePenalty):
    ...     terms = 0.5, 0.0, -np.inf, np.inf
    >>> HalfL1().prox(np.array([3.0, -0.25]), 1.0)
    array([2.5, 0. ])
    """

    structure = Structure.SEPARABLE
    has_cones = True

    @property
    def n_features(self) -> int:
        """The number of coefficients, 1 where all terms are numbers."""
        return max(np.size(term) for term in self.terms)

    @cached_attribute
    def treats_alike(self) -> bool:
        """Whether the terms of all coefficients are the same numbers."""
        return not any(map(np.ndim, self.terms))

    def for_n_features(self, n_features: int) -> Self:
        if not self.treats_alike and n_features != self.n_features:
            raise ValueError(
                "penalty_weights, bounds and the arrays of a penalty must hold a number for each "
                f"of the {n_features} features, got {self.n_features}."
            )
        return self

    @cached_attribute
    def _is_free(self) -> Mask | bool:
        """Whether coefficients are neither penalised by l1 nor by l2."""
        l1, l2, _, _ = self.terms
        return (l1 == 0.0) & (l2 == 0.0)

    @cached_attribute
    def free_features(self) -> FreeFeatures:
        if not np.any(self._is_free):
            return NO_FEATURES
        _, _, *bounds = self.terms
        free = np.flatnonzero(np.broadcast_to(self._is_free, self.n_features))
        lower, upper = (np.broadcast_to(bound, self.n_features)[free] for bound in bounds)
        return FreeFeatures(free, lower, upper)

    @property
    def of_one_output(self) -> "SeparablePenalty | None":  # type: ignore[override]
        return self if self.treats_alike else None

    @cached_attribute
    def is_norm(self) -> bool:
        """Whether R is positively homogeneous: no l2 term, and bounds of 0 or infinity only."""
        _, l2, *bounds = self.terms
        conic = [(np.equal(bound, 0.0) | np.isinf(bound)) | self._is_free for bound in bounds]
        return bool(np.all(np.equal(l2, 0.0)) and all(map(np.all, conic)))

    @cached_attribute
    def is_finite(self) -> bool:
        return all(np.all(np.isinf(bound)) for bound in self.terms[2:])

    @cached_attribute
    def even(self) -> bool:
        _, _, lower, upper = self.terms
        return bool(np.all(lower == -upper))

    strong_convexity = computed(lambda self: float(np.min(self.terms[1])))

    def value(self, w: Array) -> float:
        l1, l2, lower, upper = self.terms
        if not self.is_finite and not np.all((w >= lower) & (w <= upper)):
            return inf
        return _weighted_l1(l1, w) + _weighted_square(l2, w)

    @cached_attribute
    def _has_parts(self) -> tuple[bool, bool]:
        """Whether any l1 and any l2 is above 0."""
        return bool(np.any(self.terms[0])), bool(np.any(self.terms[1]))

    def prox(self, w: Array, step: Numbers) -> Array:
        l1, l2, lower, upper = self.terms
        has_l1, has_l2 = self._has_parts
        x = soft_threshold(w, step * l1) if has_l1 else w
        x = x / (1.0 + step * l2) if has_l2 else x
        return x if self.is_finite else x.clip(lower, upper)

    def feasible(self, w: Array) -> Array:
        return w if self.is_finite else w.clip(*self.terms[2:])

    # Conjugates and suprema

    def _limits(self, v: Array) -> Array:
        """The bounds on |w_j| for coefficients with the sign of v_j; 0 for free coefficients."""
        _, _, lower, upper = self.terms
        limits = inf if self.is_finite else np.where(v > 0.0, upper, np.negative(lower))
        return np.broadcast_to(np.where(self._is_free, 0.0, limits), v.shape)

    def _quotients(self, v: Array) -> Array:
        """The quotients |v_j| / l1_j; 0 for free coefficients and signs that are not allowed.

        The quotient is inf for l1_j = 0 and v_j not 0.
        """
        sizes = np.where(self._limits(v) > 0.0, np.abs(v), 0.0)
        with np.errstate(divide="ignore", over="ignore"):
            return np.divide(sizes, self.terms[0], out=np.zeros_like(sizes), where=sizes > 0.0)

    @available_if(attrgetter("is_norm"))
    def dual_norm(self, v: Array) -> float:
        """The dual norm R°(v), if R is a norm."""
        return self.largest_alpha(v)

    def largest_alpha(self, v: Array) -> float:
        return kernels.max_abs(self._quotients(v))

    def conjugate(self, v: Array, alpha: float) -> float:
        return self._maximum(v, alpha)[0]

    def coordinate_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        """An upper bound on sup of v.w - alpha R(w) over ``l1 |w_j| <= radius`` for every j."""
        return self._maximum(v, alpha, radius / self.terms[0])[0]

    def _maximum(self, v: Array, alpha: float, limit: Numbers = inf) -> tuple[float, float]:
        """The conjugate (alpha R)*(v), and the value R(w) at the maximiser w.

        Maximisers have sizes |w_j| of at most ``limit``.
        """
        l1, l2 = (np.broadcast_to(term, v.shape) for term in self.terms[:2])
        # the factor with 4 EPSILON bounds the rounding of alpha l1, whose difference may cancel
        excess = np.abs(v) - alpha * l1 * (1.0 - 4.0 * EPSILON)
        limits = np.minimum(self._limits(v), limit)
        rising = np.flatnonzero((excess > 0.0) & (limits > 0.0))
        if not len(rising):
            return 0.0, 0.0
        e, curvature, w = excess[rising], alpha * l2[rising], limits[rising]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            w = np.minimum(w, e / curvature)
            if not isfinite(kernels.max_abs(w)):
                return inf, inf
            value = float(np.sum(w * (e - 0.5 * curvature * w)))
            return value, float(np.sum(w * (l1[rising] + 0.5 * l2[rising] * w)))

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        """The bound ((tau + alpha) R)*(v) + tau radius with a multiplier tau of R(w) <= radius.

        This is an upper bound for every tau >= 0. The best tau is the one for which R at the
        maximiser is the radius.
        """
        best, size = self._maximum(v, alpha)
        if size <= radius or radius == 0.0:
            return best if size <= radius else 0.0
        bounds = [best]

        def excess(tau: float) -> float:
            value, size = self._maximum(v, alpha + tau)
            bounds.append(value + tau * radius)
            return min(size, FAR) - radius

        low, high = self._multipliers(v, alpha, radius)
        if excess(low) > 0.0 > excess(high):
            tiny = np.finfo(float).tiny
            brentq(excess, low, high, xtol=tiny, rtol=PRECISION, maxiter=STEPS, disp=False)
        return min(bounds)

    def _multipliers(self, v: Array, alpha: float, radius: float) -> tuple[float, float]:
        """The ends of an interval of multipliers that contains the best one.

        The first is the least for which the conjugate is finite.
        """
        l1, l2 = (np.broadcast_to(term, v.shape) for term in self.terms[:2])
        quotients, limits = self._quotients(v), self._limits(v)
        low = kernels.max_abs(np.where((l2 == 0.0) & np.isinf(limits), quotients, 0.0))
        high = kernels.max_abs(np.where(l1 > 0.0, quotients, 0.0))
        quadratic = (l1 == 0.0) & (l2 > 0.0)
        if quadratic.any():
            norm = kernels.euclidean_norm(v[quadratic] / np.sqrt(l2[quadratic]))
            high = max(high, norm / sqrt(2.0 * radius))
        wider = 1.0 + 16.0 * EPSILON
        low, high = (max(x * wider - alpha, 0.0) + 16.0 * EPSILON * alpha for x in (low, high))
        return low, max(low, high)

    def support(self, v: Array, radius: float) -> float:
        return self.bounded_conjugate(v, 0.0, radius)

    def worst_case(self, v: Array, error: Array) -> Array:
        if self.even:
            return super().worst_case(v, error)
        _, _, lower, upper = self.terms
        largest = np.maximum(np.abs(v + error), np.abs(v - error))
        # where both signs are possible, the largest conjugate is on the side of the wider bound
        above = np.where(np.abs(v) > error, v >= 0.0, np.greater_equal(upper, np.negative(lower)))
        either = np.where(above, largest, -largest)
        one_sided = np.where(np.equal(upper, 0.0), v - error, either)
        return np.where(np.equal(lower, 0.0), v + error, one_sided)

    # What certificates and solvers ask for

    def intervals(self, slopes: Slopes, bound: float, radius: float) -> Array | None:
        l1, l2, lower, upper = (np.broadcast_to(term, slopes.v.shape) for term in self.terms)
        v, error, alpha = slopes
        error = error + ROUNDING * (np.abs(v) + alpha * l1)  # rounding of the differences below
        up = Side(v + error - alpha * l1, alpha * l2, upper)
        down = Side(error - v - alpha * l1, alpha * l2, -lower)
        free = np.broadcast_to(self._is_free, v.shape)
        highest = np.where(free, 0.0, np.maximum(up.conjugate, down.conjugate))
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
        intervals = wider(np.sort(np.column_stack([low, high]), axis=1))
        intervals[free] = -inf, inf
        return np.clip(intervals, lower[:, np.newaxis], upper[:, np.newaxis])

    def zeros(self, slopes: Slopes) -> Mask | None:
        """A mask of the coefficients at which alpha R(w) - v.w rises on both sides of w_j = 0.

        A side outside of the bounds counts as one on which the function increases.
        """
        l1, _, lower, upper = self.terms
        v, error, alpha = slopes
        steepness = alpha * l1 * (1.0 - ROUNDING)
        above = (v + error < steepness) | np.equal(upper, 0.0)
        below = (error - v < steepness) | np.equal(lower, 0.0)
        return above & below & ~np.asarray(self._is_free)

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        l1, l2, lower, upper = self.terms
        cones.add_separable(alpha * l1, alpha * l2, lower, upper)

    def step_sizes(self, step: Array) -> Array:
        """The step sizes themselves, one for each coefficient."""
        return step


def _weighted_l1(l1: Numbers, w: Array) -> float:
    """The sum of l1_j |w_j|."""
    if isinstance(l1, np.ndarray):
        return kernels.dot(l1, np.abs(w))
    return l1 * kernels.sum_abs(w) if l1 > 0.0 else 0.0


def _weighted_square(l2: Numbers, w: Array) -> float:
    """The sum of l2_j w_j^2 / 2, for a number l2 without overflow of the squares before it."""
    if isinstance(l2, np.ndarray):
        return 0.5 * kernels.dot(l2 * w, w)
    norm = kernels.euclidean_norm(w) if l2 > 0.0 else 0.0
    return 0.5 * norm * (l2 * norm)

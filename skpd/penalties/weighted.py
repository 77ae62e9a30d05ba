"""Separable penalties with a weight or bounds for each coefficient."""

from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import brentq

from .. import kernels
from .._checks import check_array
from .._floats import EPSILON
from .._typing import Array, ArrayLike, Indices, Mask, Numbers
from .base import FreeFeatures, Penalty, Structure
from .separable import _soft_threshold

STEPS = 30  # most steps of the search for the multiplier of a ball; each one gives a bound
PRECISION = 1e-9  # relative precision of that multiplier
FAR = 1e300  # stands for an infinite size


class _ByFeature(Penalty):
    """The penalty sum_j l1_j |w_j| + l2_j w_j^2 / 2 on [lower_j, upper_j].

    The numbers l1, l2, lower and upper are those of ``terms``.

    Coefficients with l1_j = l2_j = 0 are free: conjugates, dual norms and supports are suprema
    over the w that are 0 there.
    """

    structure: ClassVar[Structure] = Structure.SEPARABLE

    @property
    def n_features(self) -> int:
        return max(np.size(term) for term in self.terms)

    def for_n_features(self, n_features: int) -> Self:
        if n_features != self.n_features:
            raise ValueError(
                f"penalty_weights, bounds and the arrays of {type(self).__name__} must hold a "
                f"number for each of the {n_features} features, got {self.n_features}."
            )
        return self

    @cached_property
    def _arrays(self) -> tuple[Array, Array, Array, Array]:
        l1, l2, lower, upper = (np.broadcast_to(term, self.n_features) for term in self.terms)
        return l1, l2, lower, upper

    @cached_property
    def _is_free(self) -> Mask:
        l1, l2, _, _ = self._arrays
        return (l1 == 0.0) & (l2 == 0.0)

    @cached_property
    def free_features(self) -> FreeFeatures:
        _, _, lower, upper = self._arrays
        free = np.flatnonzero(self._is_free)
        return FreeFeatures(free, lower[free], upper[free])

    @cached_property
    def is_norm(self) -> bool:  # type: ignore[override]
        """Whether R is positively homogeneous: no l2 term, and bounds of 0 or infinity only."""
        _, l2, lower, upper = self._arrays
        cones = ((lower == 0.0) | (lower == -inf)) & ((upper == 0.0) | (upper == inf))
        return bool(np.all(l2 == 0.0) and np.all(cones | self._is_free))

    @cached_property
    def is_finite(self) -> bool:  # type: ignore[override]
        _, _, lower, upper = self.terms
        return bool(np.all(np.isinf(lower)) and np.all(np.isinf(upper)))

    @cached_property
    def even(self) -> bool:  # type: ignore[override]
        _, _, lower, upper = self._arrays
        return bool(np.all(lower == -upper))

    def value(self, w: Array) -> float:
        l1, l2, lower, upper = self._arrays
        if not self.is_finite and not np.all((w >= lower) & (w <= upper)):
            return inf
        return kernels.dot(l1, np.abs(w)) + 0.5 * kernels.dot(l2 * w, w)

    def prox(self, w: Array, step: Array | float) -> Array:
        l1, l2, lower, upper = self.terms
        return np.clip(_soft_threshold(w, step * l1) / (1.0 + step * l2), lower, upper)

    def feasible(self, w: Array) -> Array:
        _, _, lower, upper = self.terms
        return w if self.is_finite else np.clip(w, lower, upper)

    def _slopes(self, v: Array) -> Array:
        """The quotients abs(v_j) / l1_j; 0 for free coefficients and signs that are not allowed.

        The quotient is inf for l1_j = 0 and v_j not 0.
        """
        l1 = self._arrays[0]
        sizes = np.where((self._most(v) > 0.0) & ~self._is_free, np.abs(v), 0.0)
        with np.errstate(divide="ignore", over="ignore"):
            return np.divide(sizes, l1, out=np.zeros_like(sizes), where=sizes > 0.0)

    def _most(self, v: Array) -> Array:
        """The bound on abs(w_j) for coefficients with the sign of v_j."""
        _, _, lower, upper = self._arrays
        return np.where(v > 0.0, upper, -lower)

    def dual_norm(self, v: Array) -> float:
        """The dual norm R°(v), if R is a norm."""
        return kernels.max_abs(self._slopes(v))

    def largest_alpha(self, v: Array) -> float:
        return kernels.max_abs(self._slopes(v))

    def conjugate(self, v: Array, alpha: float) -> float:
        return self._maximum(v, alpha)[0]

    def _maximum(self, v: Array, alpha: float) -> tuple[float, float]:
        """The conjugate (alpha R)*(v), and the value R(w) at the maximiser w."""
        l1, l2, _, _ = self._arrays
        # the factor with 4 EPSILON bounds the rounding of alpha l1, whose difference may cancel
        excess = np.abs(v) - alpha * l1 * (1.0 - 4.0 * EPSILON)
        most = self._most(v)
        some = np.flatnonzero((excess > 0.0) & (most > 0.0) & ~self._is_free)
        if not len(some):
            return 0.0, 0.0
        e, curvature, w = excess[some], alpha * l2[some], most[some]
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            w = np.minimum(w, np.where(curvature > 0.0, e / curvature, inf))
            if not isfinite(kernels.max_abs(w)):
                return inf, inf
            value = float(np.sum(w * (e - 0.5 * curvature * w)))
            return value, float(np.sum(w * (l1[some] + 0.5 * l2[some] * w)))

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        """The bound ((tau + alpha) R)*(v) + tau radius with a multiplier tau of R(w) <= radius.

        This is an upper bound for every tau >= 0. The best tau is the one for which R at the
        maximiser is the radius.
        """
        if radius == 0.0:
            return 0.0
        best, size = self._maximum(v, alpha)
        if size <= radius:
            return best
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
        l1, l2, _, _ = self._arrays
        slopes = self._slopes(v)
        linear = (l2 == 0.0) & np.isinf(self._most(v))
        low = kernels.max_abs(np.where(linear, slopes, 0.0))
        quadratic = (l1 == 0.0) & ~self._is_free
        high = kernels.max_abs(np.where(l1 > 0.0, slopes, 0.0))
        if quadratic.any():
            norm = kernels.euclidean_norm(v[quadratic] / np.sqrt(l2[quadratic]))
            high = max(high, norm / sqrt(2.0 * radius))
        wider = 1.0 + 16.0 * EPSILON
        low, high = (max(x * wider - alpha, 0.0) + 16.0 * EPSILON * alpha for x in (low, high))
        return low, max(low, high)

    def support(self, v: Array, radius: float) -> float:
        return self.bounded_conjugate(v, 0.0, radius)

    def widest(self, v: Array, error: Array) -> Array:
        _, _, lower, upper = self._arrays
        largest = np.maximum(np.abs(v + error), np.abs(v - error))
        # where both signs are possible, the largest conjugate is on the side of the wider bound
        sign = np.where(np.abs(v) > error, np.sign(v), np.where(upper >= -lower, 1.0, -1.0))
        found = sign * largest
        return np.where(lower == 0.0, v + error, np.where(upper == 0.0, v - error, found))


@dataclass(frozen=True, eq=False)
class WeightedL1(_ByFeature):
    """Weighted lasso penalty, ``sum_j weight_j |w_j|``.

    Parameters
    ----------
    weights : array-like of shape (n_features,)
        Finite numbers of at least 0. Coefficients with a weight of 0 are not penalised.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import WeightedL1
    >>> WeightedL1([0.0, 1.0, 2.0]).prox(np.array([3.0, 3.0, 3.0]), 1.0)
    array([3., 2., 1.])
    """

    weights: Any

    def __post_init__(self) -> None:
        weights = check_array("weights of WeightedL1", self.weights, least=0.0)
        object.__setattr__(self, "weights", np.atleast_1d(weights))

    @property
    def terms(self) -> tuple[Numbers, float, float, float]:
        return self.weights, 0.0, -inf, inf


@dataclass(frozen=True, eq=False)
class Separable(_ByFeature):
    """Separable penalty ``sum_j (l1_j |w_j| + l2_j w_j^2 / 2)``, ``lower_j <= w_j <= upper_j``.

    Parameters
    ----------
    l1, l2 : float or array-like of shape (n_features,), default=1.0 and 0.0
        Finite numbers of at least 0. Coefficients for which both are 0 are not penalised.
    lower, upper : float or array-like of shape (n_features,), default=-inf and inf
        Bounds with lower_j <= 0 <= upper_j.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import Separable
    >>> Separable(l1=[0.0, 1.0], lower=0.0).for_n_features(2).prox(np.array([3.0, -2.0]), 1.0)
    array([3., 0.])
    """

    l1: Any = 1.0
    l2: Any = 0.0
    lower: Any = -inf
    upper: Any = inf

    def __post_init__(self) -> None:
        limits = {"l1": (0.0, inf), "l2": (0.0, inf), "lower": (-inf, 0.0), "upper": (0.0, inf)}
        arrays = {
            name: check_array(
                f"{name} of Separable", getattr(self, name), least=least, most=most,
                finite=name in ("l1", "l2"),
            )
            for name, (least, most) in limits.items()
        }  # fmt: skip
        lengths = sorted({len(array) for array in arrays.values() if np.ndim(array)})
        if len(lengths) > 1:
            raise ValueError(
                "l1, l2, lower and upper of Separable must be numbers or have the same length, "
                f"got lengths {lengths}."
            )
        if np.any((np.asarray(arrays["lower"]) == 0.0) & (np.asarray(arrays["upper"]) == 0.0)):
            raise ValueError(
                "lower and upper of Separable must differ, got 0 for both: leave the feature out."
            )
        for name, array in arrays.items():
            object.__setattr__(self, name, array)

    @property
    def terms(self) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        return self.l1, self.l2, self.lower, self.upper

    def for_n_features(self, n_features: int) -> "Separable":
        if not any(map(np.ndim, self.terms)):
            l1 = np.full(n_features, self.l1)
            return Separable(l1, self.l2, self.lower, self.upper)
        return super().for_n_features(n_features)

    def without_ridge(self) -> tuple[float, Penalty | None, float]:
        least = float(np.min(self.l2))
        return least, Separable(self.l1, self.l2 - least, self.lower, self.upper), 1.0


def for_features(
    penalty: Penalty,
    weights: ArrayLike | None = None,
    lower: ArrayLike = -inf,
    upper: ArrayLike = inf,
) -> "WeightedL1 | Separable":
    """A separable penalty with a weight for each feature, and with additional bounds.

    Parameters
    ----------
    penalty : Penalty
        A sum over single coefficients, such as `L1`, `ElasticNet`, `SquaredL2` or
        `NonNegativeL1`.
    weights : array-like of shape (n_features,), default=None
        Factors of the terms of the penalty; 1 by default.
    lower, upper : float or array-like of shape (n_features,), default=-inf and inf
        Bounds on the coefficients, in addition to those of the penalty.

    Raises
    ------
    ValueError
        If the penalty is not a sum over single coefficients, or if weights or bounds are not
        numbers in their range.

    Examples
    --------
    >>> from skpd.penalties import ElasticNet, for_features
    >>> for_features(ElasticNet(0.5), [0.0, 1.0]).terms[:2]
    (array([0. , 0.5]), array([0. , 0.5]))
    """
    if penalty.structure is not Structure.SEPARABLE:
        raise ValueError(
            "Weights and bounds of features need a penalty of single coefficients (L1, "
            f"ElasticNet, SquaredL2, NonNegativeL1, Box, WeightedL1, Separable), got {penalty!r}."
        )
    l1, l2, own_lower, own_upper = penalty.terms
    shares = check_array("penalty_weights", 1.0 if weights is None else weights, least=0.0)
    lower = check_array("The lower bounds", lower, least=-inf, most=0.0, finite=False)
    upper = check_array("The upper bounds", upper, least=0.0, finite=False)
    lower, upper = np.maximum(lower, own_lower), np.minimum(upper, own_upper)
    unbounded = bool(np.all(np.isinf(lower)) and np.all(np.isinf(upper)))
    if np.ndim(shares) and np.all(l2 == 0.0) and unbounded:
        return WeightedL1(l1 * shares)
    return Separable(l1 * shares, l2 * shares, lower, upper)


def restricted(penalty: Penalty, columns: Indices) -> Penalty:
    """A sum over coefficients as a penalty of some of them, where the others are 0."""
    if not any(map(np.ndim, penalty.terms)):
        return penalty
    return Separable(*(term[columns] if np.ndim(term) else term for term in penalty.terms))


def with_coefficient(penalty: Penalty, n_features: int, weight: float) -> Penalty:
    """The penalty R(w) + weight |t| of the coefficients (w, t), of length n_features + 1.

    Parameters
    ----------
    penalty : Penalty
        R: a sum over single coefficients, or a penalty with a method `Penalty.with_coefficient`.
    n_features : int
        The number of coefficients that R has.
    weight : float
        The weight of abs(t), at least 0; with 0 the last coefficient is free.

    Raises
    ------
    ValueError
        If R is none of these.
    """
    if penalty.structure is Structure.SEPARABLE:
        l1, l2, lower, upper = (np.broadcast_to(term, n_features) for term in penalty.terms)
        l1, l2 = np.append(l1, weight), np.append(l2, 0.0)
        return Separable(l1, l2, np.append(lower, -inf), np.append(upper, inf))
    extended: Penalty | None = penalty.with_coefficient(n_features, weight)
    if extended is None:
        raise ValueError(
            "The penalty must be a sum over single coefficients (L1, SquaredL2, ElasticNet, "
            "WeightedL1, Separable ...), L2Norm or GroupL2 for a model with one more unknown, got "
            f"{penalty!r}."
        )
    return extended

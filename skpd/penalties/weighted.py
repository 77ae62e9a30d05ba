"""Separable penalties with a weight or bounds for each coefficient, or one more coefficient."""

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from .._checks import check_array
from .._immutable_base import attribute_of_part
from .._typing import Array, ArrayLike, Indices, Mask
from .base import Penalty, Structure, _product, cached_attribute
from .separable import SeparablePenalty, soft_threshold


@dataclass(frozen=True, eq=False)
class WeightedL1(SeparablePenalty):
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

    weights: ArrayLike

    def __post_init__(self) -> None:
        weights = check_array("weights of WeightedL1", self.weights, minimum=0.0)
        object.__setattr__(self, "weights", np.atleast_1d(weights))
        object.__setattr__(self, "terms", (self.weights, 0.0, -inf, inf))


@dataclass(frozen=True, eq=False)
class Separable(SeparablePenalty):
    """Separable penalty ``sum_j (l1_j |w_j| + l2_j w_j^2 / 2)``, ``lower_j <= w_j <= upper_j``.

    Parameters
    ----------
    l1, l2 : float or array-like of shape (n_features,), default=1.0 and 0.0
        Finite numbers of at least 0. Coefficients for which both are 0 are not penalised.
    lower, upper : float or array-like of shape (n_features,), default=-inf and inf
        Bounds with lower_j <= 0 <= upper_j; a coefficient is 0 where both are.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import Separable
    >>> Separable(l1=[0.0, 1.0], lower=0.0).for_n_features(2).prox(np.array([3.0, -2.0]), 1.0)
    array([3., 0.])
    """

    l1: ArrayLike = 1.0
    l2: ArrayLike = 0.0
    lower: ArrayLike = -inf
    upper: ArrayLike = inf

    def __post_init__(self) -> None:
        limits = {"l1": (0.0, inf), "l2": (0.0, inf), "lower": (-inf, 0.0), "upper": (0.0, inf)}
        for name, (minimum, maximum) in limits.items():
            array = check_array(
                f"{name} of Separable", getattr(self, name), minimum=minimum, maximum=maximum,
                finite=name in ("l1", "l2"),
            )  # fmt: skip
            object.__setattr__(self, name, array)
        l1, l2, lower, upper = arrays = tuple(getattr(self, name) for name in limits)
        lengths = sorted({len(array) for array in arrays if np.ndim(array)})
        if len(lengths) > 1:
            raise ValueError(
                "l1, l2, lower and upper of Separable must be numbers or have the same length, "
                f"got lengths {lengths}."
            )
        # a coefficient that is 0 by its bounds is not free
        fixed = np.equal(lower, 0.0) & np.equal(upper, 0.0) & np.equal(l2, 0.0)
        l1 = np.where(fixed & np.equal(l1, 0.0), 1.0, l1)[()] if np.any(fixed) else l1
        object.__setattr__(self, "terms", (l1, l2, lower, upper))

    def for_n_features(self, n_features: int) -> "Separable":
        l1, *others = self.terms
        if self.treats_alike:
            return Separable(np.full(n_features, l1), *others)
        return super().for_n_features(n_features)

    def without_ridge(self) -> tuple[float, Penalty | None, float]:
        l1, l2, lower, upper = self.terms
        ridge = self.strong_convexity
        return ridge, Separable(l1, l2 - ridge, lower, upper), 1.0


def unpenalised(penalty: Penalty) -> "WeightedL1 | Separable":
    """A separable penalty with no weight, which keeps its bounds on the coefficients."""
    return for_features(penalty, 0.0)


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
        Factors of the terms of the penalty; 1 by default. A feature with an infinite factor has a
        coefficient of 0.
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
            "penalty_weights and bounds need a penalty of single coefficients (L1, "
            f"ElasticNet, SquaredL2, NonNegativeL1, Box, WeightedL1, Separable), got {penalty!r}."
        )
    l1, l2, own_lower, own_upper = penalty.terms
    shares = check_array(
        "penalty_weights", 1.0 if weights is None else weights, minimum=0.0, finite=False
    )
    order = "of bounds, which need lower <= 0 <= upper,"
    lower = check_array(f"lower {order}", lower, minimum=-inf, maximum=0.0, finite=False)
    upper = check_array(f"upper {order}", upper, minimum=0.0, finite=False)
    lower, upper = np.maximum(lower, own_lower), np.minimum(upper, own_upper)
    left_out = np.isinf(shares)
    shares = np.where(left_out, 1.0, shares) if np.any(left_out) else shares
    unbounded = bool(np.all(np.isinf(lower)) and np.all(np.isinf(upper)))
    if np.ndim(shares) and np.all(l2 == 0.0) and unbounded and not np.any(left_out):
        return WeightedL1(l1 * shares)
    separable = Separable(l1 * shares, l2 * shares, lower, upper)
    if np.any(left_out):
        lower, upper = (np.where(left_out, 0.0, bound) for bound in (lower, upper))
        separable = replace(separable, lower=lower, upper=upper)
    return separable


class WithinBounds(Separable):
    """A penalty whose coefficients between two finite bounds are not free without a weight.

    Bounds of free coefficients follow from the losses; here the support function of the bounds
    takes their place, which constraints need.
    """

    @cached_attribute
    def _is_free(self) -> Mask | bool:
        l1, l2, lower, upper = self.terms
        return (l1 == 0.0) & (l2 == 0.0) & ~(np.isfinite(lower) & np.isfinite(upper))


def within_bounds(penalty: Penalty) -> Penalty:
    """The penalty for constraints: as `WithinBounds` if it leaves bounded coefficients free."""
    _, lower, upper = penalty.free_features
    is_bounded = np.any(np.isfinite(lower) & np.isfinite(upper))
    separable = penalty.structure is Structure.SEPARABLE
    return WithinBounds(*penalty.terms) if separable and is_bounded else penalty


def restricted(penalty: Penalty, columns: Indices) -> Penalty:
    """A sum over coefficients as a penalty of some of them, where the others are 0."""
    lengths = {len(term) for term in penalty.terms if isinstance(term, np.ndarray)}
    if lengths <= {len(columns)}:  # for all of them, or alike
        return penalty
    terms = (term[columns] if isinstance(term, np.ndarray) else term for term in penalty.terms)
    return Separable(*terms)


@dataclass(frozen=True, eq=False)
class WithExtraCoefficient(Penalty):
    """The penalty R(w) + weight |t| of coefficients w, followed by t.

    Parameters
    ----------
    penalty : Penalty
        R, of vectors, which leaves no level free.
    weight : float
        A number greater than 0.
    """

    penalty: Penalty
    weight: float
    is_norm = attribute_of_part("penalty.is_norm")
    even = attribute_of_part("penalty.even")
    is_finite = attribute_of_part("penalty.is_finite")
    free_features = attribute_of_part("penalty.free_features")

    def for_n_features(self, n_features: int) -> "WithExtraCoefficient":
        return replace(self, penalty=self.penalty.for_n_features(n_features - 1))

    def value(self, w: Array) -> float:
        return self.penalty.value(w[:-1]) + self.weight * abs(float(w[-1]))

    def feasible(self, w: Array) -> Array:
        return np.append(self.penalty.feasible(w[:-1]), w[-1])

    def prox(self, w: Array, step: Array | float) -> Array:
        step = float(np.min(step))
        last = soft_threshold(w[-1:], step * self.weight)
        return np.append(self.penalty.prox(w[:-1], step), last)

    def worst_case(self, v: Array, error: Array) -> Array:
        of_penalty = self.penalty.worst_case(v[:-1], error[:-1])  # in two rows for some penalties
        last = np.zeros((*of_penalty.shape[:-1], 1))
        last.flat[0] = abs(v[-1]) + error[-1]
        return np.append(of_penalty, last, axis=-1)

    def dual_norm(self, v: Array) -> float:
        return max(self.penalty.dual_norm(v[..., :-1]), self._last(v))

    def conjugate(self, v: Array, alpha: float) -> float:
        return self.penalty.conjugate(v[..., :-1], alpha) if self._last(v) <= alpha else inf

    def support(self, v: Array, radius: float) -> float:
        if self.is_norm:
            return _product(radius, self.dual_norm(v))
        return self.penalty.support(v[..., :-1], radius) + _product(radius, self._last(v))

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        if self.is_norm:
            return _product(radius, max(self.dual_norm(v) - alpha, 0.0))
        bound = self.penalty.bounded_conjugate(v[..., :-1], alpha, radius)
        return bound + _product(radius, max(self._last(v) - alpha, 0.0))

    def _last(self, v: Array) -> float:
        """The dual norm of the last coefficient, or of the first of its two rows."""
        return abs(float(v[..., -1].flat[0])) / self.weight


def with_extra_coefficient(penalty: Penalty, n_features: int, weight: float) -> Penalty:
    """The penalty R(w) + weight |t| of the coefficients (w, t), of length n_features + 1.

    Parameters
    ----------
    penalty : Penalty
        R: a sum over single coefficients, or a penalty with a method
        `Penalty.with_extra_coefficient`; with a weight greater than 0 any penalty that leaves no
        level free.
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
    extended: Penalty | None = penalty.with_extra_coefficient(n_features, weight)
    if extended is None and weight > 0.0 and not penalty.free_level:
        extended = WithExtraCoefficient(penalty, weight)
    if extended is None:
        raise ValueError(
            "The penalty must be a sum over single coefficients (L1, SquaredL2, ElasticNet, "
            "WeightedL1, Separable ...), L2Norm or GroupL2 for a model with one more unknown, got "
            f"{penalty!r}."
        )
    return extended

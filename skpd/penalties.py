"""Penalties: convex functions of the coefficients, their prox and their conjugates.

A penalty R enters a model as alpha R(w). A class gives the value and the proximal
operator of R and the conjugate of alpha R; a norm gives its dual norm instead of the
conjugate. An object of your own with the methods of `Penalty` works wherever an
estimator takes a penalty; subclass `Norm` (value, prox, dual_norm) or `Penalty` (value, prox,
conjugate, support) and the rest is inherited.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, field
from math import expm1, fsum, hypot, inf, log1p, sqrt
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from . import kernels
from ._checks import check_number
from ._typing import Array

__all__ = [
    "L1",
    "L2",
    "Box",
    "ElasticNet",
    "ElasticNetBall",
    "FusedLasso",
    "GroupL2",
    "L1Ball",
    "LInf",
    "NonNegativeL1",
    "Norm",
    "Penalty",
    "SparseGroup",
    "SquaredL2",
    "SquaredL2OnL1Ball",
    "TotalVariation",
]


_EPSILON = float(np.finfo(np.float64).eps)


def _soft_threshold(w: Array, threshold):
    return w - np.minimum(np.maximum(w, -threshold), threshold)  # np.clip takes longer


def _half_square(norm, alpha):
    """norm^2 / (2 alpha), without underflow of the square; its limit where alpha underflows."""
    if alpha == 0.0:
        return inf if norm > 0.0 else 0.0
    return 0.5 * norm * (norm / alpha)


class Penalty(ABC):
    """A convex penalty R >= 0 on the coefficients with R(0) = 0.

    Attributes
    ----------
    free_level : bool
        Whether R is the same for w + m, whatever the constant m. The level, the mean of w,
        is then left to the loss (`Problem.level_interval`): `support`, `bounded_conjugate`
        and `dual_norm` are suprema over the w of level 0.
    """

    free_level: ClassVar[bool] = False

    def bind(self, n_features: int):
        """The penalty for coefficients of this length.

        Raises
        ------
        ValueError
            If the penalty does not fit ``n_features`` features.
        """
        return self

    @abstractmethod
    def value(self, w: Array) -> float:
        """R(w); inf outside its domain."""

    @abstractmethod
    def prox(self, w: Array, step: Array | float) -> Array:
        """argmin over x of sum_j (x_j - w_j)^2 / (2 step_j) + R(x).

        Parameters
        ----------
        w : ndarray of shape (n_features,)
        step : float or ndarray of shape (n_features,)
            As `step_sizes` allows.
        """

    @abstractmethod
    def conjugate(self, v: Array, alpha: float) -> float:
        """(alpha R)*(v) = sup over w of v.w - alpha R(w)."""

    @abstractmethod
    def support(self, v: Array, radius: float) -> float:
        """An upper bound on sup of v.w over R(w) <= radius."""

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        """An upper bound on sup of v.w - alpha R(w) over R(w) <= radius."""
        return self.conjugate(v, alpha)

    def feasible(self, w: Array) -> Array:
        """The nearest point where R is finite."""
        return w

    def widest(self, v: Array, error: Array) -> Array:
        """The point of the box v - error <= . <= v + error with the largest conjugate and support.

        As it is here for penalties of the absolute values of w.
        """
        return v + np.copysign(error, v)

    def step_sizes(self, step: Array) -> Array:
        """The largest step sizes, none above ``step``, for which `prox` has its closed form."""
        return np.full_like(step, np.min(step))


class Norm(Penalty):
    """A penalty that is a norm: its conjugate is the indicator of a dual ball."""

    @abstractmethod
    def dual_norm(self, v: Array) -> float:
        """R°(v) = sup of v.w over R(w) <= 1."""

    def conjugate(self, v: Array, alpha: float) -> float:
        return 0.0 if self.dual_norm(v) <= alpha else inf

    def support(self, v: Array, radius: float) -> float:
        return _product(radius, self.dual_norm(v))

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        return _product(radius, max(self.dual_norm(v) - alpha, 0.0))


def _product(radius: float, norm):
    return 0.0 if norm == 0.0 else radius * norm


class _Separable:
    """A sum of functions of one coefficient each: any step sizes will do.

    ``terms`` are the l1, l2, lower and upper of its one function
    l1 |w_j| + l2 w_j^2 / 2 on [lower, upper].
    """

    @property
    @abstractmethod
    def terms(self) -> tuple[float, float, float, float]: ...

    def step_sizes(self, step: Array) -> Array:
        return step

    def coordinate_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        """An upper bound on sup of v.w - alpha R(w) over l1 |w_j| <= radius for every j."""
        l1, l2, lower, upper = self.terms
        allowed = np.where(v > 0.0, min(upper, radius / l1), -max(lower, -radius / l1))
        # 4: the product alpha l1, rounded, may cancel
        excess = np.where(allowed > 0.0, np.abs(v) - alpha * l1 * (1.0 - 4.0 * _EPSILON), 0.0)
        excess = np.maximum(excess, 0.0)
        if l2 == 0.0:
            return float(np.sum(np.where(excess > 0.0, excess * allowed, 0.0)))
        w = np.minimum(excess / (alpha * l2), allowed)
        return float(np.sum(w * (excess - 0.5 * alpha * l2 * w)))


@dataclass(frozen=True)
class L1(_Separable, Norm):
    """Lasso penalty, ``||w||_1``.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import L1
    >>> L1().prox(np.array([3.0, -0.5]), 1.0)
    array([2., 0.])
    """

    terms = (1.0, 0.0, -inf, inf)

    def value(self, w: Array) -> float:
        return kernels.sum_abs(w)

    def prox(self, w: Array, step: Array | float) -> Array:
        return _soft_threshold(w, step)

    def dual_norm(self, v: Array) -> float:
        return kernels.max_abs(v)


@dataclass(frozen=True)
class NonNegativeL1(_Separable, Norm):
    """Lasso penalty under the constraint w >= 0: ``sum_j w_j``, or inf.

    A norm but for its sign: what `Norm` derives from the dual norm holds, here of
    ``R°(v) = max(v_1, ..., v_d, 0)``.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import NonNegativeL1
    >>> NonNegativeL1().prox(np.array([3.0, -5.0]), 1.0)
    array([2., 0.])
    """

    terms = (1.0, 0.0, 0.0, inf)

    def value(self, w: Array) -> float:
        return float(np.sum(w)) if np.all(w >= 0.0) else inf

    def prox(self, w: Array, step: Array | float) -> Array:
        return np.maximum(w - step, 0.0)

    def dual_norm(self, v: Array) -> float:
        return float(np.max(v, initial=0.0))

    def feasible(self, w: Array) -> Array:
        return np.maximum(w, 0.0)

    def widest(self, v: Array, error: Array) -> Array:
        return v + error


@dataclass(frozen=True)
class L2(Norm):
    """Euclidean norm, ``||w||_2``, not squared.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import L2
    >>> L2().prox(np.array([3.0, 4.0]), 1.0)
    array([2.4, 3.2])
    """

    def value(self, w: Array) -> float:
        return kernels.euclidean_norm(w)

    def prox(self, w: Array, step: Array | float) -> Array:
        norm, step = kernels.euclidean_norm(w), np.max(step)
        return w * (1.0 - step / norm) if norm > step else np.zeros_like(w)

    def dual_norm(self, v: Array) -> float:
        return kernels.euclidean_norm(v)


@dataclass(frozen=True)
class LInf(Norm):
    """Maximum norm, ``max_j |w_j|``.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import LInf
    >>> LInf().prox(np.array([3.0, -1.0]), 1.0)
    array([ 2., -1.])
    """

    def value(self, w: Array) -> float:
        return kernels.max_abs(w)

    def prox(self, w: Array, step: Array | float) -> Array:
        # Moreau: the prox of a norm is what its dual ball's projection leaves over
        return w - kernels.project_l1_ball(np.ascontiguousarray(w), float(np.max(step)))

    def dual_norm(self, v: Array) -> float:
        return kernels.sum_abs(v)


@dataclass(frozen=True)
class SquaredL2(_Separable, Penalty):
    """Ridge penalty, ``||w||_2^2 / 2``.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import SquaredL2
    >>> SquaredL2().prox(np.array([3.0, -1.0]), 1.0)
    array([ 1.5, -0.5])
    """

    terms = (0.0, 1.0, -inf, inf)

    def value(self, w: Array) -> float:
        return _half_square(kernels.euclidean_norm(w), 1.0)

    def prox(self, w: Array, step: Array | float) -> Array:
        return w / (1.0 + step)

    def conjugate(self, v: Array, alpha: float) -> float:
        return _half_square(kernels.euclidean_norm(v), alpha)

    def support(self, v: Array, radius: float) -> float:
        return _product(sqrt(2.0 * radius), kernels.euclidean_norm(v))


@dataclass(frozen=True)
class ElasticNet(_Separable, Penalty):
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

    l1_ratio: float = 0.5

    def __post_init__(self) -> None:
        check_number(self, "l1_ratio", above=0.0, below=1.0)

    @property
    def terms(self) -> tuple[float, float, float, float]:
        return (self.l1_ratio, 1.0 - self.l1_ratio, -inf, inf)

    def value(self, w: Array) -> float:
        norm = kernels.euclidean_norm(w)
        return self.l1_ratio * kernels.sum_abs(w) + 0.5 * norm * ((1.0 - self.l1_ratio) * norm)

    def prox(self, w: Array, step: Array | float) -> Array:
        return _soft_threshold(w, step * self.l1_ratio) / (1.0 + step * (1.0 - self.l1_ratio))

    def conjugate(self, v: Array, alpha: float) -> float:
        excess = self._excess(v, alpha)
        return _half_square(kernels.euclidean_norm(excess), alpha * (1.0 - self.l1_ratio))

    def _excess(self, v: Array, alpha: float) -> Array:
        """What of |v_j| is above alpha l1_ratio, where anything is."""
        return kernels.excess(v, alpha * self.l1_ratio)

    def largest_alpha(self, v: Array) -> float:
        """The least alpha with conjugate(v, alpha) = 0."""
        return kernels.max_abs(v) / self.l1_ratio

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        # R(w) <= radius implies ||w||_1 <= r = radius / l1_ratio. With a multiplier tau >= 0 of
        # that, the sup is at most tau r + sum_j max(e_j - tau, 0)^2 / (2 c): for every tau, and
        # least where max(e - tau, 0) / c is the projection of e / c onto the l1 ball
        excess = self._excess(v, alpha)
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
            rest = _half_square(kernels.euclidean_norm(np.maximum(excess - tau, 0.0)), c)
            bound = min(bound, tau * r + rest)
        return bound

    def support(self, v: Array, radius: float) -> float:
        return min(
            _product(radius / self.l1_ratio, kernels.max_abs(v)),
            _product(sqrt(2.0 * radius / (1.0 - self.l1_ratio)), kernels.euclidean_norm(v)),
        )


def _holds_integers(values: Any) -> bool:
    """Whether this is a non-empty list of whole numbers."""
    try:
        array = np.asarray(values)
    except ValueError:  # a ragged list
        return False
    return array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"


@dataclass(frozen=True)
class _Partition:
    """A partition of the features into groups: features in group order and where groups start."""

    order: Any
    starts: Any  # one more than there are groups
    labels: Any  # group of each feature

    @classmethod
    def of(cls, groups: Any, n_features: int) -> "_Partition":
        """From a size, a list of sizes or a list of index lists."""
        if isinstance(groups, Integral) and not isinstance(groups, bool):
            if groups < 1 or n_features % groups:
                raise ValueError(
                    "groups as a size must be at least 1 and divide the number of features, "
                    f"{n_features}, got {groups!r}."
                )
            sizes = np.full(n_features // int(groups), int(groups))
            order = np.arange(n_features)
        elif _holds_integers(groups):
            sizes = np.asarray(groups, dtype=np.int64)
            if sizes.min() < 1 or sizes.sum() != n_features:
                raise ValueError(
                    "groups as a list of sizes must hold sizes of at least 1 whose sum is the "
                    f"number of features, {n_features}, got the sum {sizes.sum()}."
                )
            order = np.arange(n_features)
        elif isinstance(groups, Iterable) and all(map(_holds_integers, groups)):
            lists = [np.asarray(group, dtype=np.int64).ravel() for group in groups]
            sizes = np.array([len(group) for group in lists], dtype=np.int64)
            order = np.concatenate([*lists, np.empty(0, dtype=np.int64)])
            if order.size and (order.min() < 0 or order.max() >= n_features):
                raise ValueError(
                    f"groups must hold feature indices from 0 to {n_features - 1}, got "
                    f"{order.min()} to {order.max()}."
                )
            counts = np.bincount(order, minlength=n_features)
            for problem, found in (("overlap", counts > 1), ("miss", counts < 1)):
                if found.any():
                    raise ValueError(
                        f"groups must hold every feature exactly once, but they {problem} at "
                        f"feature {int(np.flatnonzero(found)[0])} ({int(found.sum())} features "
                        "in all)."
                    )
        else:
            raise ValueError(
                "groups must be a size, a list of sizes or a list of non-empty lists of feature "
                f"indices, all whole numbers, got {groups!r}."
            )
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        labels = np.empty(n_features, dtype=np.int64)
        labels[order] = np.repeat(np.arange(len(sizes)), sizes)
        return cls(order, starts, labels)

    @property
    def n_groups(self):
        return len(self.starts) - 1

    def norms(self, w: Array):
        """Euclidean norm of each group, safe from under- and overflow."""
        w = np.ascontiguousarray(w, dtype=np.float64)
        return kernels.group_norms(w, self.order, self.starts)

    def minima(self, step: Array):
        """The smallest entry in each group, for each feature."""
        return np.minimum.reduceat(step[self.order], self.starts[:-1])[self.labels]

    def shrink(self, w: Array, threshold):
        """Shorten each group by its threshold."""
        norms = self.norms(w)
        factor = np.maximum(norms - threshold, 0.0) / np.where(norms > 0.0, norms, 1.0)
        return w * factor[self.labels]

    def per_group(self, step: Array | float):
        """One of the (equal) step sizes of each group."""
        return step[self.order[self.starts[:-1]]] if isinstance(step, np.ndarray) else step


class _Grouped(Norm):
    """What the group norms share: the partition and the weights, fixed by `bind`.

    ``group_terms`` are the weight of the l1 norm and the weights of the groups' norms.
    """

    groups: Any
    weights: Any
    _partition: Any
    _weights: Any

    def bind(self, n_features: int) -> "_Grouped":
        partition = _Partition.of(self.groups, n_features)
        if self.weights is None:
            weights = np.sqrt(np.diff(partition.starts).astype(np.float64))
        else:
            try:
                weights = np.asarray(self.weights, dtype=np.float64)
            except (TypeError, ValueError):
                weights = np.array(np.nan)
            if weights.shape != (partition.n_groups,) or not (
                np.isfinite(weights).all() and (weights > 0).all()
            ):
                raise ValueError(
                    f"The weights of groups must be {partition.n_groups} finite numbers above 0, "
                    f"one for each group, got {self.weights!r}."
                )
        bound = copy(self)
        object.__setattr__(bound, "_partition", partition)
        object.__setattr__(bound, "_weights", weights)
        return bound

    @property
    def partition(self) -> _Partition:
        """The groups, once the number of features is known."""
        return self._partition

    @property
    def labels(self) -> Any:
        """The group of each feature."""
        return self._partition.labels

    @property
    @abstractmethod
    def group_terms(self) -> tuple[float, Array]: ...

    def _bound(self, w: Array) -> Any:
        return self if self._partition is not None else self.bind(len(w))

    def step_sizes(self, step: Array) -> Array:
        return self._bound(step)._partition.minima(step)


@dataclass(frozen=True, eq=False)
class GroupL2(_Grouped):
    """Group lasso penalty, ``sum_g weight_g ||w_g||_2``.

    Parameters
    ----------
    groups : int, list of int or list of lists of int, default=1
        The partition of the features: the size of consecutive groups, their sizes, or
        the indices of each group's features.
    weights : array-like of shape (n_groups,), default=None
        Weight of each group; the square root of its size by default.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import GroupL2
    >>> penalty = GroupL2(groups=2, weights=[1.0, 1.0]).bind(4)
    >>> penalty.prox(np.array([3.0, 4.0, 0.1, 0.1]), 1.0)
    array([2.4, 3.2, 0. , 0. ])
    """

    groups: Any = 1
    weights: Any = None
    _partition: Any = field(default=None, init=False, repr=False)
    _weights: Any = field(default=None, init=False, repr=False)

    @property
    def group_terms(self) -> tuple[float, Array]:
        return 0.0, self._weights

    def value(self, w: Array) -> float:
        bound = self._bound(w)
        return float(np.sum(bound._weights * bound._partition.norms(w)))  # in pairs

    def prox(self, w: Array, step: Array | float) -> Array:
        bound = self._bound(w)
        return bound._partition.shrink(w, bound._partition.per_group(step) * bound._weights)

    def dual_norm(self, v: Array) -> float:
        bound = self._bound(v)
        return float(np.max(bound._partition.norms(v) / bound._weights, initial=0.0))


@dataclass(frozen=True, eq=False)
class SparseGroup(_Grouped):
    """Sparse group lasso: ``l1_ratio`` times the lasso, the rest times the group lasso penalty.

    Parameters
    ----------
    groups : int, list of int or list of lists of int, default=1
        As for `GroupL2`.
    weights : array-like of shape (n_groups,), default=None
        As for `GroupL2`.
    l1_ratio : float, default=0.5
        Share of the l1 norm, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import SparseGroup
    >>> penalty = SparseGroup(groups=2, weights=[1.0], l1_ratio=0.5).bind(2)
    >>> penalty.prox(np.array([6.5, 8.5]), 1.0)
    array([5.7, 7.6])
    """

    groups: Any = 1
    weights: Any = None
    l1_ratio: float = 0.5
    _partition: Any = field(default=None, init=False, repr=False)
    _weights: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_number(self, "l1_ratio", least=0.0, most=1.0)

    @property
    def group_terms(self) -> tuple[float, Array]:
        return self.l1_ratio, (1.0 - self.l1_ratio) * self._weights

    def value(self, w: Array) -> float:
        bound = self._bound(w)
        groups = float(np.sum(bound._weights * bound._partition.norms(w)))
        return self.l1_ratio * kernels.sum_abs(w) + (1.0 - self.l1_ratio) * groups

    def prox(self, w: Array, step: Array | float) -> Array:
        bound = self._bound(w)
        threshold = bound._partition.per_group(step) * (1.0 - self.l1_ratio) * bound._weights
        return bound._partition.shrink(_soft_threshold(w, step * self.l1_ratio), threshold)

    def dual_norm(self, v: Array) -> float:
        bound = self._bound(v)
        norms = kernels.sparse_group_dual_norms(
            np.ascontiguousarray(v[bound._partition.order]),
            bound._partition.starts,
            bound._weights,
            self.l1_ratio,
        )
        return float(np.max(norms, initial=0.0))


class _Chain(Norm):
    """A penalty with differences of neighbours.

    No point of a box stands for all of it, so `widest` gives the box itself, and the other
    methods take (v, error) as well as v.
    """

    def widest(self, v: Array, error: Array) -> Array:
        return np.stack([v, error])

    @staticmethod
    def _with_error(v: Array) -> tuple[Array, float]:
        if v.ndim == 1:
            return np.ascontiguousarray(v), 0.0
        return v[0], float(np.sum(v[1]))


@dataclass(frozen=True)
class TotalVariation(_Chain):
    """Total variation of the coefficients in their order, ``sum_j |w_{j+1} - w_j|``.

    It favours coefficients that are constant on intervals, and does not penalise their level.
    With X the identity and the squared loss it is total variation denoising.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import TotalVariation
    >>> TotalVariation().prox(np.array([0.0, 0.0, 5.0, 5.0]), 1.0)
    array([0.5, 0.5, 4.5, 4.5])
    """

    free_level: ClassVar[bool] = True

    def value(self, w: Array) -> float:
        return kernels.sum_abs(np.diff(w))

    def prox(self, w: Array, step: Array | float) -> Array:
        return kernels.prox_total_variation(np.ascontiguousarray(w), float(np.max(step)))

    def dual_norm(self, v: Array) -> float:
        return kernels.total_variation_dual_norm(*self._with_error(v))

    def conjugate(self, v: Array, alpha: float) -> float:
        values, error = self._with_error(v)
        return super().conjugate(v, alpha) if fsum(values) == error == 0.0 else inf


@dataclass(frozen=True)
class FusedLasso(_Chain):
    """Fused lasso: ``l1_ratio`` times the l1 norm, the rest times the total variation.

    The penalty is ``l1_ratio ||w||_1 + (1 - l1_ratio) sum_j |w_{j+1} - w_j|``; its proximal
    operator is that of the second part, then that of the first (Friedman, Hastie, Höfling
    and Tibshirani, 2007).

    Parameters
    ----------
    l1_ratio : float, default=0.5
        Share of the l1 norm, in (0, 1]; use `TotalVariation` for 0.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import FusedLasso
    >>> FusedLasso(l1_ratio=0.5).prox(np.array([0.0, 0.0, 5.0, 5.0]), 2.0)
    array([0. , 0. , 3.5, 3.5])
    """

    l1_ratio: float = 0.5

    def __post_init__(self) -> None:
        check_number(self, "l1_ratio", above=0.0, most=1.0)

    def value(self, w: Array) -> float:
        variation = kernels.sum_abs(np.diff(w))
        return self.l1_ratio * kernels.sum_abs(w) + (1.0 - self.l1_ratio) * variation

    def prox(self, w: Array, step: Array | float) -> Array:
        step = float(np.max(step))
        fused = kernels.prox_total_variation(np.ascontiguousarray(w), step * (1.0 - self.l1_ratio))
        return _soft_threshold(fused, step * self.l1_ratio)

    def dual_norm(self, v: Array) -> float:
        return kernels.fused_dual_norm(*self._with_error(v), self.l1_ratio, 1.0 - self.l1_ratio)


class _ConstraintSet(Penalty):
    """The indicator of a set that contains 0; alpha has no effect."""

    def feasible(self, w: Array) -> Array:
        return self.prox(w, 1.0)

    def _shortened(self, w: Array) -> Array:
        """w, or a multiple in the set, outside of which it is by rounding: far if that is tiny."""
        for share in 2.0 ** np.arange(-46, 1):
            if self.value(w) == 0.0:
                break
            w = w * (1.0 - share)
        return w


@dataclass(frozen=True)
class L1Ball(_ConstraintSet):
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

    radius: float = 1.0

    def __post_init__(self) -> None:
        check_number(self, "radius", above=0.0)

    def value(self, w: Array) -> float:
        return 0.0 if kernels.sum_abs(w) <= self.radius else inf

    def prox(self, w: Array, step: Array | float) -> Array:
        return self._shortened(kernels.project_l1_ball(np.ascontiguousarray(w), self.radius))

    def conjugate(self, v: Array, alpha: float) -> float:
        return self.radius * kernels.max_abs(v)

    def support(self, v: Array, radius: float) -> float:
        return self.radius * kernels.max_abs(v)


@dataclass(frozen=True)
class SquaredL2OnL1Ball(Penalty):
    """Ridge penalty under a constraint, ``weight ||w||_2^2 / 2`` where ``||w||_1 <= radius``.

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

    radius: float = 1.0

    weight: float = 1.0

    def __post_init__(self) -> None:
        check_number(self, "radius", above=0.0)
        check_number(self, "weight", above=0.0, below=inf)

    @property
    def _ball(self) -> L1Ball:
        return L1Ball(self.radius)

    def value(self, w: Array) -> float:
        norm = kernels.euclidean_norm(w)
        return self._ball.value(w) + 0.5 * norm * (self.weight * norm)

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
        return tau * self.radius + (_half_square(excess, ridge) if excess > 0.0 else 0.0)

    def support(self, v: Array, radius: float) -> float:
        ridge = SquaredL2().support(v, radius / self.weight)
        return min(self._ball.support(v, radius), ridge)

    def feasible(self, w: Array) -> Array:
        return self._ball.feasible(w)


@dataclass(frozen=True)
class ElasticNetBall(_ConstraintSet):
    """The constraint ``l1_ratio ||w||_1 + (1 - l1_ratio) ||w||_2^2 / 2 <= radius``.

    Projections and conjugates take linear time: with the multiplier eliminated, both ask for
    the root of a function that is linear between kinks (Zhang et al., section 5.5.2).

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

    radius: float = 1.0
    l1_ratio: float = 0.5

    def __post_init__(self) -> None:
        check_number(self, "radius", above=0.0)
        check_number(self, "l1_ratio", above=0.0, below=1.0)

    @property
    def _scaled(self) -> tuple[float, float]:
        """gamma and q of the same set written as gamma ||w||_1 + ||w||_2^2 / 2 <= q^2 / 2.

        q^2 may be too large a number.
        """
        ridge = 1.0 - self.l1_ratio
        return self.l1_ratio / ridge, sqrt(2.0) * sqrt(self.radius) / sqrt(ridge)

    def value(self, w: Array) -> float:
        return 0.0 if ElasticNet(self.l1_ratio).value(w) <= self.radius else inf

    def prox(self, w: Array, step: Array | float) -> Array:
        if self.value(w) == 0.0:
            return w
        # w_j = (|g_j| - lambda gamma)_+ / (1 + lambda): with the k sizes |g_j| above lambda gamma,
        # their sum s and that of their squares, (1 + lambda)^2 - 1 is
        # (2 gamma s + square - q^2) / (k gamma^2 + q^2)
        gamma, q = self._scaled
        sizes = np.abs(w)
        unit = max(kernels.max_abs(sizes), gamma)  # so that squares do not overflow
        edge, reach = (gamma / unit) ** 2, (q / unit) ** 2

        def multiplier(k, s, square):
            bend = k * edge + reach
            left = 2.0 * (gamma / unit) * s + square - reach
            return expm1(0.5 * log1p(max(left, 0.0) / bend)) if bend > 0.0 else inf

        found = _root_by_medians(sizes / unit, gamma / unit, multiplier)
        return self._shortened(_soft_threshold(w, found * gamma) / (1.0 + found))

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

        found = _root_by_medians(sizes, gamma, multiplier)
        excess = kernels.euclidean_norm(np.maximum(sizes - found * gamma, 0.0))
        return scale * (0.5 * found * q * q + _half_square(excess, found))

    def support(self, v: Array, radius: float) -> float:
        return self.conjugate(v, 1.0)


def _root_by_medians(
    sizes: Array, gamma: float, multiplier: Callable[[float, float, float], float]
) -> float:
    """The lambda of which ``multiplier`` says what it is, given the sizes above lambda gamma.

    It is a function of their number, their sum and the sum of their squares.
    """
    above, rest = [0.0, 0.0, 0.0], sizes
    while len(rest) > 0:
        middle = float(np.partition(rest, len(rest) // 2)[len(rest) // 2])
        more = rest[rest >= middle]
        sums = [float(len(more)), float(np.sum(more)), float(np.sum(more * more))]
        sums = [a + b for a, b in zip(above, sums, strict=True)]
        if gamma * multiplier(*sums) <= middle:  # all of these are above
            above, rest = sums, rest[rest < middle]
        else:
            rest = rest[rest > middle]
    return multiplier(*above)


@dataclass(frozen=True)
class Box(_Separable, _ConstraintSet):
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

    lower: float = -1.0
    upper: float = 1.0

    def __post_init__(self) -> None:
        check_number(self, "lower", most=0.0)
        check_number(self, "upper", least=0.0)
        if self.lower == self.upper:
            raise ValueError("lower and upper of Box must differ, got 0 for both.")

    @property
    def terms(self) -> tuple[float, float, float, float]:
        return (0.0, 0.0, self.lower, self.upper)

    def value(self, w: Array) -> float:
        return 0.0 if np.all((w >= self.lower) & (w <= self.upper)) else inf

    def prox(self, w: Array, step: Array | float) -> Array:
        return np.clip(w, self.lower, self.upper)

    def widest(self, v: Array, error: Array) -> Array:
        above, below = v + error, v - error
        larger = np.maximum(self.lower * above, self.upper * above) >= np.maximum(
            self.lower * below, self.upper * below
        )
        return np.where(larger, above, below)

    def conjugate(self, v: Array, alpha: float) -> float:
        return float(np.sum(np.maximum(self.lower * v, self.upper * v)))

    def support(self, v: Array, radius: float) -> float:
        return max(self.conjugate(v, 1.0), self.conjugate(-v, 1.0))

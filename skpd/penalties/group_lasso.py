"""Group lasso penalties: sums of Euclidean norms of groups of coefficients."""

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass, field
from typing import Self, cast

import numpy as np

from .. import kernels
from .._checks import shown
from .._immutable_base import attribute_of_part, computed, number
from .._typing import Array, ArrayLike, Groups, Indices, Mask
from .base import FreeFeatures, Norm, Penalty, PenaltyCones, Structure, cached_attribute
from .implied_intervals import ROUNDING, Slopes, wider
from .partition import Partition
from .separable import _weighted_l1, _weighted_square, soft_threshold


@dataclass(frozen=True, eq=False)
class _Partitioned:
    """The base class of penalties of groups, with a partition that `for_n_features` fixes."""

    groups: Groups
    _partition: Partition = field(default=None, init=False, repr=False)  # type: ignore[assignment]
    has_cones_of_outputs = True

    def for_n_features(self, n_features: int) -> Self:
        bound = copy(self)
        object.__setattr__(bound, "_partition", Partition.of(self.groups, n_features))
        return bound

    partition = attribute_of_part("_partition")
    labels = attribute_of_part("_partition.labels")  # the group of each feature

    # the weights of the groups, 0 for groups without a penalty
    _penalised = computed(lambda self: np.ones(self._partition.n_groups))

    @property
    def penalised_first(self) -> tuple[Indices, Indices, Array]:
        """The features sorted by group, the starts of groups, and their weights.

        The features of groups without a penalty come last. The starts are those of the penalised
        groups, followed by the end of the last one.
        """
        partition, weights = self._partition, self._penalised
        sizes = np.diff(partition.starts)
        last = weights == 0.0
        order = partition.order[np.argsort(np.repeat(last, sizes), kind="stable")]
        starts = np.concatenate([[0], np.cumsum(sizes[~last])]).astype(np.int64)
        return order, starts, weights[~last]

    group_order = computed(lambda self: self.penalised_first[0])

    def _for_length_of(self, w: Array) -> Self:
        return self if self._partition is not None else self.for_n_features(len(w))

    def step_sizes(self, step: Array) -> Array:
        return self._for_length_of(step)._partition.minima(step)


@dataclass(frozen=True, eq=False)
class _Weighted(_Partitioned):
    """The base class of penalties with a weight for each group, which may be 0."""

    weights: ArrayLike | None = None
    _weights: Array = field(default=None, init=False, repr=False)  # type: ignore[arg-type]

    def for_n_features(self, n_features: int) -> Self:
        bound = super().for_n_features(n_features)
        partition = bound._partition
        if self.weights is None:
            weights = self._default_weights(partition)
        else:
            try:
                weights = np.asarray(self.weights, dtype=np.float64)
            except (TypeError, ValueError):
                weights = np.array(np.nan)
            if weights.shape != (partition.n_groups,) or not (
                np.isfinite(weights).all() and (weights >= 0).all()
            ):
                raise ValueError(
                    f"The weights of groups must be {partition.n_groups} finite numbers of at "
                    f"least 0, one for each group (group_weights), got {shown(self.weights)}."
                )
        object.__setattr__(bound, "_weights", weights)
        vars(bound).pop("free_features", None)  # cached for another number of features
        return bound

    def _default_weights(self, partition: Partition) -> Array:
        """The square roots of the groups' sizes."""
        return np.sqrt(np.diff(partition.starts).astype(np.float64))

    def _largest_quotient(self, norms: Array) -> float:
        """The largest quotient of a norm of a group and its weight, where that is not 0."""
        penalised = self._weights > 0.0
        return float(np.max(norms[penalised] / self._weights[penalised], initial=0.0))

    @cached_attribute
    def free_features(self) -> FreeFeatures:
        """The features of groups without a penalty, which have no bounds."""
        free = np.flatnonzero(self._free_groups[self.labels])
        return FreeFeatures(free, np.full(len(free), -np.inf), np.full(len(free), np.inf))

    # a mask of the groups without a penalty
    _free_groups = computed(lambda self: self._weights == 0.0)

    _penalised = attribute_of_part("_weights")


class _SumOverGroups(_Weighted, Penalty):
    """The base class of sums of an l1 norm, Euclidean norms of groups and a ridge penalty."""

    structure = Structure.GROUPED
    group_ridge: float = 0.0  # the weight of half the squared Euclidean norm

    @property
    @abstractmethod
    def group_terms(self) -> tuple[float, Array]:
        """The weight of the l1 norm and the weights of the groups' norms."""

    def value(self, w: Array) -> float:
        bound = self._for_length_of(w)
        (l1, weights), ridge = bound.group_terms, self.group_ridge
        value = float(np.sum(weights * bound._partition.norms(w)))  # pairwise summation
        return value + _weighted_l1(l1, w) + _weighted_square(ridge, w)

    def prox(self, w: Array, step: Array | float) -> Array:
        bound = self._for_length_of(w)
        (l1, weights), ridge = bound.group_terms, self.group_ridge
        x = soft_threshold(w, step * l1) if l1 > 0.0 else w
        x = bound._partition.shrink(x, bound._partition.per_group(step) * weights)
        return x / (1.0 + step * ridge) if ridge > 0.0 else x

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        _, starts, weights = self.penalised_first
        cones.add_separable(alpha * self.group_terms[0], alpha * self.group_ridge)
        cones.add_group_norms(starts, alpha * weights)

    @property
    def _free_groups(self) -> Mask:
        l1, weights = self.group_terms
        return (weights == 0.0) & (l1 == 0.0)

    _penalised = computed(lambda self: self.group_terms[1])


class _Grouped(_SumOverGroups, Norm):
    """The base class of sums of an l1 norm and Euclidean norms of groups."""

    has_cones = True

    def intervals(self, slopes: Slopes, bound: float, radius: float) -> Array | None:
        """Intervals that are symmetric around 0."""
        (v, error, alpha), (l1, weights), labels = slopes, self.group_terms, self.labels
        others = self.bounded_conjugate(self.worst_case(v, error), alpha, radius)
        bound += others + ROUNDING * (abs(bound) + others)  # holds for each single group
        sizes = np.abs(v) + error
        norms = self._partition.norms(np.maximum(sizes - alpha * l1, 0.0))
        slack = alpha * weights - norms - ROUNDING * (alpha * weights + norms)
        of_l1 = alpha * l1 - sizes - ROUNDING * (alpha * l1 + sizes)
        slack = np.maximum(slack[labels], of_l1)
        with np.errstate(divide="ignore"):
            within = radius / (weights[labels] + l1)
            largest = np.divide(bound, slack, out=np.full_like(slack, np.inf), where=slack > 0.0)
        largest = np.minimum(largest, within)
        return wider(np.column_stack([-largest, largest]))

    def zeros(self, slopes: Slopes) -> Mask | None:
        (l1, weights), sizes = self.group_terms, np.abs(slopes.v) + slopes.error
        alpha = slopes.alpha * (1.0 - ROUNDING)
        norms = self._partition.norms(np.maximum(sizes - alpha * l1, 0.0)) * (1.0 + ROUNDING)
        return (norms < alpha * weights)[self.labels] | (sizes < alpha * l1)


@dataclass(frozen=True, eq=False)
class GroupL2(_Grouped):
    """Group lasso penalty, ``sum_g weight_g ||w_g||_2``.

    Parameters
    ----------
    groups : int, array-like of shape (n_features,) or list
        The partition of the features: the size of consecutive groups; a label for each feature,
        strings or whole numbers, whose groups are in the order in which the labels first appear;
        a list of the sizes of consecutive groups; or a list of lists of feature indices.
    weights : array-like of shape (n_groups,), default=None
        Weight of each group, at least 0; the square root of its size by default. Groups with a
        weight of 0 are not penalised.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import GroupL2
    >>> penalty = GroupL2(groups=2, weights=[1.0, 1.0]).for_n_features(4)
    >>> penalty.prox(np.array([3.0, 4.0, 0.1, 0.1]), 1.0)
    array([2.4, 3.2, 0. , 0. ])
    """

    group_terms = computed(lambda self: (0.0, self._weights))

    def dual_norm(self, v: Array) -> float:
        bound = self._for_length_of(v)
        return bound._largest_quotient(bound._partition.norms(v))

    def with_extra_coefficient(self, n_features: int, weight: float) -> "GroupL2 | None":
        bound = self.for_n_features(n_features)
        labels = np.append(bound.labels, bound.partition.n_groups)
        # labels are taken in the order in which they first appear
        _, first = np.unique(labels, return_index=True)
        weights = np.append(bound._weights, weight)
        return GroupL2(labels, weights=weights[np.argsort(first)])


@dataclass(frozen=True, eq=False)
class NonNegativeGroupL2(GroupL2):
    """Group lasso penalty under the constraint w >= 0.

    This function is a gauge, a norm restricted to w >= 0, as `NonNegativeL1` is: its polar is that
    of `GroupL2` at the positive parts.

    Parameters
    ----------
    groups : int, array-like of shape (n_features,) or list
        See `GroupL2`.
    weights : array-like of shape (n_groups,), default=None
        See `GroupL2`.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import NonNegativeGroupL2
    >>> penalty = NonNegativeGroupL2(groups=3, weights=[1.0]).for_n_features(3)
    >>> penalty.prox(np.array([3.0, 4.0, -5.0]), 1.0)
    array([2.4, 3.2, 0. ])
    """

    structure = Structure.NOT_SEPARABLE  # as the working sets of groups know no bounds
    even = False
    is_finite = False

    @cached_attribute
    def free_features(self) -> FreeFeatures:
        free = super().free_features
        return free._replace(lower=np.zeros(len(free.columns)))

    def value(self, w: Array) -> float:
        return super().value(w) if np.all(w >= 0.0) else np.inf

    def feasible(self, w: Array) -> Array:
        return np.maximum(w, 0.0)

    def prox(self, w: Array, step: Array | float) -> Array:
        return super().prox(self.feasible(w), step)

    def dual_norm(self, v: Array) -> float:
        return super().dual_norm(np.maximum(v, 0.0))

    def worst_case(self, v: Array, error: Array) -> Array:
        return v + error

    def _one_sided(self, slopes: Slopes) -> Slopes:
        """Slopes without signs that give the same bounds on w >= 0."""
        largest = np.maximum(slopes.v + slopes.error, 0.0)
        return Slopes(largest, np.zeros_like(largest), slopes.alpha)

    def intervals(self, slopes: Slopes, bound: float, radius: float) -> Array | None:
        symmetric = super().intervals(self._one_sided(slopes), bound, radius)
        return np.maximum(cast(Array, symmetric), 0.0)

    def zeros(self, slopes: Slopes) -> Mask | None:
        return super().zeros(self._one_sided(slopes))

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        super().add_cones(cones, alpha)
        cones.add_separable(lower=0.0)

    def with_extra_coefficient(self, n_features: int, weight: float) -> None:
        return None  # the last coefficient would be negative too


@dataclass(frozen=True, eq=False)
class SparseGroup(_Grouped):
    """Sparse group lasso: ``l1_ratio`` times the lasso, the rest times the group lasso penalty.

    Parameters
    ----------
    groups : int, array-like of shape (n_features,) or list
        See `GroupL2`.
    weights : array-like of shape (n_groups,), default=None
        See `GroupL2`.
    l1_ratio : float, default=0.5
        Share of the l1 norm, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import SparseGroup
    >>> penalty = SparseGroup(groups=2, weights=[1.0], l1_ratio=0.5).for_n_features(2)
    >>> penalty.prox(np.array([6.5, 8.5]), 1.0)
    array([5.7, 7.6])
    """

    l1_ratio: float = number(0.5, minimum=0.0, maximum=1.0)

    @property
    def group_terms(self) -> tuple[float, Array]:
        return self.l1_ratio, (1.0 - self.l1_ratio) * self._weights

    def dual_norm(self, v: Array) -> float:
        bound = self._for_length_of(v)
        norms = kernels.sparse_group_dual_norms(
            np.ascontiguousarray(v[bound._partition.order]),
            bound._partition.starts,
            bound._weights,
            self.l1_ratio,
        )
        return float(np.max(norms[~bound._free_groups], initial=0.0))

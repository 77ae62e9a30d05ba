"""Penalties on groups of coefficients other than sums of Euclidean norms.

For a matrix of coefficients whose groups are its rows these are the l1,inf norm (`GroupLInf`), the
exclusive lasso (`GroupL1Squared`) and the square of the l2,1 norm (`SquaredGroupL2`) of Yang,
Mahdavi, Jin and Zhu (2015), section 3, and the penalty of scikit-learn's `MultiTaskElasticNet`
(`GroupElasticNet`).
"""

from abc import abstractmethod
from dataclasses import dataclass
from math import sqrt

import numpy as np

from .. import kernels
from .._immutable_base import attribute_of_part, computed, number
from .._typing import Array
from .base import Norm, Penalty, PenaltyCones, _half_square, _product
from .group_lasso import GroupL2, _Partitioned, _SumOverGroups, _Weighted
from .partition import Partition
from .separable import soft_threshold


def _threshold_of_square(sizes: Array, step: Array) -> Array:
    """The threshold t of the prox of step ||.||_1^2, for each row s of non-negative numbers.

    The prox is max(s - t, 0) with t = max_k 2 step S_k / (1 + 2 step k), where S_k is the sum of
    the k largest entries.
    """
    sums = np.cumsum(-np.sort(-sizes, axis=1), axis=1)
    twice = 2.0 * step[:, np.newaxis]
    thresholds = twice * sums / (1.0 + twice * np.arange(1, sizes.shape[1] + 1))
    return np.max(thresholds, axis=1)


@dataclass(frozen=True, eq=False)
class GroupLInf(_Weighted, Norm):
    """The sum of the maximum norms of groups, ``sum_g weight_g max_j |w_gj|``.

    Parameters
    ----------
    groups : int, array-like of shape (n_features,) or list
        The partition of the features, as for `GroupL2`.
    weights : array-like of shape (n_groups,), default=None
        Weight of each group, at least 0; 1 by default.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import GroupLInf
    >>> GroupLInf(groups=2).for_n_features(4).prox(np.array([3.0, 2.5, 0.1, 0.1]), 1.0)
    array([2.25, 2.25, 0.  , 0.  ])
    """

    has_ties = True

    def _default_weights(self, partition: Partition) -> Array:
        return np.ones(partition.n_groups)

    def value(self, w: Array) -> float:
        bound = self._for_length_of(w)
        return float(np.sum(bound._weights * np.max(np.abs(bound.partition.table(w)), axis=1)))

    def prox(self, w: Array, step: Array | float) -> Array:
        bound = self._for_length_of(w)
        order, starts = bound.partition.order, bound.partition.starts
        radii = np.multiply(bound.partition.per_group(step), bound._weights, dtype=np.float64)
        return kernels.prox_of_largest_entries(np.ascontiguousarray(w), order, starts, radii)

    def dual_norm(self, v: Array) -> float:
        bound = self._for_length_of(v)
        return bound._largest_quotient(np.sum(np.abs(bound.partition.table(v)), axis=1))

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        _, starts, weights = self.penalised_first
        cones.add_largest_sizes(starts, alpha * weights)


class _Square(_Partitioned, Penalty):
    """A penalty with R(t w) = t^2 R(w), whose conjugate is dual_size(v)^2 / (4 alpha)."""

    is_quadratic = True

    @abstractmethod
    def _dual_size(self, v: Array) -> float:
        """The supremum of v.w over R(w) <= 1."""

    def conjugate(self, v: Array, alpha: float) -> float:
        return 0.5 * _half_square(self._dual_size(v), alpha)

    def support(self, v: Array, radius: float) -> float:
        return _product(sqrt(radius), self._dual_size(v))

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        """The maximum of s dual_size(v) - alpha s^2 over s = sqrt(R(w)) <= sqrt(radius)."""
        size, largest = self._dual_size(v), sqrt(radius)
        if size <= 2.0 * alpha * largest:
            return self.conjugate(v, alpha)
        return largest * (size - alpha * largest)


@dataclass(frozen=True, eq=False)
class GroupL1Squared(_Square):
    """Exclusive lasso, ``sum_g (sum_j |w_gj|)^2``, which selects a few members of each group.

    Parameters
    ----------
    groups : int, array-like of shape (n_features,) or list
        The partition of the features, as for `GroupL2`.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import GroupL1Squared
    >>> GroupL1Squared(groups=2).for_n_features(4).prox(np.array([3.0, 0.5, 1.0, 1.0]), 0.5)
    array([1.5       , 0.        , 0.33333333, 0.33333333])
    """

    def value(self, w: Array) -> float:
        return float(
            np.sum(np.sum(np.abs(self._for_length_of(w).partition.table(w)), axis=1) ** 2)
        )

    def prox(self, w: Array, step: Array | float) -> Array:
        bound = self._for_length_of(w)
        steps = np.broadcast_to(bound.partition.per_group(step), bound.partition.n_groups)
        thresholds = _threshold_of_square(np.abs(bound.partition.table(w)), steps)
        return soft_threshold(w, thresholds[bound.labels])

    def _dual_size(self, v: Array) -> float:
        largest = np.max(np.abs(self._for_length_of(v).partition.table(v)), axis=1, initial=0.0)
        return kernels.euclidean_norm(largest)

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        cones.add_squared_sums(self._partition.starts, alpha)


@dataclass(frozen=True, eq=False)
class SquaredGroupL2(_Square):
    """The square of the group lasso penalty, ``(sum_g ||w_g||_2)^2``.

    Parameters
    ----------
    groups : int, array-like of shape (n_features,) or list
        The partition of the features, as for `GroupL2`.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import SquaredGroupL2
    >>> SquaredGroupL2(groups=2).for_n_features(4).prox(np.array([3.0, 4.0, 0.1, 0.1]), 0.5)
    array([1.5, 2. , 0. , 0. ])
    """

    step_sizes = Penalty.step_sizes  # the smallest, as the square couples all groups

    def value(self, w: Array) -> float:
        total = float(np.sum(self._for_length_of(w)._partition.norms(w)))
        return total * total  # inf where it overflows, where ** would raise an error

    def prox(self, w: Array, step: Array | float) -> Array:
        partition = self._for_length_of(w)._partition
        steps = np.array([np.min(step)])
        norms = partition.norms(w)[np.newaxis]
        return partition.shrink(w, float(_threshold_of_square(norms, steps)[0]))

    def _dual_size(self, v: Array) -> float:
        return float(np.max(self._for_length_of(v)._partition.norms(v), initial=0.0))

    def add_cones(self, cones: PenaltyCones, alpha: float) -> None:
        cones.add_squared_sum_of_norms(self._partition.starts, alpha)


@dataclass(frozen=True, eq=False)
class GroupElasticNet(_SumOverGroups):
    """Group lasso and ridge, ``l1_ratio sum_g weight_g ||w_g|| + (1 - l1_ratio) ||w||^2 / 2``.

    Parameters
    ----------
    groups : int, array-like of shape (n_features,) or list
        The partition of the features, as for `GroupL2`.
    weights : array-like of shape (n_groups,), default=None
        Weight of each group, greater than 0; the square root of its size by default.
    l1_ratio : float, default=0.5
        Share of the group lasso penalty, strictly between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.penalties import GroupElasticNet
    >>> penalty = GroupElasticNet(groups=2, weights=[1.0]).for_n_features(2)
    >>> penalty.prox(np.array([3.0, 4.0]), 1.0)
    array([1.8, 2.4])
    """

    l1_ratio: float = number(0.5, above=0.0, below=1.0)

    def for_n_features(self, n_features: int) -> "GroupElasticNet":
        bound: GroupElasticNet = super().for_n_features(n_features)
        if not np.all(bound._weights > 0.0):
            raise ValueError(
                "The weights of groups of GroupElasticNet must be greater than 0, got "
                f"{self.weights!r}."
            )
        return bound

    strong_convexity = attribute_of_part("group_ridge")

    group_terms = computed(lambda self: (0.0, self.l1_ratio * self._weights))

    group_ridge = computed(lambda self: 1.0 - self.l1_ratio)

    def without_ridge(self) -> tuple[float, Penalty | None, float]:
        norms = GroupL2(groups=self.groups, weights=self._weights).for_n_features(len(self.labels))
        return self.group_ridge, norms, self.l1_ratio

    def _excess(self, v: Array, alpha: float) -> Array:
        """The excess max(||v_g|| - alpha weight_g, 0) of each group, of shape (n_groups,)."""
        bound = self._for_length_of(v)
        return np.maximum(bound._partition.norms(v) - alpha * bound.group_terms[1], 0.0)

    def conjugate(self, v: Array, alpha: float) -> float:
        excess = self._excess(v, alpha)
        return _half_square(kernels.euclidean_norm(excess), alpha * self.group_ridge)

    def bounded_conjugate(self, v: Array, alpha: float, radius: float) -> float:
        """The least of the conjugate and two upper bounds on it for R(w) <= radius.

        One uses that the sum of weight_g ||w_g|| is at most radius / l1_ratio, the other that
        ||w||^2 is at most 2 radius / (1 - l1_ratio).
        """
        bound, excess = self._for_length_of(v), self._excess(v, alpha)
        return min(self.conjugate(v, alpha), bound._support(excess, radius))

    def support(self, v: Array, radius: float) -> float:
        bound = self._for_length_of(v)
        return bound._support(bound._partition.norms(v), radius)

    def _support(self, norms: Array, radius: float) -> float:
        """The bound of `support` for v with these norms of the groups."""
        by_norms = float(np.max(norms / self.group_terms[1], initial=0.0))
        by_square = kernels.euclidean_norm(norms)
        return min(
            _product(radius, by_norms), _product(sqrt(2.0 * radius / self.group_ridge), by_square)
        )

    def largest_alpha(self, v: Array) -> float:
        bound = self._for_length_of(v)
        norms = bound._partition.norms(v) / bound.group_terms[1]
        return float(np.max(norms, initial=0.0))

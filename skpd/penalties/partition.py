"""Partitions of the features into groups."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import TypeGuard

import numpy as np

from .. import kernels
from .._immutable_base import computed
from .._typing import Array, ArrayLike, Groups, Indices


def _holds_integers(values: Groups) -> TypeGuard[Sequence[int]]:
    """Whether this is a non-empty list of whole numbers."""
    try:
        array = np.asarray(values)
    except ValueError:  # a ragged list
        return False
    return array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"


def _holds_strings(values: Groups) -> TypeGuard[Sequence[str]]:
    """Whether this is a non-empty list of strings."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return False
    members = list(values)
    return bool(members) and all(isinstance(member, str) for member in members)


def _by_size(size: Integral, n_features: int) -> tuple[Indices, Indices]:
    if size < 1 or n_features % size:
        raise ValueError(
            "groups as a size must be at least 1 and divide the number of features, "
            f"{n_features}, got {size!r}."
        )
    return np.arange(n_features), np.full(n_features // int(size), int(size))


def _by_sizes(group_sizes: Sequence[int], n_features: int) -> tuple[Indices, Indices]:
    sizes = np.asarray(group_sizes, dtype=np.int64)
    if sizes.min() < 1 or sizes.sum() != n_features:
        raise ValueError(
            "groups as a list of whole numbers must hold sizes of at least 1 whose sum is the "
            f"number of features, {n_features}, or a label for each feature, got {len(sizes)} "
            f"numbers with the sum {sizes.sum()}."
        )
    return np.arange(n_features), sizes


def _by_labels(labels: np.ndarray, n_features: int) -> tuple[Indices, Indices]:
    """The order of the features and the starts of groups, from a label for each feature.

    Groups are in the order in which their labels first appear.
    """
    if len(labels) != n_features:
        raise ValueError(
            f"groups as labels must hold one for each of the {n_features} features, got "
            f"{len(labels)}."
        )
    _, first, group, sizes = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first[group], kind="stable")
    return order, sizes[np.argsort(first)]


def _by_lists(groups: Iterable[ArrayLike], n_features: int) -> tuple[Indices, Indices]:
    lists = [np.asarray(group, dtype=np.int64).ravel() for group in groups]
    sizes = np.array([len(group) for group in lists], dtype=np.int64)
    order = np.concatenate([*lists, np.empty(0, dtype=np.int64)])
    if order.size and (order.min() < 0 or order.max() >= n_features):
        raise ValueError(
            f"groups must hold feature indices from 0 to {n_features - 1}, got "
            f"{order.min()} to {order.max()}."
        )
    counts = np.bincount(order, minlength=n_features)
    for problem, is_wrong in (("overlap", counts > 1), ("miss", counts < 1)):
        if is_wrong.any():
            raise ValueError(
                f"groups must hold every feature exactly once, but they {problem} at "
                f"feature {int(np.flatnonzero(is_wrong)[0])} ({int(is_wrong.sum())} features "
                "in all)."
            )
    return order, sizes


@dataclass(frozen=True)
class Partition:
    """A partition of the features into groups: features in group order and where groups start."""

    order: Indices
    starts: Indices  # one more than there are groups
    labels: Indices  # group of each feature

    @cached_property
    def places(self) -> tuple[Indices, Indices]:
        """The group of each feature and its place in that group, in the order of the groups."""
        sizes = np.diff(self.starts)
        groups = np.repeat(np.arange(len(sizes)), sizes)
        return groups, np.arange(len(groups)) - self.starts[groups]

    @classmethod
    def of(cls, groups: Groups, n_features: int) -> "Partition":
        """The partition given by a size, sizes, a label for each feature, or lists of indices.

        A list of whole numbers as long as there are features holds labels. Only if all are 1 could
        they be sizes: this is an error, as it may mean one group or one group for each feature.
        """
        if isinstance(groups, Integral) and not isinstance(groups, bool):
            order, sizes = _by_size(groups, n_features)
        elif _holds_integers(groups):
            if len(groups) != n_features or groups[0] == n_features == 1:
                order, sizes = _by_sizes(groups, n_features)
            elif np.all(np.asarray(groups) == 1):
                raise ValueError(
                    f"groups of {n_features} ones for as many features may be sizes or labels: "
                    f"pass groups=1 for groups of one feature, groups={n_features} for one group."
                )
            else:
                order, sizes = _by_labels(np.asarray(groups), n_features)
        elif _holds_strings(groups):
            order, sizes = _by_labels(np.asarray(groups, dtype=np.str_), n_features)
        elif isinstance(groups, Iterable) and all(map(_holds_integers, groups)):
            order, sizes = _by_lists(groups, n_features)
        else:
            raise ValueError(
                "groups must be a size, a list of sizes, a label for each feature (strings or "
                "whole numbers) or a list of non-empty lists of feature indices, got "
                f"{groups!r}."
            )
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        labels = np.empty(n_features, dtype=np.int64)
        labels[order] = np.repeat(np.arange(len(sizes)), sizes)
        return cls(order, starts, labels)

    n_groups = computed(lambda self: len(self.starts) - 1)

    def table(self, w: Array) -> Array:
        """The table whose rows have the coefficients of a group each, followed by zeros."""
        table = np.zeros((self.n_groups, int(np.diff(self.starts).max(initial=0))))
        table[self.places] = w[self.order]
        return table

    def norms(self, w: Array):
        """Euclidean norm of each group, safe from under- and overflow."""
        w = np.ascontiguousarray(w, dtype=np.float64)
        return kernels.group_norms(w, self.order, self.starts)

    def minima(self, step: Array):
        """The smallest entry of the group of each feature, of shape (n_features,)."""
        return np.minimum.reduceat(step[self.order], self.starts[:-1])[self.labels]

    def shrink(self, w: Array, threshold):
        """The vector w with the norm of each group reduced by its threshold, at most to 0."""
        norms = self.norms(w)
        factor = np.maximum(norms - threshold, 0.0) / np.where(norms > 0.0, norms, 1.0)
        return w * factor[self.labels]

    def per_group(self, step: Array | float):
        """The step size of each group, in which all features have the same one."""
        return step[self.order[self.starts[:-1]]] if isinstance(step, np.ndarray) else step

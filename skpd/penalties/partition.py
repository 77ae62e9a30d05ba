"""Partitions of the features into groups."""

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from .. import kernels
from .._typing import Array

__all__ = ["Partition"]


def _holds_integers(values: Any) -> bool:
    """Whether this is a non-empty list of whole numbers."""
    try:
        array = np.asarray(values)
    except ValueError:  # a ragged list
        return False
    return array.ndim == 1 and array.size > 0 and array.dtype.kind in "iu"


@dataclass(frozen=True)
class Partition:
    """A partition of the features into groups: features in group order and where groups start."""

    order: Any
    starts: Any  # one more than there are groups
    labels: Any  # group of each feature

    @classmethod
    def of(cls, groups: Any, n_features: int) -> "Partition":
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

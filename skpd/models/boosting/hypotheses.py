"""Hypotheses for boosting, and the class of all decision stumps with its largest edge."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array
from ...certificates.interface import Sum


class Hypotheses(ABC):
    """A weak learner: functions of a row with the values -1 and 1.

    Attributes
    ----------
    maximises : bool
        Whether `best` finds the largest edge of all hypotheses, which certificates need.
    """

    maximises: ClassVar[bool] = False

    @abstractmethod
    def best(self, signed: Array, count: int = 1) -> tuple[list[tuple[Any, Array]], Sum]:
        """Hypotheses h with large edges sum_i w_i y_i h(x_i).

        Parameters
        ----------
        signed : ndarray of shape (n_samples,)
            w_i y_i.
        count : int, default=1
            The largest number of hypotheses to return.

        Returns
        -------
        found : list of tuple
            The best first: a hypothesis, with a method ``predict``, and its values h(x_i), each
            -1 or 1, of shape (n_samples,).
        edge : tuple of float
            The edge of the first and a bound on the rounding error. If `maximises`, no hypothesis
            has an edge above the sum of the two.
        """


@dataclass(frozen=True)
class DecisionStump:
    """A decision stump: ``sign`` where a feature is at most a threshold, and ``-sign`` elsewhere.

    Parameters
    ----------
    feature : int
    threshold : float
        The threshold; ``inf`` for a constant function.
    sign : float
        -1 or 1.
    """

    feature: int
    threshold: float
    sign: float

    def predict(self, X: Array) -> Array:
        """The values, -1 or 1, for rows in float64."""
        return np.where(X[:, self.feature] <= self.threshold, self.sign, -self.sign)


class AllStumps(Hypotheses):
    """The class of all decision stumps on all features, including the two constant functions.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The data in float64, whose columns are sorted once.
    """

    maximises: ClassVar[bool] = True

    def __init__(self, X: Array) -> None:
        self.X = X
        self.order = np.argsort(X, axis=0, kind="stable").T
        ordered = np.take_along_axis(X.T, self.order, axis=1)
        # a threshold after a row in the order must separate it from the next
        self.ties = np.zeros(ordered.shape, dtype=bool)
        self.ties[:, :-1] = ordered[:, :-1] == ordered[:, 1:]

    def best(self, signed: Array, count: int = 1) -> tuple[list[tuple[Any, Array]], Sum]:
        """The best stumps of the best features, from partial sums in the order of each feature."""
        sums = np.cumsum(signed[self.order], axis=1)
        edges = 2.0 * sums - sums[:, -1:]  # of +1 up to the threshold and -1 beyond
        sizes = np.abs(edges)
        sizes[self.ties] = -1.0
        positions = np.argmax(sizes, axis=1)
        largest = np.take_along_axis(sizes, positions[:, np.newaxis], axis=1)[:, 0]
        features = np.argsort(-largest, kind="stable")[:count]
        stumps = [self._stump(k, int(positions[k]), edges) for k in features.tolist()]
        # partial sums of n terms: an error of (n - 1) EPSILON times their sizes in each of three
        rounding = 4.0 * (len(signed) + 4) * EPSILON * float(np.sum(np.abs(signed)))
        edge = float(largest[features[0]]), rounding
        return [(stump, stump.predict(self.X)) for stump in stumps], edge

    def _stump(self, feature: int, place: int, edges: Array) -> DecisionStump:
        """The stump halfway between a value and the next in the order; at inf after the last."""
        order, sign = self.order[feature], 1.0 if edges[feature, place] >= 0.0 else -1.0
        if place == len(order) - 1:
            return DecisionStump(feature, np.inf, sign)
        low, high = self.X[order[place], feature], self.X[order[place + 1], feature]
        middle = 0.5 * low + 0.5 * high  # cannot overflow, unlike low + high
        return DecisionStump(feature, float(middle if low <= middle < high else low), sign)

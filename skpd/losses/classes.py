"""Losses of the scores of all classes: the softmax, and the hinge loss of Crammer and Singer.

See `skpd.losses.coupled` for what they have in common with other losses of several predictions.
"""

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
from scipy.special import wrightomega, xlog1py, xlogy

from .._floats import EPSILON
from .._typing import Array
from .base import Stratum, _depth
from .coupled import INSIDE, RankOneLoss
from .coupled_kernel import SoftmaxKernel

__all__ = ["CrammerSinger", "LabelLoss", "Softmax"]

PROX_STEPS = 100  # of Newton's method for the prox of an entropy, which takes a few


class LabelLoss(RankOneLoss):
    """A loss of the class of a row: dual points are those of a simplex less its own corner."""

    of_classes: ClassVar[bool] = True
    conjugate_domain: ClassVar[tuple] = (-1.0, 1.0)

    @property
    def lipschitz(self) -> float:
        return 1.0

    def _ahead(self, y: Array, z: Array) -> Array:
        """How far the prediction of each class is above that of the row's own."""
        return z - np.sum(z * y, axis=1, keepdims=True)

    def largest(self, y: Array, z: Array, z_low: Array | float, error: Array | float) -> Array:
        """As it rises with the others' predictions and falls with the own."""
        with np.errstate(over="ignore", invalid="ignore"):
            y, z = self._table(y), self._table(z)
            low, error = (self._table(np.broadcast_to(x, z.size)) for x in (z_low, error))
            ahead = self._ahead(y, z)
            room = error + np.abs(low)
            room = room + np.sum(room * y, axis=1, keepdims=True)
            room = room + (room > 0.0) * 8.0 * EPSILON * (np.abs(ahead) + room)
            ahead = ahead + np.where(y > 0.0, 0.0, room + 2.0 * EPSILON * np.abs(ahead))
            return self._shared(self._of_ahead(y, ahead) * (1.0 + (64.0 + y.shape[1]) * EPSILON))

    @abstractmethod
    def _of_ahead(self, y: Array, ahead: Array) -> Array:
        """l of every row."""

    def _values(self, y: Array, z: Array) -> Array:
        return self._of_ahead(y, self._ahead(y, z))

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        return np.where(y > 0.0, -1.0, 0.0), np.where(y > 0.0, 0.0, 1.0)

    def _others(self, y: Array, theta: Array) -> tuple[Array, Array]:
        """The probabilities of the other classes than the rows' own, and their sums."""
        others = np.where(self._table(y) > 0.0, 0.0, self._table(theta))
        return others, np.sum(others, axis=1)

    @property
    def _most(self) -> float:
        """Of the probabilities of the other classes, so that something is left for the own."""
        return 1.0 - self.n_outputs * INSIDE

    def project_dual(self, y: Array, theta: Array) -> Array:
        others, _ = self._others(y, np.nan_to_num(theta, posinf=1.0, neginf=0.0))
        others = np.clip(others, 0.0, 1.0)
        total = np.sum(others, axis=1)
        others *= np.where(total > self._most, self._most / np.maximum(total, 1.0), 1.0)[:, None]
        own = -np.sum(others, axis=1, keepdims=True)
        return np.ravel(np.where(self._table(y) > 0.0, own, others))

    def spread(self, y: Array, theta: Array) -> Array:
        """How far the entries of the own classes may be off minus the exact sums."""
        total = self._others(y, theta)[1]
        return np.ravel(self._table(y) * (self.n_outputs * EPSILON * total)[:, np.newaxis])

    def largest_scale(self, y: Array, theta: Array) -> float:
        largest = float(np.max(self._others(y, theta)[1]))
        return self._most / largest if largest > 0.0 else inf

    def best_constant(self, y: Array, weights: Array) -> float:
        """0 for one output alone: only the difference of two changes the loss."""
        return 0.0

    def strata(self, y: Array, weights: Array) -> list[Stratum]:
        """The rows of each class, by the weights of the predictions of this class."""
        own = self._table(weights * y)
        table = np.zeros((self.n_outputs, *own.shape))
        for k, rows in enumerate(table):
            rows[:, k] = own[:, k]
        return [Stratum(np.ravel(rows), float(np.sum(rows))) for rows in table]

    def constant_interval(
        self, strata: list[Stratum], value: float, prediction_bounds: list[float]
    ) -> tuple[float, float]:
        """Of every intercept, if that of the class with the tightest bound is 0.

        The mean loss of a class is at least what the mean predictions of other classes are above
        its own, which is at most ``prediction_bounds`` but for intercepts.
        """
        furthest = [
            value / stratum.total + reach if stratum.total > 0.0 else inf
            for stratum, reach in zip(strata, prediction_bounds, strict=True)
        ]
        most = 1.000001 * max(furthest)  # with the rounding of products
        return -most, most

    def projection(self, y: Array, theta: Array) -> tuple[Array, Array, Array]:
        """Onto the simplex, less the own corner."""
        point = self._table(theta + y)
        ordered = -np.sort(-point, axis=1)
        counts = np.arange(1, self.n_outputs + 1)
        thresholds = (np.cumsum(ordered, axis=1) - 1.0) / counts
        size = np.count_nonzero(ordered > thresholds, axis=1)
        threshold = thresholds[np.arange(len(point)), size - 1][:, np.newaxis]
        inside = point > threshold
        found = np.where(inside, point - threshold, 0.0)
        e = inside / np.sqrt(size)[:, np.newaxis]
        return np.ravel(found) - y, np.ravel(inside.astype(np.float64)), np.ravel(e)


@dataclass(frozen=True)
class Softmax(LabelLoss):
    """Multinomial logistic loss, ``log sum_k exp(z_k) - z_y``.

    Parameters
    ----------
    n_outputs : int
        The number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import Softmax
    >>> np.exp(-Softmax(3).value(np.array([1.0, 0.0, 0.0]), np.zeros(3)).sum()).round(3)
    np.float64(0.333)
    """

    is_log_likelihood: ClassVar[bool] = True
    linear_tails: ClassVar[bool] = False

    @property
    def smoothness(self) -> float:
        return 1.0

    @property
    def kernel(self) -> SoftmaxKernel:
        return SoftmaxKernel(self)

    def _of_ahead(self, y: Array, ahead: Array) -> Array:
        rows, first = np.arange(len(ahead)), np.argmax(ahead, axis=1)
        largest = ahead[rows, first]  # at least 0, without cancellation
        terms = np.exp(ahead - largest[:, np.newaxis])
        terms[rows, first] = 0.0
        return largest + np.log1p(np.sum(terms, axis=1))

    def probabilities(self, z: Array) -> Array:
        """Those of the classes, in rows."""
        table = self._table(z)
        terms = np.exp(table - np.max(table, axis=1, keepdims=True))
        terms /= np.sum(terms, axis=1, keepdims=True)
        return terms

    def _gradient(self, y: Array, z: Array) -> Array:
        return self.probabilities(z) - y

    def _dual_values(self, y: Array, theta: Array) -> Array:
        others, total = self._others(np.ravel(y), np.ravel(theta))
        own = np.maximum(1.0 - total, 0.0)  # rounding can leave less than nothing
        return -(np.sum(xlogy(others, others), axis=1) + xlog1py(own, -total))

    def dual_values(
        self, y: Array, weights: Array, theta: Array, scales: tuple[float, ...]
    ) -> list[tuple[float, float]]:
        others, total = self._others(y, theta)
        own, found = self._of_rows(weights), []
        for t in scales:
            p, rest = t * others, t * total
            entropy = -(np.sum(xlogy(p, p), axis=1) + xlog1py(1.0 - rest, -rest))
            # the slope of (1 - s) log(1 - s) is below 40 in size where 1 - s >= n EPSILON
            moved = (32.0 + self.n_outputs) * EPSILON * (entropy + 2.0 * rest)
            moved += 40.0 * self.n_outputs * EPSILON * rest
            value = float(np.sum(own * entropy))
            found.append((value, float(own @ moved) + _depth(len(own)) * EPSILON * value))
        return found

    def best_constants(self, y: Array, weights: Array, places: list) -> Array:
        shares = self._of_rows(weights) @ self._table(y)
        return np.log(shares / np.sum(shares))

    def derivatives(
        self, y: Array, theta: Array, z: Array, sigma: float
    ) -> tuple[Array, Array, Array]:
        p = np.ravel(self.probabilities(z))
        return p - y, p, p

    def prox_conjugate(self, y: Array, theta: Array, step: Array | float) -> Array:
        """p with log p_k + 1 + (p_k - v_k) / step = mu and sum p = 1, by Newton's method for mu.

        p_k = step omega((v_k + step (mu - 1)) / step - log step), omega the Wright function.
        """
        t = self._table(np.broadcast_to(step, theta.shape))
        v = self._table(theta + y)
        # where the largest of them is 1 / n_outputs
        mu = 1.0 - np.log(self.n_outputs) + np.min((1.0 / self.n_outputs - v) / t, axis=1)
        for _ in range(PROX_STEPS):
            omega = wrightomega(v / t + mu[:, np.newaxis] - 1.0 - np.log(t))
            p = t * omega
            missing = 1.0 - np.sum(p, axis=1)
            if np.all(np.abs(missing) <= 4.0 * self.n_outputs * EPSILON):
                break
            # convex and increasing in mu: from above its steps go down to the root
            mu = mu + missing / np.sum(p / (1.0 + omega), axis=1)
        return np.ravel(p) - y


@dataclass(frozen=True)
class CrammerSinger(LabelLoss):
    """The multi-class hinge loss of Crammer and Singer (2001), ``max_k (z_k + [k != y]) - z_y``.

    Parameters
    ----------
    n_outputs : int
        The number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import CrammerSinger
    >>> CrammerSinger(2).value(np.array([1.0, 0.0]), np.array([0.5, 0.25])).sum()
    np.float64(0.75)
    """

    linear_conjugate: ClassVar[bool] = True

    def _of_ahead(self, y: Array, ahead: Array) -> Array:
        return np.max(ahead + (1.0 - y), axis=1)

    def _gradient(self, y: Array, z: Array) -> Array:
        furthest = np.argmax(self._ahead(y, z) + (1.0 - y), axis=1)
        return np.eye(self.n_outputs)[furthest] - y

    def _dual_values(self, y: Array, theta: Array) -> Array:
        return self._others(np.ravel(y), np.ravel(theta))[1]

    def dual_values(
        self, y: Array, weights: Array, theta: Array, scales: tuple[float, ...]
    ) -> list[tuple[float, float]]:
        total, own = self._others(y, theta)[1], self._of_rows(weights)
        value = float(np.sum(own * total))
        rounding = (_depth(len(own)) + self.n_outputs) * EPSILON * value
        return [(t * value, t * rounding) for t in scales]

    def best_constants(self, y: Array, weights: Array, places: list) -> Array:
        """The best class one ahead of the others, or none, whichever is better."""
        shares = self._of_rows(weights) @ self._table(y)
        best = np.zeros(self.n_outputs)
        best[int(np.argmax(shares))] = 1.0
        # 2 (1 - share) with the step, 1 without it
        return best if 2.0 * (1.0 - float(np.max(shares) / np.sum(shares))) < 1.0 else 0.0 * best

    def derivatives(
        self, y: Array, theta: Array, z: Array, sigma: float
    ) -> tuple[Array, Array, Array]:
        if sigma == inf:
            return self.gradient(y, z), np.zeros_like(z), np.zeros_like(z)
        return self.projection(y, theta + sigma * (z + (1.0 - y)))

    def prox_conjugate(self, y: Array, theta: Array, step: Array | float) -> Array:
        return self.projection(y, theta + step * (1.0 - y))[0]

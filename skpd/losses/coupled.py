"""Losses of several predictions at once: of the vector of a row's outputs.

A vector of predictions of all rows holds the outputs of the first row, then those of the second;
targets, weights and dual points likewise. The curvature of every loss here, or of its Moreau
envelope, is for each row diag(d) - e e' with vectors d and e of its outputs.

=================  =================================  =================================
loss               l(y, z)                            dual points of a row
=================  =================================  =================================
`L2Norm`           ||z - y||_2                        the unit ball, l* = theta.y
`Softmax`          log sum_k exp(z_k) - z_y           p - e_y, l* = sum_k p_k log p_k
`CrammerSinger`    max_k (z_k + [k is not y]) - z_y   p - e_y, l* = -sum over k not y of p_k
=================  =================================  =================================

with p in the simplex and y, for the latter two, the class of the row, given as a vector that is 1
there and 0 elsewhere. Of their dual points the entries of the other classes count: that of the own
class stands for minus the exact sum of these.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from math import inf
from typing import ClassVar

import numpy as np
from scipy.special import wrightomega, xlog1py, xlogy

from .. import kernels
from .._checks import check_number
from .._floats import EPSILON
from .._typing import Array, Indices
from .base import Loss, Stratum, _depth

__all__ = ["CoupledLoss", "CrammerSinger", "L2Norm", "LabelLoss", "Softmax"]

PROX_STEPS = 100  # of Newton's method for the prox of an entropy, which takes a few
INSIDE = 8.0 * EPSILON  # how far dual points keep off the boundary, for each output


@dataclass(frozen=True)
class CoupledLoss(Loss):
    """A loss of the outputs of a row.

    Parameters
    ----------
    n_outputs : int
    """

    n_outputs: int = field()

    def __post_init__(self) -> None:
        check_number(self, "n_outputs", least=1)

    # Arrays as long as all predictions, and tables with a row for each row

    def _table(self, values: Array) -> Array:
        return np.reshape(values, (-1, self.n_outputs))

    def _shared(self, values: Array) -> Array:
        """The values of the rows, in equal parts for their outputs."""
        return np.repeat(values / self.n_outputs, self.n_outputs)

    def _of_rows(self, weights: Array) -> Array:
        """The weights of the rows, which those of their outputs are."""
        return np.ascontiguousarray(weights[:: self.n_outputs])

    def value(self, y: Array, z: Array, z_low: Array | float = 0.0) -> Array:
        return self._shared(self._values(self._table(y), self._table(z + z_low)))

    @abstractmethod
    def _values(self, y: Array, z: Array) -> Array:
        """l of every row."""

    def gradient(self, y: Array, z: Array) -> Array:
        return np.ravel(self._gradient(self._table(y), self._table(z)))

    @abstractmethod
    def _gradient(self, y: Array, z: Array) -> Array: ...

    def conjugate(self, y: Array, theta: Array) -> Array:
        return self._shared(-self._dual_values(self._table(y), self._table(theta)))

    @abstractmethod
    def _dual_values(self, y: Array, theta: Array) -> Array:
        """- l* of every row, for points of its domain."""

    def _clip(self, y: Array, theta: Array) -> Array:
        return self.project_dual(y, theta)

    @abstractmethod
    def largest_scale(self, y: Array, theta: Array) -> float:
        """The largest t with t theta in the domain of the conjugate."""

    # The Moreau envelope

    @abstractmethod
    def projection(self, y: Array, theta: Array) -> tuple[Array, Array, Array]:
        """The nearest points of the closed domain of the conjugate.

        Beside them, d and e with the derivative diag(d) - e e'; all as long as theta.
        """

    @abstractmethod
    def derivatives(
        self, y: Array, theta: Array, z: Array, sigma: float
    ) -> tuple[Array, Array, Array]:
        """The derivative in z, and d and e of the second over sigma (over 1 for inf).

        Of the loss for an infinite sigma, else of its Moreau envelope shifted by theta.
        """

    @property
    def kernel(self) -> "CoupledKernel":
        return CoupledKernel(self)


@dataclass(frozen=True)
class L2Norm(CoupledLoss):
    """The Euclidean norm of a row's residuals, ``||z - y||_2``; l* = theta.y on the unit ball.

    Parameters
    ----------
    n_outputs : int

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import L2Norm
    >>> 2 * L2Norm(2).value(np.zeros(2), np.array([3.0, 4.0]))
    array([5., 5.])
    """

    linear_conjugate: ClassVar[bool] = True
    conjugate_domain: ClassVar[tuple] = (-1.0, 1.0)

    def _values(self, y: Array, z: Array) -> Array:
        return np.linalg.norm(z - y, axis=1)

    def _gradient(self, y: Array, z: Array) -> Array:
        residual = z - y
        norms = np.linalg.norm(residual, axis=1, keepdims=True)
        return residual / np.where(norms > 0.0, norms, 1.0)

    def largest(self, y: Array, z: Array, z_low: Array | float, error: Array | float) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = np.abs(z - y) * (1.0 + EPSILON) + np.abs(z_low) + error
            norms = np.linalg.norm(self._table(sizes), axis=1)
            return self._shared(norms * (1.0 + (self.n_outputs + 8.0) * EPSILON))

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        return np.full(len(y), -1.0), np.full(len(y), 1.0)

    def project_dual(self, y: Array, theta: Array) -> Array:
        theta = self._table(np.nan_to_num(theta, posinf=1e300, neginf=-1e300))
        sizes = np.linalg.norm(theta, axis=1, keepdims=True)
        most = 1.0 - self.n_outputs * INSIDE
        return np.ravel(theta * np.where(sizes > most, most / np.maximum(sizes, most), 1.0))

    def _dual_values(self, y: Array, theta: Array) -> Array:
        return -np.sum(y * theta, axis=1)

    def dual_values(
        self, y: Array, weights: Array, theta: Array, scales: tuple[float, ...]
    ) -> list[tuple[float, float]]:
        linear, error = kernels.compensated_dot(weights, theta, y)
        return [(-t * linear, t * error + 2.0 * EPSILON * t * abs(linear)) for t in scales]

    def largest_scale(self, y: Array, theta: Array) -> float:
        size = float(np.max(np.linalg.norm(self._table(theta), axis=1)))
        return (1.0 - self.n_outputs * INSIDE) / size if size > 0.0 else inf

    def best_constants(self, y: Array, weights: Array, places: list) -> Array:
        """The geometric median, by Weiszfeld's iteration."""
        table, own = self._table(y), self._of_rows(weights)
        point = np.average(table, axis=0, weights=own)
        best, least = point, inf
        for _ in range(PROX_STEPS):
            norms = np.linalg.norm(table - point, axis=1)
            value = float(own @ norms)
            if not value < least * (1.0 - EPSILON):
                break
            best, least = point, value
            inverse = own / np.maximum(norms, EPSILON * (1.0 + np.linalg.norm(point)))
            point = inverse @ table / float(np.sum(inverse))
        return best

    def best_constant(self, y: Array, weights: Array) -> float:
        return float(np.average(y, weights=weights))

    def strata(self, y: Array, weights: Array) -> list[Stratum]:
        total = float(np.sum(weights))
        mean, error = kernels.compensated_dot(weights, y)
        return [Stratum(weights, total, mean / total, error / total)]

    def constant_interval(
        self, strata: list[Stratum], value: float, prediction_bounds: list[float]
    ) -> tuple[float, float]:
        """For one output, as its residual is at most the norm of all."""
        (stratum,), (reach,) = strata, prediction_bounds
        most = value / stratum.total
        room = most + reach + stratum.error
        room += 64.0 * EPSILON * (abs(stratum.centre) + room)
        return stratum.centre - room, stratum.centre + room

    def projection(self, y: Array, theta: Array) -> tuple[Array, Array, Array]:
        table = self._table(theta)
        norms = np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1.0)
        found = table / norms
        d = np.broadcast_to(1.0 / norms, table.shape)
        e = np.where(norms > 1.0, found / np.sqrt(norms), 0.0)
        return np.ravel(found), np.ravel(d), np.ravel(e)

    def derivatives(
        self, y: Array, theta: Array, z: Array, sigma: float
    ) -> tuple[Array, Array, Array]:
        if sigma == inf:
            return self.gradient(y, z), np.zeros_like(z), np.zeros_like(z)
        return self.projection(y, theta + sigma * (z - y))

    def prox_conjugate(self, y: Array, theta: Array, step: Array | float) -> Array:
        return self.projection(y, theta - step * y)[0]


class LabelLoss(CoupledLoss):
    """A loss of the class of a row: dual points are those of a simplex less its own corner."""

    of_labels: ClassVar[bool] = True
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

    linear_tails: ClassVar[bool] = False

    @property
    def smoothness(self) -> float:
        return 1.0

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


class CoupledKernel:
    """What the method of multipliers asks of a coupled loss, as compiled losses answer it."""

    def __init__(self, loss: CoupledLoss) -> None:
        self.loss = loss

    def smoothed_derivatives(
        self, y: Array, weights: Array, theta: Array, z: Array, sigma: float, derivative: Array,
        gradient: Array, curvature: Array, factor: Array,
    ) -> tuple[float, float]:  # fmt: skip
        """As of the kernels, with the root of the weights times e in ``factor``."""
        loss = self.loss
        derivative[:], d, e = loss.derivatives(y, theta, z, sigma)
        np.multiply(weights, derivative, out=gradient)
        np.multiply(weights, d, out=curvature)
        np.multiply(np.sqrt(weights), e, out=factor)
        primal = float(weights @ loss.value(y, z))
        return primal, -float(weights @ loss.conjugate(y, derivative))

    def smoothed_slope(
        self, y: Array, weights: Array, theta: Array, z: Array, direction: Array, step: float,
        sigma: float,
    ) -> float:  # fmt: skip
        slope = self.loss.derivatives(y, theta, z + step * direction, sigma)[0]
        return float(np.sum(weights * direction * slope))

    def rows_that_bend(
        self, y: Array, theta: Array, z: Array, sigma: float, derivative: Array, curvature: Array,
        radius: float,
    ) -> Indices:  # fmt: skip
        """All rows: which of them stay linear is not asked."""
        return np.arange(len(z), dtype=np.int64)

"""Losses of the scores of all classes: the softmax, and the hinge loss of Crammer and Singer.

See `skpd.losses.coupled_outputs` for the properties shared by all losses of several predictions.
"""

from abc import abstractmethod
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import entr, softmax, wrightomega, xlog1py, xlogy

from .._floats import EPSILON
from .._immutable_base import computed
from .._typing import Array, Interval, Numbers, Scales, Sum
from .base import _depth
from .cones import LossCones
from .coupled_outputs import CoupledEvaluator, CoupledLoss, Derivatives, RankOneLoss
from .jensen_groups import RowGroup, RowGroups

ROUNDINGS = 64.0  # bounds the rounding errors of an entropy for each class, in EPSILON
PROX_STEPS = 100  # most steps of Newton's method for the prox of an entropy, which needs a few


def _row_sums(table: Array) -> Array:
    """The sums of rows, for which a product is several times as fast as `numpy.sum`."""
    return table @ np.ones(table.shape[1])


def _sums_of_products(table: Array, other: Array) -> Array:
    """The sums over the products of rows."""
    return np.einsum("ik,ik->i", table, other)


class LabelLoss(RankOneLoss):
    """A loss of the scores of all classes; dual points are p - e_y with p in the simplex."""

    of_classes: ClassVar[bool] = True
    has_decisions: ClassVar[bool] = True
    lipschitz: ClassVar[float] = 1.0
    conjugate_domain: ClassVar[tuple] = (-1.0, 1.0)

    def _ahead(self, y: Array, z: Array) -> Array:
        """The differences z_k - z_y from the row's own class, of shape (n_rows, n_classes)."""
        return z - _sums_of_products(z, y)[:, np.newaxis]

    def largest(self, y: Array, z: Array, z_low: Numbers, error: Numbers) -> Array:
        """The loss of the lowest score of the row's class and the highest ones of the others."""
        with np.errstate(over="ignore", invalid="ignore"):
            y, z = self._table(y), self._table(z)
            low, error = (self._table(np.broadcast_to(x, z.size)) for x in (z_low, error))
            ahead = self._ahead(y, z)
            errors = error + np.abs(low)
            errors = errors + _sums_of_products(errors, y)[:, np.newaxis]
            errors = errors + (errors > 0.0) * 8.0 * EPSILON * (np.abs(ahead) + errors)
            ahead = ahead + np.where(y > 0.0, 0.0, errors + 2.0 * EPSILON * np.abs(ahead))
            return self._shared(self._of_ahead(y, ahead) * (1.0 + (64.0 + y.shape[1]) * EPSILON))

    @abstractmethod
    def _of_ahead(self, y: Array, ahead: Array) -> Array:
        """The loss of every row, from the differences z_k - z_y of `_ahead`."""

    def _offset(self, y: Array) -> Array:
        return 1.0 - y

    def _values(self, y: Array, z: Array) -> Array:
        return self._of_ahead(y, self._ahead(y, z))

    def dual_bounds(self, y: Array) -> tuple[Array, Array]:
        return np.where(y > 0.0, -1.0, 0.0), np.where(y > 0.0, 0.0, 1.0)

    def _others(self, y: Array, theta: Array) -> tuple[Array, Array]:
        """The probabilities of the classes other than the row's own, and their sums over k."""
        others = np.where(self._table(y) > 0.0, 0.0, self._table(theta))
        return others, _row_sums(others)

    def project_dual(self, y: Array, theta: Array) -> Array:
        others, _ = self._others(y, np.nan_to_num(theta, posinf=1.0, neginf=0.0))
        others = np.clip(others, 0.0, 1.0)
        # 1 - total is the probability of the row's class, which rounding must not make negative
        total, max_total = _row_sums(others), self._inside
        others *= np.where(total > max_total, max_total / np.maximum(total, 1.0), 1.0)[:, None]
        true_class = -_row_sums(others)[:, np.newaxis]
        return np.ravel(np.where(self._table(y) > 0.0, true_class, others))

    def spread(self, y: Array, theta: Array) -> Array:
        """Bounds on the rounding errors of theta in the entries of the rows' own classes.

        Such an entry stands for minus the exact sum of the other entries of its row.
        """
        total = self._others(y, theta)[1]
        return np.ravel(self._table(y) * (self.n_outputs * EPSILON * total)[:, np.newaxis])

    def largest_scale(self, y: Array, theta: Array) -> float:
        largest = float(np.max(self._others(y, theta)[1]))
        return self._inside / largest if largest > 0.0 else inf

    def best_constant(self, y: Array, weights: Array) -> float:
        """The constant 0: only differences between the scores of two classes change the loss."""
        return 0.0

    def _shares(self, y: Array, weights: Array) -> Array:
        """The sums of the weights of each class, in pairs of rows (`_depth`)."""
        return np.array([group.total for group in self.row_groups(y, weights)])

    def row_groups(self, y: Array, weights: Array) -> RowGroups:
        """A group for each class k: the rows of class k, with their weights, and their z_ik."""
        weights_of_classes = np.ascontiguousarray(self._table(weights * y).T)
        return [RowGroup(rows, float(np.sum(rows))) for rows in weights_of_classes]

    def constant_interval(self, groups: RowGroups, value: float, bounds: list[float]) -> Interval:
        """Bounds on every intercept, if that of the class with the tightest bound is 0.

        By Jensen, the mean loss over the rows of a class is at least the difference of the mean
        scores of any other class and this one. Without the intercepts this difference is at
        most the entry of ``bounds``, which bounds the difference of the intercepts.
        """
        furthest = [
            value / group.total + bound if group.total > 0.0 else inf
            for group, bound in zip(groups, bounds, strict=True)
        ]
        max_size = 1.000001 * max(furthest)  # with the rounding of products
        return -max_size, max_size

    def projection(self, y: Array, theta: Array) -> Derivatives:
        """The projection of theta + e_y onto the simplex, minus e_y, with its derivative."""
        point = self._table(theta + y)
        ordered = -np.sort(-point, axis=1)
        counts = np.arange(1, self.n_outputs + 1)
        thresholds = (np.cumsum(ordered, axis=1) - 1.0) / counts
        size = np.count_nonzero(ordered > thresholds, axis=1)
        threshold = thresholds[np.arange(len(point)), size - 1][:, np.newaxis]
        inside = point > threshold
        projected = np.where(inside, point - threshold, 0.0)
        e = inside / np.sqrt(size)[:, np.newaxis]
        return np.ravel(projected) - y, np.ravel(inside.astype(np.float64)), np.ravel(e)


class SoftmaxEvaluator(CoupledEvaluator[CoupledLoss]):
    """Derivatives of the softmax, which is smooth and needs no Moreau envelope.

    With the probabilities p of a row of weight c these are p - y, c (p - y), and d = c p and
    e = c^(1/2) p, as the curvature is c (diag(p) - p p') = diag(d) - e e'.
    """

    def smoothed_derivatives(
        self, y: Array, weights: Array, theta: Array, z: Array, sigma: float, *outputs: Array
    ) -> tuple[float, float]:
        derivative, gradient, d, e = outputs
        table, c = self.loss._table(z), self.loss._of_rows(weights)
        P = table.copy()
        largest, logarithms = to_probabilities(P)
        behind = table - largest[:, np.newaxis]
        p, true_scores = np.ravel(P), np.einsum("ik,ik->i", self.loss._table(y), behind)
        np.subtract(p, y, out=derivative)
        np.multiply(weights, derivative, out=gradient)
        np.multiply(weights, p, out=d)
        np.multiply(np.sqrt(weights), p, out=e)
        entropies = logarithms - np.einsum("ik,ik->i", P, behind)
        return float(c @ (logarithms - true_scores)), float(c @ entropies)


def to_probabilities(scores: Array) -> tuple[Array, Array]:
    """Overwrite a table of scores z by their softmax.

    Returns the largest score of every row and log sum_k exp(z_k - largest).
    """
    largest = np.max(scores, axis=1)
    scores -= largest[:, np.newaxis]
    np.exp(scores, out=scores)
    total = _row_sums(scores)
    scores *= (1.0 / total)[:, np.newaxis]
    return largest, np.log(total)


def _two_largest(table: Array, first: Array) -> tuple[Array, Array]:
    """The entries of every row at the given place, and the largest of the others."""
    rows = np.arange(len(table))
    others = table.copy()
    others[rows, first] = -inf
    return table[rows, first], np.max(others, axis=1)


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
    can_separate: ClassVar[bool] = True
    smoothness: ClassVar[float] = 0.5  # diag(p) - p p' has eigenvalues up to 1/2

    def add_cones(self, cones: LossCones) -> None:
        cones.add_softmax()

    def recession(self, y: Array, weights: Array) -> sp.csr_array:
        """The matrix of ``can_separate``: the score of a row's own class is the largest."""
        unit = sp.eye_array(len(y), format="csr")[weights > 0.0]
        is_own = y[weights > 0.0] > 0.0
        return unit[np.repeat(np.flatnonzero(is_own), self.n_outputs - 1)] - unit[~is_own]

    evaluator = computed(SoftmaxEvaluator)

    def _of_ahead(self, y: Array, ahead: Array) -> Array:
        rows, first = np.arange(len(ahead)), np.argmax(ahead, axis=1)
        largest = ahead[rows, first]  # at least 0, without cancellation
        terms = np.exp(ahead - largest[:, np.newaxis])
        terms[rows, first] = 0.0
        return largest + np.log1p(_row_sums(terms))

    def probabilities(self, z: Array) -> Array:
        """The probabilities of the classes, of shape (n_rows, n_classes)."""
        terms: Array = softmax(self._table(z), axis=1)
        return terms

    def _gradient(self, y: Array, z: Array) -> Array:
        return self.probabilities(z) - y

    def _dual_values(self, y: Array, theta: Array) -> Array:
        others, total = self._others(np.ravel(y), np.ravel(theta))
        of_true_class = np.maximum(1.0 - total, 0.0)  # 1 - total may be negative by rounding
        return -(_row_sums(xlogy(others, others)) + xlog1py(of_true_class, -total))

    def dual_values(self, y: Array, weights: Array, theta: Array, scales: Scales) -> list[Sum]:
        others, total = self._others(y, theta)
        weights, sums = self._of_rows(weights), []
        for t in scales:
            p, total_others = t * others, t * total
            entropy = -(_row_sums(xlogy(p, p)) + xlog1py(1.0 - total_others, -total_others))
            # the slope of (1 - s) log(1 - s) is below 40 in size where 1 - s >= n EPSILON
            moved = (32.0 + self.n_outputs) * EPSILON * (entropy + 2.0 * total_others)
            moved += 40.0 * self.n_outputs * EPSILON * total_others
            value = float(np.sum(weights * entropy))
            sums.append((value, float(weights @ moved) + _depth(len(weights)) * EPSILON * value))
        return sums

    def best_constants(self, y: Array, weights: Array, rows_of_outputs: list) -> Array:
        shares = self._of_rows(weights) @ self._table(y)
        return np.log(shares / np.sum(shares))

    def least_mean_of_constants(self, y: Array, weights: Array) -> float | None:
        """The entropy of the shares of the classes, less the effect of rounding.

        A share p has a relative error e of at most 2 depth + 2 roundings, which changes -p log p
        by up to e (p - p log p); logarithms, products and their sum take at most depth + 64 more.
        """
        shares = self._shares(y, weights)
        total = float(np.sum(shares))
        entropy = float(np.sum(entr(shares / total)))
        return total * (entropy - 4.0 * _depth(len(y)) * EPSILON * (1.0 + entropy))

    def derivatives(self, y: Array, theta: Array, z: Array, sigma: float) -> Derivatives:
        p = np.ravel(self.probabilities(z))
        return p - y, p, p

    def decision_costs(
        self, y: Array, weights: Array, z: Array, error: Array, theta: Array
    ) -> Array:
        """See `Loss.decision_costs`: divergences of p from probabilities with another first class.

        D is KL(x, p) for the probabilities x of the other model, least where x is proportional to
        p but for the first two classes, which share the root of their product. F is KL(q, x) for
        q = theta + e_y, least where the two share their mean.
        """
        p, q = self.probabilities(z), self._table(theta + y)
        first = np.argmax(p, axis=1)
        (p_1, p_2), (q_1, q_2) = _two_largest(p, first), _two_largest(q, first)
        roots = np.sqrt(p_1) - np.sqrt(p_2)
        costs = -np.log1p(-roots * roots)
        # each D changes by at most twice the change of a score
        max_changes = 2.0 * np.max(self._table(error), axis=1)
        max_changes += ROUNDINGS * self.n_outputs * EPSILON * (1.0 + costs)
        costs = np.maximum(costs - max_changes, 0.0)
        of_dual = 2.0 * (xlogy(0.5 * q_1, q_1) + xlogy(0.5 * q_2, q_2))
        of_dual -= xlogy(q_1 + q_2, 0.5 * (q_1 + q_2))
        of_dual -= ROUNDINGS * self.n_outputs * EPSILON
        costs += np.where(q_1 > q_2, np.maximum(of_dual, 0.0), 0.0)
        scores = _two_largest(self._table(z), first)
        tied = scores[0] - scores[1] <= max_changes
        return self._of_rows(weights) * np.where(tied, 0.0, costs)

    def prox_conjugate(self, y: Array, theta: Array, step: Array | float) -> Array:
        """The prox of the conjugate, p - e_y, by Newton's method for a multiplier mu.

        The probabilities p have log p_k + 1 + (p_k - v_k) / step = mu and the sum 1, so that
        p_k = step omega((v_k + step (mu - 1)) / step - log step) with the Wright function omega.
        """
        t = self._table(np.broadcast_to(step, theta.shape))
        v = self._table(theta + y)
        # the mu for which the largest p_k is 1 / n_outputs
        mu = 1.0 - np.log(self.n_outputs) + np.min((1.0 / self.n_outputs - v) / t, axis=1)
        for _ in range(PROX_STEPS):
            omega = wrightomega(v / t + mu[:, np.newaxis] - 1.0 - np.log(t))
            p = t * omega
            missing = 1.0 - np.sum(p, axis=1)
            if np.all(np.abs(missing) <= 4.0 * self.n_outputs * EPSILON):
                break
            # sum p is convex and increasing in mu, so that after the first step Newton's
            # iterates decrease to the root
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

    def add_cones(self, cones: LossCones) -> None:
        cones.add_largest_scores()

    def _of_ahead(self, y: Array, ahead: Array) -> Array:
        return np.max(ahead + (1.0 - y), axis=1)

    def _gradient(self, y: Array, z: Array) -> Array:
        furthest = np.argmax(self._ahead(y, z) + (1.0 - y), axis=1)
        return np.eye(self.n_outputs)[furthest] - y

    def _dual_values(self, y: Array, theta: Array) -> Array:
        return self._others(np.ravel(y), np.ravel(theta))[1]

    def dual_values(self, y: Array, weights: Array, theta: Array, scales: Scales) -> list[Sum]:
        total, row_weights = self._others(y, theta)[1], self._of_rows(weights)
        value = float(np.sum(row_weights * total))
        rounding = (_depth(len(row_weights)) + self.n_outputs) * EPSILON * value
        return [(t * value, t * rounding) for t in scales]

    def decision_costs(
        self, y: Array, weights: Array, z: Array, error: Array, theta: Array
    ) -> Array:
        """See `Loss.decision_costs`: the probability of the row's class, where it is decided.

        If another class has as high a score, ahead by d >= 0, the loss is 1 + d, and theta.z is at
        most d times the sum of the other probabilities, so that F is at least 1 less this sum.
        """
        table, of_class = self._table(z), self._table(y)
        true_scores = np.sum(table * of_class, axis=1)
        others = np.max(np.where(of_class > 0.0, -inf, table), axis=1)
        max_changes = 2.0 * np.max(self._table(error), axis=1)
        costs = 1.0 - self._others(y, theta)[1] - ROUNDINGS * self.n_outputs * EPSILON
        is_decided = true_scores - others > max_changes
        return self._of_rows(weights) * np.where(is_decided, np.maximum(costs, 0.0), 0.0)

    def best_constants(self, y: Array, weights: Array, rows_of_outputs: list) -> Array:
        """The best constants: 1 for the most frequent class and 0 for the others, or all 0."""
        shares = self._of_rows(weights) @ self._table(y)
        best = np.zeros(self.n_outputs)
        best[int(np.argmax(shares))] = 1.0
        # the mean loss is 2 (1 - share) for the first and 1 for the second
        return best if 2.0 * (1.0 - float(np.max(shares) / np.sum(shares))) < 1.0 else 0.0 * best

    def least_mean_of_constants(self, y: Array, weights: Array) -> float | None:
        """The smaller one of these two, as dual points with probabilities p prove.

        The mean loss is at least 1 minus the mean probability of the rows' own classes, for p
        whose means are the shares of the classes. Half a turn of a circle on which every class has
        an arc of its share takes a row to another class, or to its own one on an arc of
        2 share - 1.
        """
        shares = self._shares(y, weights)
        total = float(np.sum(shares))
        least = min(total, 2.0 * (total - float(np.max(shares))))
        return least - _depth(len(y)) * EPSILON * total

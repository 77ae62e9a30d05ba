"""Losses of the labels of all samples together: one minus F1, other scores or the ROC AUC.

With Delta(y', y) one minus the score of predicted labels y' for true labels y, and z the decision
values of n samples ::

    L(z) = max over y' in {-1, 1}^n of  Delta(y', y) + (1/n) sum_i z_i (y'_i - y_i)

(Joachims, 2005, A support vector method for multivariate performance measures; Zhang, Saha and
Vishwanathan, Regularized risk minimization by Nesterov's accelerated gradient methods, Example 3
and (43), where the Delta that is printed is F1 itself). L is at least Delta of the labels sign(z),
a convex bound on one minus their score.

Delta depends on the numbers b and c of positive and negative samples with a wrong label. For given
numbers the worst are the b lowest positive and the c highest negative ones, so that sorting finds
the maximum, and the recursions of `skpd.models.metric.labeling_sums` find its smooth counterpart.
"""

from abc import abstractmethod
from math import ceil, log, sqrt

import numpy as np
from scipy.special import expit, gammaln

from ... import kernels
from ..._floats import EPSILON
from ..._immutable_base import attribute_of_part, computed
from ..._typing import Array, Mask, Numbers, Sum
from ...losses.structured import StructuredDual, StructuredLoss
from .labeling_sums import best_flips, marginals

LARGEST_TABLE = 30_000_000  # most entries of the tables of a smoothed maximum, 240 MB


class MultivariateLoss(StructuredLoss):
    """A loss of the labels of all samples.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels -1 and 1, some of each.

    Raises
    ------
    ValueError
        If there are other labels, or only one of these.
    """

    y: Array

    def __init__(self, y: Array) -> None:
        y = np.asarray(y, dtype=np.float64)
        if y.ndim != 1 or not np.array_equal(np.unique(y), [-1.0, 1.0]):
            raise ValueError(
                "y must be a vector of labels -1 and 1, with some of each, got "
                f"{np.unique(y)[:3]} in shape {y.shape}."
            )
        self.y = y
        self.positives, self.negatives = np.flatnonzero(y > 0.0), np.flatnonzero(y < 0.0)

    def _theta(self, positives: Numbers, negatives: Numbers) -> Array:
        """The vector with these numbers for the positive and the negative samples."""
        theta = np.zeros(len(self.y))
        theta[self.positives], theta[self.negatives] = positives, negatives
        return theta

    def _require_small(self, n_entries: int) -> None:
        if n_entries > LARGEST_TABLE:
            raise ValueError(
                "Smoothing this loss takes tables of the pairs of samples: at most "
                f"{LARGEST_TABLE:,} entries, got {n_entries:,} for {len(self.positives):,} "
                f"positive and {len(self.negatives):,} negative samples. solver='auto' takes "
                "none."
            )


class ContingencyLoss(MultivariateLoss):
    """One minus a score that depends on the numbers of false negatives b and false positives c."""

    def __init__(self, y: Array) -> None:
        super().__init__(y)
        n = len(self.y)
        self.weights, self.largest_theta = np.full(n, 1.0 / n), np.full(n, 2.0)

    @abstractmethod
    def delta(self, b: np.ndarray | float, c: np.ndarray | float) -> Numbers:
        """One minus the score of labels with b false negatives and c false positives."""

    @abstractmethod
    def allowed(self, b: np.ndarray | float, c: np.ndarray | float) -> Mask | bool:
        """Whether the maximum of the loss includes labelings with these numbers."""

    @abstractmethod
    def best_counts(self, gains: tuple[Array, Array], sums: tuple[Array, Array]) -> tuple:
        """The numbers b and c with the largest Delta(b, c) + sums[0][b] + sums[1][c].

        ``gains`` are the differences of consecutive entries of ``sums``, in decreasing order.
        """

    # The maximum

    def _worst(self, z: Array) -> tuple[int, int]:
        gains = (
            np.sort(z[self.positives]) * (-2.0 / len(z)),
            np.sort(z[self.negatives])[::-1] * (2.0 / len(z)),
        )
        b, c = self.best_counts(gains, (_prefix_sums(gains[0]), _prefix_sums(gains[1])))
        return int(b), int(c)

    def _labeling(self, z: Array, b: int, c: int) -> StructuredDual:
        theta = np.zeros(len(z))
        theta[self.positives[best_flips(-z[self.positives], b)]] = -2.0
        theta[self.negatives[best_flips(z[self.negatives], c)]] = 2.0
        return StructuredDual(theta, float(self.delta(b, c)), 0.0, 4.0 * EPSILON)

    def _value_of(self, z: Array, dual: StructuredDual) -> Sum:
        linear, error = kernels.compensated_dot(self.weights, dual.theta, z)
        value = dual.mean_loss + linear
        # the rounding error of the weights 1 / n is a relative error of the whole sum
        return value, error + EPSILON * (5.0 + abs(value) + 2.0 * abs(linear))

    def value(self, z: Array) -> Sum:
        z = np.ascontiguousarray(z, dtype=np.float64)
        value, error = self._value_of(z, self._labeling(z, *self._worst(z)))
        # The search compares sums of gains with rounding errors: the best labeling may be better
        # than the one found by at most twice their bound.
        total = 2.0 * float(np.mean(np.abs(z))) * (1.0 + 1e-9)
        return value, error + EPSILON * ((2.0 * sqrt(len(z)) + 20.0) * total + 40.0)

    def loss_augmented(self, z: Array, smoothing: float) -> tuple[float, StructuredDual]:
        z = np.ascontiguousarray(z, dtype=np.float64)
        b, c = self._worst(z)
        if smoothing == 0.0:
            labeling = self._labeling(z, b, c)
            return self._value_of(z, labeling)[0], labeling
        n_pos, n_neg = len(self.positives), len(self.negatives)
        self._require_small((n_pos + 1) ** 2 + (n_neg + 1) ** 2 + (n_pos + 1) * (n_neg + 1))
        counts = np.arange(n_pos + 1.0)[:, None], np.arange(n_neg + 1.0)[None, :]
        delta = np.where(self.allowed(*counts), self.delta(*counts), -np.inf)
        scale = 2.0 / (len(z) * smoothing)
        gains = -scale * z[self.positives], scale * z[self.negatives]
        q = marginals(delta / smoothing, gains, (b, c))
        theta = self._theta(-2.0 * q.flips[0], 2.0 * q.flips[1])
        mean_loss = float(np.sum(q.cells * np.where(q.cells > 0.0, delta, 0.0)))
        error = min(q.error, 1.0)
        mixed = StructuredDual(
            theta,
            mean_loss,
            2.0 * error + 2.0 * EPSILON,
            error + (counts[0].size + counts[1].size) * EPSILON,
        )
        return smoothing * (q.log_sum - self.entropy_range), mixed


class FBeta(ContingencyLoss):
    """One minus the F-beta score; the F1 score for ``beta=1``.

    For a given number of true positives ``a = n_+ - b``, Delta and the sum of the c highest
    negative scores are concave in c, so that the best c is where the increments change their sign.
    Bisections find it for every a at once, in ``O(n_+ log n_-)`` after sorting.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels -1 and 1.
    beta : float, default=1.0
        Greater than 0; recall counts beta times as much as precision.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd.losses import FBeta
    >>> loss = FBeta(np.array([1.0, -1.0, -1.0, 1.0]))
    >>> round(loss.value(np.array([4.0, -4.0, -4.0, 4.0]))[0], 6)  # 0 but for rounding
    0.0
    >>> round(loss.value(np.zeros(4))[0], 6)  # the labeling without a true positive
    1.0
    """

    def __init__(self, y: Array, beta: float = 1.0) -> None:
        super().__init__(y)
        self.beta = float(beta)
        self.entropy_range = len(self.y) * log(2.0)
        all_positive = float(self.delta(0, len(self.negatives)))
        self.points_of_both_signs = (
            StructuredDual(1.0 - self.y, all_positive, 0.0, 4.0 * EPSILON),
            StructuredDual(-1.0 - self.y, 1.0, 0.0, 4.0 * EPSILON),
        )

    def delta(self, b: np.ndarray | float, c: np.ndarray | float) -> Numbers:
        squared, n_pos = self.beta**2, len(self.positives)
        return (squared * b + c) / (squared * n_pos + (n_pos - b) + c)

    def allowed(self, b: np.ndarray | float, c: np.ndarray | float) -> Mask | bool:
        return True

    def best_counts(self, gains: tuple[Array, Array], sums: tuple[Array, Array]) -> tuple:
        n_pos, n_neg = len(gains[0]), len(gains[1])
        squared = self.beta**2
        b = np.arange(n_pos + 1)
        true = n_pos - b
        denominator, factor = squared * n_pos + true, (1.0 + squared) * true
        low, high = np.zeros(n_pos + 1, dtype=np.int64), np.full(n_pos + 1, n_neg)
        for _ in range(n_neg.bit_length() + 1):
            middle = np.minimum((low + high) // 2, n_neg - 1)
            total = denominator + middle
            rises = factor / (total * (total + 1.0)) + gains[1][middle] > 0.0
            # where both ends have met, neither moves
            low, high = np.where(rises, middle + 1, low), np.where(rises, high, middle)
        k = int(np.argmax(self.delta(b, low) + sums[0] + sums[1][low]))
        return b[k], low[k]


class _AtK(ContingencyLoss):
    """One minus a score of labelings that label exactly k samples positive.

    The maximum is over the labelings with k positive samples and the true labeling, so that the
    loss is at least 0. Where k is not the number of positive samples, adding a constant to all
    scores would lower the loss without changing the order of the samples.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels -1 and 1.
    k : int
        From 1 to the number of samples minus one; if all samples were labelled positive, the
        score would not depend on the model.

    Raises
    ------
    ValueError
        If k is not in this range.
    """

    _denominator: int  # of the score, whose numerator is the number of true positives

    def __init__(self, y: Array, k: int) -> None:
        super().__init__(y)
        n, n_pos = len(self.y), len(self.positives)
        if not 1 <= k < n:
            raise ValueError(
                f"k must be from 1 to the number of samples less one, {n - 1}, got {k}."
            )
        self.k = int(k)
        number = gammaln(n + 1.0) - gammaln(self.k + 1.0) - gammaln(n - self.k + 1.0)
        # the logarithm of the number of labelings with k positive samples, and the true one
        self.entropy_range = float(number if self.k == n_pos else np.logaddexp(number, 0.0))

    def delta(self, b: np.ndarray | float, c: np.ndarray | float) -> Numbers:
        true = len(self.positives) - b
        return np.where((b == 0) & (c == 0), 0.0, 1.0 - true / self._denominator)

    def allowed(self, b: np.ndarray | float, c: np.ndarray | float) -> Mask | bool:
        return (len(self.positives) - b + c == self.k) | ((b == 0) & (c == 0))

    def best_counts(self, gains: tuple[Array, Array], sums: tuple[Array, Array]) -> tuple:
        n_pos, n_neg = len(gains[0]), len(gains[1])
        true = np.arange(max(self.k - n_neg, 0), min(self.k, n_pos) + 1)
        b, c = np.append(n_pos - true, 0), np.append(self.k - true, 0)
        best = int(np.argmax(self.delta(b, c) + sums[0][b] + sums[1][c]))
        return b[best], c[best]


class PrecisionAtK(_AtK):
    """One minus the precision at k, the share of true positives among the k samples."""

    _denominator = attribute_of_part("k")


class RecallAtK(_AtK):
    """One minus the recall at k, the share of all positive samples among the k samples."""

    _denominator = computed(lambda self: len(self.positives))


class RocAuc(MultivariateLoss):
    """Pairwise hinge loss, the mean of max(1 - (z_i - z_j), 0) over positive i and negative j.

    This loss is at least the share of pairs in the wrong order, which is one minus the area under
    the ROC curve. The maximum is over sets of pairs. The samples have the weights ``1 / n_+``
    (positive) and ``1 / n_-`` (negative). Theta_i of a positive sample is minus the share of the
    negative samples that are in a pair of the set with i; theta_j of a negative sample is the
    share of the positive samples that are in a pair with j. Sorting counts them in O(n log n).

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels -1 and 1.
    """

    def __init__(self, y: Array) -> None:
        super().__init__(y)
        n_pos, n_neg = len(self.positives), len(self.negatives)
        self.weights = np.where(self.y > 0.0, 1.0 / n_pos, 1.0 / n_neg)
        self.largest_theta = np.ones(len(self.y))
        self.n_pairs = n_pos * n_neg
        self.entropy_range = self.n_pairs * log(2.0)

    def _worst(self, z: Array) -> StructuredDual:
        ends, highs = z[self.positives] - 1.0, z[self.negatives]
        n_pos, n_neg = len(ends), len(highs)
        above = n_neg - np.searchsorted(np.sort(highs), ends, side="right")
        below = np.searchsorted(np.sort(ends), highs, side="left")
        theta = self._theta(-(above / n_neg), below / n_pos)
        return StructuredDual(theta, int(np.sum(above)) / self.n_pairs, EPSILON, 2.0 * EPSILON)

    def _value_of(self, z: Array, dual: StructuredDual) -> Sum:
        linear, error = kernels.compensated_dot(self.weights, dual.theta, z)
        sizes = float(np.sum(self.weights * np.abs(dual.theta * z)))
        return dual.mean_loss + linear, error + EPSILON * (4.0 + 4.0 * sizes)

    def value(self, z: Array) -> Sum:
        z = np.ascontiguousarray(z, dtype=np.float64)
        value, error = self._value_of(z, self._worst(z))
        # the rounding of z_i - 1 may put a pair into the set, or leave it out
        return value, error + EPSILON * (1.0 + float(np.max(np.abs(z))))

    def loss_augmented(self, z: Array, smoothing: float) -> tuple[float, StructuredDual]:
        z = np.ascontiguousarray(z, dtype=np.float64)
        if smoothing == 0.0:
            labeling = self._worst(z)
            return self._value_of(z, labeling)[0], labeling
        self._require_small(self.n_pairs)
        hinges = 1.0 - (z[self.positives][:, None] - z[self.negatives][None, :])
        width = smoothing * self.n_pairs  # pairs are in the set independently of each other
        shares = expit(hinges / width)
        theta = self._theta(-np.mean(shares, axis=1), np.mean(shares, axis=0))
        error = max(shares.shape) * EPSILON
        mixed = StructuredDual(theta, float(np.mean(shares)), error, sum(shares.shape) * EPSILON)
        value = float(np.mean(np.logaddexp(0.0, hinges / width)))
        return width * (value - log(2.0)), mixed


def _prefix_sums(values: Array) -> Array:
    """The sums of the first 0, 1, 2, ... values, of shape (n + 1,).

    Summing blocks of sqrt(n) values and then the blocks makes at most 2 sqrt(n) rounding errors.
    """
    n = len(values)
    length = max(ceil(sqrt(n)), 1)
    rows = -(-n // length)
    padded = np.zeros(rows * length)
    padded[:n] = values
    inner = np.cumsum(padded.reshape(rows, length), axis=1)
    offsets = np.append(0.0, np.cumsum(inner[:-1, -1])) if rows else np.zeros(0)
    sums: Array = (inner + offsets[:, None]).ravel()[:n]
    return np.append(0.0, sums)

"""Sums over all labelings of two classes that depend on how many labels of each are wrong.

A labeling flips some labels of the positive and some of the negative samples. Its weight is

    exp(cells[b, c] + sum of the gains of the samples that it flips),

with b and c the numbers of positive and negative samples that are flipped. Sums over the 2^n
labelings come from recursions over the samples (Zhang, Saha and Vishwanathan, Regularized risk
minimization by Nesterov's accelerated gradient methods, Algorithms 5 and 6). The recursions here
work with logarithms of weights relative to that of a best labeling, which avoids overflow and
underflow.
"""

from dataclasses import dataclass
from math import log

import numpy as np
from scipy.special import logsumexp

from ..._floats import EPSILON
from ..._typing import Array, Indices

LEAST = 750.0  # exp(-LEAST) is 0 in double precision


@dataclass(frozen=True)
class Marginals:
    """A distribution over labelings.

    Attributes
    ----------
    log_sum : float
        The logarithm of the sum of all weights.
    flips : tuple of two ndarray
        The probability that each positive, and each negative, sample is flipped.
    cells : ndarray of shape (n_positives + 1, n_negatives + 1)
        The probability of every pair of numbers of flips.
    error : float
        A bound on the relative rounding error of all these probabilities, compared with those of
        the distribution that the rounded cells define.
    """

    log_sum: float
    flips: tuple[Array, Array]
    cells: Array
    error: float


def marginals(cells: Array, gains: tuple[Array, Array], best: tuple[int, int]) -> Marginals:
    """The distribution over labelings with the given weights (see the module's docstring).

    Parameters
    ----------
    cells : ndarray of shape (n_positives + 1, n_negatives + 1)
        The term of the logarithm of the weight for b and c; -inf for pairs that are excluded.
    gains : tuple of two ndarray
        The gain of flipping each positive, and each negative, sample.
    best : tuple of two int
        The numbers of flips of a labeling with the largest weight.
    """
    tilts = [_threshold(gain, count) for gain, count in zip(gains, best, strict=True)]
    counts = [np.arange(len(gain) + 1.0) for gain in gains]
    moved = [gain - tilt for gain, tilt in zip(gains, tilts, strict=True)]
    # gains relative to the best labeling; the difference goes into the cells
    joint = cells + (tilts[0] * counts[0])[:, None] + (tilts[1] * counts[1])[None, :]
    peak = float(joint[best])
    joint = joint - peak
    tables = [_forward(gain) for gain in moved]
    log_cells = joint + tables[0][-1][:, None] + tables[1][-1][None, :]
    log_sum = float(logsumexp(log_cells))
    flips = []
    for k, axis in ((0, 1), (1, 0)):
        other = tables[1 - k][-1]
        outside = logsumexp(joint + (other[None, :] if axis else other[:, None]), axis=axis)
        flips.append(_backward(moved[k], tables[k], outside, log_sum))
    base = sum(float(np.sum(np.maximum(gain, 0.0))) for gain in moved)
    return Marginals(
        log_sum + peak + base,
        (flips[0], flips[1]),
        np.exp(log_cells - log_sum),
        _rounding(moved, float(np.max(joint))),
    )


def _threshold(gain: Array, count: int) -> float:
    """A number between the gains of flipped and those of kept samples in the best labeling."""
    if len(gain) == 0:
        return 0.0
    ordered = np.sort(gain)[::-1]
    return 0.5 * float(ordered[max(count - 1, 0)] + ordered[min(count, len(gain) - 1)])


def _steps(gain: Array) -> tuple[Array, Array]:
    """The log-weights of keeping and of flipping a sample, minus the larger of the two."""
    return -np.maximum(gain, 0.0), np.minimum(gain, 0.0)


def _forward(gain: Array) -> Array:
    """Table of log-sums (Algorithm 5): entry (k, m) is over m flips among the first k samples."""
    n = len(gain)
    keep, flip = _steps(gain)
    table = np.full((n + 1, n + 1), -np.inf)
    table[0, 0] = 0.0
    for k in range(n):
        before, after = table[k], table[k + 1]
        after[: k + 1] = before[: k + 1] + keep[k]
        after[1 : k + 2] = np.logaddexp(after[1 : k + 2], before[: k + 1] + flip[k])
    return table


def _backward(gain: Array, table: Array, outside: Array, log_sum: float) -> Array:
    """The probability of the flip of each sample (Algorithm 6).

    ``outside`` has the log-sums over all flips of samples of the other class, for each number of
    flips in this class.
    """
    n = len(gain)
    keep, flip = _steps(gain)
    probabilities, log_sums = np.zeros(n), outside
    for k in range(n - 1, -1, -1):
        flipped = log_sums[1 : k + 2] + flip[k]
        probabilities[k] = float(np.sum(np.exp(table[k, : k + 1] + flipped - log_sum)))
        log_sums = np.logaddexp(log_sums[: k + 1] + keep[k], flipped)
    return np.minimum(probabilities, 1.0)


def _rounding(moved: list[Array], above: float) -> float:
    """A bound on the relative rounding errors of the probabilities.

    Each of the two recursions has a step for each sample, which makes three rounding errors in the
    logarithm of a weight. These logarithms are at most that of the number of labelings, and those
    below -LEAST do not contribute to a probability.
    """
    n = sum(len(gain) for gain in moved)
    largest = n * log(2.0) + LEAST + max(above, 0.0)
    return 2.0 * EPSILON * (3.0 * (n + 4.0) * (largest + 2.0) + 2.0 * (n + 2.0))


def best_flips(values: Array, n_flips: int) -> Indices:
    """The indices of the ``n_flips`` samples with the largest values."""
    return np.argpartition(-values, max(n_flips - 1, 0))[:n_flips]

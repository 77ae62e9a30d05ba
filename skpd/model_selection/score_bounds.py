"""Bounds on the scores of optimal models for held-out samples, for a range of alpha.

For a penalty with a squared part the gap bounds the distance of the optimal coefficients
(`skpd.problems.prediction_intervals`), and so each prediction for a new sample. A score that is a
mean over samples is between the means of its least and greatest values on these intervals. Where
predictions are means exp(x.w + b), their intervals are between the exponentials of the ends.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_array

from .._typing import Array, PerRow
from ..designs import Design
from ..estimators.means import rates
from ..losses import Tweedie
from ..problems import Problem, Solution
from ..problems.prediction_intervals import changes_of_intercept, distance_of_coefficients

ROUNDED = 1e-9  # a relative error above the rounding errors of predictions
LARGEST = 300.0  # the size of the logarithm of a mean above which deviances may overflow
CLIPPED = 15.9  # the loss of a row at which scikit-learn's metric is clipped in float32
DIFFERENT = 1e-3  # the relative spread of targets below which a deviance is mostly rounding
Bounds = tuple[float, float]


class Mean(NamedTuple):
    """The mean over samples with weights, or None, and their offsets."""

    weights: Array | None
    offset: PerRow = None

    def __call__(self, values: np.ndarray) -> float:
        return float(np.average(values, weights=self.weights))


Error = Callable[[Array, Array], Array]
Score = Callable[[Array, Array, Array, Mean], Bounds]


def _accuracy(y: Array, lower: Array, upper: Array, mean: Mean) -> Bounds:
    # a margin of 0 decides for the first class
    min_margin = np.where(y > 0.0, lower, -upper)
    max_margin = np.where(y > 0.0, upper, -lower)
    return mean(min_margin > 0.0), mean(max_margin >= 0.0)


def _log_loss(y: Array, lower: Array, upper: Array, mean: Mean) -> Bounds:
    min_margin, max_margin = np.where(y > 0.0, lower, -upper), np.where(y > 0.0, upper, -lower)
    highest = -mean(np.minimum(np.logaddexp(0.0, -max_margin), CLIPPED))
    return -mean(np.logaddexp(0.0, -min_margin)), highest


def _of_errors(error: Error, y: Array, lower: Array, upper: Array, mean: Mean) -> Bounds:
    """Bounds on minus the mean of an error, which grows with the distance from the target."""
    max_error = np.maximum(error(y, lower), error(y, upper))
    return -mean(max_error), -mean(error(y, np.clip(y, lower, upper)))


def _share(
    error: Error, spread: float, y: Array, lower: Array, upper: Array, mean: Mean
) -> Bounds:
    """Bounds on the share of the error of the best constant that is explained.

    Nothing is known where the targets are equal, or their relative spread is at most ``least``.
    """
    whole = mean(error(y, np.full(len(y), mean(y))))
    if not whole > mean(error(y, y * (1.0 + spread))):
        return -np.inf, np.inf
    low, high = _of_errors(error, y, lower, upper, mean)
    return 1.0 + low / whole * (1.0 + ROUNDED), 1.0 + high / whole * (1.0 - ROUNDED)


def _squared(y: Array, predicted: Array) -> Array:
    return (predicted - y) ** 2


SCORES: dict[str, Score] = {
    "accuracy": _accuracy,
    "neg_log_loss": _log_loss,
    "neg_mean_squared_error": partial(_of_errors, _squared),
    "neg_mean_absolute_error": partial(_of_errors, lambda y, predicted: np.abs(predicted - y)),
    "r2": partial(_share, _squared, ROUNDED),
}


def bounds_of_score(estimator: BaseEstimator, scoring: str | Callable | None) -> Score | None:
    """The function that bounds a score for intervals of x.w + b, or None without bounds."""
    name = scoring or ("accuracy" if is_classifier(estimator) else "r2")
    bounds = SCORES.get(name) if isinstance(name, str) else None
    if not estimator._predicts_means or bounds is None:
        return bounds
    if scoring is None:
        bounds = partial(_share_of_deviance, float(estimator._get_loss().power))
    return partial(_of_means, bounds)


def _share_of_deviance(power: float, y: Array, lower: Array, upper: Array, mean: Mean) -> Bounds:
    """Bounds on the share that is explained of the deviance of the best constant rate."""
    value = Tweedie(power).value
    y, (lower, upper), weights = rates(y, np.array([lower, upper]), *mean, power)
    return _share(lambda y, m: value(y, np.log(m)), DIFFERENT, y, lower, upper, Mean(weights))


def _of_means(bounds: Score, y: Array, lower: Array, upper: Array, mean: Mean) -> Bounds:
    if not (np.min(lower) > -LARGEST and np.max(upper) < LARGEST):
        return -np.inf, np.inf
    return bounds(y, np.exp(lower), np.exp(upper), mean)


def score_bounds(
    score: Score, problem: Problem, solution: Solution, eps: float, held_out: tuple
) -> Bounds:
    """Bounds on the score of every optimal model for held-out samples.

    Parameters
    ----------
    score : callable
        One of `SCORES` or of `bounds_of_score`.
    problem : Problem
        The problem of the training samples at the least alpha of a range.
    solution : Solution
        A model whose relative gap is at most ``eps`` for all alphas of the range.
    eps : float
    held_out : tuple
        X, y, weights and offsets of the samples; y are targets, or -1 and 1 for the two classes,
        and weights and offsets may be None.

    Returns
    -------
    lower, upper : float
        They are infinite where the penalty has no squared part, or a score is not defined.
    """
    gap = eps * problem.objective_unit
    distance = distance_of_coefficients(problem, gap) * (1.0 + ROUNDED)
    if not distance < np.inf:
        return -np.inf, np.inf
    coef = np.asarray(solution.coef, np.float64)
    free = float(solution.intercept)
    z, error = problem.predictions(coef, free)
    change = problem.design.row_norms() * distance + error
    below, above = changes_of_intercept(problem, z - change, z + change, free)
    X, y, weights, offset = held_out
    design = Design(check_array(X, accept_sparse=("csr", "csc"), dtype=np.float64))
    offset = np.zeros(len(y)) + (0.0 if offset is None else np.ravel(offset))
    predicted = design.matvec(coef) + free + offset
    radius = design.row_norms() * distance + ROUNDED * (1.0 + np.abs(predicted))

    mean = Mean(weights, offset)
    with np.errstate(divide="ignore", over="ignore"):  # the logarithm of 0, distant predictions
        lower, upper = score(y, predicted - radius - below, predicted + radius + above, mean)
    return (lower, upper) if lower <= upper else (-np.inf, np.inf)


def may_be_best(lower: Array, upper: Array) -> Array:
    """A mask of ranges of alpha whose mean score may be the best one.

    ``lower`` and ``upper`` are bounds of shape (n_folds, n_ranges).
    """
    best: Array = np.mean(upper, axis=0) >= np.max(np.mean(lower, axis=0))
    return best

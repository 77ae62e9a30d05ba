"""Bounds on the scores of optimal models for held-out samples, for a range of alpha.

For a penalty with a squared part the gap bounds the distance of the optimal coefficients
(`skpd.problems.prediction_intervals`), and so each prediction for a new sample. A score that is a
mean over samples is between the means of its least and greatest values on these intervals.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array
from sklearn.utils.extmath import row_norms

from .._typing import Array
from ..problems import Problem, Solution
from ..problems.prediction_intervals import changes_of_intercept, distance_of_coefficients

ROUNDED = 1e-9  # relative, above the rounding errors of predictions
Bounds = tuple[float, float]
Mean = Callable[[Any], float]


def _accuracy(y: Array, lower: Array, upper: Array, mean: Mean) -> Bounds:
    least = np.where(y > 0.0, lower, -upper)  # the margin, which decides for the first class at 0
    most = np.where(y > 0.0, upper, -lower)
    return mean(least > 0.0), mean(most >= 0.0)


def _log_loss(y: Array, lower: Array, upper: Array, mean: Mean) -> Bounds:
    least, most = np.where(y > 0.0, lower, -upper), np.where(y > 0.0, upper, -lower)
    return -mean(np.logaddexp(0.0, -least)), -mean(np.logaddexp(0.0, -most))


def _of_errors(error: Callable[[Array], Array]) -> Callable[..., Bounds]:
    """Bounds on minus the mean of a function of the distance from the target."""

    def bounds(y: Array, lower: Array, upper: Array, mean: Mean) -> Bounds:
        furthest = np.maximum(np.abs(lower - y), np.abs(upper - y))
        return -mean(error(furthest)), -mean(error(np.clip(y, lower, upper) - y))

    return bounds


def _r2(y: Array, lower: Array, upper: Array, mean: Mean) -> Bounds:
    variance = mean((y - mean(y)) ** 2)
    low, high = SCORES["neg_mean_squared_error"](y, lower, upper, mean)
    return 1.0 + low / variance, 1.0 + high / variance


SCORES: dict[str, Callable[..., Bounds]] = {
    "accuracy": _accuracy,
    "neg_log_loss": _log_loss,
    "neg_mean_squared_error": _of_errors(np.square),
    "neg_mean_absolute_error": _of_errors(np.abs),
    "r2": _r2,
}


def name_of_score(estimator: Any, scoring: Any) -> str | None:
    """The name of a score in `SCORES`, or None for one that has no bounds."""
    name = scoring or ("accuracy" if is_classifier(estimator) else "r2")
    return name if isinstance(name, str) and name in SCORES else None


def score_bounds(
    name: str, problem: Problem, solution: Solution, eps: float, held_out: tuple
) -> Bounds:
    """Bounds on the score of every optimal model for held-out samples.

    Parameters
    ----------
    name : str
        A name in `SCORES`.
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
        They are infinite where the penalty has no squared part.
    """
    gap = eps * problem.objective_unit
    distance = distance_of_coefficients(problem, gap) * (1.0 + ROUNDED)
    if not distance < np.inf:
        return -np.inf, np.inf
    coef: Any = np.float64(solution.coef)
    free = float(solution.intercept)
    z, error = problem.predictions(coef, free)
    room = problem.design.row_norms() * distance + error
    below, above = changes_of_intercept(problem, z - room, z + room, free)
    X, y, weights, offset = held_out
    X = check_array(X, accept_sparse=True, dtype=np.float64)
    predicted = np.ravel(X @ coef) + free + (0.0 if offset is None else np.asarray(offset))
    reach = row_norms(X) * distance + ROUNDED * (1.0 + np.abs(predicted))

    def mean(values: Array) -> float:
        return float(np.average(values, weights=weights))

    return SCORES[name](y, predicted - reach - below, predicted + reach + above, mean)


def may_be_best(lower: Array, upper: Array) -> Array:
    """A mask of ranges of alpha whose mean score may be the best one.

    ``lower`` and ``upper`` are bounds of shape (n_folds, n_ranges).
    """
    best: Array = np.mean(upper, axis=0) >= np.max(np.mean(lower, axis=0))
    return best

"""Intervals that contain the predictions of an optimal model, and the rows it does not depend on.

If ``alpha R(w) - mu ||w||^2 / 2`` is convex, the gap G bounds the distance from the optimal
coefficients, ``mu ||w - w*||^2 / 2 <= G``. So x_i.w* is within ``r_i = ||x_i|| sqrt(2 G / mu)`` of
x_i.w. The derivative of a convex loss does not decrease, so that the optimal intercept is between
the roots of ::

    sum_i c_i l_i'(x_i.w + r_i + b) = 0   and   sum_i c_i l_i'(x_i.w - r_i + b) = 0.

If l_i' is 0 on the whole interval of predictions that this leaves, as that of the hinge loss is
for margins above 1, theta_i is 0 at every optimum, and a fit without the row has the same optimal
model, at alpha divided by the sum of the other weights.
"""

from math import inf, sqrt

import numpy as np

from .._typing import Array, Mask, Numbers
from .interfaces import ProblemParts

SHARES = (0.6, 1.0, 2.0)  # of the mean width of intervals: changes of the intercept to try
ROUNDED = 1e-12  # above the relative rounding errors of sums over the rows and of roots


def prediction_intervals(
    problem: ProblemParts, coef: Array, free: Numbers, gap: float
) -> tuple[Array, Array, Array] | None:
    """The ends of intervals of every optimal model's predictions, and the model's predictions.

    None where the penalty has no squared part for every coefficient.

    Parameters
    ----------
    problem : Problem
        A problem with a scalar loss for each row, whose rows are in memory.
    coef : ndarray of shape (n_features,)
    free : float
        The intercept.
    gap : float
        An upper bound on the gap of the model, with its rounding errors.
    """
    distance = distance_of_coefficients(problem, gap)
    if not distance < inf:
        return None
    z, error = problem.predictions(coef, free)
    half_widths = problem.design.row_norms() * (distance * (1.0 + ROUNDED)) + error
    lower, upper = z - half_widths, z + half_widths
    below, above = changes_of_intercept(problem, lower, upper, float(free))
    return lower - below, upper + above, shrunk(z, error)


def shrunk(z: Array, error: Array) -> Array:
    """Predictions nearer to 0 by their rounding errors; 0 where their signs are not certain."""
    return np.sign(z) * np.maximum(np.abs(z) - error, 0.0)


def distance_of_coefficients(problem: ProblemParts, gap: float) -> float:
    """An upper bound on the distance ||w - w*|| from the optimal coefficients."""
    strong = problem.alpha * problem.penalty.strong_convexity
    return sqrt(2.0 * gap / strong) * (1.0 + ROUNDED) if strong > 0.0 else inf


def changes_of_intercept(
    problem: ProblemParts, lower: Array, upper: Array, free: float
) -> tuple[float, float]:
    """Bounds on the decrease and the increase from ``free`` to the optimal intercept.

    Parameters
    ----------
    problem : Problem
    lower, upper : ndarray of shape (n_samples,)
        Ends of intervals of the x_i.w* + free.
    free : float
    """
    if not problem.fit_intercept:
        return 0.0, 0.0
    lowest, highest = problem.free_intervals(problem.null_objective)[0]
    widths = upper - lower
    # the roots move by about the mean of half the widths, and by the largest width at most
    likely = [share * float(problem.weights @ widths) for share in SHARES]
    likely.append(float(np.max(widths)))
    return (
        _least_change(problem, upper, -1.0, likely, free - lowest),
        _least_change(problem, lower, 1.0, likely, highest - free),
    )


def _least_change(
    problem: ProblemParts, z: Array, sign: float, likely: list[float], furthest: float
) -> float:
    """The first of several changes of the intercept that passes every optimal one.

    After it the slope of the mean loss at predictions z, at one end of their intervals, has the
    sign of the change, so that the slope of an optimal model would have it as well.
    """
    loss, y, weights = problem.loss, problem.y, problem.weights
    for change in likely:
        if change >= furthest:
            break
        slopes = loss.gradient(y, z + sign * change)
        if sign * float(weights @ slopes) > ROUNDED * float(weights @ np.abs(slopes)):
            return change
    return furthest


def inactive_rows(problem: ProblemParts, lower: Array, upper: Array) -> Mask:
    """A mask of the rows whose theta is 0 at every optimum, from intervals of predictions.

    It is empty without a squared part of the penalty.
    """
    loss, y = problem.loss, problem.y
    if loss.constant_curvature or not problem.penalty.strong_convexity > 0.0:
        return np.zeros(0, dtype=bool)
    margin = ROUNDED * (1.0 + np.abs(lower) + np.abs(upper))
    flat = [loss.gradient(y, end) == 0.0 for end in (lower - margin, upper + margin)]
    return np.logical_and(*flat)

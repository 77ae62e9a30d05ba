"""Dual points that are exactly orthogonal to the free directions.

A free direction f, such as an intercept, asks of a dual point that sum_i c_i f_i theta_i = 0.
What rounding leaves of such a sum costs a bound that sum times an interval that holds the free
variable, and the interval is long where alpha is small or features are far from 0, and infinite
where classes are separable. Here the dual point is theta + change + rest:

change
    cancels the sums with the least norm, on rows that are well inside the box of the conjugate
    loss. It is kept apart from theta, so that it is not rounded away, and what sums are left
    is known in twice the working precision.
rest
    cancels these as well. It need not be known: a vector of that kind exists, of a norm of at
    most the size of the sums left over the least singular value of the directions, which bounds
    what it changes.
"""

from dataclasses import dataclass

import numpy as np

from . import kernels
from ._typing import Array, Indices
from .losses import EPSILON
from .problem import Problem

__all__ = ["Balance", "balance_exactly"]

MOST = 0.25  # of the way to the boundary of the box that a change may go
PASSES = 2  # of which the second takes off the rounding errors of the first
# A scaled point s theta has steeper conjugates than theta: by s for quadratic ones, and up to
# log(1e-308) in place of 1/2 for the logistic loss
SCALES = 2048.0
CONDITION = 1e10  # largest of the directions, so that half of their singular values is certain


@dataclass(frozen=True)
class Balance:
    """How a dual point theta becomes orthogonal to the free directions.

    Attributes
    ----------
    change : ndarray of shape (n_samples,)
    towards : ndarray of shape (n_samples,)
        The point theta + change / share, which is inside the box too. As conjugates are convex,
        they are at most (1 - share) times that of theta plus share times that of this point.
    share : float
    rest : float
        A bound on the norm of the rest, sqrt(sum_i c_i rest_i^2).
    cost : float
        A bound on what the rest adds to the sum of the conjugates of t (theta + change), over
        the square of t if that is above 1.
    """

    change: Array
    towards: Array
    share: float
    rest: float
    cost: float


def balance_exactly(problem: Problem, theta: Array) -> Balance | None:
    """A change after which the sums of a dual point over the free directions vanish.

    Parameters
    ----------
    problem : Problem
    theta : ndarray of shape (n_samples,)
        Dual-feasible.

    Returns
    -------
    balance : Balance or None
        None where the rows inside the box cannot take up the sums.
    """
    weights = problem.weights
    lower, upper = problem.loss.dual_bounds(problem.y)
    room = np.minimum(np.minimum(theta - lower, upper - theta), kernels.max_abs(theta))
    room = np.where(weights > 0.0, 0.5 * room, 0.0)
    inside = np.flatnonzero(room > 1e-6 * float(np.max(room, initial=0.0)))
    # the other rows are at 0 and stay there
    directions = _directions(problem, np.flatnonzero((theta != 0.0) | (room > 0.0)))
    free = problem.fit_intercept or problem.has_free_level
    if not free or len(inside) < len(directions):
        return None
    change = np.zeros_like(theta)
    if not directions:
        return Balance(change, theta, 0.0, 0.0, 0.0)
    # changes are measured in units of the room that a row has: A holds the directions so
    root, room = np.sqrt(weights[inside]), room[inside]
    A = (root * room)[:, np.newaxis] * np.stack([f[0][inside] for f in directions], axis=1)
    sizes = np.sqrt(np.sum(A * A, axis=0))
    if not np.all(sizes > 0.0):
        return None
    q, r = np.linalg.qr(A / sizes)
    singular = np.linalg.svd(r, compute_uv=False)
    if not singular[-1] * CONDITION > singular[0]:
        return None
    for _ in range(PASSES):
        sums = np.array([_sum(problem, f, theta, change)[0] for f in directions])
        change[inside] -= room / root * (q @ np.linalg.solve(r.T, sums / sizes))
    left = np.array([abs(value) + error for value, error in (
        _sum(problem, f, theta, change) for f in directions)])  # fmt: skip
    rest = 2.0 * float(np.sum(left / sizes)) / float(singular[-1])
    share = float(np.max(np.abs(change[inside]) / room))
    if not (share <= MOST and float(np.max(rest / root)) <= MOST):
        return None
    towards = theta + change / share if share > 0.0 else theta
    # the slope of a convex function near theta is at most that of a chord to either side
    y, middle = problem.y[inside], theta[inside]
    here = problem.loss.conjugate(y, middle)
    chords = [problem.loss.conjugate(y, middle + side * room) - here for side in (-1.0, 1.0)]
    cost = 2.0 * rest * float(np.sqrt(np.sum((root * np.max(np.abs(chords), axis=0)) ** 2)))
    rest *= float(np.max(room))
    return Balance(change, towards, share, rest, SCALES * cost)


def _directions(problem: Problem, rows: Indices) -> list[tuple[Array, Array, Array]]:
    """The free directions: values as an unevaluated sum, with a bound on their errors.

    A level that is nothing else on these rows than 0 or the intercept is left out.
    """
    found = []
    if problem.fit_intercept:
        zero = np.zeros(problem.n_samples)
        found.append((np.ones(problem.n_samples), zero, zero))
    if problem.has_free_level:
        some = problem.design if len(rows) == problem.n_samples else problem.design.rows(rows)
        common = some.common_row_sum() if len(rows) else 0.0
        if not (common == 0.0 or (problem.fit_intercept and common is not None)):
            found.append(problem.design.matvec_compensated(np.ones(problem.n_features), 0.0))
    return found


def _sum(
    problem: Problem, direction: tuple[Array, Array, Array], theta: Array, change: Array
) -> tuple[float, float]:
    """sum_i c_i f_i (theta_i + change_i), with a bound on its error."""
    high, low, error = direction
    weights, value, bound = problem.weights, 0.0, 0.0
    for part in (theta, change):
        for factor in (high, low):
            if factor.any():
                term, rounding = kernels.compensated_dot(weights, part, factor)
                value, bound = value + term, bound + rounding
                bound += EPSILON * abs(value)
        if error.any():
            bound += (1.0 + 1e-6) * kernels.dot(weights * error, np.abs(part))
    return value, bound * (1.0 + 8.0 * EPSILON)

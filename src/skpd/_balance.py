"""Dual points that are orthogonal to the free directions, far beyond the working precision.

A free direction f, such as an intercept, asks of a dual point that sum_i c_i f_i theta_i = 0.
What rounding leaves of such a sum costs a bound that sum times an interval that holds the free
variable, and the interval is long where alpha is small or features are far from 0. Here the dual
point is theta + change, a sum of two vectors that is not rounded: the change is that of
least norm that cancels the sums, on rows that are well inside the box of the conjugate loss, and
the sums of both are known in twice the working precision.
"""

from dataclasses import dataclass

import numpy as np

from . import kernels
from ._typing import Array
from .losses import EPSILON
from .problem import Problem

__all__ = ["Balance", "balance_exactly"]

MOST = 0.25  # of the way to the boundary of the box that a change may go
PASSES = 2  # of which the second takes off the rounding errors of the first

Sum = tuple[float, float]  # a value with a bound on its error


@dataclass(frozen=True)
class Balance:
    """A change of a dual point theta.

    Attributes
    ----------
    change : ndarray of shape (n_samples,)
    towards : ndarray of shape (n_samples,)
        The point theta + change / share, which is inside the box too. As conjugates are convex,
        they are at most (1 - share) times that of theta plus share times that of this point.
    share : float
    slope, level : tuple of float
        sum_i c_i (theta_i + change_i), and the same with the sums of the rows of X in
        every term, with bounds on their errors.
    """

    change: Array
    towards: Array
    share: float
    slope: Sum
    level: Sum


def balance_exactly(problem: Problem, theta: Array) -> Balance | None:
    """A change that makes the sums of a dual point over the free directions vanish.

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
    directions = _directions(problem)
    lower, upper = problem.loss.dual_bounds(problem.y)
    room = np.minimum(np.minimum(theta - lower, upper - theta), kernels.max_abs(theta))
    room = np.where(problem.weights > 0.0, 0.5 * room, 0.0)
    inside = np.flatnonzero(room >= 0.5 * float(np.max(room, initial=0.0)))
    if not directions or len(inside) < len(directions) or not room[inside[0]] > 0.0:
        return None
    root = np.sqrt(problem.weights[inside])
    q, r = np.linalg.qr(root[:, np.newaxis] * np.stack([f[0][inside] for f in directions], axis=1))
    if not np.all(np.abs(r.diagonal()) > 0.0):
        return None
    change = np.zeros_like(theta)
    for _ in range(PASSES):
        sums = np.array([_sum(problem, f, theta, change)[0] for f in directions])
        change[inside] -= q @ np.linalg.solve(r.T, sums) / root
    share = float(np.max(np.abs(change[inside]) / room[inside]))
    if not 0.0 < share <= MOST:
        return None
    found = [_sum(problem, f, theta, change) for f in directions]
    slope = found[0] if problem.fit_intercept else (0.0, 0.0)
    level = found[-1] if problem.has_free_level else (0.0, 0.0)
    return Balance(change, theta + change / share, share, slope, level)


def _directions(problem: Problem) -> list[tuple[Array, Array, Array]]:
    """The free directions: values as an unevaluated sum, with a bound on their errors."""
    found = []
    if problem.fit_intercept:
        zero = np.zeros(problem.n_samples)
        found.append((np.ones(problem.n_samples), zero, zero))
    if problem.has_free_level:
        found.append(problem.design.matvec_compensated(np.ones(problem.n_features), 0.0))
    return found


def _sum(
    problem: Problem, direction: tuple[Array, Array, Array], theta: Array, change: Array
) -> Sum:
    """sum_i c_i f_i (theta_i + change_i)."""
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

"""Separation: unpenalised coefficients that grow without bound, as no finite ones are optimal.

If no loss rises along a direction of the unpenalised coefficients, and one falls for ever, there
is no optimum: classes are separated (Albert and Anderson, 1984), or all counts of a level of a
feature are 0. Each loss declares such directions of its predictions (``can_separate``), and
linear programmes find one of coefficients (Konis, 2007).
"""

import numpy as np
from scipy.optimize import linprog

from .._floats import EPSILON
from .._typing import Array, Indices, Mask
from ..problems import Point, Problem, Solution

LARGEST = 1e9  # multiplications for a Gram matrix, beyond which linear programmes take minutes
MOST_NAMES = 20  # features that are named, and that are left out one by one, at most
INSIDE = 1e-8  # distance of dual variables from a bound, above what balancing leaves
CHECKS = 30  # of a run before a search for separation; most runs end before
FIRST_ROWS = 1000  # inequalities with which a linear programme begins
TOLERANCE = 1e-9  # of an inequality whose largest entry is 1
ACTIVE = 1e-7  # share of its terms below which an inequality may be an equation
ROUNDING = 16.0 * EPSILON  # share of its terms below which it is one, up to rounding


def separating_features(problem: Problem, solution: Point | Solution) -> list[Indices]:
    """Sets of features that separate, each without the others; an empty list if none do.

    It is empty too where rows are not in memory or features too many, and under constraints.
    """
    rows, (columns, lower, upper) = problem.rows, problem.penalty.free_features
    n, k, m = problem.design.shape[0], len(columns), problem.n_variables
    within = rows.in_memory and 0 < n * k * min(n, k) <= LARGEST and problem.constraints is None
    if not within or not rows.loss.can_separate or _has_optimum(problem, solution):
        return []
    indices = [*columns.tolist(), *range(problem.n_coefficients, m)]
    table = np.column_stack([problem.matvec(np.eye(1, m, j)[0]) for j in indices])
    if rows.absorbs_shifts and not rows.of_outputs:
        table[:, :k] -= np.median(table[:, :k], axis=0)
    table /= np.maximum(np.max(np.abs(table), axis=0), np.finfo(float).tiny)
    matrix = rows.loss.recession(*(() if rows.of_scores else (rows.y, rows.weights)))
    A = np.hstack([matrix[:, :n] @ table, matrix[:, n:].toarray()])
    A /= np.maximum(np.max(np.abs(A), axis=1, keepdims=True), np.finfo(float).tiny)
    limits = np.ones((2, A.shape[1]))  # 0 for signs of coefficients that bounds exclude
    limits[:, :k] = np.isinf([upper, lower])
    sets: list[Indices] = []
    features, allowed = columns // rows.n_outputs, np.ones(k, dtype=bool)
    while np.sum(allowed) > k - MOST_NAMES and len(kept := _support(A, limits, allowed)):
        for j in kept if len(kept) <= MOST_NAMES else ():
            fewer = _support(A, limits, np.isin(np.arange(k), kept[kept != j]))
            kept = fewer if len(fewer) else kept
        sets.append(np.unique(features[kept]))
        allowed &= ~np.isin(features, sets[-1])
    return sets


def _has_optimum(problem: Problem, solution: Point | Solution) -> bool:
    """Whether a dual point without sums over the unpenalised features is inside its bounds.

    There is none if a direction separates, as every loss rises or stays along it.
    """
    loss, theta = problem.loss, solution.dual_coef
    if problem.rows.of_scores:
        if theta.orthogonal_to is None or (loss.has_thresholds and theta.table is None):
            return False
        return bool((-np.max(theta.table) if loss.has_thresholds else theta.share) > INSIDE)
    distances = [np.where(b == 0.0, np.abs(theta), 1.0) for b in loss.dual_bounds(problem.y)]
    return bool(np.min(np.minimum(*distances)[problem.weights > 0.0]) > INSIDE)


def _support(A: Array, limits: Array, allowed: Mask) -> Indices:
    """The features with coefficients other than 0 in a direction of separation, or none.

    The direction d has the largest sum of A d >= 0 among those with coefficients whose sizes have
    the sum 1, so that few are not 0. Violated rows join the linear programme. The direction is
    proven by the signs of A d, where rounding errors of its terms count as 0.
    """
    k, (n, m) = len(allowed), A.shape
    budget = np.tile(np.append(allowed, np.zeros(m - k)), 2)
    upper = np.ravel(limits * np.append(allowed, np.ones(m - k)))
    gain, d, used = np.sum(A, axis=0), np.zeros(m), np.arange(0)
    worst = np.arange(0, n, n // FIRST_ROWS + 1)
    while len(worst):
        used = np.append(used, worst)
        programme = linprog(
            np.append(-gain, gain), np.vstack([np.hstack([-A[used], A[used]]), budget]),
            np.append(np.zeros(len(used)), 1.0), bounds=np.stack([0.0 * upper, upper], axis=1),
            options={"primal_feasibility_tolerance": 0.1 * TOLERANCE},
        )  # fmt: skip
        if programme.x is None or not -programme.fun > TOLERANCE:
            return np.arange(0)
        d = programme.x[:m] - programme.x[m:]
        slack = A @ d
        slack[used] = 0.0
        worst = np.argsort(slack)[:FIRST_ROWS]
        worst = worst[slack[worst] < -TOLERANCE]
    d[np.abs(d) <= ACTIVE * np.max(np.abs(d))] = 0.0
    sizes = np.abs(A) @ np.abs(d)
    active = A[np.abs(A @ d) <= ACTIVE * sizes][:, d != 0.0]
    d[d != 0.0] -= np.linalg.lstsq(active, active @ d[d != 0.0], rcond=None)[0]
    proven = np.all(A @ d >= -ROUNDING * sizes) and np.any(A @ d > ACTIVE * sizes)
    order = np.argsort(np.abs(d[:k]))
    return order[np.count_nonzero(d[:k] == 0.0) if proven else k :]

"""Separation: unpenalised coefficients that grow without bound, as no finite ones are optimal.

If no loss rises along a direction of the unpenalised coefficients, and one falls for ever, there
is no optimum: classes are separated (Albert and Anderson, 1984), or all counts of a level of a
feature are 0. Each loss declares such directions of its predictions (``can_separate``). Linear
programmes propose coefficients (Konis, 2007), and exact arithmetic proves them or their absence.
Columns that are combinations of others within rounding errors are left out, as what is left of
them says nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from .._typing import Array, Indices, Mask
from ..problems import Point, Problem, Solution
from .exact_directions import ExactRows

LARGEST = 1e9  # multiplications for a Gram matrix, beyond which linear programmes take minutes
MOST_NAMES = 20  # features that are named, and that are left out one by one, at most
CHECKS = 30  # of a run before a search for separation; most runs end before
FIRST_ROWS = 1000  # inequalities with which a linear programme begins
TOLERANCE = 1e-9  # of an inequality whose largest entry is 1
NEGLIGIBLE = 1e-7  # a share of the largest coefficient of a direction that is proposed as 0


class Separation(NamedTuple):
    """What is proven of separation.

    Attributes
    ----------
    sets : list of ndarray of int
        Sets of features that separate, each without the others.
    is_decided : bool
        Whether other features are proven not to separate.
    levels : list of ndarray of int
        For hazards the order of the samples along a direction of each set.
    """

    sets: list[Indices]
    is_decided: bool = True
    levels: Sequence[Indices] = ()


def separation(problem: Problem, solution: Point | Solution, dual: float) -> Separation:
    """The features that separate; none where rows are not in memory, or under constraints.

    ``dual`` is the lower bound that the dual point of the solution proves.
    """
    rows, (columns, lower, upper) = problem.rows, problem.penalty.free_features
    n, k, m = problem.design.shape[0], len(columns), problem.n_variables
    may_separate = rows.in_memory and problem.constraints is None and rows.loss.can_separate
    if not (k and may_separate) or _has_optimum(problem, solution, dual):
        return Separation([])
    if n * k * min(n, k) > LARGEST:
        return Separation([], False)
    indices = [*columns.tolist(), *range(problem.n_coefficients, m)]
    table = np.column_stack([problem.matvec(np.eye(1, m, j)[0]) for j in indices])
    matrix = rows.loss.recession(*(() if rows.of_scores else (rows.y, rows.weights)))
    exact, table = ExactRows(matrix, table), table.copy()
    if rows.absorbs_shifts and not rows.of_outputs:
        table[:, :k] -= np.median(table[:, :k], axis=0)
    table /= np.maximum(np.max(np.abs(table), axis=0), np.finfo(float).tiny)
    A = np.hstack([matrix[:, :n] @ table, matrix[:, n:].toarray()])
    A /= np.maximum(np.max(np.abs(A), axis=1, keepdims=True), np.finfo(float).tiny)
    limits = np.ones((2, A.shape[1]))  # 0 for signs of coefficients that bounds exclude
    limits[:, :k] = np.isinf([upper, lower])
    others = np.arange(k, A.shape[1])

    def proven(kept: Indices) -> tuple[bool, Indices]:
        """Whether it is decided if some columns separate, and those that do."""
        used = np.append(kept, others)
        is_decided, d = exact.direction(used, limits[:, used])
        places = np.flatnonzero([] if d is None else d[: len(kept)])
        # scores of classes cancel, as a constant in all of them changes nothing
        if d is not None and not rows.of_outputs and exact.is_rounding(used, d):
            return proven(np.delete(kept, places[-1]))
        return is_decided, kept[places]

    sets: list[Indices] = []
    levels: list[Indices] = []
    features, allowed = columns // rows.n_outputs, np.ones(k, dtype=bool)
    while np.sum(allowed) > k - MOST_NAMES:
        kept = _proposed(A, limits, allowed)
        is_decided, kept = proven(kept)
        if not len(kept):
            is_decided, kept = proven(np.flatnonzero(allowed))
        if not len(kept):
            return Separation(sets, is_decided, levels)
        for j in kept if len(kept) <= MOST_NAMES else ():
            _, fewer = proven(kept[kept != j])
            kept = fewer if len(fewer) else kept
        sets.append(np.unique(features[kept]))
        if rows.loss.of_hazards:
            _, d = exact.direction(kept, limits[:, kept])
            levels += [] if d is None else [exact.levels(kept, d)]
        allowed &= ~np.isin(features, sets[-1])
    return Separation(sets, levels=levels)


def _has_optimum(problem: Problem, solution: Point | Solution, dual: float) -> bool:
    """Whether a dual point without sums over the unpenalised features is inside its bounds.

    There is none if a direction separates, as every loss rises or stays along it. The point that a
    bound proves to have no sums is as far inside as the one from which it is computed, within a
    factor of two.
    """
    theta, rows = solution.dual_coef, problem.rows
    if rows.of_scores:
        return theta.orthogonal_to is not None and theta.is_inside
    distances = [np.where(b == 0.0, np.abs(theta), 1.0) for b in rows.loss.dual_bounds(rows.y)]
    is_inside = np.min(np.minimum(*distances)[rows.weights > 0.0]) > 0.0
    return bool(is_inside) and dual > 0.0 and not len(problem.left_out)


def _proposed(A: Array, limits: Array, allowed: Mask) -> Indices:
    """The features with coefficients other than 0 in a direction that may separate, or none.

    The direction d has the largest sum of A d >= 0 among those with coefficients whose sizes have
    the sum 1, so that few are not 0. Violated rows join the linear programme.
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
    sizes = np.abs(d[:k])
    return np.flatnonzero(sizes > NEGLIGIBLE * np.max(np.abs(d)))

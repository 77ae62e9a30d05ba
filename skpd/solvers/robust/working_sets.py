"""The interior-point method on growing sets of features, for the robust SVM with norm 1."""

from dataclasses import replace

import numpy as np

from ..._typing import Indices
from ...problems import Point
from ..interior import interior_point
from ..interior.settings import SETTINGS as INTERIOR
from ..interior.settings import WORKING_SETS
from ..monitor import interrupted
from ..run import Run


def working_sets(run: Run) -> None:
    """The interior-point method on growing sets of features, for norm 1.

    By the multipliers of a solution, other features may violate their limit
    ``abs(v_j) <= epsilon - kappa rho``; the worst of them join the set. The first set is that of
    the best constant, as solutions of other methods have more features. The method ends unfinished
    if the system of a set does not fit in memory, or if no other feature violates its limit.

    Parameters
    ----------
    run : Run
    """
    problem, monitor = run.problem, run.monitor
    point = problem.null_point
    columns: Indices = np.empty(0, dtype=np.int64)
    tol = WORKING_SETS.first_tol
    while not run.is_over(monitor.n_iter):
        p, r = point.dual_coef
        v = np.abs(problem.design.rmatvec(problem.weights * problem.y * (p - r)))
        v[columns] = np.inf  # features of the set stay in it
        v[point.coef[:-1] != 0.0] = np.inf
        limit = problem.alpha
        if problem.loss.kappa < np.inf:
            limit -= problem.loss.kappa * float(problem.weights @ r)
        wanted = max(WORKING_SETS.first_size, 2 * len(columns))
        violating = int(np.sum(v > limit * (1.0 - WORKING_SETS.violation_margin)))
        least_tol = WORKING_SETS.least_tol * monitor.tol
        if violating <= len(columns) and tol <= least_tol:
            return
        size = min(max(len(columns), min(wanted, violating)) or 1, len(v))
        if size > INTERIOR.largest_system:
            return
        chosen = np.sort(np.argpartition(-v, size - 1)[:size])
        columns = chosen.astype(np.int64)
        tol = WORKING_SETS.next_tol(monitor, tol)
        some = problem.of_rows(replace(problem.rows, design=problem.design.columns(columns)))
        inner = run._replace(start=None, max_iter=run.left).solved(
            some, tol, interior_point, lambda _: interrupted(monitor)
        )
        coef = np.zeros(problem.n_coefficients)
        coef[np.append(columns, -1)] = inner.best.coef
        point = Point(coef, inner.best.intercept, inner.best.dual_coef)
        n_iter = monitor.n_iter + inner.n_iter
        before = monitor.relative_gap
        monitor.check(n_iter, point)
        if monitor.relative_gap > WORKING_SETS.progress * before and tol <= least_tol:
            return

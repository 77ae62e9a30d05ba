"""The selection of methods for the distributionally robust SVM."""

from dataclasses import replace
from functools import partial
from math import inf

import numpy as np

from ..._typing import Indices
from ...problems import Point
from ...problems.robust import RobustProblem
from ..interior import cost_of_run, interior_point
from ..interior.settings import SETTINGS as INTERIOR
from ..monitor import Monitor
from ..proximal.robust_saddle import hybrid_gradient
from ..select import INTERIOR_POINT, LAST_RESORT, Choice, last_budget, select
from ..select import SETTINGS as SELECTION
from .multipliers import method_of_multipliers
from .settings import SELECTION as ROBUST
from .settings import WORKING_SET

__all__ = ["working_sets"]

WORKING_SETS = "working-sets", "norm 1 of many features, most of which stay at 0"
MULTIPLIERS = "multipliers", "norm 2 and many rows, few of which have a loss that bends"


@select.register
def _(problem: RobustProblem, warm: bool = False) -> list[Choice]:
    """The methods for the robust SVM.

    1. For norm 1 and many features: working sets of features, each solved by 3.
    2. For norm 2 and many rows: the method of multipliers, for a share of the cost of 3., unless
       features are far from 0, which 3. centres.
    3. The interior-point method, if a system of the smaller side of X fits in memory.
    4. For the rest: a restarted primal-dual hybrid gradient, which may take a few times the cost
       of 3. after it.
    """
    few = min(problem.design.shape) <= INTERIOR.largest_system
    cost = cost_of_run(problem.design)
    budget = last_budget(cost) if few else inf
    methods = [Choice(*LAST_RESORT, partial(hybrid_gradient, budget=budget))]
    if problem.q == 1 and problem.n_features > ROBUST.many_columns:
        methods.insert(0, Choice(*WORKING_SETS, working_sets))
    elif few:
        methods.insert(0, Choice(*INTERIOR_POINT, interior_point))
        if problem.q == 2 and cost > ROBUST.least_cost and _is_tall(problem):
            trial = partial(method_of_multipliers, budget=SELECTION.trial_share * cost)
            methods.insert(0, Choice(*MULTIPLIERS, trial))
    return methods


def _is_tall(problem: RobustProblem) -> bool:
    """Whether there are many rows for each variable, and no features far from 0."""
    if problem.n_samples < ROBUST.many_rows * problem.n_variables:
        return False
    return problem.design.shift_of_columns(problem.weights) is None


def working_sets(
    problem: RobustProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """The interior-point method on growing sets of features, for norm 1.

    By the multipliers of a solution, other features may violate their limit
    ``abs(v_j) <= epsilon - kappa rho``; the worst of them join the set. The method ends unfinished
    if the system of a set does not fit in memory, or if no other feature violates its limit.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        See `interior_point`.
    """
    columns: Indices = np.empty(0, dtype=np.int64)
    point = problem.null_point if start is None else start
    tol = WORKING_SET.first_tol
    while not monitor.done and monitor.n_iter < max_iter:
        p, r = point.dual_coef
        v = np.abs(problem.design.rmatvec(problem.weights * problem.y * (p - r)))
        v[columns] = np.inf  # features of the set stay in it
        v[point.coef != 0.0] = np.inf
        limit = problem.epsilon
        if problem.kappa < np.inf:
            limit -= problem.kappa * float(problem.weights @ r)
        wanted = max(WORKING_SET.first_columns, WORKING_SET.growth * len(columns))
        violating = int(np.sum(v > limit * (1.0 - WORKING_SET.violation_margin)))
        least_tol = WORKING_SET.least_tol * monitor.tol
        if violating <= len(columns) and tol <= least_tol:
            return
        size = min(max(len(columns), min(wanted, violating)) or 1, problem.n_features)
        if size > INTERIOR.largest_system:
            return
        chosen = np.sort(np.argpartition(-v, size - 1)[:size])
        columns = chosen.astype(np.int64)
        tol = max(least_tol, min(WORKING_SET.tol_factor * monitor.relative_gap, tol))
        some = replace(problem, design=problem.design.columns(columns))
        inner = Monitor(some, tol, lambda _: _interrupted(monitor))
        inner.begin()
        if not inner.done:
            interior_point(
                some, inner, None, max_iter=max_iter - monitor.n_iter, random_state=random_state
            )
        coef = np.zeros(problem.n_features)
        coef[columns] = inner.best.coef
        point = Point(coef, inner.best.intercept, inner.best.dual_coef)
        n_iter = monitor.n_iter + inner.n_iter
        before = monitor.relative_gap
        monitor.check(n_iter, point)
        if monitor.relative_gap > WORKING_SET.progress * before and tol <= least_tol:
            return


def _interrupted(monitor: Monitor) -> bool:
    """Whether the callback of the caller ends the run, called during a subproblem."""
    return bool(monitor.on_check is not None and monitor.on_check(monitor))

"""The default for the distributionally robust SVM: which method for which data."""

from dataclasses import replace
from typing import Any

import numpy as np

from ..._typing import Indices
from ...penalties import L1
from ...problems import Point
from ...problems.robust import RobustProblem
from ..interior import LARGEST_SYSTEM, cost_of_run, interior_point
from ..monitor import Monitor
from ..proximal.pdprox import iterations_within
from ..proximal.robust_saddle import hybrid_gradient
from ..select import last_budget

__all__ = ["robust_auto", "working_sets"]

FIRST_COLUMNS = 200
MANY_COLUMNS = 1000  # from which on features that stay at zero are left out


class RobustMonitor(Monitor):
    """A monitor that certifies every start: its estimates are for one multiplier a row."""

    def begin(self, has_start: bool = False) -> None:
        """Record the best constant prediction, with the multipliers that prove it the best."""
        self.check(0, self.problem.null_point)

    def begin_at(self, start: Point) -> None:
        """Record a start."""
        self.check(0, start)


def robust_auto(
    problem: RobustProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """The fastest methods known here, one after the other until the problem is solved.

    1. With norm 1 and many features, working sets of them, each solved by 2.
    2. The interior-point method, where a system of the smaller side of X fits.
    3. What is left: a restarted primal-dual hybrid gradient, after 2. for a few times its cost.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `skpd.solvers.proximal.pdprox.pdprox_dual`.
    """
    methods: list[tuple[str, Any]] = []
    few = min(problem.design.shape) <= LARGEST_SYSTEM
    if isinstance(problem.norm, L1) and problem.n_features > MANY_COLUMNS:
        methods.append(("working-sets", working_sets))
    elif few:
        methods.append(("interior-point", interior_point))
    for name, method in [*methods, ("hybrid-gradient", hybrid_gradient)]:
        if monitor.done or monitor.n_iter >= max_iter:
            return
        monitor.method = name
        if method is hybrid_gradient and few:
            budget = last_budget(cost_of_run(problem.design))
            more = iterations_within(problem.design, budget, max_iter - monitor.n_iter)
            max_iter = monitor.n_iter + more
        method(problem, monitor, start, max_iter=max_iter, random_state=random_state)
        start = monitor.best


def working_sets(
    problem: RobustProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """For norm 1: the interior-point method on growing sets of features.

    The multipliers of a set's solution tell which of the other features violate
    ``abs(v_j) <= epsilon - kappa rho``; the worst of them join. It ends unfinished where a set
    grows larger than a system that fits, or where no other feature violates.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `interior_point`.
    """
    columns: Indices = np.empty(0, dtype=np.int64)
    point = problem.null_point if start is None else start
    tol = 0.03
    while not monitor.done and monitor.n_iter < max_iter:
        p, r = point.dual_coef
        v = np.abs(problem.design.rmatvec(problem.weights * problem.y * (p - r)))
        v[columns] = np.inf  # they stay
        v[point.coef != 0.0] = np.inf
        limit = problem.epsilon
        if problem.kappa < np.inf:
            limit -= problem.kappa * float(problem.weights @ r)
        wanted = max(FIRST_COLUMNS, 2 * len(columns))
        violating = int(np.sum(v > limit * (1.0 - 1e-6)))
        if violating <= len(columns) and tol <= 0.3 * monitor.tol:
            return
        size = min(max(len(columns), min(wanted, violating)) or 1, problem.n_features)
        if size > LARGEST_SYSTEM:
            return
        chosen = np.sort(np.argpartition(-v, size - 1)[:size])
        columns = chosen.astype(np.int64)
        tol = max(0.3 * monitor.tol, min(0.1 * monitor.relative_gap, tol))
        some = replace(problem, design=problem.design.columns(columns))
        inner = RobustMonitor(some, tol, lambda _: _interrupted(monitor))
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
        if monitor.relative_gap > 0.5 * before and tol <= 0.3 * monitor.tol:
            return


def _interrupted(monitor: Monitor) -> bool:
    """Whether the caller ends the run, asked while a part of the problem is being solved."""
    return bool(monitor.on_check is not None and monitor.on_check(monitor))

"""Ordered classes by methods for margin losses, with the thresholds as unknowns."""

from collections.abc import Callable

import numpy as np

from ...penalties import Structure
from ...problems import Point, Problem
from ...solvers.certificate_schedule import CERTIFY_AT, FINER, ROUNDS
from ...solvers.monitor import Monitor, interrupted
from ...solvers.solver_context import SolverContext
from .rows import OrderedRows, threshold_rows

# The most entries of X in all rows, 800 MB; cutting planes need no copies
MOST_ENTRIES = 1e8
# The method gives up after a round, with a finer tolerance, that leaves this share of the gap
ROUND_PROGRESS = 0.5

TINY = np.finfo(float).tiny


def has_threshold_rows(problem: Problem) -> bool:
    """Whether the rows fit in memory, and the penalty leaves the thresholds free."""
    loss, penalty = problem.rows.as_kind(OrderedRows).loss, problem.penalty
    if problem.design.n_entries * loss.n_thresholds > MOST_ENTRIES:
        return False
    separable = penalty.structure is Structure.SEPARABLE
    return separable or penalty.with_extra_coefficient(problem.n_coefficients, 0.0) is not None


def by_threshold_rows(context: SolverContext, *, method: Callable[[SolverContext], None]) -> None:
    """The solution of the ordinary problem with a row for each sample and threshold.

    Parameters
    ----------
    context : SolverContext
        An iteration is one of the methods for the ordinary problem.
    method : callable
        The method for the ordinary problem.
    """
    problem, monitor, start = context.problem, context.monitor, context.start
    rows, row_problem = problem.rows.as_kind(OrderedRows), threshold_rows(problem)
    loss = rows.loss
    if start is not None:
        t = loss.best_thresholds(rows.scores(start.coef, 0.0))
        coef = np.append(start.coef, t[1:] - t[0])
        z = row_problem.matvec(row_problem.join(coef, -t[0]))
        start = Point(coef, -t[0], row_problem.loss.gradient(row_problem.y, z))
    tol = CERTIFY_AT * monitor.tol
    seen: list[Monitor] = []

    def on_check(solution: Monitor) -> bool:
        seen[:] = [solution]
        return interrupted(monitor)

    def best() -> Point:
        point = seen[0].best
        coef = np.ascontiguousarray(point.coef[: problem.n_coefficients])
        margins = loss.signs * np.reshape(point.dual_coef, loss.signs.shape)
        return Point(coef, 0.0, loss.balanced_dual(margins, keep_table=loss.has_kinks))

    gap = np.inf
    for _ in range(ROUNDS):
        try:
            limited = context._replace(start=start, max_iter=context.left)
            solution = limited.solved(row_problem, tol, method, on_check)
        except KeyboardInterrupt:
            if seen:
                monitor.consider(best())
            raise
        monitor.check(monitor.n_iter + solution.n_iter, best())
        # the bound of the balanced dual point may be lower than that of the rows of thresholds
        last_gap, gap = gap, monitor.primal - monitor.dual
        # cutting planes can finish it with half a squared norm, and take long with other penalties
        stalls = problem.penalty.is_ridge and gap > ROUND_PROGRESS * last_gap
        if not solution.done or stalls or context.is_over(monitor.n_iter):
            return
        # the gap of the rows is that of a mean over thresholds, and relative to another objective
        ratio = CERTIFY_AT * monitor.goal / max(loss.n_thresholds * solution.goal, TINY)
        start, tol = solution.best, min(FINER, ratio) * tol

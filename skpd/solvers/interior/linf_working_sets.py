"""The interior-point method for the l-infinity norm of many features, on faces of its ball.

At an optimum nearly all coefficients have the absolute value t = max |w_j|, with the signs s of
-X' diag(c) theta. Together they are one unknown t with the column X s. The other coefficients,
called free, are a working set.
"""

import numpy as np

from ..._typing import Array, Indices
from ...penalties import LInf
from ...problems import Point, Problem
from ..solver_context import SolverContext
from .loss_terms import Intervals
from .maps import WithColumn
from .method import minimise
from .programme import Programme
from .representation import Representation
from .settings import SETTINGS, WORKING_SETS


def interior_on_working_sets(context: SolverContext) -> None:
    """The interior-point method for the l-infinity norm, on growing sets of free coefficients.

    The multipliers of a solution determine the coefficients at the height t that would decrease.
    The worst of them join the working set, and free coefficients that have reached the height
    leave it. The method ends unfinished if the system of a working set does not fit in memory, or
    if the lower bound no longer increases.

    Parameters
    ----------
    context : SolverContext
        The penalty is `LInf`.
    """
    problem, monitor = context.problem, context.monitor
    gradient = problem.null_gradient
    signs = np.where(gradient > 0.0, -1.0, 1.0)
    free: Indices = np.sort(np.argsort(np.abs(gradient))[: WORKING_SETS.first_size])
    height, accuracy = 0.0, WORKING_SETS.first_share * problem.objective_unit
    n_stalled = 0
    while not context.is_over(monitor.n_iter) and len(free) <= SETTINGS.largest_system:
        last_dual = monitor.dual
        programme, sides = _programme(problem, free, signs, height)
        max_iter = min(SETTINGS.inner_iterations, context.left)
        n_iter = monitor.n_iter + minimise(programme, accuracy, max_iter)
        point, height = programme.point(), float(programme.x[-1])
        coef = height * signs
        coef[free] = point.coef
        monitor.check(n_iter, Point(coef, point.intercept, point.dual_coef))
        rise = WORKING_SETS.least_rise * (monitor.primal - monitor.dual)
        n_stalled = n_stalled + 1 if monitor.dual < last_dual + rise else 0
        if n_stalled >= WORKING_SETS.patience:
            return
        gradient = problem.design.rmatvec(problem.weights * point.dual_coef)
        signs[free] = np.where(point.coef < 0.0, -1.0, 1.0)
        violation = signs * gradient  # at most 0 for coefficients that stay at the height
        if problem.loss.linear_tails:  # kinks change often; what leaves too early comes back
            at_height = np.abs(point.coef) >= (1.0 - WORKING_SETS.height_distance) * height
        else:
            at_height = sides[0].at_kink | sides[1].at_kink
        leaving = at_height & (violation[free] < 0.0)
        violation[free] = 0.0
        n_violating = int(np.count_nonzero(violation > 0.0))
        if n_violating == 0 and accuracy <= WORKING_SETS.least_share * monitor.goal:
            return
        joining = int(WORKING_SETS.growth * len(free))
        size = min(n_violating, max(WORKING_SETS.first_size, joining))
        worst = np.argpartition(-violation, max(size - 1, 0))[:size]
        free = np.union1d(free[~leaving], worst)
        accuracy = WORKING_SETS.next_accuracy(monitor, accuracy)


def _programme(
    problem: Problem, free: Indices, signs: Array, height: float
) -> tuple[Programme, list[Intervals]]:
    """The programme in the free coefficients, the intercept and the height; its |w_j| <= t."""
    programme = Programme(problem.of_columns(free, LInf()).with_alpha(problem.alpha))
    others = signs.copy()
    others[free] = 0.0
    column = problem.design.matvec(others)
    if height == 0.0:  # the initial height changes predictions by their scale
        mean = float(problem.weights @ column)
        spread = float(np.sqrt(problem.weights @ (column - mean) ** 2))
        height = problem.prediction_scale / spread if spread > 0.0 else 1.0
    index = programme.new_unknown(height, problem.alpha)
    programme.predictions = WithColumn(programme.predictions, column, index)
    cones = Representation(programme)
    problem.loss.add_cones(cones)
    return programme, cones.bound_coefficients(programme.n_coefficients, index, problem.alpha)

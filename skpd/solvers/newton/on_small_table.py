"""Proximal Newton steps on a small table, all of them in one compiled call.

Each call between the steps of `skpd.solvers.newton.proximal_multipliers` takes longer there than
its arithmetic.
"""

import numpy as np

from ... import kernels
from ...certificates import negligible
from ...penalties import Structure
from ...problems import Point, Problem
from ..solver_context import SolverContext
from .settings import QUADRATIC, SETTINGS


def is_small_table(problem: Problem) -> bool:
    """Whether a problem has a small table and a loss and a penalty that the call takes."""
    penalty, (n, d) = problem.penalty, problem.design.shape
    return (
        n * d <= SETTINGS.small_table
        and d <= min(n, SETTINGS.small_features)
        and problem.loss.has_newton_steps
        and penalty.structure is Structure.SEPARABLE
    )


def newton_on_small_table(context: SolverContext) -> None:
    """Newton steps on a small table, and the certificate of the last one.

    Parameters
    ----------
    context : SolverContext
        An iteration is a Newton step.
    """
    problem, monitor = context.problem, context.monitor
    rows, first = problem.rows, context.first
    variables, derivative = problem.join(first.coef, first.intercept), np.empty(problem.n_samples)
    terms = problem.penalty.kernel_terms(problem.alpha, problem.n_coefficients)
    sizes, free = np.zeros(problem.n_coefficients), problem.free_columns
    sizes[free] = problem.free.likely_sizes[-len(free) :] if len(free) else 0.0
    # half of the tolerance is left to what the estimate of the gap does not know
    goal = kernels.NewtonGoal(
        problem.null_objective, 0.5 * monitor.tol, negligible(problem),
        rows.null.prediction_scale, sizes.tolist(),
    )  # fmt: skip
    accuracy = SETTINGS.accuracy_on_small_tables
    is_quadratic = problem.loss.constant_curvature
    # nothing compiled is kept in the module: nanobind reports what is left when Python ends
    settings = kernels.NewtonSettings(
        accuracy.quadratic if is_quadratic else accuracy.smooth, SETTINGS.full_step_slope,
        SETTINGS.line_search_slope, SETTINGS.slope_rounding, SETTINGS.line_search_halvings,
        QUADRATIC.sweeps, QUADRATIC.most_rounds,
    )  # fmt: skip
    n_steps = problem.loss.evaluator.newton_steps(
        problem.design.matrix, rows.y, rows.weights, terms, goal, settings,
        min(context.left, SETTINGS.small_steps), variables, derivative,
    )  # fmt: skip
    monitor.check(monitor.n_iter + n_steps, Point(*problem.split(variables), derivative))

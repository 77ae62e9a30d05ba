"""The robust SVM with norm 1 where the labels may as well be certain."""

from functools import partial
from math import inf

from ...problems import Point
from ...solvers.certificate_schedule import CERTIFY_AT
from ...solvers.monitor import interrupted
from ...solvers.newton.proximal_multipliers import proximal_multipliers
from ...solvers.solver_context import SolverContext
from .lift import certain_problem


def certain_labels(context: SolverContext, *, budget: float = inf) -> None:
    """The solution for certain labels, an ordinary problem, as a point of the robust SVM.

    The third piece of the loss is often active nowhere, and then this is the solution. Otherwise
    the method ends unfinished. It does not end before the ordinary problem is solved, as whether a
    piece is active is not decided earlier: most solutions are near the limit.

    Parameters
    ----------
    context : SolverContext
        An iteration is a Newton step.
    budget : float, default=inf
        A computing limit, see `skpd.solvers.newton.proximal_multipliers.proximal_multipliers`.
    """
    problem, monitor, start = context.problem, context.monitor, context.start
    certain = certain_problem(problem)
    if start is not None:
        p, r = start.dual_coef
        start = Point(problem.project(start.coef), start.intercept, problem.y * (r - p))
    tol = CERTIFY_AT * monitor.tol  # constants of the ordinary problem leave less to gain
    run = context._replace(start=start, max_iter=context.left).solved(
        certain, tol, partial(proximal_multipliers, budget=budget), lambda _: interrupted(monitor)
    )
    point = run.best
    theta = problem.loss.project_dual(problem.y, point.dual_coef)
    variables = problem.extend(point.coef, point.intercept)
    monitor.check(monitor.n_iter + run.n_iter, Point(variables, point.intercept, theta))

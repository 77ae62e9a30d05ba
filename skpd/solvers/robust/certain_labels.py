"""The robust SVM with norm 1 where the labels may as well be certain."""

from functools import partial
from math import inf

from ...problems import Point
from ...problems.robust import certain_problem
from ..cadence import NEAR
from ..monitor import interrupted
from ..newton.multipliers import method_of_multipliers
from ..run import Run


def certain_labels(run: Run, *, budget: float = inf) -> None:
    """The solution for certain labels, an ordinary problem, as a point of the robust SVM.

    The third piece of the loss is often active nowhere, and then this is the solution. Otherwise
    the method ends unfinished. It does not end before the ordinary problem is solved, as whether a
    piece is active is not decided earlier: most solutions are near the limit.

    Parameters
    ----------
    run : Run
        An iteration is a Newton step.
    budget : float, default=inf
        A computing limit, see `skpd.solvers.newton.multipliers.method_of_multipliers`.
    """
    problem, monitor, start = run.problem, run.monitor, run.start
    own = certain_problem(problem)
    if start is not None:
        p, r = start.dual_coef
        start = Point(problem.of_model(start.coef), start.intercept, problem.y * (r - p))
    tol = NEAR * monitor.tol * problem.objective_unit / own.objective_unit
    found = run._replace(start=start, max_iter=run.left).solved(
        own, tol, partial(method_of_multipliers, budget=budget), lambda _: interrupted(monitor)
    )
    point = found.best
    theta = problem.loss.project_dual(problem.y, point.dual_coef)
    variables = problem.completed(point.coef, point.intercept)
    monitor.check(monitor.n_iter + found.n_iter, Point(variables, point.intercept, theta))

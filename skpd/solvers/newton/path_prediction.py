"""Prediction of the next solution along a path, and of its gradient, from the last ones.

With the gradient, the features that will become active are predicted.
"""

from dataclasses import dataclass
from math import inf

import numpy as np

from ..._typing import Array
from ...kernels import max_abs
from ...problems import Point, Problem
from ..run import Run
from .iterate import Iterate
from .rows import AllRows
from .settings import SETTINGS


@dataclass
class PathSolution:
    """The solution for one alpha of a path, with data for the prediction of the next.

    Attributes
    ----------
    alpha : float
    variables : ndarray
    rows : AllRows
        The rows, at the variables.
    gradient : ndarray
    before : PathSolution or None
    """

    alpha: float
    variables: Array
    rows: AllRows
    gradient: Array
    before: "PathSolution | None"

    def at(self, alpha: float) -> tuple[Array, Array] | tuple[None, None]:
        """The predicted solution for an alpha and the gradient there, or None for both.

        The gradient is linear in alpha as long as the curvature and the support do not change,
        and so is the solution where the penalty is linear on the support.
        """
        last, before = self, self.before
        if before is None or before.alpha == last.alpha:
            return None, None
        share = (alpha - last.alpha) / (last.alpha - before.alpha)
        if not 0.0 < share <= SETTINGS.most_change:
            return None, None
        variables = last.variables + share * (last.variables - before.variables)
        return variables, last.gradient + share * (last.gradient - before.gradient)


def at_prediction(run: Run) -> Run:
    """The run from the predicted solution, certified, where the prediction says it is one.

    This is for the squared loss, whose gradients are linear in the predicted variables. A path on
    a small table takes three quarters of the time of one with a Newton step for each alpha.
    """
    problem, workspace = run.problem, run.problem.workspace
    last: PathSolution | None = workspace.solved if workspace else None
    if run.start is None or last is None or not problem.loss.constant_curvature:
        return run
    if last.before is None or np.any((last.variables != 0.0) != (last.before.variables != 0.0)):
        return run  # the support has just changed
    w, g = last.at(problem.alpha)
    if w is None or g is None or not max_abs(w) > 0.0:
        return run
    step = max_abs(w) / max(max_abs(g), problem.alpha)
    violation = max_abs(problem.prox(w - step * g, step) - w) / step
    if violation * problem.null_objective > run.goal * problem.alpha:  # times the radius
        return run
    last.rows.move_to(w, problem)  # with the certificate's products
    last.rows.evaluate(inf)
    coef, intercept = problem.split(w)
    point = Point(coef, intercept, last.rows.dual_point())
    gradient = problem.join(*last.rows.certified_gradient(problem, coef))
    workspace.solved = PathSolution(problem.alpha, w, last.rows, gradient, before=last)
    last.before = None  # only one earlier solution is needed
    run.monitor.check(run.monitor.n_iter, point)
    return run._replace(start=point)


class PathPrediction:
    """The prediction of a solution from those for other alphas.

    Parameters
    ----------
    problem : Problem
    last : PathSolution or None
        The solution for the previous alpha, if the run starts from it.
    """

    def __init__(self, problem: Problem, last: PathSolution | None) -> None:
        self.problem, self.last = problem, last
        self._gradient: Array | None = None  # predicted at the solution
        if last is not None:
            _, self._gradient = last.at(problem.alpha)
            last.before = None  # only one earlier solution is needed

    def take_gradient(self) -> Array | None:
        """The predicted gradient of the features at the solution, for the first step only."""
        gradient, self._gradient = self._gradient, None
        return None if gradient is None else gradient[: self.problem.n_coefficients]

    def solution(self, iterate: Iterate) -> PathSolution:
        """The solution of this run, for the prediction of the next."""
        return PathSolution(
            self.problem.alpha, iterate.w, iterate.all_rows, iterate.gradient, before=self.last
        )

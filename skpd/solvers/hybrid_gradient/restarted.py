"""The restarted primal-dual hybrid gradient, a successor of Pdprox (`skpd.solvers.published`)."""

import numpy as np

from ..._typing import Array
from ...problems import Point, Problem
from ..solver_context import SolverContext
from .restarts import HybridGradient, iterate_with_restarts


def hybrid_gradient(context: SolverContext, *, budget: float = np.inf) -> None:
    """Primal-dual hybrid gradient with diagonal preconditioning and restarts on the gap.

    The iteration is that of Pdprox-dual in its double-primal form (Chambolle and Pock,
    2011) as a reflected Halpern iteration that restarts (`skpd.solvers.hybrid_gradient.restarts`).
    Step sizes are those of Pock and Chambolle (2011) with exponent 1, the inverse row
    and column sums of the absolute values, for which the step needs no norm of X.

    One iteration costs two products with X.

    Parameters
    ----------
    context : SolverContext
    budget : float, default=inf
        A computing limit: the number of multiplications at which the method ends unfinished (see
        `skpd.designs.newton_cost`).
    """
    variables = _Variables(context._replace(start=context.first))
    iterate_with_restarts(variables, context, variables.first_weight, budget)


class _Variables(HybridGradient):
    """The variables of a problem, with a step size for each."""

    def __init__(self, context: SolverContext) -> None:
        self.problem: Problem = context.problem
        self.tau, self.sigma = _diagonal_step_sizes(self.problem)
        self.dual_metric = self.problem.weights / self.sigma
        self.first_weight = _first_primal_weight(self.problem, self.tau, self.dual_metric)
        start = context.first
        super().__init__(self.problem.join(start.coef, start.intercept), context.first_theta)

    def gradient(self, theta: Array) -> Array:
        return self.problem.rmatvec(self.problem.weights * theta)

    def prox(self, x: Array, gradient: Array, primal_weight: float) -> Array:
        tau = self.tau / primal_weight
        return self.problem.prox(x - tau * gradient, tau)

    def prox_dual(self, theta: Array, x: Array, primal_weight: float) -> Array:
        sigma = self.sigma * primal_weight
        return self.problem.prox_dual(theta + sigma * self.problem.matvec(x), sigma)

    def point(self) -> Point:
        return Point(*self.problem.split(self.x_prox), self.theta_prox)

    def norms(self, x: Array, theta: Array) -> tuple[float, float]:
        return np.sqrt(np.sum(x**2 / self.tau)), np.sqrt(np.sum(self.dual_metric * theta**2))


def _first_primal_weight(problem: Problem, tau: Array, dual_metric: Array) -> float:
    """An estimate of the ratio of the distances that dual and primal variables will move.

    The distance of the dual variables is estimated by the gradient of the loss at the best
    constant. The change of the predictions is estimated by the loss divided by its gradient there,
    and that of a coefficient by tau_j times this change.
    """
    theta = problem.null_point.dual_coef
    slope = float(problem.weights @ np.abs(theta))
    distance = problem.null_objective / slope * np.sqrt(np.median(tau)) if slope > 0.0 else 0.0
    dual_distance = np.sqrt(np.sum(dual_metric * theta**2))
    ratio = dual_distance / distance if distance > 0.0 else 1.0
    return float(ratio) if np.isfinite(ratio) and ratio > 0.0 else 1.0


def _diagonal_step_sizes(problem: Problem) -> tuple[Array, Array]:
    """The steps tau_j = 1 / sum_i c_i |x_ij| and sigma_i = 1 / sum_j |x_ij|.

    The primal steps are reduced to those that `Penalty.step_sizes` allows.
    """
    columns = problem.design.column_sums(problem.weights)
    rows = problem.design.row_sums()
    if problem.fit_intercept:
        rows = rows + 1.0
    # the step of a zero row or column has no effect
    largest = float(np.max(columns, initial=0.0)) or 1.0
    tau = 1.0 / np.where(columns > 0.0, columns, largest)
    tau = problem.penalty.step_sizes(tau)
    sigma = 1.0 / np.where(rows > 0.0, rows, 1.0)
    return problem.join(tau, 1.0), sigma

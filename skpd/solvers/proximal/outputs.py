"""The restarted hybrid gradient for several outputs: X W and X' Theta for all of them at once."""

import numpy as np

from ...problems import Point
from ...problems.outputs import OutputsProblem
from ..monitor import Monitor
from .pdprox import _Variables
from .restarts import iterate_with_restarts, iterations_within

__all__ = ["pdprox_restarted_for_outputs"]


def pdprox_restarted_for_outputs(
    problem: OutputsProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
    budget: float = np.inf,
) -> None:
    """As `skpd.solvers.proximal.pdprox.pdprox_restarted`, for any loss and penalty of a matrix."""
    variables = _OutputVariables(problem, problem.null_point if start is None else start)
    most = iterations_within(problem.design, budget, max_iter - monitor.n_iter)
    iterate_with_restarts(variables, monitor, variables.first_weight, most)


class _OutputVariables(_Variables):
    """The coefficients and intercepts, and the dual variables of all predictions."""

    def step(self, primal_weight: float, momentum: float) -> None:
        problem, tau, sigma = self.problem, self.tau / primal_weight, self.sigma * primal_weight
        self.w_prox = problem.prox(self.w - tau * self.gradient, tau)
        reflected = 2.0 * self.w_prox - self.w
        z = problem.matvec(reflected)
        self.theta_prox = problem.loss.prox_conjugate(problem.y, self.theta + sigma * z, sigma)
        self.theta = momentum * (2.0 * self.theta_prox - self.theta)
        self.theta += (1.0 - momentum) * self.theta_anchor
        self.w = momentum * reflected + (1.0 - momentum) * self.w_anchor
        self.gradient = problem.rmatvec(problem.weights * self.theta)

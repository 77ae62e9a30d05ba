"""The restarted hybrid gradient for matrices that are small enough to be stored as arrays.

Iterates of the reflected Halpern iteration (`skpd.solvers.proximal.restarts`) are sums of many
matrices of low rank. The points that it reports are values of the prox, which have low rank.
"""

from math import sqrt

import numpy as np

from ...problems import Point
from ..proximal.restarts import HybridGradient, iterate_with_restarts
from ..run import Run
from .hybrid import first_ratio
from .models import EntriesModel


def pdprox_restarted_for_completion(run: Run) -> None:
    """Primal-dual hybrid gradient with restarts for matrix completion, with any loss.

    See `skpd.solvers.proximal.pdprox.pdprox_restarted`.
    """
    iterate_with_restarts(_Variables(run), run, first_ratio(run.problem))


class _Variables(HybridGradient):
    """The matrix M as an array, the free numbers f and the dual variables theta.

    In the metrics of these variables the map has norm 1. They are s c_max ||M||^2 for the matrix,
    s f' F' diag(c) F f for the free numbers, with s the `square_of_map`, and theta' diag(c) theta.
    """

    def __init__(self, run: Run) -> None:
        problem, start = run.problem, run.first
        self.problem, self.model = problem, EntriesModel(run)
        self.M_prox, self.f_prox = self.model.start(start), start.intercept
        self.theta_prox = problem.loss.project_dual(problem.y, start.dual_coef)
        self.restart()

    def restart(self) -> None:
        self.M = self.M_anchor = self.M_prox.U @ self.M_prox.V.T
        self.f = self.f_anchor = self.f_prox
        self.theta = self.theta_anchor = self.theta_prox

    def step(self, primal_weight: float, momentum: float) -> None:
        problem, design, c = self.problem, self.problem.design, self.problem.weights
        step = 1.0 / (self.model.square_of_map * primal_weight)
        if problem.rows.groups is not None:
            self.f_prox = self.f - step * self.model.free_step(self.theta)
        tau = step / problem.rows.largest_weight
        towards = self.M.copy()
        towards[design.left, design.right] -= tau * design.of_rows(c * self.theta)
        self.M_prox = self.model.threshold(towards, tau * problem.alpha)
        M = 2.0 * (self.M_prox.U @ self.M_prox.V.T) - self.M
        f = 2.0 * self.f_prox - self.f
        z = design.to_rows(M[design.left, design.right]) + problem.rows.spread(f)
        self.theta_prox = problem.loss.prox_conjugate(
            problem.y, self.theta + primal_weight * z, primal_weight
        )
        back = 1.0 - momentum
        self.M = momentum * M + back * self.M_anchor
        self.f = momentum * f + back * self.f_anchor
        theta = 2.0 * self.theta_prox - self.theta
        self.theta = momentum * theta + back * self.theta_anchor

    def point(self) -> Point:
        return Point(self.M_prox.coef, self.f_prox, self.theta_prox)

    def distances(self) -> tuple[float, float]:
        problem, c = self.problem, self.problem.weights
        moved = self.M_prox.U @ self.M_prox.V.T - self.M_anchor
        square = problem.rows.largest_weight * float(np.sum(moved**2))
        if problem.rows.groups is not None:
            square += float(c @ problem.rows.groups.values(self.f_prox - self.f_anchor) ** 2)
        dual = float(c @ (self.theta_prox - self.theta_anchor) ** 2)
        return sqrt(self.model.square_of_map * square), sqrt(dual)

"""The restarted hybrid gradient for matrices that are small enough to be stored as arrays.

Iterates of the reflected Halpern iteration (`skpd.solvers.proximal.restarts`) are sums of many
matrices of low rank. The points that it reports are values of the prox, which have low rank.
"""

from math import sqrt

import numpy as np

from ..._typing import Array
from ...problems import Point
from ..proximal.restarts import HybridGradient, iterate_with_restarts
from ..solver_context import SolverContext
from .admm import first_ratio
from .factors import Factors
from .models import EntriesModel


def pdprox_restarted_for_completion(context: SolverContext) -> None:
    """Primal-dual hybrid gradient with restarts for matrix completion, with any loss.

    See `skpd.solvers.proximal.restarted.pdprox_restarted`.
    """
    iterate_with_restarts(_Variables(context), context, first_ratio(context.problem))


class _Variables(HybridGradient):
    """The entries of the matrix M, followed by the free numbers f, and the dual variables theta.

    In the metrics of these variables the map has norm 1. They are s c_max ||M||^2 for the matrix,
    s f' F' diag(c) F f for the free numbers, with s the `square_of_map`, and theta' diag(c) theta.
    """

    def __init__(self, context: SolverContext) -> None:
        problem, start = context.problem, context.first
        self.problem, self.model = problem, EntriesModel(context)
        self.M = self.model.start(start)
        theta = problem.loss.project_dual(problem.y, start.dual_coef)
        super().__init__(self.joined(self.M, start.intercept), theta)

    def joined(self, M: Factors, free: Array) -> Array:
        return np.append(M.U @ M.V.T, free)

    def split(self, x: Array) -> tuple[Array, Array]:
        """The pair (M, f)."""
        n_rows, n_columns = self.model.shape
        size = n_rows * n_columns
        return x[:size].reshape(n_rows, n_columns), x[size:]

    def gradient(self, theta: Array) -> Array:
        """The sums of the observations of each entry, followed by the step of the free numbers."""
        sums = self.problem.design.of_rows(self.problem.weights * theta)
        has_free = self.model.has_free
        return np.append(sums, self.model.free_step(theta)) if has_free else sums

    def prox(self, x: Array, gradient: Array, primal_weight: float) -> Array:
        problem, design = self.problem, self.problem.design
        step = 1.0 / (self.model.square_of_map * primal_weight)
        tau = step / problem.rows.largest_weight
        M, free = self.split(x.copy())
        M[design.left, design.right] -= tau * gradient[: len(gradient) - len(free)]
        self.M = self.model.threshold(M, tau * problem.alpha)
        return self.joined(self.M, free - step * gradient[len(gradient) - len(free) :])

    def prox_dual(self, theta: Array, x: Array, primal_weight: float) -> Array:
        problem, design = self.problem, self.problem.design
        M, free = self.split(x)
        z = design.to_rows(M[design.left, design.right]) + problem.rows.spread(free)
        return problem.loss.prox_conjugate(problem.y, theta + primal_weight * z, primal_weight)

    def point(self) -> Point:
        return Point(self.M.coef, self.split(self.x_prox)[1], self.theta_prox)

    def norms(self, x: Array, theta: Array) -> tuple[float, float]:
        problem, c = self.problem, self.problem.weights
        M, free = self.split(x)
        square = problem.rows.largest_weight * float(np.sum(M**2))
        if self.model.has_free:
            square += float(c @ problem.rows.groups.values(free) ** 2)
        return sqrt(self.model.square_of_map * square), sqrt(float(c @ theta**2))

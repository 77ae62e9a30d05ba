"""Primal-dual hybrid gradient for the robust SVM."""

import numpy as np

from ... import kernels
from ..._typing import Array
from ...problems import Point, Problem
from ...problems.regularisation import Regularisation
from ...solvers.hybrid_gradient.restarts import HybridGradient, iterate_with_restarts
from ...solvers.solver_context import SolverContext
from .lift import terms_of
from .loss import project_triangle
from .rows import RowsWithRadius

NO_FLIP = -1e100  # the slope of a flip for kappa = inf, finite so that it can be projected


def hybrid_gradient(context: SolverContext, *, budget: float = np.inf) -> None:
    """The restarted iteration of the core for the variables (w, b, lam) and (p, r).

    With x = (w, b, mu) and lam = scale mu, a step projects x - tau K'(p, r) onto the epigraph and
    (p_i, r_i) + sigma (1 + K x) onto the triangles, where K x = (-m, m - kappa lam). The scale
    makes the norm of the column of mu similar to that of X.

    Parameters
    ----------
    run, budget
        See `skpd.solvers.hybrid_gradient.restarted.hybrid_gradient`.
    """
    variables = _Variables(context)
    iterate_with_restarts(variables, context, variables.first_weight, budget)


class _Variables(HybridGradient):
    """The variables x = (w, b, mu) and theta = (p, r), the latter in the metric of the weights."""

    def __init__(self, context: SolverContext) -> None:
        robust, point = context.problem, context.first
        self.terms = terms_of(robust)
        rows = robust.rows.as_kind(RowsWithRadius).of_hinge
        self.problem = problem = Problem(rows, Regularisation(self.terms.norm, robust.alpha))
        self.flips = self.terms.kappa < np.inf
        size = context.norm(problem, np.sqrt(problem.weights)) or 1.0
        self.scale = max(size / self.terms.kappa, np.finfo(float).tiny) if self.flips else 1.0
        # sum_i c_i (m_i^2 + (m_i - kappa lam)^2) <= (golden ratio + 1) size^2 ||x||^2
        bound = size * np.sqrt(0.5 * (3.0 + np.sqrt(5.0)))
        self.step_size = 1.0 / bound
        self.first_weight = size
        mu = self.terms.norm.value(point.coef[:-1]) / self.scale
        x = np.append(problem.join(point.coef[:-1], point.intercept), mu)
        theta = np.asarray(point.dual_coef, dtype=float)
        super().__init__(x, np.stack(project_triangle(*theta)))

    def slopes(self, x: Array) -> Array:
        """The slopes 1 - m and 1 + m - kappa lam, of shape (2, n_samples)."""
        problem = self.problem
        margins = problem.y * problem.matvec(np.ascontiguousarray(x[:-1]))
        out = np.stack([1.0 - margins, np.full_like(margins, -np.inf)])
        if self.flips:
            out[1] = 1.0 + margins - self.terms.kappa * self.scale * x[-1]
        else:
            out[1] = NO_FLIP
        return out

    def gradient(self, theta: Array) -> Array:
        """The gradient of the Lagrangian in x, without the ridge."""
        problem = self.problem
        rows = problem.rmatvec(problem.weights * problem.y * (theta[1] - theta[0]))
        of_lam = self.terms.epsilon
        if self.flips:
            of_lam -= self.terms.kappa * float(problem.weights @ theta[1])
        return np.append(rows, self.scale * of_lam)

    def prox(self, x: Array, gradient: Array, primal_weight: float) -> Array:
        """The projection onto the epigraph, with the ridge as in (28) of the paper."""
        problem, tau = self.problem, self.step_size / primal_weight
        x = x - tau * gradient
        grow = 1.0 + tau * self.terms.ridge
        coef, intercept = problem.split(x[:-1])
        coef, mu = kernels.project_epigraph(
            np.ascontiguousarray(coef) / grow, float(x[-1]) / np.sqrt(grow), self.terms.q,
            self.scale * np.sqrt(grow),
        )  # fmt: skip
        return np.append(problem.join(coef, intercept), np.sqrt(grow) * mu)

    def prox_dual(self, theta: Array, x: Array, primal_weight: float) -> Array:
        sigma = self.step_size * primal_weight
        return np.stack(project_triangle(*(theta + sigma * self.slopes(x))))

    def point(self) -> Point:
        coef, intercept = self.problem.split(self.x_prox[:-1])
        return Point(np.append(coef, self.scale * self.x_prox[-1]), intercept, self.theta_prox)

    def norms(self, x: Array, theta: Array) -> tuple[float, float]:
        dual = float(np.sqrt(np.sum(self.problem.weights * theta**2)))
        return float(np.linalg.norm(x)), dual

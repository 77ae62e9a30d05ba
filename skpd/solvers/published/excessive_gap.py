"""Accelerated gradients in the dual variables (Zhang, Saha and Vishwanathan, 5.1.2 and 5.3).

With v_i = sqrt(c_i) theta_i, the penalty alpha R(w) = ridge ||w||^2 / 2 + S(w) and its conjugate
Omega*, the dual problem is to minimise J(v) = f(v) + Psi(v),

    f(v) = Omega*(-X'c theta),    Psi(v) = sum_i c_i (l_i*(theta_i) + mu theta_i^2 / 2)

with sum_i c_i theta_i = 0 if there is an intercept. f is smooth with L = ||sqrt(c) X||^2 / ridge,
its gradient is -sqrt(c) X w at w = argmin of alpha R(w) + w.X'c theta, and averages of these w as
in (22) and (35) are the models whose gaps Theorems 10 and 18 bound. The prox of Psi is the dual
point of the smoothed loss, by Algorithm 8 with an intercept.

Without smoothing (mu = 0) this is an excessive gap technique (section 5.2; Nesterov, 2005): let
w_i be the model at u_i, and w^k the average of w_1 to w_k with weights a_i / A_k. The linear model
of f at u_i is -<sqrt(c) X w_i, v> - alpha R(w_i). R is convex, thus (15) and (16) say ::

    J(v_k)  <=  min over v of  Psi(v) - <sqrt(c) X w^k, v> - alpha R(w^k) + Delta(v, v_0) / A_k

whose right side is minus the primal objective of w^k, with the loss smoothed by Delta / A_k. So
the smoothed objective is at most the dual value -J(v_k), which is the excessive gap condition,
with the smoothness 1 / A_k. It holds for each start v_0, each search for L and each Delta.

References
----------
Nesterov: Excessive gap technique in nonsmooth convex minimization. SIAM Journal on Optimization
16, 2005.
"""

import numpy as np

from ..._typing import Array, Numbers
from ...designs import spectral_norm_bound
from ...problems import Point
from ...problems.in_memory import RowsInMemory
from ..accelerated.certified_estimates import Result
from ..accelerated.estimate_functions import AcceleratedIterate, Composite
from ..accelerated.geometry import Euclidean
from ..solver_context import SolverContext
from .smoothed_loss import SmoothedLoss
from .smoothed_objectives import SmoothedObjectives


class DualObjectives(SmoothedObjectives):
    """The dual objectives of a run; ``roots`` are the sqrt(c_i), ``squares`` the b_i^2."""

    def __init__(self, context: SolverContext, memory: str, adaptive: bool) -> None:
        super().__init__(context, memory, adaptive)
        problem = context.problem
        self.squares = np.ones(problem.n_samples)
        self.roots = np.sqrt(problem.weights)
        self.inverse_roots = np.divide(
            1.0, self.roots, out=np.zeros_like(self.roots), where=self.roots > 0.0
        )
        ridge, self.rest, rest_alpha = problem.penalty.without_ridge()
        self.ridge, self.rest_alpha = problem.alpha * ridge, problem.alpha * rest_alpha

    def theta(self, v: Array) -> Array:
        """The dual point of v, which averages leave by rounding errors only."""
        return self.problem.loss.project_dual(self.problem.y, self.inverse_roots * v)

    def penalised(self, w: Array) -> float:
        """The penalty of a w that is outside of its domain by rounding errors only."""
        penalty = self.problem.penalty
        return float(self.problem.alpha * penalty.value(penalty.feasible(w)))

    def coef_at(self, slope: Array) -> Array:
        """The w with the least alpha R(w) + w.slope."""
        w = -slope / self.ridge
        return w if self.rest is None else self.rest.prox(w, self.rest_alpha / self.ridge)

    def composite(self, w: Array, mu: float) -> Composite:
        problem, roots = self.problem, self.roots
        design, loss = problem.design, problem.loss

        def smooth(slope: Array) -> tuple[float, Array, Array]:
            w = self.coef_at(slope)
            return -self.penalised(w) - float(w @ slope), -w, w

        def matvec(v: Array) -> Array:
            return design.rmatvec(roots * v)

        def rmatvec(w: Array) -> Array:
            return roots * design.matvec(w)

        def psi(v: Array) -> float:
            theta = self.theta(v)
            squares = 0.5 * mu * float(problem.weights @ (self.squares * theta**2))
            return float(problem.weights @ loss.conjugate(problem.y, theta)) + squares

        def prox(v: Array, step: float) -> Array:
            # l* + (mu b^2 + 1 / step) theta^2 / 2, at the linear predictions theta_0 / step
            added = mu * self.squares + 1.0 / step
            smoothed = SmoothedLoss(problem.rows.as_kind(RowsInMemory), 1.0, added)
            return roots * smoothed.best(self.inverse_roots * v / step)[1]

        if self.adaptive:
            along = matvec(rmatvec(-smooth(matvec(w))[1]))
            size = float(np.linalg.norm(along))
            turned = rmatvec(along / size) if size > 0.0 else roots
            lipschitz = float(turned @ turned) / self.ridge
        else:
            norm = spectral_norm_bound(rmatvec, matvec, design.shape, self.context.random_state)
            lipschitz = norm**2 / self.ridge
        return Composite(
            smooth, matvec, rmatvec, psi, Euclidean(prox), lipschitz=max(lipschitz, 1e-300),
            in_penalty=1.0 / loss.smoothness + mu * float(np.min(self.squares)),
            adaptive=self.adaptive, n_gradients=int(self.adaptive),
        )  # fmt: skip

    def result(self, iterate: AcceleratedIterate, n_averaged: int) -> Result:
        """The dual value of v_k with the averaged model, or with the better one of two."""
        problem = self.problem
        theta, w = self.theta(iterate.x), self.coef_at(iterate.z)
        dual = self.penalised(w) + float(w @ iterate.z)
        dual -= float(problem.weights @ problem.loss.conjugate(problem.y, theta))
        points = [(iterate.theta, iterate.slope)]
        if self.context.monitor.keeps_best:
            points.append(iterate.latest)
        models = [self.model(*point, iterate.bound) for point in points]
        primal, w, b = min(models, key=lambda model: model[0])
        return Result(primal, dual, lambda: Point(w, b, theta))

    def model(self, w: Array, gradient: Array, smoothing: float) -> tuple[float, Array, Numbers]:
        """The objective value at w, w, and an intercept, the best of the smoothed loss."""
        problem, z = self.problem, -self.inverse_roots * gradient
        b = SmoothedLoss(problem.rows.as_kind(RowsInMemory), smoothing, self.squares).best(z)[0]
        loss = float(problem.weights @ problem.loss.value(problem.y, z + problem.rows.spread(b)))
        return loss + self.penalised(w), problem.penalty.feasible(w), b

"""Newton steps on orthants for a multinomial model, to the last digits of its bounds."""

from typing import Any

import numpy as np
from scipy.special import softmax

from ..._typing import Array
from ...certificates import dual_bound
from ...certificates.rigorous import rigorous_dual, rigorous_primal
from ...problems.multinomial import MultinomialProblem
from .damped import damped_step
from .settings import DAMPED

__all__ = ["multinomial_bounds"]


def multinomial_bounds(
    problem: MultinomialProblem, coef: Array, intercept: Array, tol: float, max_iter: int
) -> tuple[float, float, float, str]:
    """The best bounds on the optimal value on the way from a model to the optimum.

    Returns
    -------
    upper, lower, rounding : float
        The bounds, and the rounding errors allowed for in the latter.
    kind : str
    """
    state = _ProjectedNewton(problem, np.column_stack([coef, intercept]))
    lower, rounding, kind, upper = 0.0, 0.0, "scaling", np.inf
    best, least, improved_at = np.inf, np.inf, 0
    for n_iter in range(max_iter):
        coef, intercept = np.ravel(state.v[:, :-1]), state.v[:, -1]
        upper = min(upper, rigorous_primal(problem, coef, intercept)[0])
        bound = dual_bound(problem, softmax(state.z, axis=1), upper)
        found = rigorous_dual(problem, bound.theta, upper)
        if found[0] > lower:
            (lower, rounding), kind = found, bound.kind
        gap = (upper - lower) / problem.objective_unit
        fallen = state.value < least - DAMPED.objective_progress * (upper - lower)
        if gap < DAMPED.progress * best or fallen:
            best, least, improved_at = min(gap, best), state.value, n_iter
        if gap <= tol or n_iter - improved_at > DAMPED.patience or not state.step(gap):
            break
    return upper, lower, rounding, kind


class _ProjectedNewton:
    """Newton steps in the orthant of the variables (W, b), as in Andrew and Gao (2007).

    Conjugate gradients solve for the step in the entries of W that are not zero or want to
    leave it. Where its projection onto the orthant is no descent, damping turns it into a step
    along the scaled gradient.
    """

    def __init__(self, problem: MultinomialProblem, v: Array) -> None:
        self.problem, self.v = problem, v
        penalty: Any = problem.penalty
        l1, l2, _, _ = penalty.terms
        penalised = np.append(np.ones(v.shape[1] - 1), 0.0)
        self.l1, self.l2 = problem.alpha * l1 * penalised, problem.alpha * l2 * penalised
        self.z = problem.predictions(v[:, :-1], v[:, -1])
        self.value = self.objective(v, self.z)
        self.majorant = np.append(0.5 * problem.design.column_norms(problem.weights) ** 2, 0.5)
        self.majorant += self.l2
        self.damping = 0.0

    def objective(self, v: Array, z: Array) -> float:
        loss = float(self.problem.weights @ self.problem._losses(z))
        return loss + float(np.sum(self.l1 * np.abs(v) + 0.5 * self.l2 * v**2))

    def rmatvec(self, rows: Array) -> Array:
        """X' diag(c) rows, transposed, and the sums for the intercept."""
        sums = float(self.problem.fit_intercept) * (self.problem.weights @ rows)
        return np.column_stack([self.problem.gradient(rows), sums])

    def step(self, gap: float) -> bool:
        """One step, the more accurate the smaller the relative gap; whether there was one."""
        problem, v, weights = self.problem, self.v, self.problem.weights
        p = softmax(self.z, axis=1)
        slope = self.rmatvec(p - problem.own) + self.l2 * v
        # the subgradient nearest to 0, and the orthant that a step may not leave
        side = np.sign(v)
        shrunk = slope - np.clip(slope, -self.l1, self.l1)
        pseudo = np.where(side != 0.0, slope + self.l1 * side, shrunk)
        orthant = np.where(self.l1 == 0.0, 0.0, np.where(side != 0.0, side, -np.sign(pseudo)))
        free = (side != 0.0) | (pseudo != 0.0)

        def hessian(d: Array) -> Array:
            change = problem.predictions(d[:, :-1], d[:, -1])
            rows = p * (change - np.sum(p * change, axis=1, keepdims=True))
            return free * (self.rmatvec(rows) + self.l2 * d)

        curvature = weights[:, np.newaxis] * p * (1.0 - p)
        squares = [problem.design.column_norms(h) ** 2 for h in curvature.T]
        diagonal = np.column_stack([np.stack(squares), curvature.sum(axis=0)]) + self.l2
        accuracy = min(DAMPED.coarsest_accuracy, DAMPED.accuracy_of_gap * gap)
        damping = damped_step(
            hessian, -pseudo * free, diagonal, self.majorant * free, accuracy, self.damping,
            lambda move: self.search(slope, move, orthant),
        )  # fmt: skip
        self.damping = 0.0 if damping is None else damping
        return damping is not None

    def search(self, slope: Array, move: Array, orthant: Array) -> float:
        """Go the first of the steps 1, 1/2, 1/4, ... with sufficient decrease, up to rounding.

        Returns the decrease over the slope of the objective along the whole step.
        """
        whole = 0.0
        for halving in range(DAMPED.search_halvings):
            v = self.v + 0.5**halving * move
            v = np.where((orthant != 0.0) & (v * orthant <= 0.0), 0.0, v)
            growth = self.l1 * (np.abs(v) - np.abs(self.v))
            linear = float(np.sum(slope * (v - self.v) + growth))
            whole = min(whole, linear)
            z = self.problem.predictions(v[:, :-1], v[:, -1])
            value = self.objective(v, z)
            most = self.value * (1.0 + DAMPED.objective_rounding)
            if linear < 0.0 and value <= most + DAMPED.sufficient_decrease * linear:
                gain = max((self.value - value) / -whole, DAMPED.sufficient_decrease)
                self.v, self.z, self.value = v, z, value
                return gain
        return 0.0

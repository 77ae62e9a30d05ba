"""Newton's method for a Huber model with its scale, for bounds accurate to the last digits."""

import numpy as np

from ..._typing import Array
from ...certificates import largest_gap
from ...certificates.rigorous import rigorous_dual, rigorous_primal
from ...designs.conjugate_gradients import conjugate_gradients
from ...losses import Absolute
from ...penalties import SquaredL2
from ...problems import Problem, Solution, linear_problem
from .. import solve
from ..certificate_schedule import StallDetector
from .settings import QUADRATIC, SCALE


def scaled_huber_bounds(
    problem: Problem, coef: Array, intercept: float, tol: float, max_iter: int
) -> tuple[float, float, float]:
    """The best bounds on the optimal value found by Newton's method from a given model.

    A least sigma of tol in units of the objective is imposed. Its effect is negligible, as P
    changes by at most epsilon^2 / 2 for each unit of sigma.

    Returns
    -------
    upper, lower, rounding : float
        The bounds, and the allowance for rounding errors in the lower one.
    """
    loss = problem.loss
    min_scale = SCALE.least_scale * tol * problem.objective_unit / loss.epsilon**2
    min_scale = max(min_scale, np.finfo(float).tiny)
    state = _Newton(problem, np.append(coef, intercept), min_scale)
    upper, lower, rounding = np.inf, 0.0, 0.0
    patience = StallDetector(SCALE.patience)
    for n_iter in range(max_iter):
        upper = min(upper, rigorous_primal(problem, state.v[:-1], float(state.v[-1]))[0])
        proof = rigorous_dual(problem, loss.dual_point(state.theta), upper)
        if proof[0] > lower:
            lower, rounding = proof
        if upper - lower <= largest_gap(problem, tol, upper, lower):
            return upper, lower, rounding
        gap = (upper - lower) / problem.objective_unit
        if loss.epsilon == 1.0 or patience.is_over(n_iter, gap) or not state.step(gap):
            break
    flat = _at_scale_zero(problem, tol, max_iter)
    upper = min(upper, rigorous_primal(problem, flat.coef, flat.intercept)[0])
    proof = rigorous_dual(problem, loss.dual_point(loss.epsilon * flat.dual_coef), upper)
    if proof[0] > lower:
        lower, rounding = proof
    return upper, lower, rounding


def _at_scale_zero(problem: Problem, tol: float, max_iter: int) -> Solution:
    """The solution for sigma = 0, where P is epsilon times the mean absolute deviation.

    This non-smooth problem has the optimal solution if epsilon is 1, or if so many residuals are 0
    that sum_i c_i theta_i^2 is at most 1.
    """
    flat = linear_problem(
        design=problem.design,
        y=problem.loss.y,
        weights=problem.loss.weights,
        loss=Absolute(),
        penalty=SquaredL2(),
        alpha=problem.alpha / problem.loss.epsilon,
        fit_intercept=problem.fit_intercept,
    )
    random_state = np.random.RandomState(0)
    solution = solve(flat, tol=tol, max_iter=max_iter, random_state=random_state)
    if solution.interrupted:
        raise KeyboardInterrupt
    return solution


class _Newton:
    """Newton's method for the minimum of P over sigma, a smooth function of v = (w, b).

    At models that interpolate some rows the best sigma is near 0, where the function is nearly as
    steep as the absolute loss. A step therefore decreases sigma at most by a factor.
    """

    def __init__(self, problem: Problem, v: Array, min_scale: float) -> None:
        self.problem, self.loss, self.min_scale = problem, problem.loss, min_scale
        self.ones = float(problem.fit_intercept)
        self.penalised = np.append(np.full(len(v) - 1, problem.alpha), 0.0)
        self.v, (self.scale, self.theta, self.value) = v, self.evaluate(v, min_scale)

    def evaluate(self, v: Array, min_scale: float) -> tuple[float, Array, float]:
        """The best scale that is not below the least, with the dual point theta and P at v."""
        loss, edge = self.loss, self.loss.epsilon
        r = self.problem.rows.scores(v[:-1], self.ones * float(v[-1])) - loss.y
        scale = loss.best_scale(r, min_scale)
        theta = np.clip(r / scale, -edge, edge)
        value = float(np.sum(loss.weights * (theta * r - 0.5 * scale * theta**2)))
        return scale, theta, 0.5 * scale + value + 0.5 * float(np.sum(self.penalised * v**2))

    def rmatvec(self, rows: Array) -> Array:
        rows = self.loss.weights * rows
        return np.append(self.problem.design.rmatvec(rows), self.ones * float(np.sum(rows)))

    def step(self, gap: float) -> bool:
        """Take one step, and return whether it decreased P.

        Linear systems are solved more accurately for smaller relative gaps.
        """
        problem, weights, theta, scale = self.problem, self.loss.weights, self.theta, self.scale
        inside = np.abs(theta) < self.loss.epsilon
        # the derivative of sigma: total d(sigma) = sum over rows inside of c_i theta_i d(r_i)
        total = 1.0 - self.loss.epsilon**2 * float(np.sum(weights[~inside]))
        follows = 1.0 / total if scale > self.min_scale and total > 0.0 else 0.0

        def products(d: Array) -> Array:
            rows = problem.design.matvec(np.ascontiguousarray(d[:-1])) + self.ones * d[-1]
            rows = inside * rows
            rows -= inside * theta * (follows * float(np.sum(weights * theta * rows)))
            return self.rmatvec(rows) / scale + self.penalised * d

        hessian = products
        if len(self.v) <= SCALE.largest_hessian:  # products by an explicit matrix
            columns = np.arange(len(self.v) - 1)
            matrix = problem.design.gram(weights * inside, columns, problem.fit_intercept)
            turn = self.rmatvec(inside * theta)[: len(matrix)]
            matrix -= follows * np.outer(turn, turn)

            def by_matrix(d: Array) -> Array:
                image = np.zeros_like(d)
                image[: len(matrix)] = matrix @ d[: len(matrix)]
                return image / scale + self.penalised * d

            hessian = by_matrix
        slope = self.rmatvec(theta) + self.penalised * self.v
        squares = problem.design.column_norms(weights * inside) ** 2
        diagonal = np.append(squares, self.ones * float(np.sum(weights * inside))) / scale
        diagonal += self.penalised
        accuracy = min(SCALE.coarsest_accuracy, SCALE.accuracy_of_gap * gap)
        # a least curvature for variables without any, such as the coefficients of empty columns
        floor = SCALE.least_curvature * float(np.max(diagonal)) + np.finfo(float).tiny
        iterate = conjugate_gradients(
            lambda d: hessian(d) + floor * d, lambda d: d / (diagonal + floor), -slope,
            max_iter=min(QUADRATIC.most_linear_steps, 2 * len(slope) + 10), share=accuracy,
        )  # fmt: skip
        return self.search(slope, iterate.solution)

    def search(self, slope: Array, move: Array) -> bool:
        """Take the first of the step lengths 1, 1/2, 1/4, ... with sufficient decrease, if any."""
        whole = -float(slope @ move)
        min_scale = max(self.min_scale, SCALE.scale_decrease * self.scale)
        for halving in range(SCALE.search_halvings if whole > 0.0 else 0):
            v = self.v + 0.5**halving * move
            scale, theta, value = self.evaluate(v, min_scale)
            max_value = self.value * (1.0 + SCALE.objective_rounding)
            if value <= max_value - SCALE.sufficient_decrease * 0.5**halving * whole:
                self.v, self.scale, self.theta, self.value = v, scale, theta, value
                return True
        return False

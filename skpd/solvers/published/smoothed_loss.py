"""The smoothed mean loss of a problem, for accelerated gradient methods."""

from typing import Any

import numpy as np
from scipy.optimize import brentq

from ... import kernels
from ..._floats import EPSILON
from ..._typing import Array
from ...problems import Problem
from ..accelerated.settings import SETTINGS


class SmoothedLoss:
    """The function f of z = X w: the smoothed mean loss at the best intercept."""

    def __init__(self, problem: Problem, mu: float, squares: Array) -> None:
        self.problem, self.mu = problem, mu
        self.added = mu * squares  # mu b_i^2
        self.intercept = problem.null_point.intercept
        self.z: Any = None  # argument of the cached best intercept

    @property
    def smoothness(self) -> Array | float:
        """Upper bounds on the second derivatives of the smoothed losses of the rows."""
        own = 1.0 / self.problem.loss.smoothness  # strong convexity of l*
        return 1.0 / (own + self.added)

    def theta(self, z: Array) -> Array:
        problem = self.problem
        if self.mu == 0.0:
            return problem.loss.gradient(problem.y, z)
        step = 1.0 / self.added
        return problem.loss.prox_conjugate(problem.y, step * z, step)

    def best(self, z: Array) -> tuple[float, Array]:
        """The best intercept for z, and the dual point there."""
        if z is not self.z:
            self.z, self.known = z, self._best(z)
        return self.known

    def _best(self, z: Array) -> tuple[float, Array]:
        problem = self.problem
        weights, loss, y = problem.weights, problem.loss, problem.y
        if not problem.fit_intercept:
            return 0.0, self.theta(z)
        if loss.constant_curvature and self.mu == 0.0:
            b = float(weights @ (y - z))
            return b, z + b - y
        if loss.conjugate_curvature is not None:
            # max of sum c (theta (z - y) - q theta^2 / 2) on a box and sum c theta = 0
            q = self.added + loss.conjugate_curvature
            lower, upper = loss.dual_bounds(y)
            theta = kernels.project_box_hyperplane(
                (z - y) / q, lower, upper, weights, weights * q, 0.0
            )
            implied = q * theta - (z - y)  # b where theta_i is inside, a bound where it is not
            inside = (theta > lower) & (theta < upper) & (weights > 0.0)
            if inside.any():
                return float(np.average(implied[inside], weights=weights[inside])), theta
            low = np.max(implied[(theta >= upper) & (weights > 0.0)], initial=-np.inf)
            high = np.min(implied[(theta <= lower) & (weights > 0.0)], initial=np.inf)
            ends = [end for end in (low, high) if np.isfinite(end)]
            return (float(np.mean(ends)) if ends else 0.0), theta

        def slope(b: float) -> float:
            return float(weights @ self.theta(z + b))

        low = high = self.intercept
        width = SETTINGS.first_bracket * problem.prediction_scale
        widest = SETTINGS.largest_bracket * problem.prediction_scale
        while slope(low) > 0.0 and width < widest:
            low, width = low - width, 2.0 * width
        while slope(high) < 0.0 and width < widest:
            high, width = high + width, 2.0 * width
        if low < high and slope(low) < 0.0 < slope(high):
            accuracy = EPSILON * (1.0 + abs(low))
            self.intercept = float(brentq(slope, low, high, xtol=accuracy))
        else:
            self.intercept = high if slope(low) < 0.0 else low
        return self.intercept, self.theta(z + self.intercept)

    def __call__(self, z: Array) -> tuple[float, Array, Array]:
        problem = self.problem
        b, theta = self.best(z)
        prediction = z + b if b != 0.0 else z
        weights = problem.weights
        if self.mu == 0.0:
            value = float(weights @ problem.loss.value(problem.y, prediction))
        else:
            conjugate = problem.loss.conjugate(problem.y, theta)
            value = float(weights @ (theta * prediction - conjugate - 0.5 * self.added * theta**2))
        return value, weights * theta, theta


def prox_squares(problem: Problem, random_state: np.random.RandomState) -> Array:
    """Squared weights b_i^2 proportional to ``|a_i . v|``, v the first singular vector.

    See section 5.6. Their weighted mean is 1, and they have a lower bound, so that the losses of
    all rows are smoothed.
    """
    design, weights = problem.design, problem.weights
    v = random_state.standard_normal(design.shape[1])
    product = design.matvec(v)
    for _ in range(SETTINGS.power_steps):
        v = design.rmatvec(weights * product)
        norm = float(np.linalg.norm(v))
        if norm == 0.0:
            return np.ones(design.shape[0])
        v /= norm
        product = design.matvec(v)
    squares = np.abs(product)
    squares = np.maximum(squares, SETTINGS.least_square * float(weights @ squares))
    return squares / float(weights @ squares)

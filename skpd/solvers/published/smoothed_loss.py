"""The smoothed mean loss of a problem, for accelerated gradient methods."""

from typing import Any

import numpy as np
from scipy.optimize import brentq

from ... import kernels
from ..._floats import EPSILON
from ..._typing import Array, Numbers
from ...problems import Problem
from ...problems.in_memory import RowsInMemory
from ...problems.output_rows import RowsOfOutputs
from ..accelerated.settings import SETTINGS


class SmoothedLoss:
    """The function f of z = X w: the smoothed mean loss at the best intercept.

    With several outputs it is a sum of losses of each, at the best intercept of each.
    """

    def __init__(self, rows: RowsInMemory, mu: float, squares: Array) -> None:
        self.rows, self.mu = rows, mu
        self.added = mu * squares  # mu b_i^2
        self.intercept = rows.null_point.intercept
        self.z: Array | None = None  # argument of the cached best intercept
        self.outputs: list[tuple[Any, SmoothedLoss]] = []
        if rows.of_outputs and rows.fit_intercept:
            outputs = rows.as_kind(RowsOfOutputs)
            self.outputs = [
                (members, SmoothedLoss(output, mu, squares[members]))
                for members, output in zip(outputs.row_indices, outputs.separate, strict=True)
            ]

    @property
    def smoothness(self) -> Array | float:
        """Upper bounds on the second derivatives of the smoothed losses of the rows."""
        modulus = 1.0 / self.rows.loss.smoothness  # strong convexity of l*
        return 1.0 / (modulus + self.added)

    def theta(self, z: Array) -> Array:
        rows = self.rows
        if self.mu == 0.0:
            return rows.loss.gradient(rows.y, z)
        step = 1.0 / self.added
        return rows.loss.prox_conjugate(rows.y, step * z, step)

    def best(self, z: Array) -> tuple[Numbers, Array]:
        """The best intercept for z, or that of each output, and the dual point there."""
        if z is not self.z:
            self.z, self.known = z, self._best(z)
        return self.known

    def _best(self, z: Array) -> tuple[Numbers, Array]:
        rows = self.rows
        weights, loss, y = rows.weights, rows.loss, rows.y
        if not rows.fit_intercept:
            return self.intercept, self.theta(z)
        if self.outputs:
            intercepts, theta = np.empty(len(self.outputs)), np.empty_like(z)
            for k, (members, output) in enumerate(self.outputs):
                intercepts[k], theta[members] = output.best(np.ascontiguousarray(z[members]))
            return intercepts, theta
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
        width, widest = 1e-3 * rows.null.prediction_scale, 1e12 * rows.null.prediction_scale
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
        rows = self.rows
        b, theta = self.best(z)
        prediction = z + rows.spread(b) if rows.fit_intercept else z
        weights = rows.weights
        if self.mu == 0.0:
            value = float(weights @ rows.loss.value(rows.y, prediction))
        else:
            conjugate = rows.loss.conjugate(rows.y, theta)
            value = float(weights @ (theta * prediction - conjugate - 0.5 * self.added * theta**2))
        return value, weights * theta, theta


def prox_squares(problem: Problem, random_state: np.random.RandomState) -> Array:
    """Squared weights b_i^2 proportional to ``|a_i . v|``, v the first singular vector.

    See section 5.6. Their weighted mean is 1, and they have a lower bound, so that the losses of
    all rows are smoothed.
    """
    design, weights = problem.design, problem.weights
    v = random_state.standard_normal(design.shape[1])
    for _ in range(SETTINGS.power_steps):
        v = design.rmatvec(weights * design.matvec(v))
        norm = float(np.linalg.norm(v))
        if norm == 0.0:
            return np.ones(design.shape[0])
        v /= norm
    squares = np.abs(design.matvec(v))
    squares = np.maximum(squares, SETTINGS.least_square * float(weights @ squares))
    return squares / float(weights @ squares)

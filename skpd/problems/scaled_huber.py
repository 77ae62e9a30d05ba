"""Huber regression with a concomitant scale, as in scikit-learn's HuberRegressor.

Beside w and b its scale sigma > 0 is chosen. With h(r) = r^2 / 2 up to |r| = epsilon and
epsilon |r| - epsilon^2 / 2 beyond (Huber and Ronchetti, 2009, section 7.8),

    primal   P(w, b, sigma) = sigma / 2 + sum_i c_i sigma h(r_i / sigma) + (alpha / 2) ||w||^2
    dual     D(theta) = - sum_i c_i theta_i y_i - ||X' diag(c) theta||^2 / (2 alpha)
             subject to |theta_i| <= epsilon, sum_i c_i theta_i^2 <= 1
             and sum_i c_i theta_i = 0 if b is free.

For sigma h(r / sigma) is the largest theta r - sigma theta^2 / 2 over |theta| <= epsilon, so
that P is bounded below by a function linear in sigma, whose slope must not be negative.

The derivative of P in sigma is (1 - sum_i c_i theta_i^2) / 2 at theta_i = clip(r_i / sigma) to
[-epsilon, epsilon], which is the dual point of a model.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .. import kernels
from .._typing import Array
from ..certificates.rigorous import UNDERFLOW, of_coefficients, of_weights
from ..designs import Design
from ..losses import Huber
from ..losses.base import EPSILON
from ..penalties import SquaredL2

__all__ = ["ConcomitantHuber"]


@dataclass
class ConcomitantHuber:
    """minimise P(w, b, sigma) over w, b and sigma > 0.

    Parameters
    ----------
    design : Design
        The data X of shape (n_samples, n_features).
    y : ndarray of shape (n_samples,)
    weights : ndarray of shape (n_samples,)
        The weights c_i >= 0, which sum to 1.
    epsilon : float
        Where the loss turns linear, in units of sigma, at least 1.
    alpha : float
        Weight of the penalty, greater than 0.
    fit_intercept : bool
    """

    design: Design
    y: Array
    weights: Array
    epsilon: float
    alpha: float
    fit_intercept: bool

    def best_scale(self, residuals: Array, least: float) -> float:
        """The sigma >= least that minimises P: sum_i c_i clip(r_i / sigma)^2 = 1.

        The rows beyond epsilon sigma for a sigma that is too large are among those beyond the
        best one, so that each sigma that the others give is nearer, from above.
        """
        size = np.abs(residuals)
        scale = float(np.sqrt(np.sum(self.weights * size**2)))
        while scale > least:
            inside = size <= self.epsilon * scale
            room = 1.0 - self.epsilon**2 * float(np.sum(self.weights[~inside]))
            square = float(np.sum(self.weights[inside] * size[inside] ** 2))
            before, scale = scale, float(np.sqrt(square / room)) if room > 0.0 else 0.0
            if scale >= before * (1.0 - 4.0 * EPSILON):
                break
        return max(scale, least)

    @cached_property
    def null_model(self) -> tuple[float, float]:
        """The best constant prediction and its scale, nearly."""
        least = float(np.finfo(float).tiny)
        intercept = float(self.weights @ self.y) if self.fit_intercept else 0.0
        scale = self.best_scale(intercept - self.y, least)
        for _ in range(100 if self.fit_intercept else 0):
            intercept = Huber(delta=self.epsilon * scale).best_constant(self.y, self.weights)
            before, scale = scale, self.best_scale(intercept - self.y, least)
            if not scale < before * (1.0 - 1e-9) or scale <= 1e-12 * abs(intercept):
                break
        return intercept, scale

    @cached_property
    def objective_unit(self) -> float:
        """P at the best constant prediction, what a relative gap is relative to."""
        intercept, scale = self.null_model
        return self.objective(np.zeros(self.design.shape[1]), intercept, scale)[0]

    def objective(self, coef: Array, intercept: float, scale: float) -> tuple[float, float]:
        """An upper bound on P(w, b, sigma), and by how much it is above the value as computed."""
        coef = np.ascontiguousarray(coef, dtype=np.float64)
        z, low, error = self.design.matvec_compensated(coef, float(intercept))
        residuals = np.abs((z - self.y) + low)
        error = error + 4.0 * EPSILON * (np.abs(z) + np.abs(self.y))

        def losses(r):
            edge = self.epsilon * scale
            return np.where(
                r <= edge,
                0.5 * r * (r / scale),
                self.epsilon * (r - edge) + 0.5 * edge * self.epsilon,
            )

        rest = 0.5 * scale + self.alpha * SquaredL2().value(coef)
        plain = float(np.sum(self.weights * losses(residuals))) + rest
        delta = of_weights(len(z))
        value = float(np.sum(self.weights * losses(residuals + error))) * (1.0 + delta)
        value = (value + rest * (1.0 + of_coefficients(len(coef)))) * (1.0 + delta) + UNDERFLOW
        return (float(value), float(value - plain)) if np.isfinite(value) else (np.inf, 0.0)

    def dual_bound(self, theta: Array, upper: float) -> tuple[float, float]:
        """A lower bound on the optimal value, and by how much it is below the value as computed.

        Parameters
        ----------
        theta : ndarray of shape (n_samples,)
            Any dual point; it is moved to the feasible set first.
        upper : float
            An upper bound on the optimal value.
        """
        weights, y = self.weights, self.y
        edge = np.full(len(y), self.epsilon)
        theta = np.clip(np.nan_to_num(theta), -edge, edge)
        if self.fit_intercept:
            theta = kernels.project_box_hyperplane(theta, -edge, edge, weights, weights, 0.0)
        # t theta with the best t: t A - t^2 B
        size = np.sqrt(float(np.sum(weights * theta**2)))
        if size == 0.0:
            return 0.0, 0.0
        linear = -float(np.sum(weights * theta * y))
        square = SquaredL2().value(self.design.rmatvec(weights * theta)) / self.alpha
        largest = min(1.0 / size, self.epsilon / float(np.max(np.abs(theta))))
        best = max(linear, 0.0) / (2.0 * square) if square > 0.0 else np.inf
        delta = of_weights(len(y))
        theta = np.clip(min(best, largest) * (1.0 - 4.0 * delta) * theta, -edge, edge)
        u, error = self.design.rmatvec_compensated(weights, theta)
        value, rest = kernels.compensated_dot(weights, theta, y)
        plain = -value - SquaredL2().conjugate(u, self.alpha)
        above = SquaredL2().conjugate((np.abs(u) + error) * (1.0 + 8.0 * EPSILON), self.alpha)
        above *= 1.0 + of_coefficients(len(u))
        from_intercept = 0.0
        if self.fit_intercept:
            slope, uncertain = kernels.compensated_dot(weights, theta)
            from_intercept = (abs(slope) + uncertain) * self.intercept_radius(upper)
            plain -= abs(slope) * self.intercept_radius(upper)
        bound = -value - rest - above - from_intercept
        bound -= 8.0 * EPSILON * (abs(value) + above + from_intercept) + UNDERFLOW
        bound *= 1.0 - delta
        if not bound > 0.0:  # P >= 0
            return 0.0, max(plain, 0.0) if np.isfinite(plain) else 0.0
        return float(bound), float(plain - bound)

    def intercept_radius(self, upper: float) -> float:
        """A bound on |b| where P(w, b, sigma) <= upper.

        As epsilon >= 1, the dual point theta = (1, ..., 1) and its negative show that the mean
        residual is at most the loss; ||w||^2 is at most 2 upper / alpha.
        """
        total = float(np.sum(self.weights))
        mean = self.design.rmatvec(self.weights) / total
        reach = np.sqrt(2.0 * upper / self.alpha * float(np.sum(mean**2)))
        centre = abs(float(np.sum(self.weights * self.y))) / total
        return 1.000001 * (upper + centre + reach) + 1e-6 * float(np.max(np.abs(self.y)))

    def residuals(self, coef: Array, intercept: float) -> Array:
        return self.design.matvec(np.ascontiguousarray(coef)) + intercept - self.y

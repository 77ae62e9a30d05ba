"""Huber regression with a concomitant scale, as in scikit-learn's HuberRegressor.

The model is fitted together with its scale sigma > 0. With h(r) = r^2 / 2 up to |r| = epsilon and
h(r) = epsilon |r| - epsilon^2 / 2 beyond (Huber and Ronchetti, 2009, section 7.8),

    primal   P(w, b, sigma) = sigma / 2 + sum_i c_i sigma h(r_i / sigma) + (alpha / 2) ||w||^2
    dual     D(theta) = - sum_i c_i theta_i y_i - ||X' diag(c) theta||^2 / (2 alpha)
             subject to |theta_i| <= epsilon, sum_i c_i theta_i^2 <= 1
             and sum_i c_i theta_i = 0 if b is free.

This holds because sigma h(r / sigma) is the maximum of theta r - sigma theta^2 / 2 over
|theta| <= epsilon, so that P is bounded below by a linear function of sigma, whose slope must not
be negative.

The derivative of P in sigma is (1 - sum_i c_i theta_i^2) / 2 at theta_i = clip(r_i / sigma) to
[-epsilon, epsilon], which is the dual point of a model.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import NOTHING, DualPoint, Interval, Objective, Sum
from ..certificates.rigorous import of_weights, rigorous_primal
from ..designs import Design
from ..losses import Huber
from ..penalties import SquaredL2


@dataclass(frozen=True, eq=False)
class ConcomitantHuber(Objective):
    """The problem of minimising P(w, b, sigma) over w, b and sigma > 0.

    Parameters
    ----------
    design : Design
        The data X of shape (n_samples, n_features).
    y : ndarray of shape (n_samples,)
    weights : ndarray of shape (n_samples,)
        The weights c_i >= 0, which sum to 1.
    epsilon : float
        The size of residuals, in units of sigma, beyond which the loss is linear; at least 1.
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
    penalty: SquaredL2 = field(default_factory=SquaredL2)

    def best_scale(self, residuals: Array, least: float) -> float:
        """The sigma >= least that minimises P, where sum_i c_i clip(r_i / sigma)^2 = 1.

        Starting from a sigma that is too large, the rows that are clipped are among those clipped
        at the best sigma. Solving the equation with these rows fixed gives a smaller sigma that is
        still not below the best one.
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
        """The approximate best constant prediction and its scale."""
        least = float(np.finfo(float).tiny)
        intercept = float(self.weights @ self.y) if self.fit_intercept else 0.0
        scale = self.best_scale(intercept - self.y, least)
        for _ in range(100 if self.fit_intercept else 0):
            intercept = Huber(delta=self.epsilon * scale).best_constant(self.y, self.weights)
            before, scale = scale, self.best_scale(intercept - self.y, least)
            if not scale < before * (1.0 - 1e-9) or scale <= 1e-12 * abs(intercept):
                break
        return intercept, scale

    @property
    def n_samples(self) -> int:
        return len(self.y)

    @cached_property
    def largest_target(self) -> float:
        return float(np.max(np.abs(self.y), initial=0.0))

    @cached_property
    def null_objective(self) -> float:
        """The objective value at the best constant prediction, rounded up."""
        return rigorous_primal(self, np.zeros(self.design.shape[1]), self.null_model)[0]

    @property
    def null_rounding(self) -> float:
        return 0.0

    @property
    def objective_unit(self) -> float:
        """The denominator of relative gaps, P at the best constant prediction."""
        return self.null_objective

    def mean_loss(self, coef: Array, free: Any, accuracy: float) -> float:
        return self.precise_mean_loss(coef, free)[0]

    def precise_mean_loss(self, coef: Array, free: Any) -> tuple[float, float]:
        """An upper bound on sigma / 2 plus the mean loss, and its value without bounds.

        ``free`` are the intercept and the scale.
        """
        intercept, scale = free
        z, low, error = self.design.matvec_compensated(coef, float(intercept))
        residuals = np.abs((z - self.y) + low)
        error = error + 4.0 * EPSILON * (np.abs(z) + np.abs(self.y))
        edge = self.epsilon * scale

        def mean(r: Array) -> float:
            inside, beyond = (
                0.5 * r * (r / scale),
                self.epsilon * (r - edge) + 0.5 * edge * self.epsilon,
            )
            return float(np.sum(self.weights * np.where(r <= edge, inside, beyond)))

        return 0.5 * scale + mean(residuals + error), 0.5 * scale + mean(residuals)

    def free_intervals(self, upper: float) -> list[Interval]:
        """The interval of the intercept only.

        The scale needs none: the bound of a feasible dual point holds for every sigma >= 0.
        """
        radius = self.intercept_radius(upper) if self.fit_intercept else 0.0
        return [(-radius, radius)]

    def feasible_point(self, theta: Array) -> "ScaledHuberPoint | None":
        """The multiple of the projection of theta with the best dual value; None if it is 0."""
        edge = np.full(len(self.y), self.epsilon)
        theta = np.clip(np.nan_to_num(theta), -edge, edge)
        weights = self.weights
        if self.fit_intercept:
            theta = kernels.project_box_hyperplane(theta, -edge, edge, weights, weights, 0.0)
        size = sqrt(kernels.dot(weights * theta, theta))
        if size == 0.0:
            return None
        # the bound of t theta is the parabola t A - t^2 B
        linear = -kernels.dot(weights * theta, self.y)
        square = self.penalty.value(self.design.rmatvec(weights * theta)) / self.alpha
        largest = min(1.0 / size, self.epsilon / kernels.max_abs(theta))
        best = max(linear, 0.0) / (2.0 * square) if square > 0.0 else inf
        shrunk = min(best, largest) * (1.0 - 4.0 * of_weights(len(theta)))
        return ScaledHuberPoint(self, np.clip(shrunk * theta, -edge, edge))

    def projected(self, point: DualPoint) -> DualPoint:
        return point

    def balanced(self, point: DualPoint, near: Array | None) -> DualPoint:
        return point

    def intercept_radius(self, upper: float) -> float:
        """An upper bound on |b| for models with P(w, b, sigma) <= upper.

        As epsilon >= 1, the dual points theta = (1, ..., 1) and -theta show that the absolute mean
        residual is at most the loss. The norm has ||w||^2 <= 2 upper / alpha.
        """
        total = float(np.sum(self.weights))
        mean = self.design.rmatvec(self.weights) / total
        reach = np.sqrt(2.0 * upper / self.alpha * float(np.sum(mean**2)))
        centre = abs(float(np.sum(self.weights * self.y))) / total
        return 1.000001 * (upper + centre + reach) + 1e-6 * float(np.max(np.abs(self.y)))

    def residuals(self, coef: Array, intercept: float) -> Array:
        return self.design.matvec(np.ascontiguousarray(coef)) + intercept - self.y


class ScaledHuberPoint(DualPoint):
    """A dual point with abs(theta_i) <= epsilon and sum_i c_i theta_i^2 <= 1."""

    linear, quadratic, only_precise = True, False, True

    def __init__(self, problem: ConcomitantHuber, theta: Array) -> None:
        self.problem, self.theta = problem, theta

    def value(self, scale: float) -> Sum:
        value, rounding = kernels.compensated_dot(
            self.problem.weights, scale * self.theta, self.problem.y
        )
        return -value, rounding

    def products(self, precise: bool) -> tuple[Array, Array]:
        return self.problem.design.rmatvec_compensated(self.problem.weights, self.theta)

    def sums_without_products(self) -> list[Sum]:
        if not self.problem.fit_intercept:
            return [NOTHING]
        return [kernels.compensated_dot(self.problem.weights, self.theta)]

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        return self.sums_without_products()

    def largest_scale(self) -> float:
        return 1.0

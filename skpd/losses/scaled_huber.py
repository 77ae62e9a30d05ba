"""The Huber loss with its scale, as in scikit-learn's HuberRegressor (`ScaledHuber`).

With h(r) = r^2 / 2 up to |r| = epsilon and h(r) = epsilon |r| - epsilon^2 / 2 beyond (Huber and
Ronchetti, 2009, section 7.8), and a scale sigma > 0 that is fitted with the predictions,

    L(z) = min over sigma of  sigma / 2 + sum_i c_i sigma h((z_i - y_i) / sigma)
         = max over theta of  sum_i c_i theta_i (z_i - y_i)
           subject to |theta_i| <= epsilon and sum_i c_i theta_i^2 <= 1.

This holds because sigma h(r / sigma) is the maximum of theta r - sigma theta^2 / 2 over
|theta| <= epsilon, so that L is at least a linear function of sigma, whose slope must not be
negative. The derivative in sigma is (1 - sum_i c_i theta_i^2) / 2 at theta_i = clip(r_i / sigma)
to [-epsilon, epsilon], which attain the maximum at the best scale.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array, Sum
from .structured import StructuredDual, StructuredLoss

TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class ScaledHuber(StructuredLoss):
    """The Huber loss of all rows with the best scale, or with a fixed one.

    Parameters
    ----------
    y, weights : ndarray of shape (n_samples,)
    epsilon : float
        The size of residuals, in units of sigma, beyond which the loss is linear; at least 1.
    scale : float, default=None
        The scale sigma; by default the best one for the predictions.
    """

    y: Array
    weights: Array
    epsilon: float
    scale: float | None = None

    def __post_init__(self) -> None:
        ones = np.ones(len(self.y))
        derived = {
            "largest_theta": self.epsilon * ones,
            "largest_target": float(np.max(np.abs(self.y), initial=0.0)),
            # as epsilon is at least 1, all theta_i may be 1
            "points_of_both_signs": (self.dual_point(ones), self.dual_point(-ones)),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def best_scale(self, residuals: Array, min_scale: float = TINY) -> float:
        """The sigma >= min_scale that minimises the loss, where sum_i c_i clip(r_i / sigma)^2 = 1.

        Starting from a sigma that is too large, the rows that are clipped are among those clipped
        at the best sigma. Solving the equation with these rows fixed gives a smaller sigma that is
        still not below the best one.
        """
        size = np.abs(residuals)
        scale = float(np.sqrt(np.sum(self.weights * size**2)))
        while scale > min_scale:
            inside = size <= self.epsilon * scale
            share = 1.0 - self.epsilon**2 * float(np.sum(self.weights[~inside]))
            square = float(np.sum(self.weights[inside] * size[inside] ** 2))
            before, scale = scale, float(np.sqrt(square / share)) if share > 0.0 else 0.0
            if scale >= before * (1.0 - 4.0 * EPSILON):
                break
        return max(scale, min_scale)

    def value(self, z: Array) -> Sum:
        r = np.abs(z - self.y)
        scale = self.best_scale(r) if self.scale is None else self.scale
        edge = self.epsilon * scale
        with np.errstate(over="ignore"):  # of residuals beyond the edge, which are not inside
            inside = 0.5 * r * (r / scale)
        beyond = self.epsilon * (r - edge) + 0.5 * edge * self.epsilon
        value = 0.5 * scale + float(np.sum(self.weights * np.where(r <= edge, inside, beyond)))
        rounding = self.sensitivity(4.0 * EPSILON * (np.abs(z) + np.abs(self.y)))
        return value, rounding + 64.0 * EPSILON * value

    def loss_augmented(self, z: Array, smoothing: float) -> tuple[float, StructuredDual]:
        r = z - self.y
        with np.errstate(over="ignore"):
            theta = np.clip(r / self.best_scale(r), -self.epsilon, self.epsilon)
        return self.value(z)[0], self.dual_point(theta)

    def dual_point(self, theta: Array) -> StructuredDual:
        """The dual point of the feasible theta that is nearest in direction to ``theta``."""
        theta = np.clip(np.nan_to_num(theta), -self.epsilon, self.epsilon)
        size = sqrt(kernels.dot(self.weights * theta, theta)) * (1.0 + len(theta) * EPSILON)
        theta = theta / max(size, 1.0)
        value, rounding = kernels.compensated_dot(self.weights, theta, self.y)
        return StructuredDual(theta, -value, 0.0, rounding)

"""Dual points of the distributionally robust SVM: multipliers p and r of every row.

The multipliers of a row are in the triangle p, r >= 0, p + r <= 1 (`skpd.problems.robust`).
"""

from functools import cached_property
from typing import Any

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import NOTHING, DualPoint, Sum
from .dual_points import PointOf

GRID = 2.0**52  # multipliers on multiples of its inverse have exact sums and differences


def project_triangle(p: Array, r: Array) -> tuple[Array, Array]:
    """The nearest points with p, r >= 0 and p + r <= 1."""
    excess = np.maximum(0.5 * (p + r - 1.0), 0.0)
    over = np.maximum(p, 0.0) + np.maximum(r, 0.0) > 1.0
    along = np.clip(np.where(over, p - excess, p), 0.0, 1.0)
    # on the hypotenuse r is computed as 1 - p, so that rounding does not leave the triangle
    return along, np.where(over, 1.0 - along, np.clip(r, 0.0, 1.0))


class TrianglePoint(DualPoint):
    """A dual point of multipliers p and r whose sums and differences are exact."""

    linear, quadratic, only_precise = True, False, True

    def __init__(self, problem: Any, p: Array, r: Array) -> None:
        self.problem, self.theta = problem, np.stack([p, r])

    def value(self, scale: float) -> Sum:
        value, rounding = self._value
        return scale * value, scale * rounding

    @cached_property
    def _value(self) -> Sum:
        p, r = self.theta
        return kernels.compensated_dot(self.problem.weights, p + r)

    def products(self, precise: bool) -> tuple[Array, Array]:
        """The products (-v, -kappa rho) with (w, lam), and bounds on their errors."""
        problem, (p, r) = self.problem, self.theta
        u, error = problem.design.rmatvec_compensated(problem.weights, (r - p) * problem.y)
        flipped, rounding = kernels.compensated_dot(problem.weights, r)
        of_radius = problem.kappa * flipped
        rounding = problem.kappa * rounding + EPSILON * abs(of_radius)
        return np.append(u, -of_radius), np.append(error, rounding)

    def sums_without_products(self) -> list[Sum]:
        problem, (p, r) = self.problem, self.theta
        if not problem.fit_intercept:
            return [NOTHING]
        return [kernels.compensated_dot(problem.weights, r - p, problem.y)]

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        return self.sums_without_products()

    def largest_scale(self) -> float:
        size = float(np.max(self.theta[0] + self.theta[1], initial=0.0))
        return (1.0 / size) * (1.0 - 8.0 * EPSILON) if size > 0.0 else 1.0


class HingePoint(PointOf):
    """A dual point with r = 0, from a dual point theta = -y p of the hinge loss."""

    def __init__(self, problem: Any, inner: DualPoint) -> None:
        p = -problem.y * inner.theta
        super().__init__(inner, np.stack([p, np.zeros_like(p)]))

    def products(self, precise: bool) -> tuple[Array, Array]:
        u, error = self.inner.products(precise)
        return np.append(u, 0.0), np.append(error, 0.0)

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        return self.inner.free_sums(products[:-1], errors[:-1])

    def errors_by_precision(self) -> Array:
        return np.append(self.inner.errors_by_precision(), 0.0)


def on_grid(theta: Array) -> tuple[Array, Array]:
    """Multipliers in the triangle whose sums and differences are exact."""
    p, r = np.nan_to_num(
        np.asarray(theta, dtype=np.float64).reshape(2, -1), posinf=1.0, neginf=0.0
    )
    p, r = project_triangle(np.clip(p, -1e100, 1e100), np.clip(r, -1e100, 1e100))
    largest = float(np.max(p + r, initial=0.0))
    if 0.0 < largest < 2.0**-20:  # small multipliers are scaled by a power of 2, which is exact
        scale = 2.0 ** np.floor(-np.log2(largest) - 1.0)
        p, r = p * scale, r * scale
    return np.floor(p * GRID) / GRID, np.floor(r * GRID) / GRID


def balanced_on_grid(problem: Any, p: Array, r: Array) -> Array:
    """The nearest p on the grid with sum_i c_i (p_i - r_i) y_i = 0, up to the grid's spacing."""
    normal = problem.weights * problem.y
    total = float(np.sum(normal * r))
    p = kernels.project_box_hyperplane(
        p, np.zeros_like(p), 1.0 - r, normal, np.maximum(problem.weights, 1e-300), total
    )
    return np.floor(p * GRID) / GRID

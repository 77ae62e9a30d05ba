"""Dual points of the distributionally robust SVM: multipliers p and r of every row.

The multipliers of a row are in the triangle p, r >= 0, p + r <= 1 (`skpd.models.robust.lift`).
"""

from functools import cached_property
from math import inf
from typing import Any, cast

import numpy as np

from ... import kernels
from ..._floats import EPSILON
from ..._immutable_base import computed
from ..._typing import Array, Indices
from ...certificates.interface import NOTHING, DualPoint, Sum
from ...problems.dual_points import PointOf
from ...problems.free_directions import FreeDirections, Support
from ...problems.interfaces import ProblemParts
from ...problems.problem import Problem
from ...problems.regularisation import Regularisation
from .loss import GRID


class TrianglePoint(DualPoint):
    """A dual point of multipliers p and r whose sums and differences are exact."""

    linear, quadratic, only_precise = True, False, True

    def __init__(self, rows: Any, theta: Array, columns: Indices) -> None:
        self.rows, self.theta, self.columns = rows, theta, columns

    def value(self, scale: float) -> Sum:
        value, rounding = self._value
        return scale * value, scale * rounding

    @cached_property
    def _value(self) -> Sum:
        p, r = self.theta
        return kernels.compensated_dot(self.rows.weights, p + r)

    def products(self, precise: bool) -> tuple[Array, Array]:
        """The products (-v, -kappa rho) with (w, lam), and bounds on their errors."""
        rows, (p, r) = self.rows, self.theta
        u, error = rows.design.rmatvec_compensated(rows.weights, (r - p) * rows.y)
        flipped, rounding = kernels.compensated_dot(rows.weights, r)
        kappa = rows.loss.kappa if rows.loss.kappa < inf else 0.0
        of_radius = kappa * flipped
        rounding = kappa * rounding + EPSILON * abs(of_radius)
        return np.append(u, -of_radius), np.append(error, rounding)

    def sums_without_products(self) -> list[Sum]:
        rows, (p, r) = self.rows, self.theta
        if not rows.fit_intercept:
            return [NOTHING]
        return [kernels.compensated_dot(rows.weights, r - p, rows.y)]

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        of_features = products[self.columns].tolist(), errors[self.columns].tolist()
        return [*self.sums_without_products(), *zip(*of_features, strict=True)]

    def largest_scale(self) -> float:
        size = float(np.max(self.theta[0] + self.theta[1], initial=0.0))
        return (1.0 / size) * (1.0 - 8.0 * EPSILON) if size > 0.0 else 1.0


class HingePoint(PointOf):
    """A dual point with r = 0, from a dual point theta = -y p of the hinge loss."""

    def __init__(self, y: Array, inner: DualPoint) -> None:
        p = -y * inner.theta
        super().__init__(inner, np.stack([p, np.zeros_like(p)]))

    def products(self, precise: bool) -> tuple[Array, Array]:
        u, error = self.inner.products(precise)
        return np.append(u, 0.0), np.append(error, 0.0)

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        return self.inner.free_sums(products[:-1], errors[:-1])


class FreeWithRadius(FreeDirections):
    """The intercept of a robust SVM, whose interval is that of the hinge loss."""

    _last_hinge: Problem | None = None

    @cached_property
    def _supports_of_means(self) -> list[list[Support]]:
        mean_rows = self.rows.mean_rows
        means = [(np.append(mean, 0.0), np.append(error, 0.0)) for mean, error in mean_rows]
        return self.supports(means)

    # Whether dual points are those of the hinge loss and the norm of all coefficients.
    _is_hinge = computed(lambda self: self.rows.loss.kappa == inf and not len(self.columns))

    def point_of(self, problem: ProblemParts, theta: Array) -> DualPoint:
        """The dual point of multipliers in the triangle; without flips that of a hinge loss."""
        if not self._is_hinge:
            return TrianglePoint(self.rows, theta, self.columns)
        inner = self._hinge(problem).feasible_point(-self.rows.y * theta[0])
        return HingePoint(self.rows.y, cast(DualPoint, inner))

    def _hinge(self, problem: ProblemParts) -> Problem:
        """The problem of the hinge loss and the norm, whose dual points are those with r = 0."""
        if self._last_hinge is None or self._last_hinge.alpha != problem.alpha:
            rows = self.rows.of_hinge
            self._last_hinge = Problem(rows, Regularisation(problem.penalty.norm, problem.alpha))
        return self._last_hinge

    def projected(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        """The point with the nearest p on the grid for which s is 0, or nearly 0."""
        rows = self.rows
        if self._is_hinge:
            inner = self._hinge(problem).projected(cast(HingePoint, point).inner)
            return HingePoint(rows.y, inner)
        if not rows.fit_intercept:
            return point
        normal, (p, r) = rows.weights * rows.y, point.theta
        try:
            p = kernels.project_box_hyperplane(
                p, np.zeros_like(p), 1.0 - r, normal, np.maximum(rows.weights, 1e-300),
                float(np.sum(normal * r)),
            )  # fmt: skip
        except ValueError:  # there may be no p that balances r
            return point
        return TrianglePoint(rows, np.stack([np.floor(p * GRID) / GRID, r]), self.columns)

    def balanced(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        if not self._is_hinge:
            return point
        inner = self._hinge(problem).balanced(cast(HingePoint, point).inner)
        return HingePoint(self.rows.y, inner)

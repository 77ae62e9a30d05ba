"""Rows whose losses depend on the radius of the coefficients (`RowsWithRadius`)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import cast

import numpy as np

from ... import kernels
from ..._floats import EPSILON
from ..._immutable_base import computed
from ..._typing import Array, Indices, Numbers
from ...certificates.interface import NOTHING, DualPoint, Sum
from ...losses import Hinge, Loss
from ...penalties import Penalty
from ...problems.dual_points import PointOf
from ...problems.free_directions import FreeDirections
from ...problems.in_memory import RowsInMemory
from ...problems.interfaces import Free, ProblemParts, Support
from ...problems.problem import Problem
from ...problems.regularisation import Regularisation
from .loss import GRID, WorstCaseHinge
from .norm_epigraph import NormEpigraph


def epigraph_of(problem: ProblemParts) -> NormEpigraph:
    """The penalty of a robust SVM."""
    return problem.penalty.as_kind(NormEpigraph)


class TrianglePoint(DualPoint):
    """A dual point of multipliers p and r whose sums and differences are exact."""

    linear, quadratic, only_precise = True, False, True

    def __init__(self, rows: "RowsWithRadius", theta: Array, columns: Indices) -> None:
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

    rows: "RowsWithRadius"
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
            regularisation = Regularisation(epigraph_of(problem).norm, problem.alpha)
            self._last_hinge = Problem(self.rows.of_hinge, regularisation)
        return self._last_hinge

    def projected(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        """The point with the nearest p on the grid for which s is 0, or nearly 0."""
        rows = self.rows
        if self._is_hinge:
            inner = self._hinge(problem).projected(point.as_kind(HingePoint).inner)
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
        inner = self._hinge(problem).balanced(point.as_kind(HingePoint).inner)
        return HingePoint(self.rows.y, inner)


@dataclass(frozen=True, eq=False)
class RowsWithRadius(RowsInMemory):
    """The rows of sum_i c_i h(y_i (x_i.w + b), lam), in the variables (w, lam) and b."""

    loss: WorstCaseHinge
    has_values = False
    absorbs_shifts = False

    # The number of coefficients, of which the radius is the last.
    n_coefficients = computed(lambda self: int(self.design.shape[1]) + 1)

    @cached_property
    def norms(self) -> Array:
        return np.append(self.design.column_norms(self.weights), 0.0)

    @cached_property
    def of_hinge(self) -> RowsInMemory:
        """The rows with the hinge loss, in the coefficients alone."""
        return RowsInMemory(
            self.design, self.y, self.weights, Hinge(), self.fit_intercept, self.total_weight
        )

    def free_of(self, penalty: Penalty) -> Free:
        return FreeWithRadius(self, penalty)

    # Models, of whose variables the radius may be left out

    def predictions(self, coef: Array, intercept: Numbers) -> tuple[Array, Array]:
        return super().predictions(coef[: self.design.shape[1]], intercept)

    def precise_predictions(self, coef: Array, intercept: Numbers) -> tuple[Array, Array, Array]:
        return super().precise_predictions(coef[: self.design.shape[1]], intercept)

    def loss_at(self, coef: Array) -> Loss:
        return self.loss.at_radius(float(coef[-1]))

    def prediction_intervals(
        self, problem: ProblemParts, coef: Array, free: Numbers, gap: float, theta: Array | None,
        coefficients: Callable[[], Array | None] | None,
    ) -> None:  # fmt: skip
        return None

    # Dual points

    def dual_point_of(self, coef: Array, intercept: Numbers) -> Array:
        return super().dual_point_of(coef[: self.design.shape[1]], intercept)

    def feasible_point(self, problem: ProblemParts, theta: Array) -> DualPoint | None:
        theta = self.loss.project_dual(self.y, theta)
        return (
            problem.free.as_kind(FreeWithRadius).point_of(problem, theta) if theta.any() else None
        )

    def gradient_of(self, theta: Array) -> Array:
        """The products with (w, lam) of multipliers p and r."""
        p, r = theta
        of_radius = -self.loss.kappa * kernels.dot(self.weights, r) if r.any() else 0.0
        return np.append(self.design.rmatvec(self.weights * self.y * (r - p)), of_radius)

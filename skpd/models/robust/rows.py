"""Rows whose losses depend on the radius of the coefficients (`RowsWithRadius`)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from ... import kernels
from ..._immutable_base import computed
from ..._typing import Array, Numbers
from ...certificates.interface import DualPoint
from ...losses import Hinge, Loss
from ...penalties import Penalty
from ...problems.in_memory import RowsInMemory
from ...problems.interfaces import Free, ProblemParts
from .loss import WorstCaseHinge
from .points import FreeWithRadius


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
        return cast(FreeWithRadius, problem.free).point_of(problem, theta) if theta.any() else None

    def gradient_of(self, theta: Array) -> Array:
        """The products with (w, lam) of multipliers p and r."""
        p, r = theta
        of_radius = -self.loss.kappa * kernels.dot(self.weights, r) if r.any() else 0.0
        return np.append(self.design.rmatvec(self.weights * self.y * (r - p)), of_radius)

"""Problems with linear constraints on the coefficients.

    minimise over w, b   sum_i c_i l(y_i, x_i.w + b) + alpha R(w)
    subject to           lower <= C w <= upper

A dual point has a number theta_i for each row and a multiplier mu_k for each constraint. The bound
is ::

    P(w, b) >= - sum_i c_i l_i*(theta_i) - sigma(mu) - (alpha R)*(- X' diag(c) theta - C'mu)

for every model that satisfies the constraints (`LinearConstraints`). So a certificate differs from
one without constraints in two terms: C'mu in the products of a dual point, and sigma(mu) in its
value.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import fsum, inf
from typing import Any

import numpy as np

from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import DualPoint, Sum
from ..certificates.rigorous import rigorous_primal
from .dual_points import RowPoint
from .linear_constraints import LinearConstraints
from .problem import Problem
from .solution import Point

__all__ = ["ConstrainedPoint", "ConstrainedProblem"]


@dataclass(frozen=True, eq=False)
class ConstrainedProblem(Problem):
    """A `Problem` whose coefficients satisfy linear constraints.

    A dual point is a vector of n_samples numbers for the rows, followed by the multipliers of the
    constraints. A vector of length n_samples stands for multipliers of 0.

    Parameters
    ----------
    constraints : LinearConstraints

    Raises
    ------
    ValueError
        If a constraint involves coefficients that the penalty leaves free.
    """

    constraints: LinearConstraints = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        matrix = self.constraints.matrix
        if matrix[:, self.free_columns].count_nonzero():
            raise ValueError(
                "constraints must not involve features whose penalty weight is 0: their optimum "
                "has no certificate. Give them a small penalty weight instead."
            )
        rows = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
        if self.penalty.free_level and any(fsum(matrix.data[i:j]) != 0.0 for i, j in rows):
            raise ValueError(
                f"constraints with the penalty {self.penalty!r}, which leaves the mean of the "
                "coefficients free, must have rows of A that sum to 0."
            )

    @property
    def threshold(self) -> float:
        return 0.0  # small products matter, as C'mu is added to them

    # Models

    @property
    def null_is_allowed(self) -> bool:
        return self.constraints.allow_zero

    @property
    def null_may_be_optimal(self) -> bool:
        return self.null_is_allowed and super().null_may_be_optimal

    @cached_property
    def largest_alpha(self) -> float:
        return super().largest_alpha if self.null_is_allowed else np.nan

    @property
    def objective_unit(self) -> float:
        """The unit of the relative gap: the objective value of the best constant or a model.

        The value of a feasible model is used where constant predictions are not allowed or have
        no loss.
        """
        unit = super().objective_unit
        if self.null_is_allowed or 0.0 < unit <= self.null_objective:
            return unit
        coef, intercept = self.feasible_model(np.zeros(self.n_features), self.null_point.intercept)
        return max(unit, rigorous_primal(self, coef, intercept)[0])

    def estimated_gap(self, point: Point) -> float:
        """The value 0 for an unknown gap, as an estimate would not include the multipliers."""
        return 0.0

    def feasible_model(self, coef: Array, intercept: Any) -> tuple[Array, Any]:
        """A model nearby whose coefficients satisfy the constraints, with the same mean."""
        coef, intercept = super().feasible_model(coef, intercept)
        restored = self.constraints.restored(coef)
        if restored is not coef:
            restored = self.penalty.feasible(restored)
        if self.constraints.model is not None and not self.constraints.hold(restored):
            restored = self.constraints.model
        if restored is coef:
            return coef, intercept
        if self.fit_intercept:
            intercept -= float(self._mean_row @ (restored - coef))
        return restored, intercept

    @cached_property
    def _mean_row(self) -> Array:
        return self.design.rmatvec(self.weights)

    def mean_loss(self, coef: Array, free: Any, accuracy: float) -> float:
        return super().mean_loss(coef, free, accuracy) if self.constraints.hold(coef) else inf

    def precise_mean_loss(self, coef: Array, free: Any) -> tuple[float, float]:
        if not self.constraints.hold(coef):
            return inf, inf
        return super().precise_mean_loss(coef, free)

    # Dual points

    def of_rows_and_constraints(self, theta: Array) -> tuple[Array, Array]:
        """The parts theta and mu of a dual point."""
        mu = np.zeros(len(self.constraints))
        mu[: len(theta) - self.n_samples] = theta[self.n_samples :]
        return theta[: self.n_samples], mu

    def zero_dual(self, theta: Array) -> Array:
        return np.zeros(self.n_samples + len(self.constraints))

    def dual_table(self, dual_coef: Array) -> Array:
        return self.of_rows_and_constraints(dual_coef)[0]

    def distances_of_slopes(self, gap: float) -> Array | None:
        """None, as there is no bound on the optimal multipliers, on which the slopes depend."""
        return None

    def feasible_point(self, theta: Array) -> DualPoint | None:
        theta, mu = self.of_rows_and_constraints(theta)
        mu = self.constraints.multipliers(mu)
        point = super().feasible_point(theta)
        if point is None and np.any(mu):
            point = RowPoint(self, np.zeros(self.n_samples))
        return None if point is None else ConstrainedPoint(self.constraints, point, mu)

    def projected(self, point: Any) -> DualPoint:
        return self._with_rows(point, super().projected(point.rows))

    def balanced(self, point: Any, near: Array | None) -> DualPoint:
        # optimal products by coefficients near the optimum do not include the multipliers
        return self._with_rows(point, super().balanced(point.rows, None))

    def _with_rows(self, point: Any, rows: DualPoint) -> DualPoint:
        """The point with another part of the rows; the given point if the part is its own."""
        return point if rows is point.rows else ConstrainedPoint(self.constraints, rows, point.mu)


class ConstrainedPoint(DualPoint):
    """A dual point of the rows, with multipliers mu of the constraints.

    Parameters
    ----------
    constraints : LinearConstraints
    rows : DualPoint
    mu : ndarray of shape (n_constraints,)
        Multipliers whose signs are those that the constraints allow.
    """

    def __init__(self, constraints: LinearConstraints, rows: DualPoint, mu: Array) -> None:
        self.constraints, self.rows, self.mu = constraints, rows, mu
        self.theta = np.append(rows.theta, mu)
        self.linear, self.quadratic = rows.linear, rows.quadratic
        self.only_precise = rows.only_precise
        self._support = constraints.support(mu)

    def value(self, scale: float) -> Sum:
        value, rounding = self.rows.value(scale)
        support, error = (scale * x for x in self._support)
        return value - support, rounding + error + 4.0 * EPSILON * (abs(value) + abs(support))

    def products(self, precise: bool) -> tuple[Array, Array]:
        products, errors = self.rows.products(precise)
        change, error = self.constraints.products(self.mu)
        total = products + change
        return total, errors + error + EPSILON * np.abs(total)

    def sums_without_products(self) -> list[Sum]:
        return self.rows.sums_without_products()

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        return self.rows.free_sums(products, errors)

    def errors_by_precision(self) -> Array | float:
        return self.rows.errors_by_precision()

    def largest_scale(self) -> float:
        return self.rows.largest_scale()

"""Dual points of problems with linear constraints on the coefficients (`ConstrainedPoint`).

    minimise over w, b   sum_i c_i l(y_i, x_i.w + b) + alpha R(w)
    subject to           lower <= C w <= upper

A dual point has a number theta_i for each row and a multiplier mu_k for each constraint. The bound
is ::

    P(w, b) >= - sum_i c_i l_i*(theta_i) - sigma(mu) - (alpha R)*(- X' diag(c) theta - C'mu)

for every model that satisfies the constraints (`LinearConstraints`). So a certificate differs from
one without constraints in two terms: C'mu in the products of a dual point, and sigma(mu) in its
value.
"""

import numpy as np

from .._floats import EPSILON
from .._typing import Array
from ..certificates.objective import DualPoint, Sum
from .linear_constraints import LinearConstraints


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

    def with_rows(self, rows: DualPoint) -> "ConstrainedPoint":
        """The point with another part of the rows; the point itself if the part is its own."""
        return self if rows is self.rows else ConstrainedPoint(self.constraints, rows, self.mu)

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

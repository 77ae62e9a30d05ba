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
from ..certificates.interface import DualPoint, Sum
from .dual_points import PointOf
from .linear_constraints import LinearConstraints


class ConstrainedPoint(PointOf):
    """A dual point of the rows, with multipliers mu of the constraints.

    Parameters
    ----------
    constraints : LinearConstraints
    rows : DualPoint
    mu : ndarray of shape (n_constraints,)
        Multipliers whose signs are those that the constraints allow.
    """

    def __init__(self, constraints: LinearConstraints, rows: DualPoint, mu: Array) -> None:
        super().__init__(rows, np.append(rows.theta, mu))
        self.constraints, self.mu = constraints, mu
        self._support = constraints.support(mu)

    def with_rows(self, rows: DualPoint) -> "ConstrainedPoint":
        """The point with another part of the rows; the point itself if the part is its own."""
        return self if rows is self.inner else ConstrainedPoint(self.constraints, rows, self.mu)

    def value(self, scale: float) -> Sum:
        value, rounding = super().value(scale)
        support, error = (scale * x for x in self._support)
        return value - support, rounding + error + 4.0 * EPSILON * (abs(value) + abs(support))

    def products(self, precise: bool) -> tuple[Array, Array]:
        products, errors = super().products(precise)
        change, error = self.constraints.products(self.mu)
        total = products + change
        return total, errors + error + EPSILON * np.abs(total)

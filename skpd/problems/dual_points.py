"""Dual points of problems with a scalar loss for each row, with the interface of `DualPoint`."""

from functools import cached_property
from math import fsum

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._immutable_base import attribute_of_part
from .._typing import Array
from ..certificates.interface import NOTHING, DualPoint, DualVector, Sum
from .balance import BalanceBounds
from .interfaces import ProblemParts


class RowPoint(DualPoint):
    """A dual point in the box of the conjugate losses."""

    def __init__(self, problem: ProblemParts, theta: DualVector) -> None:
        self.problem, self.theta = problem, theta
        self.linear = problem.loss.linear_conjugate
        self.quadratic = problem.loss.quadratic_conjugate
        self._values: dict[float, Sum] = {}

    def value(self, scale: float) -> Sum:
        if scale == 1.0 or not self.quadratic:
            return self._value_at(scale)
        # the parabola through the values at 0, 1/2 and 1
        parts = [
            (4.0 * scale * (1.0 - scale), *self._value_at(0.5)),
            (scale * (2.0 * scale - 1.0), *self._value_at(1.0)),
        ]
        rounding = sum(abs(share) * (r + 4.0 * EPSILON * abs(v)) for share, v, r in parts)
        return sum(share * v for share, v, _ in parts), rounding

    def _value_at(self, scale: float) -> Sum:
        if scale not in self._values:
            problem, loss = self.problem, self.problem.loss
            scales = (0.5, 1.0) if self.quadratic and scale == 0.5 else (scale,)
            values = loss.dual_values(problem.y, problem.weights, self.theta, scales)
            self._values.update(zip(scales, values, strict=True))
        return self._values[scale]

    def products(self, precise: bool) -> tuple[Array, Array]:
        problem = self.problem
        if precise:
            return problem.design.rmatvec_compensated(problem.weights, self.theta)
        return self._plain_products

    @cached_property
    def _plain_products(self) -> tuple[Array, Array]:
        return self.problem.products(self.theta, self.problem.regularisation.threshold)

    @cached_property
    def _intercept_sums(self) -> list[Sum]:
        if not self.problem.fit_intercept:
            return [NOTHING]
        return [kernels.compensated_dot(self.problem.weights, self.theta)]

    def sums_without_products(self) -> list[Sum]:
        return [*self._intercept_sums]

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        sums = self.sums_without_products()
        if self.problem.has_free_level:
            level = fsum(products)
            sums.append((level, fsum(errors) + EPSILON * abs(level)))
        columns = self.problem.free_columns
        if len(columns):
            sums += zip(products[columns].tolist(), errors[columns].tolist(), strict=True)
        return sums

    def largest_scale(self) -> float:
        return float(self.problem.loss.largest_scale(self.problem.y, self.theta))


class PointOf(DualPoint):
    """A dual point that stands for another one, from which it differs in what it overrides.

    Parameters
    ----------
    inner : DualPoint
    theta : ndarray
        The dual vector of this point.
    """

    def __init__(self, inner: DualPoint, theta: DualVector) -> None:
        self.inner, self.theta = inner, theta

    linear = attribute_of_part("inner.linear")
    quadratic = attribute_of_part("inner.quadratic")
    only_precise = attribute_of_part("inner.only_precise")
    value = attribute_of_part("inner.value")
    products = attribute_of_part("inner.products")
    sums_without_products = attribute_of_part("inner.sums_without_products")
    free_sums = attribute_of_part("inner.free_sums")
    largest_scale = attribute_of_part("inner.largest_scale")


class BalancedPoint(PointOf):
    """The point theta + change + residual, whose free sums are exactly 0.

    The residual is not computed, see `skpd.problems.balance`.

    Parameters
    ----------
    problem : Problem
    point, endpoint, change : DualPoint
        The dual points of theta, of the endpoint and of the change (`Balance`); only the products
        of the last one are used.
    balance : BalanceBounds
    only_precise : bool, default=True
        Whether products are always in twice the working precision.
    """

    def __init__(
        self, problem: ProblemParts, point: DualPoint, endpoint: DualPoint, change: DualPoint,
        balance: BalanceBounds, *, only_precise: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(point, point.theta)
        self.problem, self.balance, self._only_precise = problem, balance, only_precise
        self._endpoint, self._change = endpoint, change

    only_precise = attribute_of_part("_only_precise")

    def value(self, scale: float) -> Sum:
        """A lower bound by convexity, from the values at theta and at the endpoint."""
        balance = self.balance
        (value, rounding), (other, more) = self.inner.value(scale), self._endpoint.value(scale)
        rounding += balance.share * more + 4.0 * EPSILON * (abs(value) + abs(other))
        cost = balance.cost + balance.share * balance.endpoint_error
        rounding += max(1.0, scale) * (max(1.0, scale) * cost)
        return (1.0 - balance.share) * value + balance.share * other, rounding

    def products(self, precise: bool) -> tuple[Array, Array]:
        precise = precise or self.only_precise
        u, error = self.inner.products(precise)
        change, of_change = self._change.products(precise)
        u = u + change
        error = error + of_change + EPSILON * np.abs(u)
        return u, error + 1.01 * self.balance.residual * self.problem.norms

    def sums_without_products(self) -> list[Sum]:
        return [NOTHING]

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        sums = self.inner.free_sums(products, errors)
        n_others = len(sums) - len(self.problem.free_columns)
        balanced = np.isin(self.problem.free_columns, self.balance.columns)
        of_columns = zip(sums[n_others:], balanced.tolist(), strict=True)
        return [NOTHING] * n_others + [NOTHING if done else value for value, done in of_columns]

    def largest_scale(self) -> float:
        return min(self.inner.largest_scale(), self._endpoint.largest_scale())

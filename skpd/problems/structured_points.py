"""Convex combinations of labelings as dual points, and the intercept of losses of all scores."""

from functools import cached_property
from math import inf
from typing import Any, cast

import numpy as np

from .._floats import EPSILON
from .._typing import Array, Indices
from ..certificates.interface import NOTHING, DualPoint, Interval, Sum
from ..losses.structured import StructuredDual
from .free_directions import FreeDirections, proven
from .interfaces import ProblemParts

NO_COLUMNS = np.empty(0, dtype=np.int64)
SAFE = 1e-6  # relative margin of an interval that is multiplied by a sum of nearly 0


class FreeConstant(FreeDirections):
    """The intercept that is added to all scores, or free coefficients."""

    @cached_property
    def table(self) -> Array:  # type: ignore[override]
        """The free columns in their units, without what the loss ignores."""
        table, _ = self._in_units
        return cast(Array, self.rows.loss.without_means(table)) if len(self.columns) else table

    @cached_property
    def squares(self) -> Array:
        return cast(Array, self.rows.weights @ (self.table * self.table))

    def intervals_of_constants(self, upper: float) -> list[Interval]:
        return self._intercepts(upper, 0.0)

    def _intercepts(self, upper: float, radius: float) -> list[Interval]:
        """The interval of b, from L >= loss + sum_i c_i theta_i (A w + b)_i for two labelings."""
        if not self.rows.fit_intercept:
            return [NOTHING]
        low, high = -inf, inf
        for combination, (v, error), (slope, slope_error) in self.rows.bounding:
            largest_change = 0.0
            if radius > 0.0:
                largest_change = self.penalty.support(self.penalty.worst_case(v, error), radius)
            mean_loss = combination.mean_loss - combination.mean_loss_error
            excess = max(upper - mean_loss + largest_change, 0.0)
            end = excess / max(abs(slope) - slope_error, 0.0) * (1.0 + SAFE)
            low, high = (max(low, -end), high) if slope < 0.0 else (low, min(high, end))
        return [proven(low, high)]

    def projected(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        """The convex combination with a labeling of opposite sum, whose sums cancel."""
        rows = self.rows
        if not rows.fit_intercept or cast(StructuredPoint, point).is_balanced:
            return point
        slope, _ = rows.slope_of(point.theta)
        for other in rows.loss.points_of_both_signs:
            beyond, _ = rows.slope_of(other)
            if slope * beyond < 0.0:
                share = slope / (slope - beyond)
                shares = np.array([1.0 - share, share])
                combined = rows.loss.convex_combination(shares, [point.theta, other])
                return StructuredPoint(rows, combined, abs(beyond))
        return point

    def balanced(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        if not len(self.columns):
            return self.projected(problem, point)
        known = cast(StructuredPoint, point).theta.orthogonal_to
        if known is not None and known[0] is self.rows.design:
            return point
        return self.balanced_beside(problem, point)

    def balanced_beside(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        """A point nearby whose sums over free coefficients vanish, if one is proven to exist."""
        return point


class StructuredPoint(DualPoint):
    """A convex combination of labelings as a dual point, which may be balanced by another one.

    Parameters
    ----------
    rows : RowsOfScores
    combination : StructuredDual
    beyond : float, default=0.0
        For a combination that is balanced by another, the sum sum_i c_i theta_i of the other one.
        Shares that differ by at most 4 units in the last place give a sum of exactly 0.
    columns : ndarray of int, default=()
        The free coefficients.
    """

    theta: StructuredDual
    quadratic = False

    def __init__(
        self, rows: Any, combination: StructuredDual, beyond: float = 0.0,
        columns: Indices = NO_COLUMNS,
    ) -> None:  # fmt: skip
        self.rows, self.theta, self.is_balanced = rows, combination, beyond > 0.0
        self.columns = columns
        self.linear = combination.is_linear
        # a bound on the difference of the other combination's share from that with a sum of 0
        self._moved = 0.0
        if self.is_balanced:
            value, error = rows.slope_of(combination)
            self._moved = 4.0 * EPSILON + 2.0 * (abs(value) + error) / beyond

    def value(self, scale: float) -> Sum:
        value, rounding = self.theta.value(scale)
        largest = 1.0 + abs(self.rows.null.objective)
        return value, rounding + scale * self._moved * largest

    def products(self, precise: bool) -> tuple[Array, Array]:
        rows, combination = self.rows, self.theta
        theta = np.ascontiguousarray(combination.theta)
        design = rows.design
        product = design.rmatvec_compensated if precise else design.rmatvec_bounded
        products, errors = product(rows.loss.weights, theta)
        largest = float(np.max(rows.loss.largest_theta))
        missing = combination.theta_error + 2.0 * self._moved * largest
        errors = errors + missing * rows.column_norms
        if combination.distance > 0.0:
            errors += combination.distance * rows.distances_of_columns
        return products, errors

    def sums_without_products(self) -> list[Sum]:
        if not self.rows.fit_intercept or self.is_balanced:
            return [NOTHING]
        return [self.rows.slope_of(self.theta)]

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        sums, columns = self.sums_without_products(), self.columns
        known = self.theta.orthogonal_to
        vanish = np.zeros(len(columns), dtype=bool)
        if known is not None and known[0] is self.rows.design:
            vanish = np.isin(columns, known[1])
        of_columns = zip(products[columns].tolist(), errors[columns].tolist(), strict=True)
        return sums + [NOTHING if v else x for v, x in zip(vanish, of_columns, strict=True)]

    def largest_scale(self) -> float:
        return 1.0

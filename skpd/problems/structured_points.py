"""Convex combinations of labelings as dual points, and the intercept of losses of all scores."""

from functools import cached_property
from math import inf, sqrt
from typing import Any, NamedTuple, cast

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array, Indices
from ..certificates.interface import NOTHING, DualPoint, Interval, Sum
from ..designs import Design
from ..losses.structured import StructuredDual
from ..losses.survival import RiskDual
from ..penalties import Separable
from .free_directions import FreeDirections, proven
from .free_features import to_balance
from .interfaces import ProblemParts
from .problem import Problem
from .thresholds import orthogonal_dual, rows_of_thresholds
from .tilting import tilted

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

    @cached_property
    def _threshold_rows(self) -> Problem:
        """The free columns as rows of thresholds."""
        columns, *ends = self.penalty.free_features
        design, penalty = self.rows.design.columns(columns), Separable(0.0, 0.0, *ends)
        return rows_of_thresholds(self.rows.loss, design, penalty, 1.0)

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
        known = point.theta.orthogonal_to
        if known is not None and known[0] is self.rows.design:
            return point
        if self.rows.loss.has_thresholds:
            design, rows = self.rows.design, self._threshold_rows
            moved = orthogonal_dual(point.theta, rows, design, self.columns)
            return point if moved is None else StructuredPoint(self.rows, moved, 0.0, self.columns)
        if point.theta.share != 1.0:  # it is not the gradient at its scores
            return point
        features = to_balance(problem, point.theta.theta)
        kept = np.intersect1d(features, np.array(self.dependence.kept, dtype=np.int64))
        dual, distance = point.theta, 0.0
        if len(kept):
            tilt = ScoreTilt(self.rows.with_design(Design(self.table[:, kept])), dual)
            nearest = tilted(tilt)
            if nearest is None:
                return point
            (_, dual), distance = nearest
        # the sums of combinations of the columns that are kept vanish too
        vanishing = features if len(kept) == len(self.dependence.kept) else kept
        of = self.rows.design, self.columns[vanishing]
        return StructuredPoint(self.rows, dual.near(distance, of), columns=self.columns)


class ScoreTilt(NamedTuple):
    """The dual point of a vector of scores, to which the scores of some columns are added."""

    rows: Any  # a `RowsOfScores` with these columns as design
    dual: RiskDual

    @property
    def n_rows(self) -> int:
        return self.dual.loss.n_scores

    def sums(self) -> tuple[Array, Array]:
        sums, errors = StructuredPoint(self.rows, self.dual).products(precise=True)
        weights, theta = self.rows.loss.weights, self.dual.theta
        size = sqrt(kernels.dot(weights * theta, theta))  # the columns are rounded
        norms = self.rows.design.column_norms(weights)
        return sums, errors + 2.0 * EPSILON * size * norms

    def hessian(self, precise: bool) -> tuple[Array, Array] | None:
        loss, design, z = self.dual.loss, self.rows.design, self.dual.predictions
        if precise:
            hessian = loss.precise_hessian(z, design)
            return None if hessian is None else (hessian, np.diag(hessian))
        _, _, curvature = loss.derivatives(z)
        hessian = loss.hessian(z, design, np.arange(design.shape[1]))
        if hessian is None:
            return None
        return hessian, np.square(design.column_norms(loss.weights * curvature))

    def largest_score(self, t: Array) -> float:
        return kernels.max_abs(self.rows.design.matvec(t))

    def largest_norm(self, inverse: Array) -> float:
        table = self.rows.design.as_given
        return sqrt(float(np.max(np.sum((table @ inverse) * table, axis=1))))

    def moved(self, t: Array) -> "ScoreTilt":
        z = self.dual.predictions - self.rows.design.matvec(t)
        return self._replace(dual=self.dual.loss.loss_augmented(z, 0.0)[1])


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

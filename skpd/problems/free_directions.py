"""Free directions: coordinates that the penalty leaves free, and intervals that contain them.

Free directions are the intercept, the level of a total variation (a constant added to all
coefficients) and coefficients that are not penalised. Each of them defines a sum over the rows
that should vanish for a dual point. Otherwise a bound is reduced by the largest product of that
sum with a number in an interval that contains the coordinate at every optimum.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import fsum, inf, nan
from typing import Any, cast

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._immutable_base import attribute_of_part, computed
from .._typing import Array, Indices, Mask, Numbers
from ..certificates.dual_corrections import least_linear
from ..certificates.interface import NOTHING, DualPoint, Interval
from .balance import balance_nearby
from .dependence import Dependence
from .dual_points import BalancedPoint
from .free_features import dependence, in_units, project_onto_free
from .interfaces import Free, ProblemParts, Support

TINY = np.finfo(float).tiny
# Estimates assume that an unpenalised coordinate without a proven interval is at most this times
# the size that changes the predictions by their scale.
LIKELY = 2.0
NO_COST = 1e-14  # relative to an objective value, in an estimate of a gap
LARGEST_FREE_TABLE = 1e7  # entries of the columns of more free coefficients than rows, 80 MB


def proven(lower: float, upper: float) -> Interval:
    """An interval, or that of all numbers where rounding errors have left an empty one."""
    return (float(lower), float(upper)) if lower <= upper else (-inf, inf)


class FreeDirections(Free):
    """The intercept, the level and the free coefficients of rows with scalar losses."""

    # The last arguments and result of `intervals`
    _last: tuple[Interval, list[Interval]] | None = None

    # The indices of the free coefficients.
    columns: Indices = attribute_of_part("penalty.free_features.columns")

    @cached_property
    def _in_units(self) -> tuple[Array, Indices]:
        """The free columns of X in units of powers of two, and the exponents (`in_units`)."""
        return in_units(self._columns_as_given, self._heavy)

    @property
    def _columns_as_given(self) -> Array:
        """The free columns of X as an array whose columns are contiguous."""
        return np.asfortranarray(self.rows.design.table(self.columns))

    # The rows of the table that have a weight.
    _heavy: Mask = computed(lambda self: self.rows.weights > 0.0)

    # The free columns of X in the units of `exponents`.
    table: Array = computed(lambda self: self._in_units[0])

    # The exponents of 2 in the units of free features; 0 for all but extreme ones.
    exponents: Indices = computed(lambda self: self._in_units[1])

    _has_table: bool = computed(lambda self: bool(self.rows.in_memory))

    @property
    def _can_change(self) -> bool:
        """Whether free columns may be replaced by combinations of them."""
        columns, *ends = self.penalty.free_features
        if not (len(columns) and self._has_table and np.isinf(ends).all()):
            return False
        n_entries = self.rows.design.shape[0] * len(columns)
        return n_entries <= LARGEST_FREE_TABLE or not self.outnumber_rows

    @property
    def units(self) -> Indices | None:  # type: ignore[override]
        if not (self._can_change and self.exponents.any()):
            return None
        units = np.zeros(self.rows.design.shape[1], dtype=self.exponents.dtype)
        units[self.columns] = np.repeat(self.exponents, self.rows.n_outputs)
        return units

    @property
    def all_nearly_dependent(self) -> bool:  # type: ignore[override]
        if len(self.columns) < self.rows.n_coefficients or not self._can_change:
            return False
        return not (self.outnumber_rows or self.dependence.is_certain or self.dependence.others)

    @cached_property
    def squares(self) -> Array:
        """The weighted mean squares of the columns of the table."""
        if self.exponents.any():
            return self.rows.weights @ np.square(self.table)
        return cast(Array, self.rows.squares)[self.columns]

    @cached_property
    def dependence(self) -> Dependence:
        """The columns of the table that are combinations of others and of the intercept."""
        heavy, table = self._heavy, self.table
        table = table if heavy.all() else table[heavy]
        return dependence(table, self.rows.fit_intercept, self.rows.design.precision)

    @property
    def outnumber_rows(self) -> bool:
        """Whether the free columns span all rows: only dual points near 0 are orthogonal to them.

        That is taken for granted where they are more than rows and too many for a table.
        """
        n, k = self.rows.design.shape[0], len(self.columns)
        if k < n or n * k > LARGEST_FREE_TABLE:
            return bool(k >= n)
        return bool(len(self.dependence.kept) + self.rows.fit_intercept >= n)

    @cached_property
    def left_out(self) -> Indices:  # type: ignore[override]
        bounded = not np.isinf(self.penalty.free_features[1:]).all()
        if not len(self.columns) or bounded or self.outnumber_rows:
            return self.columns[:0]
        return self.columns[self.dependence.nearly]

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        """The bounds on the free coefficients, which are 0 for those that are left out."""
        _, lower, upper = self.penalty.free_features
        if not len(lower):
            return lower, upper
        fixed = np.isin(self.columns, self.left_out)
        return np.where(fixed, 0.0, lower), np.where(fixed, 0.0, upper)

    def restricted(self, coef: Array, intercept: Numbers) -> tuple[Array, Numbers]:
        w = coef[self.left_out]
        if not np.any(w):
            return coef, intercept
        kept, _, factors, *_ = self.dependence
        w = np.ldexp(w, self.exponents[self.dependence.nearly])
        coef = coef.copy()
        coef[self.left_out] = 0.0
        coef[self.columns[kept]] += np.ldexp(factors[1:] @ w, -self.exponents[kept])
        return coef, intercept + float(factors[0] @ w)

    def of_least_norm(self, coef: Array, intercept: Numbers) -> tuple[Array, Numbers]:
        if not self._has_dependent:
            return coef, intercept
        coef = np.array(coef)
        table, free, units = self._in_table(coef)
        least, constant = self.dependence.least_norm(np.ldexp(table[free], units))
        table[free] = np.ldexp(least, -units)
        return coef, intercept + (constant if self.rows.fit_intercept else 0.0)

    def _in_table(self, coef: Array) -> tuple[Array, Indices, Indices]:
        """The coefficients with a row for each feature, the free features and their exponents."""
        return coef, self.columns, self.exponents

    @property
    def _has_dependent(self) -> bool:
        """Whether some free coefficients, without bounds, are combinations of others."""
        if not len(self.columns) or not np.isinf(self.penalty.free_features[1:]).all():
            return False
        too_many = self.rows.design.shape[0] * len(self.columns) > LARGEST_FREE_TABLE
        return not (too_many and self.outnumber_rows) and len(self.dependence.others) > 0

    def sums(self, gradient: Array, slope: Numbers) -> list[float]:
        """The sums of a dual point theta over the free directions.

        Parameters
        ----------
        gradient : ndarray of shape (n_features,)
            X' (weights * theta).
        slope : float
            weights . theta.
        """
        sums = [float(slope), float(np.sum(gradient))] if self.has_level else [float(slope)]
        return sums + gradient[self.columns].tolist() if len(self.columns) else sums

    def intervals(self, alpha: float, upper: float) -> list[Interval]:
        """Intervals that contain the unpenalised coordinates of an optimum with P <= upper.

        The first is that of the intercept, (0, 0) without an intercept. It is followed by that of
        the level, if the level is free, and by the bounds on coefficients that are not penalised.
        """
        if self._last is None or self._last[0] != (alpha, upper):
            of_columns = zip(*(ends.tolist() for ends in self._ends), strict=True)
            intervals = [*self._intercepts(upper, upper / alpha), *of_columns]
            self._last = (alpha, upper), intervals
        return self._last[1]

    def _intercepts(self, upper: float, radius: float) -> list[Interval]:
        """The intervals of the intercept and, if it is free, of the level.

        Beside a coefficient without bounds only dual points whose sums vanish prove anything.
        """
        if self.rows.fit_intercept and np.isinf(self._ends).all(axis=0).any():
            return [(-inf, inf)] * (1 + self.has_level)
        if self.has_level:
            return list(self._intercept_and_level(upper, radius))
        return [self.intercept(upper, radius)] if self.rows.fit_intercept else [NOTHING]

    def intercept(self, upper: float, radius: float) -> Interval:
        """The interval of the intercept by Jensen's inequality."""
        return self.intercept_with(upper, radius, self._supports_of_means)

    def intercept_with(
        self, upper: float, radius: float, supports: list[list[Support]]
    ) -> Interval:
        """The interval of the intercept with the `supports` of mean rows."""
        bounds = [max([support(radius) for support in both]) for both in supports]
        return proven(*self.rows.loss.constant_interval(self.rows.row_groups, upper, bounds))

    def intervals_of_constants(self, upper: float) -> list[Interval]:
        return [self.interval_of_constants(upper)] if self.rows.fit_intercept else [NOTHING]

    def interval_of_constants(self, upper: float) -> Interval:
        """The interval of the intercepts of constants, for which x.w = 0."""
        groups = self.rows.row_groups
        return proven(*self.rows.loss.constant_interval(groups, upper, [0.0] * len(groups)))

    @cached_property
    def _supports_of_means(self) -> list[list[Support]]:
        """The `supports` of the mean rows of the groups of rows."""
        return self.supports(self.rows.mean_rows)

    def supports(self, means: Sequence[tuple[Array, Array]]) -> list[list[Support]]:
        """Bounds on x.w and -x.w for mean rows x, which are given with bounds on their errors.

        The bounds are functions of the radius. For penalties with R(-w) = R(w) both are equal,
        and only one is computed.
        """
        supports = []
        for mean, error in means:
            sides = [mean] if self.penalty.even else [mean, -mean]
            supports.append([self._support(side, error) for side in sides])
        return supports

    def _support(self, row: Array, error: Array) -> Support:
        """An upper bound on x.w for a row x with an error, as a function of the radius."""
        penalised = partial(self.penalty.support, self.penalty.worst_case(row, error))
        columns, (lower, upper) = self.columns, self._ends
        if not len(columns):
            return penalised
        ends = [row[columns] + side * error[columns] for side in (-1.0, 1.0)]
        with np.errstate(invalid="ignore"):  # 0 times inf, for entries of the row that are 0
            products = [np.where(x == 0.0, 0.0, x * y) for x in ends for y in (lower, upper)]
        free = float(np.sum(np.max(products, axis=0))) * (1.0 + 64.0 * EPSILON)
        return lambda radius: penalised(radius) + free

    def _intercept_and_level(self, upper: float, radius: float) -> tuple[Interval, Interval]:
        """Intervals for b and the level m that contain an optimal pair.

        The predictions are z_i = b + g_i m + x_i.v with g_i the sum of row i and v = w - m of
        level 0. For any set of rows with mean row x and its sum g, Jensen's inequality bounds
        b + g m + x.v, and the penalty bounds x.v. Sets of rows with small and with large g_i
        together bound m.
        """
        same_sum, sets = self._sets_of_rows
        bounds = []  # lower <= b + g m <= upper, with an error of g
        for groups, mean, box, error in sets:
            largest = max(self.penalty.support(side, radius) for side in box)
            lower, above = self.rows.loss.constant_interval(groups, upper, [largest] * len(groups))
            bounds.append((mean, error, lower, above))
        if same_sum:  # b and m have the same effect, so that m = 0 is optimal
            both = max(bound[2] for bound in bounds), min(bound[3] for bound in bounds)
            return proven(*both), NOTHING
        if not self.rows.fit_intercept:
            bounds.append((0.0, 0.0, 0.0, 0.0))
        level = _level(bounds)
        return _intercept(bounds, level) if self.rows.fit_intercept else NOTHING, level

    @cached_property
    def _sets_of_rows(self) -> tuple[bool, list[tuple[Any, ...]]]:
        """Whether all rows have the same sum, and sets of rows that bound the level.

        A set is given by its groups, the sum of its mean row with an error, and the mean row.
        """
        same_sum = self.rows.fit_intercept and self.rows.design.common_row_sum() is not None
        sums = self.rows.design.matvec(np.ones(self.rows.design.shape[1]))
        middle = float(np.mean(sums[self.rows.weights > 0.0])) if self.rows.fit_intercept else 0.0
        low = sums <= middle if self.rows.fit_intercept else sums < middle
        sets = []
        for side in [np.ones_like(low)] if same_sum else [low, sums > middle]:
            groups = self.rows.loss.row_groups(self.rows.y, np.where(side, self.rows.weights, 0.0))
            for k, group in enumerate(groups):
                weights, total = group.weights, group.total
                if not total > 0.0:
                    continue
                scale = np.full(self.rows.design.shape[0], 1.0 / total)
                row, error = self.rows.design.rmatvec_compensated(weights, scale)
                # the rounding errors of the total and of its inverse
                error = error + (16.0 + np.log2(self.rows.design.shape[0])) * EPSILON * np.abs(row)
                mean = fsum(row)
                sets.append((
                    [s if j == k else replace(s, total=0.0) for j, s in enumerate(groups)],
                    mean,
                    [self.penalty.worst_case(row, error), self.penalty.worst_case(-row, error)],
                    fsum(error) + 4.0 * EPSILON * abs(mean),
                ))  # fmt: skip
        return same_sum, sets

    # Estimates for solvers

    def largest_alpha(self, problem: ProblemParts) -> float:
        if self.has_level or len(self.columns):
            return nan
        return self.penalty.largest_alpha(-problem.null_gradient)

    @cached_property
    def likely_sizes(self) -> list[float]:
        """Estimated largest sizes of unpenalised coordinates, from the scale of predictions."""
        scale = LIKELY * self.rows.null.prediction_scale
        sizes = scale / np.sqrt(np.maximum(self.squares, TINY))
        return [scale] * (1 + self.has_level) + np.ldexp(sizes, -self.exponents).tolist()

    def likely_cost(self, gradient: Array, slope: Numbers, alpha: float, upper: float) -> float:
        """An estimate of the reduction of a bound by the free `sums` of a dual point."""
        if not (self.rows.fit_intercept or self.has_level or len(self.columns)):
            return 0.0
        sums = self.sums(gradient, slope)
        likely = [abs(total) * size for total, size in zip(sums, self.likely_sizes, strict=True)]
        if sum(likely) <= NO_COST * upper:
            return 0.0
        cost, intervals = 0.0, self.intervals(alpha, min(upper, self.rows.null.objective))
        for total, interval, otherwise in zip(sums, intervals, likely, strict=True):
            proven = -least_linear((total, 0.0), interval)
            cost += proven if proven < np.inf else otherwise
        return cost

    # Dual points

    def projected(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        theta = self._projected(problem, point.theta)
        return point if theta is point.theta else problem.row_point(theta)

    def _projected(self, problem: ProblemParts, theta: Array) -> Array:
        """The projection onto the box and the hyperplanes of the free directions."""
        rows = self.rows
        if self.outnumber_rows:
            return theta
        if len(self.columns):
            return project_onto_free(problem, theta)
        if not rows.fit_intercept:
            return theta
        lower, upper = rows.loss.dual_bounds(rows.y)
        return kernels.project_box_hyperplane(theta, lower, upper, rows.weights, rows.weights, 0.0)

    def balanced(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        if self.outnumber_rows:
            return point
        project = partial(self._projected, problem)
        theta, balance = balance_nearby(problem, point.theta, project)
        row_point: DualPoint = problem.row_point(theta)
        if balance is None:
            return row_point
        others = problem.row_point(balance.endpoint), problem.row_point(balance.change)
        return BalancedPoint(problem, row_point, *others, balance)


# The numbers (g, e, lower, upper) of a set of rows: lower <= b + g' m <= upper, |g' - g| <= e
BoundsOfRows = list[tuple[float, float, float, float]]


def _level(bounds: BoundsOfRows) -> Interval:
    """The m of the differences (g - h) m <= upper - lower of the bounds of two sets of rows."""
    lowest, highest = -inf, inf
    for g, g_error, _, above in bounds:
        for h, h_error, lower, _ in bounds:
            difference, error = g - h, (g_error + h_error) * (1.0 + 4.0 * EPSILON)
            error += 4.0 * EPSILON * (abs(g) + abs(h))
            width = above - lower
            width += 4.0 * EPSILON * (abs(above) + abs(lower))
            if abs(difference) <= error or not width < inf:
                continue
            ends = [width / (difference - error), width / (difference + error)]
            if difference > 0.0:
                highest = min(highest, max(ends) + 4.0 * EPSILON * abs(max(ends)))
            else:
                lowest = max(lowest, min(ends) - 4.0 * EPSILON * abs(min(ends)))
    return proven(lowest, highest)


def _intercept(bounds: BoundsOfRows, level: Interval) -> Interval:
    """The b with lower - max(g m) <= b <= upper - min(g m) over the levels m, for every set."""
    first, last = -inf, inf
    if not np.isfinite(level[1] - level[0]):
        return first, last
    for g, error, lower, above in bounds:
        products = np.outer([g - error, g + error], level)
        slack = 8.0 * EPSILON * float(np.max(np.abs(products)))
        first = max(first, lower - float(products.max()) - slack)
        last = min(last, above - float(products.min()) + slack)
    return proven(first, last)

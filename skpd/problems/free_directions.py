"""Free directions: coordinates that the penalty leaves free, and where they may lie at an optimum.

They are the intercept, the level of a total variation (a constant added to all coefficients) and
coefficients that are not penalised.
Each asks of a dual point that a sum over the rows vanishes, or costs a bound that sum times an
interval that holds the coordinate.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import fsum, inf
from typing import Any

import numpy as np

from .._floats import EPSILON
from .._typing import Array, Indices
from ..certificates.objective import NOTHING, Interval
from ..designs import Design
from ..losses import Loss
from ..losses.base import Stratum
from ..penalties import Penalty
from .free_features import independent_columns

Support = Callable[[float], float]  # of a radius

__all__ = ["FreeDirections"]


@dataclass
class FreeDirections:
    """The free directions of a mean loss and a penalty.

    Parameters
    ----------
    design : Design
    y, weights : ndarray of shape (n_samples,)
    loss : Loss
    penalty : Penalty
    fit_intercept : bool
    """

    design: Design
    y: Array
    weights: Array
    loss: Loss
    penalty: Penalty
    fit_intercept: bool
    _last: Any = field(default=None, init=False, repr=False)  # what the intervals were for

    @property
    def columns(self) -> Indices:
        """The coefficients that are free."""
        return self.penalty.free_features.columns

    @cached_property
    def table(self) -> Array:
        """Their columns of X, as an array, each of them contiguous."""
        return np.asfortranarray(self.design.table(self.columns))

    @cached_property
    def squares(self) -> Array:
        """Their mean squares, weighted."""
        if self.outnumber_rows:
            squares: Array = self.design.column_norms(self.weights)[self.columns] ** 2
            return squares
        return self.weights @ (self.table * self.table)

    @cached_property
    def independent(self) -> list[int]:
        """Those of the columns that no others, nor an intercept, imply."""
        return independent_columns(self.table, self.fit_intercept)

    @property
    def outnumber_rows(self) -> bool:
        """Whether free coefficients are more than rows: of a dual point that is orthogonal to
        them little but 0 is left, and nothing is made of their table.
        """
        return len(self.columns) > self.design.shape[0]

    @property
    def has_level(self) -> bool:
        """Whether the penalty is the same for w + m, whatever the constant m."""
        return self.penalty.free_level

    def sums(self, gradient: Array, slope: Any) -> list[float]:
        """The sums of a dual point theta over the free directions.

        Parameters
        ----------
        gradient : ndarray of shape (n_features,)
            X' (weights * theta).
        slope : float
            weights . theta.
        """
        sums = [slope, float(np.sum(gradient))] if self.has_level else [slope]
        return sums + gradient[self.columns].tolist() if len(self.columns) else sums

    def intervals(self, alpha: float, upper: float) -> list[Interval]:
        """Intervals that hold the intercept and the level of an optimum with P <= upper.

        The intercept's is (0, 0) without one; there is none of a level that is not free. Those
        of coefficients that are not penalised are their bounds.
        """
        last = self._last
        if last is None or last[0] != (alpha, upper):
            radius = upper / alpha
            found = self._intercepts(upper, radius)
            _, lower, above = self.penalty.free_features
            found += zip(lower.tolist(), above.tolist(), strict=True)
            last = self._last = (alpha, upper), found
        return last[1]

    def _intercepts(self, upper: float, radius: float) -> list[Interval]:
        """Those of the intercept and of the level."""
        if self.has_level:
            return list(self._intercept_and_level(upper, radius))
        return [self.intercept(upper, radius)] if self.fit_intercept else [NOTHING]

    def intercept(self, upper: float, radius: float) -> Interval:
        """The interval of the intercept by Jensen's inequality."""
        strata, supports = self._mean_rows
        bounds = [max([support(radius) for support in both]) for both in supports]
        lower, upper = map(float, self.loss.constant_interval(strata, upper, bounds))
        if not lower <= upper:
            lower, upper = -inf, inf
        return lower, upper

    @cached_property
    def _mean_rows(self) -> tuple[list[Stratum], list[list[Support]]]:
        """The strata, and of each the supports of its mean row x and of -x: functions of a radius.

        As the mean has an error, that is the furthest within it.
        """
        strata, means = self.loss.strata(self.y, self.weights), []
        for stratum in strata:
            scale = 1.0 / max(stratum.total, np.finfo(float).tiny)
            rows = np.full(self.design.shape[0], scale)
            means.append(self.design.rmatvec_compensated(stratum.weights, rows))
        return strata, self._supports(means)

    def _supports(self, means: list[tuple[Array, Array]]) -> list[list[Support]]:
        """Those of mean rows and of their negatives, given with errors."""
        found = []
        for mean, error in means:
            sides = [mean] if self.penalty.even else [mean, -mean]
            found.append([self._support(side, error) for side in sides])
        return found

    def _support(self, row: Array, error: Array) -> Support:
        """What x.w is at most, for a row x with an error, as a function of the radius."""
        penalised = self.penalty.support_by_radius(self.penalty.widest(row, error))
        columns, lower, upper = self.penalty.free_features
        if not len(columns):
            return penalised
        ends = [row[columns] + side * error[columns] for side in (-1.0, 1.0)]
        with np.errstate(invalid="ignore"):  # 0 times inf: the coefficient has no part in the row
            products = [np.where(x == 0.0, 0.0, x * y) for x in ends for y in (lower, upper)]
        free = float(np.sum(np.max(products, axis=0))) * (1.0 + 64.0 * EPSILON)
        return lambda radius: penalised(radius) + free

    def _intercept_and_level(self, upper: float, radius: float) -> tuple[Interval, Interval]:
        """Intervals of b and of the level m that hold an optimal pair.

        z_i = b + g_i m + x_i.v with g_i the sum of row i and v = w - m of level 0. Jensen's
        inequality bounds b + g m + x.v for the mean row x of any set of rows, g its sum, and
        the penalty bounds x.v. Sets of rows with small and with large g_i bound m.
        """
        same_sum, sets = self._sets_of_rows
        bounds = []  # lower <= b + g m <= upper, with an error of g
        for strata, mean, box, error in sets:
            largest = max(self.penalty.support(side, radius) for side in box)
            lower, above = self.loss.constant_interval(strata, upper, [largest] * len(strata))
            bounds.append((mean, error, lower, above))
        if same_sum:  # b does all that m could do, so that m = 0 is optimal
            lower = max(bound[2] for bound in bounds)
            above = min(bound[3] for bound in bounds)
            return (lower, above) if lower <= above else (-np.inf, np.inf), (0.0, 0.0)
        if not self.fit_intercept:
            bounds.append((0.0, 0.0, 0.0, 0.0))
        level = [-np.inf, np.inf]
        for g, g_error, _, above in bounds:
            for h, h_error, lower, _ in bounds:
                # (g - h) m <= above - lower
                difference, error = g - h, (g_error + h_error) * (1.0 + 4.0 * EPSILON)
                error += 4.0 * EPSILON * (abs(g) + abs(h))
                room = above - lower
                room += 4.0 * EPSILON * (abs(above) + abs(lower))
                if abs(difference) <= error or not room < np.inf:
                    continue
                ends = [room / (difference - error), room / (difference + error)]
                if difference > 0.0:
                    level[1] = min(level[1], max(ends) + 4.0 * EPSILON * abs(max(ends)))
                else:
                    level[0] = max(level[0], min(ends) - 4.0 * EPSILON * abs(min(ends)))
        lowest, highest = float(level[0]), float(level[1])
        if not lowest <= highest:
            lowest, highest = -np.inf, np.inf
        if not self.fit_intercept:
            return (0.0, 0.0), (lowest, highest)
        if not np.isfinite(highest - lowest):
            return (-np.inf, np.inf), (lowest, highest)
        first, last = -np.inf, np.inf
        for g, error, lower, above in bounds:
            products = np.outer([g - error, g + error], [lowest, highest])
            slack = 8.0 * EPSILON * float(np.max(np.abs(products)))
            first = max(first, lower - float(products.max()) - slack)
            last = min(last, above - float(products.min()) + slack)
        if not first <= last:
            first, last = -np.inf, np.inf
        return (float(first), float(last)), (lowest, highest)

    @cached_property
    def _sets_of_rows(self) -> tuple[bool, list[tuple]]:
        """Whether all rows have the same sum, and sets of rows that bound the level.

        Of each set the strata, the sum of its mean row with an error, and the mean row.
        """
        same_sum = self.fit_intercept and self.design.common_row_sum() is not None
        sums = self.design.matvec(np.ones(self.design.shape[1]))
        middle = float(np.mean(sums[self.weights > 0.0])) if self.fit_intercept else 0.0
        low = sums <= middle if self.fit_intercept else sums < middle
        sets = []
        for stratum in self.loss.strata(self.y, self.weights):
            for side in [np.ones_like(low)] if same_sum else [low, sums > middle]:
                weights = np.where(side, stratum.weights, 0.0)
                total = float(np.sum(weights))
                if not total > 0.0:
                    continue
                scale = np.full(self.design.shape[0], 1.0 / total)
                row, error = self.design.rmatvec_compensated(weights, scale)
                # the total and its inverse are rounded
                error = error + (16.0 + np.log2(self.design.shape[0])) * EPSILON * np.abs(row)
                mean = fsum(row)
                sets.append((
                    self.loss.strata(self.y, weights),
                    mean,
                    [self.penalty.widest(row, error), self.penalty.widest(-row, error)],
                    fsum(error) + 4.0 * EPSILON * abs(mean),
                ))  # fmt: skip
        return same_sum, sets

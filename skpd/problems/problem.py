"""The optimisation problem that every estimator poses and every solver solves."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import fsum, inf
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import kernels
from .._typing import Array
from ..designs import Design, DualProducts, DualProductsOfPath, WeightedGram
from ..losses import Loss
from ..losses.base import EPSILON, Stratum
from ..penalties import Penalty, SquaredL2
from .solution import Point

if TYPE_CHECKING:
    pass

__all__ = ["Problem"]

Interval = tuple[float, float]


@dataclass
class Problem:
    """minimise over w, b:  sum_i c_i l(y_i, x_i.w + b) + alpha R(w).

    Parameters
    ----------
    design : Design
        The data X of shape (n_samples, n_features).
    y : ndarray of shape (n_samples,)
        Targets; -1 and 1 for a `MarginLoss`.
    weights : ndarray of shape (n_samples,)
        The weights c_i >= 0, which sum to 1.
    loss : Loss
    penalty : Penalty
    alpha : float
        Weight of the penalty, greater than 0.
    fit_intercept : bool, default=True
        Whether b is free, or 0.
    total_weight : float, default=None
        The number of rows that the weights stand for: the sum of the sample weights
        before they were divided by it. The number of rows by default.

    Raises
    ------
    ValueError
        If the penalty does not fit the features.
    """

    design: Design
    y: Any
    weights: Any
    loss: Loss
    penalty: Penalty
    alpha: float
    fit_intercept: bool = True
    total_weight: float | None = None
    _interval: Any = field(default=None, init=False, repr=False)  # the last intercept_interval
    # what solvers keep for the next alpha of a path
    last: dict = field(default_factory=dict, init=False, repr=False)
    _intervals: Any = field(default=None, init=False, repr=False)  # of intercept and level
    _predictions: Any = field(default=None, init=False, repr=False)  # the last, and what of

    def __post_init__(self) -> None:
        self.penalty = self.penalty.bind(self.design.shape[1])
        if self.total_weight is None:
            self.total_weight = float(self.design.shape[0])

    @property
    def n_samples(self) -> int:
        return self.design.shape[0]

    @property
    def n_features(self) -> int:
        return self.design.shape[1]

    def with_alpha(self, alpha: float) -> "Problem":
        """The same problem with another alpha; what is known of the data stays known."""
        _ = (
            self.objective_unit,
            self.null_rounding,
            self.null_gradient,
            self.gram,
            self.products,
            self.centred,
        )
        if self.loss.linear_tails:
            _ = self.squares
        if self.has_free_level:
            _ = self._sets_of_rows
        elif self.fit_intercept:
            _ = self._mean_rows
        other = self._copy()
        other.alpha = alpha
        return other

    def _copy(self) -> "Problem":
        """A problem that shares what is known of this one; `copy.copy` takes ten times as long."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def by_columns(self) -> "Problem":
        """The same problem with X by columns, if Newton steps on working sets solve it."""
        penalty = self.penalty
        separable = hasattr(penalty, "terms") or hasattr(penalty, "group_terms")
        if self.loss.linear_tails or isinstance(penalty, SquaredL2) or not separable:
            return self
        other = self._copy()
        other.design = self.design.by_columns
        other.products = DualProductsOfPath(other.design, self.weights)
        return other

    @cached_property
    def largest_alpha(self) -> float:
        """An alpha from which on the best constant prediction is optimal.

        That is the dual norm of `null_gradient`. It is nan for a penalty that is not a norm and
        has no ``largest_alpha`` of its own.
        """
        threshold = getattr(self.penalty, "largest_alpha", None)
        threshold = threshold or getattr(self.penalty, "dual_norm", None)
        if threshold is None or self.has_free_level:
            return np.nan
        return threshold(-self.null_gradient)

    @cached_property
    def gram(self) -> WeightedGram:
        """The last Gram matrix of weighted rows and some columns, the intercept's included."""
        return WeightedGram(self.fit_intercept)

    @cached_property
    def products(self) -> DualProducts:
        """X' diag(c) theta of dual points, with bounds on their errors."""
        return DualProducts(self.design, self.weights)

    @cached_property
    def centred(self) -> "tuple[Problem, Array] | None":
        """The same problem with features that are far from 0 shifted to mean 0, and the shift.

        With an intercept b, predictions x.w + b are (x - shift).w + b' for b' = b + shift.w, so
        that nothing changes but the numbers that a solver calculates with. None where no
        feature is far from 0, or without an intercept.
        """
        shift = self.design.shift_of_columns(self.weights) if self.fit_intercept else None
        if shift is None:
            return None
        other = replace(self, design=self.design.shifted(shift))
        if self.products.incremental:
            other.products = type(self.products)(other.design, self.weights)
        return other, shift

    @property
    def threshold(self) -> float:
        """What entries of X' diag(c) theta may be without a part in any bound or step."""
        l1 = self.penalty.terms[0] if hasattr(self.penalty, "terms") else 0.0
        return 0.999 * self.alpha * l1  # clear of those that are at it

    @cached_property
    def squares(self) -> Array:
        """sum_i c_i x_ij^2 for every primal variable, the intercept's 1 included."""
        squares = self.design.column_norms(self.weights) ** 2
        return np.append(squares, 1.0) if self.fit_intercept else squares

    # The intercept as the last of the primal variables, with a column of ones

    @property
    def n_variables(self) -> int:
        return self.n_features + self.fit_intercept

    def split(self, variables: Array) -> tuple[Array, float]:
        """(coef, intercept) of a vector of primal variables."""
        if self.fit_intercept:
            return variables[:-1], float(variables[-1])
        return variables, 0.0

    def join(self, coef: Array, intercept: float) -> Array:
        """The vector of primal variables of (coef, intercept)."""
        variables = np.empty(self.n_variables)
        variables[: self.n_features] = coef
        variables[self.n_features :] = intercept
        return variables

    def matvec(self, variables: Array) -> Array:
        """The predictions z = X w + b."""
        coef, intercept = self.split(variables)
        z = self.design.matvec(np.ascontiguousarray(coef))
        return z + intercept if self.fit_intercept else z

    def predictions(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        """X w + b and a bound on its rounding error.

        The last are kept: a solver and, after it, a certificate want the same.
        """
        last, given = self._predictions, (self.design, float(intercept))
        coef = np.ascontiguousarray(coef)
        if last is not None and last[0] == given and kernels.equal(last[1], coef):
            return last[2]
        found = self.design.matvec_bounded(coef, float(intercept))
        for part in found:
            part.flags.writeable = False
        self._predictions = given, np.array(coef), found
        return found

    def rmatvec(self, rows: Array) -> Array:
        """The transpose of `matvec`."""
        product = self.design.rmatvec(rows)
        return np.append(product, rows.sum()) if self.fit_intercept else product

    def prox(self, variables: Array, step: Array | float) -> Array:
        """Proximal operator of step alpha R(w), the intercept left alone.

        ``step`` is a float or an array of shape (n_variables,).
        """
        if not self.fit_intercept:
            return self.penalty.prox(variables, step * self.alpha)
        coef_step = (step[:-1] if isinstance(step, np.ndarray) else step) * self.alpha
        out = np.empty_like(variables)
        out[:-1] = self.penalty.prox(variables[:-1], coef_step)
        out[-1] = variables[-1]
        return out

    def dual_point(self, predictions: Array) -> Array:
        """A dual point that goes with predictions: the derivatives of the losses there."""
        return self.loss.gradient(self.y, predictions)

    # The best constant prediction, which fixes the unit of the relative gap

    @cached_property
    def null_point(self) -> Point:
        """The best constant prediction, with a subgradient of the losses there as dual point.

        Where the loss has a kink there, it is one whose part for the intercept vanishes.
        """
        b = 0.0
        if self.fit_intercept:
            b = self.loss.best_constant(self.y, self.weights)
            b = b if np.isfinite(b) else 0.0
        theta = self.loss.gradient(self.y, np.full(self.n_samples, b))
        if self.fit_intercept and not np.isfinite(self.loss.smoothness):
            near = 1e-9 * (1.0 + abs(b) + np.abs(self.y))
            ends = [self.loss.gradient(self.y, b + side * near) for side in (-1.0, 1.0)]
            with suppress(ValueError):  # rounding can leave no such point
                theta = kernels.project_box_hyperplane(
                    theta, np.minimum(*ends), np.maximum(*ends), self.weights, self.weights, 0.0
                )
        return Point(np.zeros(self.n_features), b, theta)

    @cached_property
    def null_gradient(self) -> Array:
        """The gradient of the mean loss in w at the null model, of shape (n_features,)."""
        return self.design.rmatvec(self.weights * self.null_point.dual_coef)

    @cached_property
    def null_objective(self) -> float:
        """P at the null model, an upper bound up to a relative rounding error."""
        z = np.full(self.n_samples, self.null_point.intercept)
        return float(np.sum(self.weights * self.loss.largest(self.y, z, 0.0, 0.0)))

    @cached_property
    def null_rounding(self) -> float:
        """By how much rounding may have raised P at the null model."""
        z = np.full(self.n_samples, self.null_point.intercept)
        plain = float(np.sum(self.weights * self.loss.value(self.y, z)))
        return max(self.null_objective - plain, 0.0)

    @cached_property
    def objective_unit(self) -> float:
        """What a relative gap is relative to: P at the null model, or its rounding error."""
        if self.null_point.intercept == 0.0:
            return self.null_objective
        at_zero = float(np.sum(self.weights * self.loss.value(self.y, np.zeros(self.n_samples))))
        return max(self.null_objective, EPSILON * at_zero)

    @cached_property
    def reach(self) -> float:
        """How far predictions go: the loss of the best constant over its mean slope there."""
        at_null = np.full(self.n_samples, self.null_point.intercept)
        slope = float(self.weights @ np.abs(self.loss.gradient(self.y, at_null)))
        return self.null_objective / slope if slope > 0.0 and self.null_objective > 0.0 else 1.0

    def intercept_interval(self, upper: float) -> tuple[float, float]:
        """An interval that holds b wherever P(w, b) <= upper."""
        if not self.fit_intercept:
            return 0.0, 0.0
        if self.has_free_level:
            return self._intercept_and_level(upper)[0]
        given = self.alpha, upper
        if self._interval is not None and self._interval[0] == given:
            return self._interval[1]
        strata, boxes = self._mean_rows
        radius = upper / self.alpha
        reaches = [max([self.penalty.support(side, radius) for side in box]) for box in boxes]
        lower, upper = map(float, self.loss.constant_interval(strata, upper, reaches))
        if not lower <= upper:
            lower, upper = -inf, inf
        self._interval = given, (lower, upper)
        return lower, upper

    @cached_property
    def _mean_rows(self) -> tuple[list[Stratum], list[tuple[Array, Array]]]:
        """The strata, and of each the mean row x and -x, moved as far out as they may be."""
        strata, boxes = self.loss.strata(self.y, self.weights), []
        for stratum in strata:
            scale = 1.0 / max(stratum.total, np.finfo(float).tiny)
            mean, error = self.design.rmatvec_compensated(
                stratum.weights, np.full(self.n_samples, scale)
            )
            boxes.append((self.penalty.widest(mean, error), self.penalty.widest(-mean, error)))
        return strata, boxes

    # A level of the coefficients that the penalty leaves free, beside the intercept

    @property
    def has_free_level(self) -> bool:
        """Whether the penalty is the same for w + m, whatever the constant m."""
        return getattr(self.penalty, "free_level", False)

    def level_interval(self, upper: float) -> tuple[float, float]:
        """An interval that holds the level of an optimal w, if P <= upper somewhere."""
        return self._intercept_and_level(upper)[1] if self.has_free_level else (0.0, 0.0)

    def _intercept_and_level(self, upper: float) -> tuple[Interval, Interval]:
        """Intervals of b and of the level m that hold an optimal pair.

        z_i = b + g_i m + x_i.v with g_i the sum of row i and v = w - m of level 0. Jensen's
        inequality bounds b + g m + x.v for the mean row x of any set of rows, g its sum, and
        the penalty bounds x.v. Sets of rows with small and with large g_i bound m.
        """
        given = self.alpha, upper
        if self._intervals is None or self._intervals[0] != given:
            self._intervals = given, self._bounds_of_intercept_and_level(upper)
        return self._intervals[1]

    def _bounds_of_intercept_and_level(self, upper: float) -> tuple[Interval, Interval]:
        same_sum, sets = self._sets_of_rows
        radius = upper / self.alpha
        bounds = []  # lower <= b + g m <= upper, with an error of g
        for strata, mean, box, error in sets:
            reaches = [max(self.penalty.support(side, radius) for side in box)] * len(strata)
            lower, above = self.loss.constant_interval(strata, upper, reaches)
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
        sums = self.design.matvec(np.ones(self.n_features))
        middle = float(np.mean(sums[self.weights > 0.0])) if self.fit_intercept else 0.0
        low = sums <= middle if self.fit_intercept else sums < middle
        sets = []
        for stratum in self.loss.strata(self.y, self.weights):
            for side in [np.ones_like(low)] if same_sum else [low, sums > middle]:
                weights = np.where(side, stratum.weights, 0.0)
                total = float(np.sum(weights))
                if not total > 0.0:
                    continue
                scale = np.full(self.n_samples, 1.0 / total)
                row, error = self.design.rmatvec_compensated(weights, scale)
                # the total and its inverse are rounded
                error = error + (16.0 + np.log2(self.n_samples)) * EPSILON * np.abs(row)
                mean = fsum(row)
                sets.append((
                    self.loss.strata(self.y, weights),
                    mean,
                    [self.penalty.widest(row, error), self.penalty.widest(-row, error)],
                    fsum(error) + 4.0 * EPSILON * abs(mean),
                ))  # fmt: skip
        return same_sum, sets

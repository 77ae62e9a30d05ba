"""What problems have that is as long as the coefficients: wherever their rows are."""

from abc import abstractmethod
from functools import cached_property
from math import inf, sqrt
from typing import Any, Self

import numpy as np

from .._typing import Array, Indices
from ..certificates.objective import Interval
from ..certificates.repairs import least_linear
from ..penalties import Penalty, Structure
from .base import BaseProblem
from .free_directions import FreeDirections

__all__ = ["ColumnSide"]

PENALTY_KNOWS = (
    "largest_alpha",
    "least_l1",
    "free",
    "likely_sizes",
)  # what is computed once and depends on the penalty
TINY = np.finfo(float).tiny
# A free coordinate without a proven interval is likely to be at most so many times what changes
# the predictions by their scale.
LIKELY = 2.0
NEGLIGIBLE = 1e-14  # of an objective value, in an estimate of a gap
MARGIN = 1e-9  # of norms of columns: more than their rounding errors
FLAT = 1e-12  # of what a gradient may be: less is rounding
NEAR = 0.5  # of the alpha from which on w = 0 is optimal: below, its dual point is not tried


class ColumnSide(BaseProblem):
    """A scalar loss for each row, a penalty of the coefficients, and perhaps an intercept.

    Attributes
    ----------
    null_gradient : ndarray of shape (n_features,)
        The gradient of the mean loss in w at the best constant prediction.
    null_slope : float
        The same in an intercept.
    prediction_scale : float
        How far predictions go: the loss of the best constant over its mean slope there.
    squares : ndarray of shape (n_features + fit_intercept,)
        sum_i c_i x_ij^2, and 1 for an intercept.
    free : FreeDirections
        The intercept and whatever else the penalty leaves free.
    """

    fit_intercept: bool

    @property
    @abstractmethod
    def null_gradient(self) -> Array: ...

    @property
    @abstractmethod
    def null_slope(self) -> float: ...

    @property
    @abstractmethod
    def prediction_scale(self) -> float: ...

    @property
    @abstractmethod
    def squares(self) -> Array: ...

    @property
    @abstractmethod
    def free(self) -> FreeDirections: ...

    def with_alpha(self, alpha: float) -> Self:
        """The same problem with another alpha; what is known of the data stays known."""
        _ = self.objective_unit, self.null_rounding, self.largest_alpha, self.least_l1
        _ = self.likely_sizes
        if self.loss.linear_tails or np.isfinite(self.loss.smoothness):
            _ = self.squares
        return self._with(alpha=alpha)

    def with_penalty(self, penalty: Penalty, alpha: float) -> Self:
        """The same data and loss with another penalty and alpha."""
        other = self.with_alpha(alpha)._with(penalty=penalty.bind(self.n_features))
        for name in PENALTY_KNOWS:
            vars(other).pop(name, None)
        return other

    def _with(self, **changes: Any) -> Self:
        """A copy with other values, which shares what is known of this one.

        `copy.copy` takes ten times as long.
        """
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changes)
        return other

    @property
    def coef_shape(self) -> tuple[int, ...]:
        return (self.n_features,)

    @property
    def has_free_level(self) -> bool:
        """Whether the penalty is the same for w + m, whatever the constant m."""
        return self.free.has_level

    @property
    def free_columns(self) -> Indices:
        """The coefficients that the penalty leaves free."""
        return self.penalty.free_features.columns

    def free_intervals(self, upper: float) -> list[Interval]:
        return self.free.intervals(self.alpha, upper)

    def distances_of_slopes(self, gap: float) -> Array | None:
        """By Cauchy and Schwarz, from sum_i c_i (theta_i - theta_i*)^2 <= 2 L gap."""
        smoothness = self.loss.smoothness
        if not smoothness < inf:
            return None
        norms = np.sqrt(self.squares[: self.n_features])
        return sqrt(2.0 * smoothness * gap) * (1.0 + MARGIN) * norms

    @cached_property
    def largest_alpha(self) -> float:
        """An alpha from which on the best constant prediction is optimal.

        It follows from `null_gradient` (`Penalty.largest_alpha`), and is nan where that is not
        known.
        """
        if self.has_free_level or len(self.free_columns):
            return np.nan
        return self.penalty.largest_alpha(-self.null_gradient)

    @property
    def features_say_nothing(self) -> bool:
        if super().features_say_nothing or self.null_objective < self.objective_unit:
            return True
        most = np.sqrt(self.squares[: self.n_features])
        most *= self.null_objective / self.prediction_scale  # and the mean slope of the losses
        return bool(np.all(np.abs(self.null_gradient) <= FLAT * most))

    @property
    def null_may_be_optimal(self) -> bool:
        if self.penalty.is_quadratic or len(self.free_columns):
            return False
        return not self.alpha < NEAR * self.largest_alpha

    def likely_cost_of_free(self, gradient: Array, slope: float, upper: float) -> float:
        """About what a bound loses by the sums of a dual point over the free directions.

        ``gradient`` and ``slope`` are those sums, as for `FreeDirections.sums`.
        """
        if not (self.fit_intercept or self.has_free_level or len(self.free_columns)):
            return 0.0
        cost, sums = 0.0, self.free.sums(gradient, slope)
        likely = [abs(total) * size for total, size in zip(sums, self.likely_sizes, strict=True)]
        if sum(likely) <= NEGLIGIBLE * upper:
            return 0.0
        intervals = self.free_intervals(min(upper, self.null_objective))
        for total, interval, otherwise in zip(sums, intervals, likely, strict=True):
            proven = -least_linear((total, 0.0), interval)
            cost += proven if proven < np.inf else otherwise
        return cost

    @cached_property
    def likely_sizes(self) -> list[float]:
        """What free coordinates are likely to be at most: a few times what moves predictions."""
        sizes = np.ones(1 + self.has_free_level)
        squares = np.append(sizes, self.free.squares)
        sizes = LIKELY * self.prediction_scale / np.sqrt(np.maximum(squares, TINY))
        return sizes.tolist()

    @property
    def threshold(self) -> float:
        """What entries of X' diag(c) theta may be without a part in any bound or step."""
        return 0.999 * self.alpha * self.least_l1  # clear of those that are at it

    @cached_property
    def least_l1(self) -> float:
        """The least weight of an absolute value of a coefficient; 0 for no sum of them."""
        penalty: Any = self.penalty
        return float(np.min(penalty.terms[0])) if penalty.structure is Structure.SEPARABLE else 0.0

    def shifted_intercept(self, intercept: Any, shift: Array, coef: Array) -> Any:
        """The intercept of features less a shift that makes the same predictions."""
        return float(intercept) + float(shift @ coef)

    @property
    def incremental_products(self) -> bool:
        """Whether gradients that follow each other closely cost less than others."""
        return False

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

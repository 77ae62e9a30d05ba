"""The part of a problem that belongs to the coefficients, wherever the rows are stored."""

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
)  # cached attributes that depend on the penalty
TINY = np.finfo(float).tiny
# Estimates assume that a free coordinate without a proven interval is at most this times the size
# that changes the predictions by their scale.
LIKELY = 2.0
NEGLIGIBLE = 1e-14  # relative to an objective value, in an estimate of a gap
MARGIN = 1e-9  # relative margin of norms of columns, above their rounding errors
FLAT = 1e-12  # a gradient below this times its largest possible size is a rounding error
NEAR = 0.5  # w = 0 is not tried for alpha below this times the alpha at which it is optimal


class ColumnSide(BaseProblem):
    """A problem with a scalar loss for each row, a penalty, and an optional intercept.

    Attributes
    ----------
    null_gradient : ndarray of shape (n_features,)
        The gradient of the mean loss in w at the best constant prediction.
    null_slope : float
        The derivative of the mean loss in the intercept at the best constant prediction.
    prediction_scale : float
        The scale of predictions: the loss of the best constant divided by the mean absolute slope
        of the losses there.
    squares : ndarray of shape (n_features + fit_intercept,)
        sum_i c_i x_ij^2, and 1 for an intercept.
    free : FreeDirections
        The intercept and other directions that the penalty leaves free.
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
        """The problem with another alpha, which shares the cached values of the data."""
        _ = self.objective_unit, self.null_rounding, self.largest_alpha, self.least_l1
        _ = self.likely_sizes
        if self.loss.linear_tails or np.isfinite(self.loss.smoothness):
            _ = self.squares
        return self._with(alpha=alpha)

    def with_penalty(self, penalty: Penalty, alpha: float) -> Self:
        """The problem with another penalty and alpha, for the same data and loss."""
        other = self.with_alpha(alpha)._with(penalty=penalty.bind(self.n_features))
        for name in PENALTY_KNOWS:
            vars(other).pop(name, None)
        return other

    def _with(self, **changes: Any) -> Self:
        """A copy with some attributes replaced, which shares the cached values of this problem.

        This function is faster than `copy.copy`.
        """
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changes)
        return other

    @property
    def coef_shape(self) -> tuple[int, ...]:
        return (self.n_features,)

    @property
    def has_free_level(self) -> bool:
        """Whether R(w + m) = R(w) for every constant m."""
        return self.free.has_level

    @property
    def free_columns(self) -> Indices:
        """The coefficients that the penalty leaves free."""
        return self.penalty.free_features.columns

    def free_intervals(self, upper: float) -> list[Interval]:
        return self.free.intervals(self.alpha, upper)

    def distances_of_slopes(self, gap: float) -> Array | None:
        """The bounds sqrt(2 L gap sum_i c_i x_ij^2) for L-smooth losses; None for others.

        They follow from sum_i c_i (theta_i - theta_i*)^2 <= 2 L gap by Cauchy and Schwarz.
        """
        smoothness = self.loss.smoothness
        if not smoothness < inf:
            return None
        norms = np.sqrt(self.squares[: self.n_features])
        return sqrt(2.0 * smoothness * gap) * (1.0 + MARGIN) * norms

    @cached_property
    def largest_alpha(self) -> float:
        """An alpha at and above which the best constant is optimal; nan if none is known.

        This alpha follows from `null_gradient` by `Penalty.largest_alpha`.
        """
        if self.has_free_level or len(self.free_columns):
            return np.nan
        return self.penalty.largest_alpha(-self.null_gradient)

    @property
    def features_say_nothing(self) -> bool:
        if super().features_say_nothing or self.null_objective < self.objective_unit:
            return True
        most = np.sqrt(self.squares[: self.n_features])
        most *= self.null_objective / self.prediction_scale  # times the mean slope of the losses
        return bool(np.all(np.abs(self.null_gradient) <= FLAT * most))

    @property
    def null_may_be_optimal(self) -> bool:
        if self.penalty.is_quadratic or len(self.free_columns):
            return False
        return not self.alpha < NEAR * self.largest_alpha

    def likely_cost_of_free(self, gradient: Array, slope: float, upper: float) -> float:
        """An estimate of the reduction of a bound by the free sums of a dual point.

        ``gradient`` and ``slope`` define the sums, see `FreeDirections.sums`.
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
        """Estimated largest sizes of the free coordinates, from the scale of predictions."""
        sizes = np.ones(1 + self.has_free_level)
        squares = np.append(sizes, self.free.squares)
        sizes = LIKELY * self.prediction_scale / np.sqrt(np.maximum(squares, TINY))
        return sizes.tolist()

    @property
    def threshold(self) -> float:
        """A size below which entries of X' diag(c) theta have no effect on bounds and steps."""
        return 0.999 * self.alpha * self.least_l1  # a little below alpha times the l1 weight

    @cached_property
    def least_l1(self) -> float:
        """The least weight of the terms abs(w_j) in the penalty; 0 if it is not separable."""
        penalty: Any = self.penalty
        return float(np.min(penalty.terms[0])) if penalty.structure is Structure.SEPARABLE else 0.0

    def shifted_intercept(self, intercept: Any, shift: Array, coef: Array) -> Any:
        """The intercept that gives the same predictions for features minus a shift."""
        return float(intercept) + float(shift @ coef)

    @property
    def incremental_products(self) -> bool:
        """Whether products for successive similar dual points cost less than for others."""
        return False

    # The intercept as the last of the primal variables, with a column of ones

    @property
    def n_variables(self) -> int:
        return self.n_features + self.fit_intercept

    def split(self, variables: Array) -> tuple[Array, float]:
        """The pair (coef, intercept) of a vector of primal variables."""
        if self.fit_intercept:
            return variables[:-1], float(variables[-1])
        return variables, 0.0

    def join(self, coef: Array, intercept: float) -> Array:
        """The vector of primal variables of (coef, intercept)."""
        variables = np.empty(self.n_variables)
        variables[: self.n_features] = coef
        variables[self.n_features :] = intercept
        return variables

"""Problems with a scalar loss for each row, with the interface of `Objective`."""

from abc import abstractmethod
from functools import cached_property
from math import inf, sqrt
from typing import Any

import numpy as np

from .. import kernels
from .._typing import Array
from ..certificates.objective import DualPoint, Objective
from .balance import balance_exactly
from .dual_points import BalancedPoint, RowPoint
from .free_directions import FreeDirections
from .free_features import project_onto_free
from .rows import Rows
from .solution import Point

__all__ = ["RowObjective"]

PLAIN = 1e-11  # rounding errors below this times the mean loss need no precise products
SMALLEST = 1e-60  # multipliers below this times the largest are set to 0 against underflow
NEGLIGIBLE = 1e-9  # multipliers below this times the largest may be set to 0


class RowObjective(Rows, Objective):
    """The sums over the rows of a `Problem` that certificates use."""

    @property
    @abstractmethod
    def free(self) -> FreeDirections: ...

    @property
    @abstractmethod
    def null_point(self) -> Point: ...

    @property
    def free_table(self) -> Array:
        return self.free.table

    @property
    def free_squares(self) -> Array:
        return self.free.squares

    @property
    def independent_free(self) -> list[int]:
        return self.free.independent

    @cached_property
    def largest_target(self) -> float:
        return float(np.max(np.abs(self.y), initial=0.0))

    @property
    @abstractmethod
    def squares(self) -> Array: ...

    def mean_loss(self, coef: Array, free: Any, accuracy: float) -> float:
        if not self.fit_intercept and np.any(np.abs(free) > 0.0):
            raise ValueError(f"intercept must be 0 without fit_intercept, got {free!r}.")
        if kernels.max_abs(coef) == 0.0 and np.all(free == self.null_point.intercept):
            return self.null_objective
        z, error = self.predictions(coef, free)
        most = self._largest_loss(z, 0.0, error)
        if self._loss_by_errors(most, error) <= max(PLAIN * most, accuracy):
            return most
        return self._largest_loss(*self.precise_predictions(coef, free))

    def precise_mean_loss(self, coef: Array, free: Any) -> tuple[float, float]:
        z, low, error = self.precise_predictions(coef, free)
        about = float(np.sum(self.weights * self.loss.value(self.y, z, low)))
        return self._largest_loss(z, low, error), about

    def _largest_loss(self, z: Array, low: Array | float, error: Array) -> float:
        """The sum of c_i times the largest l(y_i, .) between z_i + low_i -+ error_i."""
        return self.loss.largest_mean(self.y, self.weights, z, low, error)

    def _loss_by_errors(self, value: float, error: Array) -> float:
        """An estimate of the change of a mean loss of this value by errors of the predictions."""
        loss, weights = self.loss, self.weights
        if loss.lipschitz < inf:
            return loss.lipschitz * kernels.dot(weights, error)
        # l'^2 <= 2 smoothness l, and the Cauchy-Schwarz inequality
        return sqrt(2.0 * loss.smoothness * value * kernels.dot(weights, error * error))

    def feasible_point(self, theta: Array) -> DualPoint | None:
        theta = self.loss.project_dual(self.y, theta)
        if kernels.max_abs(theta) == 0.0:
            return None
        return self.row_point(kernels.without_negligible(theta, SMALLEST))

    def row_point(self, theta: Array) -> RowPoint:
        """The `DualPoint` of a theta that is in the box of the conjugate losses."""
        return RowPoint(self, theta)

    def projected(self, point: DualPoint) -> DualPoint:
        theta = self._projected(point.theta)
        return point if theta is point.theta else self.row_point(theta)

    def _projected(self, theta: Array) -> Array:
        """The projection onto the box and the hyperplanes of the free directions."""
        if self.free.outnumber_rows:
            return theta
        if len(self.free_columns):
            return project_onto_free(self, theta)
        if not self.fit_intercept:
            return theta
        lower, upper = self.loss.dual_bounds(self.y)
        weights = self.weights
        return kernels.project_box_hyperplane(theta, lower, upper, weights, weights, 0.0)

    def balanced(self, point: DualPoint, near: Array | None) -> DualPoint:
        if self.free.outnumber_rows:
            return point
        theta, balance = point.theta, None
        if len(self.free_columns):  # a projection takes longer than the test whether it is needed
            balance = balance_exactly(self, theta, near)
        if balance is None:
            theta = self._projected(theta)
            balance = balance_exactly(self, theta, near)
        if balance is None:  # rows that the free directions separate may prevent the balance
            theta = kernels.without_negligible(theta, NEGLIGIBLE)
            balance = balance_exactly(self, theta, near)
        found = self.row_point(theta)
        if balance is None:
            return found
        others = self.row_point(balance.towards), self.row_point(balance.change)
        return BalancedPoint(self, found, *others, balance)

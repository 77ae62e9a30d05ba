"""What a certificate asks of an objective: sums over the rows, each with its rounding error.

Every problem is an `Objective` ::

    minimise over w and free coordinates f:   sum_i c_i l_i((A (w, f))_i) + alpha R(w)

and whatever is as long as the rows are many stays behind this interface: a certificate sees the
mean loss of a model, and of a dual point theta the vector A' diag(c) theta, the value of the
conjugate losses and the sums that belong to the free coordinates.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .._typing import Array
from ..penalties import Penalty

__all__ = ["NOTHING", "DualPoint", "Interval", "Objective", "Sum"]

Interval = tuple[float, float]
Sum = tuple[float, float]  # a value and a bound on its rounding error
NOTHING = (0.0, 0.0)  # a sum that vanishes in exact arithmetic, an interval that holds 0 alone


class DualPoint(ABC):
    """A dual point in the domain of the conjugate losses, as certificates see it.

    Attributes
    ----------
    theta : ndarray or SharedVector
        The dual point itself, or what stands for it where the rows are elsewhere.
    linear, quadratic : bool
        Whether the conjugate losses at t theta are linear or quadratic in t.
    only_precise : bool
        Whether its products are known in twice the working precision only.
    """

    theta: Any
    linear: bool
    quadratic: bool
    only_precise: bool = False

    @abstractmethod
    def value(self, scale: float) -> Sum:
        """- sum_i c_i l_i*(t theta_i) for a scale t, and a bound on its rounding error."""

    @abstractmethod
    def products(self, precise: bool) -> tuple[Array, Array]:
        """A' diag(c) theta on the penalised coefficients, and bounds on the errors."""

    @abstractmethod
    def sums_without_products(self) -> list[Sum]:
        """The first of the free sums, as far as they need no products with the data."""

    @abstractmethod
    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        """A' diag(c) theta on each free coordinate, (0, 0) without an intercept."""

    def errors_by_precision(self) -> Array | float:
        """About what is missing in the products because theta is rounded to numbers.

        It is 0 for points that `Objective.balanced` leaves as they are.
        """
        return 0.0

    @abstractmethod
    def largest_scale(self) -> float:
        """The largest t with t theta in the domain of the conjugate losses."""


class Objective(ABC):
    """A mean loss and a penalty, as certificates see them.

    Attributes
    ----------
    design : Design
        The data X of shape (n_samples, n_features).
    penalty : Penalty
        R.
    alpha : float
    null_objective : float
        An upper bound on the value of the best constant prediction, up to a relative rounding
        error.
    null_rounding : float
        By how much rounding may have raised it.
    objective_unit : float
        What a relative gap is relative to.
    n_samples : int
        The number of rows.
    largest_target : float
        The largest of the abs(y_i).
    """

    design: Any
    penalty: Penalty
    alpha: float

    @property
    def dual_penalty(self) -> Penalty:
        """The penalty whose conjugate bounds the optimal value: R, unless R is what is left of it.

        It is another one where the objective has penalised variables beside the coefficients,
        which are chosen best in `mean_loss`.
        """
        return self.penalty

    def penalty_value(self, coef: Array, accuracy: float = 0.0) -> float:
        """R(w), perhaps rounded up: by alpha times that at most ``accuracy``, where it can be."""
        return float(self.penalty.value(coef))

    @property
    @abstractmethod
    def null_objective(self) -> float: ...

    @property
    def null_is_allowed(self) -> bool:
        """Whether the best constant prediction is a model: it may not obey constraints."""
        return True

    @property
    @abstractmethod
    def null_rounding(self) -> float: ...

    @property
    @abstractmethod
    def objective_unit(self) -> float: ...

    @property
    @abstractmethod
    def n_samples(self) -> int: ...

    @property
    @abstractmethod
    def largest_target(self) -> float: ...

    @abstractmethod
    def mean_loss(self, coef: Array, free: Any, accuracy: float) -> float:
        """What P is beside alpha R(w): sum_i c_i l_i of a model, no less than it is.

        ``free`` are the free coordinates: a float where there is only an intercept.

        Products with the data are repeated in twice the working precision where their rounding
        errors cost more than ``accuracy``.

        Raises
        ------
        ValueError
            If there is an intercept in a problem without one.
        """

    @abstractmethod
    def precise_mean_loss(self, coef: Array, free: Any) -> tuple[float, float]:
        """The same from products in twice the working precision, and about what it is."""

    @abstractmethod
    def free_intervals(self, upper: float) -> list[Interval]:
        """For each free coordinate an interval that holds it at an optimum, if P <= upper there.

        The first is that of the intercept, (0, 0) without one.
        """

    def distances_of_slopes(self, gap: float) -> Array | None:
        """How far A' diag(c) theta is at most from that of an optimum, on each coefficient.

        The gap is that between theta and any model. None where nothing is known, as for losses
        with kinks.
        """
        return None

    def coef_table(self, coef: Array) -> Array:
        """Numbers of coefficients as estimators have them, those of an output in a row."""
        return coef

    @property
    def table_shape(self) -> tuple[int, ...]:
        """The shape of `coef_table`; (0,) for models without coefficients of features."""
        return (self.design.shape[1],)

    def plain_dual(self, theta: Any) -> Any:
        """A dual point in the form in which it is worked with."""
        return np.ascontiguousarray(theta, dtype=np.float64)

    def zero_dual(self, theta: Any) -> Any:
        """The dual point 0, in the form of another."""
        return np.zeros_like(theta, dtype=np.float64)

    def copied_dual(self, theta: Any) -> Any:
        """A dual point that stays as it is, whatever becomes of the one given."""
        return np.array(theta)

    @abstractmethod
    def feasible_point(self, theta: Any) -> DualPoint | None:
        """The dual point nearest to theta in the domain of the conjugate losses, None for 0."""

    @abstractmethod
    def projected(self, point: DualPoint) -> DualPoint:
        """A point nearby with smaller free sums; the same point where none is easy to find."""

    @abstractmethod
    def balanced(self, point: DualPoint, near: Array | None) -> DualPoint:
        """A point nearby whose free sums vanish in exact arithmetic, if one is known to exist.

        The same point, or another that is no worse, is returned where none is.
        Coefficients ``near`` the optimum, where they are given, say what its products with the
        data should be beyond the precision of its numbers.
        """

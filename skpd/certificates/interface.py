"""The interface between problems and certificates: sums over the rows with rounding errors.

Every problem is an `Objective` ::

    minimise over w and free coordinates f:   sum_i c_i l_i((A (w, f))_i) + alpha R(w)

Vectors with an entry for each row stay behind this interface. A certificate uses the mean loss of
a model, and for a dual point theta the vector A' diag(c) theta, the sum of the conjugate losses
and the sums over the free coordinates. So it works in the same way wherever the rows are stored.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Protocol

from .._immutable_base import OfKinds
from .._typing import Array, Indices, Mask, Numbers
from ..losses import Loss
from ..penalties import Penalty

Interval = tuple[float, float]
Sum = tuple[float, float]  # a value and a bound on its rounding error
NOTHING = (0.0, 0.0)  # a sum that vanishes in exact arithmetic, or the interval {0}


class DualVector(Protocol):
    """A vector with a number for each row: an array, or what stands for it elsewhere."""

    def __rmul__(self, scale: float, /) -> "DualVector": ...


class DualPoint(OfKinds, ABC):
    """The interface of a dual point in the domain of the conjugate losses.

    Attributes
    ----------
    theta : ndarray or RemoteVector
        The vector, or an object that stands for it where the rows are on other machines.
    linear, quadratic : bool
        Whether the conjugate losses at t theta are linear or quadratic in t.
    only_precise : bool
        Whether products with the data are available in twice the working precision only.
    """

    theta: Any
    linear: bool
    quadratic: bool
    only_precise: bool = False

    @abstractmethod
    def value(self, scale: float) -> Sum:
        """The sum - sum_i c_i l_i*(t theta_i) for a scale t, and a bound on its rounding error."""

    @abstractmethod
    def products(self, precise: bool) -> tuple[Array, Array]:
        """The vector A' diag(c) theta on the penalised coefficients, and bounds on its errors."""

    @abstractmethod
    def sums_without_products(self) -> list[Sum]:
        """The first of the `free_sums`, up to the first one that needs products with the data."""

    def free_sums(self, products: Array, errors: Array) -> list[Sum]:
        """The entries of A' diag(c) theta for the free coordinates, with bounds on their errors.

        The first is that of the intercept, (0, 0) without an intercept.
        """
        return self.sums_without_products()

    @abstractmethod
    def largest_scale(self) -> float:
        """The largest t with t theta in the domain of the conjugate losses."""


class Objective(Protocol):
    """The interface of a mean loss and a penalty that certificates use.

    Attributes
    ----------
    loss : Loss
        The loss of a row, or of all rows together.
    penalty : Penalty
        R.
    alpha : float
    null_objective : float
        An upper bound on the value of the best constant prediction, up to a relative rounding
        error.
    null_is_allowed : bool
        Whether the best constant prediction satisfies the constraints of the model.
    null_rounding : float
        An upper bound on the part of ``null_objective`` that is due to rounding.
    objective_unit : float
        The scale of objective values: that of the best constant, or of a feasible model where
        constants are not allowed or have no loss.
    n_samples : int
        The number of rows.
    largest_target : float
        The largest of the abs(y_i).
    table_shape : tuple of int
        The shape of ``coef_``; (0,) for models without coefficients of features.
    left_out : ndarray of int
        Coefficients that are fixed at 0, as others imply their columns up to rounding.
    """

    loss: Loss
    penalty: Penalty
    alpha: float
    null_objective: float
    null_is_allowed: bool
    null_rounding: float
    objective_unit: float
    n_samples: int
    largest_target: float
    table_shape: tuple[int, ...]
    left_out: Indices

    @property
    def null_lower_bound(self) -> float:
        """A lower bound on the objective value of every constant prediction."""

    def mean_loss(self, coef: Array, free: Numbers, accuracy: float) -> float:
        """The mean loss sum_i c_i l_i of a model, rounded up.

        ``free`` are the free coordinates: a float where there is only an intercept. Products with
        the data are repeated in twice the working precision where their rounding errors change the
        mean loss by more than ``accuracy``.

        Raises
        ------
        ValueError
            If there is an intercept in a problem without one.
        """

    def precise_mean_loss(self, coef: Array, free: Numbers) -> tuple[float, float]:
        """An upper bound on the mean loss from precise products, and its value without bounds.

        The products are computed in twice the working precision. The second number does not
        include the bounds on rounding errors.
        """

    def free_intervals(self, upper: float) -> list[Interval]:
        """Intervals that contain the free coordinates of every model with P <= upper.

        The first is that of the intercept, (0, 0) without an intercept.
        """

    def intervals_of_constants(self, upper: float) -> list[Interval]:
        """Intervals that contain the intercepts of every constant prediction with P <= upper."""

    def distances_of_products(self, gap: float) -> Array | None:
        """Upper bounds on the distances of A' diag(c) theta from its value at an optimum.

        There is a bound for each coefficient. ``gap`` is the difference between the objective
        value of any model and the lower bound of theta. None where there is no such bound, as for
        losses with kinks.
        """

    def sum_of_means(self, coef: Array, free: Numbers) -> float | None:
        """A lower bound on sum_i c_i a_i with `skpd.losses.Loss.weights_of_means`, or None."""

    def decision_costs(self, coef: Array, free: Numbers, theta: DualVector | None) -> Array | None:
        """Lower bounds on the shares of the gap of a model and theta that decisions may take.

        The entry of a row is how much of the gap it takes that the decisions of the model and of
        an optimal one differ there. None where they are not known.
        """

    def prediction_intervals(
        self, coef: Array, free: Numbers, gap: float, theta: DualVector | None,
        coefficients: Callable[[], Array | None] | None,
    ) -> tuple[Array, Array, Array] | None:  # fmt: skip
        """The ends of intervals of every optimal model's predictions, and the model's own.

        None if they are not known. The intervals need not contain the model's predictions.

        ``coefficients`` returns intervals of the coefficients of optimal models, or None.
        """

    def inactive_rows(self, lower: Array, upper: Array) -> Mask:
        """A mask of the rows whose theta is 0 at every optimum, from those intervals.

        It is empty for losses for which there can be none.
        """

    def plain_dual(self, theta: DualVector) -> DualVector:
        """The dual vector theta as a contiguous array of floats, or the problem's own type."""

    def zero_dual(self, theta: DualVector) -> DualVector:
        """The dual vector 0, of the type and shape of theta."""

    def feasible_point(self, theta: DualVector) -> DualPoint | None:
        """The point nearest to theta in the domain of the conjugate losses; None if it is 0."""

    def projected(self, point: DualPoint) -> DualPoint:
        """The point projected so that its free sums are small; the given point if that fails."""

    def balanced(self, point: DualPoint) -> DualPoint:
        """A point nearby whose free sums vanish in exact arithmetic, if one is proven to exist.

        Otherwise the given point, or one that is no worse, is returned.
        """

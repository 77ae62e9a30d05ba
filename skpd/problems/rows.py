"""The row side of a problem: data, targets, weights and the loss, used through sums (`Rows`)."""

from abc import ABC, abstractmethod
from math import inf, sqrt
from typing import Any, ClassVar, Self

import numpy as np

from .._typing import Array, Numbers
from ..certificates.objective import DualPoint
from ..losses import Loss
from ..penalties import Penalty
from .free import Free
from .null_model import NullModel
from .solution import Point

MARGIN = 1e-9  # relative margin of norms of columns, above their rounding errors
NEAR = 0.5  # w = 0 is not tried for alpha below this times the alpha at which it is optimal


class Rows(ABC):
    """The interface of rows, wherever they are stored and whatever a row predicts.

    Everything of the length of the rows stays behind it. The methods that take the problem use its
    penalty and the cached results of its run.

    Attributes
    ----------
    design : Design
        The data X of shape (n_samples, n_features).
    loss : Loss
        The loss of a row, or of all rows together.
    fit_intercept : bool
        Whether there is a free number in the prediction of each row.
    squares : ndarray of shape (n_features + n_free,) or None
        sum_i c_i x_ij^2, and the weights of the rows of each free number; None where columns of X
        are not features of single coefficients.
    in_memory : bool
        Whether the entries of X, y and the weights are arrays of this process.
    of_outputs, of_entries, of_scores : bool
        Whether a row predicts one of several outputs or an entry of a matrix, or all rows predict
        together. Otherwise a row has one prediction of its own.
    keeps_predictions : bool
        Whether the last predictions of a run are kept for the certificate that follows.
    """

    design: Any
    loss: Loss
    fit_intercept: bool
    squares: Any = None
    in_memory: ClassVar[bool] = True
    of_outputs: ClassVar[bool] = False
    of_entries: ClassVar[bool] = False
    of_scores: ClassVar[bool] = False
    keeps_predictions: ClassVar[bool] = False
    total_weight: float | None = None

    @property
    def absorbs_shifts(self) -> bool:
        """Whether features may be shifted, as there is an intercept or constants do not matter."""
        return self.fit_intercept

    @property
    @abstractmethod
    def largest_target(self) -> float:
        """The largest of the abs(y_i)."""

    # Shapes

    @property
    def n_samples(self) -> int:
        return int(self.design.shape[0])

    @property
    def n_coefficients(self) -> int:
        """The number of penalised coefficients."""
        return int(self.design.shape[1])

    @property
    def coef_shape(self) -> tuple[int, ...]:
        """The shape of coefficients."""
        return (self.n_coefficients,)

    @property
    def n_outputs(self) -> int:
        """The number of vectors of coefficients."""
        return 1

    @property
    def intercept_shape(self) -> tuple[int, ...]:
        """The shape of the intercept, () for a number and (n_outputs,) for several outputs."""
        return ()

    @property
    def table_shape(self) -> tuple[int, ...]:
        """The shape of `coef_table`; (0,) for models without coefficients of features."""
        return (self.n_coefficients,)

    def coef_table(self, coef: Array) -> Array:
        """The coefficients in the shape of ``coef_``, with a row for each of several outputs."""
        return coef

    def dual_table(self, dual_coef: Any) -> Any:
        """The dual point in the shape of ``dual_coef_``, with a row for each sample."""
        return dual_coef

    # Vectors of dual variables

    def plain_dual(self, theta: Any) -> Any:
        """The dual vector theta as a contiguous array of floats, or the type of these rows."""
        return np.ascontiguousarray(theta, dtype=np.float64)

    def zero_dual(self, theta: Any) -> Any:
        """The dual vector 0, of the type and shape of theta."""
        return np.zeros_like(theta, dtype=np.float64)

    def repaired(self, theta: Any) -> Any:
        """The dual point theta with values for the rows that a `RowsLostError` reported lost."""
        return theta

    # Free numbers of the predictions

    @property
    def n_free(self) -> int:
        """The number of free numbers."""
        return int(self.fit_intercept)

    def spread(self, free: Numbers) -> Numbers:
        """The free number in the prediction of each row."""
        return free

    def sums(self, rows: Array) -> Numbers:
        """The sum over the rows of each free number."""
        return rows.sum()

    def free_part(self, numbers: Array) -> Any:
        """The intercept of a model from the last of the primal variables."""
        return float(numbers[0]) if self.fit_intercept else 0.0

    @abstractmethod
    def free_of(self, penalty: Penalty) -> Free:
        """The coordinates that a penalty leaves free."""

    def require_no_intercept(self, free: Numbers) -> None:
        """Raise a ValueError if there is an intercept although none is fitted."""
        if not self.fit_intercept and np.any(np.abs(free) > 0.0):
            raise ValueError(f"intercept must be 0 without fit_intercept, got {free!r}.")

    # The best constant prediction

    @property
    @abstractmethod
    def null(self) -> NullModel:
        """The best constant prediction."""

    @property
    def null_point(self) -> Point:
        """The best constant prediction, with a dual point."""
        return self.null.point

    @property
    @abstractmethod
    def null_gradient(self) -> Array:
        """The gradient of the mean loss in the coefficients at the best constant prediction."""

    def null_may_be_optimal(self, problem: Any) -> bool:
        """Whether the best constant prediction may be optimal, so that a certificate is tried."""
        if problem.penalty.is_quadratic or len(problem.free_columns):
            return False
        return not problem.alpha < NEAR * problem.largest_alpha

    def features_say_nothing(self, problem: Any) -> bool:
        """Whether the gradient at the best constant prediction is 0 up to rounding errors."""
        return False

    # Sums over the rows

    @abstractmethod
    def mean_loss(self, problem: Any, coef: Array, free: Numbers, accuracy: float) -> float:
        """The mean loss of a model, rounded up (`Objective.mean_loss`)."""

    @abstractmethod
    def precise_mean_loss(self, problem: Any, coef: Array, free: Numbers) -> tuple[float, float]:
        """An upper bound on the mean loss from precise products, and its value without bounds."""

    @abstractmethod
    def feasible_point(self, problem: Any, theta: Any) -> DualPoint | None:
        """The point nearest to theta in the domain of the conjugate losses; None if it is 0."""

    @abstractmethod
    def dual_point_of(self, coef: Array, intercept: Numbers) -> Any:
        """The dual point of a model: the gradient of the losses at its predictions."""

    def estimated_gap(self, problem: Any, point: Point) -> float:
        """An estimate of the gap of a point, without bounds on rounding; 0 if it is not known."""
        return 0.0

    def distances_of_slopes(self, problem: Any, gap: float) -> Array | None:
        """The bounds sqrt(2 L gap sum_i c_i x_ij^2) for L-smooth losses; None for others.

        They follow from sum_i c_i (theta_i - theta_i*)^2 <= 2 L gap by Cauchy and Schwarz.
        """
        smoothness = self.loss.smoothness if problem.squares is not None else inf
        if not smoothness < inf:
            return None
        norms = np.sqrt(problem.squares[: self.n_coefficients])
        return sqrt(2.0 * smoothness * gap) * (1.0 + MARGIN) * norms

    def decision_costs(self, problem: Any, coef: Array, free: Numbers, theta: Any) -> Array | None:
        """The shares of a gap that different decisions take; None where they are not known."""
        return None

    def prediction_intervals(
        self, problem: Any, coef: Array, free: Numbers, gap: float
    ) -> tuple[Array, Array] | None:
        """Intervals of the predictions of optimal models; None where they are not known."""
        return None

    def in_order(self, coef: Array, intercept: Numbers) -> Numbers:
        """The intercept changed so that the predictions are in the domain of the loss."""
        return intercept

    # The caches of a run

    def expect(self, problem: Any, point: Point) -> None:  # noqa: B027 (most rows need nothing)
        """Prepare for a certificate of a point, whose sums may need one pass over the rows."""

    def new_products(self, of_path: bool) -> Any:
        """A cache of products X' diag(c) theta; None where a run keeps none."""
        return None

    def new_gram(self, penalty: Penalty) -> Any:
        """A cache of Gram matrices of weighted rows; None where a run keeps none."""
        return None

    def by_columns(self, penalty: Penalty) -> Self:
        """The rows as a path over alpha uses them."""
        return self

    def shift_of_features(self, penalty: Penalty) -> Array | None:
        """The shift of features whose mean is far from 0; None if there are none."""
        return None

    def shifted_intercept(self, intercept: Numbers, shift: Array, coef: Array) -> Numbers:
        """The intercept that gives the same predictions for features minus a shift."""
        return float(intercept) + float(shift @ coef)

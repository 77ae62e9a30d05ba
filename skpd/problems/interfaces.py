"""The interfaces by which the parts of a problem use each other.

`ProblemParts` is a problem as its parts see it, `Rows` are the data, targets, weights and the
loss, used through sums, and `Free` are the coordinates that the penalty leaves unpenalised.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, nan, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np

from .._immutable_base import OfKinds, attribute_of_part, computed
from .._typing import Array, Indices, Numbers
from ..certificates.interface import DualPoint, DualVector, Interval, Objective
from ..designs import Design, DualProducts, WeightedGram
from ..designs.outputs_gram import OutputsGram
from ..losses import Loss
from ..losses.jensen_groups import RowGroup
from ..penalties import Penalty
from .dependence import Dependence
from .linear_constraints import LinearConstraints
from .null_model import NullModel
from .regularisation import Regularisation
from .solution import Point

MARGIN = 1e-9  # relative margin of norms of columns, above their rounding errors
LEAST_NORM = 1e-150  # added to norms as a bound on the effect of underflow of squares
NEAR = 0.99  # w = 0 is not tried for alpha below this times the alpha at which it is optimal

Support = Callable[[float], float]  # a bound on x.w as a function of the radius

Gram = WeightedGram | OutputsGram | None  # a cache of Gram matrices of weighted rows

Dual = TypeVar("Dual", bound=DualVector)  # the type of dual vectors of a kind of rows


class ProblemParts(Objective):
    """The data, loss and penalty of a problem, by the names of the mathematics.

    Rows, unpenalised coordinates, lifts and dual points use a problem through this interface.
    """

    design: Design = attribute_of_part("rows.design")
    y: Array = attribute_of_part("rows.y")
    weights: Array = attribute_of_part("rows.weights")
    loss: Loss = attribute_of_part("rows.loss")
    fit_intercept: bool = attribute_of_part("rows.fit_intercept")
    total_weight: float = attribute_of_part("rows.total_weight")
    penalty: Penalty = attribute_of_part("regularisation.penalty")
    alpha: float = attribute_of_part("regularisation.alpha")
    constraints: LinearConstraints | None = attribute_of_part("regularisation.constraints")
    n_samples: int = attribute_of_part("rows.n_samples")
    n_coefficients: int = attribute_of_part("rows.n_coefficients")
    n_outputs: int = attribute_of_part("rows.n_outputs")
    largest_target: float = attribute_of_part("rows.largest_target")
    squares: Array = attribute_of_part("rows.squares")
    norms: Array = attribute_of_part("rows.norms")
    null_objective: float = attribute_of_part("null.objective")
    null_rounding: float = attribute_of_part("null.rounding")
    null_is_allowed: bool = attribute_of_part("regularisation.allow_zero")
    prediction_scale: float = attribute_of_part("null.prediction_scale")
    free_columns: Indices = attribute_of_part("penalty.free_features.columns")
    has_free_level: bool = attribute_of_part("penalty.free_level")
    left_out: Indices = attribute_of_part("free.left_out")

    rows: "Rows[Any]"
    free: "Free"
    null: NullModel
    regularisation: Regularisation
    workspace: Any  # a `skpd.problems.workspace.Workspace` during a run, otherwise None

    # The products X' diag(c) theta of dual points, with bounds on their errors.
    products: DualProducts
    # An alpha at and above which the best constant is optimal; nan if none is known.
    largest_alpha: float
    # The gradient of the mean loss in the coefficients at the best constant prediction.
    null_gradient: Array
    # The predictions X w + b as a sum of high and low, and a bound on their errors.
    precise_predictions = attribute_of_part("rows.precise_predictions")
    # The coefficients of the model in a vector of variables, or other values for each of them.
    project = attribute_of_part("lift.project")

    def predictions(self, coef: Array, intercept: Numbers) -> tuple[Array, Array]:
        """The predictions X w + b and a bound on their rounding errors."""
        return self.rows.predictions(np.ascontiguousarray(coef), intercept)

    def row_point(self, theta: Array) -> DualPoint:
        """The `DualPoint` of a theta that is in the box of the conjugate losses."""
        return self.rows.row_point(self, theta)


class Free(OfKinds, ABC):
    """Coordinates that the penalty leaves free, such as intercepts, biases and levels.

    Each of them defines a sum over the rows that should vanish for a dual point.
    """

    def __init__(self, rows: "Rows[Any]", penalty: Penalty) -> None:
        self.rows, self.penalty = rows, penalty

    @abstractmethod
    def intervals(self, alpha: float, upper: float) -> list[Interval]:
        """Intervals that contain the unpenalised coordinates of every model with P <= upper."""

    @abstractmethod
    def intervals_of_constants(self, upper: float) -> list[Interval]:
        """Intervals of the intercepts of every constant prediction with P <= upper."""

    # Free coefficients that are fixed at 0, as their columns are combinations of others.
    # They are so up to rounding; certificates are of the problem with this restriction.
    left_out: Indices = np.empty(0, dtype=np.int64)

    # Exponents of 2 of better units for the features; None where theirs are not extreme.
    units: Indices | None = None

    # Whether no feature has a penalty, and the features are independent but badly so.
    all_nearly_dependent: bool = False

    # Whether R(w + m) = R(w) for every constant m.
    has_level: bool = attribute_of_part("penalty.free_level")

    def restricted(self, coef: Array, intercept: Numbers) -> tuple[Array, Numbers]:
        """A model with nearly the same predictions whose ``left_out`` coefficients are 0."""
        return coef, intercept

    def of_least_norm(self, coef: Array, intercept: Numbers) -> tuple[Array, Numbers]:
        """The model with the same predictions whose free coefficients have the least norm."""
        return coef, intercept

    def largest_alpha(self, problem: ProblemParts) -> float:
        """An alpha at and above which the best constant is optimal; nan if none is known."""
        return nan

    def likely_cost(self, gradient: Array, slope: Numbers, alpha: float, upper: float) -> float:
        """An estimate of the reduction of a bound by free sums; 0 if none is known."""
        return 0.0

    def projected(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        """The point projected so that its free sums are small; the given point if that fails."""
        return point

    def balanced(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        """A point nearby whose free sums vanish in exact arithmetic, if one is proven to exist."""
        return self.projected(problem, point)

    # What free coordinates of rows with scalar losses have as well

    if TYPE_CHECKING:
        # The indices of the free coefficients, their columns of X in better units, with the mean
        # squares of these, and which of them depend on others.
        @property
        def columns(self) -> Indices: ...

        @property
        def table(self) -> Array: ...

        @property
        def squares(self) -> Array: ...

        @property
        def dependence(self) -> Dependence: ...

        # Sizes that the intercept and the free coefficients may have.
        @property
        def likely_sizes(self) -> list[float]: ...

        # Bounds on x.w and -x.w for mean rows x, and the interval of the intercept with these.
        def supports(self, means: Sequence[tuple[Array, Array]]) -> list[list[Support]]: ...

        def intercept_with(
            self, upper: float, radius: float, supports: list[list[Support]]
        ) -> Interval: ...


class Rows(OfKinds, ABC, Generic[Dual]):
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
        Whether there is an unpenalised number in the prediction of each row.
    in_memory : bool
        Whether the entries of X, y and the weights are arrays of this process.
    of_outputs, of_scores : bool
        Whether a row predicts one of several outputs, or all rows predict together. Otherwise each
        row has one prediction.
    """

    design: Any  # of the class that these rows use
    loss: Loss
    fit_intercept: bool
    in_memory: ClassVar[bool] = True
    of_outputs: ClassVar[bool] = False
    of_scores: ClassVar[bool] = False
    total_weight: float | None = None

    # Whether X is in memory and each row has predictions of its own.
    has_values: bool = computed(lambda self: self.in_memory and not self.of_scores)

    # Whether features may be shifted, as there is an intercept or constants do not matter.
    absorbs_shifts: bool = attribute_of_part("fit_intercept")

    # sum_i c_i x_ij^2, and the weights of the rows of each unpenalised number.
    # None where columns of X are not features of single coefficients.
    squares: Array | None = None

    @property
    def norms(self) -> Array:
        """Upper bounds on the sqrt(sum_i c_i x_ij^2) of the coefficients, up to rounding."""
        squares = cast(Array, self.squares)[: self.n_coefficients]
        return np.sqrt(squares) + LEAST_NORM

    @property
    @abstractmethod
    def largest_target(self) -> float:
        """The largest of the abs(y_i)."""

    def with_parts(self, **parts: object) -> Self:
        """The rows with other values of some parts, such as the weights."""
        return replace(self, **parts)  # type: ignore[type-var]

    def with_design(self, design: Design) -> Self:
        """The rows with other data in place of X."""
        return self.with_parts(design=design)

    def shifted(self, shift: Array) -> Self:
        """The rows for features from which numbers are subtracted."""
        return self.with_design(self.design.shifted(shift))

    def rows_of(self, samples: Indices) -> Indices:
        """The indices of the rows of some samples, which are equal for one row of each."""
        return samples

    # Shapes

    n_samples: int = computed(lambda self: int(self.design.shape[0]))

    # The number of penalised coefficients.
    n_coefficients: int = computed(lambda self: int(self.design.shape[1]))

    # The shape of coefficients.
    coef_shape: tuple[int, ...] = computed(lambda self: (self.n_coefficients,))

    # The number of vectors of coefficients.
    n_outputs: int = 1

    # The shape of the intercept, () for a number and (n_outputs,) for several outputs.
    intercept_shape: tuple[int, ...] = ()

    # The shape of `coef_table`; (0,) for models without coefficients of features.
    table_shape: tuple[int, ...] = computed(lambda self: (self.n_coefficients,))

    def coef_table(self, coef: Array) -> Array:
        """The coefficients in the shape of ``coef_``, with a row for each of several outputs."""
        return coef

    def dual_table(self, dual_coef: Dual) -> Array:
        """The dual point in the shape of ``dual_coef_``, with a row for each sample."""
        return cast(Array, dual_coef)

    # Vectors of dual variables

    def plain_dual(self, theta: Dual) -> Dual:
        """The dual vector theta as a contiguous array of floats, or the type of these rows."""
        return cast(Dual, np.ascontiguousarray(theta, dtype=np.float64))

    def zero_dual(self, theta: Dual) -> Dual:
        """The dual vector 0, of the type and shape of theta."""
        return cast(Dual, np.zeros_like(theta, dtype=np.float64))

    def repaired(self, theta: Dual) -> Dual:
        """The dual point theta with values for the rows that a `RowsLostError` reported lost."""
        return theta

    # Unpenalised numbers of the predictions

    # The number of unpenalised numbers.
    n_free: int = computed(lambda self: int(self.fit_intercept))

    def spread(self, free: Numbers) -> Numbers:
        """The unpenalised number in the prediction of each row."""
        return free

    def sums(self, rows: Array) -> Numbers:
        """The sum over the rows of each unpenalised number."""
        return rows.sum()

    def intercept_of(self, numbers: Array) -> Numbers:
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

    def null_may_be_optimal(self, problem: ProblemParts) -> bool:
        """Whether the best constant prediction may be optimal, so that a certificate is tried."""
        return problem.alpha >= NEAR * problem.largest_alpha

    def features_say_nothing(self, problem: ProblemParts) -> bool:
        """Whether the gradient at the best constant prediction is 0 up to rounding errors."""
        return False

    # Sums over the rows

    @abstractmethod
    def mean_loss(
        self, problem: ProblemParts, coef: Array, free: Numbers, accuracy: float
    ) -> float:
        """The mean loss of a model, rounded up (`Objective.mean_loss`)."""

    @abstractmethod
    def precise_mean_loss(
        self, problem: ProblemParts, coef: Array, free: Numbers
    ) -> tuple[float, float]:
        """An upper bound on the mean loss from precise products, and its value without bounds."""

    @abstractmethod
    def feasible_point(self, problem: ProblemParts, theta: Dual) -> DualPoint | None:
        """The point nearest to theta in the domain of the conjugate losses; None if it is 0."""

    @abstractmethod
    def dual_point_of(self, coef: Array, intercept: Numbers) -> Dual:
        """The dual point of a model: the gradient of the losses at its predictions."""

    def distances_of_products(self, problem: ProblemParts, gap: float) -> Array | None:
        """The bounds sqrt(2 L gap sum_i c_i x_ij^2) for L-smooth losses; None for others.

        They follow from sum_i c_i (theta_i - theta_i*)^2 <= 2 L gap by Cauchy and Schwarz.
        """
        smoothness = self.loss.smoothness if problem.squares is not None else inf
        if not smoothness < inf:
            return None
        return sqrt(2.0 * smoothness * gap) * (1.0 + MARGIN) * problem.norms

    def sum_of_means(self, problem: ProblemParts, coef: Array, free: Numbers) -> float | None:
        """The sum of the `weights_of_means`, rounded down; None where they are not known."""

    def decision_costs(
        self, problem: ProblemParts, coef: Array, free: Numbers, theta: Dual
    ) -> Array | None:
        """The shares of a gap that different decisions take; None where they are not known."""

    def prediction_intervals(
        self, problem: ProblemParts, coef: Array, free: Numbers, gap: float, theta: Dual | None,
        coefficients: Callable[[], Array | None] | None,
    ) -> tuple[Array, Array, Array] | None:  # fmt: skip
        """Intervals of the predictions of optimal models; None where they are not known."""

    def in_order(self, coef: Array, intercept: Numbers) -> Numbers:
        """The intercept changed so that the predictions are in the domain of the loss."""
        return intercept

    # The caches of a run

    def expect(self, problem: ProblemParts, point: Point) -> None:
        """Prepare for a certificate of a point, whose sums may need one pass over the rows."""

    def new_products(self, of_path: bool) -> DualProducts | None:
        """A cache of products X' diag(c) theta; None where a run keeps none."""

    def new_gram(self, penalty: Penalty) -> Gram:
        """A cache of Gram matrices of weighted rows; None where a run keeps none."""

    def by_columns(self, penalty: Penalty) -> Self:
        """The rows as a path over alpha uses them."""
        return self

    def shift_of_features(self, penalty: Penalty) -> Array | None:
        """The shift of features whose mean is far from 0; None if there are none."""

    def shifted_intercept(self, intercept: Numbers, shift: Array, coef: Array) -> Numbers:
        """The intercept that gives the same predictions for features minus a shift."""
        return float(intercept) + float(shift @ coef)

    # What only rows with a target and a weight for each prediction have, or some of them

    if TYPE_CHECKING:

        @property
        def y(self) -> Array: ...

        @property
        def weights(self) -> Array: ...

        # Groups of rows whose mean losses bound constants, and the mean rows of X of these.
        @property
        def row_groups(self) -> list[RowGroup]: ...

        @property
        def mean_rows(self) -> list[tuple[Array, Array]]: ...

        # The predictions of the best constant, and the derivative of the mean loss there.
        @property
        def null_predictions(self) -> Array: ...

        @property
        def null_slope(self) -> float: ...

        # The number of rows with a positive weight, or of scores that may stand for others.
        @property
        def n_weighty(self) -> int: ...

        # The weight of the rows of each unpenalised number.
        @property
        def weights_of_free(self) -> Numbers: ...

        # The sums A' diag(c) A of A = (X, 1), with bounds on their errors.
        @property
        def second_moments(self) -> tuple[Array, Array, int]: ...

        # The indices of the rows of each of several outputs, and the rows of one.
        @property
        def row_indices(self) -> list[Indices]: ...

        def of_output(self, k: int) -> "Rows[Any]": ...

        # Subsets of rows, samples and features; a reproducible random sample.
        def of_rows(self, rows: Indices) -> Self: ...

        def of_samples(self, samples: Indices) -> Self: ...

        def of_columns(self, columns: Indices) -> "Rows[Any]": ...

        def random_sample(self, size: int) -> "Rows[Any]": ...

        # These rows as those of ``whole`` without some samples, if their weights say so.
        def without(self, samples: Indices, whole: "Rows[Any]") -> Self: ...

        # Those of hazards in the limit along directions, given by levels of their scores.
        def in_limit(self, levels: Sequence[Indices]) -> Self: ...

        # The products X' diag(c) theta of a dual point; predictions with bounds on their errors.
        def gradient_of(self, theta: Dual) -> Array: ...

        def predictions(self, coef: Array, intercept: Numbers) -> tuple[Array, Array]: ...

        def precise_predictions(
            self, coef: Array, intercept: Numbers
        ) -> tuple[Array, Array, Array]: ...

        def row_point(self, problem: ProblemParts, theta: Dual) -> DualPoint: ...

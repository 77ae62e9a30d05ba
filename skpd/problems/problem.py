"""The optimisation problem of every model, made of parts (`Problem`)."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self, cast

import numpy as np

from .._immutable_base import attribute_of_part, computed
from .._typing import Array, Indices, Mask, Numbers
from ..certificates.interface import DualPoint, DualVector, Interval
from ..certificates.relative_gaps import bound_on_constants
from ..certificates.rigorous import rigorous_primal
from ..designs import DualProducts
from ..penalties import Penalty
from .constrained_points import ConstrainedPoint
from .interfaces import Free, ProblemParts, Rows
from .lifts import IN_COEFFICIENTS, Lift
from .null_model import NullModel
from .plan import Plan
from .prediction_intervals import inactive_rows
from .regularisation import Regularisation
from .solution import Point
from .workspace import Workspace


@dataclass(frozen=True, eq=False)
class Problem(ProblemParts):
    """The problem of minimising the mean loss plus alpha R(w) over w and free numbers f.

    The model is a choice of parts. The methods that return a new problem share what is known of
    the parts that they do not change.

    Parameters
    ----------
    rows : Rows
        Data, targets, weights and the loss.
    regularisation : Regularisation
        The penalty R, its weight alpha, and linear constraints.
    workspace : Workspace, default=None
        Results that one run, or the runs along a path, keep; see `in_workspace`.
    free : Free, default=None
        The coordinates that the penalty leaves free: those of the rows and the penalty.
    lift : Lift, default=IN_COEFFICIENTS
        The maps between the variables and the coefficients of a model; by default the same.
    plan : Plan, default=None
        How the problem is solved; by default by the rules for all problems.

    Raises
    ------
    ValueError
        If the penalty or the constraints do not fit the rows.
    """

    rows: Rows[Any]
    regularisation: Regularisation
    workspace: Workspace | None = field(default=None, repr=False)
    free: Free = field(default=cast(Free, None), repr=False)
    lift: Lift = IN_COEFFICIENTS
    plan: Plan | None = None

    def __post_init__(self) -> None:
        # dataclasses.replace copies what belongs to another problem
        rows, free = self.rows, self.free
        if self.workspace is not None and self.workspace.rows is not rows:
            self._fix("workspace", None)
        if free is None or free.rows is not rows or free.penalty is not self.penalty:
            self._fix("regularisation", self.regularisation.for_n_features(rows.n_coefficients))
            self._fix("free", rows.free_of(self.penalty))
        self.regularisation.require_consistent()

    def _fix(self, name: str, value: "Workspace | Regularisation | Free | None") -> None:
        """Set an attribute of a new problem during its initialisation."""
        object.__setattr__(self, name, value)

    # Problems that share parts with this one

    def with_alpha(self, alpha: float) -> Self:
        """The problem with another alpha, which shares rows and free coordinates."""
        changed = self.lift.regularisation_at(self.regularisation, alpha)
        other = replace(self, regularisation=changed)
        if self.null is self.rows.null:  # then the bound is the same as well
            vars(other)["null_lower_bound"] = self.null_lower_bound
        return other

    def with_penalty(self, penalty: Penalty, alpha: float) -> Self:
        """The problem with another penalty and alpha, for the same rows."""
        changed = replace(self.regularisation, penalty=penalty, alpha=alpha)
        return replace(self, regularisation=changed)

    def of_rows(self, rows: Rows[Any]) -> Self:
        """The problem with other rows, or another form of the same rows."""
        return replace(self, rows=rows)

    def of_samples(self, samples: Indices) -> Self:
        """The problem of a subset of the samples, as for a fit of only these."""
        return self.of_rows(self.rows.of_samples(samples))

    def of_columns(self, columns: Indices, penalty: Penalty) -> "Problem":
        """The problem of a subset of the features, with a penalty on these and alpha = 1."""
        return Problem(self.rows.of_columns(columns), Regularisation(penalty, 1.0))

    def in_workspace(self, of_path: bool = False) -> Self:
        """The problem with a workspace for one run, or for the runs along a path."""
        return replace(self, workspace=Workspace(self.rows, self.penalty, of_path))

    def by_columns(self) -> Self:
        """The problem prepared for a path, with X stored by columns if Newton's method is used."""
        rows = self.rows.by_columns(self.penalty)
        return self.of_rows(rows).in_workspace(of_path=rows is not self.rows)

    # Models

    def extend(self, coef: Array, intercept: Numbers) -> Array:
        """The variables of a model, with the best values of those beside its coefficients."""
        return self.lift.extend(self, coef, intercept)

    def coef_table(self, coef: Array) -> Array:
        """The coefficients of the model in the shape of ``coef_``."""
        return self.rows.coef_table(self.project(coef))

    @property
    def table_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        *others, last = self.rows.table_shape
        return *others, last - self.lift.n_more

    # Whether X is in memory and each row has predictions of its own.
    has_values = attribute_of_part("rows.has_values")

    # Whether X is in memory and each row has one prediction.
    has_single_values = computed(lambda self: self.has_values and not self.rows.of_outputs)

    # The number of primal variables: the coefficients, followed by the free numbers.
    n_variables = computed(lambda self: self.n_coefficients + int(self.rows.n_free))

    def split(self, variables: Array) -> tuple[Array, Numbers]:
        """The pair (coef, intercept) of a vector of primal variables."""
        coef = variables[: self.n_coefficients]
        return coef, self.rows.intercept_of(variables[self.n_coefficients :])

    def join(self, coef: Array, intercept: Numbers) -> Array:
        """The vector of primal variables of (coef, intercept)."""
        variables = np.empty(self.n_variables)
        variables[: self.n_coefficients] = coef
        if self.n_variables > self.n_coefficients:
            variables[self.n_coefficients :] = intercept
        return variables

    def matvec(self, variables: Array) -> Array:
        """The predictions z = X w + b."""
        coef, intercept = self.split(variables)
        z = self.design.matvec(np.ascontiguousarray(coef))
        return z + self.rows.spread(intercept) if self.fit_intercept else z

    def rmatvec(self, rows: Array) -> Array:
        """The transpose of `matvec` applied to a vector of the rows."""
        product = self.design.rmatvec(rows)
        return np.append(product, self.rows.sums(rows)) if self.fit_intercept else product

    def prox(self, variables: Array, step: Array | float) -> Array:
        """The proximal operator of step alpha R(w), which does not change the intercept.

        ``step`` is a float or an array of shape (n_variables,).
        """
        d = self.n_coefficients
        coef_step = (step[:d] if isinstance(step, np.ndarray) else step) * self.alpha
        out = variables.copy()
        out[:d] = self.penalty.prox(np.ascontiguousarray(variables[:d]), coef_step)
        return out

    def feasible_model(self, coef: Array, intercept: Numbers) -> tuple[Array, Numbers]:
        """A model nearby with a finite objective value, whose coefficients the penalty allows.

        The given model is returned, up to rounding, if its objective value is finite.
        """
        coef, intercept = self.free.restricted(coef, intercept)
        feasible = self.penalty.feasible(coef)
        if self.constraints is not None:
            restored = self.regularisation.restored(feasible)
            if restored is not feasible and self.fit_intercept:  # the mean prediction is kept
                intercept -= float(self.weights @ self.design.matvec(restored - feasible))
            feasible = restored
        intercept = self.rows.in_order(feasible, intercept)
        return self.extend(feasible, intercept), intercept

    def mean_loss(self, coef: Array, free: Numbers, accuracy: float) -> float:
        if not self.regularisation.hold(coef):
            return np.inf
        return float(self.rows.mean_loss(self, coef, free, accuracy))

    def precise_mean_loss(self, coef: Array, free: Numbers) -> tuple[float, float]:
        if not self.regularisation.hold(coef):
            return np.inf, np.inf
        return self.rows.precise_mean_loss(self, coef, free)

    # The best constant prediction

    @cached_property
    def null(self) -> NullModel:  # type: ignore[override]
        return self.lift.null(self.rows, self.alpha)

    @property
    def null_point(self) -> Point:
        return self.rows.null_point if self.null is self.rows.null else self.null.point

    @cached_property
    def null_gradient(self) -> Array:  # type: ignore[override]
        """The gradient of the mean loss in the coefficients at the best constant prediction."""
        rows, null = self.rows, self.null
        return rows.null_gradient if null is rows.null else rows.gradient_of(null.point.dual_coef)

    @cached_property
    def objective_unit(self) -> float:  # type: ignore[override]
        """The scale of objective values: that of the best constant or of a model.

        The value of a feasible model is used where constraints do not allow constant predictions
        or where these have no loss.
        """
        unit = self.null.unit
        if self.null_is_allowed or 0.0 < unit <= self.null_objective:
            return unit
        coef, constant = np.zeros(self.n_coefficients), self.null_point.intercept
        coef, intercept = self.feasible_model(coef, constant)
        value = rigorous_primal(self, coef, intercept)[0]
        return max(unit, value) if value < np.inf else unit  # if no feasible model was found

    @cached_property
    def null_lower_bound(self) -> float:
        """A lower bound on the objective value of every constant prediction."""
        null = self.null
        if null.lower is not None:
            return null.lower
        return bound_on_constants(self, null.objective, self.null_point.dual_coef)

    @property
    def null_may_be_optimal(self) -> bool:
        """Whether the best constant prediction may be optimal, so that a certificate is tried."""
        return self.null_is_allowed and bool(self.rows.null_may_be_optimal(self))

    @cached_property
    def largest_alpha(self) -> float:  # type: ignore[override]
        """An alpha at and above which the best constant is optimal; nan if none is known."""
        return float(self.lift.largest_alpha(self)) if self.null_is_allowed else np.nan

    @property
    def features_say_nothing(self) -> bool:
        """Whether the best constant is optimal for every alpha, up to rounding errors."""
        return self.largest_alpha == 0.0 or bool(self.rows.features_say_nothing(self))

    # Dual points

    @property
    def products(self) -> DualProducts:  # type: ignore[override]
        """The products X' diag(c) theta of dual points, with bounds on their errors."""
        if self.workspace is None:
            return DualProducts(self.design, self.weights)
        return cast(DualProducts, self.workspace.products)

    @property
    def has_incremental_products(self) -> bool:
        """Whether products for successive similar dual points cost less than for others."""
        products = None if self.workspace is None else self.workspace.products
        return products is not None and products.incremental

    def prox_dual(self, theta: Array, step: Array | float) -> Array:
        """The prox of ``step`` times the conjugate loss, for every dual variable."""
        return self.loss.prox_conjugate(self.y, theta, step)

    # The dual point of a model: the gradient of the losses at its predictions.
    dual_point_of = attribute_of_part("rows.dual_point_of")
    plain_dual = attribute_of_part("rows.plain_dual")

    def dual_table(self, dual_coef: DualVector) -> Array:
        """The dual point in the shape of ``dual_coef_``, with a row for each sample."""
        return self.rows.dual_table(self._of_rows(dual_coef))

    def _of_rows(self, theta: DualVector) -> DualVector:
        """The part of a dual vector that belongs to the rows, which multipliers may follow."""
        return theta if self.constraints is None else cast(Array, theta)[: self.n_samples]

    def zero_dual(self, theta: DualVector) -> DualVector:
        if self.constraints is not None:
            return np.zeros(self.n_samples + len(self.constraints))
        return self.rows.zero_dual(theta)

    def distances_of_products(self, gap: float) -> Array | None:
        if self.constraints is not None:
            return None  # there is no bound on the optimal multipliers, on which slopes depend
        return self.rows.distances_of_products(self, gap)

    def sum_of_means(self, coef: Array, free: Numbers) -> float | None:
        coef = np.ascontiguousarray(coef, dtype=np.float64)
        return self.rows.sum_of_means(self, coef, free)

    def decision_costs(self, coef: Array, free: Numbers, theta: DualVector | None) -> Array | None:
        if not self.lift.same_predictions:
            return None
        of_rows = self.lift.in_domain(self.rows, self._of_rows(cast(DualVector, theta)))
        coef = np.ascontiguousarray(coef, dtype=np.float64)
        return self.rows.decision_costs(self, coef, free, of_rows)

    def prediction_intervals(
        self, coef: Array, free: Numbers, gap: float, theta: DualVector | None,
        coefficients: Callable[[], Array | None] | None,
    ) -> tuple[Array, Array, Array] | None:  # fmt: skip
        if not (self.lift.same_predictions and gap < np.inf):
            return None
        coef = np.ascontiguousarray(coef, dtype=np.float64)
        of_rows = None if theta is None else self.lift.in_domain(self.rows, self._of_rows(theta))
        return self.rows.prediction_intervals(self, coef, free, gap, of_rows, coefficients)

    def inactive_rows(self, lower: Array, upper: Array) -> Mask:
        return inactive_rows(self, lower, upper)

    def free_intervals(self, upper: float) -> list[Interval]:
        return self.free.intervals(self.alpha, upper)

    intervals_of_constants = attribute_of_part("free.intervals_of_constants")

    def feasible_point(self, theta: DualVector) -> DualPoint | None:
        of_rows = self.lift.in_domain(self.rows, self._of_rows(theta))
        point = self.rows.feasible_point(self, of_rows)
        if self.constraints is None:
            return point
        mu = np.zeros(len(self.constraints))
        of_constraints = cast(Array, theta)[self.n_samples :]
        mu[: len(of_constraints)] = of_constraints
        mu = self.constraints.multipliers(mu)
        if point is None and np.any(mu):
            point = self.row_point(np.zeros(self.n_samples))
        return None if point is None else ConstrainedPoint(self.constraints, point, mu)

    def projected(self, point: DualPoint) -> DualPoint:
        return self._changed(point, partial(self.free.projected, self))

    def balanced(self, point: DualPoint) -> DualPoint:
        return self._changed(point, partial(self.free.balanced, self))

    def _changed(self, point: DualPoint, change: Callable[..., DualPoint]) -> DualPoint:
        """The point with a change of the part that belongs to the rows."""
        if not isinstance(point, ConstrainedPoint):
            return change(point)
        return point.with_rows(change(point.inner))

"""The optimisation problem of linear models with a scalar loss for each row (`Problem`)."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array, Indices
from ..certificates import dual_estimate
from ..designs import Design, DualProducts
from ..designs.sampling import uniform_by_place
from ..losses import Loss
from ..penalties import Penalty
from .column_side import ColumnSide
from .free_directions import FreeDirections
from .row_objective import RowObjective
from .solution import Point
from .workspace import Workspace

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False)
class Problem(ColumnSide, RowObjective):
    """The problem of minimising sum_i c_i l(y_i, x_i.w + b) + alpha R(w) over w and b.

    Instances are immutable: methods such as `with_alpha` return a new problem.

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
        The sum of the sample weights before they were divided by it; the number of rows by
        default.
    workspace : Workspace, default=None
        Results that one run, or the runs along a path, keep; see `in_workspace`.

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
    workspace: Workspace | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self._fix("penalty", self.penalty.bind(self.design.shape[1]))
        if self.total_weight is None:
            self._fix("total_weight", float(self.design.shape[0]))
        if self.workspace is not None and not self.workspace.fits(self):
            self._fix("workspace", None)  # dataclasses.replace copies it from another problem

    def _fix(self, name: str, value: Any) -> None:
        """Set an attribute of a new problem during its initialisation."""
        object.__setattr__(self, name, value)

    def in_workspace(self, of_path: bool = False) -> "Problem":
        """The problem with a workspace for one run, or for the runs along a path."""
        return self._with(workspace=Workspace(self, of_path))

    def shift_of_features(self) -> Array | None:
        """The shift of features whose mean is far from 0; None if there are none."""
        return self.design.shift_of_columns(self.weights)

    def of_design(self, design: Any) -> "Problem":
        """The problem with another design in place of X."""
        return replace(self, design=design, workspace=None)

    def of_rows(self, rows: Indices) -> "Problem":
        """The problem of a subset of the rows, whose weights are divided by their sum."""
        weights = self.weights[rows]
        return Problem(
            design=self.design.rows(rows),
            y=self.y[rows],
            weights=weights / float(np.sum(weights)),
            loss=self.loss,
            penalty=self.penalty,
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
        )

    @property
    def n_weighty(self) -> int:
        """The number of rows with a positive weight."""
        return int(np.count_nonzero(self.weights > 0.0))

    @property
    def most_copied_rows(self) -> float:
        """The largest number of rows that a solver may copy to work on a subset of them."""
        return self.design.most_copied_rows

    def random_sample(self, size: int) -> "Problem":
        """The problem of a reproducible random sample of about ``size`` rows.

        Rows that belong together, such as the outputs of a sample, stay together.
        """
        heavy, share = self.weights > 0.0, size / max(self.n_weighty, 1)
        chosen = np.flatnonzero((uniform_by_place(np.arange(len(heavy))) < share) & heavy)
        return self.of_rows(self.design.whole_rows(chosen))

    def of_columns(self, columns: Indices, penalty: Penalty) -> "Problem":
        """The problem of a subset of the features, with a penalty on these and alpha = 1."""
        return Problem(
            design=self.design.columns(columns),
            y=self.y,
            weights=self.weights,
            loss=self.loss,
            penalty=penalty,
            alpha=1.0,
            fit_intercept=self.fit_intercept,
        )

    def rows_of(self, samples: Indices) -> Indices:
        """The indices of the rows of some samples, which are equal for a single output."""
        return samples

    def of_samples(self, samples: Indices) -> "Problem":
        """The problem of a subset of the samples, as for a fit of only these.

        A sample whose index occurs twice counts twice. The weights must not all be 0.
        """
        rows = self.rows_of(samples)
        weights = self.weights[rows]
        share = float(np.sum(weights)) / float(np.sum(self.weights))
        return replace(
            self,
            design=self.design.rows(rows),
            y=self.y[rows],
            weights=weights / share,
            total_weight=float(self.total_weight or self.n_samples) * share,
            workspace=None,
        )

    def by_columns(self) -> "Problem":
        """The problem prepared for a path, with X stored by columns if Newton's method is used."""
        penalty = self.penalty
        by_newton = penalty.structure.in_parts and not penalty.is_quadratic
        if self.loss.linear_tails or not by_newton:
            return self.in_workspace()
        return self._with(design=self.design.by_columns).in_workspace(of_path=True)

    def estimated_gap(self, point: Point) -> float:
        theta = point.dual_coef
        at_null = point is self.null_point
        gradient = self.null_gradient if at_null else self.design.rmatvec(self.weights * theta)
        z = self.matvec(self.join(point.coef, point.intercept))
        upper = float(np.sum(self.weights * self.loss.value(self.y, z)))
        upper += self.alpha * self.penalty.value(point.coef)
        value = -float(np.sum(self.weights * self.loss.conjugate(self.y, theta)))
        value -= self.likely_cost_of_free(gradient, kernels.dot(self.weights, theta), upper)
        return upper - dual_estimate(self, value, gradient, upper)

    @property
    def incremental_products(self) -> bool:
        return self.products.incremental

    @property
    def products(self) -> DualProducts:
        """The products X' diag(c) theta of dual points, with bounds on their errors."""
        if self.workspace is None:
            return DualProducts(self.design, self.weights)
        return self.workspace.products

    @property
    def centred(self) -> "tuple[Problem, Array] | None":
        """The problem with features far from 0 shifted to mean 0, and the shift.

        With an intercept b, predictions x.w + b are (x - shift).w + b' for b' = b + shift.w. So
        the problems are equivalent, but the shifted one is better conditioned. None where no
        feature is far from 0, or without an intercept.
        """
        if not self.fit_intercept:
            return None
        workspace = self.workspace
        if workspace is not None and workspace.centred is not None:
            base, shift = workspace.centred
        else:
            shift = self.shift_of_features()
            base = None
            if shift is not None:
                base = self.of_design(self.design.shifted(shift))
                base = base.in_workspace(workspace is not None and workspace.of_path)
            if workspace is not None:
                workspace.centred = base, shift
        return None if base is None else (base.with_penalty(self.penalty, self.alpha), shift)

    @cached_property
    def squares(self) -> Array:
        """The sums sum_i c_i x_ij^2, followed by 1 for an intercept."""
        squares = self.design.column_norms(self.weights) ** 2
        return np.append(squares, 1.0) if self.fit_intercept else squares

    def matvec(self, variables: Array) -> Array:
        """The predictions z = X w + b."""
        coef, intercept = self.split(variables)
        z = self.design.matvec(np.ascontiguousarray(coef))
        return z + intercept if self.fit_intercept else z

    def predictions(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        """The predictions X w + b and a bound on their rounding errors."""
        coef = np.ascontiguousarray(coef)
        if self.workspace is None:
            return self.design.matvec_bounded(coef, float(intercept))
        return self.workspace.predictions(coef, float(intercept))

    def precise_predictions(self, coef: Array, intercept: Any) -> tuple[Array, Array, Array]:
        """The predictions X w + b as a sum of high and low, and a bound on their errors."""
        return self.design.matvec_compensated(coef, float(intercept))

    def rmatvec(self, rows: Array) -> Array:
        """The transpose of `matvec` applied to a vector of the rows."""
        product = self.design.rmatvec(rows)
        return np.append(product, rows.sum()) if self.fit_intercept else product

    def prox(self, variables: Array, step: Array | float) -> Array:
        """The proximal operator of step alpha R(w), which does not change the intercept.

        ``step`` is a float or an array of shape (n_variables,).
        """
        if not self.fit_intercept:
            return self.penalty.prox(variables, step * self.alpha)
        coef_step = (step[:-1] if isinstance(step, np.ndarray) else step) * self.alpha
        out = variables.copy()
        out[:-1] = self.penalty.prox(variables[:-1], coef_step)
        return out

    def prox_dual(self, theta: Array, step: Array | float) -> Array:
        """The prox of ``step`` times the conjugate loss, for every dual variable."""
        return self.loss.prox_conjugate(self.y, theta, step)

    def dual_point(self, predictions: Array) -> Array:
        """The dual point of predictions: the derivatives of the losses there."""
        return self.loss.gradient(self.y, predictions)

    def dual_point_of(self, coef: Array, intercept: Any) -> Array:
        return self.dual_point(self.matvec(self.join(coef, intercept)))

    # The best constant prediction, which fixes the unit of the relative gap

    @cached_property
    def null_point(self) -> Point:
        """The best constant prediction, with a subgradient of the losses there as dual point.

        Where the loss has a kink, the subgradient is one whose weighted sum is 0.
        """
        b = 0.0
        if self.fit_intercept:
            b = self.loss.best_constant(self.y, self.weights)
            b = b if np.isfinite(b) else 0.0
        theta = self.loss.gradient(self.y, np.full(self.n_samples, b))
        if self.fit_intercept and not np.isfinite(self.loss.smoothness):
            near = 1e-9 * (1.0 + abs(b) + np.abs(self.y))
            ends = [self.loss.gradient(self.y, b + side * near) for side in (-1.0, 1.0)]
            with suppress(ValueError):  # because of rounding there may be no such point
                theta = kernels.project_box_hyperplane(
                    theta, np.minimum(*ends), np.maximum(*ends), self.weights, self.weights, 0.0
                )
        return Point(np.zeros(self.n_features), b, theta)

    @cached_property
    def null_gradient(self) -> Array:
        """The gradient of the mean loss in w at the null model, of shape (n_features,)."""
        return self.design.rmatvec(self.weights * self.null_point.dual_coef)

    @property
    def null_slope(self) -> float:
        """The derivative of the mean loss in the intercept at the null model."""
        return kernels.dot(self.weights, self.null_point.dual_coef)

    @cached_property
    def null_predictions(self) -> Array:
        """The predictions of the best constant, of shape (n_samples,)."""
        return np.full(self.n_samples, self.null_point.intercept)

    @cached_property
    def null_objective(self) -> float:
        """The objective value at the null model, rounded up to a relative rounding error."""
        z = self.null_predictions
        return float(np.sum(self.weights * self.loss.largest(self.y, z, 0.0, 0.0)))

    @cached_property
    def null_rounding(self) -> float:
        """The increase of `null_objective` by bounds on rounding errors."""
        z = self.null_predictions
        plain = float(np.sum(self.weights * self.loss.value(self.y, z)))
        return max(self.null_objective - plain, 0.0)

    @cached_property
    def objective_unit(self) -> float:
        """The denominator of relative gaps: P at the null model, or its rounding error."""
        if not np.any(self.null_point.intercept):
            return self.null_objective
        at_zero = float(np.sum(self.weights * self.loss.value(self.y, np.zeros(self.n_samples))))
        return max(self.null_objective, EPSILON * at_zero)

    @cached_property
    def prediction_scale(self) -> float:
        """The scale of predictions: the loss of the best constant over its mean slope there."""
        slope = float(self.weights @ np.abs(self.loss.gradient(self.y, self.null_predictions)))
        return self.null_objective / slope if slope > 0.0 and self.null_objective > 0.0 else 1.0

    @cached_property
    def free(self) -> FreeDirections:
        """The intercept and other directions that the penalty leaves free."""
        return FreeDirections(
            self.design, self.y, self.weights, self.loss, self.penalty, self.fit_intercept
        )

"""Rows in the memory of this process, with a scalar loss for each (`RowsInMemory`)."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, sqrt
from typing import Any, ClassVar, Self, cast

import numpy as np

from .. import kernels
from .._floats import without_negligible
from .._immutable_base import computed
from .._typing import Array, Indices, Numbers
from ..certificates.interface import DualPoint
from ..designs import Design, DualProducts, DualProductsOfPath, WeightedGram
from ..designs.outputs_gram import OutputsGram
from ..designs.sampling import uniform_by_index
from ..losses import Loss
from ..losses.jensen_groups import RowGroup
from ..penalties import Penalty, Structure
from .dual_points import RowPoint
from .free_directions import FreeDirections
from .interfaces import Free, ProblemParts, Rows
from .null_model import NullModel, null_model
from .pinned_rows import intervals_of_pinned_rows
from .prediction_intervals import prediction_intervals
from .problem import Problem
from .regularisation import Regularisation
from .solution import Point

PLAIN = 1e-11  # rounding errors below this times the mean loss need no precise products
SMALLEST = 1e-60  # multipliers below this times the largest are set to 0 against underflow
ROUNDED = 1e-12  # a relative rounding error of weights divided by their sum
FLAT = 1e-12  # a gradient below this times its largest possible size is a rounding error


@dataclass(frozen=True, eq=False)
class RowsInMemory(Rows[Any]):
    """The rows of sum_i c_i l(y_i, x_i.w + b).

    Parameters
    ----------
    design : Design
        The data X of shape (n_samples, n_features).
    y : ndarray of shape (n_samples,)
        Targets; -1 and 1 for a `MarginLoss`.
    weights : ndarray of shape (n_samples,)
        The weights c_i >= 0, which sum to 1.
    loss : Loss
    fit_intercept : bool, default=True
        Whether b is free, or 0.
    total_weight : float, default=None
        The sum of the sample weights before they were divided by it; the number of rows by
        default.
    """

    design: Design
    y: Array
    weights: Array
    loss: Loss
    fit_intercept: bool = True
    total_weight: float | None = None
    # The same rows in another layout; and the rows that these are a part of, with the others and
    # the share of the weight of these
    original: "RowsInMemory | None" = field(default=None, repr=False)
    part_of: "tuple[RowsInMemory, RowsInMemory, float] | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.total_weight is None:
            object.__setattr__(self, "total_weight", float(self.design.shape[0]))

    @cached_property
    def largest_target(self) -> float:
        return float(np.max(np.abs(self.y), initial=0.0))

    @cached_property
    def squares(self) -> Array:  # type: ignore[override]
        if self.original is not None:
            return self.original.squares
        with np.errstate(over="ignore"):
            squares = self.norms**2
        return np.append(squares, self.weights_of_free) if self.fit_intercept else squares

    @cached_property
    def norms(self) -> Array:
        if self.original is not None:
            return self.original.norms
        return self.design.column_norms(self.weights)

    # The weight of the rows of each unpenalised number, which is 1 for a single one.
    weights_of_free: ClassVar[Numbers] = 1.0

    # Subsets and other forms

    def with_design(self, design: Design) -> Self:
        """The rows with other data in place of X."""
        return replace(self, design=design, original=None, part_of=None)

    def of_columns(self, columns: Indices) -> "RowsInMemory":
        return replace(self.with_design(self.design.columns(columns)), total_weight=None)

    def _share(self, rows: Indices) -> float:
        """The share of some rows of the weights."""
        return float(np.sum(self.weights[rows])) / float(np.sum(self.weights))

    def of_rows(self, rows: Indices) -> Self:
        """A subset of the rows, whose weights are divided by their share of all."""
        return replace(
            self, design=self.design.rows(rows), y=self.y[rows],
            weights=self.weights[rows] / self._share(rows), total_weight=None, original=None,
            part_of=None,
        )  # fmt: skip

    def of_samples(self, samples: Indices) -> Self:
        """The rows of a subset of the samples, as for a fit of only these.

        A sample whose index occurs twice counts twice. The weights must not all be 0.
        """
        rows = self.rows_of(samples)
        total_weight = float(self.total_weight or self.n_samples) * self._share(rows)
        return replace(self.of_rows(rows), total_weight=total_weight)

    def without(self, samples: Indices, whole: Rows[Any]) -> Self:
        """These rows as those of ``whole`` without some samples, if their weights say so.

        Then sums of products of features are differences of those of the others.
        """
        every = whole.as_kind(RowsInMemory)
        held_out, weights = every.rows_of(samples), every.weights
        share = every._share(held_out)
        kept = np.delete(weights, held_out) if share < 1.0 else weights[:0]
        is_rest = self.n_samples == len(kept) == every.n_samples - len(held_out)
        if not (is_rest and np.allclose(kept, (1.0 - share) * self.weights, ROUNDED, 0.0)):
            return self
        return replace(self, part_of=(every, every.of_samples(samples), share))

    @cached_property
    def second_moments(self) -> tuple[Array, Array, int]:
        """The sums A' diag(c) A of A = (X, 1), or of X without an intercept.

        With them come norms N and a number n of terms, with which n EPSILON N_j N_k bounds their
        rounding errors.
        """
        if self.original is not None:
            return self.original.second_moments
        if self.part_of is not None:
            whole, held_out, share = self.part_of
            (gram, norms, n), (other, *_) = whole.second_moments, held_out.second_moments
            # the errors of both, of which the second has smaller norms times its share
            norms = sqrt(2.0 / (1.0 - share)) * norms
            return (gram - share * other) / (1.0 - share), norms, n
        n_outputs = self.n_samples // self.design.base.shape[0]
        h, d = np.ascontiguousarray(self.weights[::n_outputs]), self.design.base.shape[1]
        gram = self.design.base.gram(h, np.arange(d), bool(self.fit_intercept))
        return gram, np.sqrt(np.diagonal(gram)), len(h)

    @cached_property
    def n_weighty(self) -> int:
        return int(np.count_nonzero(self.weights > 0.0))

    def random_sample(self, size: int) -> Self:
        """A reproducible random sample of about ``size`` rows, whose weights sum to 1.

        Rows that belong together, such as the outputs of a sample, stay together.
        """
        heavy, share = self.weights > 0.0, size / max(self.n_weighty, 1)
        chosen = np.flatnonzero((uniform_by_index(self.design.samples) < share) & heavy)
        return self.of_rows(self.design.whole_rows(chosen))

    def by_columns(self, penalty: Penalty) -> Self:
        """The rows with X stored by columns, if Newton's method follows a path over alpha."""
        by_newton = penalty.structure.is_block_separable and not penalty.is_quadratic
        if self.loss.linear_tails or not by_newton:
            return self
        return replace(self, design=self.design.by_columns, original=self)

    def shift_of_features(self, penalty: Penalty) -> Array | None:
        return self.design.shift_of_columns(self.weights)

    # The caches of a run

    def new_products(self, of_path: bool) -> DualProducts:
        kind = DualProductsOfPath if of_path else DualProducts
        return kind(self.design, self.weights)

    def new_gram(self, penalty: Penalty) -> WeightedGram | OutputsGram:
        is_smooth = penalty.is_quadratic and penalty.is_finite
        by_systems = is_smooth and penalty.structure is Structure.SEPARABLE
        changes_little = self.loss.constant_curvature or not self.loss.piecewise_quadratic
        by_systems = by_systems and self.design.dense and changes_little
        return WeightedGram(bool(self.fit_intercept), by_systems=by_systems)

    # Unpenalised numbers

    def free_of(self, penalty: Penalty) -> Free:
        return FreeDirections(self, penalty)

    @cached_property
    def row_groups(self) -> list[RowGroup]:
        return self.loss.row_groups(self.y, self.weights)

    @cached_property
    def mean_rows(self) -> list[tuple[Array, Array]]:
        """The mean row of each of the `row_groups`, with a bound on its rounding error."""
        means = []
        for group in self.row_groups:
            scale = 1.0 / max(group.total, np.finfo(float).tiny)
            if self.of_outputs:  # a group is of one output, and others bound the products of all
                scales = np.full(self.n_samples, scale)
                means.append(self.design.rmatvec_compensated(group.weights, scales))
            else:
                means.append(self.design.mean_row_bounded(group.weights, scale))
        return means

    # The best constant prediction

    @cached_property
    def null(self) -> NullModel:
        return self.original.null if self.original is not None else null_model(self)

    def predictions_of_constant(self, free: Numbers) -> Array:
        """The predictions without coefficients, of shape (n_samples,)."""
        return np.full(self.n_samples, free)

    @cached_property
    def null_predictions(self) -> Array:
        """The predictions of the best constant."""
        return self.predictions_of_constant(self.null_point.intercept)

    @property
    def best_constant(self) -> Point:
        """The best constant prediction, with a subgradient of the losses there as dual point.

        Where the loss has a kink, the subgradient is one whose weighted sum is 0.
        """
        b = self._constant()
        z = self.predictions_of_constant(b)
        theta = self.loss.gradient(self.y, z)
        if self.fit_intercept and self.loss.has_kinks:
            offset = 1e-9 * (1.0 + np.abs(z) + self.loss.sizes_of(self.y))
            ends = [self.loss.gradient(self.y, z + side * offset) for side in (-1.0, 1.0)]
            theta = self._balanced_between(theta, np.minimum(*ends), np.maximum(*ends))
        return Point(np.zeros(self.n_coefficients), b, theta)

    def _constant(self) -> Numbers:
        """The best intercept, or 0 if that is infinite or none is fitted."""
        b = self.loss.best_constant(self.y, self.weights) if self.fit_intercept else 0.0
        return b if np.isfinite(b) else 0.0

    def _balanced_between(self, theta: Array, lower: Array, upper: Array) -> Array:
        """The point between bounds nearest to theta whose sum vanishes; theta if there is none."""
        c = self.weights
        with suppress(ValueError):  # because of rounding there may be no such point
            theta = kernels.project_box_hyperplane(theta, lower, upper, c, c, 0.0)
        return theta

    @cached_property
    def null_gradient(self) -> Array:
        if self.original is not None:
            return self.original.null_gradient
        return self.design.rmatvec(self.weights * self.null_point.dual_coef)

    # The derivative of the mean loss in the intercept at the best constant.
    null_slope = computed(lambda self: kernels.dot(self.weights, self.null_point.dual_coef))

    def features_say_nothing(self, problem: ProblemParts) -> bool:
        gradient = problem.null_gradient
        if not self.design.leaves_features_out:
            return no_gradient(problem, gradient)
        gradient, _ = self.design.rmatvec_bounded(self.weights, self.null_point.dual_coef)
        # norms of products with features left out are the roots of squares, which were rounded
        return no_gradient(problem, gradient, sqrt(FLAT))

    # Models

    def predictions(self, coef: Array, intercept: Numbers) -> tuple[Array, Array]:
        """The predictions X w + b and a bound on their rounding errors."""
        return self.design.matvec_bounded(coef, float(intercept))

    def precise_predictions(self, coef: Array, intercept: Numbers) -> tuple[Array, Array, Array]:
        """The predictions X w + b as a sum of high and low, and a bound on their errors."""
        return self.design.matvec_compensated(coef, float(intercept))

    def loss_at(self, coef: Array) -> Loss:
        """The loss of a row, which may depend on the model."""
        return self.loss

    def mean_loss(
        self, problem: ProblemParts, coef: Array, free: Numbers, accuracy: float
    ) -> float:
        self.require_no_intercept(free)
        if kernels.max_abs(coef) == 0.0 and np.all(free == self.null_point.intercept):
            return self.null.objective
        z, error = problem.predictions(coef, free)
        loss = self.loss_at(coef)
        largest_loss = loss.largest_mean(self.y, self.weights, z, 0.0, error)
        change = loss.change_by_errors(self.y, self.weights, z, error, largest_loss)
        if change <= max(PLAIN * largest_loss, accuracy) < inf:
            return largest_loss
        precise = problem.precise_predictions(coef, free)
        return loss.largest_mean(self.y, self.weights, *precise)

    def precise_mean_loss(
        self, problem: ProblemParts, coef: Array, free: Numbers
    ) -> tuple[float, float]:
        z, low, error = problem.precise_predictions(coef, free)
        loss = self.loss_at(coef)
        about = float(np.sum(self.weights * loss.value(self.y, z, low)))
        return loss.largest_mean(self.y, self.weights, z, low, error), about

    def sum_of_means(self, problem: ProblemParts, coef: Array, free: Numbers) -> float | None:
        if self.of_outputs or self.loss.weights_of_means(self.y[:0], np.empty(0)) is None:
            return None
        z, error = problem.predictions(coef, free)
        with np.errstate(over="ignore", invalid="ignore"):
            means = cast(Array, self.loss.weights_of_means(self.y, z))
            # they are exp(z) or exp(-z) times constants
            total = float(self.weights @ (means * (1.0 - 2.0 * error)))
        return total if total < np.inf else None

    def decision_costs(
        self, problem: ProblemParts, coef: Array, free: Numbers, theta: Array
    ) -> Array | None:
        if not self.loss.has_decisions:
            return None
        z, error = problem.predictions(coef, free)
        return self.loss.decision_costs(self.y, self.weights, z, error, theta)

    def prediction_intervals(
        self, problem: ProblemParts, coef: Array, free: Numbers, gap: float, theta: Array | None,
        coefficients: Callable[[], Array | None] | None,
    ) -> tuple[Array, Array, Array] | None:  # fmt: skip
        # without flat or linear parts of the loss decisions are known well without intervals
        if self.of_outputs or not self.loss.piecewise_quadratic:
            return None
        intervals = prediction_intervals(problem, coef, free, gap)
        if intervals is not None or theta is None or coefficients is None:
            return intervals
        return intervals_of_pinned_rows(problem, (coef, free), gap, theta, coefficients)

    # Dual points

    def dual_point_of(self, coef: Array, intercept: Numbers) -> Array:
        z = self.design.matvec(np.ascontiguousarray(coef))
        z = z + self.spread(intercept) if self.fit_intercept else z
        return self.loss.gradient(self.y, z)

    def feasible_point(self, problem: ProblemParts, theta: Array) -> DualPoint | None:
        theta = self.loss.project_dual(self.y, theta)
        if not theta.any():
            return None
        return problem.row_point(without_negligible(theta, SMALLEST))

    def row_point(self, problem: ProblemParts, theta: Array) -> DualPoint:
        """The `DualPoint` of a theta that is in the box of the conjugate losses."""
        return RowPoint(problem, theta)

    def gradient_of(self, theta: Array) -> Array:
        """The products X' diag(c) theta of a dual point."""
        return self.design.rmatvec(self.weights * theta)


def no_gradient(problem: ProblemParts, gradient: Array, flat: float = FLAT) -> bool:
    """Whether the given gradient at the best constant prediction is 0 up to rounding errors."""
    null = problem.null
    if null.objective < null.unit:
        return True
    scales = np.sqrt(problem.squares[: problem.n_coefficients])
    scales *= null.objective / null.prediction_scale  # times the mean slope of the losses
    return bool(np.all(problem.project(np.abs(gradient)) <= problem.project(flat * scales)))


def linear_problem(
    design: Design, y: Array, weights: Array, loss: Loss, penalty: Penalty, alpha: float,
    fit_intercept: bool = True, total_weight: float | None = None,
) -> Problem:  # fmt: skip
    """The problem of minimising sum_i c_i l(y_i, x_i.w + b) + alpha R(w) over w and b.

    Parameters
    ----------
    design, y, weights, loss, fit_intercept, total_weight
        See `RowsInMemory`.
    penalty : Penalty
    alpha : float
        Weight of the penalty, greater than 0.

    Raises
    ------
    ValueError
        If the penalty does not fit the features.
    """
    rows = RowsInMemory(design, y, weights, loss, fit_intercept, total_weight)
    return Problem(rows, Regularisation(penalty, alpha))

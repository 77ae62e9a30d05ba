"""Rows of several outputs or tasks: a matrix of coefficients and an intercept for each.

    minimise over W, b   sum_i c_i l(y_i, A_i W + b) + alpha R(W)

With one X for all outputs, each prediction of a sample is a row of the problem. Losses of single
predictions are summed over the outputs; a `skpd.losses.CoupledLoss` is a function of all
predictions of a sample. With tasks, a row of the problem is a sample, which has a prediction for
its own task only. The vector of coefficients has the rows of W one after the other
(`skpd.designs.outputs`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from .. import kernels
from .._floats import EPSILON, sum_and_rest
from .._immutable_base import attribute_of_part, computed
from .._typing import Array, Indices, Numbers
from ..certificates.interface import DualPoint
from ..designs import Design, DualProducts
from ..designs.far_columns import FAR
from ..designs.outputs import OutputsDesign, SharedDesign
from ..designs.outputs_gram import OutputsGram
from ..losses import Loss
from ..penalties import Penalty, Structure
from .in_memory import RowsInMemory
from .interfaces import Free, ProblemParts
from .output_points import FreeOutputs, OutputsPoint, on_intervals
from .problem import Problem
from .regularisation import Regularisation

FAR_FOR_GRADIENTS = 0.3  # like FAR, for gradient methods, which even small means slow down
FURTHEST = 40.0  # used for an infinite intercept of a logistic loss


@dataclass(frozen=True, eq=False)
class RowsOfOutputs(RowsInMemory):
    """The rows of several outputs, each with its own intercept.

    The parameters are those of `RowsInMemory`, and the design is an `OutputsDesign`. If the
    outputs share X, the weights of the rows sum to the number of outputs, so that the objective is
    the mean over the samples of the sum over the outputs. Otherwise they sum to 1.
    """

    design: OutputsDesign  # type: ignore[assignment]
    of_outputs = True
    n_outputs = attribute_of_part("design.n_outputs")

    intercept_shape = computed(lambda self: (self.n_outputs,))

    table_shape = computed(lambda self: (self.n_outputs, self.design.n_inputs))

    def coef_table(self, coef: Array) -> Array:
        return np.ascontiguousarray(coef.reshape(-1, self.n_outputs).T)

    def dual_table(self, dual_coef: Array) -> Array:
        return dual_coef.reshape(-1, self.n_outputs) if self.design.shares_data else dual_coef

    # The indices of the rows of each output.
    row_indices = attribute_of_part("design.row_indices")

    # Subsets and other forms

    def shift_of_features(self, penalty: Penalty) -> Array | None:
        far = FAR if penalty.structure.is_block_separable else FAR_FOR_GRADIENTS
        return self.design.shift_of_columns(self.weights, far)

    def shifted_intercept(self, intercept: Numbers, shift: Array, coef: Array) -> Array:
        moved = np.sum((shift * coef).reshape(-1, self.n_outputs), axis=0)
        return np.asarray(intercept) + moved

    def rows_of(self, samples: Indices) -> Indices:
        return self.design.rows_of(samples)

    def by_columns(self, penalty: Penalty) -> Self:
        if self.loss.linear_tails or not penalty.structure.is_block_separable:
            return self
        return replace(self, design=self.design.by_columns, original=self)

    def new_products(self, of_path: bool) -> DualProducts:
        return super().new_products(of_path=False)  # they are not kept from one alpha to the next

    def new_gram(self, penalty: Penalty) -> OutputsGram:
        agree = self.loss.constant_curvature and self.design.shares_data
        ones, all_at_once = bool(self.fit_intercept), penalty.is_quadratic
        of_rows = True
        if penalty.structure is Structure.GROUPED:
            of_rows = len(penalty.group_terms[1]) == self.design.n_inputs
        elif penalty.structure is Structure.SEPARABLE:  # whether all entries have the same terms
            of_rows = not any(map(np.ndim, penalty.terms))
        return OutputsGram(self.n_outputs, ones, agree, all_at_once, of_rows=of_rows)

    def of_output(self, k: int) -> RowsInMemory:
        """The rows of one output, with weights divided by their sum."""
        rows = self.row_indices[k]
        weights = np.ascontiguousarray(self.weights[rows])
        total = float(np.sum(weights))
        return RowsInMemory(
            self.design.parts[k], np.ascontiguousarray(self.y[rows]), weights / total,
            self.loss.of_output(k), self.fit_intercept,
            total * float(self.total_weight or self.n_samples),
        )  # fmt: skip

    @cached_property
    def separate(self) -> list[RowsInMemory]:
        """The rows of each output, for losses of single predictions."""
        return [self.of_output(k) for k in range(self.n_outputs)]

    @cached_property
    def mean_rows(self) -> list[tuple[Array, Array]]:
        """The mean rows of classes, of shape (n_inputs,), come from one product with X."""
        if not self.loss.of_classes:
            return super().mean_rows
        bounded = self.design.rmatvec_bounded(self.weights, self.y)
        sums, errors = (x.reshape(-1, self.n_outputs).T for x in bounded)
        totals = np.maximum([group.total for group in self.row_groups], np.finfo(float).tiny)
        errors = errors + (16.0 + np.log2(self.n_samples)) * EPSILON * np.abs(sums)  # of totals
        return [*zip(sums / totals[:, np.newaxis], errors / totals[:, np.newaxis], strict=True)]

    @cached_property
    def null_gradient(self) -> Array:
        """With the shares p of the classes and the sums s_k of their rows, p_k sum s - s_k."""
        if not self.loss.of_classes or self.loss.has_kinks or self.original is not None:
            return super().null_gradient
        means, totals = (
            np.array([x for x, _ in self.mean_rows]),
            [group.total for group in self.row_groups],
        )
        sums = np.multiply(means.T, totals)
        p = self.null_point.dual_coef[: self.n_outputs] + self.y[: self.n_outputs]
        return np.ravel(np.multiply.outer(sums.sum(axis=1), p) - sums)

    # Unpenalised numbers

    n_free = computed(lambda self: int(self.fit_intercept * self.n_outputs))

    def spread(self, free: Numbers) -> Array:
        """The intercept of the output of each row, of shape (n_rows,)."""
        return self.design.spread(np.broadcast_to(free, self.n_outputs))

    def sums(self, rows: Array) -> Array:
        """The sum over the rows of each output, of shape (n_outputs,)."""
        return self.design.sums(rows)

    weights_of_free = computed(lambda self: self.sums(self.weights))

    def intercept_of(self, numbers: Array) -> Array:
        if not self.fit_intercept:
            return np.zeros(self.n_outputs)
        if self.loss.of_classes:  # adding a number to all intercepts does not change the loss
            return numbers - np.mean(numbers)
        return numbers.copy()

    def free_of(self, penalty: Penalty) -> Free:
        """The intercepts and the free coefficients.

        Raises
        ------
        ValueError
            If there are free coefficients, and dual points are not known to be orthogonal to them.
        """
        free = FreeOutputs(self, penalty)
        if len(free.columns) and self.loss.couples_outputs:
            if not self.loss.is_log_likelihood:
                raise ValueError(
                    f"The loss {self.loss!r} of several outputs or classes together needs a "
                    f"penalty of every coefficient, got weights of 0 in {penalty!r}. Pass small "
                    "positive weights."
                )
            if free.features is None:
                raise ValueError(
                    "A weight of 0 for one class is that of all classes, as only differences of "
                    f"their scores matter, got {penalty!r}."
                )
            if not np.isinf(penalty.free_features[1:]).all():
                raise ValueError(
                    "Features without a penalty may have no bounds where classes are fitted "
                    f"together, got {penalty!r}. Give them a small weight."
                )
        return free

    # Predictions

    def predictions(self, coef: Array, intercept: Numbers) -> tuple[Array, Array]:
        z, error = self.design.matvec_bounded(coef, 0.0)
        if not np.any(intercept):
            return z, error
        z = z + self.spread(intercept)
        return z, error + EPSILON * np.abs(z)

    def precise_predictions(self, coef: Array, intercept: Numbers) -> tuple[Array, Array, Array]:
        if kernels.max_abs(coef) == 0.0:
            nothing = np.zeros(self.n_samples)
            return self.spread(intercept), nothing, nothing
        z, low, error = self.design.matvec_compensated(np.ascontiguousarray(coef), 0.0)
        total, residual = sum_and_rest(z, self.spread(intercept))
        both = low + residual
        return total, both, error + EPSILON * np.abs(both)

    def in_order(self, coef: Array, intercept: Numbers) -> Numbers:
        if not self.loss.of_quantiles:
            return intercept
        coef, counted = np.ascontiguousarray(coef, dtype=np.float64), np.flatnonzero(self.weights)
        z, low, error = (x[counted] for x in self.precise_predictions(coef, intercept))
        rounded = self.predictions(coef, intercept)[0][counted]
        largest = float(np.max(np.abs(intercept)))
        return intercept + self.loss.raises_in_order(z, low, error, rounded, largest)

    # The best constants

    def _constant(self) -> Numbers:
        if not self.fit_intercept:
            return np.zeros(self.n_outputs)
        constants = self.loss.best_constants(self.y, self.weights, self.row_indices)
        # if all labels are the same, the loss is 0 up to rounding
        return np.where(np.isinf(constants), np.copysign(FURTHEST, constants), constants)

    def _balanced_between(self, theta: Array, lower: Array, upper: Array) -> Array:
        return on_intervals(self, theta, lower, upper)

    def predictions_of_constant(self, free: Numbers) -> Array:
        return self.spread(free)

    # Dual points

    def feasible_point(self, problem: ProblemParts, theta: Array) -> DualPoint | None:
        theta = self.loss.project_dual(self.y, theta)
        return OutputsPoint(problem, theta) if theta.any() else None

    def row_point(self, problem: ProblemParts, theta: Array) -> DualPoint:
        return OutputsPoint(problem, theta)


def outputs_problem(
    design: Design, Y: Array, weights: Array, loss: Loss, penalty: Penalty, *,
    alpha: float, fit_intercept: bool, total_weight: float | None = None,
) -> Problem:  # fmt: skip
    """The problem of one X for all outputs, with targets of shape (n_samples, n_outputs)."""
    weight = float(len(Y)) if total_weight is None else total_weight
    rows = rows_of_outputs(design, Y, weights, loss, fit_intercept, weight)
    return Problem(rows, Regularisation(penalty, alpha))


def rows_of_outputs(
    design: Design, Y: Array, weights: Array, loss: Loss, fit_intercept: bool, total_weight: float
) -> RowsOfOutputs:
    """The rows of one X for all outputs, with targets of shape (n_samples, n_outputs)."""
    n_outputs = Y.shape[1]
    return RowsOfOutputs(
        SharedDesign(design, n_outputs), np.ravel(np.asarray(Y, dtype=np.float64)),
        np.repeat(weights, n_outputs), loss, fit_intercept, total_weight,
    )  # fmt: skip

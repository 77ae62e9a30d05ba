"""Problems with several outputs or tasks: a matrix of coefficients and an intercept for each.

    minimise over W, b   sum_i c_i l(y_i, A_i W + b) + alpha R(W)

With one X for all outputs, each prediction of a sample is a row of the problem. Losses of single
predictions are summed over the outputs; a `skpd.losses.CoupledLoss` is a function of all
predictions of a sample. With tasks, a row of the problem is a sample, which has a prediction for
its own task only. The vector of coefficients has the rows of W one after the other
(`skpd.designs.outputs`).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import kernels
from .._floats import EPSILON
from .._typing import Array, Indices
from ..certificates.objective import DualPoint
from ..designs import Design
from ..designs.far_columns import FAR
from ..designs.outputs import OutputsDesign, SharedDesign
from ..designs.outputs_gram import OutputsGram
from ..losses import Loss
from ..penalties import Penalty
from .free_directions import FreeDirections
from .output_points import FreeOutputs, OutputsPoint
from .problem import Problem
from .solution import Point
from .workspace import Workspace

__all__ = ["OutputsProblem"]

FAR_FOR_GRADIENTS = 0.3  # like FAR, for gradient methods, which even small means slow down
BALANCE_STEPS = 30  # most Newton steps of a projection; about five are usual
FURTHEST = 40.0  # used for an infinite intercept of a logistic loss
RIDGE = 1e-12  # relative ridge, as coupled losses have a direction without curvature


@dataclass(frozen=True, eq=False)
class OutputsProblem(Problem):
    """A problem with several outputs, each with its own intercept.

    The parameters are those of `Problem`, and the design is an `OutputsDesign`. If the outputs
    share X, the weights of the rows sum to the number of outputs, so that the objective is the
    mean over the samples of the sum over the outputs. Otherwise they sum to 1.
    """

    design: OutputsDesign  # type: ignore[assignment]

    @classmethod
    def shared(
        cls, design: Design, Y: Array, weights: Array, loss: Loss, penalty: Penalty, *,
        alpha: float, fit_intercept: bool, total_weight: float | None = None,
    ) -> "OutputsProblem":  # fmt: skip
        """The problem of one X for all outputs, with targets of shape (n_samples, n_outputs)."""
        n_outputs = Y.shape[1]
        return cls(
            design=SharedDesign(design, n_outputs),
            y=np.ravel(np.asarray(Y, dtype=np.float64)),
            weights=np.repeat(weights, n_outputs),
            loss=loss,
            penalty=penalty,
            alpha=alpha,
            fit_intercept=fit_intercept,
            total_weight=float(len(Y)) if total_weight is None else total_weight,
        )

    @property
    def n_outputs(self) -> int:
        return self.design.n_outputs

    @property
    def coef_shape(self) -> tuple[int, ...]:
        return (self.n_features,)

    @property
    def intercept_shape(self) -> tuple[int, ...]:
        return (self.n_outputs,)

    @property
    def table_shape(self) -> tuple[int, ...]:
        return self.n_outputs, self.n_features // self.n_outputs

    def coef_table(self, coef: Array) -> Array:
        return np.ascontiguousarray(coef.reshape(-1, self.n_outputs).T)

    def dual_table(self, dual_coef: Array) -> Array:
        return dual_coef.reshape(-1, self.n_outputs) if self.design.shares_data else dual_coef

    @property
    def places(self) -> list:
        """The indices of the rows of each output."""
        return self.design.places

    def shift_of_features(self) -> Array | None:
        far = FAR if self.penalty.structure.in_parts else FAR_FOR_GRADIENTS
        return self.design.shift_of_columns(self.weights, far)

    def of_design(self, design: Any) -> "OutputsProblem":
        return replace(self, design=design, workspace=None)

    def of_rows(self, rows: Indices) -> "OutputsProblem":
        total = float(np.sum(self.weights))
        weights = self.weights[rows]
        return replace(
            self,
            design=self.design.rows(rows),
            y=self.y[rows],
            weights=weights * (total / float(np.sum(weights))),
            total_weight=float(len(rows)),
            workspace=None,
        )

    def rows_of(self, samples: Indices) -> Indices:
        return self.design.rows_of(samples)

    def by_columns(self) -> "OutputsProblem":
        if self.loss.linear_tails or not self.penalty.structure.in_parts:
            return self.in_workspace()
        return replace(self, design=self.design.by_columns, workspace=None).in_workspace()

    def in_workspace(self, of_path: bool = False) -> "OutputsProblem":
        """The problem with a workspace for a run; ``of_path`` has no effect.

        Products are not kept from one alpha of a path to the next.
        """
        other = self._with(workspace=Workspace(self))
        assert isinstance(other, OutputsProblem)
        return other

    def new_gram(self) -> OutputsGram:
        agree = self.loss.constant_curvature and self.design.shares_data
        return OutputsGram(
            self.n_outputs, bool(self.fit_intercept), agree, self.penalty.is_quadratic
        )

    def of_output(self, k: int) -> Problem:
        """The problem of one output, divided by the sum of its weights.

        With a loss of single predictions and a penalty of single coefficients, the problems of
        the outputs are independent.
        """
        rows = self.places[k]
        weights = np.ascontiguousarray(self.weights[rows])
        total = float(np.sum(weights))
        return Problem(
            design=self.design.parts[k],
            y=np.ascontiguousarray(self.y[rows]),
            weights=weights / total,
            loss=self.loss_of_output(k),
            penalty=self.penalty,
            alpha=self.alpha / total,
            fit_intercept=self.fit_intercept,
            total_weight=total * float(self.total_weight or self.n_samples),
        )

    def loss_of_output(self, k: int) -> Loss:
        """The loss of the predictions of a single output."""
        return self.loss

    # Vectors of primal variables: the coefficients, followed by the intercepts

    def spread(self, intercept: Any) -> Array:
        """The intercept of the output of each row, of shape (n_rows,)."""
        return self.design.spread(np.broadcast_to(intercept, self.n_outputs))

    def sums(self, rows: Array) -> Array:
        """The sum over the rows of each output, of shape (n_outputs,)."""
        return self.design.sums(rows)

    @property
    def n_variables(self) -> int:
        return self.n_features + self.fit_intercept * self.n_outputs

    def split(self, variables: Array) -> tuple[Array, Any]:
        coef = variables[: self.n_features]
        if not self.fit_intercept:
            return coef, np.zeros(self.n_outputs)
        intercept = variables[self.n_features :]
        if self.loss.of_classes:  # adding a number to all intercepts does not change the loss
            return coef, intercept - np.mean(intercept)
        return coef, intercept.copy()

    def join(self, coef: Array, intercept: Any) -> Array:
        if not self.fit_intercept:
            return np.array(coef)
        return np.append(coef, np.broadcast_to(intercept, self.n_outputs))

    def matvec(self, variables: Array) -> Array:
        coef, intercept = self.split(variables)
        z = self.design.matvec(np.ascontiguousarray(coef))
        return z + self.spread(intercept) if self.fit_intercept else z

    def rmatvec(self, rows: Array) -> Array:
        product = self.design.rmatvec(rows)
        return np.append(product, self.sums(rows)) if self.fit_intercept else product

    def prox(self, variables: Array, step: Array | float) -> Array:
        d = self.n_features
        coef_step = (step[:d] if isinstance(step, np.ndarray) else step) * self.alpha
        out = variables.copy()
        out[:d] = self.penalty.prox(np.ascontiguousarray(variables[:d]), coef_step)
        return out

    @cached_property
    def squares(self) -> Array:
        squares = self.design.column_norms(self.weights) ** 2
        return np.append(squares, self.sums(self.weights)) if self.fit_intercept else squares

    def shifted_intercept(self, intercept: Any, shift: Array, coef: Array) -> Any:
        moved = np.sum((shift * coef).reshape(-1, self.n_outputs), axis=0)
        return np.asarray(intercept) + moved

    # Predictions

    def predictions(self, coef: Array, intercept: Any) -> tuple[Array, Array]:
        z, error = self.design.matvec_bounded(np.ascontiguousarray(coef), 0.0)
        if not np.any(intercept):
            return z, error
        z = z + self.spread(intercept)
        return z, error + EPSILON * np.abs(z)

    def precise_predictions(self, coef: Array, intercept: Any) -> tuple[Array, Array, Array]:
        if kernels.max_abs(coef) == 0.0:
            nothing = np.zeros(self.n_samples)
            return self.spread(intercept), nothing, nothing
        z, low, error = self.design.matvec_compensated(np.ascontiguousarray(coef), 0.0)
        b = self.spread(intercept)
        total = z + b
        share = total - z
        rest = (z - (total - share)) + (b - share)  # the exact rounding error
        both = low + rest
        return total, both, error + EPSILON * np.abs(both)

    # The best constants

    @cached_property
    def null_point(self) -> Point:
        b = np.zeros(self.n_outputs)
        if self.fit_intercept:
            found = self.loss.best_constants(self.y, self.weights, self.places)
            # if all labels are the same, the loss is 0 up to rounding
            b = np.where(np.isinf(found), np.copysign(FURTHEST, found), found)
        theta = self.loss.gradient(self.y, self.spread(b))
        if self.fit_intercept and not np.isfinite(self.loss.smoothness):
            near = 1e-9 * (1.0 + np.abs(self.spread(b)) + np.abs(self.y))
            z = self.spread(b)
            ends = [self.loss.gradient(self.y, z + side * near) for side in (-1.0, 1.0)]
            theta = self._projected_on_intervals(theta, np.minimum(*ends), np.maximum(*ends))
        return Point(np.zeros(self.n_features), b, theta)

    @cached_property
    def null_predictions(self) -> Array:
        return self.spread(self.null_point.intercept)

    @cached_property
    def likely_sizes(self) -> list[float]:
        sizes = super().likely_sizes
        return sizes[:1] * self.n_outputs + sizes[1:]

    @cached_property
    def free(self) -> FreeDirections:
        design: Any = self.design
        return FreeOutputs(
            design, self.y, self.weights, self.loss, self.penalty, self.fit_intercept
        )

    # Dual points

    def feasible_point(self, theta: Array) -> DualPoint | None:
        theta = self.loss.project_dual(self.y, theta)
        return OutputsPoint(self, theta) if theta.any() else None

    def projected(self, point: DualPoint) -> DualPoint:
        if not self.fit_intercept:
            return point
        if self.loss.couples_outputs:
            theta = self._balanced_rows(point.theta)
        else:
            theta = self._projected_on_intervals(point.theta, *self.loss.dual_bounds(self.y))
        return OutputsPoint(self, self.loss.project_dual(self.y, theta))

    def balanced(self, point: DualPoint, near: Array | None) -> DualPoint:
        return self.projected(point)

    def _projected_on_intervals(self, theta: Array, lower: Array, upper: Array) -> Array:
        """The projection onto the points between bounds whose sums over each output vanish."""
        found = theta.copy()
        for rows in self.places:
            own, low, high, c = (
                np.ascontiguousarray(x[rows]) for x in (theta, lower, upper, self.weights)
            )
            some = c > 0.0
            if not (np.any(low[some] < 0.0) and np.any(high[some] > 0.0)):
                found[rows] = 0.0  # one class: 0 is the only point whose sum is exactly 0
                continue
            try:
                found[rows] = kernels.project_box_hyperplane(own, low, high, c, c, 0.0)
            except ValueError:  # because of rounding there may be no such point
                continue
        return found

    def _balanced_rows(self, theta: Array) -> Array:
        """The approximate projection of theta onto the dual points whose sums vanish.

        The result is the projection of theta - mu onto the dual domain, with a number mu_k for
        each output. The sums of this projection are the gradient of a convex function of mu,
        which Newton's method minimises.
        """
        loss: Any = self.loss
        mu = np.zeros(self.n_outputs)

        def at(mu: Array) -> tuple[Array, Array, Any]:
            x, d, e = loss.projection(self.y, theta - self.spread(mu))
            return x, self.sums(self.weights * x), (d, e)

        x, sums, curvature = at(mu)
        for _ in range(BALANCE_STEPS):
            if np.max(np.abs(sums)) <= EPSILON * float(np.sum(self.weights)):
                break
            d, e = (part.reshape(-1, self.n_outputs) for part in curvature)
            c = self.weights.reshape(-1, self.n_outputs)
            system = np.diag(np.sum(c * d, axis=0)) - e.T @ (c * e)
            system += RIDGE * max(float(np.max(np.diag(system))), EPSILON) * np.eye(len(mu))
            step = np.linalg.solve(system, sums)
            length = 1.0
            while length > 1e-3:
                after = at(mu + length * step)
                if np.linalg.norm(after[1]) < np.linalg.norm(sums):
                    break
                length *= 0.5
            else:
                break
            mu, (x, sums, curvature) = mu + length * step, after
        return x

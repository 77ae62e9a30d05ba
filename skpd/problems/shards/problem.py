"""The problem of rows in blocks or other processes, used through sums over the rows."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf, log2, sqrt
from typing import Any, NoReturn

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array, Indices
from ...certificates import dual_estimate
from ...certificates.objective import DualPoint
from ...designs import Design
from ...designs.row_blocks import stacked
from ...losses import Loss
from ...penalties import Penalty
from ..column_side import ColumnSide
from ..free_directions import FreeDirections
from ..problem import Problem
from ..solution import Point
from .balance import balanced_point
from .bounds import keep_gradient, keep_repaired, loss_sums, point_sums, survey
from .known import KnownSums, SharedData, SharedFreeDirections, SharedWorkspace
from .null_model import NullModel, TargetSums
from .points import SharedPoint, gathered_part
from .recipes import DualRecipe, SharedVector
from .shards import RowsLostError, Shards
from .smoothing import put, sample, sampled_rows

__all__ = ["ShardedProblem"]

PLAIN = 1e-11  # rounding errors below this times the mean loss need no precise products
FAR = 10.0  # features with a larger ratio of mean and standard deviation are far from 0
CERTAIN = 64.0 * EPSILON  # a variance above this times the mean square is no rounding error


@dataclass(frozen=True, eq=False)
class ShardedProblem(ColumnSide):
    """The problem of minimising sum_i c_i l(y_i, x_i.w + b) + alpha R(w) over w and b.

    Unlike a `Problem`, it uses the rows only through sums over shards. A dual point is a
    `SharedVector`, whose entries stay with the rows.

    Parameters
    ----------
    shards : Shards
        The rows, whose weights c_i sum to 1.
    targets : TargetSums
    loss : Loss
    penalty : Penalty
    alpha : float
        Weight of the penalty, greater than 0.
    fit_intercept : bool
    total_weight : float
        The sum of the sample weights before they were divided by it.
    name : str, default=""
        The name of the estimator, for messages.
    workspace : SharedWorkspace, default=None
    """

    shards: Shards
    targets: TargetSums
    loss: Loss
    penalty: Penalty
    alpha: float
    fit_intercept: bool
    total_weight: float
    name: str = ""
    workspace: SharedWorkspace | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "penalty", self.penalty.bind(self.shards.shape[1]))

    def in_workspace(self) -> "ShardedProblem":
        return self._with(workspace=SharedWorkspace())

    def by_columns(self) -> "ShardedProblem":
        """The problem with a workspace for the runs along a path."""
        return self.in_workspace()

    @property
    def n_samples(self) -> int:
        return self.shards.shape[0]

    @property
    def n_features(self) -> int:
        return self.shards.shape[1]

    # Cached sums that do not depend on a model

    @cached_property
    def null_model(self) -> NullModel:
        return NullModel.of(self.shards, self.loss, self.targets, self.fit_intercept)

    @cached_property
    def survey(self) -> dict[str, Any]:
        """Sums over the columns of X (see `skpd.problems.shards.bounds.survey`).

        Raises
        ------
        ValueError
            If a number of the data is not finite.
        """
        return self.shards.sums(survey, self.null_model.recipe, self.name)

    @cached_property
    def design(self) -> SharedData:  # type: ignore[override]
        shards = self.shards
        return SharedData(shards.shape, shards.dense, self.survey["n_entries"], shards.n_shards)

    @cached_property
    def null_point(self) -> Point:
        theta = SharedVector(self.null_model.recipe, self.n_samples)
        return Point(np.zeros(self.n_features), self.null_model.constant, theta)

    @property
    def null_gradient(self) -> Array:
        gradient: Array = self.survey["gradient"]
        return gradient

    @property
    def null_slope(self) -> float:
        return self.null_model.slope_of_dual

    @property
    def null_objective(self) -> float:
        return self.null_model.objective

    @property
    def null_rounding(self) -> float:
        return self.null_model.rounding

    @property
    def objective_unit(self) -> float:
        null = self.null_model
        if null.constant == 0.0:
            return null.objective
        return max(null.objective, EPSILON * null.at_zero)

    @property
    def prediction_scale(self) -> float:
        null = self.null_model
        return null.objective / null.slope if null.slope > 0.0 and null.objective > 0.0 else 1.0

    @property
    def largest_target(self) -> float:
        return max(abs(self.targets.least), abs(self.targets.largest))

    @cached_property
    def squares(self) -> Array:
        squares: Array = self.survey["squares"]
        return np.append(squares, 1.0) if self.fit_intercept else squares

    @cached_property
    def free(self) -> FreeDirections:
        nothing: Any = None  # stands for arrays of all rows
        design: Any = self.design
        return SharedFreeDirections(
            design, nothing, nothing, self.loss, self.penalty, self.fit_intercept, self
        )

    @property
    def mean_rows(self) -> list[tuple[Array, Array]]:
        """The mean row of each stratum, with a bound on its error."""
        found = []
        for k, stratum in enumerate(self.targets.strata(self.loss)):
            scale = 1.0 / max(stratum.total, np.finfo(float).tiny)
            mean, error = self.survey[f"row_{k}"].bounded
            rounding = (16.0 + log2(self.n_samples)) * EPSILON  # of total and its inverse
            found.append((scale * mean, scale * (error * (1.0 + rounding) + rounding * abs(mean))))
        return found

    @property
    def centred(self) -> "tuple[ShardedProblem, Array] | None":
        """The problem with features far from 0 shifted to mean 0, and the shift; or None.

        See `Problem.centred`.
        """
        if not self.fit_intercept:
            return None
        workspace = self.workspace or SharedWorkspace()
        if workspace.centred is None:
            shift = self._shift_of_features()
            base = None
            if shift is not None:
                base = replace(self, shards=self.shards.shifted(shift)).in_workspace()
            workspace.centred = base, shift
        base, shift = workspace.centred
        return None if base is None else (base.with_penalty(self.penalty, self.alpha), shift)

    def _shift_of_features(self) -> Array | None:
        """The means of features far from 0, and 0 for others; None if no feature is far."""
        mean = sum(self.survey[f"row_{k}"].bounded[0] for k in range(self._n_strata))
        squares = self.survey["squares"]
        variance = squares - mean * mean
        far = (mean * mean > FAR**2 * variance) & (variance > CERTAIN * squares)
        return np.where(far, mean, 0.0) if far.any() else None

    @property
    def _n_strata(self) -> int:
        return len(self.targets.strata(self.loss))

    def random_sample(self, size: int) -> "Problem | ShardedProblem":
        """The problem of a reproducible random sample of about ``size`` rows.

        A small sample is copied to this process.
        """
        share = size / max(self.targets.n_heavy, 1)
        if size <= self.design.rows_in(self.shards.most_gathered):
            return self._gathered_sample(share)
        kept = self.shards.new()
        found = self.shards.sums(sample, kept.key, share)
        child = self.shards.child(kept, found["n_rows"])
        targets, total = TargetSums.of(child)
        child.divide_weights(total)
        return ShardedProblem(
            child, targets, self.loss, self.penalty, self.alpha, self.fit_intercept, total
        )

    def _gathered_sample(self, share: float) -> Problem:
        parts = [part for part in self.shards.each(sampled_rows, share) if part is not None]
        blocks, y, weights = zip(*parts, strict=True)
        weight = np.concatenate(weights)
        return Problem(
            design=Design(stacked(blocks)),
            y=np.concatenate(y),
            weights=weight / float(np.sum(weight)),
            loss=self.loss,
            penalty=self.penalty,
            alpha=self.alpha,
            fit_intercept=self.fit_intercept,
        )

    def of_columns(self, columns: Indices, penalty: Penalty) -> NoReturn:
        raise ValueError(
            "alphas must be given as values for X in blocks or chunks with features that are not "
            "penalised, got a number of them."
        )

    @property
    def n_weighty(self) -> int:
        return self.targets.n_heavy

    @property
    def most_copied_rows(self) -> float:
        return self.design.most_copied_rows

    # Models and dual points

    def expect(self, point: Point) -> None:
        """Compute the sums of a new model and dual point in one pass over the rows."""
        recipe = point.dual_coef.recipe
        if self.workspace is None or point.dual_coef.is_zero:
            return
        known = self.workspace.known
        if known is None or not (known.is_model(point) and known.recipe == recipe):
            model = np.array(point.coef, dtype=np.float64), float(point.intercept)
            sums = self.shards.sums(point_sums, model, recipe, False)
            self.workspace.known = KnownSums(*model, recipe, sums)

    @property
    def _known(self) -> "KnownSums | None":
        return None if self.workspace is None else self.workspace.known

    def mean_loss(self, coef: Array, free: Any, accuracy: float) -> float:
        if not self.fit_intercept and np.any(np.abs(free) > 0.0):
            raise ValueError(f"intercept must be 0 without fit_intercept, got {free!r}.")
        if not coef.any() and free == self.null_model.constant:
            return self.null_objective
        known = self._known
        if known is not None and known.is_model(Point(coef, free, None)):
            found = known.sums
        else:
            found = self.shards.sums(loss_sums, (coef, float(free)), False)
        most = found["loss"].bounded[0]
        if self._loss_by_errors(most, found) <= max(PLAIN * most, accuracy):
            return most
        return self.precise_mean_loss(coef, free)[0]

    def precise_mean_loss(self, coef: Array, free: Any) -> tuple[float, float]:
        found = self.shards.sums(loss_sums, (coef, float(free)), True)
        return found["loss"].bounded[0], found["loss_about"]

    def _loss_by_errors(self, value: float, found: dict[str, Any]) -> float:
        """An estimate of the change of a mean loss of this value by errors of the predictions."""
        if self.loss.lipschitz < inf:
            return self.loss.lipschitz * found["error"]
        return sqrt(2.0 * self.loss.smoothness * value * found["squared_error"])

    def estimated_gap(self, point: Point) -> float:
        self.expect(point)
        found = self._feasible(point.dual_coef)
        if found is None:
            return inf
        upper = self.mean_loss(point.coef, point.intercept, inf)
        upper += self.alpha * self.penalty.value(point.coef)
        gradient, _ = found.products(False)
        slope = found.sums_without_products()[0][0]
        value = found.value(1.0)[0] - self.likely_cost_of_free(gradient, slope, upper)
        return upper - dual_estimate(self, value, gradient, upper)

    def dual_point_of(self, coef: Array, intercept: Any) -> Any:
        kept = self.shards.new()
        model = np.ascontiguousarray(coef, dtype=np.float64), float(intercept)
        self.shards.sums(keep_gradient, model, kept.key)
        variables = self.join(*model)
        return SharedVector(DualRecipe(kept.key), self.n_samples, kept, variables)

    def feasible_point(self, theta: Any) -> DualPoint | None:
        return self._feasible(theta)

    def _feasible(self, theta: SharedVector) -> SharedPoint | None:
        if theta.is_zero:
            return None
        known = self._known
        is_known = known is not None and known.recipe == theta.recipe
        point = SharedPoint(self, theta, known.sums if known and is_known else None)
        return None if point.largest == 0.0 else point

    def projected(self, point: DualPoint) -> DualPoint:
        """The given point, as `balanced` improves it as much with fewer passes over the rows."""
        return point

    def balanced(self, point: Any, near: Array | None) -> DualPoint:
        return (balanced_point(self, point) if near is None else None) or point

    # Vectors of dual variables

    def plain_dual(self, theta: Any) -> SharedVector:
        return self.shared(theta)

    def zero_dual(self, theta: Any) -> SharedVector:
        return SharedVector(DualRecipe(), self.n_samples)

    def copied_dual(self, theta: Any) -> SharedVector:
        return self.shared(theta)  # a `SharedVector` is immutable

    def shared(self, theta: Any) -> SharedVector:
        """The dual point as a `SharedVector`; an array is sent to the shards."""
        if isinstance(theta, SharedVector):
            return theta
        kept = self.shards.new()
        self.shards.sums(put, kept.key, np.ascontiguousarray(theta, dtype=np.float64))
        return SharedVector(DualRecipe(kept.key), self.n_samples, kept)

    def repaired(self, theta: SharedVector) -> SharedVector:
        """The dual point with the gradient of the losses at its model for rows that were lost."""
        if theta.recipe.key is None:
            return theta
        kept = self.shards.new()
        variables = np.zeros(self.n_variables) if theta.model is None else theta.model
        self.shards.sums(keep_repaired, self.split(variables), theta.recipe.key, kept.key)
        recipe = theta.recipe._replace(key=kept.key)
        return SharedVector(recipe, self.n_samples, kept, theta.model)

    def dual_table(self, dual_coef: Any) -> Any:
        """The dual point in the form of ``dual_coef_``, gathered from the shards."""
        theta = self.shared(dual_coef)
        while True:
            try:
                return self.shards.gathered(gathered_part, theta.recipe)
            except RowsLostError:
                theta = self.repaired(theta)

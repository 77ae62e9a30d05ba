"""Rows in blocks or in other processes, used through sums over the rows (`RowsInShards`)."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, log2, sqrt
from typing import Any, NoReturn, cast

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array, Indices, Numbers
from ..._values import attribute_of_part
from ...certificates import dual_estimate
from ...designs import Design
from ...designs.far_columns import FAR
from ...designs.row_blocks import stacked
from ...losses import Loss
from ...losses.row_groups import RowGroup
from ...penalties import Penalty
from ..in_memory import PLAIN, RowsInMemory, no_gradient
from ..interfaces import Free, ProblemParts, Rows
from ..null_model import NullModel, scale_of
from ..problem import Problem
from ..solution import Point
from ..workspace import Workspace
from .balance import SharedFreeDirections
from .bounds import keep_gradient, keep_repaired, point_sums, survey
from .known import KnownSums, SharedData
from .null_sums import NullSums, TargetSums
from .points import DualSums, SharedPoint, gathered_part
from .recipes import DualRecipe, SharedVector
from .shards import RowsLostError, Shards
from .smoothing import put, sample, sampled_rows

CERTAIN = 64.0 * EPSILON  # a variance above this times the mean square is no rounding error


@dataclass(frozen=True, eq=False)
class RowsInShards(Rows):
    """The rows of sum_i c_i l(y_i, x_i.w + b), used only through sums over shards.

    A dual point is a `SharedVector`, whose entries stay with the rows.

    Parameters
    ----------
    shards : Shards
        The rows, whose weights c_i sum to 1.
    targets : TargetSums
    loss : Loss
    fit_intercept : bool
    total_weight : float
        The sum of the sample weights before they were divided by it.
    name : str, default=""
        The name of the estimator, for messages.
    """

    shards: Shards
    targets: TargetSums
    loss: Loss
    fit_intercept: bool
    total_weight: float | None
    name: str = ""
    in_memory = False
    n_weighty = attribute_of_part("targets.n_heavy")

    @property
    def n_samples(self) -> int:
        return self.shards.shape[0]

    @property
    def n_coefficients(self) -> int:
        return self.shards.shape[1]

    def free_of(self, penalty: Penalty) -> Free:
        return SharedFreeDirections(self, penalty)

    # Cached sums that do not depend on a model

    @cached_property
    def null_sums(self) -> NullSums:
        """Sums at the best constant prediction."""
        return NullSums.of(self.shards, self.loss, self.targets, self.fit_intercept)

    @cached_property
    def survey(self) -> dict[str, Any]:
        """Sums over the columns of X (see `skpd.problems.shards.bounds.survey`).

        Raises
        ------
        ValueError
            If a number of the data is not finite.
        """
        return self.shards.sums(survey, self.null_sums.recipe, self.name)

    @cached_property
    def design(self) -> SharedData:
        shards = self.shards
        return SharedData(shards.shape, shards.dense, self.survey["n_entries"], shards.n_shards)

    @cached_property
    def null(self) -> NullModel:
        found, unit = self.null_sums, self.null_sums.objective
        if found.constant != 0.0:
            unit = max(unit, EPSILON * found.distant)
        theta = SharedVector(found.recipe, self.n_samples)
        point = Point(np.zeros(self.n_coefficients), found.constant, theta)
        scale = scale_of(found.objective, found.slope)
        return NullModel(point, found.objective, found.rounding, unit, scale)

    @property
    def null_gradient(self) -> Array:
        return self.survey["gradient"]

    @property
    def null_slope(self) -> float:
        """The derivative of the mean loss in the intercept at the best constant."""
        return self.null_sums.slope_of_dual

    def features_say_nothing(self, problem: ProblemParts) -> bool:
        return no_gradient(problem, self.null_gradient)

    @property
    def largest_target(self) -> float:
        return max(abs(self.targets.least), abs(self.targets.largest))

    @cached_property
    def squares(self) -> Array:
        squares: Array = self.survey["squares"]
        return np.append(squares, 1.0) if self.fit_intercept else squares

    @property
    def row_groups(self) -> list[RowGroup]:
        return self.targets.row_groups

    @property
    def mean_rows(self) -> list[tuple[Array, Array]]:
        """The mean row of each of the `row_groups`, with a bound on its error."""
        found = []
        for k, group in enumerate(self.row_groups):
            scale = 1.0 / max(group.total, np.finfo(float).tiny)
            mean, error = self.survey[f"row_{k}"].bounded
            rounding = (16.0 + log2(self.n_samples)) * EPSILON  # of total and its inverse
            found.append((scale * mean, scale * (error * (1.0 + rounding) + rounding * abs(mean))))
        return found

    def shifted(self, shift: Array) -> "RowsInShards":
        return replace(self, shards=self.shards.shifted(shift))

    def shift_of_features(self, penalty: Penalty) -> Array | None:
        """The means of features far from 0, and 0 for others; None if no feature is far."""
        n_groups = len(self.row_groups)
        of_all = range(n_groups) if self.loss.groups_have_weights else [n_groups]
        mean = sum(self.survey[f"row_{k}"].bounded[0] for k in of_all)
        squares = self.survey["squares"]
        variance = squares - mean * mean
        far = (mean * mean > FAR**2 * variance) & (variance > CERTAIN * squares)
        return np.where(far, mean, 0.0) if far.any() else None

    def random_sample(self, size: int) -> Rows:
        """A reproducible random sample of about ``size`` rows, whose weights sum to 1.

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
        return RowsInShards(child, targets, self.loss, self.fit_intercept, total)

    def _gathered_sample(self, share: float) -> RowsInMemory:
        parts = [part for part in self.shards.each(sampled_rows, share) if part is not None]
        blocks, y, weights = zip(*parts, strict=True)
        weight = np.concatenate(weights)
        return RowsInMemory(
            Design(stacked(blocks)), np.concatenate(y), weight / float(np.sum(weight)), self.loss,
            self.fit_intercept,
        )  # fmt: skip

    def of_columns(self, columns: Indices) -> NoReturn:
        raise ValueError(
            "alphas must be given as values for X in blocks or chunks with features that are not "
            "penalised, got a number of them."
        )

    # Models and dual points

    def expect(self, problem: ProblemParts, point: Point) -> None:
        """Compute the sums of a new model and dual point in one pass over the rows."""
        recipe, workspace = point.dual_coef.recipe, cast(Problem, problem).workspace
        if workspace is None or point.dual_coef.is_zero:
            return
        known = workspace.known
        if known is None or not (known.is_model(point) and known.of_dual.recipe == recipe):
            model = np.array(point.coef, dtype=np.float64), float(point.intercept)
            sums = self.shards.sums(point_sums, model, recipe, False)
            of_dual = DualSums(self.shards, recipe, sums)
            workspace.known = KnownSums(*model, sums, of_dual)

    def mean_loss(
        self, problem: ProblemParts, coef: Array, free: Numbers, accuracy: float
    ) -> float:
        self.require_no_intercept(free)
        if not coef.any() and free == self.null_sums.constant:
            return self.null.objective
        known = _known(problem)
        if known is not None and known.is_model(Point(coef, free, None)):
            found = known.of_model
        else:
            found = self.shards.sums(point_sums, (coef, float(free)), None, False)
            if known is not None:  # the model of single precision is looked at twice
                known = KnownSums(np.array(coef), float(free), found, known.of_dual)
                cast(Workspace, cast(Problem, problem).workspace).known = known
        most: float = found["loss"].bounded[0]
        if self._loss_by_errors(most, found) <= max(PLAIN * most, accuracy):
            return most
        return self.precise_mean_loss(problem, coef, free)[0]

    def precise_mean_loss(
        self, problem: ProblemParts, coef: Array, free: Numbers
    ) -> tuple[float, float]:
        found = self.shards.sums(point_sums, (coef, float(free)), None, True)
        return found["loss"].bounded[0], found["loss_about"]

    def _loss_by_errors(self, value: float, found: dict[str, Any]) -> float:
        """An estimate of the change of a mean loss of this value by errors of the predictions."""
        if self.loss.lipschitz < inf:
            return float(self.loss.lipschitz * found["error"])
        if self.loss.smoothness < inf:
            return sqrt(2.0 * self.loss.smoothness * value * found["squared_error"])
        return value - float(found["loss_about"])

    def estimated_gap(self, problem: ProblemParts, point: Point) -> float:
        self.expect(problem, point)
        found = self.feasible_point(problem, point.dual_coef)
        if found is None:
            return inf
        upper = self.mean_loss(problem, point.coef, point.intercept, inf)
        upper += problem.alpha * problem.penalty.value(point.coef)
        gradient, _ = found.products(False)
        slope = found.sums_without_products()[0][0]
        value = found.value(1.0)[0] - problem.free.likely_cost(
            gradient, slope, problem.alpha, upper
        )
        return upper - dual_estimate(problem, value, gradient, upper)

    def dual_point_of(self, coef: Array, intercept: Numbers) -> SharedVector:
        kept = self.shards.new()
        model = np.ascontiguousarray(coef, dtype=np.float64), float(intercept)
        self.shards.sums(keep_gradient, model, kept.key)
        variables = np.append(model[0], [model[1]] * self.n_free)
        return SharedVector(DualRecipe(kept.key), self.n_samples, kept, variables)

    def feasible_point(self, problem: ProblemParts, theta: SharedVector) -> SharedPoint | None:
        if theta.is_zero:
            return None
        known, sums = _known(problem), DualSums(self.shards, theta.recipe)
        if known is not None and known.of_dual.recipe == theta.recipe:
            sums = known.of_dual
        point = SharedPoint(problem, theta, sums)
        return None if point.largest == 0.0 else point

    # Vectors of dual variables

    def zero_dual(self, theta: SharedVector) -> SharedVector:
        return SharedVector(DualRecipe(), self.n_samples)

    def plain_dual(self, theta: SharedVector | Array) -> SharedVector:
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
        d, variables = self.n_coefficients, theta.model
        if variables is None:
            variables = np.zeros(d + self.n_free)
        model = variables[:d], self.free_part(variables[d:])
        self.shards.sums(keep_repaired, model, theta.recipe.key, kept.key)
        recipe = theta.recipe._replace(key=kept.key)
        return SharedVector(recipe, self.n_samples, kept, theta.model)

    def dual_table(self, dual_coef: SharedVector | Array) -> Array:
        """The dual point in the form of ``dual_coef_``, gathered from the shards."""
        theta = self.plain_dual(dual_coef)
        while True:
            try:
                return self.shards.gathered(gathered_part, theta.recipe)
            except RowsLostError:
                theta = self.repaired(theta)


def _known(problem: ProblemParts) -> KnownSums | None:
    """The sums of the last model and dual point of a run."""
    workspace = cast(Problem, problem).workspace
    return None if workspace is None else workspace.known

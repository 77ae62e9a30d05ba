"""Rows in blocks or in other processes, used through sums over the rows (`RowsInShards`)."""

from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf, log2, sqrt
from typing import Any

import numpy as np

from ..._floats import EPSILON
from ..._immutable_base import attribute_of_part, computed
from ..._typing import Array, Numbers
from ...designs import Design
from ...designs.far_columns import FAR
from ...designs.row_blocks import stacked
from ...losses import Loss
from ...penalties import Penalty
from ..in_memory import PLAIN, RowsInMemory, no_gradient
from ..interfaces import Free, ProblemParts
from ..null_model import NullModel, scale_of
from ..solution import Point
from .balance import SharedFreeDirections
from .bounds import keep_gradient, keep_repaired, point_sums
from .data_summary import DataSummary
from .null_sums import NullSums, TargetSums
from .points import CachedSums, DualSums, RowsOnShards, SummedPoint, entries
from .remote_dual import RemoteVector
from .shards import RowsLostError, Shards
from .smoothing import put, sampled_rows

CERTAIN = 64.0 * EPSILON  # a variance above this times the mean square is no rounding error


@dataclass(frozen=True, eq=False)
class RowsInShards(RowsOnShards):
    """The rows of sum_i c_i l(y_i, x_i.w + b), used only through sums over shards.

    A dual point is a `RemoteVector`, whose entries stay with the rows.

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
    n_weighty = attribute_of_part("targets.n_weighted")
    row_groups = attribute_of_part("targets.row_groups")
    null_gradient = attribute_of_part("design.gradient")

    n_samples = computed(lambda self: self.shards.shape[0])

    n_coefficients = computed(lambda self: self.shards.shape[1])

    def free_of(self, penalty: Penalty) -> Free:
        return SharedFreeDirections(self, penalty)

    # Cached sums that do not depend on a model

    @cached_property
    def null_sums(self) -> NullSums:
        """Sums at the best constant prediction."""
        return NullSums.of(self.shards, self.loss, self.targets, self.fit_intercept)

    @cached_property
    def design(self) -> DataSummary:
        """Sums over the columns of X; a ValueError if a number of the data is not finite."""
        return DataSummary.of(self.shards, self.null_sums.point, self.name)

    @cached_property
    def null(self) -> NullModel:
        sums, unit = self.null_sums, self.null_sums.objective
        if sums.constant != 0.0:
            unit = max(unit, EPSILON * sums.distant)
        theta = RemoteVector(self.n_samples, sums.point)
        point = Point(np.zeros(self.n_coefficients), sums.constant, theta)
        scale = scale_of(sums.objective, sums.slope)
        return NullModel(point, sums.objective, sums.rounding, unit, scale, sums.lower)

    # The derivative of the mean loss in the intercept at the best constant.
    null_slope = attribute_of_part("null_sums.slope_of_dual")

    def features_say_nothing(self, problem: ProblemParts) -> bool:
        return no_gradient(problem, self.null_gradient)

    @property
    def largest_target(self) -> float:
        return max(abs(self.targets.smallest), abs(self.targets.largest))

    @cached_property
    def squares(self) -> Array:  # type: ignore[override]
        squares = self.design.squares
        return np.append(squares, 1.0) if self.fit_intercept else squares

    @property
    def mean_rows(self) -> list[tuple[Array, Array]]:
        """The mean row of each row group, with a bound on its error."""
        rounding = (16.0 + log2(self.n_samples)) * EPSILON  # of totals and their inverses
        means = []
        for group, row, error in zip(self.targets.row_groups, *self.design.rows, strict=False):
            scale = 1.0 / max(group.total, np.finfo(float).tiny)
            means.append((scale * row, scale * (error * (1.0 + rounding) + rounding * abs(row))))
        return means

    def shifted(self, shift: Array) -> "RowsInShards":
        return replace(self, shards=self.shards.shifted(shift))

    def shift_of_features(self, penalty: Penalty) -> Array | None:
        """The means of features far from 0, and 0 for others; None if no feature is far."""
        rows, squares = self.design.rows[0], self.design.squares
        mean = rows.sum(axis=0) if self.loss.groups_have_weights else rows[-1]
        variance = squares - mean * mean
        far = (mean * mean > FAR**2 * variance) & (variance > CERTAIN * squares)
        return np.where(far, mean, 0.0) if far.any() else None

    def random_sample(self, size: int) -> RowsInMemory:
        """A reproducible random sample of about ``size`` rows, whose weights sum to 1.

        It is copied to this process, which may hold ``design.most_copied_at_once`` rows.
        """
        size = min(size, int(self.design.most_copied_at_once))
        share = size / max(self.targets.n_weighted, 1)
        parts = self.shards.each(partial(sampled_rows, share=share))
        blocks, y, weights = zip(*(part for part in parts if part is not None), strict=True)
        weight = np.concatenate(weights)
        return RowsInMemory(
            Design(stacked(blocks)), np.concatenate(y), weight / float(np.sum(weight)), self.loss,
            self.fit_intercept,
        )  # fmt: skip

    # Models and dual points

    def expect(self, problem: ProblemParts, point: Point) -> None:
        """Compute the sums of a new model and dual point in one pass over the rows."""
        dual, workspace = point.dual_coef.point, problem.workspace
        if workspace is None or dual.is_zero:
            return
        cached = workspace.sums
        if cached is None or not (cached.is_model(point) and cached.of_dual.point == dual):
            model = np.array(point.coef, dtype=np.float64), float(point.intercept)
            sums = self.shards.sums(partial(point_sums, model=model, dual=dual))
            of_dual = DualSums(self.shards, dual, sums)
            workspace.sums = CachedSums(*model, sums, of_dual)

    def mean_loss(
        self, problem: ProblemParts, coef: Array, free: Numbers, accuracy: float
    ) -> float:
        self.require_no_intercept(free)
        if not coef.any() and free == self.null_sums.constant:
            return self.null.objective
        workspace = problem.workspace
        cached = None if workspace is None else workspace.sums
        if cached is not None and cached.is_model(Point(coef, free, None)):
            sums = cached.of_model
        else:
            sums = self.shards.sums(partial(point_sums, model=(coef, float(free))))
            if workspace is not None and cached is not None:
                # the model of single precision is certified twice
                workspace.sums = replace(
                    cached, coef=np.array(coef), intercept=float(free), of_model=sums
                )
        upper: float = sums["loss"].bounded[0]
        if self._loss_by_errors(upper, sums) <= max(PLAIN * upper, accuracy):
            return upper
        return self.precise_mean_loss(problem, coef, free)[0]

    def precise_mean_loss(
        self, problem: ProblemParts, coef: Array, free: Numbers
    ) -> tuple[float, float]:
        model = coef, float(free)
        sums = self.shards.sums(partial(point_sums, model=model, precise=True))
        return sums["loss"].bounded[0], sums["loss_about"]

    def _loss_by_errors(self, value: float, sums: dict[str, Any]) -> float:
        """An estimate of the change of a mean loss of this value by errors of the predictions."""
        if self.loss.lipschitz < inf:
            return float(self.loss.lipschitz * sums["error"])
        if self.loss.smoothness < inf:
            return sqrt(2.0 * self.loss.smoothness * value * sums["squared_error"])
        return value - float(sums["loss_about"])

    def dual_point_of(self, coef: Array, intercept: Numbers) -> RemoteVector:
        owner = self.shards.new_key()
        model = np.ascontiguousarray(coef, dtype=np.float64), float(intercept)
        self.shards.each(partial(keep_gradient, model=model, key=owner.key))
        variables = np.append(model[0], [model[1]] * self.n_free)
        return RemoteVector(self.n_samples, owner=owner, model=variables)

    def feasible_point(self, problem: ProblemParts, theta: RemoteVector) -> SummedPoint | None:
        if theta.point.is_zero:
            return None
        workspace = problem.workspace
        cached = None if workspace is None else workspace.sums
        if cached is not None and cached.of_dual.point == theta.point:
            sums = cached.of_dual
        else:
            sums = DualSums(self.shards, theta.point)
        point = SummedPoint(problem, theta, sums)
        return None if point.largest == 0.0 else point

    # Vectors of dual variables

    def zero_dual(self, theta: RemoteVector) -> RemoteVector:
        return RemoteVector(self.n_samples)

    def plain_dual(self, theta: RemoteVector | Array) -> RemoteVector:
        """The dual point as a `RemoteVector`; an array is sent to the shards."""
        if isinstance(theta, RemoteVector):
            return theta
        owner = self.shards.new_key()
        dual_coef = np.ascontiguousarray(theta, dtype=np.float64)
        self.shards.each(partial(put, key=owner.key, dual_coef=dual_coef))
        return RemoteVector(self.n_samples, owner=owner)

    def repaired(self, theta: RemoteVector) -> RemoteVector:
        """The dual point with the gradient of the losses at its model for rows that were lost."""
        if theta.point.key is None:
            return theta
        owner = self.shards.new_key()
        d, variables = self.n_coefficients, theta.model
        if variables is None:
            variables = np.zeros(d + self.n_free)
        model = variables[:d], float(self.intercept_of(variables[d:]))
        keep = partial(keep_repaired, model=model, key=theta.point.key, new_key=owner.key)
        self.shards.each(keep)
        point = theta.point._replace(key=owner.key)
        return RemoteVector(self.n_samples, point, owner, theta.model)

    def dual_table(self, dual_coef: RemoteVector | Array) -> Array:
        """The dual point in the form of ``dual_coef_``, gathered from the shards."""
        theta = self.plain_dual(dual_coef)
        while True:
            try:
                return self.shards.gathered(partial(entries, point=theta.point))
            except RowsLostError:
                theta = self.repaired(theta)

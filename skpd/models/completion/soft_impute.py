"""Accelerated soft-impute, for matrix completion with a smooth loss.

It is soft-impute (Mazumder, Hastie and Tibshirani, 2010, Spectral regularization algorithms) with
acceleration.
"""

from typing import Any, cast

from ..._typing import Array
from ...problems import Point
from ...solvers.accelerated.proximal_gradient import proximal_gradients
from ...solvers.low_rank.factors import Factors
from ...solvers.low_rank.models import LowRankModel
from ...solvers.low_rank.settings import SETTINGS
from ...solvers.solver_context import SolverContext
from .free_groups import FreeGroups
from .rows import RowsOfEntries


class EntriesModel(LowRankModel):
    """The model of matrix completion, whose gradients are sparse matrices."""

    def __init__(self, context: SolverContext) -> None:
        super().__init__(context)
        self.rows = self.problem.rows.as_kind(RowsOfEntries)
        self.design = self.rows.design
        self.shape = self.design.n_left, self.design.n_right
        # the squared norm of the map in the metric of the weights is 1 for the entries, in units
        # of the largest weight, plus 1 for the free numbers in their own metric
        self.has_free = self.rows.groups is not None
        self.square_of_map = 2.0 if self.has_free else 1.0

    def image(self, x: Factors) -> Array:
        return self.design.to_rows(self.design.entries(x.U, x.V))

    def gradient(self, theta: Array) -> Any:
        return self.design.sparse(self.design.of_rows(self.weights * theta))

    def free_step(self, theta: Array) -> Array | float:
        groups = cast(FreeGroups, self.rows.groups)
        sums = groups.sums(self.weights * theta)
        step: Array | float = groups.solve_for_weights(sums, SETTINGS.free_accuracy)
        return step

    def first_curvature(self) -> float:
        return float(self.problem.loss.smoothness * self.rows.largest_weight)

    def start(self, point: Point) -> Factors:
        return Factors(point.coef[: self.shape[0]], point.coef[self.shape[0] :])

    def point(self, M: Factors, free: Array, theta: Array) -> Point:
        return Point(M.coef, free, theta)


def soft_impute(context: SolverContext) -> None:
    """Accelerated proximal gradients with singular value thresholding."""
    proximal_gradients(EntriesModel(context), context)

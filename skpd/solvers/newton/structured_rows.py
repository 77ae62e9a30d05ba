"""The rows of a loss of all scores, with the interface of the method of multipliers."""

from typing import Any, Self

import numpy as np

from ..._typing import Array, Indices
from ...designs.curvature_form import ROUNDING
from ...designs.gram import MatrixCurvature
from ...kernels import dot
from ...problems import Point, Problem
from ...problems.structured_rows import RowsOfScores
from .in_memory import InMemory
from .rows import ShrunkRows
from .settings import SETTINGS


class ScoreRows(InMemory):
    """The scores of a smooth loss, whose Hessian has a diagonal upper bound.

    Newton steps use the Hessian on small working sets. On others they use the bound, which leaves
    out products of mean rows, small for features of mean 0.
    """

    @classmethod
    def of(cls, problem: Problem, start: Point | None, gram: Any) -> Self:
        """The rows of a problem at a start, or at the best constant."""
        loss = problem.rows.as_kind(RowsOfScores).loss
        point = problem.rows.null_point if start is None else start
        nothing = np.zeros(loss.n_scores)
        z = problem.design.matvec(np.ascontiguousarray(point.coef))
        return cls(loss, gram, problem.design, nothing, loss.weights, nothing, z)

    def _derivatives(self, sigma: float) -> tuple[float, float]:
        loss, self.derivative, curvature = self.evaluator.derivatives(self.z)
        self._gradient, self.h = self.weights * self.derivative, self.weights * curvature
        return loss, loss - dot(self._gradient, self.z)

    def curvature(self, columns: Indices, scale: float, ridge: Array | None) -> Any:
        size = len(self.h) * len(columns)
        if self.evaluator.hessian_by_table and size > SETTINGS.largest_score_table:
            return super().curvature(columns, scale, ridge)
        H = self.evaluator.hessian(self.z, self.design, columns)
        if H is None:
            return super().curvature(columns, scale, ridge)
        diagonal = H.ravel()[:: len(H) + 1]
        diagonal *= 1.0 + ROUNDING
        if ridge is not None:
            diagonal += ridge
        return MatrixCurvature(H)

    def certified_gradient(self, problem: Problem, coef: Array) -> tuple[Array, float]:
        return self.gradient()

    def slopes(self, lengths: list[float], sigma: float) -> list[float]:
        slopes = []
        for length in lengths:
            _, theta, _ = self.evaluator.derivatives(self._before + length * self._along)
            slopes.append(dot(self.weights * theta, self._along))
        return slopes

    def dual_point(self) -> Any:
        return self.evaluator.loss_augmented(self.z, 0.0)[1]

    def shrink(
        self, gradient: Array, sigma: float, radius: float | None
    ) -> tuple[ShrunkRows | None, float | None]:
        return None, radius  # all rows have curvature

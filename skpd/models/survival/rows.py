"""The scores of samples at risk, and dual points whose sums over free coefficients vanish."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import NamedTuple, Self

import numpy as np

from ... import kernels
from ..._floats import EPSILON
from ..._typing import Array, Indices
from ...certificates.interface import DualPoint
from ...designs import Design
from ...penalties import Penalty
from ...problems.free_features import to_balance
from ...problems.interfaces import Free, ProblemParts
from ...problems.problem import Problem
from ...problems.regularisation import Regularisation
from ...problems.structured_rows import FreeConstant, RowsOfScores, StructuredPoint
from ...problems.tilting import tilted
from .partial_likelihood import PartialLikelihood, RiskDual


class RowsAtRisk(RowsOfScores):
    """The scores of a `PartialLikelihood`, whose distributions are tilted by free coefficients."""

    loss: PartialLikelihood  # type: ignore[assignment]

    def free_of(self, penalty: Penalty) -> Free:
        return FreeOfHazards(self, penalty)

    def in_limit(self, levels: Sequence[Indices]) -> Self:
        """The rows in the limit along directions of `PartialLikelihood.recession`."""
        loss = self.loss
        for each in levels:
            loss = loss.in_limit(each)
        return replace(self, loss=loss)


def hazards_problem(
    design: Design, loss: PartialLikelihood, penalty: Penalty, alpha: float
) -> Problem:
    """The problem of a partial likelihood, whose penalty may leave coefficients free."""
    return Problem(RowsAtRisk(design, loss), Regularisation(penalty, alpha))


class FreeOfHazards(FreeConstant):
    """The free coefficients of a partial likelihood."""

    rows: RowsAtRisk

    def balanced_beside(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        dual, distance = point.theta, 0.0
        if dual.share != 1.0:  # it is not the gradient at its scores
            return point
        features = to_balance(problem, dual.theta)
        kept = np.intersect1d(features, np.array(self.dependence.kept, dtype=np.int64))
        if len(kept):
            tilt = ScoreTilt(self.rows.with_design(Design(self.table[:, kept])), dual)
            nearest = tilted(tilt)
            if nearest is None:
                return point
            (_, dual), distance = nearest
        # the sums of combinations of the columns that are kept vanish too
        vanishing = features if len(kept) == len(self.dependence.kept) else kept
        of = self.rows.design, self.columns[vanishing]
        return StructuredPoint(self.rows, dual.near(distance, of), columns=self.columns)


class ScoreTilt(NamedTuple):
    """The dual point of a vector of scores, to which the scores of some columns are added."""

    rows: RowsOfScores  # with these columns as design
    dual: RiskDual

    @property
    def n_rows(self) -> int:
        return self.dual.loss.n_scores

    def sums(self) -> tuple[Array, Array]:
        sums, errors = StructuredPoint(self.rows, self.dual).products(precise=True)
        weights, theta = self.rows.loss.weights, self.dual.theta
        size = sqrt(kernels.dot(weights * theta, theta))  # the columns are rounded
        norms = self.rows.design.column_norms(weights)
        return sums, errors + 2.0 * EPSILON * size * norms

    def hessian(self, precise: bool) -> tuple[Array, Array] | None:
        loss, design, z = self.dual.loss, self.rows.design, self.dual.predictions
        if precise:
            hessian = loss.precise_hessian(z, design)
            return None if hessian is None else (hessian, np.diag(hessian))
        _, _, curvature = loss.derivatives(z)
        hessian = loss.hessian(z, design, np.arange(design.shape[1]))
        if hessian is None:
            return None
        return hessian, np.square(design.column_norms(loss.weights * curvature))

    def largest_score(self, t: Array) -> float:
        return kernels.max_abs(self.rows.design.matvec(t))

    def largest_norm(self, inverse: Array) -> float:
        table = self.rows.design.as_given
        return sqrt(float(np.max(np.sum((table @ inverse) * table, axis=1))))

    def moved(self, t: Array) -> "ScoreTilt":
        z = self.dual.predictions - self.rows.design.matvec(t)
        return self._replace(dual=self.dual.loss.loss_augmented(z, 0.0)[1])

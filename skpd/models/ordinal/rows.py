"""The scores of ordered classes, and dual points whose sums over free coefficients vanish."""

from functools import cached_property

from ...certificates.interface import DualPoint
from ...penalties import Penalty, Separable
from ...problems.interfaces import Free, ProblemParts
from ...problems.problem import Problem
from ...problems.structured_rows import FreeConstant, RowsOfScores, StructuredPoint
from .losses import OrdinalLoss
from .threshold_problem import orthogonal_dual, rows_of_thresholds


class OrderedRows(RowsOfScores):
    """The scores of an `OrdinalLoss`, whose rows of thresholds balance free coefficients."""

    loss: OrdinalLoss  # type: ignore[assignment]

    def free_of(self, penalty: Penalty) -> Free:
        return FreeBesideThresholds(self, penalty)


class FreeBesideThresholds(FreeConstant):
    """The free coefficients of ordered classes."""

    rows: OrderedRows

    @cached_property
    def _threshold_rows(self) -> Problem:
        """The free columns as rows of thresholds."""
        columns, *ends = self.penalty.free_features
        design, penalty = self.rows.design.columns(columns), Separable(0.0, 0.0, *ends)
        return rows_of_thresholds(self.rows.loss, design, penalty, 1.0)

    def balanced_beside(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        design, rows = self.rows.design, self._threshold_rows
        theta = point.theta
        moved = orthogonal_dual(theta, rows, design, self.columns)
        return point if moved is None else StructuredPoint(self.rows, moved, 0.0, self.columns)


def threshold_rows(problem: Problem) -> Problem:
    """The problem of ordered classes with the thresholds as unknowns.

    Its rows are those of the samples with a positive weight, once for each threshold, and its
    labels whether their class is above. The first threshold is minus the intercept, and the
    differences of the others from it are coefficients that the penalty leaves free. Objective
    values are those of ``problem`` over the number of thresholds.

    Raises
    ------
    ValueError
        If the penalty has no form with free coefficients.
    """
    loss = problem.rows.as_kind(OrderedRows).loss
    return rows_of_thresholds(loss, problem.design, problem.penalty, problem.alpha)

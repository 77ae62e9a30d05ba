"""The problem of ordered classes, and how it is solved."""

from functools import partial

from ...designs import Design
from ...penalties import Penalty
from ...problems import Problem
from ...problems.plan import Attempt, Method, Plan
from ...problems.regularisation import Regularisation
from ...solvers.rules import by_rules
from ...solvers.select import auto
from .by_threshold_rows import by_threshold_rows, has_threshold_rows
from .losses import OrdinalLoss
from .rows import OrderedRows

BY_ROWS = Method(
    "threshold-rows", partial(by_threshold_rows, method=auto), has_threshold_rows,
    "a penalty that extends to free coefficients and memory for a copy of X for each threshold",
)  # fmt: skip


def _attempts(problem: Problem, warm: bool) -> list[Attempt]:
    """Losses with kinks are sums of margin losses, or maxima of few planes; others as by rules."""
    usual = by_rules(problem, warm)
    if problem.rows.as_kind(OrderedRows).loss.is_smooth or not has_threshold_rows(problem):
        return usual
    by_rows = Attempt("threshold-rows", "a sum of margin losses of thresholds")
    if len(problem.free_columns):  # the dual points of planes are not balanced beside these
        return [by_rows]
    n, d = problem.design.shape
    few_planes = n < d and problem.penalty.is_ridge
    return [*usual, by_rows] if few_planes else [by_rows, *usual]


PLAN = Plan(_attempts, {"threshold-rows": BY_ROWS})


def ordered_problem(design: Design, loss: OrdinalLoss, penalty: Penalty, alpha: float) -> Problem:
    """The problem of ordered classes, whose penalty may leave coefficients free."""
    rows, regularisation = OrderedRows(design, loss), Regularisation(penalty, alpha)
    return Problem(rows, regularisation, plan=PLAN)

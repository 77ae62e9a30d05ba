"""The problem of matrix completion, and how it is solved."""

from math import inf

from ...problems import Problem
from ...problems.plan import Attempt, Method, Plan
from ...problems.regularisation import Regularisation
from .alternating_multipliers import alternating_multipliers
from .factored_trace_norm import FactoredTraceNorm
from .pdprox import pdprox_dual_of_entries
from .rows import RowsOfEntries
from .soft_impute import soft_impute


def entries_problem(rows: RowsOfEntries, alpha: float) -> Problem:
    """The problem of matrix completion, with the weight alpha of the trace norm."""
    return Problem(rows, Regularisation(FactoredTraceNorm(rows.design), alpha), plan=PLAN)


def _attempts(problem: Problem, _: bool) -> list[Attempt]:
    """Entries of a matrix: gradients for smooth losses, otherwise alternating multipliers."""
    if _is_smooth(problem):
        return [Attempt("soft-impute", "a smooth loss, and the trace norm has a prox")]
    return [Attempt("alternating-multipliers", "the loss has kinks")]


def _is_smooth(problem: Problem) -> bool:
    return problem.loss.smoothness < inf


PLAN = Plan(_attempts, {
    "soft-impute": Method("soft-impute", soft_impute, _is_smooth, "a smooth loss"),
    "alternating-multipliers": Method(
        "alternating-multipliers", alternating_multipliers, lambda p: True, "entries of a matrix"
    ),
    "pdprox-dual of entries": Method(
        "pdprox-dual", pdprox_dual_of_entries, lambda p: True, "entries of a matrix",
        is_published=True,
    ),
})  # fmt: skip

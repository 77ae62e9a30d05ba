"""The default for linear constraints on the coefficients."""

from functools import partial
from math import inf

from ..problems.constrained import ConstrainedProblem
from .interior import expected_cost, has_decompositions, has_terms, interior_point
from .interior.posing import has_programme
from .interior.settings import SETTINGS
from .select import INTERIOR_POINT, PRECISE, Choice, select

__all__ = ["select_for_constraints"]


@select.register
def select_for_constraints(problem: ConstrainedProblem, warm: bool = False) -> list[Choice]:
    """The interior-point method, in which a constraint is one more term.

    Raises
    ------
    ValueError
        If it does not take the loss, the penalty or the size of the data.
    """
    n, d = problem.design.shape
    if not has_terms(problem.loss):
        raise ValueError(f"constraints need a loss of skpd.losses, got {problem.loss!r}.")
    if not has_programme(problem.penalty):
        raise ValueError(f"constraints need a penalty of skpd.penalties, got {problem.penalty!r}.")
    most, unknowns = SETTINGS.largest_system, len(problem.constraints)
    if expected_cost(problem) == inf or unknowns > most:
        raise ValueError(
            f"constraints need at most {most} rows, and data of at most {most} samples or "
            f"features (features, with this penalty), got {unknowns} rows, {n} samples and {d} "
            "features."
        )
    choices = [Choice(*INTERIOR_POINT, interior_point)]
    if n < d <= most or has_decompositions(problem):
        choices.append(Choice(*PRECISE, partial(interior_point, precise=True)))
    return choices

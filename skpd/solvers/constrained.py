"""The default solver for linear constraints on the coefficients."""

from functools import partial
from math import inf
from typing import Any

from ..problems import Point
from ..problems.constrained import ConstrainedProblem
from .interior import expected_cost, has_decompositions, interior_point
from .interior.settings import SETTINGS
from .monitor import Monitor
from .select import INTERIOR_POINT, PRECISE, Choice, select

__all__ = ["select_for_constraints"]

ZEROS = 0.01  # factor of the tolerance in the last iterations, which converge quickly
ENOUGH = 1e-9  # a relative gap small enough to detect zeros without further iterations


@select.register
def select_for_constraints(problem: ConstrainedProblem, warm: bool = False) -> list[Choice]:
    """The interior-point method, in which a constraint is an additional term.

    Raises
    ------
    ValueError
        If the method does not support the loss, the penalty or the size of the data.
    """
    n, d = problem.design.shape
    if not problem.loss.has_cones:
        raise ValueError(f"constraints need a loss of skpd.losses, got {problem.loss!r}.")
    if not problem.penalty.has_cones:
        raise ValueError(f"constraints need a penalty of skpd.penalties, got {problem.penalty!r}.")
    most, unknowns = SETTINGS.largest_system, len(problem.constraints)
    if expected_cost(problem) == inf or unknowns > most:
        raise ValueError(
            f"constraints need at most {most} rows, and data of at most {most} samples or "
            f"features (features, with this penalty), got {unknowns} rows, {n} samples and {d} "
            "features."
        )
    precise = Choice(*PRECISE, partial(_to_the_zeros, precise=True))
    if n < d <= most:  # systems of the rows are too inexact to detect zeros
        return [precise]
    choices = [Choice(*INTERIOR_POINT, _to_the_zeros)]
    return [*choices, precise] if has_decompositions(problem) else choices


def _to_the_zeros(
    problem: ConstrainedProblem, monitor: Monitor, start: Point | None, **options: Any
) -> None:
    """Run the method to a smaller tolerance, at which coefficients of 0 can be detected."""
    tol = monitor.tol
    monitor.tol = min(tol, max(ZEROS * tol, ENOUGH))
    try:
        interior_point(problem, monitor, start, **options)
    finally:
        monitor.tol = tol
        monitor.done = monitor.stopped or monitor.relative_gap <= tol

"""The interior-point method for linear constraints on the coefficients."""

from typing import Any

from ..problems import Point, Problem
from .interior import interior_point
from .monitor import Monitor

__all__ = ["interior_point_to_the_zeros"]

ZEROS = 0.01  # factor of the tolerance in the last iterations, which converge quickly
ENOUGH = 1e-9  # a relative gap small enough to detect zeros without further iterations


def interior_point_to_the_zeros(
    problem: Problem, monitor: Monitor, start: Point | None, **options: Any
) -> None:
    """Run the method to a smaller tolerance, at which coefficients of 0 can be detected."""
    tol = monitor.tol
    monitor.tol = min(tol, max(ZEROS * tol, ENOUGH))
    try:
        interior_point(problem, monitor, start, **options)
    finally:
        monitor.tol = tol
        monitor.done = monitor.stopped or monitor.relative_gap <= tol

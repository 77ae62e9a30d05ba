"""The interior-point method for linear constraints on the coefficients."""

from .interior import interior_point
from .run import Run

__all__ = ["interior_point_to_the_zeros"]

ZEROS = 0.01  # factor of the tolerance in the last iterations, which converge quickly
ENOUGH = 1e-9  # a relative gap small enough to detect zeros without further iterations


def interior_point_to_the_zeros(run: Run, *, precise: bool = False) -> None:
    """Run the method to a smaller tolerance, at which coefficients of 0 can be detected."""
    monitor, tol = run.monitor, run.monitor.tol
    monitor.tol = min(tol, max(ZEROS * tol, ENOUGH))
    try:
        interior_point(run, precise=precise)
    finally:
        monitor.tol = tol
        monitor.done = monitor.stopped or monitor.relative_gap <= tol

"""Solvers: functions of a `Problem` that report to a `Monitor`."""

from .monitor import Monitor
from .select import select
from .solving import (
    COMPLETION_SOLVERS,
    CONSTRAINED_SOLVERS,
    KERNEL_SOLVERS,
    OUTPUTS_SOLVERS,
    ROBUST_SOLVERS,
    SOLVERS,
    STRUCTURED_SOLVERS,
    TRACE_NORM_SOLVERS,
    check_solver_options,
    solve,
)

__all__ = [
    "COMPLETION_SOLVERS", "CONSTRAINED_SOLVERS", "KERNEL_SOLVERS", "OUTPUTS_SOLVERS",
    "ROBUST_SOLVERS", "SOLVERS", "STRUCTURED_SOLVERS", "TRACE_NORM_SOLVERS",
    "Monitor", "check_solver_options", "select", "solve",
]  # fmt: skip

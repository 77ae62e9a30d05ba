"""Methods that solve problems, and the selection among them."""

from .methods import Method
from .monitor import HISTORY_DTYPE, Monitor
from .select import METHODS, select
from .solver_context import SolverContext
from .solving import check_solver_options, method_named, solve

__all__ = [
    "HISTORY_DTYPE", "METHODS", "Method", "Monitor", "SolverContext", "check_solver_options",
    "method_named", "select", "solve",
]  # fmt: skip

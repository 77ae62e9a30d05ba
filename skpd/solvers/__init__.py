"""Methods that solve problems, and the selection among them."""

from ..problems.plan import Method
from .monitor import HISTORY_DTYPE, Monitor
from .select import METHODS, methods_of, select
from .solver_context import SolverContext
from .solving import check_solver_options, method_named, solve

__all__ = [
    "HISTORY_DTYPE", "METHODS", "Method", "Monitor", "SolverContext", "check_solver_options",
    "method_named", "methods_of", "select", "solve",
]  # fmt: skip

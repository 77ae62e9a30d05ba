"""Methods that solve problems, and the selection among them."""

from .methods import Method
from .monitor import HISTORY_DTYPE, Monitor
from .run import Run
from .select import METHODS, method_named, select
from .solving import check_solver_options, solve

__all__ = [
    "HISTORY_DTYPE", "METHODS", "Method", "Monitor", "Run", "check_solver_options", "method_named",
    "select", "solve",
]  # fmt: skip

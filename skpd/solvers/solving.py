"""Solve and certify a problem by a named method (`solve`), and which methods each kind has."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..problems import Point, Problem, Solution
from ..problems.base import BaseProblem
from ..problems.budget import BudgetProblem
from ..problems.completion import CompletionProblem
from ..problems.constrained import ConstrainedProblem
from ..problems.kernel import KernelProblem
from ..problems.outputs import OutputsProblem
from ..problems.plain_svm import PlainSVM
from ..problems.quantiles import NonCrossingProblem
from ..problems.representer import RepresenterProblem
from ..problems.robust import RobustProblem
from ..problems.shards.problem import ShardedProblem
from ..problems.shards.shards import RowsLostError
from ..problems.structured import StructuredProblem
from ..problems.trace_norm import TraceNormProblem
from .accelerated.agm import agm
from .budget import budget_auto
from .constrained import select_for_constraints  # noqa: F401 (which registers it)
from .coordinates.pairs import pair_descent
from .coordinates.primal import approx, coordinate_descent
from .frank_wolfe.pdbfw import pdbfw
from .frank_wolfe.trace_norm import trace_norm
from .functions_of_norms import of_slopes  # noqa: F401 (which registers it)
from .low_rank import pdprox_dual_of_entries
from .memory import keep_freed_memory
from .monitor import Monitor
from .newton import sharded_rows  # noqa: F401 (which registers its rows)
from .options import declared_options
from .outputs import select_for_outputs  # noqa: F401 (which registers it)
from .proximal.pdprox import pdprox_dual, pdprox_primal
from .robust.incremental import hybrid, ippa, isg
from .select import auto
from .sharded import select_for_shards  # noqa: F401 (which registers it)
from .structured.agm import structured_agm
from .structured.select import structured_auto

__all__ = [
    "COMPLETION_SOLVERS", "CONSTRAINED_SOLVERS", "KERNEL_SOLVERS", "OUTPUTS_SOLVERS",
    "ROBUST_SOLVERS", "SOLVERS", "STRUCTURED_SOLVERS", "TRACE_NORM_SOLVERS",
    "check_solver_options", "solve",
]  # fmt: skip

SOLVERS: dict[str, Callable[..., None]] = {
    "auto": auto,
    "pdprox-dual": pdprox_dual,
    "pdprox-primal": pdprox_primal,
    "cd": coordinate_descent,
    "approx": approx,
    "agm": agm,
    # over an l1 ball, with a squared l2 penalty
    "pdbfw": pdbfw,
}

# of a `ShardedProblem`
SHARDED_SOLVERS: dict[str, Callable[..., None]] = {"auto": auto}

# of a `ConstrainedProblem`
CONSTRAINED_SOLVERS: dict[str, Callable[..., None]] = {"auto": auto}

# of a `BudgetProblem`
BUDGET_SOLVERS: dict[str, Callable[..., None]] = {
    "auto": budget_auto,
    "pdprox-dual": pdprox_dual,
    "pdprox-primal": pdprox_primal,
}

# of a `RobustProblem`, also of a `PlainSVM`
ROBUST_SOLVERS: dict[str, Callable[..., None]] = {
    "auto": auto,
    "isg": isg,
    "ippa": ippa,
    "hybrid": hybrid,
}

# of a `KernelProblem`
KERNEL_SOLVERS: dict[str, Callable[..., None]] = {"auto": auto}

# of a `RepresenterProblem`
REPRESENTER_SOLVERS: dict[str, Callable[..., None]] = {"auto": pair_descent}

# of an `OutputsProblem`, also of a `NonCrossingProblem`
OUTPUTS_SOLVERS: dict[str, Callable[..., None]] = {
    "auto": auto,
    "pdprox-dual": pdprox_dual,
    "pdprox-primal": pdprox_primal,
}

# of a `TraceNormProblem`
TRACE_NORM_SOLVERS: dict[str, Callable[..., None]] = {
    "auto": trace_norm,
    "frank-wolfe": trace_norm,
}

# of a `CompletionProblem`
COMPLETION_SOLVERS: dict[str, Callable[..., None]] = {
    "auto": auto,
    "pdprox-dual": pdprox_dual_of_entries,
}

# of a `StructuredProblem`
STRUCTURED_SOLVERS: dict[str, Callable[..., None]] = {
    "auto": structured_auto,
    "agm": structured_agm,
}

_TABLES: dict[type, dict[str, Callable[..., None]]] = {
    BudgetProblem: BUDGET_SOLVERS,
    CompletionProblem: COMPLETION_SOLVERS,
    ConstrainedProblem: CONSTRAINED_SOLVERS,
    KernelProblem: KERNEL_SOLVERS,
    Problem: SOLVERS,
    OutputsProblem: OUTPUTS_SOLVERS,
    NonCrossingProblem: OUTPUTS_SOLVERS,
    RepresenterProblem: REPRESENTER_SOLVERS,
    RobustProblem: ROBUST_SOLVERS,
    ShardedProblem: SHARDED_SOLVERS,
    PlainSVM: ROBUST_SOLVERS,
    StructuredProblem: STRUCTURED_SOLVERS,
    TraceNormProblem: TRACE_NORM_SOLVERS,
}

VECTORS = 64  # estimated number of vectors that a solver and its certificates keep in memory


def check_solver_options(solver: str, options, solvers=SOLVERS):
    """Validate the options of a named solver of a table, and return them.

    Raises
    ------
    ValueError
        If the solver does not have an option, or if a value is not allowed.
    """
    if not options:
        return {}
    options, declared = dict(options), declared_options(solvers[solver])
    for name, value in options.items():
        if name not in declared:
            names = ", ".join(repr(option) for option in sorted(declared)) or "no options"
            raise ValueError(
                f"solver_options of solver {solver!r} must be among {names}, got {name!r}."
            )
        if not declared[name].allows(value):
            raise ValueError(f"solver_options[{name!r}] must be {declared[name]}, got {value!r}.")
    return options


# numbers that overflow become infinite, with which a certificate is valid but not tight
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def solve(
    problem: BaseProblem,
    solver: str = "auto",
    *,
    tol: float,
    max_iter: int,
    random_state: np.random.RandomState,
    start: Point | None = None,
    on_check: Callable[[Monitor], bool | None] | None = None,
    precision: Any = np.float64,
    **options: Any,
) -> Solution:
    """Solve a problem and certify the solution.

    Parameters
    ----------
    problem : Problem or TraceNormProblem
    solver : str, default="auto"
        A key of `SOLVERS`, of `ROBUST_SOLVERS` for a `RobustProblem`, or of `TRACE_NORM_SOLVERS`
        for a `TraceNormProblem`.
    tol : float
        Relative gap at which to stop.
    max_iter : int
    random_state : RandomState
    start : Point, default=None
        The starting point.
    on_check : callable, default=None
        Called with the monitor after every check; a true return value ends the run.
    precision : dtype, default=numpy.float64
        The precision of the coefficients and intercepts of the solution.
    **options
        Options of the solver.

    Returns
    -------
    solution : Solution
        The best points found. After Ctrl-C, ``interrupted`` is set.
    """
    vectors = VECTORS * (problem.n_samples + problem.n_features)
    keep_freed_memory(8 * (vectors + problem.design.n_entries))
    if problem.workspace is None:
        problem = problem.in_workspace()
    if start is not None:
        coef = np.asarray(start.coef, dtype=np.float64)
        start = replace(start, coef=coef, dual_coef=problem.plain_dual(start.dual_coef))
    monitor = Monitor(problem, tol, on_check, precision)
    options |= {"max_iter": max_iter, "random_state": random_state}
    lost = False
    while True:
        try:
            if lost:
                monitor.problem = problem = problem.in_workspace()
                if monitor.best.coef is not None:
                    start = monitor.repair_dual()
                elif start is not None:
                    start = replace(start, dual_coef=problem.repaired(start.dual_coef))
            return _run(solver, problem, monitor, start, **options)
        except RowsLostError:
            lost = True


def _run(
    solver: str,
    problem: BaseProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
    **options: Any,
) -> Solution:
    """The solution of one run of a solver, from the start or after rows were lost."""
    method = _TABLES[type(problem)][solver]
    interrupted = False
    try:
        if monitor.best.coef is None:
            monitor.begin(has_start=start is not None)
        # with a smooth loss, Newton's method first computes a gradient, which detects that a start
        # is optimal
        with_gradient = method is auto and not problem.loss.linear_tails
        if start is not None and not with_gradient and not monitor.done:
            monitor.begin_at(start)
        if not monitor.done:
            monitor.method = solver
            method(
                problem, monitor, start, max_iter=max_iter, random_state=random_state, **options
            )
    except KeyboardInterrupt:
        if monitor.best.coef is None or monitor.best.dual_coef is None:
            raise
        interrupted = True
    if start is not None and not monitor.relative_gap <= monitor.tol:
        monitor.consider(start)
    return monitor.solution(interrupted)

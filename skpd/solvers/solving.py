"""Solve and certify a problem by a named method (`solve`)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import DTypeLike

from ..problems import Point, Problem, Solution
from ..problems.plan import Method
from ..problems.shards.shards import RowsLostError
from .monitor import Monitor
from .options import Option, Output, Value, declared_options
from .select import methods_of
from .solver_context import SolverContext


def method_named(name: str, problem: Problem) -> Method:
    """The method of a name that supports a problem.

    Raises
    ------
    ValueError
        If there is no such method, or if it does not support the problem.
    """
    methods = methods_of(problem).values()
    named = [method for method in methods if method.name == name]
    for method in named:
        if method.supports(problem):
            return method
    if not named:
        names = ", ".join(sorted({repr(method.name) for method in methods}))
        raise ValueError(f"solver must be one of {names}, got {name!r}.")
    raise ValueError(
        f"solver {name!r} needs {named[0].requires}, got {problem.loss!r} with "
        f"{problem.penalty!r}."
    )


def check_solver_options(method: Method, options: dict[str, Value]) -> dict[str, Value]:
    """Validate the options of a method, and return them.

    Raises
    ------
    ValueError
        If the solver does not have an option, or if a value is not allowed.
    """
    options, declared = dict(options), declared_options(method.run)
    if method.is_published:
        declared["output"] = Option(get_args(Output))
    for name, value in options.items():
        if name not in declared:
            names = ", ".join(repr(option) for option in sorted(declared))
            allowed = f"be among {names}" if names else "be empty, as it takes none"
            raise ValueError(
                f"solver_options of solver={method.name!r} must {allowed}, got {name!r}."
            )
        if not declared[name].allows(value):
            raise ValueError(f"solver_options[{name!r}] must be {declared[name]}, got {value!r}.")
    return options


# numbers that overflow become infinite, with which a certificate is valid but not tight
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def solve(
    problem: Problem, solver: str = "auto", *, tol: float, max_iter: int,
    random_state: np.random.RandomState, start: Point | None = None,
    on_check: Callable[[Monitor], bool | None] | None = None, precision: DTypeLike = np.float64,
    accuracy: float = 0.0, brief: bool = False, **options: object,
) -> Solution:  # fmt: skip
    """Solve a problem and certify the solution.

    Parameters
    ----------
    problem : Problem
    solver : str, default="auto"
        The name of a method in the table `skpd.solvers.METHODS`, or in its plan, that can solve
        the problem.
    tol : float
        The relative gap at which to stop (`skpd.certificates.relative_gaps`).
    max_iter : int
    random_state : RandomState
    start : Point, default=None
        The starting point.
    on_check : callable, default=None
        Called with the monitor after every check; a true return value ends the run.
    precision : dtype, default=numpy.float64
        The precision of the coefficients and intercepts of the solution.
    accuracy : float, default=0.0
        A gap at which to stop as well.
    brief : bool, default=False
        Whether the certificate is without bounds on predictions and decisions of rows.
    **options
        Options of the solver. A published method has ``output``: "algorithm" by default, for what
        the paper returns, the last iterate or an average, with the certificate of these two
        points and a history of such intervals; or "best" for the best points found, which other
        methods return.

    Returns
    -------
    solution : Solution
        The solution. After Ctrl-C, ``interrupted`` is set.
    """
    if problem.workspace is None:
        problem = problem.in_workspace()
    if start is not None:
        coef = np.asarray(start.coef, dtype=np.float64)
        start = replace(start, coef=coef, dual_coef=problem.plain_dual(start.dual_coef))
    method = method_named(solver, problem)
    keeps_best = not method.is_published or options.pop("output", "algorithm") == "best"
    monitor = Monitor(problem, tol, on_check, precision, accuracy, keeps_best, brief)
    lost = False
    while True:
        try:
            if lost:
                monitor.problem = problem = problem.in_workspace()
                if monitor.best.coef is not None:
                    start = monitor.restore_lost_rows()
                elif start is not None:
                    start = replace(start, dual_coef=problem.rows.repaired(start.dual_coef))
            context = SolverContext(problem, monitor, start, max_iter, random_state)
            return _solved(method, context, options)
        except RowsLostError:
            lost = True


def _solved(method: Method, context: SolverContext, options: dict[str, Any]) -> Solution:
    """The solution of one run of a method, from the start or after rows were lost."""
    problem, monitor, start = context.problem, context.monitor, context.start
    interrupted = False
    try:
        if monitor.best.coef is None:
            monitor.begin(has_start=start is not None)
        # with a smooth loss, Newton's method first computes a gradient, which detects that a start
        # is optimal
        with_gradient = method.name == "auto" and not problem.loss.linear_tails
        if start is not None and not with_gradient and not monitor.done:
            monitor.check(0, start)
        if not monitor.done:
            monitor.method = method.name
            method.run(context, **options)
    except KeyboardInterrupt:
        if monitor.best.coef is None or monitor.best.dual_coef is None:
            raise
        interrupted = True
    if start is not None and monitor.keeps_best and monitor.primal - monitor.dual > monitor.goal:
        monitor.consider(start)
    return monitor.solution(interrupted)

"""Solvers: functions of a `Problem` that report to a `Monitor`."""

import inspect
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from ..problem import Point, Problem, Solution
from .auto import auto
from .coordinates import approx, coordinate_descent
from .monitor import Monitor
from .pdprox import pdprox_dual, pdprox_primal

__all__ = ["SOLVERS", "Monitor", "check_solver_options", "solve"]

SOLVERS: dict[str, Callable[..., None]] = {
    "auto": auto,
    "pdprox-dual": pdprox_dual,
    "pdprox-primal": pdprox_primal,
    "cd": coordinate_descent,
    "approx": approx,
}

_OPTION_VALUES: dict[str, tuple] = {
    "algorithm": (1, 3),
    "implementation": ("double-primal", "double-dual"),
    "average": (True, False),
}


def check_solver_options(solver: str, options):
    """The options of a named solver, validated.

    Raises
    ------
    ValueError
        If the solver does not take an option, or not with this value.
    """
    if not options:
        return {}
    options = dict(options)
    parameters = inspect.signature(SOLVERS[solver]).parameters.values()
    allowed = {
        p.name for p in parameters
        if p.kind is p.KEYWORD_ONLY and p.name not in ("max_iter", "random_state")
    }  # fmt: skip
    for name, value in options.items():
        if name not in allowed:
            names = ", ".join(repr(option) for option in sorted(allowed)) or "no options"
            raise ValueError(
                f"solver_options of solver {solver!r} must be among {names}, got {name!r}."
            )
        if name == "burn_in":
            valid, expected = (
                isinstance(value, Real) and 0 <= float(value) < 1,
                "a number in [0, 1)",
            )
        elif name in _OPTION_VALUES:
            valid = any(value == v and type(value) is type(v) for v in _OPTION_VALUES[name])
            expected = "one of " + ", ".join(repr(v) for v in _OPTION_VALUES[name])
        else:
            valid = value is None and name == "step_ratio"
            valid |= isinstance(value, Real) and 0 < float(value) < float("inf")
            expected = "a number in (0, inf)"
        if not valid:
            raise ValueError(f"solver_options[{name!r}] must be {expected}, got {value!r}.")
    return options


def solve(
    problem: Problem,
    solver: str = "auto",
    *,
    tol: float,
    max_iter: int,
    random_state: np.random.RandomState,
    start: Point | None = None,
    on_check: Callable[[Monitor], bool | None] | None = None,
    **options: Any,
) -> Solution:
    """Solve a problem and certify what was found.

    Parameters
    ----------
    problem : Problem
    solver : str, default="auto"
        A key of `SOLVERS`.
    tol : float
        Relative gap at which to stop.
    max_iter : int
    random_state : RandomState
    start : Point, default=None
        Where to start.
    on_check : callable, default=None
        Called with the monitor after every check; a true return value ends the run.
    **options
        Options of the solver.

    Returns
    -------
    solution : Solution
        After Ctrl-C the best points so far, with ``interrupted`` set.
    """
    monitor = Monitor(problem, tol, on_check)
    interrupted = False
    try:
        monitor.begin()
        # with a smooth loss, Newton steps begin with a gradient that tells as much
        tells = solver == "auto" and not problem.loss.linear_tails
        if start is not None and not tells and not monitor.done:
            monitor.begin_at(start)
        if not monitor.done:
            SOLVERS[solver](
                problem, monitor, start, max_iter=max_iter, random_state=random_state, **options
            )
    except KeyboardInterrupt:
        if monitor.best.coef is None or monitor.best.dual_coef is None:
            raise
        interrupted = True
    if start is not None and not monitor.relative_gap <= tol:
        monitor.consider(start)
    return monitor.solution(interrupted)

"""Optima by independent solvers: to the digits that comparisons need, or an error, never None.

What a solver reaches depends on the rounding errors of the processor's BLAS, so that each has
another one behind it.
"""

import warnings

import pytest
from scipy.optimize import linprog

CLARABEL_TOLERANCES = ((1e-9, 1e-11), (1e-9, 1e-10), (1e-8, 1e-9))


class NotSolved(Exception):
    """No solver has found the optimum."""


def optimal_value(programme):
    """The optimal value of a problem of CVXPY, whose variables then have the solution.

    By Clarabel, an interior-point method. As it stops too early now and then, its values at two
    tolerances have to agree. Else by SCS, a splitting method.
    """
    for tolerances in CLARABEL_TOLERANCES:
        values = [_clarabel(programme, tolerance) for tolerance in tolerances]
        if None not in values and abs(values[0] - values[1]) <= 1e-8 * max(1e-3, abs(values[0])):
            return values[1]
    value = _value(programme, "SCS", eps_abs=1e-10, eps_rel=1e-10, max_iters=100_000)
    if value is None:
        raise NotSolved(f"neither Clarabel nor SCS has solved {programme}")
    return value


def _clarabel(programme, tolerance):
    names = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
    return _value(programme, "CLARABEL", **dict.fromkeys(names, tolerance))


def _value(programme, solver, **options):
    """The value where the solver says that it reached its tolerances, else None."""
    cp = pytest.importorskip("cvxpy")

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")  # as its status says
            programme.solve(solver=solver, **options)
    except cp.error.SolverError:
        return None
    return float(programme.value) if programme.status == "optimal" else None


def linear_optimum(*arguments, **options):
    """The result of `scipy.optimize.linprog`: by HiGHS's choice of a method, or by each."""
    for method in ("highs", "highs-ds", "highs-ipm"):
        found = linprog(*arguments, method=method, **options)
        if found.success:
            return found
    raise NotSolved(found.message)

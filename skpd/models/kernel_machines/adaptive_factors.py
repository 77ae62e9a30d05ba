"""Solvers for RKHS kernel problems, with adaptive accuracy of the factors of the matrices."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from ...certificates import Certificate, bound_below, largest_gap, relative_gap
from ...problems import Point, Solution
from ...solvers import solve
from ...solvers.monitor import Monitor
from .problem import ExpandedModel, KernelMachine

# A factor is refined if its residual accounts for this share of the gap; the rest is due to the
# solver.
COSTLY = 0.5
# The factor of the residual's trace in a refinement, relative to the tolerance; and the share of
# the tolerance for the solver where rounding takes more of it than `STRICTER` leaves
FINER = 0.05
REFINEMENTS = 6  # most refinements; two or three usually reach the largest accuracy
# The share of the tolerance for the solver, which leaves the rest to the rounding of the weights
# of rows; and the share that rounding errors may take before precise products are used
STRICTER = 0.95
ROUNDING = 0.02


@dataclass(frozen=True)
class KernelSolution(Solution):
    """A solution whose coefficients are weights of the rows.

    Attributes
    ----------
    model : ExpandedModel or None
        The functions as sums over the rows; ``coef`` are the coefficients of a factor.
    """

    model: ExpandedModel | None = None


def solve_kernel_machine(
    machine: KernelMachine, solver: str = "auto", *, tol: float, max_iter: int,
    random_state: np.random.RandomState,
    on_check: Callable[[Monitor], bool | None] | None = None, **options: Any,
) -> KernelSolution:  # fmt: skip
    """Solve a kernel problem, with more accurate factors if the certificate requires them.

    A named method works on the features of factors, which the machine must have. Pdprox's steps
    stay in the span of the rows, so that with a complete factor they are those of its update (18)
    of functions.

    Parameters
    ----------
    machine : KernelMachine
    solver, tol, max_iter, random_state, on_check, **options
        See `skpd.solvers.solve`.

    Returns
    -------
    solution : KernelSolution
        The solution, whose certificate is that of the functions that predict.
    """
    options |= {
        "solver": solver, "tol": STRICTER * tol, "random_state": random_state,
        "on_check": on_check,
    }  # fmt: skip
    if solver != "auto" or not machine.has_pairs:
        return _by_factors(machine, None, 0, max_iter, options, tol)
    row_machine = machine.in_rows
    first = solve(row_machine.problem, max_iter=max_iter, **options)
    if first.converged or first.interrupted or first.stopped or first.n_iter >= max_iter:
        return _expanded(row_machine, first, tol)
    machine = machine.with_residuals(machine.residual_traces(tol))
    start = machine.start_at(row_machine, first)
    solution = _by_factors(machine, start, first.n_iter, max_iter, options, tol)
    # the method is "null-model" where the start is good enough
    return replace(solution, method=first.method) if solution.method == "null-model" else solution


def _by_factors(
    machine: KernelMachine, start: Point | None, n_iter: int, max_iter: int, options: dict,
    tol: float,
) -> KernelSolution:  # fmt: skip
    """The solution by methods for features, with factors refined while residuals limit it."""
    on_check = options["on_check"]
    for round_ in range(REFINEMENTS + 1):
        watch = _Watch(machine, on_check, round_ == REFINEMENTS or machine.is_complete)
        n_left = max(max_iter - n_iter, 1)
        changed = {"start": start, "max_iter": n_left, "on_check": watch}
        solution = solve(machine.problem, **options | changed)
        n_iter += solution.n_iter
        if solution.converged or solution.interrupted or not watch.too_coarse:
            break
        machine, start = _refined(machine, solution, tol)
    expanded = _expanded(machine, replace(solution, n_iter=n_iter), tol)
    rounding = expanded.certificate.gap - solution.certificate.gap
    goal = _goal(machine, tol, expanded.certificate)
    if not solution.converged or expanded.converged or not rounding <= (1.0 - FINER) * goal:
        return expanded
    # the weights of rows are rounded by more than their share of the tolerance, but leave some
    start = Point(solution.coef, solution.intercept, solution.dual_coef)
    finer = {"start": start, "max_iter": max(max_iter - n_iter, 1), "tol": FINER * tol}
    last = solve(machine.problem, **options | finer)
    last = replace(last, method=solution.method, n_iter=n_iter + last.n_iter)
    return _expanded(machine, last, tol)


class _Watch:
    """A callback that ends a run when the residuals of the factors dominate the gap."""

    def __init__(
        self, machine: KernelMachine, on_check: Callable[[Monitor], bool | None] | None, last: bool
    ) -> None:
        self.machine, self.on_check, self.last = machine, on_check, last
        self.too_coarse = False

    def __call__(self, monitor: Monitor) -> bool:
        ended = self.on_check is not None and bool(self.on_check(monitor))
        if ended or self.last or monitor.primal - monitor.dual <= monitor.goal:
            return ended
        cost = self.machine.residual_cost(monitor.best.dual_coef, monitor.primal)
        self.too_coarse = cost > COSTLY * (monitor.primal - monitor.dual)
        return self.too_coarse


def _refined(
    machine: KernelMachine, solution: Solution, tol: float
) -> tuple[KernelMachine, Point]:
    """The problem with more accurate factors, and its starting point with the same dual point."""
    cost = machine.residual_cost(solution.dual_coef, solution.certificate.primal)
    goal = _goal(machine, tol, solution.certificate)
    share = min(FINER * goal / cost, FINER) if cost > 0.0 else FINER
    traces = [share * factor.trace for factor in machine.features.factors]
    finer = machine.with_residuals(traces)
    return finer, finer.start_at(machine, solution)


def _goal(machine: KernelMachine, tol: float, certificate: Certificate) -> float:
    """The largest gap that meets the tolerance."""
    return largest_gap(machine.problem, tol, certificate.primal, certificate.dual)


def _expanded(machine: KernelMachine, solution: Solution, tol: float) -> KernelSolution:
    """The solution with its functions as sums over the rows, and their objective value.

    The functions of the dual point, which may be sparse, are used if their gap is small enough.
    """
    problem, certificate = machine.problem, solution.certificate

    point: Any = solution
    goal = _goal(machine, tol, certificate)
    accuracy = ROUNDING * goal
    model = machine.expanded_by_dual(point, accuracy)
    if not np.any(solution.coef):  # a constant, whose objective value is known without kernels
        model = replace(model, objective=certificate.primal)
    elif not model.objective - certificate.dual <= max(goal, certificate.gap):
        model = min(model, machine.expanded(point, accuracy), key=attrgetter("objective"))
    dual = bound_below(problem, certificate.dual, model.objective)
    certificate = replace(
        certificate, primal=model.objective, dual=dual, gap=model.objective - dual,
        relative_gap=relative_gap(problem, model.objective, dual),
        implied_bounds=None,  # not for columns of a factor
        coef_shape=(0,),
        row_bounds=certificate.row_bounds.without_decisions(
            "Decisions are not compared for kernel machines, whose predictions are rounded."
        ),
    )  # fmt: skip
    attributes = {**vars(solution), "certificate": certificate, "model": model}
    attributes["converged"] = certificate.gap <= _goal(machine, tol, certificate)
    return KernelSolution(**attributes)

"""The solution of problems, in threads where there are several, and the points of models."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from threading import Event
from typing import TypeVar

import numpy as np
from sklearn.utils import check_random_state

from .._typing import Array, Indices, SolverOptions
from ..certificates import bound_below, largest_gap, relative_gap
from ..certificates.relative_gaps import reference_of
from ..problems import Point, Problem, Solution
from ..solvers import Monitor, solve
from .formulate import FormulatedProblems
from .overlapping import Copies, certified_sums

Result = TypeVar("Result")


def map_in_threads(
    function: Callable[[int, int | None], Result], n_calls: int,
    random_state: np.random.RandomState, n_threads: int, stop: Event,
) -> tuple[list[Result], bool]:  # fmt: skip
    """Call a function with each index and a random seed, in threads.

    The seed is None for NumPy's global generator, from which functions draw if they need to.
    Ctrl-C sets ``stop``, upon which each call returns what it has, and no thread outlives this
    function. Returns the results and whether Ctrl-C was pressed.
    """
    seeds: Iterable[int | None] = [None] * n_calls
    if random_state is not check_random_state(None):
        seeds = random_state.randint(np.iinfo(np.int32).max, size=n_calls)
    if n_threads == 1:
        return [function(k, seed) for k, seed in enumerate(seeds)], False
    interrupted = False
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(function, k, seed) for k, seed in enumerate(seeds)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            if interrupted or any(f.done() and f.exception() is not None for f in futures):
                stop.set()
    return [future.result() for future in futures], interrupted


def points_of_model(
    fit: FormulatedProblems, coef: Array, intercepts: Array, dual_coef: Array,
    copies: Copies | None,
) -> list[Point] | None:  # fmt: skip
    """A fitted model as points of the problems of a fit; None if the shapes differ."""
    first, n_problems = fit.problems[0], len(fit.problems)
    coef = np.atleast_2d(coef)
    if first.rows.of_outputs:
        null = first.null_point.dual_coef
        shapes = first.table_shape, first.dual_table(null).shape
        if (coef.shape, dual_coef.shape) != shapes:
            return None
        coef = np.ascontiguousarray(coef.T).reshape(first.rows.coef_shape)
        return [Point(coef, intercepts, dual_coef.reshape(null.shape))]
    n_samples, n_features = fit.X.shape
    duals = np.atleast_2d(dual_coef)
    dual_shape = duals.shape[0], duals.shape[-1]
    if coef.shape != (n_problems, n_features) or dual_shape != (n_problems, n_samples):
        return None
    if copies is not None:
        coef = np.stack([copies.shares(w) for w in coef])
    return [
        Point(problem.extend(w, float(b)), float(b), None if first.rows.of_scores else theta)
        for problem, w, b, theta in zip(fit.problems, coef, intercepts, duals, strict=True)
    ]


@dataclass(frozen=True)
class SolverCall:
    """How a problem is to be solved.

    Attributes
    ----------
    name : str
        A name among those of `skpd.solvers.solve`.
    options : dict
        Its options, after `check_solver_options`.
    tol : float
        The relative gap to reach.
    max_iter : int
    precision : dtype
        Of the coefficients.
    copies : Copies or None
        Copies of features that are in several groups.
    accuracy : float
        A gap that is small enough as well.
    brief : bool
        Whether the certificate is without bounds on predictions and decisions of rows.
    """

    name: str
    options: SolverOptions
    tol: float
    max_iter: int
    precision: type[np.floating] = np.float64
    copies: Copies | None = None
    accuracy: float = 0.0
    brief: bool = False


def solve_problem(
    problem: Problem, call: SolverCall, start: Point | None, random_state: np.random.RandomState,
    on_check: Callable[[Monitor], bool] | None = None,
) -> Solution:  # fmt: skip
    """Solve and certify a problem.

    The dual point of a start without one is the gradient of the losses at its model.
    """
    if start is not None and start.dual_coef is None:
        dual_coef = problem.dual_point_of(start.coef, start.intercept)
        start = replace(start, dual_coef=dual_coef)
    solution = solve(
        problem, call.name, tol=call.tol, max_iter=call.max_iter, random_state=random_state,
        start=start, on_check=on_check, precision=call.precision,
        accuracy=call.accuracy, brief=call.brief, **call.options,
    )  # fmt: skip
    if call.copies is None:
        return solution
    return certified_sums(problem, solution, call.copies, call.tol)


def with_bound_of_limit(
    problem: Problem, solution: Solution, levels: Sequence[Indices], call: SolverCall
) -> Solution:
    """The solution of a model of hazards that separates, with the lower bound of its limit.

    ``levels`` are those of `skpd.formulation.separation.Separation`.
    """
    if not levels:
        return solution
    limit = problem.of_rows(problem.rows.in_limit(levels))
    of_limit = solve_problem(limit, call, None, np.random.RandomState(0))
    solution = replace(solution, interrupted=of_limit.interrupted)
    primal = solution.certificate.primal
    dual = bound_below(problem, of_limit.certificate.dual, primal)
    if not dual > solution.certificate.dual:
        return solution
    certificate = replace(
        solution.certificate, dual=dual, gap=primal - dual, kind=of_limit.certificate.kind,
        relative_gap=relative_gap(problem, primal, dual), reference=reference_of(problem, dual),
    )  # fmt: skip
    converged = certificate.gap <= largest_gap(problem, call.tol, primal, dual)
    dual_coef = of_limit.dual_coef
    return replace(solution, certificate=certificate, dual_coef=dual_coef, converged=converged)


# Fitted attributes


def dual_coef_of(solutions: Sequence[Solution], fit: FormulatedProblems) -> Array:
    """The dual points as ``dual_coef_``, in a row for each problem that has a name."""
    pairs = zip(fit.problems, solutions, strict=True)
    tables = [problem.dual_table(solution.dual_coef) for problem, solution in pairs]
    return tables[0] if fit.names is None else np.stack(tables)

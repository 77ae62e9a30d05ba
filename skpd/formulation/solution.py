"""Problems are solved, in threads where there are several, and messages say how that ended."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from threading import Event
from typing import Any, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._typing import Array, SolverOptions
from .._warn import warn
from ..designs.threads import one_blas_thread
from ..problems import Point, Problem, Solution
from ..solvers import Monitor, solve
from .formulate import FormulatedProblems
from .overlapping import Copies, certified_sums

SMALLER = 0.1  # of the alpha from which on 0 is optimal, as one to try
NEAR = 0.99  # of the best constant's objective: free numbers beside an intercept may reach less
Result = TypeVar("Result")


def map_in_threads(
    function: Callable[[int, int], Result], n_calls: int, random_state: np.random.RandomState,
    n_threads: int, stop: Event,
) -> tuple[list[Result], bool]:  # fmt: skip
    """Call a function with each index and a random seed, in threads.

    Ctrl-C sets ``stop``, upon which each call returns what it has, and no thread outlives this
    function. Returns the results and whether Ctrl-C was pressed.
    """
    seeds = random_state.randint(np.iinfo(np.int32).max, size=n_calls)
    if n_threads == 1:
        return [function(k, seed) for k, seed in enumerate(seeds)], False
    interrupted = False
    # limited out here, where one thread sets it and restores it
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
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
    fit: FormulatedProblems,
    coef: Array,
    intercepts: Array,
    dual_coef: Array,
    copies: Copies | None,
) -> list[Point] | None:
    """A fitted model as points of the problems of a fit; None if the shapes differ."""
    first, n_problems = fit.problems[0], len(fit.problems)
    coef = np.atleast_2d(coef)
    if first.rows.of_outputs:
        null = first.null_point.dual_coef
        shape = first.dual_table(null).shape
        if coef.shape != first.table_shape or dual_coef.shape != shape:
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
    """

    name: str
    options: SolverOptions
    tol: float
    max_iter: int
    precision: type[np.floating] = np.float64
    copies: Copies | None = None


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
        start=start, on_check=on_check, precision=call.precision, **call.options,
    )  # fmt: skip
    if call.copies is None:
        return solution
    return certified_sums(problem, solution, call.copies, call.tol)


# Fitted attributes


def dual_coef_of(solutions: Sequence[Solution], fit: FormulatedProblems) -> Array:
    """The dual points as ``dual_coef_``, in a row for each problem that has a name."""
    pairs = zip(fit.problems, solutions, strict=True)
    tables = [problem.dual_table(solution.dual_coef) for problem, solution in pairs]
    return tables[0] if fit.names is None else np.stack(tables)


@dataclass(frozen=True)
class Wording:
    """Words for messages about the models of an estimator.

    Attributes
    ----------
    constant_model : str
        What a model does whose coefficients are all 0.
    advice : str
        What may be done, beside an increase of ``tol``, where a fit does not converge.
    """

    constant_model: str = "ignores all features"
    advice: str = "bring the features to a common scale"


@dataclass(frozen=True)
class Description:
    """What messages say of an estimator.

    Attributes
    ----------
    estimator_name : str
    parameters : dict
        The parameters of the estimator, as of ``get_params``.
    wording : Wording
    path_parameter : str
        The parameter from a value of which on 0 is optimal.
    loss_names : frozenset of str
        The names that the parameter ``loss`` takes.
    """

    estimator_name: str
    parameters: dict[str, Any]
    wording: Wording
    path_parameter: str
    loss_names: frozenset[str]


def warn_of_gap(
    description: Description, solutions: Sequence[Solution], labels: list[str] | None
) -> None:
    """Warn of the largest relative gap, and say what may be done about it."""
    k = int(np.argmax([solution.certificate.relative_gap for solution in solutions]))
    worst, n_iter = solutions[k].certificate, solutions[k].n_iter
    label = "" if labels is None else f" for {labels[k]}"
    tol, max_iter = description.parameters["tol"], description.parameters["max_iter"]
    if solutions[k].stopped:
        ending, advice = "was stopped by a callback", "Remove the callback or increase tol"
    elif solutions[k].before_rounding <= tol:
        ending = "is less precise in float32 than asked for"
        advice = "Pass X in float64, bring the features to a common scale or increase tol"
    else:
        ending = "did not converge"
        advice = "Rounding of numbers of this size may allow no smaller gap. Increase tol"
        if n_iter >= max_iter:
            advice = f"Increase max_iter (now {max_iter}) or tol"
        advice += f", or {description.wording.advice}"
    warn(
        f"{description.estimator_name} {ending}{label}: after {n_iter} iterations its relative "
        f"gap is {worst.relative_gap:.2e}, above tol={tol:.2e}. Its objective, "
        f"{worst.primal:.6g}, is certified to be at most {worst.gap:.2e} above the optimum. "
        f"{advice}.",
        ConvergenceWarning,
    )


def warn_of_missed_fits(
    estimator_name: str, missed: Sequence[Solution], n_fits: int, tol: float, max_iter: int
) -> None:
    """Warn of the fits of a path that did not converge, if there are any."""
    if not missed:
        return
    worst = max(solution.certificate.relative_gap for solution in missed)
    warn(
        f"{estimator_name} did not converge for {len(missed)} of {n_fits} fits of a path: the "
        f"largest relative gap is {worst:.2e}, above tol={tol:.2e}. Increase max_iter (now "
        f"{max_iter}) or tol, or leave out the smallest alphas.",
        ConvergenceWarning,
    )


def constant_model_message(
    description: Description, problems: Sequence[Problem], solutions: Sequence[Solution]
) -> str:
    """Reasons why all coefficients of a fitted model are 0, and what to try.

    Parameters
    ----------
    description : Description
    problems : sequence of Problem
        The problems of the fit; one for each class of one-vs-rest.
    solutions : sequence of Solution
    """
    problem = max(problems, key=lambda each: each.largest_alpha)
    parameter, largest = description.path_parameter, problem.largest_alpha
    others, parameters = _other_models(description, problem), description.parameters
    primal = max(solution.certificate.primal for solution in solutions)
    if all(each.features_say_nothing for each in problems):
        reason = (
            "No change of a coefficient that bounds allow lowers the loss of the best constant "
            "prediction, as where y or all features are constant"
        )
        advice = (
            ["look at X and y"]
            if parameters.get("fit_intercept", True)
            else ["fit_intercept=True"]
        )
    elif problem.alpha >= largest:
        reason = (
            f"0 is optimal from about {parameter}={largest:.3g} on, and it is {problem.alpha:.3g}"
        )
        advice = [f"a smaller one, such as {parameter}={SMALLER * largest:.2g}", *others]
    elif not all(solution.converged for solution in solutions):
        reason, advice = "The fit has not converged", ["a larger max_iter"]
    elif parameters.get("noise_budget") is not None:
        reason = "With a small noise_budget few samples count, and 0 is often optimal"
        advice = ["a larger noise_budget", f"a smaller {parameter}"]
    elif (
        others
        and parameters.get("constraints") is None
        and primal >= NEAR * problem.null_objective
    ):
        reason = (
            f"The loss {problem.loss!r} has a kink at the best constant prediction, which may be "
            "optimal whatever the features are, as where one class or value is much more frequent"
        )
        advice = [*others, f"a smaller {parameter}"]
    else:
        reason = f"Its objective is within tol={parameters['tol']:.3g} of the least"
        advice = [f"a smaller {parameter}", "a smaller tol"]
    return (
        f"{description.estimator_name} {description.wording.constant_model}: all coefficients "
        f"are 0. {reason}. What to try: {', or '.join(advice)}."
    )


def _other_models(description: Description, problem: Problem) -> list[str]:
    """Parameters that may help where the loss has kinks; an empty list for other losses."""
    parameters, names = description.parameters, description.loss_names
    if not (names or "class_weight" in parameters) or not problem.loss.has_kinks:
        return []
    advice = ["class_weight='balanced'"] if parameters.get("class_weight", "") is None else []
    of_classes = problem.loss.of_labels or problem.loss.of_classes
    smooth = ("logistic", "softmax") if of_classes else ("huber",)
    if parameters.get("noise_budget") is None:
        advice += [f"loss={name!r}" for name in smooth if name in names]
    return advice

"""Fits: problems are solved, and the model, its certificate and a warning follow."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import replace
from threading import Event
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._compat import StrOptions
from .._typing import ArrayLike
from .._warn import warn
from ..designs.threads import one_blas_thread
from ..problems import Point, Problem, Solution
from ..solvers import solve
from .constraints import multipliers_of
from .overlapping import certified_sums
from .posing import FitProblems
from .progress import last_line, n_ticks, reporter, subtask

SMALLER = 0.1  # of the alpha from which on 0 is optimal, as one to try
NEAR = 0.99  # of the best constant's objective: free numbers beside an intercept may reach less


def fit_problems(estimator: Any, fit: FitProblems, sample_weight: ArrayLike | None = None) -> Any:
    """Solve the problems of a fit in threads, and set the fitted attributes of the estimator.

    ``sample_weight`` is the one given to `fit`, which callbacks see. Returns the estimator.
    """
    problems, names = fit.problems, fit.names or []
    several = len(problems) > 1
    n_threads = min(effective_n_jobs(estimator.n_jobs), len(problems))
    starts: list = [None] * len(problems)
    if estimator.warm_start and estimator.__sklearn_is_fitted__():
        starts = estimator._last_points(fit) or starts
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    task = {"estimator": estimator, "X": fit.X, "y": fit.y, "metadata": metadata}
    context = estimator._init_callback_context(
        max_subtasks=len(problems) if several else n_ticks(estimator),
        sequential_subtasks=n_threads == 1,
    ).call_on_fit_task_begin(**task)
    stop = Event()

    def attributes(monitor):
        return estimator._model([estimator._best_point(monitor)], fit)

    def fit_one(k, seed):
        report = {"attributes": attributes, "stop": stop}
        part = nullcontext(context)
        if several:
            report = {"label": f" {names[k]}", "stop": stop}
            part = subtask(context, {"estimator": estimator}, names[k], k, n_ticks(estimator))
        with part as own:
            solution = estimator._solve(
                problems[k],
                start=starts[k],
                random_state=np.random.RandomState(seed),
                on_check=reporter(estimator, own, task, **report),
            )
            if solution.interrupted:
                stop.set()
        return solution

    random_state = check_random_state(estimator.random_state)
    solutions, interrupted = map_in_threads(fit_one, len(problems), random_state, n_threads, stop)
    if interrupted:
        solutions[0] = replace(solutions[0], interrupted=True)
    set_attributes(estimator, fit, solutions)
    context.call_on_fit_task_end(**task, reconstruction_attributes={})
    return estimator


def map_in_threads(
    function: Callable[[int, int], Any], n_calls: int, random_state: np.random.RandomState,
    n_threads: int, stop: Event,
) -> tuple[list, bool]:  # fmt: skip
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


def last_points(estimator: Any, fit: FitProblems) -> list[Point] | None:
    """The last solution as points of the problems; None without one, or if the shapes differ."""
    if not hasattr(estimator, "dual_coef_"):
        return None
    first, n_problems = fit.problems[0], len(fit.problems)
    coef, dual = np.atleast_2d(estimator._dense_coef), estimator.dual_coef_
    intercepts = np.ravel(estimator.intercept_) if estimator.fit_intercept else np.zeros(len(coef))
    if first.rows.of_outputs:
        null = first.null_point.dual_coef
        if coef.shape != first.table_shape or dual.shape != first.dual_table(null).shape:
            return None
        coef = np.ascontiguousarray(coef.T).reshape(first.rows.coef_shape)
        return [Point(coef, intercepts, dual.reshape(null.shape))]
    n_samples, n_features = fit.X.shape
    duals, copies = np.atleast_2d(dual), estimator._copies()
    dual_shape = duals.shape[0], duals.shape[-1]
    if coef.shape != (n_problems, n_features) or dual_shape != (n_problems, n_samples):
        return None
    if copies is not None:
        coef = np.stack([copies.shares(w) for w in coef])
    return [
        Point(problem.completed(w, float(b)), float(b), None if first.rows.of_scores else theta)
        for problem, w, b, theta in zip(fit.problems, coef, intercepts, duals, strict=True)
    ]


def solve_problem(
    estimator: Any, problem: Problem, start: Point | None, random_state: Any, on_check: Any = None
) -> Solution:
    """Solve and certify a problem by the solver of an estimator.

    The dual point of a start without one is the gradient of the losses at its model.
    """
    if start is not None and start.dual_coef is None:
        dual_coef = problem.dual_point_of(start.coef, start.intercept)
        start = replace(start, dual_coef=dual_coef)
    solution = solve(
        problem,
        estimator._solver(),
        tol=estimator.tol,
        max_iter=estimator.max_iter,
        random_state=random_state,
        start=start,
        on_check=on_check,
        precision=estimator._precision,
        **estimator._checked_options(problem),
    )
    copies = estimator._copies()
    return solution if copies is None else certified_sums(problem, solution, copies, estimator.tol)


# Fitted attributes


def dual_coef_of(solutions: Sequence[Solution], fit: FitProblems) -> Any:
    """The dual points as ``dual_coef_``, in a row for each problem that has a name."""
    pairs = zip(fit.problems, solutions, strict=True)
    tables = [problem.dual_table(solution.dual_coef) for problem, solution in pairs]
    return tables[0] if fit.names is None else np.stack(tables)


def set_attributes(estimator: Any, fit: FitProblems, solutions: Sequence[Solution]) -> None:
    """Set the fitted attributes: the model, dual points, certificates and how the fits ended.

    Raises
    ------
    KeyboardInterrupt
        If Ctrl-C has ended a fit, after the attributes are set.

    Warns
    -----
    ConvergenceWarning, UserWarning
        If a fit has not converged, or if all coefficients are 0.
    """
    model, others = estimator._model(solutions, fit), estimator._other_attributes(solutions, fit)
    for name, value in {**model, **others}.items():
        setattr(estimator, name, value)
    labels = fit.names if len(solutions) > 1 else None

    def one_or_all(values: Any) -> Any:
        return values[0] if labels is None else values

    vars(estimator).pop("constraint_multipliers_", None)  # of a fit before this one
    if fit.problems[0].constraints is not None:
        multipliers = multipliers_of(estimator, fit.problems, solutions)
        estimator.constraint_multipliers_ = one_or_all(multipliers)
    if estimator.verbose:
        endings = [""] if labels is None else [f" {label}" for label in labels]
        for ending, solution in zip(endings, solutions, strict=True):
            last_line(f"[{type(estimator).__name__}]{ending}", solution)
    certificates = [solution.certificate for solution in solutions]
    estimator.certificate_ = one_or_all(certificates)
    estimator.gap_history_ = one_or_all([solution.history for solution in solutions])
    estimator.solver_ = one_or_all([solution.method for solution in solutions])
    estimator.duality_gap_ = max(certificate.gap for certificate in certificates)
    estimator.relative_gap_ = max(certificate.relative_gap for certificate in certificates)
    estimator.n_iter_ = max(solution.n_iter for solution in solutions)
    estimator.converged_ = all(solution.converged for solution in solutions)
    if any(solution.interrupted for solution in solutions):
        raise KeyboardInterrupt
    if not np.any(getattr(estimator, estimator._weights_attribute)):
        warn(constant_model_message(estimator, fit.problems))
    if not estimator.converged_:
        _warn_of_gap(estimator, solutions, labels)


def _warn_of_gap(estimator: Any, solutions: Sequence[Solution], labels: Any) -> None:
    """Warn of the largest relative gap, and say what may be done about it."""
    k = int(np.argmax([solution.certificate.relative_gap for solution in solutions]))
    worst, n_iter = solutions[k].certificate, solutions[k].n_iter
    which = "" if labels is None else f" for {labels[k]}"
    if solutions[k].stopped:
        what, advice = "was stopped by a callback", "Remove the callback or increase tol"
    elif solutions[k].before_rounding <= estimator.tol:
        what = "is less precise in float32 than asked for"
        advice = "Pass X in float64, bring the features to a common scale or increase tol"
    else:
        what = "did not converge"
        advice = "Rounding of numbers of this size may allow no smaller gap. Increase tol"
        if n_iter >= estimator.max_iter:
            advice = f"Increase max_iter (now {estimator.max_iter}) or tol"
        advice += f", or {estimator._advice}"
    warn(
        f"{type(estimator).__name__} {what}{which}: after {n_iter} iterations its relative gap is "
        f"{worst.relative_gap:.2e}, above tol={estimator.tol:.2e}. Its objective, "
        f"{worst.primal:.6g}, is certified to be at most {worst.gap:.2e} above the optimum. "
        f"{advice}.",
        ConvergenceWarning,
    )


def constant_model_message(estimator: Any, problems: Sequence[Problem]) -> str:
    """Reasons why all coefficients of a fitted model are 0, and what to try.

    Parameters
    ----------
    estimator : PrimalDualEstimator
        A fitted estimator.
    problems : sequence of Problem
        The problems that it solved; one for each class of one-vs-rest.
    """
    problem = max(problems, key=lambda each: each.largest_alpha)
    parameter, largest = estimator._path_parameter, problem.largest_alpha
    others, given = _other_models(estimator, problem), estimator.get_params(deep=False)
    primal = max(each.primal for each in np.atleast_1d(estimator.certificate_))
    if all(each.features_say_nothing for each in problems):
        reason = (
            "No change of a coefficient that bounds allow lowers the loss of the best constant "
            "prediction, as where y or all features are constant"
        )
        advice = (
            ["look at X and y"] if given.get("fit_intercept", True) else ["fit_intercept=True"]
        )
    elif problem.alpha >= largest:
        reason = (
            f"0 is optimal from about {parameter}={largest:.3g} on, and it is {problem.alpha:.3g}"
        )
        advice = [f"a smaller one, such as {parameter}={SMALLER * largest:.2g}", *others]
    elif not estimator.converged_:
        reason, advice = "The fit has not converged", ["a larger max_iter"]
    elif given.get("noise_budget") is not None:
        reason = "With a small noise_budget few samples count, and 0 is often optimal"
        advice = ["a larger noise_budget", f"a smaller {parameter}"]
    elif others and given.get("constraints") is None and primal >= NEAR * problem.null_objective:
        reason = (
            f"The loss {problem.loss!r} has a kink at the best constant prediction, which may be "
            "optimal whatever the features are, as where one class or value is much more frequent"
        )
        advice = [*others, f"a smaller {parameter}"]
    else:
        reason = f"Its objective is within tol={estimator.tol:.3g} of the least"
        advice = [f"a smaller {parameter}", "a smaller tol"]
    return (
        f"{type(estimator).__name__} {estimator._constant_model}: all coefficients are 0. "
        f"{reason}. What to try: {', or '.join(advice)}."
    )


def _other_models(estimator: Any, problem: Problem) -> list[str]:
    """Parameters that may help where the loss has kinks; an empty list for other losses."""
    given, constraints = estimator.get_params(deep=False), estimator._parameter_constraints
    lists = [some for some in constraints.get("loss", []) if isinstance(some, StrOptions)]
    if not (lists or "class_weight" in given) or not problem.loss.has_kinks:
        return []
    found = ["class_weight='balanced'"] if given.get("class_weight", "") is None else []
    of_classes = problem.loss.of_labels or problem.loss.of_classes
    smooth = ("logistic", "softmax") if of_classes else ("huber",)
    if given.get("noise_budget") is None:
        found += [f"loss={name!r}" for some in lists for name in smooth if name in some.options]
    return found

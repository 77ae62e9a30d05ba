"""Fits of one problem, or of several problems on the same data in threads."""

from dataclasses import replace
from threading import Event

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from .base import _CALLBACK_LOCK, map_in_threads

__all__ = ["fit_problems"]


def fit_problems(estimator, problems, task, classes, starts, names=None, n_jobs=None):
    """Solve problems in threads and set the fitted attributes.

    Parameters
    ----------
    estimator : PrimalDualEstimator
        The estimator whose `fit` calls this function.
    problems : sequence of Problem
    task : dict
        Arguments of scikit-learn's hooks for the fit.
    classes : object
        The classes that `_problems` returned beside the problems.
    starts : sequence of Point or None
    names : sequence of str, default=None
        Names of several problems, such as "class 3". None for a problem whose dual point is that
        of the model.
    n_jobs : int, default=None
        Threads over the problems.
    """
    several, n_outputs = len(problems) > 1, len(problems)
    n_threads = min(effective_n_jobs(n_jobs), n_outputs)
    context = estimator._init_callback_context(
        max_subtasks=n_outputs if several else estimator._n_ticks,
        sequential_subtasks=n_threads == 1,
    ).call_on_fit_task_begin(**task)
    stop, y = Event(), task["y"]

    def attributes(monitor):
        return estimator._model([monitor.best], y, classes)

    def fit_one(k, seed):
        report = {"attributes": attributes, "stop": stop}
        own = context
        if several:
            report = {"label": f" {names[k]}", "stop": stop}
            with _CALLBACK_LOCK:
                own = context.subcontext(
                    task_name=names[k],
                    task_id=None if n_threads == 1 else k,
                    max_subtasks=estimator._n_ticks,
                ).call_on_fit_task_begin(estimator=estimator)
        solution = estimator._solve(
            problems[k],
            start=starts[k],
            random_state=np.random.RandomState(seed),
            on_check=estimator._reporter(own, task, **report),
        )
        if solution.interrupted:
            stop.set()
        if several:
            with _CALLBACK_LOCK:
                own.call_on_fit_task_end(estimator=estimator)
        return solution

    random_state = check_random_state(estimator.random_state)
    seeds = random_state.randint(np.iinfo(np.int32).max, size=n_outputs)
    solutions, interrupted = map_in_threads(fit_one, seeds, n_threads, stop)

    for name, value in estimator._model(solutions, y, classes).items():
        setattr(estimator, name, value)
    pairs = zip(problems, solutions, strict=True)
    dual_coefs = [problem.dual_table(solution.dual_coef) for problem, solution in pairs]
    estimator.dual_coef_ = dual_coefs[0] if names is None else estimator._stacked(dual_coefs)
    if interrupted:
        solutions[0] = replace(solutions[0], interrupted=True)
    found, labels = (solutions, names) if several else (solutions[0], None)
    estimator._set_solutions(found, problems, labels)
    context.call_on_fit_task_end(**task, reconstruction_attributes={})

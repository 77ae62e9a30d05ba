"""One contender on one case in a process of its own: its times, and the models it reached."""

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.helpers.data import saved, tiny
from benchmarks.helpers.models import MODELS
from benchmarks.helpers.worker import Worker

LOADING = 600.0  # seconds that importing, loading and a tiny first fit may take
PREPARED: dict[str, Any] = {}  # what this process has loaded for a contender
REPEATED = 5.0  # seconds, in which any fit that is repeated ends: what takes longer took it once


def race(entrant, model, alpha, folder, limit, evaluate, enough, clock="perf_counter"):
    """What a contender reached within a limit of seconds, five more for its last setting.

    ``evaluate`` gives the objective of coefficients, or for a path those for its alphas;
    ``enough`` says of the objectives so far whether tighter settings can be left out. The fits
    are timed by the clock of this name in `time`, the limit is of real seconds.
    """
    result = {
        "name": entrant.name, "variant": entrant.variant, "compiles": entrant.compiles,
        "runs": [], "cut": None, "failed": None,
    }  # fmt: skip
    if not entrant.installed:
        return {**result, "missing": entrant.package}
    worker, left = Worker(), limit
    try:
        result |= worker(prepare, entrant, model, alpha, folder, clock, seconds=LOADING)
        for setting in () if result["failed"] else entrant.settings:
            if left <= 0:
                result["cut"] = 0.0  # before its turn
                break
            start = time.perf_counter()
            answer = worker(next_fit, setting, seconds=max(left, REPEATED))
            elapsed = time.perf_counter() - start
            left -= elapsed
            if answer.get("late"):
                # of processor time it took less, by how much is not known
                result["cut"] = elapsed if clock == "perf_counter" else 0.0
                break
            if "failed" in answer:
                result["failed"] = answer["failed"]
                break
            objective = evaluate(answer.pop("coef"))
            result["runs"].append({"setting": setting, "objective": objective, **answer})
            if enough([run["objective"] for run in result["runs"]]):
                break
    finally:
        worker.close()
    return result


def prepare(entrant, name, alpha, folder, clock):
    """Load the data for `next_fit` in this process, after a first fit."""
    model, data, clock = MODELS[name], saved(folder), getattr(time, clock)
    X, y = entrant.arrange(data.X, name), model.target(data)
    n_outputs = model.zero(data.X, y).size // data.X.shape[1]
    PREPARED["fit"] = partial(timed, entrant, X, y, model, alpha, clock=clock)
    return {
        "first_fit": warm_up(entrant, name, alpha, sparse=sp.issparse(X)),
        "pair": product_pair(data.X, clock, width=n_outputs),
    }


def next_fit(setting):
    return PREPARED["fit"](setting)


def warm_up(entrant, name, alpha, *, sparse):
    """Seconds of the first fit in the process, of a tiny problem in the same layout."""
    alpha = 0.05 * np.asarray(alpha) / np.max(alpha)
    data = tiny(sparse=sparse)
    X, y = entrant.arrange(data.X, name), MODELS[name].target(data)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entrant.fit(X, y, MODELS[name], alpha.tolist(), entrant.settings[0])
    return time.perf_counter() - start


def timed(entrant, X, y, model, alpha, setting, clock=time.perf_counter):
    """One fit; if it takes less than a second, the best of three, or of those that 0.2 s hold."""
    seconds, said = [], []
    while not seconds or (seconds[0] < 1.0 and (len(seconds) < 3 or sum(seconds) < 0.2)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = clock()
            fit = entrant.fit(X, y, model, alpha, setting)
            seconds.append(clock() - start)
        said += [str(warning.message).splitlines()[0][:200] for warning in caught]
    coef, facts = fit if isinstance(fit, tuple) else (fit, {})
    return {
        "seconds": min(seconds),
        "warnings": list(dict.fromkeys(said)),
        **facts,
        "coef": np.squeeze(coef).astype(float),
    }


def product_pair(X, clock=time.perf_counter, budget=0.5, width=1):
    """Seconds of one X @ w plus one X.T @ theta by NumPy or SciPy, the least seen.

    Both have ``width`` columns.
    """
    w, theta = (np.full((size, width) if width > 1 else size, 0.01) for size in X.shape[::-1])
    seconds = []
    while len(seconds) < 5 or (sum(seconds) < budget and len(seconds) < 200):
        start = clock()
        _ = X @ w
        _ = X.T @ theta
        seconds.append(clock() - start)
    return min(seconds)

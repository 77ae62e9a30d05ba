"""One contender on one case in a process of its own: its times, and the models it reached."""

import multiprocessing
import time
import warnings

import numpy as np
import scipy.sparse as sp

from benchmarks.helpers.data import saved, tiny
from benchmarks.helpers.models import MODELS

LOADING = 600.0  # seconds that importing, loading and a tiny first fit may take
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
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    arguments = (there, entrant, model, alpha, folder, getattr(time, clock))
    process = context.Process(target=run, args=arguments, daemon=True)
    process.start()
    there.close()
    try:
        answer = ask(here, LOADING)
        if answer is None:
            return {**result, "failed": f"no first fit within {LOADING:g} s"}
        result |= answer
        left = limit
        for setting in () if result["failed"] else entrant.settings:
            if left <= 0:
                result["cut"] = 0.0  # before its turn
                break
            start = time.perf_counter()
            here.send(setting)
            answer = ask(here, max(left, REPEATED))
            elapsed = time.perf_counter() - start
            left -= elapsed
            if answer is None:
                # of processor time it took less, by how much is not known
                result["cut"] = elapsed if clock == "perf_counter" else 0.0
                break
            if "failed" in answer:
                result["failed"] = answer["failed"]
                break
            coef = answer.pop("coef")
            run_ = {"setting": setting, "objective": evaluate(coef), **answer}
            result["runs"].append(run_)
            if enough([run_["objective"] for run_ in result["runs"]]):
                break
    except (EOFError, ConnectionError):
        process.join(10)
        result["failed"] = f"the process ended with exit code {process.exitcode}"
    finally:
        process.kill()
        process.join()
        here.close()
    return result


def ask(connection, seconds):
    """The next answer, None if it does not come in time."""
    return connection.recv() if connection.poll(max(seconds, 0.0)) else None


def run(connection, entrant, model, alpha, folder, clock):
    """The other end of `race`: a fit for every setting that comes."""
    name, model = model, MODELS[model]
    try:
        data = saved(folder)
        X, y = entrant.arrange(data.X, name), model.target(data)
        n_coefficients = model.zero(data.X, y).size
        connection.send(
            {
                "first_fit": warm_up(entrant, name, alpha, sparse=sp.issparse(X)),
                "pair": product_pair(data.X, clock, width=n_coefficients // data.X.shape[1]),
            }
        )
        while True:
            connection.send(timed(entrant, X, y, model, alpha, connection.recv(), clock))
    except EOFError:  # the parent has heard enough
        return
    except Exception as error:
        first, *_ = str(error).splitlines() or [""]
        connection.send({"failed": f"{type(error).__name__}: {first[:200]}"})


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

"""Models without a penalty beside those made for them, on the data that these carry.

statsmodels' GLM, Logit, MNLogit and PHReg on its own data sets, lifelines' and scikit-survival's
Cox models on theirs, a path of Coxnet with free features and one of its alphas, and glum on a
generated table of policies. OrderedModel has another likelihood than OrdinalPD, and is timed to
the accuracy of its own.

The time of each is that of its loosest tolerance whose objective, evaluated here, is within 1e-6
of the best one known as a share of that of the best constant prediction: seconds of the processor,
the least of several fits.
"""

import time
import warnings

import numpy as np

from benchmarks.helpers.unpenalised_speed_cases import CASES

ACCURACY = 1e-6  # of the objective of the best constant prediction
TOLERANCES = tuple(10.0**-k for k in range(2, 13))
BUDGET = 1.0  # seconds in which fits are repeated


def race(fit, reached):
    """Seconds, coefficients and tolerance of the loosest accurate fit, or of the tightest."""
    for tol in TOLERANCES:
        seconds, coef = least_seconds(lambda tol=tol: fit(tol))
        if reached(coef):
            break
    return seconds, coef, tol


def least_seconds(fit):
    """The least seconds of a few fits, and the last model's coefficients."""
    seconds, begin = [], time.perf_counter()
    while len(seconds) < 2 or (len(seconds) < 20 and time.perf_counter() - begin < BUDGET):
        start = time.process_time()
        coef = fit()
        seconds.append(time.process_time() - start)
        if seconds[-1] > 20.0:
            break
    return min(seconds), coef


def best_known(case):
    """The smallest objective of any contender with a tolerance of 1e-10."""
    values = []
    for fit in (case.fit, *case.peers.values()):
        try:
            values.append(case.objective(fit(1e-10)))
        except Exception:
            continue  # its failure is shown in its race
    return min(values)


def run_case(case):
    """The ratios of the peers at a case, with a line printed for each."""
    best, unit = best_known(case), max(case.constant, 1e-12)

    def distance(coef):
        return (case.objective(coef) - best) / unit

    def reached(coef):
        return distance(coef) <= ACCURACY

    def failed(name, error):
        print(f"{case.title:42} {name:22} {type(error).__name__}: {error}"[:150], flush=True)

    try:
        seconds, coef, tol = race(case.fit, reached)
    except Exception as error:
        failed("skpd", error)
        return {}
    own, ratios = f"{seconds * 1e3:10.2f} ms ({distance(coef):8.1e}, tol {tol:g})", {}
    for name, fit in case.peers.items():
        accurate = case.objective_of.get(name, reached)
        try:
            other, theirs, their_tol = race(fit, accurate)
        except Exception as error:  # of another library
            failed(name, error)
            continue
        ratios[name] = other / seconds if accurate(theirs) else np.inf
        far = distance(theirs) if accurate is reached else np.nan
        print(
            f"{case.title:42} {name:22}{own}{other * 1e3:10.2f} ms ({far:8.1e}, "
            f"tol {their_tol:g}){ratios[name]:9.2f}",
            flush=True,
        )
    return ratios


OPTIONS = {
    "--cases": {"nargs": "+", "choices": CASES, "default": list(CASES)},
    "--rows": (680_000, "of the table of policies"),
}


def main(options):
    warnings.simplefilter("ignore")
    print(f"{'model and data':42} {'peer':22}{'skpd':>35}{'peer':>35}{'ratio':>9}")
    ratios = [
        (ratio, f"{case.title}, {name}")
        for case in (CASES[chosen](options.rows) for chosen in options.cases)
        for name, ratio in run_case(case).items()
    ]
    finite = [ratio for ratio, _ in ratios if np.isfinite(ratio)]
    slower = sorted(pair for pair in ratios if pair[0] < 1.0)
    if finite:
        mean = float(np.exp(np.mean(np.log(finite))))
        print(f"{len(ratios)} ratios, geometric mean {mean:.2f}, {len(slower)} below 1")
    for ratio, title in slower:
        print(f"   {ratio:.2f}  {title}")
    raise SystemExit(1 if slower else 0)

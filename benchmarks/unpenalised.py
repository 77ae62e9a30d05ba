"""Random models with coefficients that no penalty holds, beside optima of 50 digits.

Weights of 0 and alpha = 0, dependent free columns, scales from 1e-3 to 1e3, weights, offsets,
strata, truncated times and several rows a subject, sparse and dense. Of each model's fits at
tol = 1e-8 the table counts lower bounds above the optimum and upper bounds below the objective of
the model, both in 50 digits; fits that say they have not converged; and how far the objective is
above the optimum, as a share of that of the best constant prediction. Problems whose optimum is
at infinity are drawn anew, and so are those that the independent solvers do not solve.

``--separated`` draws problems with a level without events or a feature that separates the classes
instead, and as many times five without: those of which the fit says so, and names the feature.
Before, as many have margins or overlaps of 2^-20 to 2^-60, of which the answer is known exactly.
"""

import itertools
import time
import traceback
import warnings
from collections import Counter

import mpmath
import numpy as np

from benchmarks.helpers.campaigns import counts, heading
from benchmarks.helpers.smooth_losses import DIGITS_KEPT
from benchmarks.helpers.unpenalised_cases import MODELS
from tests.oracles.optima import NotSolved

FAR = 1e-7  # from the optimum, as a share of the objective of the best constant prediction
LEAST_UNIT = mpmath.mpf("1e-6")  # of the best constant prediction
SHOWN = 5  # errors of a model that are printed


COLUMNS = (
    "problems", "above", "excess", "below", "unconverged", "far", "distance", "refused", "errors",
    "anew", "slowest",
)  # fmt: skip
FAULTS = ("above", "below", "unconverged", "far", "errors", "refused")


def judge(case, model, tally):
    """Count what is wrong with a fit; returns its names."""
    certificate, wrong = model.certificate_, []
    with mpmath.workdps(DIGITS_KEPT):
        best, own = mpmath.mpf(case.best()), mpmath.mpf(case.objective(model))
        unit = max(mpmath.mpf(case.constant()), LEAST_UNIT)
        best = min(best, own)
        excess = float((mpmath.mpf(certificate.dual) - best) / unit)
        distance = float((mpmath.mpf(certificate.primal) - best) / unit)
        wrong += ["above"] if certificate.dual > best else []
        wrong += ["below"] if certificate.primal < own else []
    wrong += ["unconverged"] if not model.converged_ else []
    wrong += ["far"] if distance > FAR else []
    tally["excess"] = max(tally["excess"], excess)
    tally["distance"] = max(tally["distance"], distance)
    tally.update(wrong)
    return [f"{name} (excess {excess:.1e}, distance {distance:.1e})" for name in wrong]


def one_fit(draw, seed, tally, *, shown):
    """Draw, fit and judge one problem; what is wrong, or None where it is drawn anew."""
    case = draw(np.random.default_rng(seed))
    if case.directions is not None and case.directions.separate():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        try:
            model = case.fit()
        except ValueError as error:
            tally["refused"] += 1
            return [f"refused: {str(error).splitlines()[0]}"] if shown else []
        except Exception:
            tally["errors"] += 1
            return [traceback.format_exc(limit=-2)]
        tally["slowest"] = max(tally["slowest"], time.process_time() - start)
        return judge(case, model, tally)


OPTIONS = {
    "--problems": (500, "of each model"),
    "--seed": 0,
    "--models": {"nargs": "+", "choices": MODELS, "default": list(MODELS)},
    "--only": {"type": int, "help": "the number of one problem"},
    "--separated": {"type": int, "metavar": "N", "help": "problems that separate"},
}


def main(options):
    if options.separated:
        from benchmarks.helpers.separated_cases import campaign
        from benchmarks.helpers.thin_margins import margins

        faults = margins(options.separated, options.seed)
        raise SystemExit(campaign(options.separated, options.seed) or min(faults, 1))
    print(heading("model", COLUMNS))
    failed = 0
    for which, name in enumerate(MODELS):
        tally, shown = Counter(excess=-np.inf, distance=0.0, slowest=0.0), 0
        for number in itertools.count(1) if options.only is None else [options.only]:
            if name not in options.models or tally["problems"] == options.problems:
                break
            seed = [options.seed, which, number]
            try:
                wrong = one_fit(MODELS[name], seed, tally, shown=options.only is not None)
            except NotSolved:
                wrong = None
            tally["problems" if wrong is not None else "anew"] += 1
            for line in wrong or ():
                shown += 1
                if shown <= SHOWN or options.only is not None:
                    print(f"   {name} --only {number}: {line}", flush=True)
        if name in options.models:
            print(counts(name, tally, COLUMNS), flush=True)
        failed += sum(tally[fault] for fault in FAULTS)
    raise SystemExit(1 if failed else 0)

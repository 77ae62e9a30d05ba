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

import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field

import mpmath
import numpy as np

from benchmarks.helpers.smooth_losses import DIGITS_KEPT
from benchmarks.helpers.unpenalised_cases import MODELS
from tests.oracles.optima import NotSolved

FAR = 1e-7  # from the optimum, as a share of the objective of the best constant prediction
LEAST_UNIT = mpmath.mpf("1e-6")  # of the best constant prediction
SHOWN = 5  # errors of a model that are printed


@dataclass
class Tally:
    """What came of the fits of a model."""

    counts: Counter = field(default_factory=Counter)
    excess: float = -np.inf
    distance: float = 0.0
    seconds: float = 0.0

    def line(self, name):
        c = self.counts
        return (
            f"{name:22}{c['problems']:9}{c['above']:7}{self.excess:11.1e}{c['below']:7}"
            f"{c['unconverged']:12}{c['far']:5}{self.distance:11.1e}{c['refused']:9}"
            f"{c['errors']:8}{c['anew']:6}{self.seconds:9.2f}"
        )


HEADER = (
    f"{'model':22}{'problems':>9}{'above':>7}{'excess':>11}{'below':>7}{'unconverged':>12}"
    f"{'far':>5}{'distance':>11}{'refused':>9}{'errors':>8}{'anew':>6}{'slowest':>9}"
)


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
    tally.excess, tally.distance = max(tally.excess, excess), max(tally.distance, distance)
    tally.counts.update(wrong)
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
            tally.counts["refused"] += 1
            return [f"refused: {str(error).splitlines()[0]}"] if shown else []
        except Exception:
            tally.counts["errors"] += 1
            return [traceback.format_exc(limit=-2)]
        tally.seconds = max(tally.seconds, time.process_time() - start)
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
    print(HEADER)
    failed = 0
    for name in options.models:
        tally, number, shown = Tally(), 0, 0
        which = list(MODELS).index(name)
        while tally.counts["problems"] < (1 if options.only is not None else options.problems):
            number = options.only if options.only is not None else number + 1
            seed = [options.seed, which, number]
            try:
                wrong = one_fit(MODELS[name], seed, tally, shown=options.only is not None)
            except NotSolved:
                wrong = None
            if wrong is None:
                tally.counts["anew"] += 1
                if options.only is not None:
                    break
                continue
            tally.counts["problems"] += 1
            for line in wrong:
                shown += 1
                if shown <= SHOWN or options.only is not None:
                    print(f"   {name} --only {number}: {line}", flush=True)
        print(tally.line(name), flush=True)
        failed += sum(tally.counts[key] for key in ("above", "below", "unconverged", "far"))
        failed += tally.counts["errors"] + tally.counts["refused"]
    raise SystemExit(1 if failed else 0)

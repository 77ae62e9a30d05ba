"""Random small fits of any model and scale: none may end in an error, hang or give up.

Data of 2 to 60 rows with scales from 1e-8 to 1e8, offsets up to 1e6, duplicate and constant
columns, repeated rows, rare classes, weights, sparse and single-precision layouts; every loss
with every penalty, alphas over seven orders of magnitude, tolerances from 1e-2 to 1e-8. What is
counted are exceptions other than the documented ValueErrors, warnings, fits that do not converge
and fits of more than 5 s of processor time; a seed and a number repeat one of them.

``--newer`` draws all newer models, with scales from 1e-100 to 1e100, offsets up to 1e8 times the
scale, dependent columns, weights of 1e-200 and alphas from 1e-12 to 1e6, and recomputes each
objective in exact numbers. What is counted there: lower bounds above the objective of the model or
of a second fit of the same problem (at another tolerance and, where the penalty has a degree, with
X at a moderate scale), primals below the objective of the function that predicts, models that miss
their constraints by more than rounding, exceptions other than a ValueError that names a parameter,
constraints refused that can be obeyed, warnings of arithmetic, and slow fits.
"""

import re
import time
import traceback
import warnings
from collections import Counter
from types import SimpleNamespace

import mpmath
import numpy as np
from sklearn.base import clone

from benchmarks.helpers.campaigns import counts, heading
from benchmarks.helpers.fuzz_families import LINEAR
from benchmarks.helpers.fuzz_outputs import OTHERS
from benchmarks.helpers.fuzz_small import converging
from benchmarks.helpers.limits import GivenUp, limited
from tests.oracles.exact_objectives import ROUNDING

NEWER = {**LINEAR, **OTHERS}
SLOW = 5.0  # seconds of processor time
PATIENCE = 10.0  # the same, after which a fit is given up
UNFINISHED = 1e-3  # the share of fits that need not converge
TOO_LARGE = "overflows"  # what a documented ValueError says of numbers
OF_CONVERGENCE = ("error", "warned", "slow", "not converged")
OF_OBJECTIVES = ("bound above", "primal below", "misses", "not finite", "raw", "slow")


def is_documented(error, parameters):
    """Whether it is a ValueError that was raised on purpose and names what is wrong."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    own = re.search(r"[/\\](skpd|sklearn)[/\\]", last.filename) is not None
    words = re.findall(r"\w+", str(error))
    return (
        isinstance(error, ValueError) and own and bool({*parameters, "X", "y", "Input"} & {*words})
    )


def fitted(case, estimator, X=None):
    """A fitted model or None, what was raised, the warnings, and seconds."""
    start, error = time.process_time(), None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with limited(PATIENCE):
                model = case.fit(estimator, X)
        except (Exception, GivenUp) as raised:
            model, error = None, raised
    return model, error, caught, time.process_time() - start


def scaled_back(case, tol):
    """A model of the same problem from another fit, with X at a moderate scale, or None."""
    estimator, X, factor = clone(case.estimator).set_params(tol=tol), None, 1.0
    if case.degree is not None:
        largest = float(np.max(np.abs(case.X)))
        exponent = -int(np.frexp(largest)[1]) if 0.0 < largest < np.inf else 0
        with np.errstate(over="ignore", under="ignore"):
            alpha = float(np.ldexp(estimator.alpha, exponent * case.degree))
        if 0.0 < alpha < np.inf and abs(exponent) < 1000:
            factor = float(np.ldexp(1.0, exponent))
            X = case.X.astype(np.float64) * factor
            estimator.set_params(alpha=alpha)
    model = fitted(case, estimator, X)[0]
    if model is None or X is None:
        return model
    return SimpleNamespace(coef_=model.coef_ * factor, intercept_=model.intercept_)


def relative(difference, value):
    return float(difference / max(abs(value), mpmath.mpf("1e-4000")))


def judged(case, model):
    """What is wrong with a certificate, as pairs of a name and a size."""
    certificate = model.certificate_
    value, missed, size = case.objective(model)
    if not mpmath.isfinite(value):
        return [("not finite", str(value))]
    upper, lower = mpmath.mpf(certificate.primal), mpmath.mpf(certificate.dual)
    found, known = [], [value] if missed == 0 else []
    if missed > ROUNDING * max(size, mpmath.mpf("1e-300")):
        found.append(("misses", f"constraints by {float(missed):.2g} beside {float(size):.2g}"))
    other = scaled_back(case, 1e-9 if case.estimator.tol > 1e-9 else 1e-4)
    if other is not None:
        second, beside, _ = case.objective(other)
        known += [second] if beside == 0 and mpmath.isfinite(second) else []
    if case.upwards:  # the model is below the optimum, and what others reach too
        if lower > value:
            found.append(("bound above", f"its own model by {relative(lower - value, value):.2g}"))
        if max(known) > upper:
            best = max(known)
            found.append(("primal below", f"a model by {relative(best - upper, best):.2g}"))
        return found
    if value > upper:
        found.append(("primal below", f"by {relative(value - upper, value):.2g} of it"))
    if known and lower > min(known):
        best = min(known)
        of_whom = "its own model" if best == value else "another model"
        found.append(("bound above", f"{of_whom} by {relative(lower - best, best):.2g} of it"))
    return found


def ended(model, error, caught):
    """What is wrong with a fit that must converge without a warning."""
    if error is not None:
        refused = isinstance(error, ValueError) and TOO_LARGE in str(error)
        return [("refused" if refused else "error", said_of(error))]
    said = "; ".join(str(w.message).splitlines()[0] for w in caught)
    if not model.converged_:
        return [("not converged", said)]
    return [("warned", said)] if caught else []


def said_of(error):
    return "".join(traceback.format_exception(error, limit=-3))


def outcome(case):
    """What became of a fit, as pairs of a name and more, and its seconds."""
    model, error, caught, seconds = fitted(case, clone(case.estimator))
    if isinstance(error, GivenUp):
        return [("slow", f"given up after {seconds:.1f} s")], seconds
    found = [("slow", f"{seconds:.1f} s")] if seconds > SLOW else []
    if case.objective is None:
        return found + ended(model, error, caught), seconds
    said = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
    if said:
        found.append(("raw", f"RuntimeWarning: {said[0]}"))
    if error is None:
        return found + judged(case, model), seconds
    if is_documented(error, case.estimator.get_params()):
        said = str(error).splitlines()[0][:110]
        wrongly = case.feasible and said.startswith("constraints")
        return [*found, ("raw", f"feasible: {said}") if wrongly else ("refused", said)], seconds
    return [*found, ("raw", said_of(error))], seconds


OPTIONS = {
    "--fits": {"type": int, "help": "20,000 by default, or 3,000 of the newer models"},
    "--seed": 0,
    "--only": {"type": int, "help": "the number of one fit"},
    "--newer": (False, "of the newer models, their objectives recomputed exactly"),
    "--family": {"choices": list(NEWER), "help": "one family of the newer models alone"},
    "--refusals": (False, "a line for each refusal too"),
}


def main(options):
    newer = options.newer or options.family
    families = NEWER if newer else {"any": converging}
    findings = OF_OBJECTIVES if newer else OF_CONVERGENCE
    shown = {*findings, *(["refused"] if options.refusals or options.only is not None else [])}
    fits = options.fits or (3_000 if newer else 20_000)
    columns, tallies = ("fits", *findings, "refused", "slowest"), {}
    for number in range(fits) if options.only is None else [options.only]:
        family = list(families)[number % len(families)]
        if options.family not in (None, family):
            continue
        with np.errstate(all="ignore"):
            case = families[family](np.random.default_rng([options.seed, number]))
        found, taken = outcome(case)
        tally = tallies.setdefault(family, Counter(slowest=0.0))
        tally["slowest"] = max(tally["slowest"], taken)
        tally.update({"fits", *(name for name, _ in found)})
        for name, more in found:
            if name in shown:
                print(f"{number}: {name}, {more}\n   {family}: {case.estimator}", flush=True)
    total = Counter()
    print(heading("family", columns))
    for family, tally in tallies.items():
        print(counts(family, tally, columns))
        total.update(tally)
    print(counts("all", total, columns[:-1]))
    wrong = sum(total[name] for name in findings)
    if total["not converged"] <= UNFINISHED * total["fits"]:
        wrong -= total["not converged"]
    raise SystemExit(1 if wrong else 0)

"""Random hostile fits of the newer models, each with its objective recomputed in exact numbers.

Small data with scales from 1e-100 to 1e100, offsets up to 1e8 times the scale, repeated, constant
and dependent columns, weights of 0 and 1e-200, sparse layouts and single precision; alphas from
1e-12 to 1e6 and of the order of the data; tolerances from 1e-2 to 1e-9. What is counted: lower
bounds above the objective of the model or of a second fit of the same problem (at another
tolerance and, where the penalty has a degree, with X at a moderate scale), primals below the
objective of the function that predicts, models that miss their constraints by more than rounding,
exceptions other than a ValueError that names a parameter, constraints refused
that can be obeyed, warnings of arithmetic, and fits of more
than 5 s of processor time. A seed and a number repeat one of them.
"""

import argparse
import re
import signal
import time
import traceback
import warnings
from collections import Counter
from types import SimpleNamespace

import mpmath
import numpy as np
from sklearn.base import clone

from benchmarks.helpers.fuzz_families import LINEAR
from benchmarks.helpers.fuzz_outputs import OTHERS
from tests.oracles.exact_objectives import ROUNDING

FAMILIES = {**LINEAR, **OTHERS}
SLOW = 5.0  # seconds of processor time
PATIENCE = 10.0  # the same, after which a fit is given up
FINDINGS = ("bound above", "primal below", "misses", "not finite", "raw", "slow")


class GivenUp(BaseException):
    """A fit ran out of time: no Exception, so that nothing on the way catches it."""


def give_up(*_):
    raise GivenUp


def is_documented(error, parameters):
    """Whether it is a ValueError that was raised on purpose and names what is wrong."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    own = re.search(r"[/\\](skpd|sklearn)[/\\]", last.filename) is not None
    words = re.findall(r"\w+", str(error))
    return (
        isinstance(error, ValueError) and own and bool({*parameters, "X", "y", "Input"} & {*words})
    )


def fitted(case, estimator, X=None):
    """A fitted model or None, what was raised, warnings of arithmetic, and seconds."""
    start, error = time.process_time(), None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        try:
            model = case.fit(estimator, X)
        except (Exception, GivenUp) as raised:
            model, error = None, raised
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
    said = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
    return model, error, said, time.process_time() - start


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


def outcome(case):
    """What became of a fit, as pairs of a name and more, and its seconds."""
    model, error, said, seconds = fitted(case, clone(case.estimator))
    found = [("slow", f"{seconds:.1f} s")] if seconds > SLOW else []
    if isinstance(error, GivenUp):
        return [("slow", f"given up after {seconds:.1f} s")], seconds
    if said:
        found.append(("raw", f"RuntimeWarning: {said[0]}"))
    if error is None:
        return found + judged(case, model), seconds
    if is_documented(error, case.estimator.get_params()):
        said = str(error).splitlines()[0][:110]
        wrongly = case.feasible and said.startswith("constraints")
        return [*found, ("raw", f"feasible: {said}") if wrongly else ("refused", said)], seconds
    lines = traceback.format_exception(error, limit=-3)
    return [*found, ("raw", "".join(lines))], seconds


def table(families, counts, seconds):
    names = ("fits", *FINDINGS, "refused")
    print(f"{'family':20}" + "".join(f"{name:>13}" for name in names) + f"{'slowest, s':>13}")
    for family in families:
        row = "".join(f"{counts[family, name]:13}" for name in names)
        print(f"{family:20}{row}{max(seconds.get(family, [0.0])):13.2f}")
    totals = [sum(counts[family, name] for family in families) for name in names]
    print(f"{'all':20}" + "".join(f"{count:13}" for count in totals))


def one_fit(family, number, options, counts, seconds):
    """Draw, fit and judge one; print what was found."""
    with np.errstate(all="ignore"):
        case = FAMILIES[family](np.random.default_rng([options.seed, number]))
    found, taken = outcome(case)
    counts[family, "fits"] += 1
    seconds.setdefault(family, []).append(taken)
    for name in {name for name, _ in found}:
        counts[family, name] += 1
    for name, more in found:
        if name in FINDINGS or options.refusals or options.only is not None:
            print(f"{number}: {name}, {more}\n   {family}: {case.estimator}", flush=True)


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz --newer", description=__doc__)
    parser.add_argument("--fits", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=list(FAMILIES), help="one family alone")
    parser.add_argument("--only", type=int, help="the number of one fit")
    parser.add_argument("--refusals", action="store_true", help="a line for each refusal too")
    options = parser.parse_args(arguments)
    families = [options.family] if options.family else list(FAMILIES)
    numbers = range(options.fits) if options.only is None else [options.only]
    signal.signal(signal.SIGPROF, give_up)
    counts, seconds = Counter(), {}
    try:
        for number in numbers:
            family = list(FAMILIES)[number % len(FAMILIES)]
            if family in families:
                one_fit(family, number, options, counts, seconds)
    except KeyboardInterrupt:
        print(f"Interrupted at {number}.")
    table(families, counts, seconds)
    wrong = sum(counts[family, name] for family in families for name in FINDINGS)
    raise SystemExit(1 if wrong else 0)

"""Random models at the ends of the scale, beside what finite coefficients reach in exact numbers.

The problems of `benchmarks.unpenalised` are drawn once at ordinary scales and once with columns,
targets, weights and offsets times powers of two, from 1e-310 to 1e200 (in float32 from 1e-45 to
1e37), dense, sparse and in blocks. The model of the first, with coefficients over these powers,
also without the penalised ones, is one of the second; so is the model that was fitted. The table
counts lower bounds above the objective of one of these and upper bounds below that of the model,
in 60 digits; numbers that are not finite; errors other than a ValueError that says what must be
otherwise; and fits that say that they have not converged.
"""

import time
import traceback
import warnings
from collections import Counter
from functools import partial
from types import SimpleNamespace

import mpmath
import numpy as np
import scipy.sparse as sp

from benchmarks.helpers.campaigns import counts, heading
from benchmarks.helpers.unpenalised_cases import MODELS
from benchmarks.helpers.unpenalised_draws import Scales, changes
from skpd import RowBlocks

ENDS = {np.float64: (-1029, 664), np.float32: (-149, 112)}  # 1e-310 to 1e200, 1e-45 to 1e37
IN_BLOCKS = (
    "PdproxSVC", "PdproxRegressor", "LogisticPD, 2 classes", "LogisticPD, 3 or 4", "PoissonPD",
    "GammaPD", "TweediePD", "ElasticNetPD", "LassoPDCertified",
)  # fmt: skip
OF_RESIDUALS = "PdproxRegressor", "MultiTaskPD", "ElasticNetPD", "LassoPDCertified"
DIGITS = 60
SHOWN = 5  # faults of a model that are printed
WORDS = "must", "needs"  # of messages that say what must be otherwise
FAULTS = ("above", "below", "not finite", "errors")
COLUMNS = ("problems", *FAULTS, "refused", "unconverged", "slowest")


def exponents(lowest, highest, d, rng):
    """Exponents of columns: all alike, one by itself, or each its own."""
    drawn = rng.integers(lowest, highest + 1, d)
    kind = rng.integers(4)
    if kind == 0:
        drawn[:] = drawn[0]
    elif kind == 1:
        drawn[rng.integers(d) != np.arange(d)] = 0
    elif kind == 2:  # where squares over- and underflow
        drawn = rng.choice([-1, 1], d) * rng.integers(480, 560, d)
    return np.clip(drawn, lowest, highest)


def weights_of(n, rng):
    """Exponents of the weights: all alike, or of two sizes."""
    kind = rng.integers(3)
    if kind == 0:
        return np.full(n, rng.integers(-1029, 650))
    return np.where(rng.random(n) < 0.5, 0, rng.integers(-900, 650)) if kind == 1 else 0


def stored_as(layout, dtype, X):
    X = X.astype(dtype)
    if layout == "sparse":
        return sp.csr_array(X)
    return RowBlocks(np.array_split(X, 2)) if layout == "blocks" else X


def drawn_scales(rng, layouts):
    dtype = np.float32 if rng.random() < 0.25 else np.float64
    layout = str(rng.choice(layouts))
    return Scales(
        partial(exponents, *ENDS[dtype]),
        of_y=int(rng.integers(-1029, 664)) if rng.random() < 0.3 else 0,
        of_weights=weights_of,
        of_offset=int(rng.integers(-1029, 664)) if rng.random() < 0.2 else 0,
        store=partial(stored_as, layout, dtype),
    )


def cases(name, seed):
    """A case at ordinary scales, the one at others, and the exponents of its columns."""
    found, layouts = [], ["dense", "dense", "sparse", "blocks"][: 3 + (name in IN_BLOCKS)]
    for change in (None, drawn_scales(np.random.default_rng([*seed, 1]), layouts)):
        exponents = []

        def noted(drawn, rng, change=change, exponents=exponents):
            drawn = drawn if change is None else change(drawn, np.random.default_rng([*seed, 2]))
            of_y = drawn.y_exponent if name in OF_RESIDUALS else 0
            exponents.append((drawn.exponents, of_y, drawn.free))
            return drawn

        token = changes.set(noted)
        try:
            found.append((MODELS[name](np.random.default_rng(seed)), exponents[-1]))
        finally:
            changes.reset(token)
    return found[0][0], *found[1]


def candidates(model, exponents, of_y, free):
    """The models of a fit at ordinary scales for the other ones, with finite coefficients."""
    largest = np.finfo(float).max
    for penalised in (True, False):
        coef = np.where(free | penalised, np.asarray(model.coef_, float), 0.0)
        with np.errstate(over="ignore", under="ignore"):
            coef = np.clip(np.ldexp(coef, of_y - exponents), -largest, largest)
            values = {
                name: np.ldexp(np.asarray(getattr(model, name), float), of_y)
                for name in ("intercept_", "thresholds_") if hasattr(model, name)
            }  # fmt: skip
        if all(np.isfinite(value).all() for value in values.values()):
            yield SimpleNamespace(coef_=coef, **values)


def judge(name, seed, tally):
    """Fit and count; what is wrong."""
    case, extreme, known = cases(name, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ordinary = case.fit()
            model = extreme.fit()
        except ValueError as error:
            said = type(error) is not np.linalg.LinAlgError and any(w in str(error) for w in WORDS)
            tally["refused" if said else "errors"] += 1
            return [] if said else [traceback.format_exc(limit=-3)]
        except Exception:
            tally["errors"] += 1
            return [traceback.format_exc(limit=-3)]
    certificate = model.certificate_
    numbers = [model.coef_, model.intercept_, certificate.primal, certificate.dual]
    if not all(np.isfinite(number).all() for number in numbers):
        tally["not finite"] += 1
        return [f"not finite: {certificate.primal} {certificate.dual} {model.coef_}"]
    tally["unconverged"] += not model.converged_
    with mpmath.workdps(DIGITS):
        own = mpmath.mpf(extreme.objective(model))
        # a column that is a combination of others up to rounding is left out of the bound
        others = [] if certificate.left_out else candidates(ordinary, *known)
        # no objective is negative but by the rounding of its 60 digits
        reached = max(min([own, *map(extreme.objective, others)]), 0)
        wrong = ["above"] if certificate.dual > reached else []
        wrong += ["below"] if certificate.primal < own else []
        tally.update(wrong)
        numbers = [float(reached), float(own), certificate.dual, certificate.primal]
    return [f"{fault}: reached {numbers[0]}, own {numbers[1]}, {numbers[2:]}" for fault in wrong]


OPTIONS = {
    "--problems": (280, "of each model"),
    "--seed": 0,
    "--models": {"nargs": "+", "choices": MODELS, "default": list(MODELS)},
    "--only": {"type": int, "help": "the number of one problem"},
}


def main(options):
    print(heading("model", COLUMNS))
    total = Counter(slowest=0.0)
    for name in options.models:
        tally, which = Counter(slowest=0.0), list(MODELS).index(name)
        numbers = range(options.problems) if options.only is None else [options.only]
        shown = 0
        for number in numbers:
            start = time.process_time()
            wrong = judge(name, [options.seed, which, number], tally)
            tally["problems"] += 1
            tally["slowest"] = max(tally["slowest"], time.process_time() - start)
            for line in wrong:
                shown += 1
                if shown <= SHOWN:
                    print(f"   {name} --only {number}: {line}", flush=True)
        print(counts(name, tally, COLUMNS), flush=True)
        total.update(tally)
    print(counts("all", total, COLUMNS[:-1]))
    raise SystemExit(1 if any(total[fault] for fault in FAULTS) else 0)

"""Products with the data that a fit to tol=1e-6 makes, on real data.

Counted are plain products, those of certificates, with bounds on their rounding errors or in
twice the working precision, and Gram matrices, whole or of columns that join others; the
time of the fit, the least of three, is given in pairs of one product with X and one with its
transpose by SciPy, the least seen.
"""

import time
import warnings
from collections import Counter
from contextlib import contextmanager
from functools import partial

from sklearn.exceptions import ConvergenceWarning

from benchmarks.helpers.corner import timed
from benchmarks.helpers.data import dataset
from benchmarks.helpers.models import MODELS, REAL, alpha_of, selected
from benchmarks.helpers.race import product_pair
from benchmarks.helpers.results import two_digits
from skpd.designs import Design

PLAIN = ("matvec", "rmatvec")
BOUNDED = ("matvec_bounded", "rmatvec_bounded")
COMPENSATED = ("matvec_compensated", "rmatvec_compensated")
GRAMS = ("gram",)


@contextmanager
def counted():
    """A Counter of the calls of Design's methods."""
    calls = Counter()
    originals = {name: getattr(Design, name) for name in (*PLAIN, *BOUNDED, *COMPENSATED, *GRAMS)}

    def counting(name):
        def method(self, *arguments, **parameters):
            calls[name] += 1
            return originals[name](self, *arguments, **parameters)

        return method

    try:
        for name in originals:
            setattr(Design, name, counting(name))
        yield calls
    finally:
        for name, original in originals.items():
            setattr(Design, name, original)


def total(calls, names):
    return sum(calls[name] for name in names)


OPTIONS = {
    "--models": {"nargs": "+", "choices": MODELS, "metavar": "NAME", "help": f"{[*MODELS]}"},
    "--data": {"nargs": "+", "choices": REAL, "default": REAL, "metavar": "NAME"},
    "--tol": 1e-6,
}


def main(options):
    header = ["data", "model", "alpha", "iterations", "pairs", "bounded pairs",
              "compensated pairs", "gram", "time in pairs", "converged"]  # fmt: skip
    print("| " + " | ".join(header) + " |")
    print("| --- |" + " --- |" * (len(header) - 1))
    for name, model, rule in selected(options.models, options.data):
        data = dataset(name)
        X, y = data.X, MODELS[model].target(data)
        alpha = alpha_of(rule, MODELS[model], X, y)
        fit = MODELS[model].estimator(X.shape[1], alpha, tol=options.tol)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            with counted() as calls:
                fit.fit(X, y)
            took, _ = timed(partial(fit.fit, X, y), time.perf_counter)  # without counting
        # a product with X and one with its transpose make a pair
        cells = [
            name, model, f"{rule}", f"{fit.n_iter_}",
            *(f"{total(calls, pair) / 2:g}" for pair in (PLAIN, BOUNDED, COMPENSATED)),
            f"{total(calls, GRAMS)}", two_digits(took / product_pair(X)), f"{fit.converged_}",
        ]  # fmt: skip
        print("| " + " | ".join(cells) + " |", flush=True)

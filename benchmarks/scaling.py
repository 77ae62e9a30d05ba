"""Time of a fit to tol=1e-6 as the number of rows of generated data doubles.

Beside it that of one product with X and one with its transpose by NumPy or SciPy, which more
than doubles where X no longer fits in the processor's cache.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.helpers.data import gaussian, uniform_sparse
from benchmarks.helpers.models import MODELS
from benchmarks.helpers.race import product_pair
from benchmarks.helpers.results import two_digits

ROWS = (25_000, 50_000, 100_000, 200_000, 400_000)
LAYOUTS = {
    "dense, 50": (gaussian, {"d": 50, "n_true": 25}),
    "sparse, 2000": (uniform_sparse, {"d": 2_000, "density": 0.01, "n_true": 100}),
}
NAMES = ("l1-hinge", "group-hinge", "l1-pinball")
PAIR = "product pair"


def seconds(model, data, tol):
    """(seconds, converged) of one fit at a third of alpha_max, the best of those that 3 s hold."""
    X, y = data.X, model.target(data)
    alpha = model.alpha_max(X, y) / 3
    times = []
    while sum(times) < 3.0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            start = time.perf_counter()
            fit = model.estimator(X.shape[1], alpha, tol=tol).fit(X, y)
            times.append(time.perf_counter() - start)
    return min(times), fit.converged_


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks scaling", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--tol", type=float, default=1e-6)
    options = parser.parse_args(arguments)
    print("| model | data | " + " | ".join(f"{n}" for n in options.rows) + " | ratios |")
    print("| --- |" + " --- |" * (len(options.rows) + 2))
    worst = 0.0
    for layout, (make, sizes) in LAYOUTS.items():
        table = {name: [] for name in (*NAMES, PAIR)}
        for n in options.rows:
            data = make(np.random.default_rng(0), n=n, noise=0.3, **sizes)
            for name in NAMES:
                table[name].append(seconds(MODELS[name], data, options.tol))
            table[PAIR].append((product_pair(data.X), True))
        for name, found in table.items():
            cells = [f"{took:.2g} s{'' if fine else ' (not converged)'}" for took, fine in found]
            steps = zip(found, found[1:], options.rows, options.rows[1:], strict=False)
            # per doubling, also where --rows holds other steps
            ratios = [
                (later[0] / earlier[0]) ** (1 / np.log2(m / n)) for earlier, later, n, m in steps
            ]
            if name != PAIR:
                worst = max(worst, *ratios, 0.0)
            shown = ", ".join(two_digits(ratio) for ratio in ratios)
            print(f"| {name} | {layout} | {' | '.join(cells)} | {shown} |", flush=True)
    print(f"\nlargest ratio of fits per doubling {two_digits(worst)}")

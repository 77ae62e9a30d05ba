"""Random small fits of any loss, penalty and scale: none may end in an error, hang or give up.

Data of 2 to 60 rows with scales from 1e-8 to 1e8, offsets up to 1e6, duplicate and constant
columns, repeated rows, rare classes, weights, sparse and single-precision layouts; every loss
with every penalty, alphas over seven orders of magnitude, tolerances from 1e-2 to 1e-8. What is
counted are exceptions other than the documented ValueErrors, fits that do not converge and
fits that take long; a seed and a number repeat one of them. ``--newer`` is the campaign
`benchmarks.fuzz_newer` in place of this one.
"""

import argparse
import time
import traceback
import warnings

import numpy as np
import scipy.sparse as sp

from benchmarks.certificates import LOSSES, PENALTIES
from skpd import DRSVMClassifier, PdproxRegressor, PdproxSVC
from skpd.designs import Design
from skpd.losses import MarginLoss
from skpd.penalties import GroupL2, SparseGroup, TotalVariation
from skpd.problems import linear_problem

SLOW = 10.0  # seconds
TOLERANCES = (1e-2, 1e-4, 1e-6, 1e-8)
KNOWN = ("overflows",)  # what a documented ValueError of numbers that are too large says


def data(rng):
    """Features of some kind."""
    n, d = int(rng.integers(2, 61)), int(rng.integers(1, 13))
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < rng.choice([0.3, 1.0, 1.0]))
    if rng.random() < 0.2:
        X = np.sinh(2.0 * X)  # heavy tails
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = X[:, rng.integers(d)]
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = X @ rng.standard_normal(d)
    if rng.random() < 0.2:
        X[rng.integers(n)] = X[rng.integers(n)]
    if rng.random() < 0.3:
        X *= 10.0 ** rng.integers(-8, 9)
    elif rng.random() < 0.3:
        X *= 10.0 ** rng.integers(-4, 5, size=d)
    if rng.random() < 0.3:
        X += rng.choice([1.0, 100.0, 1e4, 1e6]) * np.abs(X).max() * rng.choice([-1.0, 1.0])
    if rng.random() < 0.1:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0])
    return X


def layout(rng, X):
    """X as one of the layouts that estimators take."""
    if rng.random() < 0.2:
        X = X.astype(np.float32)
    kinds = (np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_matrix)
    return kinds[rng.choice(4, p=[0.5, 0.2, 0.2, 0.1])](X)


def targets(rng, X, loss):
    n = len(X)
    signal = X @ rng.standard_normal(X.shape[1])
    signal = signal - np.median(signal)
    spread = np.std(signal)
    signal = signal / spread if spread > 0.0 else signal
    noise = rng.choice([0.0, 0.5, 5.0]) * rng.standard_normal(n)
    if isinstance(loss, MarginLoss):
        y = np.where(signal + noise > rng.choice([-1.5, 0.0, 0.0, 1.5]), 1.0, -1.0)
        y[rng.choice(n, 2, replace=False)] = [1.0, -1.0]
        return y
    y = (signal + noise) * 10.0 ** rng.choice([-8, -2, 0, 0, 0, 3, 8])
    return y + rng.choice([0.0, 0.0, 1.0, 1e3]) * np.abs(y).max()


def random_fit(rng):
    """An estimator, its data and weights."""
    X = data(rng)
    known = [loss for loss in LOSSES if not loss.has_log_link]  # others are in `fuzz_newer`
    loss = known[rng.integers(len(known))]
    penalties = [*PENALTIES, TotalVariation()]
    penalty = penalties[rng.integers(len(penalties))]
    if isinstance(penalty, GroupL2 | SparseGroup) and X.shape[1] % 2:
        X = np.column_stack([X, X[:, :1]])
    y = targets(rng, X, loss)
    weights = None if rng.random() < 0.6 else rng.choice([0.0, 1.0, 1.0, 3.0, 0.01], size=len(y))
    options = {
        "tol": float(rng.choice(TOLERANCES)),
        "fit_intercept": bool(rng.random() < 0.6),
    }
    if weights is not None:
        weights[[np.argmax(y), np.argmin(y)]] = 1.0
    c = np.ones(len(y)) if weights is None else weights
    problem = linear_problem(
        Design(X), y, c / c.sum(), loss, penalty, 1.0, options["fit_intercept"]
    )
    largest = problem.largest_alpha
    if not 0.0 < largest < np.inf:
        largest = float(np.max(np.abs(problem.null_gradient))) or 1.0
    alpha = largest * 10.0 ** rng.uniform(-6.0, 0.5)
    X = layout(rng, X)
    if isinstance(loss, MarginLoss) and rng.random() < 0.1:
        estimator = DRSVMClassifier(
            epsilon=alpha, kappa=float(rng.choice([0.1, 1.0, np.inf])),
            norm=rng.choice([1, 2, np.inf]), **options,
        )  # fmt: skip
    else:
        kind = PdproxSVC if isinstance(loss, MarginLoss) else PdproxRegressor
        estimator = kind(alpha, loss=loss, penalty=penalty, **options)
    return estimator, X, y, weights


def outcome(estimator, X, y, weights):
    """What became of a fit, and its seconds."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(X, y, sample_weight=weights)
        except ValueError as error:
            what = "refused" if any(word in str(error) for word in KNOWN) else "error"
            said = traceback.format_exc(limit=-2) if what == "error" else ""
        except Exception:
            what, said = "error", traceback.format_exc(limit=-2)
        else:
            what = "converged" if estimator.converged_ else "not converged"
            said = "; ".join(str(w.message).splitlines()[0] for w in caught)
            if what == "converged" and caught:
                what = "warned"
    return what, said, time.perf_counter() - start


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz", description=__doc__)
    parser.add_argument("--fits", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, help="the number of one fit")
    parser.add_argument("--newer", action="store_true", help="of the newer models: fuzz_newer")
    options, rest = parser.parse_known_args(arguments)
    if options.newer:
        from benchmarks import fuzz_newer  # which needs mpmath

        return fuzz_newer.main([given for given in arguments if given != "--newer"])
    if rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    numbers = range(options.fits) if options.only is None else [options.only]
    counts: dict[str, int] = {}
    slowest, start = (0.0, -1), time.perf_counter()
    for number in numbers:
        fit = random_fit(np.random.default_rng([options.seed, number]))
        what, said, seconds = outcome(*fit)
        counts[what] = counts.get(what, 0) + 1
        slowest = max(slowest, (seconds, number))
        if what not in ("converged", "refused") or seconds > SLOW or options.only is not None:
            shape = "x".join(map(str, fit[1].shape))
            print(f"{number}: {what} in {seconds:.2g} s, {shape}, {fit[0]}\n   {said}", flush=True)
        if (number + 1) % 2000 == 0:
            elapsed = time.perf_counter() - start
            print(
                f"-- {number + 1} fits, {elapsed:.0f} s: {counts}, slowest {slowest}", flush=True
            )
    print(f"{sum(counts.values())} fits: {counts}; slowest {slowest[0]:.2g} s ({slowest[1]})")
    unconverged = counts.get("not converged", 0) / max(sum(counts.values()), 1)
    failed = counts.get("error", 0) or counts.get("warned", 0) or slowest[0] > SLOW
    raise SystemExit(1 if failed or unconverged > 1e-3 else 0)

"""Everyday tables beside scikit-learn: fits that take several times as long.

Each model is fitted to tables of several kinds and shapes with the default tolerance. The peer is
the fastest estimator of scikit-learn, with its own default, whose model this package certifies to
a relative gap of a thousandth. Times are those of the processor, with one thread. The last lines
are the ratios of each model, scikit-learn's time over ours, and how many fits take more than the
given multiple of the peer's time and a twentieth of a second more. The exit status is 1 if any
does.
"""

import argparse
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
)
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import skpd

SHAPES = ((2000, 50), (20_000, 100), (20_000, 500), (100_000, 30), (3000, 1000), (500, 5000))
KINDS = ("independent", "raw", "one factor", "sparse", "categories")
GAP = 1e-3  # relative gap to which a peer's model is certified
ABOVE = 0.05  # seconds that a fit may take longer than any multiple of the peer's


def table(kind, n, d, rng):
    if kind == "independent":
        return rng.standard_normal((n, d))
    if kind == "raw":  # amounts on scales of their own, far from 0
        return rng.lognormal(size=(n, d)) * rng.lognormal(size=d) + 3.0 * rng.standard_normal(d)
    if kind == "one factor":
        return 0.3 * rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    if kind == "sparse":
        return sp.random_array((n, d), density=min(20 / d, 0.2), rng=rng, format="csr")
    n_levels = d // 10
    codes = rng.integers(0, n_levels, (n, 10)) + n_levels * np.arange(10)
    indices, ends = (x.astype(np.int32) for x in (codes.ravel(), 10 * np.arange(n + 1)))
    return sp.csr_array((np.ones(10 * n), indices, ends), shape=(n, d))


def models(X, y, labels, counts, classes):
    """Pairs (our estimator, peers), and the targets, by the name of a model."""
    n = len(y)
    alpha = np.max(np.abs(X.T @ (y - y.mean()))) / n / 50.0
    of_labels = np.max(np.abs(X.T @ (labels - labels.mean()))) / n / 40.0
    second_order = LogisticRegression(solver="newton-cholesky", max_iter=1000)
    lbfgs = LogisticRegression(max_iter=1000)
    return {
        "ridge": (skpd.PdproxRegressor(0.01, loss="squared", penalty="l2"), [Ridge(0.01 * n)], y),
        "lasso": (skpd.LassoPDCertified(alpha), [Lasso(alpha)], y),
        "elastic net": (skpd.ElasticNetPD(alpha), [ElasticNet(alpha)], y),
        "logistic": (skpd.LogisticPD(1.0 / n), [lbfgs, second_order], labels),
        "l1-logistic": (
            skpd.LogisticPD(of_labels, penalty="l1"),
            [LogisticRegression(l1_ratio=1.0, solver="liblinear", C=1.0 / (n * of_labels))],
            labels,
        ),
        "squared hinge": (
            skpd.PdproxSVC(1.0 / n, loss="squared_hinge", penalty="l2"),
            [LinearSVC(dual="auto")], labels,
        ),
        "poisson": (
            skpd.PoissonPD(0.01),
            [
                PoissonRegressor(alpha=0.01),
                PoissonRegressor(alpha=0.01, solver="newton-cholesky"),
            ],
            counts,
        ),
        "softmax": (skpd.LogisticPD(1.0 / n), [lbfgs], classes),
    }  # fmt: skip


def seconds_of(model, X, y):
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def is_good(peer, X, y):
    return skpd.certify(peer, X, y).relative_gap <= GAP


def best_peer(peers, X, y):
    times = [(seconds_of(peer, X, y), is_good(peer, X, y)) for peer in peers]
    return min((seconds for seconds, good in times if good), default=np.inf)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks tables", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", nargs="+", help="names of models; all by default")
    parser.add_argument("--most", type=float, default=3.0, help="multiple of the peer's time")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    rng, ratios, slow = np.random.default_rng(options.seed), {}, 0
    with threadpool_limits(1):
        for n, d in SHAPES:
            for kind in KINDS:
                X = table(kind, n, d, rng)
                z = X @ (rng.standard_normal(d) * (rng.random(d) < 0.3))
                z = (z - z.mean()) / z.std()
                noisy = z + 0.5 * rng.standard_normal(n)
                counts = rng.poisson(np.exp(np.clip(0.5 * z, -3.0, 2.0)))
                ranks = np.argsort(np.argsort(noisy))
                cases = models(X, noisy, np.sign(noisy), counts, 4 * ranks // n)
                for name, (ours, peers, y) in cases.items():
                    if options.models and name not in options.models:
                        continue
                    own = min(seconds_of(ours, X, y) for _ in range(2))
                    theirs = best_peer(peers, X, y)
                    if theirs < np.inf:
                        ratios.setdefault(name, []).append(theirs / own)
                    is_slow = own > options.most * theirs + ABOVE or not np.all(ours.converged_)
                    slow += is_slow
                    print(
                        f"{n:7} x {d:<5} {kind:12} {name:14} {own:8.4f} s, scikit-learn "
                        f"{theirs:8.4f} s{', slow' if is_slow else ''}",
                        flush=True,
                    )
    for name, values in ratios.items():
        print(f"{name:14} {np.exp(np.mean(np.log(values))):.2f}, at least {min(values):.2f}")
    print(f"{slow} fits are slow")
    sys.exit(slow > 0)

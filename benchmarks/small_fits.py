"""Time of fits of tables, and of a grid search of 200, over that of scikit-learn's own.

Both are at their default tolerances, on the same objective; times are those of the processor, the
medians of fits one after the other. scikit-learn proves nothing, so that a ratio of 1 has a
certificate in it. `LinearSVC` penalises its intercept, and is beside a model that does not.

The tables are small, or with ``--shapes`` of many kinds and shapes. There the peer is the fastest
solver of scikit-learn whose model this package certifies to a relative gap of a thousandth, with
one thread. The last lines are the ratios of each model and how many fits take more than the given
multiple of the peer's time and a twentieth of a second more; the exit status is 1 if any does.
"""

import itertools
import time
import warnings
from collections import defaultdict
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn import linear_model as theirs
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import skpd

SHARES = (0.1, 0.01)  # of the largest alpha of interest
ROUNDS, FITS = 5, 20
SHAPES = ((2000, 50), (20_000, 100), (20_000, 500), (100_000, 30), (3000, 1000), (500, 5000))
KINDS = ("independent", "raw", "one factor", "sparse", "categories")
SHARE = 0.02  # of the largest alpha of interest, for tables of many shapes
GAP = 1e-3  # relative gap to which a peer's model is certified
ABOVE = 0.05  # seconds that a fit may take longer than any multiple of the peer's
ALSO_BY_NEWTON = ("LogisticRegression, l2", "PoissonRegressor", "LogisticRegression, 4 classes")
SMALL = "QuantileRegressor"  # which scikit-learn fits to small tables only


def small_tables(seed=0):
    """For each table its name, X, a centred target, classes and counts."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, 5))
    yield from [
        _table(rng, X, X @ rng.standard_normal(5) + rng.standard_normal(100)),
        _table(rng, *load_diabetes(return_X_y=True)),
        _table(rng, *load_breast_cancer(return_X_y=True)),
    ]


def _table(rng, X, y):
    y = scale(y)
    return scale(X), y, np.where(y > 0.0, 1, -1), rng.poisson(np.exp(0.3 * y))


def pairs(X, y, labels, counts, share):
    """For each name a model of scikit-learn, that of skpd, and the targets of both."""
    n = len(y)
    alpha = share * np.abs(X.T @ (y - y.mean())).max() / n
    of_labels = share * np.abs(X.T @ (labels - labels.mean())).max() / (2 * n)
    C = 1 / (n * of_labels)
    return {
        "Lasso": (theirs.Lasso(alpha=alpha), skpd.LassoPDCertified(alpha=alpha), y),
        "ElasticNet": (theirs.ElasticNet(alpha=alpha), skpd.ElasticNetPD(alpha=alpha), y),
        "Ridge": (theirs.Ridge(n * alpha), skpd.PdproxRegressor(alpha=alpha, penalty="l2",
                                                                loss="squared"), y),
        "LogisticRegression, l1": (
            theirs.LogisticRegression(C=C, l1_ratio=1, solver="liblinear"),
            skpd.LogisticPD(alpha=of_labels, penalty="l1"), labels,
        ),
        "LogisticRegression, l2": (
            theirs.LogisticRegression(C=C), skpd.LogisticPD(alpha=of_labels, penalty="l2"), labels,
        ),
        "LinearSVC": (
            LinearSVC(C=C), skpd.PdproxSVC(alpha=of_labels, loss="squared_hinge", penalty="l2"),
            labels,
        ),
        "PoissonRegressor": (
            theirs.PoissonRegressor(alpha=alpha), skpd.PoissonPD(alpha=alpha, penalty="l2"),
            counts,
        ),
        "QuantileRegressor": (
            theirs.QuantileRegressor(alpha=alpha),
            skpd.PdproxRegressor(alpha=2.0 * alpha, loss="absolute", penalty="l1"), y,
        ),
    }  # fmt: skip


def shaped_table(kind, n, d, rng):
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


def shaped_cases(kind, n, d, rng):
    """X and what `pairs` has, with four classes too."""
    X = shaped_table(kind, n, d, rng)
    z = X @ (rng.standard_normal(d) * (rng.random(d) < 0.3))
    z = (z - z.mean()) / z.std()
    noisy = z + 0.5 * rng.standard_normal(n)
    counts = rng.poisson(np.exp(np.clip(0.5 * z, -3.0, 2.0)))
    found = pairs(X, noisy, np.sign(noisy), counts, SHARE)
    del found[SMALL]
    softmax, ours, _ = found["LogisticRegression, l2"]
    classes = 4 * np.argsort(np.argsort(noisy)) // n
    return X, {**found, "LogisticRegression, 4 classes": (softmax, clone(ours), classes)}


def seconds(work, times):
    """The median time of the processor of this work."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return np.median(found)


def searched(model):
    """A search over 40 strengths in five folds."""
    name = "C" if hasattr(model, "C") else "alpha"
    return GridSearchCV(model, {name: getattr(model, name) * np.geomspace(0.1, 10.0, 40)}, cv=5)


def compared(models, X, y, times, rounds):
    """The median times of fits of two models, in turns."""
    works = [partial(model.fit, X, y) for model in models]
    return np.median([[seconds(work, times) for work in works] for _ in range(rounds)], axis=0)


def best_peer(name, peer, X, y):
    """The least time of scikit-learn's solvers that are accurate enough."""
    peers = [peer]
    if name in ALSO_BY_NEWTON:
        peers.append(clone(peer).set_params(solver="newton-cholesky", max_iter=1000))
    times = [(seconds(partial(one.fit, X, y), 1), one) for one in peers]
    good = (took for took, one in times if skpd.certify(one, X, y).relative_gap <= GAP)
    return min(good, default=np.inf)


def of_shapes(options):
    """Print the fits to tables of many shapes, and those that are slow."""
    rng, ratios, slow = np.random.default_rng(options.seed), defaultdict(list), 0
    for (n, d), kind in itertools.product(SHAPES, KINDS):
        X, cases = shaped_cases(kind, n, d, rng)
        for name, (peer, ours, y) in cases.items():
            if options.models and name not in options.models:
                continue
            own = min(seconds(partial(ours.fit, X, y), 1) for _ in range(2))
            other = best_peer(name, peer, X, y)
            if other < np.inf:
                ratios[name].append(other / own)
            is_slow = own > options.most * other + ABOVE or not np.all(ours.converged_)
            slow += is_slow
            print(f"{n:7} x {d:<5} {kind:12} {name:29} {own:8.4f} s, scikit-learn {other:8.4f} s"
                  f"{', slow' if is_slow else ''}", flush=True)  # fmt: skip
    for name, values in ratios.items():
        print(f"{name:29} {np.exp(np.mean(np.log(values))):.2f}, at least {min(values):.2f}")
    print(f"{slow} fits are slow")
    raise SystemExit(slow > 0)


OPTIONS = {
    "--searches": (False, "also searches of 200 fits"),
    "--shapes": (False, "tables of many kinds and shapes"),
    "--seed": (0, "of --shapes"),
    "--models": {"nargs": "+", "help": "names of models of --shapes; all by default"},
    "--most": (3.0, "multiple of the peer's time, of --shapes"),
}


def main(options):
    warnings.simplefilter("ignore")
    if options.shapes:
        with threadpool_limits(1):
            of_shapes(options)
    ratios = {"fit": []} | ({"search": []} if options.searches else {})
    print(f"{'':31}{'rows x features':>16}{'scikit-learn':>16}{'skpd':>12}{'ratio':>8}")
    for X, *targets in small_tables():
        shape = " x ".join(map(str, X.shape))
        for share in SHARES:
            for name, (*models, y) in pairs(X, *targets, share).items():
                for kind in ratios:
                    if kind == "fit":
                        times = compared(models, X, y, FITS, ROUNDS)
                    elif share == SHARES[0]:
                        times = compared(map(searched, models), X, y, 1, 1)
                    else:
                        continue
                    ratios[kind].append(times[1] / times[0])
                    cells = [f"{1e3 * each:10.2f} ms" for each in times]
                    print(f"{kind:7}{name:24}{shape:>16}   {cells[0]}{cells[1]:>12}"
                          f"{times[1] / times[0]:8.2f}", flush=True)  # fmt: skip
    for kind, values in ratios.items():
        mean = np.exp(np.mean(np.log(values)))
        print(f"{kind}: {mean:.2f} in geometric mean, {max(values):.2f} at most")

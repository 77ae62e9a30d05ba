"""Time of a fit of a small table, and of a grid search of 200, over that of scikit-learn's own.

Both are at their default tolerances, on the same objective; times are those of the processor, the
medians of fits one after the other. scikit-learn proves nothing, so that a ratio of 1 has a
certificate in it. `LinearSVC` penalises its intercept, and is beside a model that does not.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from sklearn import linear_model as theirs
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

import skpd

SHARES = (0.1, 0.01)  # of the largest alpha of interest
ROUNDS, FITS = 5, 20


def tables(seed=0):
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


def main(arguments=()):
    parser = argparse.ArgumentParser("small_fits", description=__doc__)
    parser.add_argument("--searches", action="store_true", help="also searches of 200 fits")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    ratios = {"fit": []} | ({"search": []} if options.searches else {})
    print(f"{'':31}{'rows x features':>16}{'scikit-learn':>16}{'skpd':>12}{'ratio':>8}")
    for X, *targets in tables():
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

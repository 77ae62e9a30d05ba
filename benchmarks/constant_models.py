"""Random small data on which models are often constant: each that is says so once, and no other.

Classes of which one is rare, features that are all 0 or constant, one-hot columns, targets that
are constant or mostly 0, and alphas over seven orders of magnitude, for all estimators with
coefficients and the choices of alpha by cross-validation. A seed and a number repeat a data set.
"""

import time
import warnings
from collections import Counter

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import skpd

SAYS = "coefficients are 0"
AT_END = "this end of the"  # the grid of a cross-validation: another warning
PER_DATA_SET = 8  # estimators that are fitted to each
MAX_ITER = 200  # where bounds are hard to prove on constant features


def features(rng, n):
    """All zeros, constants, one-hot columns, numbers, or columns of several of these."""
    kind = rng.choice(
        ["zero", "constant", "one-hot", "numbers", "mixed"], p=[0.1, 0.1, 0.3, 0.3, 0.2]
    )
    d = int(rng.integers(1, 8))
    if kind == "zero":
        return np.zeros((n, d))
    if kind == "constant":
        return np.tile(rng.choice([1.0, -3.7, 1e3], size=d), (n, 1))
    if kind == "numbers":
        return rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4)
    one_hot = np.eye(d + 1)[rng.choice(d + 1, n)]
    if kind == "one-hot":
        return one_hot
    return np.hstack([one_hot, np.zeros((n, 1)), np.ones((n, 1)), rng.standard_normal((n, 2))])


def score(rng, X):
    """What targets are made of: the features, standardised, and noise."""
    z = X @ rng.standard_normal(X.shape[1])
    spread = np.std(z)
    z = (z - np.mean(z)) / spread if spread > 1e-9 * np.max(np.abs(z), initial=1e-300) else 0.0 * z
    return rng.choice([0.0, 1.0, 3.0]) * z + rng.standard_normal(len(X))


def two_classes(rng, X):
    z = score(rng, X)
    n_rare = max(2, int(rng.choice([0.03, 0.1, 0.3, 0.5]) * len(z)))
    return (z >= np.sort(z)[-n_rare]).astype(int)


def three_classes(rng, X):
    return np.argsort(np.argsort(score(rng, X))) * 3 // len(X)


def numbers(rng, X):
    z = score(rng, X)
    kind = rng.choice(["plain", "mostly 0", "constant"], p=[0.6, 0.3, 0.1])
    if kind == "constant":
        return np.full(len(z), rng.choice([0.0, 3.3]))
    return z if kind == "plain" else z * (z > np.quantile(z, 0.8))


def outputs(rng, X):
    return np.column_stack([numbers(rng, X), numbers(rng, X)])


def makers(rng):
    """Pairs of an estimator and what makes its targets."""
    alpha = float(10.0 ** rng.uniform(-5, 2))
    margin = str(rng.choice(["hinge", "squared_hinge", "logistic"]))
    residual = str(rng.choice(["squared", "absolute", "huber", "epsilon_insensitive"]))
    norm, kappa = rng.choice([1, 2, np.inf]), rng.choice([0.5, 1.0, np.inf])
    penalty = str(rng.choice(["l1", "l2_norm", "elasticnet", "l2", "linf"]))
    few = {"alphas": 4, "cv": 3, "max_iter": MAX_ITER}
    return [
        (skpd.PdproxSVC(alpha, loss=margin, penalty=penalty), two_classes),
        (skpd.PdproxSVC(alpha, loss=margin), three_classes),
        (skpd.PdproxSVC(alpha, noise_budget=5), two_classes),
        (skpd.GroupLassoSVC(alpha, loss=margin, groups=1), two_classes),
        (skpd.PdproxRegressor(alpha, loss=residual, penalty=penalty), numbers),
        (skpd.PdproxRegressor(alpha, bounds=(0.0, np.inf)), numbers),
        (skpd.LassoPDCertified(alpha), numbers),
        (skpd.LassoPDCertifiedCV(**few), numbers),
        (skpd.ElasticNetPD(alpha), numbers),
        (skpd.ElasticNetPDCV(**few), numbers),
        (skpd.ElasticNetPDClassifier(alpha, loss="smoothed_hinge"), two_classes),
        (skpd.DRSVMClassifier(alpha, norm=norm, kappa=kappa), two_classes),
        (skpd.DRSVMClassifier(0.0, max_iter=MAX_ITER), two_classes),
        (skpd.QuantilePD(alpha=alpha), numbers),
        (skpd.MultiTaskPD(alpha), outputs),
        (skpd.MultiTaskPDCV(alphas=[alpha, alpha / 30], cv=3, max_iter=MAX_ITER), outputs),
        (skpd.TraceNormPD(alpha, radius=None), outputs),
        (skpd.TraceNormPD(alpha), outputs),
        (skpd.MultinomialPD(alpha, penalty="l21"), three_classes),
        (skpd.MultinomialPD(alpha, penalty="l1", loss="crammer_singer"), three_classes),
        (skpd.MetricSVC(alpha, penalty="l1"), two_classes),
        (skpd.KernelPdproxSVC(alpha, loss=margin, kernel="linear"), two_classes),
        (skpd.KernelPdproxRegressor(alpha, loss=residual), numbers),
        (skpd.MKLClassifier(alpha), two_classes),
        (skpd.MKLRegressor(alpha), numbers),
        (skpd.PathCV(skpd.PdproxSVC(loss=margin), cv=2, alphas=[alpha, alpha / 30]), two_classes),
        (skpd.PathCV(skpd.PdproxRegressor(loss=residual), cv=3, alphas=[alpha]), numbers),
    ]


def is_constant(model):
    """Whether all coefficients are 0."""
    model = getattr(model, "best_estimator_", model)
    return not np.any(model.support_coef_ if hasattr(model, "support_coef_") else model.coef_)


def outcome(model, X, y):
    """What is said of a fit: "silent", "said", or what is wrong."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except ValueError as error:  # as of a grid without a largest alpha
            return "refused" if "alphas" in str(error) else f"WRONG: {error}"
    said = sum(SAYS in str(each.message) for each in caught)
    others = [
        each for each in caught
        if SAYS not in str(each.message) and AT_END not in str(each.message)
        and not issubclass(each.category, ConvergenceWarning)
    ]  # fmt: skip
    if said != is_constant(model) or others:
        return f"WRONG: said {said} times, constant: {is_constant(model)}, {others}"
    return "said" if said else "silent"


OPTIONS = {
    "--data-sets": 300,
    "--seed": 0,
    "--only": {"type": int, "help": "the number of one data set"},
}


def main(options):
    start, counts = time.perf_counter(), Counter()
    for k in range(options.data_sets) if options.only is None else [options.only]:
        rng = np.random.default_rng([options.seed, k])
        X = features(rng, int(rng.integers(20, 80)))
        choices = makers(rng)
        for place in rng.choice(len(choices), PER_DATA_SET, replace=False):
            model, targets = choices[place]
            stored = sp.csr_array(X) if rng.random() < 0.2 else X
            found = outcome(model, stored, targets(rng, X))
            counts[found.split(":")[0]] += 1
            if found.startswith("WRONG"):
                print(f"data set {k}, {model!r}: {found}", flush=True)
    seconds = time.perf_counter() - start
    listing = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    print(f"{sum(counts.values())} fits in {seconds:.0f} s: {listing}")

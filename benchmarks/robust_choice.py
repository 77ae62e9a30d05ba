"""Whether a cross-validated choice of epsilon and kappa helps on held-out rows.

Rows are split at random, and a share of the training labels is flipped. Models are chosen by five
folds of these rows and tested on rows with their true labels. Printed are differences of the test
accuracy in percentage points, paired by split: means over the data sets with standard errors over
the splits, and on how many data sets they are above and below 0 by more than two of these.

The first table compares `DRSVMClassifier`, chosen by accuracy, with other models, the second other
rules of choice with that by accuracy. At test, features move by normal noise in each entry, by an
offset that all rows share (drift), or against the model. With SKPD_DATA, a9a is used too.
"""

import argparse
import os
import time
import warnings
from collections import defaultdict
from itertools import product

import numpy as np
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.helpers.data import load
from skpd import DRSVMClassifier, PdproxSVC, regularization_path, robust_grid

CLEAN = [("half", 0.0), ("50", 0.0), ("200", 0.0)]  # training rows, share of labels flipped
NOISY = [("half", 0.1), ("half", 0.2), ("half", 0.3), ("50", 0.2), ("200", 0.2)]
EPS, SHIFT = 1e-12, 0.5  # of test rows, in standard deviations of the features
OF_PEERS = ("hinge loss", "soft accuracy", "accuracy after shifts")
SCORES = {
    "accuracy": lambda z, y: (z > 0.0) == (y > 0.0),
    "hinge loss": lambda z, y: -np.maximum(1.0 - y * z, 0.0),
    "soft accuracy": lambda z, y: np.clip(y * z / (0.5 * np.median(np.abs(z), 0) + EPS), -1, 1),
    "area under ROC": lambda z, y: y * rankdata(z, axis=0),  # but for a factor and a constant
}
PEERS = {
    "hinge + squared l2": PdproxSVC(penalty="l2", random_state=0),
    "hinge + l1": PdproxSVC(penalty="l1", random_state=0),
    "logistic + squared l2": PdproxSVC(loss="logistic", penalty="l2", random_state=0),
}


def data_sets():
    found = {"cancer": load_breast_cancer(return_X_y=True), "wine": load_wine(return_X_y=True)}
    X, y = load_digits(return_X_y=True)
    for pair in ((3, 8), (1, 8)):
        rows = np.isin(y, pair)
        found["digits {} {}".format(*pair)] = X[rows], np.equal(y[rows], 8) * 1
    return found | ({"a9a": load("a9a")} if os.environ.get("SKPD_DATA") else {})


def split(X, y, rows, noise, seed):
    """Training rows with noisy labels, and test rows; the features of a9a are binary already."""
    rng, binary, n_train = np.random.default_rng(seed), not isinstance(X, np.ndarray), len(y) // 2
    y = np.where(y == 1, 1, -1)
    if binary:
        chosen, n_train = rng.permutation(len(y))[:4800], 800
        X, y = X[chosen].toarray(), y[chosen]
    n_train = n_train if rows == "half" else int(rows)
    X, Z, y, y_test = train_test_split(X, y, train_size=n_train, random_state=seed, stratify=y)
    if not binary:
        scaler = StandardScaler().fit(X)
        X, Z = scaler.transform(X), scaler.transform(Z)
    return X, np.where(rng.random(len(y)) < noise, -y, y), Z, y_test[:, None], rng


class Candidates:
    """The models of some paths on all training rows, and their values on held-out rows."""

    def __init__(self, models, X, y, seed, repeats):
        self.y, self.paths = (
            y[:, None],
            [regularization_path(model, X, y, **grid) for model, grid in models],
        )
        pairs = [(model, f) for (model, _), f in zip(models, self.paths, strict=True)]
        kappas = [
            np.full(len(f.alphas), getattr(f.models[0], "kappa_", np.inf)) for f in self.paths
        ]
        self.kappa, self.strength = np.hstack(kappas), np.hstack([f.alphas for f in self.paths])
        self.norms = np.linalg.norm(np.vstack([f.coefs for f in self.paths]), axis=-1).ravel()
        self.folds, self.held_out = [], np.zeros((repeats, len(y), len(self.kappa)))
        for k, held_out in enumerate(self.held_out):
            splitter = StratifiedKFold(5, shuffle=True, random_state=seed + 1000 * k)
            self.folds.append(list(splitter.split(X, y)))
            for train, rest in self.folds[-1]:
                fits = [
                    regularization_path(model, X[train], y[train], alphas=f.alphas)
                    for model, f in pairs
                ]
                held_out[rest] = values(fits, X[rest])

    def scores(self, score, k=0):
        """Of the shape (n_folds, n_candidates)."""
        held_out = [(self.held_out[k][rest], self.y[rest]) for _, rest in self.folds[k]]
        return np.array([score(z, y).mean(axis=0) for z, y in held_out])


def values(paths, X):
    return np.vstack([found.decision_function(X) for found in paths]).T


def choices(found, noise, shift):
    """The candidate that each rule takes; of equal ones the first, with the largest strength."""
    scores = {name: found.scores(score) for name, score in SCORES.items()}
    right, repeats = scores["accuracy"], range(len(found.folds))
    mean, error = right.mean(axis=0), right.std(axis=0, ddof=1) / len(right) ** 0.5
    best = np.argmax(mean > mean.max() - 1e-9)
    near = (found.kappa == found.kappa[best]) & (mean >= mean[best] - error[best])
    margins, lam, certain = found.y * found.held_out[0], found.norms, np.isinf(found.kappa)
    flipped = 1.0 + margins - np.where(certain, 1e12, found.kappa) * lam
    worst = found.strength * lam + np.maximum(np.maximum(1.0 - margins, flipped), 0.0)
    other = found.scores(lambda z, y: SCORES["hinge loss"](z, -y))
    scores |= {
        "corrected hinge loss": (1.0 - noise) * scores["hinge loss"] - noise * other,
        "robust loss": -worst,
        "accuracy, 3 times": np.vstack([found.scores(SCORES["accuracy"], k) for k in repeats]),
        "one standard error": np.where(near, found.strength, -1.0)[None],
        "kappa = inf": np.where(certain, right, -1.0),
        "kappa = distance": np.where(certain, -1.0, right),
        "accuracy after shifts": margins > shift * lam,
    }
    totals = {rule: score.mean(axis=0) for rule, score in scores.items()}
    return {rule: np.argmax(total > total.max() - 1e-9) for rule, total in totals.items()}


def cell(X, y, rows, noise, seed):
    """Test accuracies of all models and rules, for the test rows as they are and moved."""
    X, y, X_test, y_test, rng = split(X, y, rows, noise, seed)
    spread, results = X.std(axis=0), {}
    shift = SHIFT * np.sqrt(np.mean(spread**2))
    moved = {"": X_test, "noise": X_test + rng.standard_normal(X_test.shape) * spread}
    moved["drift"] = X_test + SHIFT * rng.standard_normal(len(spread)) * spread

    def add(name, models, repeats=1):
        found = Candidates(models, X, y, seed, repeats)
        right = SCORES["accuracy"]
        tests = {key: right(values(found.paths, Z), y_test) for key, Z in moved.items()}
        tests["worst case"] = y_test * values(found.paths, X_test) > shift * found.norms
        tests = {key: test.mean(axis=0) for key, test in tests.items()}
        for rule, place in choices(found, noise, shift).items():
            results[name, rule] = {key: test[place] for key, test in tests.items()}
        return 1.0 - found.scores(right).mean(axis=0).max()

    for name, model in PEERS.items():
        errors = add(name, [(model, {"alphas": 20})])  # in the end of logistic regression
    grid = robust_grid(DRSVMClassifier(), X, y, n_epsilons=10, eps=0.01, n_kappas=1)
    model, kappas = DRSVMClassifier(random_state=0), [of["kappa"][0] for of in grid]
    robust = [clone(model).set_params(kappa=kappa) for kappa in kappas]
    grid = [{"alphas": of["epsilon"]} for of in grid]
    add("robust", list(zip(robust, grid, strict=True)), repeats=3)
    for kappa in (1.0, "scale"):
        model = clone(model).set_params(kappa=kappa)
        add(f"kappa = {kappa}", [(model, {"alphas": 12, "eps": 1e-3})])
    epsilon = np.clip(errors * kappas[-1], 1e-6, 1e9)
    add("errors x kappa", [(robust[-1], {"alphas": [epsilon]})])
    return results


def difference(results, first, second, situations, key=""):
    """Mean and standard error, and on how many data sets it is clearly above and below 0."""
    paired = defaultdict(lambda: defaultdict(list))
    for (name, *situation, seed), found in results.items():
        if tuple(situation) in situations:
            paired[name][seed].append(100.0 * (found[first][key] - found[second][key]))
    sets = [[np.mean(found) for found in seeds.values()] for seeds in paired.values()]
    means = np.array([np.mean(found) for found in sets])
    errors = np.array([np.std(found, ddof=1) / len(found) ** 0.5 for found in sets])
    counts = f"({np.sum(means > 2 * errors)}, {np.sum(means < -2 * errors)})"
    return f"{means.mean():6.2f} +- {np.linalg.norm(errors) / len(errors):4.2f} {counts}"


def report(results, situations):
    moves = {f"{key} at test": ([CLEAN[0]], key) for key in ("noise", "drift", "worst case")}
    print(f"{'robust, by accuracy, less':44}", *(f"{name:22}" for name in PEERS))
    rows = {f"{s[0]} rows, {s[1]:.0%} of labels flipped": ([s],) for s in situations}
    for title, place in (rows | moves).items():
        pairs = [(("robust", "accuracy"), (name, "accuracy")) for name in PEERS]
        print(f"{title:44}", *(f"{difference(results, *pair, *place):22}" for pair in pairs))
    places = {"right labels": (CLEAN,), "wrong labels": (NOISY,), **moves}
    print(f"\n{'another rule, less by accuracy':44}", *(f"{name:22}" for name in places))
    for model, rule in next(iter(results.values())):
        pair = (model, rule), (model if model in PEERS else "robust", "accuracy")
        if model == "robust" or rule in (OF_PEERS if model in PEERS else ["accuracy"]):
            found = [difference(results, *pair, *place) for place in places.values()]
            print(f"{model + ', ' + rule:44}", *(f"{cell:22}" for cell in found))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="robust_choice", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two data sets, three repetitions")
    sets, situations, seeds = data_sets(), CLEAN + NOISY, range(100, 110)
    if parser.parse_args(arguments).quick:
        sets = {name: sets[name] for name in ("cancer", "wine")}
        situations, seeds = [CLEAN[0], NOISY[2]], range(100, 103)
    warnings.simplefilter("ignore")
    start, results = time.process_time(), {}
    for seed, (name, (X, y)), (rows, noise) in product(seeds, sets.items(), situations):
        if rows == "half" or int(rows) < 0.6 * len(y):
            results[name, rows, noise, seed] = cell(X, y, rows, noise, seed)
    report(results, situations)
    print(f"\n{len(results)} splits, {time.process_time() - start:.0f} seconds of the processor")

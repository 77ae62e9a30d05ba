"""The default cost of a flipped label, `DRSVMClassifier.kappa`, by accuracy on 12 data sets.

Each data set is fitted with a share of the training labels flipped, in each norm, with features
as they are and standardised, on rows drawn anew. Candidates for kappa are numbers and multiples of
a scale of the training rows, in the norm in which rows move:

- spread: the norm of the standard deviations of the features,
- distance: the median distance of two rows.

epsilon is chosen by three folds of the training rows, below the least one of half of kappa and
the distance of the means of the classes times the share of the smaller class, at which features
are of no use. Tested is on rows with right labels.
Printed is the accuracy less that with kappa=inf, the SVM with this norm as its penalty, in
percentage points, with its standard error over the data sets. The SVM with the squared l2 norm is
shown beside them. With SKPD_DATA a1a and words of Reuters are used too.
"""

import argparse
import os
import time
import warnings
from collections import defaultdict
from itertools import product

import numpy as np
import pandas as pd
from scipy.spatial.distance import pdist
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sksurv.datasets import load_breast_cancer as load_genes
from sksurv.datasets import load_veterans_lung_cancer, load_whas500
from statsmodels.datasets import anes96, fair

from benchmarks.helpers.data import load
from skpd import DRSVMClassifier, PathCV, PdproxSVC

TRAIN_ROWS, TRAIN_SHARE, WORDS = 150, 0.5, 200
NOISES, NORMS, SCALINGS = (0.0, 0.05, 0.2), (1, 2, np.inf), ("standardised", "raw")
METRICS = {1: "chebyshev", 2: "euclidean", np.inf: "cityblock"}  # in which rows move
ORDERS = {1: np.inf, 2: 2, np.inf: 1}
MULTIPLES = {"spread": (1, 2, 4), "distance": (0.5, 1, 2)}
EPSILONS = np.geomspace(1.0, 3e-3, 7)[1:]  # in units of one at which features are of no use
COMMON = {"tol": 1e-3, "random_state": 0}
PEER, CERTAIN = "SVM, squared l2", "inf"


def numbers(frame):
    return pd.get_dummies(frame, drop_first=True).to_numpy(dtype=float)


def data_sets():
    """Names with pairs of features and a mask of one class."""
    X, y = load_iris(return_X_y=True)
    found = {"iris": (X[50:], y[50:] == 2), "cancer": load_breast_cancer(return_X_y=True)}
    X, y = load_wine(return_X_y=True)
    found["wine"] = X, y == 1
    X, y = load_digits(return_X_y=True)
    for pair in ((3, 8), (1, 8)):
        found["digits {} {}".format(*pair)] = X[np.isin(y, pair)], y[np.isin(y, pair)] == 8
    for name, source, target in (("fair", fair, "affairs"), ("anes96", anes96, "vote")):
        frame = source.load_pandas().data
        found[name] = numbers(frame.drop(columns=target)), frame[target] > 0
    X, y = load_whas500()
    found["whas500"] = numbers(X), y["fstat"]
    X, y = load_veterans_lung_cancer()
    found["veterans"] = numbers(X), y["Survival_in_days"] > 100
    X, _ = load_genes()
    found["genes"] = numbers(X.drop(columns="er")), X["er"] == "positive"
    if os.environ.get("SKPD_DATA"):
        found["a1a"] = load("a1a")[0].toarray(), load("a1a")[1] > 0
        X, y = load("reuters")
        frequent = np.argsort(-np.diff(X.tocsc().indptr), kind="stable")[:WORDS]
        found["reuters"] = X.toarray()[:, frequent], y > 0
    return {name: (X, np.where(y, 1, -1)) for name, (X, y) in found.items()}


def split(X, y, noise, scaling, seed):
    """Training rows with wrong labels, and test rows."""
    n_train = min(TRAIN_ROWS, int(TRAIN_SHARE * len(y)))
    X, Z, y, y_test = train_test_split(X, y, train_size=n_train, random_state=seed, stratify=y)
    if scaling == "standardised":
        scaler = StandardScaler().fit(X)
        X, Z = scaler.transform(X), scaler.transform(Z)
    flipped = np.random.default_rng(seed).random(n_train) < noise
    return X, np.where(flipped, -y, y), Z, y_test


def candidates(X, y, norm):
    """Values of kappa by name."""
    scales = {
        "spread": np.linalg.norm(X.std(axis=0), ORDERS[norm]),
        "distance": np.median(pdist(X, METRICS[norm])),
    }
    values = {"1": 1.0, "inf": np.inf}
    for name, multiples in MULTIPLES.items():
        values |= {f"{factor:g} {name}": factor * scales[name] for factor in multiples}
    return values


def accuracies(X, y, Z, y_test, norm):
    """Accuracy and seconds of each candidate."""
    models = {PEER: PathCV(PdproxSVC(penalty="l2", **COMMON), alphas=12, cv=3)}
    share = min(np.mean(y > 0), np.mean(y < 0))
    means = X[y > 0].mean(axis=0) - X[y < 0].mean(axis=0)
    useless = share * np.linalg.norm(means, ORDERS[norm])
    for name, kappa in candidates(X, y, norm).items():
        model = DRSVMClassifier(kappa=kappa, norm=norm, **COMMON)
        models[name] = PathCV(model, alphas=min(useless, 0.5 * kappa) * EPSILONS, cv=3)
    for name, model in models.items():
        start = time.process_time()
        score = model.fit(X, y).score(Z, y_test)
        yield name, 100.0 * score, time.process_time() - start


def report(results):
    """A row for each candidate: means over all cells and over those of each noise and so on."""
    table, cell = pd.DataFrame(results), ["data", "noise", "norm", "scaling"]
    certain = table[table.kappa == CERTAIN].set_index(cell).accuracy
    of_cell = certain.reindex(table.set_index(cell).index)
    table["difference"] = table.accuracy - of_cell.to_numpy()
    rows = defaultdict(dict)
    for name, part in table.groupby("kappa", sort=False):
        of_data = part.groupby("data").difference.mean()
        row = rows[name]
        row["all"] = f"{of_data.mean():.2f} +- {of_data.sem():.2f}"
        for key in cell[1:]:
            for value, mean in part.groupby(key, sort=False).difference.mean().items():
                row[f"{key} {value}"] = f"{mean:.2f}"
        row["worst"] = f"{of_data.min():.1f} {of_data.idxmin()}"
        row["seconds"] = f"{part.seconds.sum():.0f}"
    print(pd.DataFrame(rows).T.to_string())
    print(f"\nkappa = {CERTAIN}: {certain.mean():.2f} % of {len(certain)} splits' test rows right")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="kappa", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two data sets")
    parser.add_argument("--save", help="a CSV file for the results")
    options = parser.parse_args(arguments)
    sets = data_sets()
    if options.quick:
        sets = {name: sets[name] for name in ("cancer", "wine")}
    warnings.simplefilter("ignore")
    start, results = time.process_time(), []
    cells = product(NOISES, NORMS, SCALINGS, sets.items())
    for seed, (noise, norm, scaling, (data, (X, y))) in enumerate(cells):
        rows = split(X, y, noise, scaling, seed)
        for kappa, accuracy, seconds in accuracies(*rows, norm):
            results.append({
                "data": data, "noise": noise, "norm": norm, "scaling": scaling, "kappa": kappa,
                "accuracy": accuracy, "seconds": seconds,
            })  # fmt: skip
        if options.save:
            pd.DataFrame(results).to_csv(options.save, index=False)
    report(results)
    print(f"{time.process_time() - start:.0f} seconds of the processor")

"""Data that people try first: what scikit-learn bundles, as it is and spoilt in common ways."""

from functools import lru_cache

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

LOADERS = {
    "breast-cancer": load_breast_cancer,
    "wine": load_wine,
    "iris": load_iris,
    "digits": load_digits,
    "diabetes": load_diabetes,
}
# the class that is told from the others, for iris the one that no hyperplane separates
CLASSES = {"breast-cancer": 1, "wine": 1, "iris": 1, "digits": 8}
# the feature that the others predict: mean radius, alcohol, petal width
TARGETS = {"breast-cancer": 0, "wine": 0, "iris": 3}
TEN = "ten-digits"  # all classes of digits in one fit


def standardised(X):
    """Features of mean 0 and standard deviation 1; constant ones are 0."""
    deviation = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)


def with_year(X, rng):
    return np.column_stack([X, rng.integers(1990, 2021, size=len(X))])


def with_copies(X, rng):
    """Two features twice, a multiple of another, the sum of all and a constant."""
    X = standardised(X)
    return np.column_stack([X, X[:, :2], -3.0 * X[:, 2], X.sum(axis=1), np.ones(len(X))])


def heavy_tailed(X, rng):
    """sinh(2 t) of standardised features t, up to four deviations: up to 1500."""
    return np.sinh(2.0 * np.clip(standardised(X), -4.0, 4.0))


VARIANTS = {
    "raw": lambda X, rng: X,
    "standardised": lambda X, rng: standardised(X),
    "shift-100": lambda X, rng: standardised(X) + 100.0,
    "shift-1e4": lambda X, rng: standardised(X) + 1e4,
    "year": with_year,
    "copies": with_copies,
    "heavy-tails": heavy_tailed,
    "separable": lambda X, rng: standardised(X),
}


@lru_cache(maxsize=4)
def everyday(name, variant, *, labels):
    """(X, y) of a data set, with labels -1 and 1 (of `TEN` 0 to 9) or real targets.

    The labels of "separable" are those of a random linear function of the features.
    """
    X, y = LOADERS["digits" if name == TEN else name](return_X_y=True)
    rng = np.random.default_rng(0)
    target = y.astype(float)
    if not labels and name in TARGETS:
        target, X = X[:, TARGETS[name]], np.delete(X, TARGETS[name], axis=1)
    X = np.ascontiguousarray(VARIANTS[variant](X, rng), dtype=float)
    if not labels or name == TEN:
        return X, target
    if variant == "separable":
        z = X @ rng.standard_normal(X.shape[1])
        return X, np.where(z > np.median(z), 1.0, -1.0)
    positive = y == CLASSES[name] if name in CLASSES else y > np.median(y)
    return X, np.where(positive, 1.0, -1.0)

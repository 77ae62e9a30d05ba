"""The data of the papers that are at hand, and generated ones of the same shape elsewhere."""

import os
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from benchmarks.helpers.data import load

SHAPES = {"a1a": (1605, 123), "a9a": (32_561, 123), "reuters": (7770, 8315)}
ATTRIBUTES = 14  # of a row of the Adult data, each one-hot
WORDS = 60  # of a document


def is_at_hand():
    """Whether the real data can be read."""
    return bool(os.environ.get("SKPD_DATA"))


def named(name):
    """(label, X, y) of a data set, or of generated data ``like`` it."""
    if is_at_hand():
        return name, *load(name)
    return f"like {name}", *_generated(name)


def _generated(name):
    """Rows with a few ones each, and labels of a linear model with noise, a quarter positive."""
    (n, d), rng = SHAPES[name], np.random.default_rng(0)
    if name == "reuters":  # words of decreasing frequency, in rows of length 1
        columns = np.minimum(rng.zipf(1.3, size=(n, WORDS)) - 1, d - 1)
        values = np.full(columns.shape, 1.0 / np.sqrt(WORDS))
    else:
        ends = np.linspace(0, d, ATTRIBUTES + 1).astype(int)
        columns = np.stack([
            low + np.minimum(rng.geometric(0.35, size=n) - 1, high - low - 1)
            for low, high in pairwise(ends)
        ], axis=1)  # fmt: skip
        values = np.ones(columns.shape)
    rows = np.repeat(np.arange(n), columns.shape[1])
    X = sp.csr_array((values.ravel(), (rows, columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    score = X @ rng.normal(size=d)
    score += 0.5 * np.std(score) * rng.normal(size=n)
    return X, np.where(score > np.quantile(score, 0.76), 1.0, -1.0)


def noisy_features(n=1000, d=100):
    """Labels sign(w.(x + noise)), as the text of the paper has them."""
    rng = np.random.default_rng(0)
    X, coef = rng.normal(size=(n, d)), rng.normal(size=d)
    return X, np.where((X + 0.5 * rng.normal(size=(n, d))) @ coef > 0, 1.0, -1.0)


def noisy_scores(n=1000, d=30):
    """Labels sign(w.x + noise), as the script for figure 1 (a) has them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def like_ijcnn1():
    """49,990 rows of 22 features, a tenth of them positive: a one-hot digit and a random walk."""
    rng = np.random.default_rng(0)
    n = 49_990
    digit = np.eye(10)[rng.integers(10, size=n)]
    walk = 0.08 * np.cumsum(rng.normal(size=(n, 12)), axis=1)
    score = 8.0 * np.abs(walk[:, 5] * walk[:, 8]) + walk[:, :4].sum(axis=1)
    score += digit @ rng.normal(scale=0.3, size=10) + 0.3 * rng.normal(size=n)
    return np.hstack([digit, walk]), np.where(score > np.quantile(score, 0.903), 1.0, -1.0)

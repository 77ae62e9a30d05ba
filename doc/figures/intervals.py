"""Two kinds of intervals of coefficients, and how many targets intervals of quantiles hold."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from skpd import ElasticNetPD, QuantilePD

ROWS = (50, 100, 200, 500, 1000, 2000)


@cache
def coefficients():
    """Names, proven intervals, and 90 % of the coefficients of bootstrap samples."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X, y, names = StandardScaler().fit_transform(X), y.to_numpy(), list(X.columns)
    model = ElasticNetPD(alpha=1.0, l1_ratio=0.9, tol=1e-8)
    proven = model.fit(X, y).certificate_.coefficient_bounds
    rng = np.random.default_rng(0)
    samples = [rng.integers(len(y), size=len(y)) for _ in range(200)]
    boot = np.quantile([model.fit(X[k], y[k]).coef_ for k in samples], [0.05, 0.95], axis=0)
    return names, proven, boot.T


def sample(n, rng):
    """Ten features; the third decides how widely the target is spread."""
    X = rng.normal(size=(n, 10))
    return X, 2 * X[:, 0] - X[:, 1] + (0.5 + np.abs(X[:, 2])) * rng.normal(size=n)


@cache
def coverages():
    """The mean share of new targets in intervals for 90 %, plain and widened by held-out rows."""
    found = []
    for n in ROWS:
        for seed in range(8):
            rng = np.random.default_rng(seed)
            (X, y), (X_new, y_new) = sample(n, rng), sample(4000, rng)
            plain = QuantilePD([0.05, 0.95], alpha=1e-3).fit(X, y).predict(X_new)
            half = n // 2
            model = QuantilePD([0.05, 0.95], alpha=1e-3).fit(X[:half], y[:half])
            low, high = model.predict(X[half:]).T
            outside = np.sort(np.maximum(low - y[half:], y[half:] - high))
            extra = outside[min(int(np.ceil(0.9 * (n - half + 1))), n - half) - 1]
            wide = np.add(model.predict(X_new), [-extra, extra])
            for low, high in (plain.T, wide.T):
                found.append(np.mean((low <= y_new) & (y_new <= high)))
    return np.reshape(found, (len(ROWS), 8, 2)).mean(axis=1).T


def draw(palette):
    """Coefficients on the left, coverage on the right."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.9), layout="constrained")
    names, proven, boot = coefficients()
    places = np.arange(len(names))
    left.hlines(places, *boot.T, color=palette.upper, linewidth=7.0, alpha=0.5,
                label="90 % of 200 bootstrap fits")  # fmt: skip
    left.plot(proven.mean(axis=1), places, "|", color=palette.lower, markersize=12,
              markeredgewidth=2.5, label="proven interval of the optimum")  # fmt: skip
    left.set_yticks(places, names)
    left.axvline(0.0, color=palette.muted, linewidth=0.8)
    left.set(xlabel="coefficient (progression per standard deviation)", ylim=(12.2, -0.8))
    left.legend(loc="lower center", fontsize=9.5, ncols=1)
    plain, wide = coverages()
    right.axhline(0.9, color=palette.muted, linewidth=0.8, linestyle=":")
    right.plot(ROWS, wide, "s-", color=palette.lower, label="widened by held-out rows")
    right.plot(ROWS, plain, "o-", color=palette.upper, label="quantiles alone")
    right.set(xscale="log", xlabel="rows, for ten features", ylim=(0.6, 1.0))
    right.set_xticks(ROWS, ROWS)
    right.minorticks_off()
    right.set(ylabel="share of new targets in the interval")
    right.legend(loc="lower right")
    return figure

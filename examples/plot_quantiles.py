r"""
Quantile intervals that do not cross
====================================

Two quantiles make an interval: nine in ten targets are to lie between the
quantiles of 0.05 and 0.95. Quantiles that are fitted one by one cross where
samples are few: a bound for 95 % of the targets ends up below one for 75 % of
them. :class:`skpd.QuantilePD` fits all quantiles at once, in order on every
training sample, and one certificate says how far the result is from the best
model in order.
"""

# %%
# Data
# ----
# A target whose spread grows with the feature, and 25 samples of it.

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from skpd import PdproxRegressor, QuantilePD
from skpd.losses import Pinball

rng = np.random.default_rng(2)
quantiles = np.array([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95])
alpha = 1e-3


def sample(n):
    x = np.sort(rng.uniform(0.0, 1.0, n))
    return x[:, np.newaxis], 2.0 * x + (0.1 + x) * rng.normal(size=n)


X, y = sample(25)
X_test, y_test = sample(10_000)

# %%
# One by one, and together
# ------------------------
# Both minimise the sum of the pinball losses with the same penalty. On the
# training samples order costs a little of that sum, as there are fewer models to
# choose from; on others it need not.

alone = [PdproxRegressor(alpha, loss=Pinball(q)).fit(X, y) for q in quantiles]
together = QuantilePD(quantiles, alpha=alpha).fit(X, y)
lines = {
    "one by one": (
        np.array([m.coef_[0] for m in alone]),
        np.array([m.intercept_ for m in alone]),
    ),
    "together": (together.coef_[:, 0], together.intercept_),
}


def mean_loss(slopes, intercepts, X, y):
    above = y[:, np.newaxis] - (X * slopes + intercepts)
    return np.mean(
        np.sum(np.maximum(quantiles * above, (quantiles - 1.0) * above), axis=1)
    )


def crossings(slopes, intercepts):
    """Where lines of neighbouring quantiles meet among the samples."""
    found = []
    for (a, b), (c, d) in pairwise(zip(slopes, intercepts, strict=True)):
        x = (d - b) / (a - c) if a != c else np.inf
        if X.min() < x < X.max():
            found.append((x, a * x + b))
    return np.array(found).reshape(-1, 2)


for name, line in lines.items():
    here, elsewhere = mean_loss(*line, X, y), mean_loss(*line, X_test, y_test)
    print(f"{name}: {len(crossings(*line))} crossings")
    print(f"  pinball loss {here:.3f} in training, {elsewhere:.3f} on others")
print(f"relative gap of the latter: {together.relative_gap_:.1e}")

# %%
# How many targets the intervals hold
# -----------------------------------
# Of 10,000 other targets, here more than they are meant to: the outer quantiles
# of 25 samples rest on one or two of them. Order makes quantiles consistent, not
# more certain.

values = together.predict(X_test)
for k in range(3):
    inside = (values[:, k] <= y_test) & (y_test <= values[:, -1 - k])
    meant = quantiles[-1 - k] - quantiles[k]
    print(f"the interval for {meant:.0%} holds {inside.mean():.0%}")

# %%
# Where they cross
# ----------------
# Linear functions that are in order at the outermost samples are in order between
# them: with several features, in the convex hull of the training samples. Beyond
# it, here to the left of the first sample, nothing keeps them from crossing.

fig, axes = plt.subplots(
    1, 2, figsize=(8.5, 4), layout="constrained", sharey=True
)
ends = np.array([-0.05, X.max()])
titles = "One by one: {} crossings", "Together: {} crossings"
for ax, title, (slopes, intercepts) in zip(
    axes, titles, lines.values(), strict=True
):
    values = ends[:, np.newaxis] * slopes + intercepts
    for k, shade in ((0, 0.1), (1, 0.2), (2, 0.3)):
        below, above = values[:, k], values[:, -1 - k]
        ax.fill_between(
            ends, below, above, color="tab:blue", alpha=shade, linewidth=0.0
        )
    ax.plot(ends, values, color="tab:blue", linewidth=0.9)
    ax.plot(X[:, 0], y, "k.", markersize=4)
    found = crossings(slopes, intercepts)
    ax.plot(*found.T, "o", color="tab:red", fillstyle="none", label="crossing")
    ax.axvspan(
        ends[0],
        X.min(),
        color="gray",
        alpha=0.2,
        linewidth=0.0,
        label="no samples",
    )
    ax.set(xlabel="x", xlim=ends, title=title.format(len(found)))
axes[0].set(ylabel="y")
axes[0].legend(loc="upper left")
plt.show()

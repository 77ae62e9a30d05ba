"""
Intervals for costs, with a coverage that is proven
===================================================

Quantiles that a model predicts hold too few of the new targets where the model
is wrong. MAPIE widens them by what it measures on rows that the models have not
seen, so that a given share of new targets is inside. The costs are generated;
they are skewed, and grow with an exposure.
"""

import matplotlib.pyplot as plt
import numpy as np
from mapie.regression import ConformalizedQuantileRegressor
from sklearn.model_selection import train_test_split

from skpd import QuantilePD

rng, n = np.random.default_rng(0), 6000
X = rng.normal(size=(n, 20))
exposure = rng.uniform(0.1, 1.0, n)
spread = np.exp(0.5 * X[:, 1] + 0.6 * np.abs(X[:, 2]))
y = exposure * (5.0 + X[:, 0] + spread * rng.gamma(1.0, 2.0, n))
X = np.column_stack([X, exposure])
fitted, others = train_test_split(np.arange(n), train_size=400, random_state=0)
middle, test = train_test_split(others, train_size=1000, random_state=0)

# %%
# Three quantiles are fitted together, and each is passed on as a regressor of
# its own, in the order that MAPIE wants: lower, upper, median.

quantiles = QuantilePD((0.05, 0.5, 0.95), alpha=1e-3).fit(X[fitted], y[fitted])
regressors = [quantiles.regressor(q) for q in (0.05, 0.95, 0.5)]
conformal = ConformalizedQuantileRegressor(
    regressors, confidence_level=0.9, prefit=True
).conformalize(X[middle], y[middle])

low, _, high = quantiles.predict(X[test]).T
_, intervals = conformal.predict_interval(X[test])
widened = intervals[:, :, 0].T

# %%
# Coverage before and after, by exposure
# --------------------------------------
# The guarantee is for new rows as a whole: rows of one kind may have more or
# less.

fifth = np.digitize(exposure[test], [0.28, 0.46, 0.64, 0.82])
fig, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for name, (a, b) in {"quantiles": (low, high), "with MAPIE": widened}.items():
    held = 100 * ((a <= y[test]) & (y[test] <= b))
    axes.plot([held[fifth == k].mean() for k in range(5)], "o-", label=name)
    print(f"{name}: {held.mean():.1f} % inside, mean width {np.mean(b - a):.2f}")
axes.axhline(90, color="black", ls=":")
axes.set_xticks(range(5), ["0.10-0.28", "-0.46", "-0.64", "-0.82", "-1.00"])
axes.set(xlabel="exposure", ylabel="costs inside (%)", title="90 % were meant")
axes.legend()
plt.show()

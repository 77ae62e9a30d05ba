r"""
A classifier that optimises F1
==============================

A support vector machine minimises a mean over the samples. Where one sample in
seven is positive, it misses half of those; with balanced class weights it pays
for nearly all of them with false alarms. The F1 score balances both, and depends
on all labels at once. This example fits :class:`skpd.MetricSVC`, which
minimises a convex bound on one minus the F1 score, to generated data.
"""

# %%
# Data
# ----
# 15 % of the samples are positive, and their distribution overlaps with that of
# the others.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score, precision_score, recall_score

from skpd import MetricSVC, PdproxSVC

rng = np.random.default_rng(0)


def sample(n):
    y = rng.random(n) < 0.15
    X = rng.standard_normal((n, 2))
    X[y] += [1.5, 1.0]
    return X, y


X, y = sample(500)
X_test, y_test = sample(20_000)

# %%
# Three models
# ------------
# The loss is the largest, over all :math:`2^{500}` labelings, of one minus the F1
# score of the labeling plus the difference of its scores and those of the true
# labels. Sorting finds the largest one, and cutting planes converge to the
# optimum, with a certificate.

models = {
    "hinge loss": PdproxSVC(1e-3, penalty="l2"),
    "balanced": PdproxSVC(1e-3, penalty="l2", class_weight="balanced"),
    "F1": MetricSVC(1e-4, metric="f1"),
}
for name, model in models.items():
    found = model.fit(X, y).predict(X_test)
    scores = [s(y_test, found) for s in (precision_score, recall_score, f1_score)]
    values = "precision {:.2f}, recall {:.2f}, F1 {:.2f}".format(*scores)
    print(f"{name:12} {values}; relative gap {model.relative_gap_:.0e}")

# %%
# The boundaries
# --------------
# The boundary of the hinge loss leaves many positive samples on the negative
# side, and the boundary with balanced weights leaves many negative samples on the
# positive side.

figure, axes = plt.subplots(figsize=(6, 4.5))
axes.scatter(*X[~y].T, s=8, color="0.7", label="negative")
axes.scatter(*X[y].T, s=12, color="tab:red", label="positive")
x = np.linspace(-3.0, 5.0, 2)
for (name, model), style in zip(models.items(), (":", "--", "-"), strict=True):
    w, b = model.coef_[0], model.intercept_[0]
    axes.plot(x, -(w[0] * x + b) / w[1], style, color="black", label=name)
axes.set(
    xlim=(-3, 4.5), ylim=(-3, 4), xlabel="first feature", ylabel="second feature"
)
axes.legend(loc="lower left")
figure.tight_layout()
plt.show()

# %%
# On 20,000 other samples the F1 score is 0.57 with the hinge loss, 0.55 with
# balanced weights, and 0.62 with the bound on F1.

"""
Shifted features: what robustness buys
======================================

The distributionally robust SVM :class:`skpd.DRSVMClassifier` minimises the
largest mean hinge loss over all distributions near the training data. In this
example the features of the test points are shifted against the model, with
correct and with wrong training labels, and the model is compared with
``LinearSVC``. A second part shows the worst distribution.
"""

# %%
# Shifts against the model
# ------------------------
# Nothing of the robust model is tuned here, because ``epsilon`` has a unit: the
# standardised features may be off by 0.1 on average. A shift by up to
# :math:`\delta` turns the prediction of every test point whose margin is below
# :math:`\delta \|w\|_2`.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skpd import DRSVMClassifier

shifts = np.linspace(0.0, 1.0, 11)
svc = LinearSVC()
models = {
    "LinearSVC, C = 1": (svc, "k:"),
    "LinearSVC, C tuned": (
        GridSearchCV(svc, {"C": [1e-3, 1e-2, 0.1, 1.0]}, cv=3),
        "k--",
    ),
    "robust, kappa = 5": (DRSVMClassifier(epsilon=0.1, kappa=5.0), "C0-"),
    "robust, kappa = inf": (DRSVMClassifier(epsilon=0.1, kappa=np.inf), "C1-"),
}


def accuracies(model, X, y):
    """The share of points whose margins exceed each shift times the norm."""
    model = getattr(model, "best_estimator_", model)
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    return np.mean(
        margins[:, None] > shifts * np.linalg.norm(model.coef_), axis=0
    )


def trial(X, y, noise, seed):
    """Accuracies on a random half, where labels of the other half are flipped."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, random_state=seed, stratify=y
    )
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    flipped = np.random.default_rng(seed).random(len(y_train)) < noise
    y_train = np.where(flipped, 1 - y_train, y_train)
    return [
        accuracies(model.fit(X_train, y_train), X_test, y_test)
        for model, _ in models.values()
    ]


X, y = load_breast_cancer(return_X_y=True)
fig, axes = plt.subplots(
    1, 2, figsize=(8.5, 4), layout="constrained", sharey=True
)
for axis, noise in zip(axes, (0.0, 0.3), strict=True):
    means = 100 * np.mean([trial(X, y, noise, seed) for seed in range(4)], axis=0)
    for (name, (_, style)), mean in zip(models.items(), means, strict=True):
        axis.plot(shifts, mean, style, lw=2, label=name)
        print(f"{noise:.0%} flipped, {name}: {mean[0]:.1f} %, ", end="")
        print(f"shifted by 0.5: {mean[5]:.1f} %")
    axis.set(xlabel="shift of test points (standard deviations)")
    axis.set_title(
        f"{noise:.0%} of labels wrong: at a shift of 0.5\n"
        f"tuned {means[1, 5]:.0f} %, robust (inf) {means[3, 5]:.0f} %",
        fontsize="medium",
    )
axes[0].set(ylabel="accuracy (%)", ylim=(0, 102))
axes[0].legend(loc="lower left")
plt.show()

# %%
# With correct labels a tuned ``C`` stands shifts as well as the robust model with
# ``kappa=inf``, and better than the one with ``kappa=5``. With wrong labels the
# ``C`` that cross-validation chooses is good only without shifts, and the robust
# models are better with them.
#
# The worst case
# --------------
# `worst_case_distribution` is the distribution in the Wasserstein ball in which
# the loss of the fitted model is largest. Here a flipped label costs as much as a
# move by 4: it pays for a few points far inside their own class, and the rest of
# ``epsilon`` moves points near the boundary across it.

features = [20, 21]  # worst radius and worst texture
X = StandardScaler().fit_transform(X[:, features])
clf = DRSVMClassifier(epsilon=0.2, kappa=4.0, tol=1e-6).fit(X, y)
worst = clf.worst_case_distribution(X, y)
print(f"objective {clf.certificate_.primal:.6f}")
print(f"worst-case loss {clf.worst_case_loss(X, y):.6f}")
print(f"transport cost {worst.mass @ worst.cost:.3f} of epsilon = {clf.epsilon}")

fig, axes = plt.subplots(
    1, 2, figsize=(8.5, 4.2), layout="constrained", sharex=True, sharey=True
)
flipped = worst.y != y[worst.source]
sign = np.where(y == 1, 1, -1)
clf_loss = np.maximum(0, 1 - sign * clf.decision_function(X)).mean()
for axis, points, labels, title in (
    (axes[0], X, y, f"training data: mean loss {clf_loss:.2f}"),
    (
        axes[1],
        worst.X,
        worst.y,
        f"worst case: mean loss {clf.worst_case_loss(X, y):.2f}",
    ),
):
    axis.scatter(*points.T, c=labels, cmap="coolwarm", s=10, alpha=0.6)
    line = np.array([-2.3, 4.8])
    w, b = clf.coef_[0], clf.intercept_[0]
    axis.plot(line, -(w[0] * line + b) / w[1], "k-", lw=1)
    axis.set(
        title=title,
        xlabel="worst radius (standardised)",
        ylim=(-3, 4.5),
        xlim=line,
    )
axes[0].set_ylabel("worst texture (standardised)")
axes[1].scatter(
    *worst.X[flipped].T, facecolors="none", edgecolors="k", s=60, label="flipped"
)
axes[1].legend()
plt.show()

# %%
# With 30 % of the labels wrong and a shift of 0.5 the accuracy is 76 % with a
# tuned ``C`` and 86 % with the robust model and ``kappa=inf``. The loss under the
# worst distribution, 0.489251, is the objective of the robust model.

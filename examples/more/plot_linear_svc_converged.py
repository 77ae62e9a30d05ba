"""
Is your LinearSVC converged?
============================

``LinearSVC`` and ``SGDClassifier`` stop when a rule of their own holds, or after
``max_iter`` epochs. This example uses :func:`skpd.certify` to measure how far
their models are from the optimum, and what more iterations, standardised features
and a smaller ``tol`` change.
"""

# %%
# One model
# ---------
# A `LinearSVC` with the hinge loss is fitted to the raw features, and to the same
# features standardised. Both fits warn that they have not converged.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skpd import certify

raw, y = load_breast_cancer(return_X_y=True)
scaled = StandardScaler().fit_transform(raw)


def fit(model, X):
    """Fit a model, and say whether it warned that it has not converged."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(X, y)
    return any(issubclass(w.category, ConvergenceWarning) for w in caught)


for name, X in (("raw", raw), ("standardised", scaled)):
    clf = LinearSVC(loss="hinge", random_state=0)
    warned = fit(clf, X)
    certificate = certify(clf, X, y)
    print(f"{name} features: {'a' if warned else 'no'} ConvergenceWarning")
    print(
        f"  objective {certificate.primal:.9f}, at least {certificate.dual:.9f}"
    )
    print(f"  relative gap {certificate.relative_gap:.1e}")

# %%
# Both fits end with the same warning. The relative gap, the length of the
# interval as a share of what any model could improve on the best constant
# prediction, is 2.7e-5 on the standardised features, and 0.13 on the raw ones: an
# eighth of the possible improvement may still be missing.
#
# More iterations
# ---------------
# Filled dots are fits without a warning, hollow ones came with a
# ConvergenceWarning. On the raw features many more iterations hardly help
# `LinearSVC`. `SGDClassifier` stops early, far from the optimum and without a
# warning: its rule compares the loss of an epoch with the least one so far.

iterations = [10, 30, 100, 300, 1000, 3000]


def sweep(make, X):
    """Relative gaps and warnings, one for each number of iterations."""
    gaps, warned = [], []
    for max_iter in iterations:
        model = make(loss="hinge", max_iter=max_iter, random_state=0)
        warned.append(fit(model, X))
        gaps.append(certify(model, X, y).relative_gap)
    return np.array(gaps), np.array(warned)


fig, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
for make, colour in ((SGDClassifier, "tab:orange"), (LinearSVC, "tab:blue")):
    for name, X, style in (("raw", raw, "--"), ("standardised", scaled, "-")):
        gaps, warned = sweep(make, X)
        label = f"{make.__name__}, {name}"
        axes.loglog(iterations, gaps, style, color=colour, lw=2, label=label)
        for hollow in (False, True):
            chosen = np.flatnonzero(warned == hollow)
            axes.plot(
                np.take(iterations, chosen), gaps[chosen], "o", color=colour,
                markerfacecolor="white" if hollow else colour,
            )  # fmt: skip
axes.plot(
    [], [], "o", color="gray", markerfacecolor="white", label="with a warning"
)
axes.set(xlabel="max_iter (epochs)", ylabel="certified relative gap (no unit)")
axes.set(
    title="A fit without a warning need not be near the optimum",
    ylim=(1e-7, 1e10),
)
axes.legend(fontsize="small", loc="upper center", ncols=2)
plt.show()

# %%
# Without its rule `SGDClassifier` runs through all epochs and comes nearer to the
# optimum. A smaller ``tol`` alone changes nothing here, because five epochs
# without a new least loss end the fit whatever ``tol`` is.

for settings in ({"tol": 1e-3}, {"tol": 1e-7}, {"tol": None}):
    clf = SGDClassifier(max_iter=1000, random_state=0, **settings).fit(scaled, y)
    gap = certify(clf, scaled, y).relative_gap
    print(f"{settings}: {clf.n_iter_} epochs, relative gap {gap:.1e}")

# %%
# A smaller tolerance
# -------------------
# On standardised features `LinearSVC` improves with a smaller ``tol``, up to a
# point. liblinear sets aside samples whose multipliers seem final, and looks at
# them again once its stopping rule holds for the others (Hsieh et al., 2008,
# section 3.2). If ``tol`` is so small that rounding errors keep the rule from
# ever holding, the iterations run out while some of the samples are at the wrong
# value.

tols = 10.0 ** np.arange(-1, -14, -1)
fig, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for C, colour in ((0.1, "tab:green"), (1.0, "tab:blue")):
    gaps, warned = [], []
    for tol in tols:
        clf = LinearSVC(
            loss="hinge", C=C, tol=tol, max_iter=20_000, random_state=0
        )
        warned.append(fit(clf, scaled))
        gaps.append(certify(clf, scaled, y).relative_gap)
    # a gap of 0 is drawn at 1e-12
    gaps, warned = np.maximum(gaps, 1e-12), np.array(warned)
    axes.loglog(tols, gaps, "o-", color=colour, lw=2, label=f"C = {C:g}")
    axes.loglog(
        tols[warned], gaps[warned], "o", color=colour, markerfacecolor="white"
    )
axes.plot(
    [], [], "o", color="gray", markerfacecolor="white", label="with a warning"
)
axes.invert_xaxis()
axes.set(xlabel="tol of LinearSVC", ylabel="certified relative gap (no unit)")
axes.set_title("A smaller tolerance can leave a worse model")
axes.legend(loc="lower left")
plt.show()

# %%
# A gap of at most 1e-12 of the objective of the best constant counts as 0. With
# ``C=1`` that of `LinearSVC` is 0 at ``tol=1e-11``, and the relative gap is 7e-4
# at ``tol=1e-12``. With ``C=0.1`` it is 0 at both. The fits with the smallest
# ``tol`` warn in either case, and only the certificate distinguishes the two.

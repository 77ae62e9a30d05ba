"""
Is your LinearSVC converged?
============================

``LinearSVC`` and ``SGDClassifier`` stop when a rule of their own holds, or when
they have used up ``max_iter``. Neither says how good the model is then.
:func:`skpd.certify` does: it takes the fitted model and the data, and returns an
interval that holds the least value that the objective can have. Its length is
what the solver left.
"""

# %%
# One model
# ---------
# Here is a `LinearSVC` with the hinge loss, fitted to data in the units that they
# came in and to the same data with every feature standardised. Both warn that
# they have not converged.

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
# Both fits end with the same warning, but the second one is good to four digits
# and the first one to none. The relative gap is the length of the interval over
# the objective of the best constant prediction, so that it has no unit: 0.1 means
# that a tenth of what a constant achieves may still be to be gained.
#
# More iterations
# ---------------
# Filled dots are fits that did not complain, hollow ones came with a warning. On
# the raw features many more iterations hardly help `LinearSVC`, and standardised
# features do. `SGDClassifier` soon stops without a word, far from the optimum:
# its ``tol`` compares the loss of an epoch with the least one so far, and says
# nothing of the way that is left.

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
# Without its rule `SGDClassifier` does all epochs, each of which brings it
# nearer. A smaller ``tol`` alone changes nothing here, as five epochs without a
# new least loss end the fit whatever ``tol`` is.

for settings in ({"tol": 1e-3}, {"tol": 1e-7}, {"tol": None}):
    clf = SGDClassifier(max_iter=1000, random_state=0, **settings).fit(scaled, y)
    gap = certify(clf, scaled, y).relative_gap
    print(f"{settings}: {clf.n_iter_} epochs, relative gap {gap:.1e}")

# %%
# A smaller tolerance
# -------------------
# On standardised features `LinearSVC` gets better with a smaller ``tol``, up to a
# point. liblinear sets samples aside that seem settled, and looks at them again
# once its stopping rule holds for the others (Hsieh et al., 2008, section 3.2).
# Where ``tol`` is so small that rounding errors keep the rule from ever holding,
# that never happens: the iterations run out while some samples are settled
# wrongly, and the model is worse than one with a larger ``tol``.

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
    gaps, warned = np.array(gaps), np.array(warned)
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

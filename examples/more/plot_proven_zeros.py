"""
A path with proven zeros
========================

A coefficient may be 0 because the best model does not use the feature, or because
the solver stopped early. This example reads from certificates along a path which
coefficients are 0 in *every* optimal model, ``proven_zero``, and in which
interval each coefficient of an optimal model lies, ``coefficient_bounds``. Both
follow from the duality gap alone.
"""

# %%
# Two paths
# ---------
# An elastic net is fitted to 200 features, of which 15 have a part in the target,
# for 30 values of ``alpha``: once with a loose ``tol`` and once with a tight one.
# The data is generated. Each model of a path has a certificate of its own.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_regression

from skpd import ElasticNetPD, regularization_path

X, y = make_regression(
    n_samples=150, n_features=200, n_informative=15, noise=50.0, random_state=0
)
y = (y - y.mean()) / y.std()
paths = {
    tol: regularization_path(
        ElasticNetPD(l1_ratio=0.9, tol=tol), X, y, alphas=30, eps=0.03
    )
    for tol in (1e-2, 1e-8)
}


def proven(certificate):
    """How many coefficients are proven to be 0, and how many not to be."""
    low, high = certificate.coefficient_bounds.T
    return certificate.proven_zero.sum(), np.sum((low > 0) | (high < 0))


counts = {
    tol: np.array([proven(certificate) for certificate in found.certificates])
    for tol, found in paths.items()
}
for tol, count in counts.items():
    unknown = X.shape[1] - count.sum(axis=1)
    print(
        f"tol={tol:.0e}: {unknown.mean():.2f} of 200 features not decided (mean)"
    )

# %%
# What is proven along the path
# -----------------------------
# Each bar is a model. Where the gap is small, every feature is either proven to
# be out of the optimal model or proven to be in it. Where it is larger, a better
# solver might have used features whose coefficients are 0.

fig, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained", sharey=True)
for axis, (tol, count) in zip(axes, counts.items(), strict=True):
    out, used = count.T
    places = np.arange(len(out))
    axis.bar(places, used, 1.0, color="C0", label="proven to be in")
    axis.bar(places, 200 - out - used, 1.0, used, color="C1", label="not decided")
    axis.bar(places, out, 1.0, 200 - out, color="0.85", label="proven to be out")
    shown = places[::7]
    axis.set_xticks(shown, [f"{alpha:.2f}" for alpha in paths[tol].alphas[shown]])
    axis.set(
        xlabel="alpha", xlim=(-0.5, 29.5), ylim=(0, 200), title=f"tol = {tol:.0e}"
    )
axes[0].set_ylabel("features")
axes[0].legend(loc="upper left")
fig.suptitle("A small gap decides about nearly every feature")
plt.show()

# %%
# Intervals of coefficients
# -------------------------
# The intervals of the twelve largest coefficients for one ``alpha``, from three
# fits. Every optimal model has its coefficients inside of all of them.

alpha = paths[1e-8].alphas[15]
chosen = np.argsort(-np.abs(paths[1e-8].coefs[15]))[:12]
fig, axes = plt.subplots(figsize=(6.8, 4), layout="constrained")
options = {"average": False}  # the last iterate, which has exact zeros
model = ElasticNetPD(
    alpha, l1_ratio=0.9, solver="cd", solver_options=options, random_state=0
)
for tol, colour, width in ((1e-2, "0.8", 14), (1e-4, "C0", 8), (1e-8, "k", 2)):
    model.set_params(tol=tol).fit(X, y)
    low, high = model.certificate_.coefficient_bounds[chosen].T
    label = f"relative gap {model.relative_gap_:.0e}"
    axes.vlines(np.arange(12), low, high, colour, lw=width, label=label)
    print(f"{label}: {np.sum((low > 0) | (high < 0))} of 12 are not 0", end=", ")
    print(f"the widest interval is {np.max(high - low):.1e}")
axes.plot(np.arange(12), (low + high) / 2, "k_", ms=12)  # of the smallest gap
axes.axhline(0.0, color="black", lw=0.8)
axes.set_xticks(np.arange(12), chosen)
axes.set(xlabel="feature", ylabel="coefficient (standard deviations of y)")
axes.set_title("The smaller the gap, the narrower the intervals")
axes.legend()
plt.show()

# %%
# Along the loose path 32 of 200 features are undecided on average, along the
# tight one 0.07. For one ``alpha`` a relative gap of 6e-5 proves that 8 of 12
# coefficients are not 0, and a gap of 1e-9 that none of them is.

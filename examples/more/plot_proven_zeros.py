"""
A path with proven zeros
========================

A coefficient of 0 is there because the best model does not use the feature, or
because the solver stopped before it came to it. The certificate tells one from
the other. ``proven_zero`` are the coefficients that are 0 in *every* optimal
model, and ``coefficient_bounds`` has an interval for each coefficient that holds
it at every optimum. Both follow from the duality gap alone.
"""

# %%
# Two paths
# ---------
# An elastic net on 200 features, of which 15 have a part in the target, for 30
# values of ``alpha``: once with a loose ``tol`` and once with a tight one. Each
# model of a path has a certificate of its own.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_regression

from skpd import ElasticNetPD, path

X, y = make_regression(
    n_samples=150, n_features=200, n_informative=15, noise=50.0, random_state=0
)
y = (y - y.mean()) / y.std()
paths = {
    tol: path(ElasticNetPD(l1_ratio=0.9, tol=tol), X, y, alphas=30, eps=0.03)
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
# A column is a model. Where its gap is small, every feature is either proven to
# be out or proven to be in. Where it is not, zeros say little: a better solver
# might have used these features.

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
# Digits that are certain
# -----------------------
# The intervals of the twelve largest coefficients, at the model of the loose path
# whose gap is nearest to 1e-4. Every model that is optimal for this ``alpha``
# lies inside of them, and those of the tight path need no more than a dot.

gaps = np.array(
    [certificate.relative_gap for certificate in paths[1e-2].certificates]
)
place = np.argmin(np.abs(np.log(gaps / 1e-4)))
chosen = np.argsort(-np.abs(paths[1e-8].coefs[place]))[:12]
fig, axes = plt.subplots(figsize=(6.8, 4), layout="constrained")
for tol, found in paths.items():
    certificate = found.certificates[place]
    low, high = certificate.coefficient_bounds[chosen].T
    label = f"relative gap {certificate.relative_gap:.0e}"
    if tol == 1e-2:
        n_sure = np.sum((low > 0) | (high < 0))
        axes.vlines(
            np.arange(12), low, high, color="C1", lw=8, alpha=0.5, label=label
        )
    else:
        axes.plot(np.arange(12), (low + high) / 2, "o", color="C0", label=label)
        print(f"widest interval with {label}: {np.max(high - low):.1e}")
axes.axhline(0.0, color="black", lw=0.8)
axes.set_xticks(np.arange(12), chosen)
axes.set(xlabel="feature", ylabel="coefficient (standard deviations of y)")
axes.set_title(f"A gap of {gaps[place]:.0e} proves that {n_sure} of 12 are not 0")
axes.legend()
plt.show()

"""
Adaptive lasso, and features that are not penalised
===================================================

The lasso shrinks every coefficient by as much, the large ones that nobody doubts
as well. The adaptive lasso (Zou, 2006) gives each feature a weight of its own,
the inverse of a first estimate: what was large is hardly penalised, what was
small is more. And features that a model must adjust for, such as age or sex,
should often not be penalised at all: their weight is 0.
"""

# %%
# A first fit, and weights from it
# --------------------------------
# ``penalty_weights`` multiplies each feature's part of the penalty.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

from skpd import LassoPDCertified, PdproxSVC, path

rng = np.random.default_rng(0)
n, d = 200, 30
X = rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(n, 1))  # correlated features
true = np.zeros(d)
true[:5] = [4.0, -3.0, 2.0, 1.5, -1.0]
y = X @ true + 2.0 * rng.normal(size=n)

first = np.abs(RidgeCV().fit(X, y).coef_)
weights = first.mean() / first

# %%
# Two paths
# ---------
# Along the path of the adaptive lasso large coefficients reach their values
# early, and the others come late. The vertical line is where the coefficients are
# nearest to the true ones, which are dotted; the titles say how near, and how
# many features without a part in y are in the model there.

paths = {
    "lasso": path(LassoPDCertified(), X, y, alphas=50, eps=1e-3),
    "adaptive lasso": path(
        LassoPDCertified(penalty_weights=weights), X, y, alphas=50, eps=1e-3
    ),
}

figure, axes = plt.subplots(
    1, 2, figsize=(8.5, 4), layout="constrained", sharey=True
)
for axis, (name, found) in zip(axes, paths.items(), strict=True):
    errors = np.linalg.norm(found.coefs - true, axis=1)
    best = np.argmin(errors)
    wrong = np.count_nonzero(found.coefs[best, 5:])
    axis.semilogx(found.alphas, found.coefs[:, 5:], color="0.75", lw=0.8)
    for j in range(5):
        axis.semilogx(found.alphas, found.coefs[:, j], color=f"C{j}", lw=2)
        axis.axhline(true[j], color=f"C{j}", ls=":", lw=1)
    axis.axvline(found.alphas[best], color="black", lw=0.8)
    axis.invert_xaxis()
    title = f"{name}: error {errors[best]:.2f}, needless features: {wrong}"
    axis.set_title(title, fontsize="medium")
    axis.set_xlabel("alpha")
    print(f"{title} of 25; all models certified: {found.converged.all()}")
axes[0].set_ylabel("coefficient (units of y)")
plt.show()

# %%
# Features that are not penalised
# -------------------------------
# A weight of 0 leaves a feature free, whatever ``alpha`` is. The certificate then
# asks of its dual point that the feature is orthogonal to it, as it does for an
# intercept.

labels = np.where(y > 0.0, 1, -1)
free = np.ones(d)
free[[0, 29]] = 0.0
clf = PdproxSVC(alpha=0.1, penalty_weights=free).fit(X, labels)
print("coefficients that are not 0:", np.flatnonzero(clf.coef_[0]))
print(f"certified relative gap: {clf.certificate_.relative_gap:.1e}")

"""
Genomics: which pathways a disease is in
========================================

Expression of 4,000 genes in 200 patients: twenty times as many features as rows.
Genes act together in pathways, and the group lasso keeps or drops each pathway as
a whole; the certificate proves which ones no optimal model uses. The data is
generated: the disease depends on three of 100 pathways.
"""

import matplotlib.pyplot as plt
import numpy as np

from skpd import GroupLassoSVC, PathCV, PdproxSVC

rng, n, pathway = np.random.default_rng(0), 1200, np.arange(4000) // 40
activity = rng.normal(size=(n, 100))  # of the pathways
X = 0.5 * activity[:, pathway] + rng.normal(size=(n, 4000))
risk = activity[:, [7, 42, 77]] @ [2.0, -2.0, 2.0]
y = np.where(risk + rng.logistic(size=n) > 0, "ill", "healthy")
X, X_test, y, y_test = X[:200], X[200:], y[:200], y[200:]

models = {
    "group lasso": GroupLassoSVC(groups=pathway, loss="logistic", tol=1e-6),
    "l1 norm": PdproxSVC(loss="logistic", tol=1e-6),
}
fig, axes = plt.subplots(2, figsize=(7, 5), sharex=True, layout="constrained")
for axis, (name, model) in zip(axes, models.items(), strict=True):
    search = PathCV(model, alphas=20, eps=0.05).fit(X, y)
    best, accuracy = search.best_estimator_, search.score(X_test, y_test)
    proven = best.certificate_.proven_zero.reshape(100, 40).all(axis=1)
    norms = np.linalg.norm(best.coef_.reshape(100, 40), axis=1)
    axis.bar(np.arange(100), norms, width=1.5)
    axis.plot(np.flatnonzero(proven), 0 * norms[proven], "|", color="C1")
    found = f"{name}: {np.sum(~proven)} of 100 pathways"
    axis.set_title(f"{found}, accuracy {accuracy:.2f} on other patients")
axes[1].set_xlabel("pathway (orange: proven to be 0)")
fig.supylabel("norm of its coefficients")
plt.show()
# %%
# A zero of the fit and a proven zero
# -----------------------------------
# A solver that stops early also has coefficients of 0, but a better solver might
# use these genes. The smaller the duality gap, the more is proven.

for tol in (1e-1, 1e-2, 1e-4):
    svc = GroupLassoSVC(0.06, groups=pathway, loss="logistic", tol=tol).fit(X, y)
    zeros, proven = np.sum(svc.coef_ == 0), svc.certificate_.proven_zero.sum()
    print(f"relative gap {svc.relative_gap_:.0e}: {zeros} genes are 0", end=", ")
    print(f"and {proven} are proven to be 0")

# %%
# The group lasso kept the three pathways that the disease depends on, proved that
# the 97 others are 0 in every optimal model, and diagnosed 80 % of other patients
# correctly, where the l1 norm, which chooses single genes, reached 68 %. With
# three other seeds the group lasso kept the three pathways and up to eight more.

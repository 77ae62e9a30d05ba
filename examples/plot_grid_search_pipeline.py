"""
Choosing alpha in a pipeline
============================

skpd's estimators are ordinary scikit-learn estimators: here a group lasso SVM in a
pipeline, with ``alpha`` chosen by cross-validation. The ten quantities of the breast
cancer data each come as a mean, an error and a worst value, and the penalty selects
quantities, not columns.
"""

# %%
# Search
# ------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import GroupLassoSVC

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
groups = [[j, j + 10, j + 20] for j in range(10)]
alphas = np.geomspace(1e-3, 2e-1, 10)

model = make_pipeline(StandardScaler(), GroupLassoSVC(groups=groups, tol=1e-4))
search = GridSearchCV(
    model, {"grouplassosvc__alpha": alphas}, cv=StratifiedKFold(5, shuffle=True, random_state=0)
).fit(X, y)

best = search.best_estimator_[-1]
print(f"best alpha {best.alpha:.4f}, accuracy {search.best_score_:.3f}")
print(f"certified to a relative gap of {best.certificate_.relative_gap:.1e}")

# %%
# Look
# ----
# Left the cross-validated accuracy, right the norm of each quantity's three coefficients:
# as ``alpha`` grows, whole quantities leave the model. What is exactly zero is not drawn.

X_scaled = StandardScaler().fit_transform(X)
names = [name.removeprefix("mean ") for name in X.columns[:10]]
norms = np.array([
    [np.linalg.norm(fitted.coef_[0, group]) for group in groups]
    for fitted in (GroupLassoSVC(alpha, groups=groups).fit(X_scaled, y) for alpha in alphas)
])  # fmt: skip

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
mean, std = search.cv_results_["mean_test_score"], search.cv_results_["std_test_score"]
left.errorbar(alphas, mean, yerr=std / np.sqrt(5), marker="o", capsize=3)
left.axvline(best.alpha, color="black", linewidth=0.8, linestyle=":")
left.set(xscale="log", xlabel="alpha", ylabel="accuracy (5 folds, with standard errors)")
for name, curve, line in zip(names, norms.T, ["-", "--"] * 5, strict=True):
    right.plot(alphas, np.where(curve > 0, curve, np.nan), line, label=name, marker=".")
right.set(xscale="log", yscale="log", xlabel="alpha", ylabel="norm of the group")
right.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
plt.show()

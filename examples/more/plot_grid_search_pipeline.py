"""
A grid search with a progress bar
=================================

The estimators of skpd work in pipelines and grid searches, and report to scikit-
learn's callbacks. In this example a group lasso SVM selects quantities of the
breast-cancer data, each of which is there as a mean, a standard error and a worst
value; the search chooses how many, and a bar shows its progress. Callbacks need
scikit-learn 1.9.
"""

# %%
# A bar for the search
# --------------------
# The bar needs the package rich. With ``max_propagation_depth=0`` there is one
# bar for the whole search; by default each fit has one as well. In a terminal or
# a notebook the bars move, and on this page they are shown as they were in the
# end.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.callback import ProgressBar
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import GroupLassoSVC

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
quantities = [name.removeprefix("mean ") for name in X.columns[:10]]
alphas = np.geomspace(1e-3, 2e-1, 8)

model = make_pipeline(StandardScaler(), GroupLassoSVC(groups=quantities * 3))
search = GridSearchCV(
    model,
    {"grouplassosvc__alpha": alphas},
    cv=StratifiedKFold(5, shuffle=True, random_state=0),
)
search.set_callbacks(ProgressBar(max_propagation_depth=0)).fit(X, y)

best = search.best_estimator_[-1]
print(f"best alpha {best.alpha:.4f}, accuracy {search.best_score_:.3f}")
print(f"certified to a relative gap of {best.certificate_.relative_gap:.1e}")

# %%
# A bar for one fit
# -----------------
# The bar of a single fit fills as the gap falls, by ten steps for each factor of
# ten. With the default ``tol=1e-4`` it has 40 steps.

clf = GroupLassoSVC(1e-3, groups=quantities * 3).set_callbacks(ProgressBar())
clf.fit(StandardScaler().fit_transform(X), y)
print(f"relative gap {clf.relative_gap_:.1e}")

# %%
# What the search found
# ---------------------
# Above is the accuracy on the folds with its standard error. Below are the
# quantities in the model that is fitted to all data; white ones have coefficients
# of exactly 0.

mean = 100 * search.cv_results_["mean_test_score"]
error = 100 * search.cv_results_["std_test_score"] / np.sqrt(search.n_splits_ - 1)
norms = []
for alpha in alphas:
    coef = model.set_params(grouplassosvc__alpha=alpha).fit(X, y)[-1].coef_
    norms.append(np.linalg.norm(coef.reshape(3, 10), axis=0))
norms = np.array(norms).T
used = np.count_nonzero(norms, axis=0)
simple = np.flatnonzero(mean >= mean.max() - 2)[-1]

fig, (above, below) = plt.subplots(
    2, 1, figsize=(6.8, 6), layout="constrained", height_ratios=(2, 3)
)
places = np.arange(len(alphas))
above.errorbar(places, mean, yerr=error, marker="o", capsize=3)
above.set(
    ylabel="accuracy on folds (%)", xlim=(-0.5, len(alphas) - 0.5), xticks=[]
)
above.set_title(
    f"{used[simple]} of 10 quantities are within two points of the best"
)
for place, colour in ((mean.argmax(), "C1"), (simple, "C2")):
    label = f"{used[place]} quantities, {mean[place]:.1f} %"
    above.axvline(place, color=colour, linestyle=":", lw=2, label=label)
above.legend(loc="lower left")
image = below.pcolormesh(
    np.where(norms > 0, norms, np.nan), cmap="viridis_r", vmin=0
)
below.set_xticks(places + 0.5, [f"{alpha:.3f}" for alpha in alphas])
below.set_yticks(np.arange(10) + 0.5, quantities)
below.set(xlabel="alpha")
below.invert_yaxis()
fig.colorbar(image, ax=below, label="norm of its three coefficients")
plt.show()

# %%
# The best accuracy on the folds is 97.7 %, with all ten quantities. At a larger
# ``alpha`` six quantities are left, with 96.3 %.

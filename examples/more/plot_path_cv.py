"""
Choosing alpha along a path
===========================

How far diabetes has progressed in a year is predicted from ten measurements,
their squares and their products: 65 features for 442 patients. ``PathCV`` follows
the path of the lasso, a model for each ``alpha``, on every fold of a
cross-validation. This example compares the ``alpha`` of the best mean score with
the largest one whose score is within one standard error of it (Hastie, Tibshirani
and Friedman, *The elements of statistical learning*, section 7.10).
"""

# %%
# Two rules
# ---------
# The estimator may be a pipeline, whose first steps are fitted to the training
# samples of each fold alone. The score is the root mean squared error (RMSE) in
# units of the target, a measure of progression from 25 to 346.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skpd import LassoPDCertified, PathCV, regularization_path

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = make_pipeline(
    PolynomialFeatures(include_bias=False),
    StandardScaler(),
    LassoPDCertified(tol=1e-6),
)
settings = {
    "alphas": 40,
    "eps": 1e-2,
    "cv": 10,
    "scoring": "neg_root_mean_squared_error",
}
searches = {
    rule: PathCV(model, rule=rule, **settings).fit(X, y)
    for rule in ("best", "one_standard_error")
}
for rule, search in searches.items():
    lasso = search.best_estimator_[-1]
    print(
        f"{rule}: alpha = {search.alpha_:.2f}, {np.count_nonzero(lasso.coef_)} "
        f"features, RMSE {-search.best_score_:.1f}, certified to "
        f"{lasso.certificate_.relative_gap:.0e}"
    )

# %%
# The path and the scores
# -----------------------
# The left figure shows the path on all data, for the standardised features. The
# right one shows the error on the samples held out, with its standard error over
# the ten folds; the dashed line is one standard error above the least error.

found = regularization_path(model, X, y, alphas=searches["best"].alphas_)
print(repr(found).replace(", ", ",\n  "))

best, results = searches["best"].best_index_, searches["best"].cv_results_
error = -results["mean_test_score"]
width = results["std_test_score"] / np.sqrt(searches["best"].n_splits_ - 1)
counts = [
    np.count_nonzero(search.best_estimator_[-1].coef_)
    for search in searches.values()
]
names = model[:-1].fit(X).get_feature_names_out()

fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 4.2), layout="constrained")
found.plot(left, feature_names=names, n_named=7)
left.set(ylabel="coefficient (progression per standard deviation)")
left.set_title("Few of 65 features enter early", fontsize="medium")
left.legend(loc="lower right", fontsize="x-small", ncols=2)
right.plot(found.alphas, error, color="tab:blue")
right.fill_between(
    found.alphas, error - width, error + width, color="tab:blue", alpha=0.2
)
right.axhline(
    error[best] + width[best], color="black", linewidth=0.8, linestyle="--"
)
for (rule, search), count, colour in zip(
    searches.items(), counts, ("tab:orange", "tab:green"), strict=True
):
    label = f"{rule.replace('_', ' ')}: {count} features"
    right.plot(search.alpha_, -search.best_score_, "o", color=colour, label=label)
    for axis in (left, right):
        axis.axvline(search.alpha_, color=colour, linewidth=1.2, linestyle=":")
right.set(
    xscale="log",
    xlabel="alpha",
    ylabel="RMSE on samples held out (progression)",
)
right.set_title(
    f"{counts[1]} features are within one standard error of {counts[0]}",
    fontsize="medium",
)
right.legend(loc="upper left")
plt.show()

# %%
# The ``alpha`` of the best score keeps 16 of 65 features, with an RMSE of 54.0.
# The larger one keeps 9, with an RMSE of 55.6. Both models are certified to a
# relative gap of 0: their gap is at most 1e-12 of the objective of the constant.

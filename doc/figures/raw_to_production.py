"""The choice of alpha for a credit table, and what the chosen model reads."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skpd import GroupLassoSVC, PathCV, track_columns

ALPHAS = {"alphas": 20, "eps": 1e-2}


def credit_table(n=8000):
    """Three numbers with gaps and six categories, of which four columns matter."""
    rng, rare = np.random.default_rng(0), 1.0 / np.arange(1, 61) ** 1.5
    X = pd.DataFrame(rng.lognormal(size=(n, 3)), columns=["income", "debt", "age"])
    for name in ("job", "region", "product", "branch", "purpose", "source"):
        X[name] = rng.choice(60, n, p=rare / rare.sum()).astype("U2")
    risk = np.log(X["debt"] / X["income"]) + 2.0 * X["job"].isin(["1", "17"]) - X["age"] / 4
    y = np.where(risk + rng.logistic(size=n) > 1.0, "late", "paid")
    return X.mask(rng.random(X.shape) < 0.05), y


@cache
def measured():
    """The search, with the rule of one standard error."""
    table, label = credit_table()
    X, _, y, _ = train_test_split(table, label, stratify=label, random_state=0)
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    words = OneHotEncoder(min_frequency=50, handle_unknown="infrequent_if_exist")
    features = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
    )
    model = make_pipeline(track_columns(features), GroupLassoSVC(groups="auto", loss="logistic"))
    rule = {"scoring": "neg_log_loss", "rule": "one_standard_error"}
    return PathCV(model, **ALPHAS, **rule).fit(X, y)


def draw(palette):
    """The loss of the folds over alpha on the left, norms of columns on the right."""
    search = measured()
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
    results = search.cv_results_
    loss = -results["mean_test_score"]
    error = results["std_test_score"] / np.sqrt(search.n_splits_ - 1)
    best = int(np.argmin(loss))
    left.plot(search.alphas_, loss, color=palette.lower, linewidth=2.0)
    left.fill_between(search.alphas_, loss - error, loss + error, color=palette.band,
                      alpha=0.2, linewidth=0.0)  # fmt: skip
    left.plot(search.alphas_[best], loss[best], "o", color=palette.lower, label="least log loss")
    left.plot(search.alpha_, -search.best_score_, "s", color=palette.upper,
              label="one standard error")  # fmt: skip
    left.set(xscale="log", xlabel="alpha", ylabel="log loss of the folds")
    left.legend(loc="upper left")
    model = search.best_estimator_[-1]
    norms = pd.Series(model.coef_[0] ** 2, model.groups_).groupby(level=0).sum() ** 0.5
    norms = norms.sort_values()
    colours = [palette.upper if norm else palette.muted for norm in norms]
    right.barh(norms.index, norms, color=colours)
    for place, norm in enumerate(norms):
        if norm == 0.0:
            right.text(0.01, place, "left out", va="center", color=palette.muted)
    right.set(xlabel="norm of the coefficients of a column")
    return figure

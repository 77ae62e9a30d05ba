"""A path over alpha: how well its models predict, and how many features they use."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import PathCV, PdproxSVC, regularization_path

MODEL = make_pipeline(StandardScaler(), PdproxSVC(loss="logistic"))


def draw(palette):
    """The cross-validated score above the number of coefficients, over the same values."""
    X, y = load_breast_cancer(return_X_y=True)
    search = PathCV(MODEL, scoring="neg_log_loss", alphas=40).fit(X, y)
    simpler = PathCV(MODEL, scoring="neg_log_loss", alphas=40, rule="one_standard_error")
    choices = {'rule="best"': search, 'rule="one_standard_error"': simpler.fit(X, y)}
    alphas, results = search.alphas_, search.cv_results_
    scores = -results["mean_test_score"]
    splits = np.array([results[f"split{k}_test_score"] for k in range(search.n_splits_)])
    error = splits.std(axis=0, ddof=1) / np.sqrt(search.n_splits_)
    used = [
        int(np.sum(coef != 0.0)) for coef in regularization_path(MODEL, X, y, alphas=alphas).coefs
    ]
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(6.4, 4.8), layout="constrained", sharex=True
    )
    above.plot(alphas, scores, color=palette.lower, linewidth=2.0)
    above.fill_between(
        alphas, scores - error, scores + error, color=palette.band, alpha=0.15, linewidth=0.0
    )
    below.plot(alphas, used, color=palette.lower, linewidth=2.0, drawstyle="steps-mid")
    places = {'rule="best"': (6, "left"), 'rule="one_standard_error"': (-6, "right")}
    for name, found in choices.items():
        for axis, values in ((above, scores), (below, used)):
            axis.axvline(found.alpha_, color=palette.upper, linestyle="--", linewidth=1.2)
            axis.plot(found.alpha_, values[found.best_index_], "o", color=palette.upper)
        shift, side = places[name]
        above.annotate(
            name, (found.alpha_, 0.62), xytext=(shift, 0), textcoords="offset points", ha=side,
            color=palette.upper, fontsize=10,
        )  # fmt: skip
    above.set(xscale="log", xlim=(alphas[0], alphas[-1]), ylim=(0.0, 0.7))
    above.set_ylabel("held-out log loss")
    below.set(
        xlabel=r"alpha, from the largest of interest down", ylabel="features used", ylim=(0, 31)
    )
    return figure

"""Coefficients with names and proven intervals, and the sizes of groups of them."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import LogisticPD, coef_table


@cache
def measured():
    """A table with a row for each feature, of a fit with a loose tolerance."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    logistic = LogisticPD(alpha=0.02, penalty="elasticnet", l1_ratio=0.8, tol=1e-3)
    table = coef_table(make_pipeline(StandardScaler(), logistic).fit(X, y))
    names = {"optimum_from": "low", "optimum_to": "high", "proven_zero": "zero"}
    return table.drop(index="intercept").rename(columns=names)


def draw(palette):
    """Intervals of all features on the left, norms of measurements on the right."""
    table = measured()
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(8.6, 5.6), layout="constrained", width_ratios=(3, 2)
    )
    shown = table.sort_values("coef", key=np.abs)
    places = np.arange(len(shown))
    used = (shown["low"] > 0) | (shown["high"] < 0)
    for rows, colour, label in (
        (used, palette.lower, "proven to be in"),
        (~used & ~shown["zero"], palette.upper, "not decided"),
        (shown["zero"], palette.muted, "proven to be out"),
    ):
        some = shown[rows]
        left.hlines(places[rows], some["low"], some["high"], color=colour, linewidth=2.0)
        left.plot(some["coef"], places[rows], "o", color=colour, markersize=4.5, label=label)
    left.set_yticks(places, shown.index, fontsize=8)
    left.axvline(0.0, color=palette.muted, linewidth=0.8)
    left.set(xlabel="coefficient per standard deviation", ylim=(-0.8, len(shown) - 0.2))
    left.legend(loc="lower left", fontsize=9.5)

    measurement = shown.index.str.replace(r"^(mean|worst) | error$", "", regex=True)
    norms = (shown["coef"] ** 2).groupby(measurement).sum() ** 0.5
    norms = norms.sort_values()
    right.barh(norms.index, norms, color=palette.lower)
    right.set(xlabel="norm of mean, error and worst")
    return figure

"""Certified gaps of published algorithms and of the default, iteration by iteration."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, make_regression
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from skpd import ElasticNetPD, PdproxSVC


def _relative_gaps(model, X, y):
    """Iterations and certified relative gaps of a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    history, last = model.gap_history_, model.certificate_
    return np.maximum(history["n_iter"], 1), history["gap"] * (last.relative_gap / last.gap)


def draw(palette):
    """An l1 support vector machine on the left, an elastic net on the right."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(7.0, 3.8), layout="constrained", sharey=True
    )
    looks = [
        (palette.upper, "-"), (palette.lower, "-"), (palette.lower, "--"), (palette.muted, "-"),
    ]  # fmt: skip
    common = {"tol": 1e-6, "random_state": 0}
    regression = make_regression(200, 400, n_informative=20, noise=10.0, random_state=0)
    panels = [
        (left, load_breast_cancer(return_X_y=True), ["auto", "pdprox-dual"],
         PdproxSVC(alpha=0.01, max_iter=5000, **common), "hinge loss, l1 norm"),
        (right, regression, ["auto", "agm", "cd", "approx"],
         ElasticNetPD(alpha=5.0, l1_ratio=0.9, **common), "elastic net"),
    ]  # fmt: skip
    for axes, (X, y), solvers, model, title in panels:
        X = StandardScaler().fit_transform(X)
        for solver, (colour, style) in zip(solvers, looks, strict=False):
            steps, gaps = _relative_gaps(model.set_params(solver=solver), X, y)
            axes.loglog(steps, gaps, style, color=colour, linewidth=2, label=f'"{solver}"')
            axes.plot(steps[-1], gaps[-1], "o", color=colour, markersize=4)
        axes.set(title=title, xlabel="iterations", ylim=(1e-7, 2.0))
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize=10)
    left.set_ylabel("certified relative gap")
    return figure

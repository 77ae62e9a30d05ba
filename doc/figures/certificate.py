"""What a certificate is: an interval that shrinks around the best value anyone could reach."""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from skpd import PdproxSVC


def draw(palette):
    """The certificates of the first example of README.md, while it is fitted."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = PdproxSVC(alpha=0.01, penalty="l1", loss="hinge").fit(X, y)
    history = model.gap_history_
    steps = history["n_iter"]
    figure, axes = plt.subplots(figsize=(6.4, 3.4))
    shape = {"linewidth": 2.0, "marker": "o", "markersize": 5.0}
    axes.plot(steps, history["primal"], color=palette.upper, **shape)
    axes.plot(steps, history["dual"], color=palette.lower, **shape)
    axes.fill_between(
        steps, history["dual"], history["primal"], color=palette.band, alpha=0.15, linewidth=0.0
    )
    best = history["primal"][-1]
    axes.set(xlim=(0.0, steps[-1] + 0.3), ylim=(0.0, 2.6 * best))
    axes.set(xlabel="iterations of the solver", ylabel="objective value")
    axes.locator_params(axis="y", nbins=5)
    share = {"transform": axes.transAxes}
    axes.text(0.39, 0.5, "objective of the model so far", color=palette.upper, **share)
    axes.text(0.47, 0.13, "lower bound for every model", color=palette.lower, **share)
    axes.text(0.03, 0.93, "the best\npossible\nvalue is\nin here", va="top", **share)
    gap = f"{model.certificate_.gap:.2g}"
    end = f"the model is at most {float(gap):f}\nabove the best possible value"
    axes.annotate(
        end, (steps[-1], best), (0.98, 0.95), textcoords="axes fraction",
        ha="right", va="top", color=palette.text,
        arrowprops={"arrowstyle": "->", "color": palette.text, "shrinkB": 5.0},
    )  # fmt: skip
    return figure

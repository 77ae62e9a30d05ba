"""What a certificate is: an interval that shrinks around the best value anyone could reach."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from skpd import PdproxSVC


def draw(palette):
    """The intervals of a slow method, whose progress can be seen."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = PdproxSVC(alpha=0.01, solver="pdprox-dual", tol=1e-3, random_state=0).fit(X, y)
    history = model.gap_history_[1:]
    steps = np.maximum(history["n_iter"], 1)
    figure, axes = plt.subplots(figsize=(6.4, 3.4))
    shape = {"drawstyle": "steps-post", "linewidth": 2.0}
    axes.plot(steps, history["primal"], color=palette.upper, **shape)
    axes.plot(steps, history["dual"], color=palette.lower, **shape)
    axes.fill_between(
        steps, history["dual"], history["primal"], step="post", color=palette.band, alpha=0.15,
        linewidth=0.0,
    )  # fmt: skip
    best = 0.5 * (history["primal"][-1] + history["dual"][-1])
    axes.set(xscale="log", xlim=(steps[0], steps[-1] * 1.05), ylim=(0.0, 2.6 * best))
    axes.set(xlabel="iterations", ylabel="objective value")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.minorticks_off()
    axes.set_yticks([0.0, 0.1, 0.2, 0.3])
    share = {"transform": axes.transAxes}
    axes.text(0.48, 0.57, "objective of the model so far", color=palette.upper, **share)
    axes.text(0.49, 0.1, "lower bound for every model", color=palette.lower, **share)
    reached = str(model.certificate_).split("%")[0]
    end = f"{reached}% of what any\nmodel could improve on a constant"
    axes.text(0.97, 0.93, end, color=palette.text, va="top", ha="right", **share)
    where = "the best\npossible value\nis in here"
    axes.text(0.04, 0.45, where, color=palette.text, va="center", **share)
    return figure

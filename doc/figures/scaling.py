"""Which features an l1 penalty chooses, with and without a scaler before it."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from skpd import PdproxSVC


def draw(palette):
    """What each feature adds to the decision values over the standard deviation of the feature."""
    X, y = load_breast_cancer(return_X_y=True)
    spread = X.std(axis=0)
    figure, axes = plt.subplots(
        1, 2, figsize=(7.0, 3.3), layout="constrained", sharex=True, sharey=True
    )
    cases = {"without a scaler": X, "with StandardScaler": StandardScaler().fit_transform(X)}
    for axis, (title, features) in zip(axes, cases.items(), strict=True):
        coef = PdproxSVC(alpha=0.02).fit(features, y).coef_[0]
        effect = np.abs(coef) * features.std(axis=0)
        used = coef != 0.0
        axis.plot(spread[~used], effect[~used], "o", color=palette.muted, markersize=5,
                  markerfacecolor="none", label="coefficient 0", clip_on=False)  # fmt: skip
        axis.vlines(spread[used], 0.0, effect[used], color=palette.lower, linewidth=1.2)
        axis.plot(spread[used], effect[used], "o", color=palette.lower, markersize=6,
                  label="used", clip_on=False)  # fmt: skip
        axis.set(xscale="log", title=title)
        axis.set_ylim(bottom=0.0)
    axes[0].set_ylabel(r"|coefficient| $\times$ standard deviation")
    axes[1].legend(loc="upper right", fontsize=10)
    figure.supxlabel("standard deviation of the feature, in its own unit", fontsize=11)
    return figure

"""What an error costs: the losses of margins and of residuals."""

import matplotlib.pyplot as plt
import numpy as np

from skpd.losses import (
    Absolute,
    EpsilonInsensitive,
    GeneralizedHinge,
    Hinge,
    Huber,
    Logistic,
    ModifiedHuber,
    Pinball,
    SmoothedHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

MARGINS, RESIDUALS = (-2.6, 2.2), (-3.0, 3.0)


def draw(palette):
    """Losses of classifiers on the left, of regressors on the right, each with its name."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.0, 3.8), layout="constrained")
    m = np.linspace(*MARGINS, 441)
    classifiers = {
        "hinge": (Hinge(), palette.upper, "-"),
        "smoothed_hinge": (SmoothedHinge(), palette.upper, "--"),
        "logistic": (Logistic(), palette.lower, "-"),
        "squared_hinge": (SquaredHinge(), palette.muted, "-"),
        "modified_huber": (ModifiedHuber(), palette.lower, "--"),
        "generalized_hinge": (GeneralizedHinge(slope=2.0), palette.muted, ":"),
    }
    for name, (loss, colour, style) in classifiers.items():
        left.plot(m, loss.value(np.ones_like(m), m), style, color=colour, linewidth=2, label=name)
    left.set(xlim=MARGINS, ylim=(0.0, 10.0), xlabel="margin $m = y z$", ylabel="loss of a row")
    left.set_title("classifiers")
    r = np.linspace(*RESIDUALS, 521)
    regressors = {
        "squared": (Squared(), palette.muted, "-"),
        "huber": (Huber(delta=1.0), palette.lower, "-"),
        "absolute": (Absolute(), palette.upper, "-"),
        "epsilon_insensitive": (EpsilonInsensitive(epsilon=1.0), palette.upper, "--"),
        "squared_epsilon_insensitive": (
            SquaredEpsilonInsensitive(epsilon=1.0),
            palette.muted,
            "--",
        ),
        "pinball": (Pinball(quantile=0.8), palette.lower, ":"),
    }
    for name, (loss, colour, style) in regressors.items():
        right.plot(
            r, loss.value(np.zeros_like(r), r), style, color=colour, linewidth=2, label=name
        )
    right.set(xlim=RESIDUALS, ylim=(0.0, 4.2), xlabel="residual $r = z - y$")
    right.set_title("regressors")
    for axes in (left, right):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize=8.5)
    return figure

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
    """Losses of classifiers above, of regressors below, each with its name."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(4.8, 7.4), layout="constrained")
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
        above.plot(m, loss.value(np.ones_like(m), m), style, color=colour, linewidth=2, label=name)
    above.set(xlim=MARGINS, ylim=(0.0, 10.0), xlabel="margin $m = y z$", ylabel="loss of a row")
    above.set_title("classifiers")
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
        below.plot(
            r, loss.value(np.zeros_like(r), r), style, color=colour, linewidth=2, label=name
        )
    below.set(
        xlim=RESIDUALS, ylim=(0.0, 4.2), xlabel="residual $r = z - y$", ylabel="loss of a row"
    )
    below.set_title("regressors")
    for axes in (above, below):
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize=8.5)
    return figure

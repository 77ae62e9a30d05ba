"""Whether a robust SVM with chosen epsilon and kappa predicts better than tuned other models."""

import matplotlib.pyplot as plt
import numpy as np

# Printed by `python -m benchmarks robust_choice`, with the a9a data: the difference in the test
# accuracy, in percentage points, and its standard error
OTHERS = (
    "hinge loss,\nsquared l2 norm",
    "logistic loss,\nsquared l2 norm",
    "hinge loss,\nl1 norm",
)
DIFFERENCES = {
    "half of the rows": ((0.24, 0.18), (-0.07, 0.17), (0.53, 0.25)),
    "200 rows": ((-0.05, 0.11), (-0.11, 0.22), (0.27, 0.29)),
    "50 rows": ((-0.14, 0.17), (-0.11, 0.27), (1.68, 0.33)),
    "10 % wrong labels": ((0.06, 0.15), (0.41, 0.22), (0.63, 0.21)),
    "20 % wrong labels": ((-0.14, 0.20), (0.47, 0.35), (1.51, 0.28)),
    "30 % wrong labels": ((-0.31, 0.94), (0.32, 0.93), (3.39, 1.14)),
    "200 rows, 20 % wrong": ((0.00, 0.31), (0.26, 0.32), (0.55, 0.38)),
    "50 rows, 20 % wrong": ((-0.33, 0.97), (0.43, 1.13), (2.77, 1.13)),
    "noisy test features": ((0.04, 0.16), (-0.38, 0.31), (3.55, 0.31)),
    "drifting test features": ((-0.03, 0.27), (-0.25, 0.32), (1.66, 0.49)),
    "worst-case shifts": ((-0.34, 0.20), (0.04, 0.72), (3.45, 0.32)),
}


def draw(palette):
    """Differences with two standard errors to either side, a panel for each other model."""
    figure, panels = plt.subplots(1, 3, figsize=(7.2, 4.4), sharey=True, layout="constrained")
    places = -np.arange(len(DIFFERENCES))
    values = np.array(list(DIFFERENCES.values()))
    colors = (palette.lower, palette.muted, palette.upper)
    for k, (axes, name, color) in enumerate(zip(panels, OTHERS, colors, strict=True)):
        axes.axvline(0.0, color=palette.text, linewidth=1.0)
        axes.errorbar(
            values[:, k, 0], places, xerr=2.0 * values[:, k, 1], fmt="o", color=color,
            markersize=5, elinewidth=1.8,
        )  # fmt: skip
        axes.set_title(name, fontsize=10.5)
        axes.set(xlim=(-3.0, 6.0), xticks=(-2, 0, 2, 4, 6))
        for gap in (-2.5, -7.5):
            axes.axhline(gap, color=palette.muted, linewidth=0.6, linestyle=":")
    panels[0].set_yticks(places, DIFFERENCES)
    figure.suptitle("compared with", fontsize=11)
    figure.supxlabel("accuracy of the robust SVM less that of the other model (points)", size=11)
    return figure

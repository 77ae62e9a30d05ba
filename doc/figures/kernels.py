"""Decision boundaries of a linear model and of a kernel machine."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from skpd import KernelPdproxSVC, PdproxSVC


def draw(palette):
    """Two half moons; rows with a loss, or at a margin of 1, are filled."""
    X, y = make_moons(200, noise=0.2, random_state=0)
    models = {"linear": PdproxSVC(alpha=0.01, penalty="l2"),
              "Gaussian kernel": KernelPdproxSVC(alpha=0.01)}  # fmt: skip
    figure, panels = plt.subplots(
        1, 2, figsize=(7.0, 3.2), layout="constrained", sharex=True, sharey=True
    )
    across, up = np.meshgrid(np.linspace(-1.7, 2.7, 150), np.linspace(-1.3, 1.8, 120))
    grid = np.column_stack([across.ravel(), up.ravel()])
    for axes, (title, model) in zip(panels, models.items(), strict=True):
        values = model.fit(X, y).decision_function(grid).reshape(across.shape)
        axes.contourf(across, up, values, levels=[-1e9, 0.0, 1e9], alpha=0.12,
                      colors=[palette.lower, palette.upper])  # fmt: skip
        axes.contour(across, up, values, levels=[-1.0, 0.0, 1.0], colors=palette.text,
                     linestyles=["dotted", "solid", "dotted"], linewidths=1.3)  # fmt: skip
        kept = (2 * y - 1) * model.decision_function(X) <= 1.0 + 1e-6
        for label, marker, colour in ((0, "o", palette.lower), (1, "^", palette.upper)):
            rows = y == label
            axes.plot(*X[rows & kept].T, marker, color=colour, markersize=4.5)
            axes.plot(*X[rows & ~kept].T, marker, color=colour, markersize=4.5,
                      markerfacecolor="none", alpha=0.7)  # fmt: skip
        axes.set_title(f"{title}: {model.score(X, y):.0%} of these rows right", fontsize=11)
        axes.set(xticks=[], yticks=[])
    return figure

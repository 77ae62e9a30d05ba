"""Rows that are proven to have no part in the optimal SVM, for two sizes of the gap."""

import matplotlib.pyplot as plt
import numpy as np

from skpd import PdproxSVC


def draw(palette):
    """Two classes of points in the plane, with the line of the model and its margins."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(-1.0, 1.0, (150, 2)), rng.normal(1.0, 1.0, (150, 2))])
    y = np.repeat([0, 1], 150)
    figure, panels = plt.subplots(
        1, 2, figsize=(7.6, 3.8), layout="constrained", sharex=True, sharey=True
    )
    grid = np.linspace(-4.5, 4.5, 2)
    for axes, tol in zip(panels, (1e-3, 1e-7), strict=True):
        model = PdproxSVC(alpha=0.05, penalty="l2", tol=tol).fit(X, y)
        certificate = model.certificate_
        inactive = certificate.proven_inactive_rows
        (w, v), b = model.coef_[0], model.intercept_[0]
        for level, style in ((0.0, "-"), (-1.0, "--"), (1.0, "--")):
            axes.plot(grid, (level - b - w * grid) / v, style, color=palette.muted, linewidth=1)
        for label, color in ((0, palette.lower), (1, palette.upper)):
            for some, alpha in ((inactive, 0.2), (~inactive, 1.0)):
                rows = some & (y == label)
                axes.plot(*X[rows].T, "o", color=color, alpha=alpha, markersize=4,
                          markeredgewidth=0)  # fmt: skip
        axes.set_title(
            f"relative gap {certificate.relative_gap:.0e}: {inactive.sum()} of 300 rows",
            fontsize=11,
        )
        axes.set(xlim=(-4.2, 4.2), ylim=(-4.2, 4.2), aspect="equal", xlabel="first feature")
    panels[0].set_ylabel("second feature")
    return figure

"""What the models of a path prove at the alphas between their own."""

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from skpd import LassoPDCertified, regularization_path

CERTIFIED = 0.01
BETWEEN = np.geomspace(0.6, 0.006, 2000)


def least_gaps(found, X, y):
    """The least gap of all models of a lasso path at many alphas, over the constant's value.

    The dual point of a model is a multiple t of its residuals r, with the dual objective
    t r.y / n - t^2 |r|^2 / 2n, and t at most alpha n / max |X'r|.
    """
    n = len(y)
    gaps = []
    for coef, intercept in zip(found.coefs, found.intercepts, strict=True):
        r = y - X @ coef - intercept
        r = r - r.mean()  # the intercept is free
        t = np.minimum(r @ y / (r @ r), BETWEEN * n / np.max(np.abs(X.T @ r)))
        dual = (t * (r @ y) - 0.5 * t**2 * (r @ r)) / n
        gaps.append(0.5 * (r @ r) / n + BETWEEN * np.abs(coef).sum() - dual)
    return np.min(gaps, axis=0) / (0.5 * np.var(y))


@cache
def measured():
    X, y = load_diabetes(return_X_y=True)
    X, y = scale(X), scale(y)
    model, ends = LassoPDCertified(tol=1e-6), [BETWEEN[0], BETWEEN[-1]]
    certified = regularization_path(model, X, y, alphas=ends, certified=CERTIFIED)
    grid = regularization_path(model, X, y, alphas=np.geomspace(*ends, len(certified.alphas)))
    paths = {"certified path": certified, "equal ratios": grid}
    return {name: (found, least_gaps(found, X, y)) for name, found in paths.items()}


def draw(palette):
    """The gaps over alpha for a certified path and for a grid of as many alphas."""
    figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    colors = palette.upper, palette.lower
    for (name, (found, gaps)), color in zip(reversed(measured().items()), colors, strict=True):
        label = f"{name}, {len(found.alphas)} models"
        axes.plot(BETWEEN, gaps, color=color, label=label)
    axes.axhline(CERTIFIED, color=palette.muted, linestyle="--", label="certified for all alphas")
    axes.set(
        xscale="log",
        xlabel="alpha",
        ylabel="least gap of a model, as a share\nof the constant's objective",
    )
    axes.set_ylim(bottom=0.0)
    axes.legend(loc="upper left")
    return figure

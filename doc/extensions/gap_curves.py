"""Curves of gaps over iterations, which several figures show."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning


def history_of(model, X, y):
    """The history of a fit, and the objective value of the best constant, with which it begins."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        history = model.fit(X, y).gap_history_
    return history, history["primal"][0]


def relative_gaps(model, X, y):
    """Iterations and certified relative gaps of a fit."""
    history, constant = history_of(model, X, y)
    return np.maximum(history["n_iter"], 1), history["gap"] / (constant - history["dual"])


def relative_gaps_of_iterates(model, X, y):
    """Iterations and relative gaps of the recorded iterates themselves, not of the best so far."""
    history, constant = history_of(model, X, y)
    primal, dual = history["iterate_primal"], history["iterate_dual"]
    return history["n_iter"], (primal - dual) / (constant - dual)


def excesses(model, X, y, optimum):
    """Iterations and the excess of recorded iterates, as a share of the best constant's value."""
    history, constant = history_of(model, X, y)
    return history["n_iter"], (history["iterate_primal"] - optimum) / constant


def gap_figure(palette, panels, ylabel, lowest=1e-7):
    """A figure of panels (title, label of the axis, {label: (iterations, gaps)})."""
    figure, axes = plt.subplots(
        1, len(panels), figsize=(7.0, 3.8), layout="constrained", sharey=True, squeeze=False
    )
    looks = [
        (palette.upper, "-"), (palette.lower, "-"), (palette.lower, "--"), (palette.muted, "-"),
        (palette.upper, "--"), (palette.muted, "--"),
    ]  # fmt: skip
    for own, (title, xlabel, curves) in zip(axes[0], panels, strict=True):
        for (label, (steps, gaps)), (colour, style) in zip(curves.items(), looks, strict=False):
            shown = gaps > 0.0
            own.loglog(steps[shown], gaps[shown], style, color=colour, linewidth=2, label=label)
            own.plot(steps[shown][-1], gaps[shown][-1], "o", color=colour, markersize=4)
        own.set(title=title, xlabel=xlabel, ylim=(lowest, 2.0))
        own.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2, fontsize=10)
    axes[0, 0].set_ylabel(ylabel)
    return figure

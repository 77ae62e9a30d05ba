"""F1 on held-out data over the threshold: a mean loss, and F1 as the loss."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.metrics import f1_score

from skpd import MetricSVC, PdproxSVC


def _sample(rng, n):
    y = rng.random(n) < 0.15
    X = rng.standard_normal((n, 2))
    X[y] += [1.5, 1.0]
    return X, y


def draw(palette):
    """The thresholds that the models themselves have are dots."""
    rng = np.random.default_rng(0)
    X, y = _sample(rng, 500)
    X_test, y_test = _sample(rng, 8_000)
    hinge = PdproxSVC(1e-3, penalty="l2")
    models = [
        ("hinge loss", hinge, palette.lower, (12, -12)),
        ("F1 as the loss", MetricSVC(1e-4, metric="f1"),
         palette.upper, (8, 7)),
        ("hinge loss, balanced weights", clone(hinge).set_params(class_weight="balanced"),
         palette.lower, (8, 7)),
    ]  # fmt: skip
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for name, model, colour, (shift, rise) in models:
        values = model.fit(X, y).decision_function(X_test)
        shares = np.linspace(0.01, 0.6, 80)
        found = [f1_score(y_test, values > cut) for cut in np.quantile(values, 1.0 - shares)]
        axes.plot(shares, found, color=colour, linewidth=1.2, alpha=0.7)
        own = np.mean(values > 0.0), f1_score(y_test, values > 0.0)
        axes.plot(*own, "o", color=colour, markersize=8)
        axes.annotate(name, own, xytext=(shift, rise), textcoords="offset points",
                      color=colour)  # fmt: skip
    axes.set(xlabel="share of the held-out rows labelled positive", ylabel="F1 of these labels")
    axes.set(xlim=(0.0, 0.6), ylim=(0.0, 0.72))
    return figure

"""The area under the ROC curve as one class becomes rare."""

import warnings
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from skpd import PdproxSVC

MODELS = {
    "hinge": {"loss": "hinge"},
    'hinge, class_weight="balanced"': {"loss": "hinge", "class_weight": "balanced"},
    "logistic": {"loss": "logistic"},
}


@cache
def measured():
    """Shares of positives in training, and for each model its AUC on other rows."""
    rng = np.random.default_rng(0)
    coef = np.array([1.0, -1.0, 0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    shares, scores = [], {name: [] for name in MODELS}
    for shift in np.linspace(0.0, -5.0, 11):
        X, X_test = rng.normal(size=(5000, 10)), rng.normal(size=(40_000, 10))
        y = rng.random(len(X)) < expit(X @ coef + shift)
        y_test = rng.random(len(X_test)) < expit(X_test @ coef + shift)
        shares.append(y.mean())
        for name, parameters in MODELS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of constant models
                model = PdproxSVC(alpha=1e-3, **parameters).fit(X, y)
            scores[name].append(roc_auc_score(y_test, model.decision_function(X_test)))
    return np.array(shares), scores


def draw(palette):
    """The scores over the share of positives."""
    shares, scores = measured()
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    styles = (
        {"color": palette.upper, "marker": "o"},
        {"color": palette.upper, "marker": "s", "linestyle": "--", "markerfacecolor": "none"},
        {"color": palette.lower, "marker": "x", "linestyle": "-"},
    )
    for (name, values), style in zip(scores.items(), styles, strict=True):
        axes.plot(shares, values, linewidth=1.8, label=name, **style)
    axes.set(xscale="log", xlim=(0.6, 0.016), ylim=(0.45, 0.9))
    ticks = [0.5, 0.3, 0.2, 0.1, 0.05, 0.02]
    axes.set_xticks(ticks, [f"{tick:.0%}" for tick in ticks])
    axes.minorticks_off()
    axes.set(xlabel="share of positive rows", ylabel="AUC on other rows")
    axes.axhline(0.5, color=palette.muted, linewidth=0.8, linestyle=":")
    axes.text(0.58, 0.51, "no order at all", color=palette.muted)
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.5))
    return figure

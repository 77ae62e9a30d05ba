"""How far fits are from the best objective value, as `certify` finds."""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skpd import PdproxSVC, certify

MODELS = {
    "SGDClassifier": SGDClassifier(random_state=0),
    "SGDClassifier, l1": SGDClassifier(alpha=1e-3, penalty="l1", random_state=0),
    "SGDClassifier, averaged": SGDClassifier(alpha=1e-3, average=True, random_state=0),
    "LinearSVC": LinearSVC(),
    "LogisticRegression": LogisticRegression(),
    "PdproxSVC": PdproxSVC(alpha=0.01),
}


def draw(palette):
    """For each model the interval from the lower bound to its objective."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    figure, axes = plt.subplots(figsize=(7.0, 3.2), layout="constrained")
    for place, model in enumerate(MODELS.values()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        certificate = certify(model, X, y)
        ends = certificate.dual, certificate.primal
        axes.plot(ends, [place] * 2, color=palette.band, alpha=0.3, linewidth=10,
                  solid_capstyle="butt")  # fmt: skip
        axes.plot(ends[0], place, "|", markersize=16, markeredgewidth=2.5, color=palette.lower)
        axes.plot(ends[1], place, "|", markersize=16, markeredgewidth=2.5, color=palette.upper)
        axes.text(ends[1] + 0.004, place, f"relative gap {certificate.relative_gap:.1e}",
                  va="center", color=palette.text, fontsize=10)  # fmt: skip
    axes.set_yticks(range(len(MODELS)), MODELS)
    axes.tick_params(axis="y", length=0, labelcolor=palette.text)
    axes.set_ylim(len(MODELS) - 0.3, -0.7)
    axes.set(xlim=(0.0, 0.2), xlabel="objective value (of each model's own objective)")
    axes.spines["left"].set_visible(False)
    return figure

"""The two bounds of LPBoost in every round."""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from skpd import LPBoostClassifier


def draw(palette):
    """The soft margin of the mixture rises, the largest edge of any stump falls."""
    X, y = load_breast_cancer(return_X_y=True)
    history = LPBoostClassifier(nu=0.1).fit(X, y).gap_history_
    rounds, upper, lower = history["n_iter"], history["primal"], history["dual"]
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    axes.plot(rounds, upper, color=palette.upper, linewidth=2.0)
    axes.plot(rounds, lower, color=palette.lower, linewidth=2.0)
    axes.fill_between(rounds, lower, upper, color=palette.band, alpha=0.15, linewidth=0.0)
    axes.text(4.6, 0.42, "no mixture of stumps has a soft margin above", color=palette.upper)
    axes.text(4.6, -0.08, "soft margin of the mixture so far", color=palette.lower)
    axes.set(xlabel="round", ylabel="soft margin", xlim=(rounds[1], rounds[-1]))
    return figure

"""What a few wrong targets, and a few wrong labels, do to models with different losses."""

import matplotlib.pyplot as plt
import numpy as np

from skpd import PdproxRegressor, PdproxSVC


def draw(palette):
    """Lines through points with outliers, and boundaries between classes with wrong labels."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.9), layout="constrained")
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0.0, 10.0, 60))
    y = 1.0 + 0.5 * x + 0.5 * rng.normal(size=60)
    wrong = np.arange(60) > 54
    y[wrong] -= 9.0
    left.plot(x[~wrong], y[~wrong], ".", color=palette.muted)
    left.plot(x[wrong], y[wrong], "x", color=palette.text, label="wrong targets")
    for loss, style in (
        ("squared", {"color": palette.upper, "linestyle": "--"}),
        ("huber", {"color": palette.lower, "linestyle": "--"}),
        ("absolute", {"color": palette.lower}),
    ):
        model = PdproxRegressor(alpha=1e-3, penalty="l2", loss=loss, tol=1e-6)
        line = model.fit(x[:, np.newaxis], y).predict([[0.0], [10.0]])
        left.plot([0.0, 10.0], line, linewidth=2.0, label=loss, **style)
    left.set(xlabel="feature", ylabel="target", ylim=(-5.5, 7.5), title="regression")
    left.legend(loc="lower left")

    X = np.vstack([rng.normal([-1.5, 0.0], 1.0, (60, 2)), rng.normal([1.5, 0.0], 1.0, (60, 2))])
    label = np.repeat([0, 1], 60)
    X = np.vstack([X, rng.normal([4.5, 2.0], 0.4, (12, 2))])
    label = np.append(label, np.zeros(12, dtype=int))
    wrong = np.arange(132) >= 120
    for value, colour in ((0, palette.upper), (1, palette.lower)):
        rows = (label == value) & ~wrong
        right.plot(*X[rows].T, ".", color=colour, alpha=0.7)
    right.plot(*X[wrong].T, "x", color=palette.upper, label="wrong labels")
    ends = np.array([-3.4, 3.4])
    for loss, style in (
        ("squared_hinge", {"color": palette.muted, "linestyle": "--"}),
        ("logistic", {"color": palette.text, "linestyle": ":"}),
        ("hinge", {"color": palette.text}),
    ):
        model = PdproxSVC(alpha=0.01, penalty="l2", loss=loss, tol=1e-6).fit(X, label)
        (a, b), c = model.coef_[0], model.intercept_[0]
        right.plot(-(b * ends + c) / a, ends, linewidth=2.0, label=loss, **style)
    right.set(xlim=(-4.5, 6.5), ylim=(-5.6, 3.5), title="classification")
    right.set(xlabel="first feature", ylabel="second feature")
    right.legend(loc="lower right", ncols=2)
    return figure

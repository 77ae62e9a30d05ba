"""
What the layers of a network know
=================================

A linear *probe* asks what the numbers inside of a network say: it predicts
something that the network was not trained for. Here a small network learns
whether a digit is even, and probes ask each of its layers which digit it is.

A probe is a multinomial logistic regression with a squared norm on a tall table
of numbers, with ten classes and an ``alpha`` chosen by cross-validation. A
certificate says that its accuracy is that of the layer, and not of a solver that
stopped too early.
"""

import warnings
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neural_network import MLPClassifier

images, digits = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(
    images / 16, digits, test_size=0.3, stratify=digits, random_state=0
)

# %%
# The network sees whether a digit is even, and nothing else.

network = MLPClassifier((256, 128), max_iter=500, random_state=0)
network.fit(X, y % 2)


def layers(table):
    """The table and the outputs of the hidden layers for it."""
    result = [table]
    for weights, bias in zip(
        network.coefs_[:-1], network.intercepts_[:-1], strict=True
    ):
        result.append(np.maximum(result[-1] @ weights + bias, 0))
    return [layer.astype(np.float32) for layer in result]


# %%
# The probes
# ----------
# ``PathCV`` fits the values of ``alpha`` one after the other in each fold.
# ``LogisticRegressionCV`` takes the same values in its own units,
# ``C = 1 / (n alpha)``, and the same folds. Each certificate is that of the last
# fit, to all training data.

from sklearn.linear_model import LogisticRegressionCV

from skpd import LogisticPD, PathCV

folds = list(StratifiedKFold(3).split(X, y))
n_fitted = len(folds[0][0])
alphas = np.geomspace(1e-1, 1e-6, 6)
names = ["pixels", "first layer", "second layer"]
scores, seconds = [], []
for name, table, held_out in zip(names, layers(X), layers(X_test), strict=True):
    search = PathCV(LogisticPD(), alphas=alphas, cv=folds, scoring="neg_log_loss")
    start = perf_counter()
    search.fit(table, y)
    times = [perf_counter() - start]
    Cs = 1 / (n_fitted * alphas)
    other = LogisticRegressionCV(
        Cs=Cs, cv=folds, scoring="neg_log_loss", max_iter=3000
    )
    start = perf_counter()
    with warnings.catch_warnings():  # of attributes that will have other shapes
        warnings.simplefilter("ignore", FutureWarning)
        other.fit(table, y)
    times.append(perf_counter() - start)
    probe = search.best_estimator_
    scores.append(probe.score(held_out, y_test))
    seconds.append(times)
    gap = probe.certificate_.relative_gap
    print(
        f"{name}: {100 * scores[-1]:.1f} % of the digits, certified to {gap:.0e}"
    )
    print(f"    {times[0]:.2f} s, LogisticRegressionCV {times[1]:.2f} s")

# %%
# The layers tell the digit as well as the pixels do: training for even and odd
# has not thrown it away. The certificates say that no better fit of the probes
# would change this picture. The times are those of this computer.

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 2.8), layout="constrained")
left.bar(names, 100 * np.array(scores))
left.set_ylim(90, 100)
left.set_ylabel("digits that a probe tells (%)")
places = np.arange(len(names))
labels = "PathCV of LogisticPD", "LogisticRegressionCV"
for k, label in enumerate(labels):
    right.bar(places + 0.4 * k - 0.2, np.array(seconds)[:, k], 0.4, label=label)
right.set_xticks(places, names)
right.set_ylabel("seconds")
right.legend()
plt.show()

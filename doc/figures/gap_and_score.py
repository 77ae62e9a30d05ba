"""Test scores, and features selected, over the certified relative gap of the same models."""

import warnings
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skpd import PdproxSVC, certify

ALPHA = 0.01
PASSES = (1, 2, 3, 5, 10, 20, 50, 100)
TOLERANCES = (0.3, 0.1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6)


@cache
def measured():
    """For each method rows of relative gap, AUC on other rows, features that differ."""
    X, y = make_classification(
        6000, 200, n_informative=20, n_redundant=50, flip_y=0.1, random_state=0
    )
    X = StandardScaler().fit_transform(X)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    optimal = PdproxSVC(ALPHA, tol=1e-9).fit(X, y).coef_[0] != 0

    def row(model):
        score = roc_auc_score(y_test, model.decision_function(X_test))
        differ = np.sum((model.coef_[0] != 0) != optimal)
        return certify(model, X, y).relative_gap, score, differ

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        steps = [
            SGDClassifier(penalty="l1", alpha=ALPHA, max_iter=k, tol=None, random_state=0)
            for k in PASSES
        ]
        return {
            "SGDClassifier, 1 to 100 passes": np.array([row(m.fit(X, y)) for m in steps]),
            "PdproxSVC, tol from 0.3 to 1e-6": np.array(
                [row(PdproxSVC(ALPHA, tol=tol).fit(X, y)) for tol in TOLERANCES]
            ),
        }


def draw(palette):
    """The score on the left, the selection on the right."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.7), layout="constrained")
    styles = ({"color": palette.upper, "marker": "o"}, {"color": palette.lower, "marker": "s"})
    for (name, rows), style in zip(measured().items(), styles, strict=True):
        gaps, scores, differ = rows.T
        left.plot(gaps, scores, linestyle="none", label=name, **style)
        right.plot(gaps, differ, linestyle="none", label=name, **style)
    for axes in (left, right):
        axes.set(xscale="log", xlabel="certified relative gap")
        axes.invert_xaxis()
    left.set(ylim=(0.5, 0.9), title="AUC on other rows", ylabel="AUC")
    right.set(ylim=(-3, 80), ylabel="of 200 features")
    right.set(title="selected otherwise than at the optimum")
    right.legend(loc="upper right")
    return figure

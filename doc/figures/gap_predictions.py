"""What gaps say of predictions and decisions, beside what is true of the same models."""

import warnings
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from skpd import PdproxSVC

ITERATIONS = (10, 20, 40, 80, 160, 320, 640)


@cache
def measured():
    """Rows of relative gap, distance said and true, decisions said and true."""
    X, y = make_classification(2000, 40, n_informative=10, flip_y=0.1, random_state=0)
    X = StandardScaler().fit_transform(X)
    model = PdproxSVC(alpha=0.003, penalty="l1", loss="logistic")
    model.set_params(tol=1e-12).fit(X, y)
    z = model.decision_function(X)
    rows = []
    options = {"algorithm": 3, "average": False}
    for n_iter in ITERATIONS:
        model.set_params(solver="pdprox-dual", tol=0.0, max_iter=n_iter, solver_options=options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            certificate, own = model.fit(X, y).certificate_, model.decision_function(X)
        p, best = 1.0 / (1.0 + np.exp(-own)), 1.0 / (1.0 + np.exp(-z))
        apart, differ = np.sqrt(np.mean((p - best) ** 2)), np.count_nonzero((own > 0) != (z > 0))
        said = certificate.prediction_distance, certificate.decisions_that_may_differ
        rows.append([certificate.relative_gap, said[0], apart, said[1], differ])
    return np.array(rows)


def draw(palette):
    """Probabilities on the left, decisions on the right."""
    gaps, distance, apart, decisions, differ = measured().T
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.5), layout="constrained")
    for axes, said, true, label in (
        (left, distance, apart, "distance of probabilities"),
        (right, decisions, differ, "of 2,000 decisions"),
    ):
        axes.plot(gaps, said, "o-", color=palette.upper, label="said by the gap")
        axes.plot(gaps, true, "s-", color=palette.lower, label="true")
        axes.set(xscale="log", xlabel="certified relative gap", ylabel=label)
        axes.invert_xaxis()
        axes.legend()
    left.set_yscale("log")
    right.set_yscale("symlog", linthresh=1.0)
    right.set_ylim(bottom=0.0)
    return figure

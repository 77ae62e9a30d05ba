"""Scores of all models of a path at once, for the scorers that most searches use.

They are those of scikit-learn's scorers up to rounding, without its checks of every model.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
from scipy.special import log_softmax
from sklearn.base import is_classifier

from .._typing import Array, MatrixLike
from ..estimators.base import PrimalDualEstimator
from ..estimators.classifier import PrimalDualClassifier
from ..estimators.predictions import linear_predictions
from ..estimators.regressor import PrimalDualRegressor
from ..formulation.formulate import FormulatedProblems
from ..formulation.validation import _DATA, validated

EPSILON = float(np.finfo(np.float64).eps)  # at which scikit-learn cuts off probabilities

# A score of each model by targets y, or by the places of labels among the classes; predictions of
# shape (n_models, n_samples), or (n_models, n_samples, n_classes); and weights, or None
Score = Callable[[Array, Array, Array | None], Array]


def _squared(y: Array, z: Array, weights: Array | None) -> Array:
    return np.average(np.square(z - y), axis=1, weights=weights)


def _r2(y: Array, z: Array, weights: Array | None) -> Array:
    mean = np.full((1, len(y)), np.average(y, weights=weights))
    return 1.0 - _squared(y, z, weights) / _squared(y, mean, weights)


def _absolute(y: Array, z: Array, weights: Array | None) -> Array:
    return np.average(np.abs(z - y), axis=1, weights=weights)


def _accuracy(labels: Array, z: Array, weights: Array | None) -> Array:
    chosen = z > 0.0 if z.ndim == 2 else np.argmax(z, axis=2)
    return np.average(chosen == labels, axis=1, weights=weights)


def _log_loss(labels: Array, z: Array, weights: Array | None) -> Array:
    if z.ndim == 2:
        logarithms = -np.logaddexp(0.0, np.where(labels > 0, -z, z))
    else:
        each = log_softmax(z.astype(np.float64), axis=2)
        logarithms = np.take_along_axis(each, cast(Any, labels)[np.newaxis, :, np.newaxis], 2)[
            ..., 0
        ]
    of_labels = np.clip(np.exp(logarithms), EPSILON, 1.0 - EPSILON)
    return -np.average(np.log(of_labels), axis=1, weights=weights)


OF_TARGETS: dict[str, Score] = {
    "r2": _r2,
    "neg_mean_squared_error": lambda *arrays: -_squared(*arrays),
    "neg_root_mean_squared_error": lambda *arrays: -np.sqrt(_squared(*arrays)),
    "neg_mean_absolute_error": lambda *arrays: -_absolute(*arrays),
}
OF_LABELS: dict[str, Score] = {
    "accuracy": _accuracy,
    "neg_log_loss": lambda *arrays: -_log_loss(*arrays),
}


def quick_score(
    model: PrimalDualEstimator, scoring: object, fit: FormulatedProblems, y: Array
) -> Callable[[Array, Array | None], Array] | None:
    """The score of a name for predictions and weights; None where only its scorer knows it.

    ``y`` are the targets or labels of the samples held out.
    """
    name, loss = scoring or ("accuracy" if is_classifier(model) else "r2"), fit.problems[0].loss
    if not isinstance(name, str) or np.ndim(y) != 1 or len(y) < 2:
        return None
    if type(model).predict is PrimalDualRegressor.predict and name in OF_TARGETS:
        is_known = scoring is not None or type(model)._score is PrimalDualRegressor._score
        targets = np.asarray(y, dtype=np.float64)
        varies = bool(np.ptp(targets) > 0.0) or name != "r2"
        return partial(OF_TARGETS[name], targets) if is_known and varies else None
    if type(model).predict is not PrimalDualClassifier.predict or name not in OF_LABELS:
        return None
    labels = np.searchsorted(fit.labels, y)
    known = np.array_equal(np.unique(y), fit.labels)
    is_likelihood = len(fit.problems) == 1 and loss.is_log_likelihood
    if not known or not (name == "accuracy" or is_likelihood):
        return None
    return partial(OF_LABELS[name], cast(Any, labels))


def predictions_of(model: PrimalDualEstimator, models: Sequence[dict], X: MatrixLike) -> Array:
    """The predictions of models with these attributes, the first axis that of the models.

    ``model`` is one of them, which validates X.
    """
    X = validated(model, X, reset=False, **_DATA)
    coefs = np.concatenate([np.atleast_2d(each["coef_"]) for each in models])
    intercepts = np.concatenate([np.atleast_1d(each["intercept_"]) for each in models])
    table = linear_predictions(X, coefs, intercepts).T.reshape(len(models), -1, X.shape[0])
    return table[:, 0] if table.shape[1] == 1 else table.transpose(0, 2, 1)

"""Probabilities of the classes, where the loss is a negative log likelihood."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._typing import Array
from .docstrings import documented


def _has_probabilities(estimator: "ProbabilisticClassifier") -> bool:
    if estimator._gives_probabilities():
        return True
    raise AttributeError(
        f"{type(estimator).__name__} predicts no probabilities: its loss is not a negative log "
        "likelihood. Fit LogisticPD, take loss='logistic' (loss='softmax' for MultinomialPD), or "
        "wrap it in "
        "sklearn.calibration.CalibratedClassifierCV."
    )


class ProbabilisticClassifier:
    """Mixin with predictions of probabilities, which exist only for some losses."""

    @abstractmethod
    def _gives_probabilities(self) -> bool:
        """Whether the loss is a negative log likelihood."""

    @abstractmethod
    def _log_probabilities(self, X: Any) -> Array:
        """Logarithms of the probabilities, of shape (n_samples, n_classes)."""

    @available_if(_has_probabilities)
    @documented
    def predict_proba(self, X: Any) -> Array:
        """Predict probabilities of the classes, for the logistic loss or the softmax.

        For more than two classes handled one-vs-rest, the probabilities of the single classes are
        divided by their sum.

        {probabilities_of_rows}
        """
        return np.exp(self._log_probabilities(X))

    @available_if(_has_probabilities)
    @documented
    def predict_log_proba(self, X: Any) -> Array:
        """Predict logarithms of the probabilities of the classes.

        The logarithms are finite where the results of `predict_proba` underflow.

        {log_probabilities_of_rows}
        """
        return self._log_probabilities(X)

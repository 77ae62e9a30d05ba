"""Probabilities of the classes, where the loss is a negative log likelihood."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._typing import Array

__all__ = ["ProbabilisticClassifier"]


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
    """Predictions of probabilities, there only if the loss makes any."""

    @abstractmethod
    def _gives_probabilities(self) -> bool:
        """Whether the loss is a negative log likelihood."""

    @abstractmethod
    def _log_probabilities(self, X: Any) -> Array:
        """Their logarithms, of shape (n_samples, n_classes)."""

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Predict probabilities of the classes, for the logistic loss or the softmax.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            For the classes in the order of ``classes_``. For more than two classes handled
            one-vs-rest, those of the single classes divided by their sum.
        """
        return np.exp(self._log_probabilities(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """Predict logarithms of the probabilities of the classes, as `predict_proba`.

        They are finite where probabilities underflow.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        return self._log_probabilities(X)

"""Predictions and attributes that a search takes from its best estimator."""

from collections.abc import Callable
from typing import Any

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._compat import _VisualBlock
from .._typing import Array
from .docstrings import documented


def _estimator_has(name: str) -> Callable[[Any], bool]:
    """Whether the best estimator or, before a fit, the one to fit has a method."""

    def check(search: "BestEstimator") -> bool:
        getattr(vars(search).get("best_estimator_", search.estimator), name)
        return True

    return check


class BestEstimator:
    """Mixin that predicts by ``best_estimator_``, a fitted clone of ``estimator``."""

    estimator: Any
    best_estimator_: Any

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a best estimator; an interrupted fit may have set other attributes."""
        return "best_estimator_" in vars(self)

    def _sk_visual_block_(self) -> _VisualBlock:
        """The best estimator or, before a fit, the one to fit, for the HTML representation."""
        name = "best_estimator_" if self.__sklearn_is_fitted__() else "estimator"
        shown = getattr(self, name)
        titles = [f"{name}: {type(shown).__name__}"]
        return _VisualBlock("parallel", [shown], names=titles, name_details=[str(shown)])

    @available_if(_estimator_has("predict"))
    def predict(self, X: Any) -> Array:
        """Predict by the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels or targets.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_estimator_has("decision_function"))
    @documented
    def decision_function(self, X: Any) -> Array:
        """The scores of the classes by the best estimator.

        {scores_of_rows}
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @available_if(_estimator_has("predict_proba"))
    @documented
    def predict_proba(self, X: Any) -> Array:
        """Predict probabilities of the classes by the best estimator.

        {probabilities_of_rows}
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_estimator_has("predict_log_proba"))
    @documented
    def predict_log_proba(self, X: Any) -> Array:
        """Predict logarithms of the probabilities of the classes by the best estimator.

        {log_probabilities_of_rows}
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)

    @property
    def classes_(self) -> Array:
        """Class labels, for a classifier."""
        return self._of_best("classes_")

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in `fit`."""
        return self._of_best("n_features_in_")

    @property
    def feature_names_in_(self) -> Array:
        """Names of the features, where X had string names."""
        return self._of_best("feature_names_in_")

    def _of_best(self, name: str) -> Any:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")
        return getattr(self.best_estimator_, name)

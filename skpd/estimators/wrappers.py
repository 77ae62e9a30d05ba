"""Estimators inside others: what a search takes from its best one, and the parts of wrappers."""

# the last step has the bodies of the methods
# mypy: disable-error-code="empty-body"

from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from functools import partial, wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._checks import require_same_samples
from .._compat import BaseSearchCV, _VisualBlock, available_if
from .._typing import Array, ArrayLike, MatrixLike, PerRow

Method = TypeVar("Method", bound=Callable)


def _last_has(search: BaseEstimator, name: str) -> Any:
    """An attribute of the last step of the best estimator or, before a fit, of that to fit."""
    outer = vars(search).get("best_estimator_", search.estimator)
    return getattr(outer[-1] if isinstance(outer, Pipeline) else outer, name)


def of_last_step(method: Method) -> Method:
    """Make a method that is the last step's of this name, for X after the steps before it."""

    @wraps(method)
    def of_best(self: object, X: MatrixLike, *others: object, **named: object) -> Any:
        last, X = final_estimator(self, X)
        return getattr(last, method.__name__)(X, *others, **named)

    has_method = partial(_last_has, name=method.__name__)
    return available_if(has_method)(cast(Method, of_best))


class BestEstimator:
    """Mixin that predicts by ``best_estimator_``, a fitted clone of ``estimator``."""

    estimator: BaseEstimator
    best_estimator_: object  # of the type of ``estimator``

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a best estimator; an interrupted fit may have set other attributes."""
        return "best_estimator_" in vars(self)

    def _sk_visual_block_(self) -> _VisualBlock:
        """The best estimator or, before a fit, the one to fit, for the HTML representation."""
        name = "best_estimator_" if self.__sklearn_is_fitted__() else "estimator"
        shown = getattr(self, name)
        titles = [f"{name}: {type(shown).__name__}"]
        return _VisualBlock("parallel", [shown], names=titles, name_details=[str(shown)])

    @of_last_step
    def predict(self, X: MatrixLike, offset: PerRow = None, exposure: PerRow = None) -> Array:
        """Predict by the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.
        exposure : float or array-like of shape (n_samples,), default=None
            Positive numbers by which the means are multiplied, such as the part of a year that was
            insured; 1 by default. Their logarithms are added to ``offset``.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Class labels or targets.
        """

    @of_last_step
    def decision_function(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """The scores of the classes by the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive where ``classes_[1]`` is predicted.
        """

    @of_last_step
    def predict_proba(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """Predict probabilities of the classes by the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            The classes are in the order of ``classes_``.
        """

    @of_last_step
    def predict_log_proba(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """Predict logarithms of the probabilities of the classes by the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
            The classes are in the order of ``classes_``.
        """

    @of_last_step
    def predict_survival_function(
        self, X: MatrixLike, times: ArrayLike | None = None, offset: PerRow = None,
        strata: PerRow = None,
    ) -> Array:  # fmt: skip
        """Predict the probabilities of no event until given times by the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        times : array-like of shape (n_times,), default=None
            Times, in any order; by default those of the events in `fit`, in increasing order.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.
        strata : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
            The strata of the samples, which must be known from `fit`; required if there were
            several.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_times)
            The numbers exp(-H(t) exp(x.w + offset)), with the cumulative baseline hazard H of the
            stratum (Breslow, 1974).
        """

    @of_last_step
    def predict_quantile(
        self, X: MatrixLike, quantile: float = 0.5, offset: PerRow = None, strata: PerRow = None
    ) -> Array:
        """Predict the times by which an event has happened, by the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        quantile : float, default=0.5
            The probability, in (0, 1); 0.5 for the median.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.
        strata : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
            The strata of the samples, which must be known from `fit`; required if there were
            several.

        Returns
        -------
        times : ndarray of shape (n_samples,)
            The first time at which the predicted probability of no event is at most
            1 - ``quantile``; inf for samples for which it stays above.
        """

    @available_if(partial(_last_has, name="regressor"))
    def regressor(self, quantile: float) -> BaseEstimator:
        """The best model of one of several quantiles as a regressor, as in `QuantilePD`.

        Parameters
        ----------
        quantile : float
            One of the quantiles.

        Returns
        -------
        regressor : PdproxRegressor or Pipeline
            In a pipeline after its earlier steps.
        """
        last, _ = final_estimator(self)
        return with_last_step(self.best_estimator_, last.regressor(quantile))

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

    @property
    def coef_(self) -> Array:
        """Coefficients of the best estimator, where it is no pipeline."""
        return self._of_best("coef_")

    @property
    def intercept_(self) -> Array:
        """Intercepts of the best estimator, where it is no pipeline."""
        return self._of_best("intercept_")

    def _of_best(self, name: str) -> Any:
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")
        return getattr(self.best_estimator_, name)


def unwrapped(estimator: BaseEstimator) -> tuple[list[Pipeline], BaseEstimator]:
    """The last estimator of pipelines and the best of searches, and the pipelines around it."""
    pipelines: list[Pipeline] = []
    while True:
        if isinstance(estimator, BestEstimator | BaseSearchCV):
            bare = hasattr(estimator, "cv_results_") and not hasattr(estimator, "best_estimator_")
            if bare and isinstance(estimator, BaseSearchCV):
                raise ValueError(
                    f"{type(estimator).__name__} was fitted with refit={estimator.refit!r} and "
                    "holds no model: refit must be True, or pass an estimator fitted with its "
                    "best parameters."
                )
            check_is_fitted(estimator, "best_estimator_")
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            check_is_fitted(estimator)
            pipelines.append(estimator)
            estimator = estimator[-1]
        else:
            return pipelines, estimator


def final_estimator(estimator: BaseEstimator, X: MatrixLike = None) -> tuple[BaseEstimator, Any]:
    """The last estimator of pipelines and the best of searches, also within each other.

    Returns
    -------
    estimator : estimator
    X : object
        The data that this estimator receives, after the transformations of the pipelines.
    """
    pipelines, last = unwrapped(estimator)
    for pipeline in pipelines:
        if X is not None and len(pipeline) > 1:  # else it has no transform
            instead = "pass its last step, with the samples that this was fitted to"
            require_same_samples(pipeline, instead)
            X = pipeline[:-1].transform(X)
    return last, X


def with_last_step(estimator: BaseEstimator, last: BaseEstimator) -> BaseEstimator:
    """A copy of a pipeline with another last step; for other estimators this step."""
    if not isinstance(estimator, Pipeline):
        return last
    other = copy(estimator)
    other.steps = [*estimator.steps[:-1], (estimator.steps[-1][0], last)]
    return other


def full_name(estimator: BaseEstimator) -> str:
    """The name of an estimator's class with the public part of its module."""
    kind = type(estimator)
    parts = [part for part in kind.__module__.split(".") if not part.startswith("_")]
    return ".".join([*parts, kind.__qualname__])


def inner_estimators(estimator: BaseEstimator, takes: Callable) -> Iterator[str]:
    """Names of the attributes with fitted estimators inside that ``takes`` accepts.

    An attribute with several estimators is represented by the first, itself or, as in
    `CalibratedClassifierCV`, as the ``estimator`` of the object there.
    """
    for name, value in getattr(estimator, "__dict__", {}).items():
        if not name.endswith("_"):
            continue
        if isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1 and len(value):
            name, value = f"{name}[0]", value[0]
        for where, inner in (name, value), (f"{name}.estimator", getattr(value, "estimator", 0)):
            with suppress(NotFittedError):
                if takes(inner):
                    check_is_fitted(inner)
                    yield where

"""Estimators inside others: the parts of searches, pipelines and other wrappers."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._compat import BaseSearchCV
from .best_estimator import BestEstimator


def final_estimator(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """The last estimator of pipelines and the best of searches, also within each other.

    Returns
    -------
    estimator : estimator
    X : object
        The data that this estimator receives, after the transformations of the pipelines.
    """
    while True:
        if isinstance(estimator, BestEstimator):
            check_is_fitted(estimator)
            estimator = estimator.best_estimator_
        elif isinstance(estimator, BaseSearchCV):
            if hasattr(estimator, "cv_results_") and not hasattr(estimator, "best_estimator_"):
                raise ValueError(
                    f"{type(estimator).__name__} was fitted with refit={estimator.refit!r} and "
                    "holds no model: refit must be True, or pass an estimator fitted with its "
                    "best parameters."
                )
            check_is_fitted(estimator, "best_estimator_")
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            check_is_fitted(estimator)
            if X is not None and len(estimator) > 1:  # of no steps it has no transform
                X = estimator[:-1].transform(X)
            estimator = estimator[-1]
        else:
            return estimator, X


def full_name(estimator: Any) -> str:
    """The name of an estimator's class with the public part of its module."""
    kind = type(estimator)
    parts = [part for part in kind.__module__.split(".") if not part.startswith("_")]
    return ".".join([*parts, kind.__qualname__])


def inner_estimators(estimator: Any, takes: Callable[[Any], bool]) -> Iterator[str]:
    """Names of the attributes with fitted estimators inside that ``takes`` accepts.

    An attribute with several estimators is represented by the first, itself or, as in
    `CalibratedClassifierCV`, as the ``estimator`` of the object there.
    """
    for name, value in vars(estimator).items():
        if not name.endswith("_"):
            continue
        if isinstance(value, list | tuple | np.ndarray) and np.ndim(value) == 1 and len(value):
            name, value = f"{name}[0]", value[0]
        for where, inner in (name, value), (f"{name}.estimator", getattr(value, "estimator", 0)):
            with suppress(NotFittedError):
                if takes(inner):
                    check_is_fitted(inner)
                    yield where

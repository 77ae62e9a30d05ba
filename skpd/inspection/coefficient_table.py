"""Coefficients with the names of features and outputs, and what is proven of them."""

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._typing import ArrayLike, Mask, Numbers
from ..estimators.base import PrimalDualEstimator
from ..preprocessing.feature_names import names_out

if TYPE_CHECKING:
    import pandas as pd


def coef_table(model: BaseEstimator) -> "pd.DataFrame":
    """The coefficients of a fitted model as a data frame, with names and proven intervals.

    Parameters
    ----------
    model : estimator, Pipeline or search
        A fitted estimator of this package with coefficients of features, a pipeline whose last
        step is one, or a search over one with a ``best_estimator_``, such as `PathCV` and
        `sklearn.model_selection.GridSearchCV`.

    Returns
    -------
    table : pandas.DataFrame
        A row for each feature, and for each output or class where there are several. The index
        has the names of the features: those that the earlier steps of a pipeline give, or the
        columns of a data frame, else x0, x1 and so on, also for the part of a `ColumnTransformer`
        that has no ``get_feature_names_out``. The columns are "group", where the model
        has ``groups_``; "output", where there are several; "coef", the coefficient; "lower" and
        "upper", an interval that contains it in every optimal model, and infinite where none is
        known; and "proven_zero". Where the penalty has no squared part, such as the l1 norm, only
        the coefficients that are 0 have short intervals.

    Raises
    ------
    ImportError
        If pandas is not installed.
    TypeError
        If the model is not one of this package, or has no coefficients of features.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import ElasticNetPD, coef_table
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), ElasticNetPD(alpha=10.0, l1_ratio=0.9, tol=1e-8))
    >>> print(coef_table(model.fit(X, y)).head(3).round(1))
         coef  lower  upper  proven_zero
    age   0.0    0.0    0.0         True
    sex   0.0    0.0    0.0         True
    bmi  12.4   12.4   12.4        False
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("coef_table needs pandas: pip install pandas") from error
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    steps, model = None, getattr(model, "best_estimator_", model)
    if isinstance(model, Pipeline):
        steps, model = model[:-1] if len(model) > 1 else None, model[-1]
    if not (isinstance(model, PrimalDualEstimator) and model._model_attribute == "coef_"):
        raise TypeError(
            "model must be an estimator of skpd with coef_, a pipeline that ends in one, or a "
            f"search with best_estimator_, got {model!r}."
        )
    coef = np.atleast_2d(model._dense_coef)
    n_outputs, n_features = coef.shape
    lower: Numbers
    upper: Numbers
    lower, upper = np.reshape(model.certificate_.coefficient_bounds, (-1, 2)).T
    zeros: Mask = np.ravel(model.certificate_.proven_zero)
    if len(zeros) != coef.size:  # groups that overlap, whose bounds are those of shares
        lower, upper, zeros = -np.inf, np.inf, np.zeros(coef.size, dtype=bool)
    columns = {"coef": np.ravel(coef), "lower": lower, "upper": upper, "proven_zero": zeros}
    names = _names_of_features(steps, model, n_features)
    table = pd.DataFrame(columns, index=np.tile(names, n_outputs))
    if n_outputs > 1:
        table.insert(0, "output", np.repeat(_names_of_outputs(model, n_outputs), n_features))
    if hasattr(model, "groups_"):
        table.insert(0, "group", np.tile(np.asarray(model.groups_), n_outputs))
    return table


def _names_of_features(steps: Pipeline | None, model: BaseEstimator, n_features: int) -> ArrayLike:
    """The names in the order of the coefficients, as far as there are any."""
    names = None if steps is None else names_out(steps)
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(n_features)] if names is None else names


def _names_of_outputs(model: PrimalDualEstimator, n_outputs: int) -> np.ndarray:
    """The classes or quantiles, or numbers from 0 for targets."""
    for name in ("classes_", "quantiles"):
        if len(np.ravel(getattr(model, name, ()))) == n_outputs:
            return np.ravel(getattr(model, name))
    return np.arange(n_outputs)

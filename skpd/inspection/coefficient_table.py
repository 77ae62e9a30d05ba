"""Coefficients with the names of features and outputs, and what is proven of them."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._typing import Mask
from ..estimators.base import PrimalDualEstimator
from ..estimators.wrappers import unwrapped
from ..preprocessing.feature_names import names_out
from .original_units import scaling_of

if TYPE_CHECKING:
    import pandas as pd


def coef_table(
    model: BaseEstimator, *, link: Literal["exp"] | None = None,
    units: Literal["original"] | None = None,
) -> "pd.DataFrame":  # fmt: skip
    """The coefficients of a fitted model as a data frame, with names and proven intervals.

    Parameters
    ----------
    model : estimator, Pipeline or search
        A fitted estimator of this package with coefficients of features, or what holds one: a
        pipeline whose last step it is, a search, `PathCV`, a classifier with a tuned threshold, a
        calibrated classifier with ``ensemble=False``, a transformed target, also within each
        other.
    link : {"exp"}, default=None
        "exp" adds the column "exp(coef)": the factor of a mean, of odds or of a hazard for one
        more of the feature, in insurance a relativity.
    units : {"original"}, default=None
        "original" undoes the scalers of scikit-learn before the model: coefficients and intercept
        are those for which ``X @ coef + intercept`` predicts from columns as they were. Features
        of other steps, such as indicators and splines, stay as these steps make them.

    Returns
    -------
    table : pandas.DataFrame
        For each output or class a row for the intercept, where the model fits one, and one for
        each feature. The index has "intercept" and the names of the features: those that the
        earlier steps of a pipeline give, or the columns of a data frame, else x0, x1 and so on,
        also for the part of a `ColumnTransformer` that has no ``get_feature_names_out``. The
        levels that a `OneHotEncoder` with ``drop`` leaves out are among the others, with a
        coefficient of 0, where the names of the features show which they are.

        The columns are "group", where the model has ``groups_``; "output", where there are
        several; "coef", the coefficient; "optimum_from" and "optimum_to", an interval that
        contains it in every optimal model, and infinite where none is known, as for intercepts;
        and "proven_zero". Where the penalty has no squared part, such as the l1 norm, only the
        coefficients that are 0 have short intervals.

        These are no confidence intervals: they say how far the fit is from the optimum of these
        data, and nothing of other data. They shrink with ``tol``, not with the number of rows.

    Raises
    ------
    ImportError
        If pandas is not installed.
    TypeError
        If the model is not one of this package, or has no coefficients of features.
    ValueError
        If the link or the units are not known.
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
    >>> print(coef_table(model.fit(X, y)).head(4).round(1))
                coef  optimum_from  optimum_to  proven_zero
    intercept  152.1          -inf         inf        False
    age          0.0           0.0         0.0         True
    sex          0.0           0.0         0.0         True
    bmi         12.4          12.4        12.4        False
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("coef_table needs pandas: pip install pandas") from error
    if link not in (None, "exp"):
        raise ValueError(f"link must be 'exp' or None, got {link!r}.")
    if units not in (None, "original"):
        raise ValueError(f"units must be 'original' or None, got {units!r}.")
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    steps, model = _steps_and_model(model)
    coef = np.atleast_2d(model._dense_coef)
    n_outputs, n_features = coef.shape
    names, has_feature = _rows_of_output(steps, model, n_features)
    certificate, shape = model.certificate_, (n_outputs, len(names))

    def column(of_features: np.ndarray, intercept: object, base_level: object) -> np.ndarray:
        values = np.full(shape, base_level, dtype=np.asarray(of_features).dtype)
        values[:, has_feature] = np.reshape(of_features, coef.shape)
        if model.fit_intercept:
            values[:, 0] = intercept
        return values.ravel()

    bounds, zeros = certificate.coefficient_bounds, certificate.proven_zero
    if np.size(zeros) != coef.size:  # groups that overlap, whose bounds are those of shares
        bounds, zeros = np.tile([-np.inf, np.inf], (coef.size, 1)), np.zeros(coef.size, dtype=bool)
    lower, upper = np.reshape(bounds, (-1, 2)).T
    intercept = np.ravel(model.intercept_)
    if units == "original":
        scale, shift = scaling_of(steps, n_features)
        intercept, coef = intercept + coef @ shift, coef * scale
        lower, upper = (np.ravel(np.reshape(end, coef.shape) * scale) for end in (lower, upper))
    columns = {
        "coef": column(coef, intercept, 0.0),
        "optimum_from": column(lower, -np.inf, 0.0),
        "optimum_to": column(upper, np.inf, 0.0),
        "proven_zero": column(zeros, False, True),
    }
    table = pd.DataFrame(columns, index=np.tile(names, n_outputs))
    if link == "exp":
        table.insert(1, "exp(coef)", np.exp(table["coef"]))
    if n_outputs > 1:
        table.insert(0, "output", np.repeat(_names_of_outputs(model, n_outputs), len(names)))
    if hasattr(model, "groups_"):
        groups = np.tile(np.asarray(model.groups_, dtype=object), n_outputs)
        table.insert(0, "group", column(groups, None, None))
    return table


def _steps_and_model(model: object) -> tuple[Pipeline | None, PrimalDualEstimator]:
    """The steps before an estimator with coefficients, in what holds it, and this estimator."""
    outer, steps, inner = model, list[tuple[str, BaseEstimator]](), model
    while inner is not None:
        pipelines, model = unwrapped(inner)
        steps += [step for pipeline in pipelines for step in pipeline.steps[:-1]]
        if isinstance(model, PrimalDualEstimator):
            break
        calibrated: Any = getattr(model, "calibrated_classifiers_", ())
        inner = getattr(model, "estimator_", getattr(model, "regressor_", None))
        inner = calibrated[0].estimator if len(calibrated) == 1 else inner
    if not isinstance(model, PrimalDualEstimator) or model._model_attribute != "coef_":
        raise TypeError(
            "model must be an estimator of skpd with coef_, or a pipeline, a search or a "
            f"calibrated classifier (ensemble=False) that holds one, got {outer!r}."
        )
    named = [(f"{place} {name}", step) for place, (name, step) in enumerate(steps)]
    return Pipeline(named) if named else None, model


def _rows_of_output(
    steps: Pipeline | None, model: PrimalDualEstimator, n_features: int
) -> tuple[np.ndarray, Mask]:
    """The names of the rows of an output, and a mask of those of features.

    The others are the intercept and the levels that an encoder has left out.
    """
    names = model._feature_names
    unnamed = [f"x{j}" for j in range(n_features)] if names is None else names
    names = np.array(names_out(steps, unnamed=unnamed), dtype=object)
    levels = np.array(names_out(steps, unnamed=unnamed, base_levels=True), dtype=object)
    known = set(names)  # np.isin compares all pairs of objects
    has_feature = np.array([level in known for level in levels], dtype=bool)
    if not np.array_equal(levels[has_feature], names):
        levels, has_feature = names, np.ones(n_features, dtype=bool)
    first = ["intercept"] if model.fit_intercept else []
    return np.array([*first, *levels], object), np.r_[np.zeros(len(first), bool), has_feature]


def _names_of_outputs(model: PrimalDualEstimator, n_outputs: int) -> np.ndarray:
    """The classes or quantiles, or numbers from 0 for targets."""
    for name in ("classes_", "quantiles"):
        if len(np.ravel(getattr(model, name, ()))) == n_outputs:
            return np.ravel(getattr(model, name))
    return np.arange(n_outputs)

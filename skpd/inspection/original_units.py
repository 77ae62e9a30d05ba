"""The scales and shifts of the features that fitted transformers make of columns."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from .._typing import Array

Scaling = tuple[Array, Array]  # scale and shift: a column x becomes scale * x + shift


def scaling_of(transformer: BaseEstimator | None, n_features: int) -> Scaling:
    """The scaling of each feature that a fitted transformer makes.

    Features of other steps than scalers, such as indicators, splines and principal components,
    have the unit in which these steps make them.
    """
    scaling = _after(transformer, None)
    return (np.ones(n_features), np.zeros(n_features)) if scaling is None else scaling


def _after(step: BaseEstimator | None, scaling: Scaling | None) -> Scaling | None:
    """The scaling of features after a step, for that before it; None where units are its own."""
    if isinstance(step, Pipeline):
        for _, part in step.steps:
            scaling = _after(part, scaling)
        return scaling
    if isinstance(step, ColumnTransformer):
        places = [(part, step.output_indices_[name]) for name, part, _ in step.transformers_]
        n_features = max(place.stop for _, place in places)
        scale, shift = np.ones(n_features), np.zeros(n_features)
        for part, place in places:
            scale[place], shift[place] = scaling_of(part, place.stop - place.start)
        return scale, shift
    if step is None or step == "passthrough":
        return scaling
    if isinstance(step, SelectorMixin):
        kept = step.get_support()
        return None if scaling is None else (scaling[0][kept], scaling[1][kept])
    if type(step).__module__.startswith("sklearn.impute"):
        is_same = scaling is not None and len(scaling[0]) == len(step.get_feature_names_out())
        return scaling if is_same else None
    own = _of_scaler(step)
    if own is None or scaling is None:
        return own
    return own[0] * scaling[0], own[0] * scaling[1] + own[1]


def _of_scaler(step: BaseEstimator) -> Scaling | None:
    """The scaling of one of scikit-learn's scalers, None for other steps."""
    if isinstance(step, MinMaxScaler):
        return step.scale_, step.min_
    if not isinstance(step, StandardScaler | RobustScaler | MaxAbsScaler):
        return None
    scale = np.ones(step.n_features_in_) if step.scale_ is None else 1.0 / step.scale_
    with_mean = isinstance(step, StandardScaler) and step.with_mean
    centre = step.mean_ if with_mean else getattr(step, "center_", None)
    return scale, np.zeros(len(scale)) if centre is None else -scale * centre

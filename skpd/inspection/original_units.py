"""The scales and shifts of the features that fitted transformers make of columns."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from .._typing import Array

Scaling = tuple[Array, Array]  # scale and shift: a column x becomes scale * x + shift


def scaling_of(transformer: BaseEstimator | None, n_features: int) -> Scaling:
    """The scaling of each feature that a fitted transformer makes.

    Features of other steps than scalers, such as indicators, splines and principal components,
    have the unit in which these steps make them.
    """
    scale, shift = np.ones(n_features), np.zeros(n_features)
    if isinstance(transformer, Pipeline):
        for _, step in transformer.steps:
            factor, change = scaling_of(step, n_features)
            scale, shift = (
                (factor * scale, factor * shift + change)
                if _keeps_units(step)
                else (factor, change)
            )
    elif isinstance(transformer, ColumnTransformer):
        for name, part, _ in transformer.transformers_:
            places = transformer.output_indices_[name]
            scale[places], shift[places] = scaling_of(part, places.stop - places.start)
    elif getattr(transformer, "n_features_in_", None) == n_features:
        if isinstance(transformer, MinMaxScaler):
            return transformer.scale_, transformer.min_
        if isinstance(transformer, StandardScaler | RobustScaler | MaxAbsScaler):
            scale = scale if transformer.scale_ is None else 1.0 / transformer.scale_
            with_mean = isinstance(transformer, StandardScaler) and transformer.with_mean
            centre = transformer.mean_ if with_mean else getattr(transformer, "center_", None)
            shift = shift if centre is None else -scale * centre
    return scale, shift


def _keeps_units(step: BaseEstimator) -> bool:
    """Whether the features of a step have the unit of its columns, up to a scaling."""
    scalers = MaxAbsScaler | MinMaxScaler | RobustScaler | StandardScaler
    nested = isinstance(step, Pipeline | ColumnTransformer)
    return (
        nested or isinstance(step, scalers) or type(step).__module__.startswith("sklearn.impute")
    )

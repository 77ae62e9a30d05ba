"""The names of features that transformers make, and numbers that are given by these names."""

from collections.abc import Iterable, Sequence
from copy import copy
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from .._checks import shown

Names = np.ndarray | Sequence[str] | None  # None where features have no names


def names_out(
    transformer: BaseEstimator, names: Names = None, unnamed: Names = None,
    base_levels: bool = False,
) -> Names:  # fmt: skip
    """The names of the features that a fitted transformer makes from named ones.

    ``names`` may be None, for numbers without names, and ``unnamed`` is returned for such. With
    ``base_levels`` the names include those of the levels that a `OneHotEncoder` drops.
    """
    if isinstance(transformer, Pipeline) or transformer in (None, "passthrough"):
        for _, step in getattr(transformer, "steps", ()):
            names = names_out(step, names, base_levels=base_levels)
        return unnamed if names is None else names
    transformer = copy(transformer)
    if isinstance(transformer, ColumnTransformer):
        transformer.transformers_ = [
            (name, _with_names(part, transformer.output_indices_[name], base_levels), columns)
            for name, part, columns in transformer.transformers_
            if part != "drop"
        ]
    elif base_levels and hasattr(transformer, "_drop_idx_after_grouping"):
        transformer._drop_idx_after_grouping = None
    try:
        return transformer.get_feature_names_out(names)
    except (AttributeError, ValueError):  # it or a part has no names, or two have the same
        return unnamed


def _with_names(part: BaseEstimator | str, columns: slice, base_levels: bool) -> SimpleNamespace:
    """What gives the names of a part of a `ColumnTransformer`, or of its places without any."""
    unnamed = np.array([f"x{j}" for j in range(columns.start, columns.stop)], dtype=object)
    give = partial(names_out, part, unnamed=unnamed, base_levels=base_levels)
    return SimpleNamespace(get_feature_names_out=give)


def required_names(parameter: str, names: Names) -> np.ndarray:
    """The names of features, or a ValueError that says how they get names."""
    if names is None:
        raise ValueError(
            f"{parameter} asks for names of columns, but X has none: pass a data frame, or put "
            "the transformers before the model into skpd.track_columns, whose arrays carry names."
        )
    return np.array(names, dtype=object)


def features_named(parameter: str, keys: Iterable, names: np.ndarray) -> dict[Any, list[int]]:
    """The indices of the features that have a name, or whose name fits a pattern of `fnmatch`.

    Raises
    ------
    ValueError
        If a key is neither the name of a feature nor a pattern that one fits.
    """
    indices: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        indices.setdefault(name, []).append(index)
    features = {}
    for key in keys:
        fitting = (index for index, name in enumerate(names) if fnmatchcase(name, str(key)))
        features[key] = indices.get(key) or list(fitting)
        if not features[key]:
            similar = [name for name in indices if str(key).strip("*?") in name][:3]
            similar = similar or get_close_matches(str(key), indices, n=3)
            raise ValueError(
                f"{parameter} must hold names of the columns of X, which {key!r} is not, or "
                f"patterns that fit some, such as 'region_*'; {'similar' if similar else 'first'} "
                f"of the {len(names)} names are {similar or list(names[:5])}."
            )
    return features


def by_feature(parameter: str, values: object, names: Names, default: Any) -> Any:
    """What a parameter says of each feature, where it is given by the names of the features.

    Parameters
    ----------
    parameter : str
        Its name, for messages.
    values : dict, callable or object
        A dict holds values of the features that have a name or fit a pattern; names go before
        patterns, and later patterns before earlier ones. A callable of the names returns such a
        dict, or what else the parameter takes. Other objects are returned as they are.
    names : sequence of str, or None where X has none
    default : float or tuple of float
        What holds for features without a value, and in place of None.
    """
    if callable(values):
        values = values(required_names(parameter, names))
    if not isinstance(values, dict):
        return values
    names = required_names(parameter, names)
    kind = "a pair (lower, upper)" if np.shape(default) else "a number"
    numbers = np.full((len(names), *np.shape(default)), default, dtype=np.float64)
    features, known = features_named(parameter, values, names), set(names)
    for key in sorted(features, key=known.__contains__):  # names after patterns
        value = np.array(values[key], dtype=object)
        try:
            if value.shape != np.shape(default) or value[()] is None:
                raise TypeError
            missing = value == np.array(None)  # an end of a pair may be
            numbers[features[key]] = np.where(missing, default, value).astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            got = shown(values[key])
            raise ValueError(f"{parameter} must be {kind} for {key!r}, got {got}.") from None
    return numbers.T

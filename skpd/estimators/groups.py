"""Groups of features by the names of columns, and by what a transformer made them from."""

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, SplineTransformer
from sklearn.utils.validation import check_is_fitted

__all__ = ["groups_by_place", "groups_from"]


def groups_by_place(groups: Any, feature_names: Any) -> Any:
    """Groups whose names of features are replaced by their places.

    Parameters
    ----------
    groups : object
        As `GroupLassoSVC` takes them.
    feature_names : ndarray of shape (n_features,) or None
        The names of the columns of X, None where they have none.

    Returns
    -------
    groups : object
        As `skpd.penalties.GroupL2` takes them.

    Raises
    ------
    ValueError
        If a name is not among those of the columns.
    """
    lists = list(groups.values()) if isinstance(groups, dict) else groups
    if not isinstance(lists, list | tuple) or not any(map(_holds_names, lists)):
        return lists
    if feature_names is None:
        raise ValueError(
            "groups hold names of columns, but X has none: pass a data frame, or indices of the "
            "columns."
        )
    places = {name: place for place, name in enumerate(feature_names)}
    unknown = [name for group in lists for name in group if name not in places]
    if unknown:
        raise ValueError(
            f"groups must hold names of the columns of X, which {unknown[0]!r} is not "
            f"({len(unknown)} in all); they begin with {list(feature_names[:5])}."
        )
    return [[places[name] for name in group] for group in lists]


def _holds_names(group: Any) -> bool:
    return not isinstance(group, str) and any(
        isinstance(name, str) for name in np.atleast_1d(group)
    )


def groups_from(transformer: Any) -> np.ndarray:
    """A label for each column that a fitted transformer makes: the column that it comes from.

    So the columns that a `OneHotEncoder` makes of a category are a group, and a number that
    is scaled is a group of its own.

    Parameters
    ----------
    transformer : transformer
        Fitted: a `ColumnTransformer`, `Pipeline`, `FeatureUnion`, `OneHotEncoder`,
        `KBinsDiscretizer`, `SplineTransformer`, a selector of features or one that makes a column
        of each. Columns that any other transformer makes are a group together.

    Returns
    -------
    labels : ndarray of str, of shape (n_columns_out,)
        The names of the columns that came in, or "x0", "x1", ... where they had none; for a group
        of several of them their names, joined by "+". For the ``groups`` of `GroupLassoSVC`.

    Notes
    -----
    The labels are those of the columns that this transformer makes as it is fitted now. Where a
    cross-validation fits its steps anew, they must make the same columns in every fold: give
    `OneHotEncoder` its ``categories``, and let no step between it and the model select columns.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from skpd import groups_from
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 2.0]])
    >>> transformer = make_column_transformer((StandardScaler(), [0]), (OneHotEncoder(), [1]))
    >>> groups_from(transformer.fit(X))
    array(['x0', 'x1', 'x1', 'x1'], dtype='<U2')
    """
    check_is_fitted(transformer)
    return np.asarray(_origins(transformer, _names_in(transformer)))


def _names_in(transformer: Any) -> np.ndarray:
    """The names of the columns that came in; scikit-learn sets them only where there are any."""
    names = getattr(transformer, "feature_names_in_", None)
    if names is None:
        names = [f"x{place}" for place in range(transformer.n_features_in_)]
    return np.asarray(names, dtype=np.str_)


@singledispatch
def _origins(transformer: Any, names: np.ndarray) -> np.ndarray:
    """For each column that comes out the one of ``names`` it was made from, or several joined.

    As it is here, for transformers whose columns keep the names of those that they come from.
    """
    own = list(_names_in(transformer))
    together = "+".join(names)
    return np.array(
        [
            names[own.index(name)] if name in own else together
            for name in transformer.get_feature_names_out()
        ],
        dtype=np.str_,
    )


@_origins.register
def _(transformer: SplineTransformer, names: np.ndarray) -> np.ndarray:
    return np.repeat(names, len(transformer.get_feature_names_out()) // len(names))


@_origins.register
def _(transformer: KBinsDiscretizer, names: np.ndarray) -> np.ndarray:
    return names if transformer.encode == "ordinal" else np.repeat(names, transformer.n_bins_)


@_origins.register
def _(transformer: OneHotEncoder, names: np.ndarray) -> np.ndarray:
    sizes = np.array([len(categories) for categories in transformer.categories_])
    for k, dropped in enumerate(_infrequent(transformer, len(names))):
        sizes[k] -= max(len(dropped) - 1, 0)  # one column for all of them
    if transformer.drop_idx_ is not None:
        sizes -= np.array([index is not None for index in transformer.drop_idx_])
    return np.repeat(names, sizes)


def _infrequent(encoder: OneHotEncoder, n_columns: int) -> list:
    """For each column the categories that are too infrequent for a column of their own."""
    if encoder.min_frequency is None and encoder.max_categories is None:
        return [()] * n_columns
    found = encoder.infrequent_categories_
    return [() if categories is None else categories for categories in found]


@_origins.register
def _(transformer: Pipeline, names: np.ndarray) -> np.ndarray:
    for _, step in transformer.steps:
        if step not in (None, "passthrough"):
            names = _origins(step, names)
    return names


@_origins.register
def _(transformer: FeatureUnion, names: np.ndarray) -> np.ndarray:
    found = []
    for _, part in transformer.transformer_list:
        if part != "drop":
            found.append(names if part == "passthrough" else _origins(part, names))
    return np.concatenate(found)


@_origins.register
def _(transformer: ColumnTransformer, names: np.ndarray) -> np.ndarray:
    found = np.empty(len(transformer.get_feature_names_out()), dtype=object)
    for name, part, columns in transformer.transformers_:
        places = transformer.output_indices_[name]
        if part != "drop" and places.stop > places.start:
            some = _chosen(columns, names)
            found[places] = some if part == "passthrough" else _origins(part, some)
    return found.astype(np.str_)


def _chosen(columns: Any, names: np.ndarray) -> np.ndarray:
    """The names of the columns that a part of a ColumnTransformer takes."""
    if isinstance(columns, slice):
        ends = (columns.start, columns.stop)
        if not any(isinstance(end, str) for end in ends):
            return names[columns]
        first, last = (None if end is None else list(names).index(end) for end in ends)
        return names[first : None if last is None else last + 1]  # as pandas, with both ends
    chosen = np.atleast_1d(columns)
    return chosen.astype(np.str_) if chosen.dtype.kind in "OU" else names[chosen]

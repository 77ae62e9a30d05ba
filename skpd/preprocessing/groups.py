"""Groups of features by the names of columns, and by the columns that a transformer took."""

from collections import Counter

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._typing import ArrayLike, Groups, MatrixLike, PerRow
from .column_sources import Sources, carried_sources, sources_of
from .feature_names import Names, features_named, required_names


def groups_by_index(groups: Groups, feature_names: Names) -> Groups:
    """Groups whose names of features are replaced by their indices.

    Parameters
    ----------
    groups : object
        Groups in a format of `GroupLassoSVC`.
    feature_names : sequence of str or None
        The names of the columns of X, None where they have none.

    Returns
    -------
    groups : object
        Groups in a format of `skpd.penalties.GroupL2`.

    Raises
    ------
    ValueError
        If a name is not among those of the columns.
    """
    lists = groups
    if isinstance(groups, dict):
        lists = [[group] if isinstance(group, str) else group for group in groups.values()]
    if not isinstance(lists, list | tuple) or not any(map(_holds_names, lists)):
        return lists
    names = required_names("groups", feature_names)
    features = features_named("groups", (name for group in lists for name in group), names)
    named = {index for indices in features.values() for index in indices}
    missing = [name for index, name in enumerate(names) if index not in named]
    if missing:
        raise ValueError(
            f"groups must hold every column of X, but they miss {missing[0]!r} "
            f"({len(missing)} in all)."
        )
    return [[index for name in group for index in features[name]] for group in lists]


def _holds_names(group: ArrayLike) -> bool:
    return not isinstance(group, str) and any(
        isinstance(name, str) for name in np.atleast_1d(group)
    )


def feature_groups(transformer: BaseEstimator, X: MatrixLike | None = None) -> np.ndarray:
    """Labels of the features that a fitted transformer makes: the columns that they come from.

    The features that a `OneHotEncoder` makes of a category are then a group, and a number that
    is scaled is a group of its own, together with the indicator of its missing values.

    Parameters
    ----------
    transformer : transformer
        A fitted transformer. Pipelines, unions and column transformers are followed into their
        parts. The columns are found by the names of the features, for any transformer whose
        ``get_feature_names_out`` makes these of the names of columns.
    X : {array-like, sparse matrix} of shape (n_samples, n_columns), default=None
        Some rows, for transformers whose names of features are not made of the names of columns:
        a feature comes from a column if it changes when rows of the column are exchanged. Without
        X all features of such a transformer are one group.

    Returns
    -------
    labels : ndarray of str, of shape (n_features,)
        The name of the column of each feature, or "x0", "x1", ... where columns had no names; for
        several columns their names, joined by "+". For the ``groups`` of `GroupLassoSVC`.

    Raises
    ------
    TypeError
        If the transformer is not a fitted one.

    See Also
    --------
    track_columns : Groups that are found when the model is fitted, in every fold of a
        cross-validation.

    Notes
    -----
    The labels are those of the features that this transformer makes as it is fitted now. Where a
    cross-validation fits it anew, use `track_columns` and ``groups="auto"``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from skpd import feature_groups
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 2.0]])
    >>> transformer = make_column_transformer((StandardScaler(), [0]), (OneHotEncoder(), [1]))
    >>> feature_groups(transformer.fit(X))
    array(['x0', 'x1', 'x1', 'x1'], dtype='<U2')
    """
    if not hasattr(transformer, "transform"):
        raise TypeError(f"feature_groups takes a fitted transformer, got {transformer!r}.")
    check_is_fitted(transformer)
    return sources_of(transformer, X).labels()


def required_sources(X: MatrixLike) -> Sources:
    """The sources of the features of X, an array that `track_columns` has made.

    Raises
    ------
    ValueError
        If X has no sources.
    """
    sources = carried_sources(X)
    if sources is None:
        raise ValueError(
            "groups='auto' needs features that say which column they come from, as those of "
            "skpd.track_columns do: make_pipeline(track_columns(preprocessing), model), with all "
            "steps before the model inside of track_columns, such as a ColumnTransformer with a "
            f"OneHotEncoder for columns of categories. X is {type(X).__name__}, without names."
        )
    return sources


def weights_of_groups(weights: PerRow, groups: Groups, columns: tuple[str, ...] = ()) -> PerRow:
    """Weights of groups in their order, where they are given by the names of the groups.

    Parameters
    ----------
    weights : dict, array-like or None
        Weights in a format of `GroupLassoSVC`.
    groups : object
        Groups in a format of `GroupLassoSVC`; labels where they are "auto".
    columns : tuple of str, default=()
        Names that may have a weight without a group, as of columns whose features are left out.

    Raises
    ------
    ValueError
        If a weight has a name that no group has.
    """
    if not isinstance(weights, dict):
        return weights
    if isinstance(groups, dict):
        sizes = {name: np.size(group) for name, group in groups.items()}
    else:
        sizes = Counter(np.ravel(groups).tolist())
    unknown = [name for name in weights if name not in sizes and name not in columns]
    if unknown:
        raise ValueError(
            f"group_weights must hold names of groups, which {unknown[0]!r} is not; they begin "
            f"with {list(sizes)[:5]}."
        )
    return [weights.get(name, np.sqrt(size)) for name, size in sizes.items()]

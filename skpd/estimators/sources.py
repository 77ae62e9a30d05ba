"""Sources of features: the columns of a table that transformers make them from."""

from copy import copy
from dataclasses import dataclass
from functools import singledispatch
from re import findall
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from .._compat import _safe_indexing

# characters for private use, which no name of a column and no category has
TOKEN, TOKENS = "\ue000{}\ue001", "\ue000(\\d+)\ue001"
ROWS = 200  # that are transformed to see which columns matter where names do not tell
MOST_COLUMNS = 500  # whose rows are exchanged, each for one transformation of so many rows
CHANGE = 1e-9  # of the largest size of a feature, from which on it counts as changed


@dataclass(frozen=True)
class Sources:
    """The columns that each feature comes from.

    Attributes
    ----------
    columns : tuple of str
        The names of the columns of the table.
    of_features : tuple of frozenset of int
        The indices of the columns that each feature is made from.
    """

    columns: tuple[str, ...]
    of_features: tuple[frozenset[int], ...]

    def __deepcopy__(self, memo: dict) -> "Sources":
        return self  # pandas copies the attributes of a frame with every slice of it

    def labels(self) -> np.ndarray:
        """For each feature the name of its column, or the names of several joined by "+"."""
        kinds = list(dict.fromkeys(self.of_features))
        texts = ["+".join(self.columns[place] for place in sorted(kind)) for kind in kinds]
        if len(set(texts)) < len(texts):  # a column is called "a+b", or two have one name
            texts = [f"{text} {sorted(kind)}" for text, kind in zip(texts, kinds, strict=True)]
        label = dict(zip(kinds, texts, strict=True))
        return np.array([label[kind] for kind in self.of_features], dtype=np.str_)


def sources_of(transformer: Any, X: Any = None) -> Sources:
    """The sources of the features that a fitted transformer makes.

    The sources follow from the names that the transformer gives its features if each column has a
    distinct name. Where they do not, the rows of one column after the other are exchanged, and the
    features that change come from the column.

    Parameters
    ----------
    transformer : transformer
        A fitted transformer. Pipelines, unions and column transformers are followed into their
        parts.
    X : {array-like, sparse matrix} of shape (n_samples, n_columns), default=None
        Rows that the transformer can transform. Without them a feature whose name is not made of
        names of columns comes from all columns that its transformer takes.
    """
    unnamed = [f"x{place}" for place in range(getattr(transformer, "n_features_in_", 1))]
    names = getattr(transformer, "feature_names_in_", unnamed)
    found = _sources(transformer, len(names), X[:ROWS] if hasattr(X, "shape") else None)
    return Sources(tuple(map(str, names)), tuple(found))


@singledispatch
def _sources(transformer: Any, n_columns: int, X: Any) -> list[frozenset[int]]:
    """The indices of the columns that each feature of a transformer comes from."""
    names = _names_with_tokens(transformer, n_columns)
    if names is not None:
        found = [frozenset(map(int, findall(TOKENS, name))) for name in names]
        if all(found):
            return found
    every = frozenset(range(n_columns))
    if 1 < n_columns <= MOST_COLUMNS and X is not None:
        return [places or every for places in _places_that_matter(transformer, X)]
    return [every] * len(transformer.get_feature_names_out())


def _names_with_tokens(transformer: Any, n_columns: int) -> Any:
    """The names of features for columns whose names are tokens; None without such names."""
    unnamed = copy(transformer)
    vars(unnamed).pop("feature_names_in_", None)  # which scikit-learn insists on
    try:
        return unnamed.get_feature_names_out([TOKEN.format(k) for k in range(n_columns)])
    except Exception:  # transformers of any library: exchanged rows will tell
        return None


def _places_that_matter(transformer: Any, X: Any) -> list[frozenset[int]]:
    """For each feature the columns of X whose changes change it."""
    before = _numbers(transformer.transform(X))
    least = CHANGE * abs(before).max(axis=0).toarray().ravel()
    found: list[set[int]] = [set() for _ in least]
    for k in range(X.shape[1]):
        change = (_numbers(transformer.transform(_with_exchanged_rows(X, k))) - before).tocoo()
        for feature in np.unique(change.col[abs(change.data) > least[change.col]]):
            found[feature].add(k)
    return [frozenset(places) for places in found]


def _numbers(X: Any) -> Any:
    """A sparse array of X with finite numbers."""
    if not sp.issparse(X):
        X = np.asarray(X, dtype=np.float64)
    X = sp.csc_array(X)
    X.data = np.nan_to_num(X.data)
    return X


def _with_exchanged_rows(X: Any, place: int) -> Any:
    """A copy of X with the rows of a column moved by one."""
    moved = np.roll(np.arange(X.shape[0]), 1)
    if hasattr(X, "isetitem"):  # a data frame of pandas
        X = X.copy()
        X.isetitem(place, X.iloc[moved, place].array)
        return X
    X = X.toarray() if sp.issparse(X) else np.array(X)
    X[:, place] = X[moved, place]
    return X


@_sources.register
def _(transformer: Pipeline, n_columns: int, X: Any) -> list[frozenset[int]]:
    found = [frozenset([place]) for place in range(n_columns)]
    for _, step in transformer.steps:
        if step not in (None, "passthrough"):
            found = _through(found, _sources(step, len(found), X))
            X = None if X is None else step.transform(X)
    return found


@_sources.register
def _(transformer: FeatureUnion, n_columns: int, X: Any) -> list[frozenset[int]]:
    found: list[frozenset[int]] = []
    for _, part in transformer.transformer_list:
        if part == "passthrough":
            found += [frozenset([place]) for place in range(n_columns)]
        elif part != "drop":
            found += _sources(part, n_columns, X)
    return found


@_sources.register
def _(transformer: ColumnTransformer, n_columns: int, X: Any) -> list[frozenset[int]]:
    ends = [places.stop for places in transformer.output_indices_.values()]
    found: list[frozenset[int]] = [frozenset()] * max(ends, default=0)
    for name, part, columns in transformer.transformers_:
        places = transformer.output_indices_[name]
        if part == "drop" or places.stop == places.start:
            continue
        indices = transformer._transformer_to_input_indices[name]
        chosen = [frozenset([int(place)]) for place in indices]
        some = None if X is None else _safe_indexing(X, columns, axis=1)
        own = chosen if part == "passthrough" else _sources(part, len(chosen), some)
        found[places] = own if part == "passthrough" else _through(chosen, own)
    return found


def _through(before: list[frozenset[int]], places: list[frozenset[int]]) -> list[frozenset[int]]:
    """The sources of features that are made from features with sources of their own."""
    return [frozenset().union(*(before[place] for place in own)) for own in places]

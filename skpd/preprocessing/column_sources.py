"""The columns that features come from, and pipelines whose features carry them along."""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass
from functools import singledispatch
from re import findall
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

from .._compat import _safe_indexing
from .._typing import ArrayLike, Matrix, MatrixLike, PerRow
from .feature_names import names_out

ATTRIBUTE = "skpd_sources"  # a data frame's attribute: names of features, their sources
# names with characters for private use, which no column and no category has
TOKEN, TOKENS = "\ue000{}\ue001", "\ue000(\\d+)\ue001"
ROWS = 200  # rows that are transformed to find the columns of features without names
MAX_COLUMNS = 500  # columns at most for which this is done, with a transformation for each
CHANGE = 1e-9  # the change of a feature that counts, relative to its largest size


@dataclass(frozen=True)
class Sources:
    """The columns that each feature comes from, and the names of features.

    Attributes
    ----------
    columns : tuple of str
        The names of the columns of the table.
    of_features : tuple of frozenset of int
        The indices of the columns that each feature is made from.
    names : tuple of str or None
        The names of the features; None where the transformer gives none.
    """

    columns: tuple[str, ...]
    of_features: tuple[frozenset[int], ...]
    names: tuple[str, ...] | None = None

    def __deepcopy__(self, memo: dict) -> "Sources":
        return self  # pandas copies the attributes of a frame with every slice of it

    def labels(self) -> np.ndarray:
        """For each feature the name of its column, or the names of several joined by "+"."""
        kinds = list(dict.fromkeys(self.of_features))
        texts = ["+".join(self.columns[k] for k in sorted(kind)) for kind in kinds]
        if len(set(texts)) < len(texts):  # a column is called "a+b", or two have one name
            texts = [f"{text} {sorted(kind)}" for text, kind in zip(texts, kinds, strict=True)]
        label = dict(zip(kinds, texts, strict=True))
        return np.array([label[kind] for kind in self.of_features], dtype=np.str_)


def sources_of(transformer: BaseEstimator, X: MatrixLike | None = None) -> Sources:
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
    unnamed = [f"x{k}" for k in range(getattr(transformer, "n_features_in_", 1))]
    names = getattr(transformer, "feature_names_in_", unnamed)
    rows = None if X is None or not hasattr(X, "shape") else _safe_indexing(X, slice(ROWS))
    of_features, made = tuple(_sources(transformer, len(names), rows)), names_out(transformer)
    return Sources(tuple(map(str, names)), of_features, None if made is None else tuple(made))


@singledispatch
def _sources(transformer: BaseEstimator, n_columns: int, X: Matrix | None) -> list[frozenset[int]]:
    """The indices of the columns that each feature of a transformer comes from."""
    names = _names_with_tokens(transformer, n_columns)
    if names is not None:
        sources = [frozenset(map(int, findall(TOKENS, name))) for name in names]
        if all(sources):
            return sources
    all_columns = frozenset(range(n_columns))
    if 1 < n_columns <= MAX_COLUMNS and X is not None:
        return [columns or all_columns for columns in _columns_that_matter(transformer, X)]
    return [all_columns] * len(transformer.get_feature_names_out())


def _names_with_tokens(transformer: BaseEstimator, n_columns: int) -> np.ndarray | None:
    """The names of features for columns whose names are tokens; None without such names."""
    unnamed = copy(transformer)
    vars(unnamed).pop("feature_names_in_", None)  # scikit-learn would accept no other names
    try:
        return unnamed.get_feature_names_out([TOKEN.format(k) for k in range(n_columns)])
    except Exception:  # any library may raise any error, and exchanged rows tell the sources
        return None


def _columns_that_matter(transformer: BaseEstimator, X: Matrix) -> list[frozenset[int]]:
    """For each feature the columns of X whose changes change it."""
    before = _numbers(transformer.transform(X))
    thresholds = CHANGE * abs(before).max(axis=0).toarray().ravel()
    sources: list[set[int]] = [set() for _ in thresholds]
    for k in range(X.shape[1]):
        change = (_numbers(transformer.transform(_with_exchanged_rows(X, k))) - before).tocoo()
        for feature in np.unique(change.col[abs(change.data) > thresholds[change.col]]):
            sources[feature].add(k)
    return list(map(frozenset, sources))


def _numbers(X: Matrix) -> sp.csc_array:
    """A sparse array of X with finite numbers."""
    if not sp.issparse(X):
        X = np.asarray(X, dtype=np.float64)
    X = sp.csc_array(X)
    X.data = np.nan_to_num(X.data)
    return X


def _with_exchanged_rows(X: Matrix, column: int) -> Matrix:
    """A copy of X with the rows of a column moved by one."""
    moved = np.roll(np.arange(X.shape[0]), 1)
    if hasattr(X, "isetitem") and hasattr(X, "iloc"):  # a data frame of pandas
        X = X.copy()
        X.isetitem(column, X.iloc[moved, column].array)
        return X
    X = X.toarray() if hasattr(X, "toarray") else np.array(X)
    X[:, column] = X[moved, column]
    return X


@_sources.register
def _(transformer: Pipeline, n_columns: int, X: Matrix | None) -> list[frozenset[int]]:
    sources = _each_column(range(n_columns))
    for _, step in transformer.steps:
        if step not in (None, "passthrough"):
            sources = _composed(sources, _sources(step, len(sources), X))
            X = None if X is None else step.transform(X)
    return sources


@_sources.register
def _(transformer: FeatureUnion, n_columns: int, X: Matrix | None) -> list[frozenset[int]]:
    sources: list[frozenset[int]] = []
    for _, part in transformer.transformer_list:
        if part == "passthrough":
            sources += _each_column(range(n_columns))
        elif part != "drop":
            sources += _sources(part, n_columns, X)
    return sources


@_sources.register
def _(transformer: ColumnTransformer, n_columns: int, X: Matrix | None) -> list[frozenset[int]]:
    ends = [features.stop for features in transformer.output_indices_.values()]
    sources: list[frozenset[int]] = [frozenset()] * max(ends, default=0)
    for name, part, columns in transformer.transformers_:
        features = transformer.output_indices_[name]
        if part == "drop" or features.stop == features.start:
            continue
        inputs = _each_column(transformer._transformer_to_input_indices[name])
        if part != "passthrough":
            X_of_part = None if X is None else _safe_indexing(X, columns, axis=1)
            inputs = _composed(inputs, _sources(part, len(inputs), X_of_part))
        sources[features] = inputs
    return sources


def _each_column(columns: Iterable[int]) -> list[frozenset[int]]:
    """The sources of features that are columns themselves."""
    return [frozenset([int(column)]) for column in columns]


def _composed(inner: list[frozenset[int]], outer: list[frozenset[int]]) -> list[frozenset[int]]:
    """The sources of features that are made from features with sources of their own."""
    return [frozenset().union(*(inner[feature] for feature in features)) for features in outer]


class ColumnTrackingPipeline(Pipeline):
    """Pipeline of transformers whose output holds the name and the column of each feature.

    The function `track_columns` makes it; in all else it is a `sklearn.pipeline.Pipeline`.
    """

    def fit(self, X: MatrixLike, y: PerRow = None, **params: ArrayLike) -> Self:
        """Fit the steps, and find the sources of the features that they make.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_columns)
        y : array-like of shape (n_samples,), default=None
            Targets, for steps that use them.
        **params : dict
            Parameters of the steps, as in `sklearn.pipeline.Pipeline`.

        Returns
        -------
        self : object
        """
        super().fit(X, y, **params)
        self.sources_ = sources_of(self, X)
        return self

    def fit_transform(self, X: MatrixLike, y: PerRow = None, **params: ArrayLike) -> Matrix:
        """Fit the steps and transform X, as `fit` and `transform` do.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_columns)
        y : array-like of shape (n_samples,), default=None
            Targets, for steps that use them.
        **params : dict
            Parameters of the steps, as in `sklearn.pipeline.Pipeline`.

        Returns
        -------
        Xt : {ndarray, sparse matrix, data frame} of shape (n_samples, n_features)
        """
        transformed = super().fit_transform(X, y, **params)
        self.sources_ = sources_of(self, X)
        return _with_sources(transformed, self.sources_)

    def transform(self, X: MatrixLike, **params: ArrayLike) -> Matrix:
        """Transform X by all steps.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_columns)
        **params : dict
            Parameters of the steps, as in `sklearn.pipeline.Pipeline`.

        Returns
        -------
        Xt : {ndarray, sparse matrix, data frame} of shape (n_samples, n_features)
        """
        return _with_sources(super().transform(X, **params), self.sources_)


def track_columns(
    *steps: BaseEstimator, memory: object = None, verbose: bool = False
) -> ColumnTrackingPipeline:
    """Pipeline of transformers whose features carry their names and the columns they come from.

    An estimator with ``groups="auto"`` after these steps finds the groups of its features when it
    is fitted: the features that a `OneHotEncoder` makes of a column, with its indicator of missing
    values, are one group. Each fold of a cross-validation then has groups of its own features.
    The names serve ``penalty_weights``, ``bounds`` and ``groups`` that are given by name, also for
    sparse arrays, which have no names otherwise. Every step that changes features belongs into
    this pipeline, such as scalers and selectors.

    Parameters
    ----------
    *steps : transformers
        The steps, as in `sklearn.pipeline.make_pipeline`.
    memory : str or object, default=None
        Cache of fitted transformers, as in `sklearn.pipeline.Pipeline`.
    verbose : bool, default=False
        Whether to print the time of each step, as in `sklearn.pipeline.Pipeline`.

    Returns
    -------
    pipeline : ColumnTrackingPipeline

    Raises
    ------
    TypeError
        If a step is no transformer; the model comes after this pipeline.

    See Also
    --------
    feature_groups : Labels of groups from transformers that are fitted already.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from skpd import GroupLassoSVC, track_columns
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 2.0], [4.0, 1.0]])
    >>> steps = make_column_transformer((StandardScaler(), [0]), (OneHotEncoder(), [1]))
    >>> model = make_pipeline(track_columns(steps), GroupLassoSVC(0.01, groups="auto"))
    >>> model.fit(X, [0, 0, 1, 1])[-1].groups_
    array(['x0', 'x1', 'x1', 'x1'], dtype='<U2')
    """
    for step in steps:
        if step not in (None, "passthrough") and not hasattr(step, "transform"):
            raise TypeError(
                f"track_columns takes transformers, got {step!r}: put an estimator behind it, "
                "as in make_pipeline(track_columns(transformer), estimator)."
            )
    return ColumnTrackingPipeline(make_pipeline(*steps).steps, memory=memory, verbose=verbose)


class _CarriesSources:
    """Array of features with their sources, which only selections of rows keep."""

    skpd_sources: Sources | None = None
    _plain: ClassVar[Callable[..., Matrix]]  # makes an array without sources

    def __getitem__(self, key: object) -> Any:
        selection = super().__getitem__(key)  # type: ignore[misc]
        others = key[1:] if isinstance(key, tuple) else ()
        if isinstance(selection, _CarriesSources) and all(map(_is_every_column, others)):
            selection.skpd_sources = self.skpd_sources
        return selection

    def __reduce__(self) -> tuple:
        return _with_sources, (self._plain(self), self.skpd_sources)


def _is_every_column(key: object) -> bool:
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


class _DenseWithSources(_CarriesSources, np.ndarray):
    _plain = np.asarray


class _MatrixWithSources(_CarriesSources, sp.csr_matrix):
    _plain = sp.csr_matrix


class _SparseWithSources(_CarriesSources, sp.csr_array):
    _plain = sp.csr_array


def _with_sources(X: Any, sources: Sources | None) -> Any:
    """X with the sources of its columns; other tables become arrays."""
    if hasattr(X, "attrs"):  # a data frame of pandas, whose columns may be chosen by name
        X.attrs[ATTRIBUTE] = tuple(X.columns), sources
        return X
    if sp.issparse(X):
        X = (_MatrixWithSources if sp.isspmatrix(X) else _SparseWithSources)(X)
    else:
        X = np.asarray(X).view(_DenseWithSources)
    X.skpd_sources = sources
    return X


def carried_sources(X: Any) -> Sources | None:
    """The sources of the columns of X; None where it has none."""
    if isinstance(X, _CarriesSources):
        return X.skpd_sources
    names, sources = getattr(X, "attrs", {}).get(ATTRIBUTE, ((), None))
    if sources is None or not set(X.columns) <= set(names):
        return None
    source = dict(zip(names, sources.of_features, strict=True))
    return Sources(sources.columns, tuple(source[name] for name in X.columns))

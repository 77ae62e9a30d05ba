"""Pipelines whose features carry the columns that they come from to the next step."""

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline, make_pipeline

from .docstrings import documented
from .sources import Sources, sources_of

ATTRIBUTE = "skpd_sources"  # of a data frame of pandas: names of features, and their sources


class SourcedPipeline(Pipeline):
    """Pipeline of transformers whose output holds the column that each feature comes from.

    The function `sourced` makes it; in all else it is a `sklearn.pipeline.Pipeline`.
    """

    @documented
    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the steps, and find the sources of the features that they make.

        {parameters_of_steps}

        Returns
        -------
        self : object
        """
        super().fit(X, y, **params)
        self.sources_ = sources_of(self, X)
        return self

    @documented
    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit the steps and transform X, as `fit` and `transform` do.

        {parameters_of_steps}

        Returns
        -------
        Xt : {ndarray, sparse matrix, data frame} of shape (n_samples, n_features)
        """
        transformed = super().fit_transform(X, y, **params)
        self.sources_ = sources_of(self, X)
        return _with_sources(transformed, self.sources_)

    def transform(self, X: Any, **params: Any) -> Any:
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


def sourced(*steps: Any, memory: Any = None, verbose: bool = False) -> SourcedPipeline:
    """Pipeline of transformers whose features carry their columns, for ``groups="auto"``.

    An estimator with ``groups="auto"`` after these steps finds the groups of its features when it
    is fitted: the features that a `OneHotEncoder` makes of a column, with its indicator of missing
    values, are one group. Each fold of a cross-validation then has groups of its own features.
    Every step that changes features belongs into this pipeline, such as scalers and selectors.

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
    pipeline : SourcedPipeline

    Raises
    ------
    TypeError
        If a step is no transformer; the model comes after this pipeline.

    See Also
    --------
    groups_from : Labels of groups from transformers that are fitted already.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> from skpd import GroupLassoSVC, sourced
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 2.0], [4.0, 1.0]])
    >>> steps = make_column_transformer((StandardScaler(), [0]), (OneHotEncoder(), [1]))
    >>> model = make_pipeline(sourced(steps), GroupLassoSVC(0.01, groups="auto"))
    >>> model.fit(X, [0, 0, 1, 1])[-1].groups_
    array(['x0', 'x1', 'x1', 'x1'], dtype='<U2')
    """
    for step in steps:
        if step not in (None, "passthrough") and not hasattr(step, "transform"):
            raise TypeError(
                f"sourced takes transformers, got {step!r}: put an estimator behind it, as in "
                "make_pipeline(sourced(transformer), estimator)."
            )
    return SourcedPipeline(make_pipeline(*steps).steps, memory=memory, verbose=verbose)


class _CarriesSources:
    """Array of features with their sources, which only selections of rows keep."""

    skpd_sources: Sources | None = None

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)  # type: ignore[misc]
        others = key[1:] if isinstance(key, tuple) else ()
        if isinstance(found, _CarriesSources) and all(map(_is_every_column, others)):
            found.skpd_sources = self.skpd_sources
        return found

    def __reduce__(self) -> Any:
        return _with_sources, (self._plain(self), self.skpd_sources)  # type: ignore[attr-defined]


def _is_every_column(key: Any) -> bool:
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


class _DenseWithSources(_CarriesSources, np.ndarray):
    _plain: ClassVar[Any] = np.asarray


class _MatrixWithSources(_CarriesSources, sp.csr_matrix):
    _plain: ClassVar[Any] = sp.csr_matrix


class _SparseWithSources(_CarriesSources, sp.csr_array):
    _plain: ClassVar[Any] = sp.csr_array


def _with_sources(X: Any, sources: Sources | None) -> Any:
    """X with the sources of its columns; other tables become arrays."""
    if hasattr(X, "attrs"):  # a data frame of pandas, whose columns may be chosen by name
        X.attrs[ATTRIBUTE] = tuple(X.columns), sources
        return X
    found: Any
    if sp.issparse(X):
        found = (_MatrixWithSources if sp.isspmatrix(X) else _SparseWithSources)(X)
    else:
        found = np.asarray(X).view(_DenseWithSources)
    found.skpd_sources = sources
    return found


def carried_sources(X: Any) -> Sources | None:
    """The sources of the columns of X; None where it has none."""
    if isinstance(X, _CarriesSources):
        return X.skpd_sources
    names, sources = getattr(X, "attrs", {}).get(ATTRIBUTE, ((), None))
    if sources is None or not set(X.columns) <= set(names):
        return None
    found = dict(zip(names, sources.of_features, strict=True))
    return Sources(sources.columns, tuple(found[name] for name in X.columns))

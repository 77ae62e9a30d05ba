"""Standardisation of data in blocks of rows."""

from copy import copy as copy_of
from functools import partial

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from .._typing import Matrix, MatrixLike, PerRow
from ..designs import RowBlocks
from ..formulation.validation import check_features, checked


class BlockScaler(StandardScaler):
    """`sklearn.preprocessing.StandardScaler` that also takes `RowBlocks`.

    Blocks are read once in `fit`; transformed blocks are scaled one by one, when they are read.
    Rows in memory are scaled as by scikit-learn, so that a pipeline that is fitted to blocks
    predicts any rows.

    Parameters
    ----------
    copy : bool, default=True
        Whether to leave arrays unchanged and scale a copy.
    with_mean : bool, default=True
        Whether to centre features; not possible for sparse data.
    with_std : bool, default=True
        Whether to divide them by their standard deviations.

    Attributes
    ----------
    mean_, scale_, var_, n_samples_seen_, n_features_in_, feature_names_in_
        The attributes of `StandardScaler`.

    Raises
    ------
    ValueError
        If sparse data are to be centred.

    See Also
    --------
    RowBlocks : Data in blocks of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from skpd import BlockScaler, PdproxSVC, RowBlocks
    >>> X = 3.0 + np.random.default_rng(0).normal(size=(300, 4))
    >>> y = X[:, 0] > 3.0
    >>> model = make_pipeline(BlockScaler(), PdproxSVC(0.01)).fit(RowBlocks([X[:200], X[200:]]), y)
    >>> model.predict(X[:2]) == y[:2]
    array([ True,  True])
    """

    def fit(self, X: MatrixLike, y: PerRow = None, sample_weight: PerRow = None) -> "BlockScaler":
        """Compute means and standard deviations.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowBlocks} of shape (n_samples, n_features)
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : BlockScaler
        """
        if not isinstance(X, RowBlocks):
            return super().fit(checked(X), y, sample_weight)
        self._reset()
        weights = None if sample_weight is None else np.asarray(sample_weight)
        for rows, block in X.read():
            self.partial_fit(block, sample_weight=None if weights is None else weights[rows])
        check_features(self, X, reset=True)
        return self

    def transform(self, X: MatrixLike, copy: bool | None = None) -> Matrix | RowBlocks:
        """Centre and scale rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowBlocks} of shape (n_samples, n_features)
        copy : bool, default=None
            Whether to scale a copy; the constructor's ``copy`` by default.

        Returns
        -------
        X : {ndarray, sparse matrix, RowBlocks} of the same shape
        """
        if not isinstance(X, RowBlocks):
            return super().transform(X, copy)
        check_is_fitted(self)
        check_features(self, X, reset=False)
        plain: BlockScaler = copy_of(self)
        if X.header is not None:
            del plain.feature_names_in_  # blocks have no names
        return X.mapped(partial(StandardScaler.transform, plain))

"""Predictions of linear models, for data and coefficients in sparse or dense format."""

from abc import abstractmethod

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import accuracy_score
from sklearn.utils.extmath import safe_sparse_dot

from .._checks import require_unmasked
from .._typing import Array, ArrayLike, Matrix, MatrixLike, Numbers, PerRow
from ..designs import Design, RowBlocks


class ScoredPredictions:
    """Base class of models whose score compares targets with predictions."""

    @abstractmethod
    def predict(self, X: MatrixLike, offset: PerRow = None) -> np.ndarray:
        """Predict the targets or class labels of rows."""

    def _score(self, y: ArrayLike, predicted: Array, weights: PerRow, offset: PerRow) -> float:
        """The score of predictions for rows with offsets, by default the accuracy."""
        return accuracy_score(y, predicted, sample_weight=weights)

    def score(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, offset: PerRow = None
    ) -> float:
        """The score of the predictions, larger for better ones.

        It is the accuracy of classifiers (`sklearn.metrics.accuracy_score`), R^2 of regressors
        (`r2_score`), and the mean over the quantiles of the share of the pinball loss
        (`d2_pinball_score`).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets or class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; 1 by default.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.

        Returns
        -------
        score : float
            At most 1.
        """
        require_unmasked("y", y)
        require_unmasked("sample_weight", sample_weight)
        return self._score(y, self.predict(X, offset), sample_weight, offset)


def linear_predictions(X: Matrix, coef: Matrix, intercept: Numbers) -> Array:
    """Products X coef' + intercept for coef of shape (n_outputs, n_features), sparse or dense.

    The result is in float32 where both X and coef are, from sums in float64.
    """
    if isinstance(X, RowBlocks):
        parts = [linear_predictions(block, coef, intercept) for _, block in X.read()]
        return np.concatenate(parts)
    if issparse(coef):
        product = X @ coef.T
        return (product.toarray() if hasattr(product, "toarray") else product) + intercept
    if X.dtype == np.float64:
        return safe_sparse_dot(X, coef.T, dense_output=True) + intercept
    design = Design(X)
    z = np.column_stack([design.matvec(w) for w in coef]) + intercept
    return z.astype(np.result_type(X.dtype, coef.dtype), copy=False)

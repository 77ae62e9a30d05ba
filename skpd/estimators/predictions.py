"""Predictions of linear models, for data and coefficients in sparse or dense format."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.extmath import safe_sparse_dot

from .._typing import Array
from ..designs import Design, RowBlocks


def linear_predictions(X: Any, coef: Any, intercept: Any) -> Array:
    """Products X coef' + intercept for coef of shape (n_outputs, n_features), sparse or dense.

    The result is in float32 where both X and coef are, from sums in float64.
    """
    if isinstance(X, RowBlocks):
        parts = [linear_predictions(block, coef, intercept) for _, block in X.read()]
        return np.concatenate(parts)
    if issparse(coef):
        product = X @ coef.T
        return (product.toarray() if issparse(product) else product) + intercept
    if X.dtype == np.float64:
        return safe_sparse_dot(X, coef.T, dense_output=True) + intercept
    design = Design(X)
    z = np.column_stack([design.matvec(w) for w in coef]) + intercept
    return z.astype(np.result_type(X.dtype, coef.dtype), copy=False)

"""Factors and biases of a matrix as a point of the problem of `MatrixCompletionPD`."""

import numpy as np

from .._typing import Array, ArrayLike, MatrixLike, PerRow
from ..models.completion.estimator import MatrixCompletionPD
from ..models.completion.rated_pairs import Labels, indices_of
from ..solvers.low_rank.factors import Factors, compressed
from .linear_fit import LinearFit


def factors_of(
    estimator: MatrixCompletionPD, X: MatrixLike, y: PerRow, sample_weight: PerRow,
    **more: ArrayLike,
) -> list[LinearFit]:  # fmt: skip
    """The fit of the factors and biases of an estimator, for the observed entries in X and y."""
    estimator._checked_offset(more.get("offset"))
    levels = estimator.levels_ if estimator.loss == "hinge" else None
    fit = estimator._problems(X, y, sample_weight)
    (problem,), labels = fit.problems, fit.labels
    if levels is not None and not np.array_equal(levels, estimator.levels_):
        raise ValueError(f"y must hold the levels {levels} of the model, got {estimator.levels_}.")
    rows = _of_labels(estimator.row_factors_, estimator.row_labels_, labels.rows)
    columns = _of_labels(estimator.column_factors_, estimator.column_labels_, labels.columns)
    # Half the sum of squares of the factors is larger than the trace norm unless the factors are
    # singular vectors times roots of singular values, to which `compressed` changes them.
    coef = compressed(Factors(rows, columns)).coef
    return [LinearFit(problem, coef, _free_numbers(estimator, labels))]


def _of_labels(table: Array, known: np.ndarray, labels: np.ndarray) -> Array:
    """The entries of a table for the given labels, 0 for labels that the model has not seen."""
    place, is_known = indices_of(known, labels)
    table = np.asarray(table, dtype=np.float64)[place]
    return np.where(is_known.reshape(-1, *[1] * (table.ndim - 1)), table, 0.0)


def _free_numbers(estimator: MatrixCompletionPD, labels: Labels) -> Array:
    """The free coordinates: row biases or thresholds, followed by the column biases."""
    fits_thresholds = estimator.loss == "hinge" and estimator.thresholds is None
    if fits_thresholds and not estimator.biases:
        return np.append(-np.ravel(estimator.thresholds_), 0.0)
    if not estimator.biases:
        return np.zeros(0)
    left = estimator.row_biases_ + estimator.intercept_
    if fits_thresholds:
        left = -estimator.thresholds_
    left = _of_labels(left, estimator.row_labels_, labels.rows)
    right = _of_labels(estimator.column_biases_, estimator.column_labels_, labels.columns)
    return np.append(np.ravel(left), right)

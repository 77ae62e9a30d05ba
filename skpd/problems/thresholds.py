"""Ordered classes as an ordinary problem, with a row for each sample and threshold."""

import numpy as np
import scipy.sparse as sp

from ..designs import Design
from ..losses.shifted import with_offset
from ..penalties.weighted import with_coefficient
from .in_memory import linear_problem
from .problem import Problem


def threshold_rows(problem: Problem) -> Problem:
    """The problem of ordered classes with the thresholds as unknowns.

    Its rows are those of the samples with a positive weight, once for each threshold, and its
    labels whether their class is above. The first threshold is minus the intercept, and the
    differences of the others from it are coefficients that the penalty leaves free. Objective
    values are those of ``problem`` over the number of thresholds.

    Raises
    ------
    ValueError
        If the penalty has no form with free coefficients.
    """
    loss, d = problem.loss, problem.n_coefficients
    (n_thresholds, n), penalty = loss.signs.shape, problem.penalty.for_n_features(d)
    for k in range(1, n_thresholds):
        penalty = with_coefficient(penalty, d + k - 1, 0.0).for_n_features(d + k)
    X = problem.design.rows_as_they_are(loss.used_rows)
    columns = -np.eye(n_thresholds, dtype=X.dtype)[:, 1:]  # the columns of the thresholds
    if sp.issparse(X):
        blocks = [sp.hstack([X, np.tile(row, (n, 1))], format=X.format) for row in columns]
        X = sp.vstack(blocks, format=X.format)
    else:  # in one copy
        X = np.block([[X, np.broadcast_to(row, (n, n_thresholds - 1))] for row in columns])
    offset = None if loss.offset is None else np.tile(loss.offset, n_thresholds)
    y, inner = with_offset(loss.inner, np.ravel(loss.signs), offset)
    weights = np.tile(loss.shares, n_thresholds) / n_thresholds
    return linear_problem(Design(X), y, weights, inner, penalty, problem.alpha / n_thresholds)

"""Ordered classes as an ordinary problem, with a row for each sample and threshold."""

from dataclasses import replace
from functools import partial
from math import sqrt

import numpy as np
import scipy.sparse as sp

from ..._typing import Indices
from ...designs import Design
from ...losses.shifted import with_offset
from ...penalties import Penalty
from ...penalties.weighted import with_extra_coefficient
from ...problems.balance import balance_nearby
from ...problems.free_features import project_onto_free
from ...problems.in_memory import linear_problem
from ...problems.problem import Problem
from .losses import OrdinalLoss, ThresholdDual


def rows_of_thresholds(
    loss: OrdinalLoss, design: Design, penalty: Penalty, alpha: float
) -> Problem:
    """The ordinary problem of a loss, a design and a penalty, with the thresholds as unknowns."""
    (n_thresholds, n), d = loss.signs.shape, design.shape[1]
    penalty = penalty.for_n_features(d)
    for k in range(1, n_thresholds):
        penalty = with_extra_coefficient(penalty, d + k - 1, 0.0).for_n_features(d + k)
    X = design.rows_as_they_are(loss.used_rows)
    columns = -np.eye(n_thresholds, dtype=X.dtype)[:, 1:]  # the columns of the thresholds
    if sp.issparse(X):
        blocks = [sp.hstack([X, np.tile(row, (n, 1))], format=X.format) for row in columns]
        X = sp.vstack(blocks, format=X.format)
    else:  # in one copy
        X = np.block([[X, np.broadcast_to(row, (n, n_thresholds - 1))] for row in columns])
    offset = None if loss.offset is None else np.tile(loss.offset, n_thresholds)
    y, inner = with_offset(loss.inner, np.ravel(loss.signs), offset)
    weights = np.tile(loss.shares, n_thresholds) / n_thresholds
    return linear_problem(Design(X), y, weights, inner, penalty, alpha / n_thresholds)


def orthogonal_dual(
    dual: ThresholdDual, rows: Problem, design: Design, columns: Indices
) -> ThresholdDual | None:
    """The dual point nearby whose sums over some columns vanish too, if one is proven to exist.

    Parameters
    ----------
    dual : ThresholdDual
    rows : Problem
        The `rows_of_thresholds` with these columns alone, free within their bounds.
    design : Design
    columns : ndarray of int
        Columns of the design.
    """
    loss, table = dual.loss, dual.table
    if table is None:
        return None
    project = partial(project_onto_free, rows)
    start, balance = balance_nearby(rows, np.ravel(loss.signs * table), project)
    if balance is None:
        return None
    n_thresholds, n = len(table), len(loss.weights)
    near = loss.dual_of_table(loss.signs * np.reshape(start + balance.change, table.shape))
    # by the Cauchy-Schwarz inequality, for weights over the number of thresholds
    residual = n_thresholds * balance.residual * sqrt(n * float(np.max(loss.shares)))
    vanishing = balance.columns[balance.columns < len(columns)]
    return replace(
        near,
        theta_error=near.theta_error + 1.01 * residual,
        mean_loss_error=near.mean_loss_error + 1.01 * n_thresholds * balance.cost,
        orthogonal_to=(design, columns[vanishing]),
    )

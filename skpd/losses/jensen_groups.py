"""Groups of rows, over which Jensen's inequality bounds a loss (`RowGroup`)."""

from dataclasses import dataclass

import numpy as np

from .. import kernels
from .._typing import Array


@dataclass(frozen=True)
class RowGroup:
    """Rows that share one convex function of the distance of z from a common centre.

    Jensen's inequality over such rows bounds the loss at their mean prediction by their
    mean loss.

    Attributes
    ----------
    weights : ndarray of shape (n_samples,)
        The weights of the rows of the group, 0 for all other rows.
    total : float
        The sum of the weights.
    centre, error : float
        The mean target of a residual loss, and a bound on its rounding error; a number that
        deviances define.
    offset, offset_error : float
        The mean offset of the predictions, and a bound on its rounding error.
    """

    weights: Array
    total: float
    centre: float = 0.0
    error: float = 0.0
    offset: float = 0.0
    offset_error: float = 0.0


RowGroups = list[RowGroup]


def all_rows(y: Array, weights: Array, target_error: float) -> RowGroups:
    """A single group of all rows, centred at their mean target, for losses of residuals.

    ``target_error`` bounds the relative errors of the targets.
    """
    total = float(np.sum(weights))
    mean, error = kernels.compensated_dot(weights, y)
    if target_error:
        error += (1.0 + 1e-9) * target_error * kernels.dot(weights, np.abs(y))
    divisor = total or 1.0  # a block of rows may have no weight
    return [RowGroup(weights, total, mean / divisor, error / divisor)]

"""What a gap proves of the coefficients of optimal models.

For every optimum w* and dual point theta with v = -A' diag(c) theta the gap G is at least the sum
of ::

    sum_i c_i (l_i(z_i*) + l_i*(theta_i) - theta_i z_i*)   and   alpha R(w*) + (alpha R)*(v) - v.w*

and of what the free coordinates add, none of which is negative. The second term bounds each
coefficient (`skpd.penalties.intervals`). Where the losses are L-smooth, the first is at least
sum_i c_i (theta_i - theta_i*)^2 / (2 L) with theta* the slopes at the optimum: so v is close to
v* = -A' diag(c) theta*, and a coefficient is 0 where v* cannot reach a kink of the penalty (the
"gap safe" rule of Ndiaye, Fercoq, Gramfort and Salmon, 2017, Gap safe screening rules for
sparsity enforcing penalties).
"""

from typing import Any

import numpy as np

from .._typing import Array
from ..penalties.intervals import Slopes
from .certificate import DualBound
from .objective import Objective

__all__ = ["proven_of_coefficients"]


def proven_of_coefficients(
    objective: Objective, gap: float, bound: DualBound
) -> tuple[Array | None, Any]:
    """The ``coefficient_bounds`` and ``proven_zero`` of a certificate.

    Parameters
    ----------
    objective : Objective
    gap : float
        The objective value of a model less the bound.
    bound : DualBound
    """
    if bound.slopes is None or not np.isfinite(gap):
        return None, None
    v, error = bound.slopes
    slopes = Slopes(v, error, objective.alpha)
    intervals = objective.dual_penalty.intervals(slopes, gap - bound.conjugate, bound.radius)
    if intervals is None:
        return None, None
    zeros, distances = None, objective.distances_of_slopes(gap)
    if distances is not None:
        zeros = objective.dual_penalty.zeros(slopes._replace(error=error + distances))
        if zeros is not None:
            intervals[zeros] = 0.0
            zeros = objective.coef_table(zeros)
    ends = [objective.coef_table(np.ascontiguousarray(end)) for end in intervals.T]
    return np.stack(ends, axis=-1), zeros

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

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from .._typing import Array
from ..penalties import Penalty
from ..penalties.intervals import Slopes
from .certificate import DualBound
from .objective import Objective

__all__ = ["Evidence", "evidence_of"]


@dataclass(frozen=True)
class Evidence:
    """What a certificate keeps of its dual point, from which the rest follows when it is asked.

    Attributes
    ----------
    penalty : Penalty
        R.
    slopes : Slopes
        v, with bounds on its errors, and alpha.
    most : float
        alpha R(w) - v.w is at most this at an optimum.
    radius : float
        R(w) is at most this at an optimum.
    distances : ndarray of shape (n_features,) or None
        How far v is at most from that of an optimal dual point.
    shape : tuple of int
        That of the coefficients as estimators have them.
    """

    penalty: Penalty
    slopes: Slopes
    most: float
    radius: float
    distances: Array | None
    shape: tuple[int, ...]

    @property
    def zeros(self) -> Any:
        """``proven_zero`` of `Certificate`, None where nothing is known."""
        zeros = self._zeros()
        return None if zeros is None else self._table(zeros)

    @property
    def bounds(self) -> Array | None:
        """``coefficient_bounds`` of `Certificate`, None where nothing is known."""
        intervals = self.penalty.intervals(self.slopes, self.most, self.radius)
        if intervals is None:
            return None
        zeros = self._zeros()
        if zeros is not None:
            intervals[zeros] = 0.0
        return np.stack([self._table(end) for end in intervals.T], axis=-1)

    def _zeros(self) -> Any:
        if self.distances is None:
            return None
        v, error, alpha = self.slopes
        return self.penalty.zeros(Slopes(v, error + self.distances, alpha))

    def _table(self, numbers: Any) -> Any:
        """Numbers of coefficients, those of several outputs in a row for each.

        What there is behind them are unknowns that are no coefficients.
        """
        return numbers[: prod(self.shape)].reshape(self.shape[::-1]).T


def evidence_of(objective: Objective, gap: float, bound: DualBound) -> Evidence | None:
    """The evidence of a bound; None if it has no slopes of the coefficients.

    Parameters
    ----------
    objective : Objective
    gap : float
        The objective value of a model less the bound.
    bound : DualBound
    """
    penalty = objective.dual_penalty
    # of a function of the singular values the slopes are singular values as well
    if bound.slopes is None or penalty.of_reduced is not penalty or not np.isfinite(gap):
        return None
    v, error = bound.slopes
    return Evidence(
        penalty,
        Slopes(v, error, objective.alpha),
        gap - bound.conjugate,
        bound.radius,
        objective.distances_of_slopes(gap),
        objective.table_shape,
    )

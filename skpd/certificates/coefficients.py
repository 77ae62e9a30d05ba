"""Bounds on the coefficients of optimal models, and proven zeros, that follow from a duality gap.

For every optimum w* and dual point theta with v = -A' diag(c) theta the gap G is at least the sum
of ::

    sum_i c_i (l_i(z_i*) + l_i*(theta_i) - theta_i z_i*)   and   alpha R(w*) + (alpha R)*(v) - v.w*

and of terms of the free coordinates, all of them non-negative. The second term bounds each
coefficient (`skpd.penalties.implied_intervals`). Where the losses are L-smooth, the first is at
least sum_i c_i (theta_i - theta_i*)^2 / (2 L) with theta* the gradient of the losses at the
optimum. Therefore v is close to v* = -A' diag(c) theta*. A coefficient is 0 in every optimal model
if v* must be in the interior of the subdifferential of the penalty at 0 (the "gap safe" rule of
Ndiaye, Fercoq, Gramfort and Salmon, 2017, Gap safe screening rules for sparsity enforcing
penalties).
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from .._typing import Array, Mask
from ..penalties import Penalty
from ..penalties.implied_intervals import Slopes
from .certificate import DualBound
from .interface import Objective


@dataclass(frozen=True)
class ImpliedBounds:
    """The numbers from which `Certificate` computes bounds on coefficients on demand.

    Attributes
    ----------
    penalty : Penalty
        R.
    slopes : Slopes
        v, with bounds on its errors, and alpha.
    most : float
        An upper bound on alpha R(w) - v.w at an optimum.
    radius : float
        An upper bound on R(w) at an optimum.
    distances : ndarray of shape (n_features,) or None
        Upper bounds on the distances of v_j from those of an optimal dual point.
    shape : tuple of int
        The shape of the coefficients in estimators.
    """

    penalty: Penalty
    slopes: Slopes
    most: float
    radius: float
    distances: Array | None
    shape: tuple[int, ...]

    @property
    def zeros(self) -> Mask | None:
        """The attribute ``proven_zero`` of `Certificate`; None where there is no rule."""
        zeros = self._zeros()
        return None if zeros is None else self._table(zeros)

    @property
    def bounds(self) -> Array | None:
        """The attribute ``coefficient_bounds`` of `Certificate`; None where there is no bound."""
        intervals = self.intervals()
        if intervals is None:
            return None
        return np.stack([self._table(end) for end in intervals.T], axis=-1)

    def intervals(self) -> Array | None:
        """The intervals of the coefficients of a problem, of shape (n_coefficients, 2)."""
        intervals = self.penalty.intervals(self.slopes, self.most, self.radius)
        zeros = self._zeros()
        if intervals is not None and zeros is not None:
            intervals[zeros] = 0.0
        return intervals

    def _zeros(self) -> Mask | None:
        if self.distances is None:
            return None
        v, error, alpha = self.slopes
        return self.penalty.zeros(Slopes(v, error + self.distances, alpha))

    def _table(self, numbers: np.ndarray) -> np.ndarray:
        """A vector of numbers for coefficients in the shape of ``coef_``, (n_outputs, n_features).

        Entries after these belong to unknowns that are not coefficients, and are left out.
        """
        return numbers[: prod(self.shape)].reshape(self.shape[::-1]).T


def implied_bounds_of(objective: Objective, gap: float, bound: DualBound) -> ImpliedBounds | None:
    """The implied_bounds of a bound; None if it has no slopes of the coefficients.

    Parameters
    ----------
    objective : Objective
    gap : float
        The objective value of a model less the bound.
    bound : DualBound
    """
    penalty = objective.penalty
    # for functions of the singular values the slopes are not those of single coefficients
    of_singular_values = penalty.of_conjugate_arguments is not penalty
    if bound.slopes is None or of_singular_values or not np.isfinite(gap):
        return None
    slopes, most = Slopes(*bound.slopes, objective.alpha), gap - bound.conjugate
    distances, shape = objective.distances_of_products(gap), objective.table_shape
    return ImpliedBounds(penalty, slopes, most, bound.radius, distances, shape)

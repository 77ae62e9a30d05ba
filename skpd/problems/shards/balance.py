"""Exact balancing of dual points of shards, by sums over the rows (see `skpd.problems.balance`).

The change of row i is slack_i^2 (F q)_i with slack_i the distance of theta_i from the boundary of
its box. It has the least norm in units of these distances, and q follows from the Gram matrix of
the free directions F in these units. The change is recomputed block by block wherever it is used.
"""

from dataclasses import replace
from functools import cached_property, partial
from math import sqrt

import numpy as np

from ..._typing import Array, Indices
from ...certificates.interface import DualPoint
from ..balance import MAX_SHARE, SCALES, BalanceBounds, min_singular_value_by_gram
from ..dependence import Dependence
from ..dual_points import BalancedPoint
from ..free_directions import FreeDirections
from ..free_features import dependence_of_factor, in_units
from ..interfaces import ProblemParts
from .bounds import balance_sums, box_sums, free_factor
from .points import Balanced, DualSums, RowsOnShards, SummedPoint
from .remote_dual import BalancingChange


class SharedFreeDirections(FreeDirections):
    """The free directions of rows in shards, where one pass balances as much as projections."""

    rows: RowsOnShards

    @cached_property
    def _in_units(self) -> tuple[Array, Indices]:
        """The triangular factor of the free columns in the units of the exponents."""
        factor = self._factor[0][:, int(self.rows.fit_intercept) :]
        return in_units(factor, np.ones(len(factor), dtype=bool))

    @cached_property
    def _factor(self) -> tuple[Array, float]:
        """The triangular factor of the free columns, after ones for an intercept; a precision."""
        ones = bool(self.rows.fit_intercept)
        sums = self.rows.shards.sums(partial(free_factor, columns=self.columns, ones=ones))
        return sums["factor"].R, float(sums["precision"].value)

    @cached_property
    def dependence(self) -> Dependence:
        """See `FreeDirections.dependence`; no combination counts as one in exact arithmetic."""
        ones, (factor, precision) = bool(self.rows.fit_intercept), self._factor
        factor = np.column_stack([factor[:, :ones], self._in_units[0]])
        return dependence_of_factor(factor, ones, precision, lambda *_: False)

    def projected(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        return point

    def balanced(self, problem: ProblemParts, point: DualPoint) -> DualPoint:
        # The last point of a run is certified again with its model in single precision. Its change
        # and sums are kept, which saves two passes over the data.
        point = point.as_kind(SummedPoint)
        point.sums.balanced = point.sums.balanced or _balance(problem, point)
        balance, changed, sums = point.sums.balanced
        if balance is None or changed is None or sums is None:
            return point
        parts = (point.theta, ""), (changed, "boundary_"), (changed, "change_")
        before, boundary, change = (SummedPoint(problem, v, sums, name) for v, name in parts)
        return BalancedPoint(problem, before, boundary, change, balance, only_precise=False)


NO_BALANCE = None, None, None


def _balance(problem: ProblemParts, point: SummedPoint) -> Balanced:
    """The change after which the sums of a point over the free directions vanish.

    `NO_BALANCE` where the rows inside the box cannot cancel the sums, or where the independence of
    the directions is not certain.
    """
    theta, ones = point.theta, bool(problem.fit_intercept)
    columns = np.setdiff1d(problem.free_columns, problem.left_out)
    n_directions = len(columns) + ones
    if n_directions == 0:
        return NO_BALANCE
    change = BalancingChange(columns, ones, np.zeros(n_directions), point.largest)
    shards = problem.rows.as_kind(RowsOnShards).shards
    sums = shards.sums(partial(box_sums, dual=theta.changed(change).point))
    n_inside = sums["n_inside"]
    sizes = np.sqrt(sums["gram"].diagonal())
    if n_inside < n_directions or not np.all(sizes > 0.0):
        return NO_BALANCE
    gram = sums["gram"] / np.outer(sizes, sizes)
    singular_value = min_singular_value_by_gram(gram, n_inside)
    if singular_value is None:
        return NO_BALANCE
    q = np.linalg.solve(gram, -sums["sums"].bounded[0] / sizes) / sizes
    change = replace(change, q=q)
    changed = theta.changed(change)
    sums = shards.sums(partial(balance_sums, dual=changed.point))
    share = float(sums["share"].value)
    if not share <= MAX_SHARE:
        return NO_BALANCE
    values, errors = sums["residual"].bounded
    residual = 2.0 * float(np.sum((np.abs(values) + errors) / sizes)) / singular_value
    if not residual <= MAX_SHARE * -float(sums["minus_root"].value):
        return NO_BALANCE
    cost = SCALES * 2.0 * residual * sqrt(sums["steepness"])
    residual *= float(sums["slack"].value)
    balance = BalanceBounds(share, residual, cost, SCALES * 2.0 * sums["rounding"], columns)
    changed = theta.changed(replace(change, share=share if share > 0.0 else 1.0))
    # One pass over the rows computes the sums of all three points. Plain products may suffice; a
    # pass with precise products takes several times as long.
    return balance, changed, DualSums(shards, changed.point)

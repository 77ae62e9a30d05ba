"""The negative log partial likelihood of censored times (`PartialLikelihood`).

With weights s_i, of which c_i are the shares of their sum, the loss of the scores z is a sum over
the events i, of the rows j that are at risk at the time of i,

    sum_i c_i (log sum_j s_j exp(z_j) - z_i - log(s_i))        (Cox, 1972; Breslow, 1974)

The last term makes it at least 0. Of d events with the same time, Efron (1977) leaves the share
l / d of their own terms out of the l-th sum, l = 0, ..., d - 1, each of which has the mean weight
of these events. Weights are therefore no repetitions of rows where there are ties.

A row is at risk at the times t with entry < t <= time. Rows of (start, stop] that follow each
other are therefore one subject, of which every term has one row at most. A constant that is added
to all scores of a stratum does not change the loss: scores and offsets are centred, so that
rounding errors of exponents are relative to differences.

Each logarithm is the maximum over distributions p on its risk set of sum_j p_j z_j plus the
entropy of p relative to s, so that the loss is a soft maximum (`skpd.losses.structured`). Dual
points are the maximisers at a vector u of scores, with ::

    theta_i c_i = sum over the terms of c p_i - c_i [i is an event]

whose sums over all terms take two passes over the rows. The "true labeling" of a term is its
event, or the events with their weights if there are several.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log, sqrt
from typing import ClassVar, cast

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.special import gammaln, xlogy

from ... import kernels
from ..._floats import EPSILON, sum_and_rest
from ..._immutable_base import computed
from ..._typing import Array, Indices, Numbers, Sum
from ...designs import Design
from ...losses.structured import StructuredDual, StructuredLossOfRows
from .risk_set_hessians import precise_hessian, risk_set_hessian

ROUNDINGS = 64.0  # bounds the relative rounding errors of a term of a sum, in EPSILON


@dataclass(frozen=True, eq=False)
class RiskDual(StructuredDual):
    """The distributions on all risk sets at a vector of scores, mixed with the events.

    Attributes
    ----------
    loss : PartialLikelihood
    predictions, scores, log_sums : ndarray
        The scores of all rows, those in order and centred, and the logarithms of all sums.
    entropies, of_offsets : tuple of float
        The weighted sum of the entropies of the distributions, and the inner product of weights,
        theta and offsets, each with a bound on its rounding error.
    share : float, default=1.0
        The share of these distributions; the events have the remaining share.
    """

    loss: "PartialLikelihood" = field(default=cast("PartialLikelihood", None))
    predictions: Array = field(default=cast(Array, None))
    scores: Array = field(default=cast(Array, None))
    log_sums: Array = field(default=cast(Array, None))
    entropies: tuple[float, float] = (0.0, 0.0)
    of_offsets: tuple[float, float] = (0.0, 0.0)
    share: float = 1.0

    is_linear: ClassVar[bool] = False
    is_inside = computed(lambda self: self.share > 0.0)

    def value(self, scale: float) -> Sum:
        return self.loss.entropy(self, scale * self.share)

    def __rmul__(self, scale: float) -> "RiskDual":
        return replace(super().__rmul__(scale), share=scale * self.share)

    def near(self, distance: float, of: tuple[Design, Indices]) -> "RiskDual":
        """The dual point, which stands for one nearby that is orthogonal to columns.

        Parameters
        ----------
        distance : float
            A bound on the root of the sum over the terms of c times the variance of the changes of
            the scores. The changes of the probabilities of a term have at most the sum of the
            standard deviation, which bounds those of their products with columns and logarithms.
        of : tuple of Design and ndarray of int
        """
        change, (shift, error) = distance * sqrt(self.loss.total), self.of_offsets
        if self.loss.offset is not None:
            error += change * kernels.max_abs(self.loss.offset)
        distance /= sqrt(2.0)
        return replace(self, of_offsets=(shift, error), orthogonal_to=of, distance=distance)


class PartialLikelihood(StructuredLossOfRows):
    """The negative log partial likelihood of Cox's proportional hazards.

    Parameters
    ----------
    time : ndarray of shape (n_samples,)
        The times of events, or of censoring.
    event : ndarray of bool of shape (n_samples,)
    sample_weight : ndarray of shape (n_samples,)
        The weights s_i >= 0.
    strata : ndarray of int of shape (n_samples,)
        Rows of one stratum are at risk together.
    offset : ndarray of shape (n_samples,) or None
        Numbers that are added to the scores.
    efron : bool, default=True
        How ties are treated; by Breslow's method otherwise.
    entry : ndarray of shape (n_samples,) or None
        Times less than ``time``, after which the rows are at risk; from the start on otherwise.

    Attributes
    ----------
    saturated : float
        The infimum of the loss over all scores, each row with one of its own.
    """

    is_smooth = True
    linear_tails: ClassVar[bool] = False
    has_kinks: ClassVar[bool] = False
    has_curvature = True
    hessian_by_table: ClassVar[bool] = True
    ignores_constants: ClassVar[bool] = True
    of_hazards: ClassVar[bool] = True
    can_separate: ClassVar[bool] = True
    averages_duals: ClassVar[bool] = False

    def __init__(
        self, time: Array, event: Array, sample_weight: Array, strata: Indices,
        offset: Array | None = None, *, efron: bool = True, entry: Array | None = None,
    ) -> None:  # fmt: skip
        n, self._data = len(time), (time, event, sample_weight, strata, offset, entry)
        self.weights = np.full(n, 1.0 / n)
        order = np.lexsort((time, strata))
        self.used_rows = order = order[sample_weight[order] > 0.0]
        s, happens = sample_weight[order], event[order]
        self.sum_of_weights, self.efron = float(np.sum(s)), efron
        self.shares = np.where(happens, s / self.sum_of_weights, 0.0)  # c_i of the events
        self.total = float(np.sum(self.shares))
        self.largest_theta = np.full(n, n * self.total)
        self.entropy_range = self.total * log(n)
        self.log_s = log_s = np.log(s)
        new_stratum = np.diff(strata[order], prepend=-1) != 0
        self._first = np.flatnonzero(new_stratum)  # the first row of each stratum
        self.offset, self._offset_low = None, np.zeros(len(order))
        self._offset_means: Numbers = 0.0
        if offset is not None:
            self._offset_means = self._stratum_means(offset[order])
            self.offset, rounding = sum_and_rest(offset[order], -self._offset_means)
            self._offset_low = np.broadcast_to(rounding, len(order)).copy()  # may be a number
        new_group = new_stratum | (np.diff(time[order], prepend=np.nan) != 0.0)
        self.starts = np.append(np.flatnonzero(new_group), len(order)).astype(np.int64)
        self.last = np.append(new_stratum[self.starts[1:-1]], True).astype(np.int64)
        self.entries = np.empty(0, dtype=np.int64)  # the first group at which each row is at risk
        if entry is not None:
            self.entries = self._groups_after(entry[order], time[order])
        self.sets = kernels.RiskSets(
            self.starts, self.last, log_s, self.shares, self.entries, efron
        )
        events = np.add.reduceat(happens.astype(np.int64), self.starts[:-1])
        self.terms = events if efron else np.minimum(events, 1)
        minima = self._term_minima(happens)
        self.constant = float(self.shares @ log_s) + float(np.sum(np.minimum(minima, 0.0)))
        self.saturated = float(np.sum(np.maximum(minima, 0.0)))
        self._constant_size = float(self.shares @ np.abs(log_s)) + abs(self.constant)
        self._largest_log = float(np.max(np.abs(log_s)))

    def _groups_after(self, entry: Array, time: Array) -> Indices:
        """The first group of the stratum of each row whose time is after its entry."""
        times = np.unique(time)
        strata = np.searchsorted(self._first, np.arange(len(time)), side="right") * len(times)
        groups = (strata + np.searchsorted(times, time))[self.starts[:-1]]
        return np.searchsorted(groups, strata + np.searchsorted(times, entry, side="right"))

    def _term_minima(self, happens: Array) -> Array:
        """The infimum over all scores of the terms of each group of tied events.

        Efron's terms of events with unequal weights may fall below 0.
        """
        events = np.flatnonzero(happens)
        groups = np.searchsorted(self.starts, events, side="right") - 1
        c, counts = self.shares[events], np.bincount(groups)
        tied = np.flatnonzero(counts > 1)
        d, C = counts[tied], np.bincount(groups, c)[tied]
        minima = np.bincount(groups, -xlogy(c, c))[tied] + xlogy(C, C)
        return minima + C * (gammaln(d + 1.0) / d - np.log(d)) if self.efron else minima

    @cached_property
    def groups_at_risk(self) -> tuple[Indices, Indices]:
        """The first and the last group in whose risk set each row is."""
        rows = np.arange(len(self.used_rows))
        first = self.entries
        if not len(first):  # that of the stratum
            stratum = np.searchsorted(self._first, rows, side="right") - 1
            first = np.searchsorted(self.starts, self._first)[stratum]
        return first, np.searchsorted(self.starts, rows, side="right") - 1

    @cached_property
    def _components(self) -> Indices:
        """The rows that risk sets connect, directly or by others; -1 for those in no risk set."""
        events = np.flatnonzero(self.terms)  # the groups with events
        first, last = self.groups_at_risk
        first, last = np.searchsorted(events, first), np.searchsorted(events, last, "right") - 1
        at_risk = first <= last
        # how many rows are in two risk sets that follow each other
        size = len(events) + 1
        shared = np.bincount(first[at_risk], minlength=size) - np.bincount(
            last[at_risk], minlength=size
        )
        parts = np.cumsum(np.append(0, np.cumsum(shared)[:-2] == 0))
        return np.where(at_risk, parts[last], -1)

    def _stratum_means(self, values: Array) -> Numbers:
        """The mean over the stratum of each row."""
        if len(self._first) == 1:
            return float(np.sum(values / len(values)))  # the sum of the values may overflow
        counts = np.diff(self._first, append=len(values))
        shares = values / np.repeat(counts, counts)
        return np.repeat(np.add.reduceat(shares, self._first), counts)

    def _centred(self, z: Array) -> tuple[Array, Numbers]:
        """The scores of the rows with weights, with offsets, less the means of their strata.

        The second result is these means. The scores have a relative error of at most EPSILON.
        """
        scores, rounding = z[self.used_rows], 0.0
        if self.offset is not None:
            scores, rounding = sum_and_rest(scores, self.offset)
        means = self._stratum_means(scores)
        return np.ascontiguousarray((scores - means) + rounding), means

    def _shifted(self, z: Array) -> Array:
        return self._centred(z)[0]

    # the relative rounding error of a sum; ties subtract nearly equal sums
    _roundings = computed(lambda self: (ROUNDINGS + 4.0 * self.sets.max_terms) * EPSILON)

    def _error_of_exponents(self, u: Array) -> float:
        """A bound on the errors of u + log(s) - log_sum, the relative errors of exponentials."""
        return 8.0 * EPSILON * (kernels.max_abs(u) + self._largest_log)

    def _value_of(self, u: Array) -> tuple[float, float, tuple[Array, float, float]]:
        """The loss, a bound on its rounding error, and `kernels.RiskSets.log_sums`."""
        sums = self.sets.log_sums(u)
        _, weighted, size = sums
        linear, error = kernels.compensated_dot(self.shares, u)
        size += kernels.dot(self.shares, np.abs(u)) + self._constant_size + self.total
        error += self._roundings * size + self._error_of_exponents(u) * self.total
        return (weighted - linear) - self.constant, error, sums

    def value(self, z: Array) -> Sum:
        u = self._shifted(z)
        value, rounding, _ = self._value_of(u)
        return value, rounding + self._change(EPSILON * np.abs(u) + np.abs(self._offset_low))

    def sensitivity(self, error: Array) -> float:
        return self._change(np.broadcast_to(error, len(self.weights))[self.used_rows])

    def _change(self, error: Array) -> float:
        """An upper bound on the change of the loss by errors of the scores in order."""
        change = self.total * float(np.max(error, initial=0.0)) + kernels.dot(self.shares, error)
        return change * (1.0 + 1e-9)

    def derivatives(self, z: Array) -> tuple[float, Array, Array]:
        """The loss, its gradient over the weights, and an upper bound on its Hessian.

        The bound is a diagonal matrix, over the weights too: without the products of
        probabilities that the Hessian of a logarithm of a sum subtracts.
        """
        u = self._shifted(z)
        value, _, (log_sums, _, _) = self._value_of(u)
        marginals = self.sets.marginals(u, log_sums)
        return value, self._rows(marginals - self.shares), self._rows(marginals)

    def hessian(self, z: Array, design: Design, columns: Indices) -> Array | None:
        table = design.table(columns)[self.used_rows]
        return risk_set_hessian(self, self._shifted(z), table)

    def precise_hessian(self, z: Array, design: Design) -> Array | None:
        """The Hessian of all columns with smaller rounding errors; None where it takes long."""
        table = design.table(np.arange(design.shape[1]))[self.used_rows]
        return precise_hessian(self, self._shifted(z), table)

    def recession(self) -> csr_array:
        """The matrix of ``can_separate``: no row at risk has a larger score than an event.

        Events of the same time have equal scores. A row is not above the last event at which it is
        at risk, nor above the last one before that event itself was at risk, and so on: what they
        are to events between these follows.
        """
        (first, last), groups = self.groups_at_risk, np.flatnonzero(self.terms)
        events, rows = np.flatnonzero(self.shares > 0.0), np.arange(len(self.used_rows))
        leaders = events[np.searchsorted(events, self.starts[groups])]  # an event of each group
        latest = np.searchsorted(groups, last, side="right") - 1
        larger, smaller = [events], [leaders[latest[events]]]
        latest[leaders] -= 1
        while len(rows):
            rows = rows[(latest[rows] >= 0) & (groups[latest[rows]] >= first[rows])]
            larger.append(leaders[latest[rows]])
            smaller.append(rows)
            latest[rows] = np.searchsorted(groups, first[larger[-1]]) - 1
        unit = eye_array(len(self.weights), format="csr")[self.used_rows]
        return unit[np.concatenate(larger)] - unit[np.concatenate(smaller)]

    def in_limit(self, levels: Indices) -> "PartialLikelihood":
        """The loss along a direction of `recession`, which is nowhere above this one.

        Scores that rise without bound leave rows at risk only beside those of the same level.
        """
        time, event, weights, strata, offset, entry = self._data
        _, strata = np.unique(np.column_stack([strata, levels]), axis=0, return_inverse=True)
        return PartialLikelihood(
            time, event, weights, strata, offset, efron=self.efron, entry=entry
        )

    # Dual points

    def distances_of_products(self, design: Design) -> Array | None:
        """See `StructuredLoss.distances_of_products`.

        The dual value is smaller than the optimal one by the sum over the terms of c times a
        divergence of distributions, at least ||p - p*||_1^2 / 2 by Pinsker's inequality. So the
        sum of c ||p - p*||_1 is at most the root of 2 sum(c) gap, and as the entries of p - p*
        sum to 0, a product with a column is at most half its range times that.
        """
        half_ranges: Array = design.half_ranges(self.used_rows)
        return sqrt(2.0 * self.total) * (1.0 + 1e-9) * half_ranges

    def loss_augmented(self, z: Array, smoothing: float) -> tuple[float, RiskDual]:
        u = self._shifted(z)
        value, _, (log_sums, weighted, size) = self._value_of(u)
        marginals = self.sets.marginals(u, log_sums)
        # the root of the mean square of the errors of theta bounds the errors of products
        roundings = self._roundings + self._error_of_exponents(u)
        errors = roundings * (marginals + self.shares)
        error = float(np.sqrt(len(self.weights) * np.sum(errors**2)))
        theta = self._rows(marginals - self.shares)
        of_scores, rounding = kernels.compensated_dot(marginals, u)
        size += kernels.dot(marginals, np.abs(u)) + self.total
        entropies = weighted - of_scores, rounding + roundings * size
        of_offsets = 0.0, 0.0
        if self.offset is not None:  # the linear function is one of z + offset
            shift, missed = kernels.compensated_dot(marginals - self.shares, self.offset)
            missed += kernels.dot(errors, np.abs(self.offset))
            missed += kernels.dot(marginals + self.shares, np.abs(self._offset_low))
            of_offsets = shift, missed * (1.0 + 1e-9)
        means = theta, 0.0, error, 0.0
        return value, RiskDual(*means, self, z, u, log_sums, entropies, of_offsets)

    def entropy(self, dual: RiskDual, share: float) -> Sum:
        """The constant of the linear function of z that a share of a dual point stands for."""
        (value, rounding), (shift, error) = dual.entropies, dual.of_offsets
        of_events, size = self.sets.entropy_of_events(dual.scores, dual.log_sums, share)
        value = share * (value + shift) - float(xlogy(share, share)) * self.total
        rounding = share * (rounding + error)
        if share > 0.0 and dual.distance > 0.0:
            change = dual.distance / dual.share * sqrt(2.0 * self.total) * (1.0 + 1e-9)
            rounding += share * change * self._slope(dual, share)
        rounding += self._error_of_exponents(dual.scores) * (size + self.total)
        size += abs(value) + abs(share * shift) + self._constant_size + self.total
        rounding += self._roundings * size
        return (value + of_events) - self.constant, rounding

    def _slope(self, dual: RiskDual, share: float) -> float:
        """Half the range of the logarithms of probabilities over s of a share of a dual point."""
        half_range = 0.5 * float(np.ptp(dual.scores)) * (1.0 + 4.0 * EPSILON)
        if share == 1.0:
            return half_range
        return half_range + kernels.max_abs(dual.log_sums) + self._largest_log - log(share)

    true_labeling = computed(lambda self: 0.0 * self.loss_augmented(0.0 * self.weights, 0.0)[1])

    # The baseline

    def baseline(self, z: Array) -> tuple[Indices, Array]:
        """The increments of the cumulative baseline hazard at scores z, as logarithms.

        Returns
        -------
        rows : ndarray of int
            The index of a row of each group with events, in the order of strata and times.
        log_increments : ndarray
            The logarithms of the sums over the terms of each of these groups of weight over sum.
        """
        u, means = self._centred(z)
        log_sums, _, _ = self.sets.log_sums(u)
        starts = self.starts[:-1]
        totals = np.add.reduceat(self.shares, starts)
        groups = np.flatnonzero(self.terms)  # those with events
        terms = self.terms[groups]
        each = np.log(np.repeat(totals[groups] / terms, terms) * self.sum_of_weights) - log_sums
        first = np.cumsum(terms) - terms
        means = np.broadcast_to(means + self._offset_means, len(self.used_rows))
        shift = means[starts[groups]]
        return self.used_rows[starts[groups]], np.logaddexp.reduceat(each, first) - shift

"""Hessians of the partial likelihood: covariances of the rows at risk (`risk_set_hessian`)."""

from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from ... import kernels
from ..._floats import EPSILON
from ..._typing import Array, Indices

MOST_PAIRS = 1e7  # of a term and a row, for a table of 80 MB
LARGEST_CANCELLATION = 1e-11  # relative error of the sums of a Hessian
LARGEST_SPREAD = 600.0  # of logarithms of sums, well below that at which the least one underflows


class RowsAtRisk(Protocol):
    """The rows with weights in the order of strata and times, as `PartialLikelihood` has them."""

    sets: kernels.RiskSets
    log_s: Array  # the logarithms of the weights
    shares: Array  # c_i of the events
    starts: Indices  # the first row of each group of equal times, and the number of rows
    last: Indices  # whether a group is the last of its stratum
    terms: Indices  # how many terms each group has
    entries: Indices  # the first group at which each row is at risk; empty without late rows

    @property
    def groups_at_risk(self) -> tuple[Indices, Indices]:
        """The first and the last group in whose risk set each row is."""


def risk_set_hessian(loss: RowsAtRisk, u: Array, table: Array) -> Array | None:
    """The Hessian of the loss in the coefficients of some columns, at scores in order.

    It is the sum over the terms of c times the covariance of the rows at risk, which subtracts
    products of mean rows from the diagonal bound. None for many rows whose scores differ so much
    that sums underflow, or that differences of sums of rows, late or of other strata, cancel.
    """
    log_sums, _, _ = loss.sets.log_sums(u)
    marginals = loss.sets.marginals(u, log_sums)
    shift = float(np.max(u + loss.log_s))
    heights = np.exp(u + loss.log_s - shift)
    rows = heights[:, np.newaxis] * table
    starts = loss.starts[:-1]
    distinct = len(starts) == len(rows)  # no two rows have the same time
    sums = rows if distinct else np.add.reduceat(rows, starts, axis=0)
    if len(loss.entries):  # late rows are in no sum before their entry
        late = np.flatnonzero(loss.last[loss.entries - 1] == 0)
        shape, places = (len(starts), len(rows)), (loss.entries[late] - 1, late)
        sums -= csr_array((np.ones(len(late)), places), shape=shape) @ rows
    np.cumsum(sums[::-1], axis=0, out=sums[::-1])
    if np.sum(loss.last) > 1:  # the sums of other strata are not of the risk set
        ends = np.flatnonzero(loss.last)
        beyond = np.vstack([sums[ends[:-1] + 1], np.zeros((1, table.shape[1]))])
        sums -= beyond[np.cumsum(loss.last) - loss.last]
    groups, weights, shares = _terms(loss)
    inaccurate = bool(np.min(log_sums, initial=shift) < shift - LARGEST_SPREAD)
    if len(loss.entries) or np.sum(loss.last) > 1:
        later = np.cumsum(np.add.reduceat(heights, starts)[::-1])[::-1][groups]
        smallest = EPSILON / LARGEST_CANCELLATION * later
        inaccurate |= bool(np.any(np.exp(log_sums - shift) < smallest))
    if inaccurate and len(groups) * len(u) > MOST_PAIRS:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        if inaccurate:
            sums = _probabilities(loss, u) @ table
            sums *= np.sqrt(weights)[:, np.newaxis]
        else:
            sums = sums[groups]
            if loss.sets.max_terms > 1:
                rows[loss.shares == 0.0] = 0.0
                tied = np.add.reduceat(rows, starts, axis=0)[groups]
                sums -= shares[:, np.newaxis] * tied
            sums *= (np.sqrt(weights) * np.exp(shift - log_sums))[:, np.newaxis]
        table *= np.sqrt(marginals)[:, np.newaxis]
        hessian: Array = table.T @ table - sums.T @ sums
    return hessian if np.isfinite(hessian).all() else None


def precise_hessian(loss: RowsAtRisk, u: Array, table: Array) -> Array | None:
    """The Hessian of `risk_set_hessian`, with errors relative to the diagonal of each covariance.

    Where the event of a term is nearly certain, as it is for the others of nearly separated rows,
    covariances are those of the differences from it. None where there are too many pairs.
    """
    groups, weights, _ = _terms(loss)
    if len(groups) * table.size > MOST_PAIRS:
        return None
    p = _probabilities(loss, u)
    differences = table - table[np.argmax(p, axis=1), np.newaxis]  # of each term and row
    means = np.einsum("tj,tjk->tk", p, differences)
    pairs, k = (weights[:, np.newaxis] * p)[:, :, np.newaxis] * differences, table.shape[1]
    squares: Array = pairs.reshape(-1, k).T @ differences.reshape(-1, k)
    return squares - (means.T * weights) @ means


def _terms(loss: RowsAtRisk) -> tuple[Indices, Array, Array]:
    """The group of each term, its weight, and the share of tied events that is left out of it."""
    groups = np.repeat(np.arange(len(loss.terms)), loss.terms)
    counts, first = loss.terms[groups], (np.cumsum(loss.terms) - loss.terms)[groups]
    weights = np.add.reduceat(loss.shares, loss.starts[:-1])[groups] / counts
    return groups, weights, (np.arange(len(groups)) - first) / counts


def _probabilities(loss: RowsAtRisk, u: Array) -> Array:
    """The probabilities of all pairs of a term and a row."""
    groups, _, shares = _terms(loss)
    group, (first, last) = groups[:, np.newaxis], loss.groups_at_risk
    at_risk = (first <= group) & (group <= last)
    log_sums, _, _ = loss.sets.log_sums(u)
    logs = np.where(at_risk, u + loss.log_s - log_sums[:, np.newaxis], -np.inf)
    tied = (group == last) & (loss.shares > 0.0)
    probabilities: Array = np.exp(logs) * (1.0 - shares[:, np.newaxis] * tied)
    return probabilities

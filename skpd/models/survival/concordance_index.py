"""The concordance index of predictions for censored times."""

import numpy as np

from ..._typing import Array, Indices, Mask, Numbers


def concordance(
    time: Array, event: Mask, scores: Array, weights: Array, strata: Indices,
    entry: Array | None = None, *, factors: Numbers = 1.0,
) -> float:  # fmt: skip
    """The share of comparable pairs in order; nan if no pair is comparable.

    A pair is comparable if the sample with the smaller time has an event, after the other one has
    entered; of two equal times, if one of them is an event and the other is not. It counts by the
    product of its weights and the factor of the sample with the smaller time.
    """
    weights = weights / np.max(weights)  # products of large weights would overflow
    of_events = weights * factors
    if entry is not None:  # the pairs of events with samples that have not yet entered count less
        time, event = np.append(time, entry), np.append(event, np.zeros(len(entry), dtype=bool))
        scores, strata = np.tile(scores, 2), np.tile(strata, 2)
        weights, of_events = np.append(weights, -weights), np.tile(of_events, 2)
    parts = []
    for label in np.unique(strata):
        rows = np.flatnonzero((strata == label) & (weights != 0.0))
        samples = time[rows], event[rows], scores[rows]
        pairs = _pairs(*samples, weights[rows], of_events[rows])
        # numbers of pairs are without rounding errors
        signs = np.sign(weights[rows]), np.sign(of_events[rows])
        n_pairs = pairs[1] if entry is None else _pairs(*samples, *signs)[1]
        parts.append((*pairs, n_pairs))
    in_order, comparable, n_pairs = np.sum(parts, axis=0)
    return float(in_order / comparable) if n_pairs > 0.0 else float("nan")


def _pairs(
    time: Array, event: Mask, scores: Array, weights: Array, of_events: Array
) -> tuple[float, float]:
    """The weights of the comparable pairs that are in order, and of all comparable ones.

    The highest bit in which the ranks of two times differ tells which of them is later. For each
    bit, blocks of ranks with the same higher bits hold the scores of both halves in order.
    """
    n = len(time)
    # complex numbers are sorted by their real parts, and equal ones by their imaginary parts
    rank, score_rank = (np.unique(x, return_inverse=True)[1] for x in (time - 1j * event, scores))
    in_order = comparable = 0.0
    for bit in range(int(np.max(rank, initial=0)).bit_length()):
        block, later = rank >> (bit + 1), (rank >> bit) % 2 == 1
        keys = block * n + score_rank
        order = np.argsort(keys, kind="stable")
        mass = np.append(0.0, np.cumsum((weights * later)[order]))
        rows = np.flatnonzero(event & ~later)
        ordered, first = keys[order], block[rows] * n
        start, end = (mass[np.searchsorted(ordered, key)] for key in (first, first + n))
        below, up_to = (mass[np.searchsorted(ordered, keys[rows], s)] for s in ("left", "right"))
        in_order += float(of_events[rows] @ (0.5 * (below + up_to) - start))
        comparable += float(of_events[rows] @ (end - start))
    return in_order, comparable

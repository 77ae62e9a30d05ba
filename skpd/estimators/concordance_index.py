"""The concordance index of predictions for censored times."""

import numpy as np

from .._typing import Array, Indices, Mask


def concordance(time: Array, event: Mask, scores: Array, weights: Array, strata: Indices) -> float:
    """The share of comparable pairs in order; nan if no pair is comparable.

    A pair is comparable if the sample with the smaller time has an event; of two equal times, if
    one of them is an event and the other is not.
    """
    weights = weights / np.max(weights)  # products of large weights would overflow
    parts = []
    for label in np.unique(strata):
        rows = np.flatnonzero((strata == label) & (weights > 0.0))
        parts.append(_pairs(time[rows], event[rows], scores[rows], weights[rows]))
    in_order, comparable = np.sum(parts, axis=0)
    return float(in_order / comparable) if comparable > 0.0 else float("nan")


def _pairs(time: Array, event: np.ndarray, scores: Array, weights: Array) -> tuple[float, float]:
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
        in_order += float(weights[rows] @ (0.5 * (below + up_to) - start))
        comparable += float(weights[rows] @ (end - start))
    return in_order, comparable

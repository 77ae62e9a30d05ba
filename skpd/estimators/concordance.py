"""The concordance index of predictions for censored times."""

from typing import Any

import numpy as np

from .._typing import Array

BLOCK = 512  # rows that are compared at once


def concordance(time: Array, event: Any, scores: Array, weights: Array, strata: Any) -> float:
    """The share of comparable pairs in order; nan if no pair is comparable.

    A pair is comparable if the sample with the smaller time has an event; of two equal times, if
    one of them is an event and the other is not.
    """
    labels = np.zeros(len(time)) if strata is None else np.asarray(strata)
    if labels.shape != time.shape:
        raise ValueError(f"strata must have the shape {time.shape}, got {labels.shape}.")
    parts = []
    for label in np.unique(labels):
        rows = np.flatnonzero((labels == label) & (weights > 0.0))
        parts.append(_pairs(time[rows], event[rows], scores[rows], weights[rows]))
    in_order, comparable = np.sum(parts, axis=0)
    return float(in_order / comparable) if comparable > 0.0 else float("nan")


def _pairs(time: Array, event: Any, scores: Array, weights: Array) -> tuple[float, float]:
    """The weights of the comparable pairs that are in order, and of all comparable ones."""
    # events come before censored samples of the same time, later times first
    order = np.lexsort((event, -time))
    time, event, scores, weights = time[order], event[order], scores[order], weights[order]
    in_order = comparable = 0.0
    seen, mass = np.empty(0), np.zeros(1)  # the scores before a block in order, and their sums
    for first in range(0, len(time), BLOCK):
        block = slice(first, first + BLOCK)
        t, own, w, z = time[block], event[block], weights[block], scores[block]
        # pairs with samples before the block, without events of the same time
        low = mass[np.searchsorted(seen, z, side="left")]
        high = mass[np.searchsorted(seen, z, side="right")]
        in_order += float(np.sum((own * w) * 0.5 * (low + high)))
        comparable += float(np.sum(own * w)) * float(mass[-1])
        later = (t[np.newaxis] > t[:, np.newaxis]) | ((t[np.newaxis] == t[:, np.newaxis]) & ~own)
        both = (own * w)[:, np.newaxis] * w * later
        z_ahead = np.sign(z[:, np.newaxis] - z)
        in_order += float(np.sum(both * 0.5 * (1.0 + z_ahead)))
        comparable += float(np.sum(both))
        ties = (time[:first] == t[0]) & event[:first] if first else np.zeros(0, dtype=bool)
        for k in np.flatnonzero(own & (t == t[0])) if ties.any() else ():
            tied, mates = w[k] * weights[:first][ties], scores[:first][ties]
            in_order -= float(np.sum(tied * 0.5 * (1.0 + np.sign(z[k] - mates))))
            comparable -= float(np.sum(tied))
        places = np.argsort(scores[: first + len(t)], kind="stable")
        seen = scores[places]
        mass = np.append(0.0, np.cumsum(weights[places]))
    return in_order, comparable

"""Projections onto balls and cones of norms, by sorting."""

import numpy as np


def onto_l1_ball(v, radius):
    if np.abs(v).sum() <= radius:
        return v
    sizes = np.sort(np.abs(v))[::-1]
    excess = (np.cumsum(sizes) - radius) / np.arange(1, len(v) + 1)
    tau = excess[np.flatnonzero(sizes > excess)[-1]]
    return np.sign(v) * np.maximum(np.abs(v) - tau, 0)


def onto_l1_epigraph(w, s):
    """The point of ||w||_1 <= lam nearest to (w, s)."""
    if np.abs(w).sum() <= s:
        return w, s
    sizes = np.sort(np.abs(w))[::-1]
    tau = (np.cumsum(sizes) - s) / (np.arange(len(w)) + 2)
    kept = np.flatnonzero(sizes > tau)
    if len(kept) == 0 or np.max(np.abs(w)) <= -s:
        return 0.0 * w, 0.0
    tau = tau[kept[-1]]
    return np.sign(w) * np.maximum(np.abs(w) - tau, 0), s + tau


def onto_epigraph(q, w, s):
    """The point of ||w||_q <= lam nearest to (w, s)."""
    if q == 1:
        return onto_l1_epigraph(w, s)
    if q == np.inf:  # Moreau, as in section 2
        other, t = onto_l1_epigraph(-w, -s)
        return w + other, s + t
    norm = np.linalg.norm(w)
    if norm <= s:
        return w, s
    if norm <= -s:
        return 0 * w, 0.0
    return 0.5 * (1 + s / norm) * w, 0.5 * (norm + s)

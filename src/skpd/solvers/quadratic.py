"""Penalised quadratics on a working set, by coordinate descent on their Gram matrix."""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .. import kernels
from .._typing import Array

__all__ = ["minimise_quadratic"]


def minimise_quadratic(H, gradient, w, penalty, alpha, columns, tol, max_rounds=20):
    """argmin over p of g.(p - w) + (p - w)'H(p - w) / 2 + alpha R(p), p = w elsewhere.

    Coordinate descent finds the support and the signs, a linear system the values on it.

    Parameters
    ----------
    H : ndarray of shape (m, m)
        Curvature on the working set and, behind it, on the intercept.
    gradient, w : ndarray of shape (m,)
    penalty : Penalty
        Separable or by groups.
    alpha : float
    columns : ndarray of shape (n_columns,)
        The features of the working set, whole groups, increasing.
    tol : float
        Largest change of a gradient at which to stop.
    max_rounds : int, default=20

    Returns
    -------
    p : ndarray of shape (m,)
    """
    if hasattr(penalty, "terms"):
        return _separable(H, gradient, w, penalty.terms, alpha, len(columns), tol, max_rounds)
    return _grouped(H, gradient, w, penalty, alpha, columns, tol, max_rounds)


def _separable(H, gradient, w, terms, alpha, n_penalised, tol, max_rounds):
    l1, l2, lower, upper = terms
    l1, l2 = alpha * l1, alpha * l2
    p, r = w.copy(), gradient.copy()
    sweeps = 10 + len(p) // 10  # of which a factorisation costs about len(p) / 3
    for _ in range(max_rounds):
        change = kernels.coordinate_descent(
            H, n_penalised, l1, l2, lower, upper, p, r, sweeps, tol
        )
        if change <= tol:
            break
        _solve_on_support(H, p, r, l1, l2, lower, upper, n_penalised)
    return p


def _solve_on_support(H: Array, p: Array, r: Array, l1, l2, lower, upper, n_penalised) -> None:
    """The exact minimiser on the coordinates off their kinks, as far as the signs hold."""
    penalised = np.arange(len(p)) < n_penalised
    free = (p > lower) & (p < upper) & ((p != 0.0) | (l1 == 0.0)) | ~penalised
    support = np.flatnonzero(free & (np.diag(H) > 0.0))
    if len(support) == 0:
        return
    own = penalised[support]
    sign = np.sign(p[support])
    system = H[np.ix_(support, support)]
    system[np.diag_indices_from(system)] += np.where(own, l2, 0.0) + 1e-14 * np.diag(system)
    slope = r[support] + np.where(own, l1 * sign + l2 * p[support], 0.0)
    try:
        step = -cho_solve(cho_factor(system, check_finite=False), slope, check_finite=False)
    except LinAlgError:
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.where(step > 0, upper, lower)
        if l1 > 0.0:
            bound = np.where(step * sign < 0, 0.0, bound)
        room = np.where(own & (step != 0.0), (bound - p[support]) / step, np.inf)
    length = min(1.0, float(np.min(room)))
    moved = p[support] + length * step
    if length < 1.0:  # the first to meet its kink stays there
        first = int(np.argmin(room))
        moved[first] = bound[first]
    change = moved - p[support]
    p[support] = moved
    r += H[:, support] @ change


def _grouped(H, gradient, w, penalty, alpha, columns, tol, max_rounds):
    labels = penalty.labels[columns]
    l1, group_weights = penalty.group_terms
    order = np.concatenate([np.argsort(labels, kind="stable"), np.arange(len(columns), len(w))])
    groups, counts = np.unique(labels, return_counts=True)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    weights = alpha * group_weights[groups]
    H = np.ascontiguousarray(H[np.ix_(order, order)])
    p, r = w[order], gradient[order]
    kernels.block_coordinate_descent(H, starts, weights, alpha * l1, p, r, 50 * max_rounds, tol)
    found = np.empty_like(p)
    found[order] = p
    return found

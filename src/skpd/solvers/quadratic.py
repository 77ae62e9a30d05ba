"""Penalised quadratics on a working set, by coordinate descent on their Gram matrix."""

import numpy as np
from scipy.linalg.lapack import dposv

from .. import kernels
from .._typing import Array, Indices

__all__ = ["minimise_quadratic"]


def minimise_quadratic(H, gradient, w, penalty, alpha, columns, tol, max_rounds=20):
    """argmin over p of g.(p - w) + (p - w)'H(p - w) / 2 + alpha R(p), p = w elsewhere.

    Coordinate descent finds the support, where the penalty is smooth, a Newton step the
    values on it; both in turns.

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
        return _minimise(
            H, gradient, w, _SeparablePart(penalty, alpha, len(columns)), tol, max_rounds
        )
    part = _GroupedPart(penalty, alpha, columns)
    order = np.append(part.order, np.arange(len(columns), len(w)))  # groups side by side
    H = H if np.array_equal(order, np.arange(len(w))) else H[np.ix_(order, order)]
    found = np.empty_like(w)
    found[order] = _minimise(H, gradient[order], w[order], part, tol, max_rounds)
    return found


def _minimise(H, gradient, w, part, tol, max_rounds):
    p, r = w.copy(), gradient.copy()
    sweeps = part.sweeps(len(p))
    for _ in range(max_rounds):
        if part.descend(H, p, r, sweeps, tol) <= tol:
            break
        _newton_step_on_support(H, p, r, part)
    return p


def _newton_step_on_support(H: Array, p: Array, r: Array, part) -> None:
    """A Newton step on the coordinates off their kinks; those that cross one stay there."""
    support = part.support(p)
    support = support[H[support, support] > 0.0]
    k = len(support)
    if k == 0:
        return
    system = np.empty((k, k))
    kernels.principal_submatrix(H, support, system)
    slope = r[support] + part.add_derivatives(p[support], support, system)
    system.ravel()[:: k + 1] *= 1.0 + 1e-14
    _, step, info = dposv(system.T, slope, lower=True, overwrite_a=True)
    if info == 0:
        part.move(H, p, r, support, -step)


class _SeparablePart:
    """alpha R on the working set, R the sum of l1 |w| + l2 w^2 / 2 on [lower, upper]."""

    def __init__(self, penalty, alpha: float, n_penalised: int) -> None:
        l1, l2, self.lower, self.upper = penalty.terms
        self.l1, self.l2, self.n_penalised = alpha * l1, alpha * l2, n_penalised

    def descend(self, H: Array, p: Array, r: Array, sweeps: int, tol: float) -> float:
        return kernels.coordinate_descent(
            H, self.n_penalised, self.l1, self.l2, self.lower, self.upper, p, r, sweeps, tol
        )

    def sweeps(self, m: int) -> int:
        return 5 + min(m // 20, 20)

    def support(self, p: Array) -> Indices:
        inside = (p > self.lower) & (p < self.upper) & ((p != 0.0) | (self.l1 == 0.0))
        inside[self.n_penalised :] = True
        return np.flatnonzero(inside)

    def add_derivatives(self, p: Array, support: Indices, system: Array) -> Array:
        """Adds the second derivatives to the system, returns the first."""
        own = support < self.n_penalised
        system.ravel()[:: len(p) + 1] += own * self.l2
        return own * (self.l1 * np.sign(p) + self.l2 * p)

    def move(self, H: Array, p: Array, r: Array, support: Indices, step: Array) -> None:
        kernels.step_on_support(
            H, self.n_penalised, self.l1, self.l2, self.lower, self.upper, support, step, p, r
        )


class _GroupedPart:
    """alpha R on the working set, R the sum of l1 |w| and of weight_g ||w_g||_2."""

    def __init__(self, penalty, alpha: float, columns: Indices) -> None:
        labels = penalty.labels[columns]
        l1, group_weights = penalty.group_terms
        self.l1 = alpha * l1
        self.order = np.argsort(labels, kind="stable")
        groups, counts = np.unique(labels, return_counts=True)
        self.starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.weights = alpha * group_weights[groups]
        self.groups = np.repeat(np.arange(len(groups)), counts)

    def descend(self, H: Array, p: Array, r: Array, sweeps: int, tol: float) -> float:
        return kernels.block_coordinate_descent(
            H, self.starts, self.weights, self.l1, p, r, sweeps, tol
        )

    def sweeps(self, m: int) -> int:
        return 5

    def support(self, p: Array) -> Indices:
        inside = np.ones(len(p), dtype=bool)
        n_penalised = len(self.groups)
        if self.l1 > 0.0:
            inside[:n_penalised] = p[:n_penalised] != 0.0
        else:
            inside[:n_penalised] = self._norms(p[:n_penalised], self.groups)[self.groups] > 0.0
        return np.flatnonzero(inside)

    def _norms(self, p: Array, groups: Indices) -> Array:
        return np.sqrt(np.bincount(groups, p * p, minlength=len(self.weights)))

    def add_derivatives(self, p: Array, support: Indices, system: Array) -> Array:
        """With u = p_g / ||p_g||: l1 sign(p) + weight u and (weight / ||p_g||) (I - u u')."""
        k = int(np.searchsorted(support, len(self.groups)))
        groups = self.groups[support[:k]]
        norms = self._norms(p[:k], groups)[groups]
        u, weights = p[:k] / norms, self.weights[groups]
        system[np.arange(k), np.arange(k)] += weights / norms
        counts = np.bincount(groups, minlength=len(self.weights))
        first = np.cumsum(counts) - counts
        row = np.repeat(np.arange(k), counts[groups])  # all pairs within a group
        column = np.arange(len(row)) - np.repeat(
            np.cumsum(counts[groups]) - counts[groups], counts[groups]
        )
        column += first[groups[row]]
        system[row, column] -= (weights / norms * u)[row] * u[column]
        slope = np.zeros(len(p))
        slope[:k] = self.l1 * np.sign(p[:k]) + weights * u
        return slope

    def value(self, p: Array, support: Indices) -> float:
        own = support < len(self.groups)
        norms = self._norms(p[own], self.groups[support[own]])
        return float(self.weights @ norms + self.l1 * np.sum(np.abs(p[own])))

    def clip(self, before: Array, after: Array, support: Indices) -> Array:
        if self.l1 == 0.0:
            return after
        own = support < len(self.groups)
        return np.where(own & (after * before < 0.0), 0.0, after)

    def move(self, H: Array, p: Array, r: Array, support: Indices, step: Array) -> None:
        before = p[support]
        value, change = self.value(before, support), np.zeros_like(p)
        for length in 0.5 ** np.arange(7):
            after = self.clip(before, before + length * step, support)
            change[support] = after - before
            response = H @ change
            if change @ (r + 0.5 * response) + self.value(after, support) < value:
                p[support] = after
                r += response
                return

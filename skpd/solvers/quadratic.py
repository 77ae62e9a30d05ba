"""Penalised quadratics on a working set, by coordinate descent and Newton steps."""

from dataclasses import replace

import numpy as np
from scipy.linalg.lapack import dposv

from .. import kernels
from .._typing import Array, Indices
from ..designs import ColumnCurvature
from ..designs.gram import BLAS, LARGEST_GRAM
from ..designs.threads import blas_threads_for, blas_threads_for_product, one_blas_thread

__all__ = ["minimise_quadratic"]

COMPILED = 2000  # columns up to which LAPACK saves less than a factor that serves several steps
GO_ON_WITH_GRAM = 1000  # columns up to which a direct step is worth their Gram matrix
SWEEPS_BY_COLUMNS = 10  # until conjugate gradients take their turn
LINEAR_ACCURACY = 0.5  # of conjugate gradients: the share of the residual that is left
MOST_PASSES = 300  # over the columns; after so many, another Newton step does more


def minimise_quadratic(
    H, gradient, w, penalty, alpha, columns, tol, *,
    max_rounds=20, max_passes=MOST_PASSES, system=None,
):  # fmt: skip
    """argmin over p of g.(p - w) + (p - w)'H(p - w) / 2 + alpha R(p), p = w elsewhere.

    Coordinate descent finds the support, where the penalty is smooth, a Newton step the
    values on it; both in turns.

    Parameters
    ----------
    H : ndarray of shape (m, m) or ColumnCurvature
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
    max_passes : float, default=300
        Over the columns, when to stop unless direct steps are due.
    system : SupportSystem, default=None
        Factors of the same matrix from earlier calls, perhaps on other columns.

    Returns
    -------
    p : ndarray of shape (m,)
    """
    if hasattr(penalty, "terms"):
        given = None if isinstance(H, ColumnCurvature) else system
        part = _SeparablePart(penalty, alpha, columns, given)
        return _minimise(H, gradient, w, part, tol, max_rounds, max_passes)
    grouped = _GroupedPart(penalty, alpha, columns)
    order = np.append(grouped.order, np.arange(len(columns), len(w)))  # groups side by side
    if isinstance(H, ColumnCurvature):
        curvature = replace(H, places=H.places[order], ridge=H.ridge[order])
    elif not np.array_equal(order, np.arange(len(w))):
        curvature = H[np.ix_(order, order)]
    else:
        curvature = H
    found = np.empty_like(w)
    found[order] = _minimise(
        curvature, gradient[order], w[order], grouped, tol, max_rounds, max_passes
    )
    if isinstance(H, ColumnCurvature):
        H.passes = curvature.passes
    return found


def _minimise(H, gradient, w, part, tol, max_rounds, max_passes):
    """The same with the columns in the order of the part."""
    if isinstance(H, ColumnCurvature):
        return _minimise_by_columns(H, gradient, w, part, tol, max_rounds, max_passes)
    return _minimise_by_matrix(H, gradient, w, part, tol, max_rounds)


def _minimise_by_columns(curvature, gradient, w, part, tol, max_rounds, max_passes):
    """The same with a factor of H, and conjugate gradients as long as they need few steps."""
    columns = curvature.columns
    p, response = w.copy(), np.zeros(columns.n_rows)  # A (p - w)
    model = (curvature.places, gradient, w, curvature.ridge, part.coordinates(), p, response)
    direct = False
    for _ in range(max_rounds):
        change, sweeps = columns.descend(*model, SWEEPS_BY_COLUMNS, tol)
        curvature.passes += 2 * sweeps
        if change <= tol or (curvature.passes > max_passes and not direct):
            break
        affordable, most = _conjugate_gradients(curvature, np.count_nonzero(p))
        if direct and isinstance(part, _SeparablePart) and len(p) <= GO_ON_WITH_GRAM:
            with blas_threads_for_product(len(p) ** 2 * columns.n_rows):
                H = curvature.matrix()  # its factor serves several steps
            curvature.passes += 2 * most
            part.minimise(H, p, gradient + H @ (p - w), part.sweeps(len(p)), tol, max_rounds)
            break
        if direct and affordable:
            with one_blas_thread():  # its products have all rows, however small the system is
                _direct_step(curvature, gradient, w, part, model)
            curvature.passes += 2 * most
        else:
            steps = columns.newton_step(*model, most, LINEAR_ACCURACY)
            curvature.passes += 2 * steps
            direct = steps == most
    return p


def _conjugate_gradients(curvature, k):
    """Whether a direct step on k coordinates fits in memory, and how many take as long."""
    c = curvature.columns.n_rows
    least = min(k, c)
    direct = (k * c * least + least**3 / 3) / BLAS
    one = 2.0 * curvature.cost_of_pass * k / max(len(curvature.places), 1) + 5.0 * k + 2.0 * c
    return k * c <= LARGEST_GRAM**2, int(min(max(direct / max(one, 1.0), 20), 500))


def _direct_step(curvature, gradient, w, part, model):
    """A Newton step on the support by factorising a matrix over its columns or over the rows.

    The system is B'B + E with the columns B of A on the support, E diagonal but for a term of
    rank one for each group. Where the rows are fewer, by Woodbury's identity,

        (B'B + E)^-1 = E^-1 - E^-1 B' (I + B E^-1 B')^-1 B E^-1.
    """
    p, response = model[-2:]
    support = part.support(p)
    support = support[curvature.diagonal()[support] > 0.0]
    k, c = len(support), len(response)
    if k == 0:
        return
    table = np.empty((k, c))  # B'
    curvature.columns.table(curvature.places[support], table)
    ridge = curvature.ridge[support]
    slope = gradient[support] + table @ response + ridge * (p - w)[support]
    if k <= c:
        system = table @ table.T
        system.ravel()[:: k + 1] += ridge
        slope += part.add_derivatives(p[support], support, system)
        system.ravel()[:: k + 1] *= 1.0 + 1e-14
        _, step, info = dposv(system.T, slope, lower=True, overwrite_a=True)
    else:
        inverse = part.inverse_of_second(p[support], support, ridge)
        slope += part.first_derivatives(p[support], support)
        root = inverse.root_times(table)
        system = root.T @ root
        system.ravel()[:: c + 1] += 1.0
        right = table.T @ inverse.times(slope)
        _, inner, info = dposv(system.T, right, lower=True, overwrite_a=True)
        step = inverse.times(slope - table @ inner)
    if info == 0:
        curvature.columns.step_along(*model, support, -step)


class _Inverse:
    """diag(1 / d) + sum_g v_g v_g', the groups g side by side, anything behind them."""

    def __init__(self, d: Array, v: Array, starts: Indices) -> None:
        self.d, self.v, self.starts = d, v, starts

    def times(self, x: Array) -> Array:
        out, k = x / self.d, len(self.v)
        if k > 0:
            sums = np.add.reduceat(self.v * x[:k], self.starts)
            out[:k] += self.v * np.repeat(sums, np.diff(self.starts, append=k))
        return out

    def root_times(self, table: Array) -> Array:
        """F with F'F = table' times this times table."""
        root, k = table / np.sqrt(self.d)[:, np.newaxis], len(self.v)
        if k == 0:
            return root
        sums = np.add.reduceat(self.v[:, np.newaxis] * table[:k], self.starts, axis=0)
        return np.concatenate([root, sums])


def _minimise_by_matrix(H, gradient, w, part, tol, max_rounds):
    p, r = w.copy(), gradient.copy()
    sweeps = part.sweeps(len(p))
    if len(p) <= COMPILED and isinstance(part, _SeparablePart):
        part.minimise(H, p, r, sweeps, tol, max_rounds)
        return p
    with blas_threads_for(len(p)):
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

    def __init__(self, penalty, alpha: float, columns: Indices, system) -> None:
        l1, l2, self.lower, self.upper = penalty.terms
        self.l1, self.l2 = alpha * l1, alpha * l2
        self.columns, self.n_penalised = columns, len(columns)
        self.system = system or kernels.SupportSystem()

    def coordinates(self) -> kernels.SeparableCoordinates:
        return kernels.SeparableCoordinates(
            self.l1, self.l2, self.lower, self.upper, self.n_penalised
        )

    def descend(self, H: Array, p: Array, r: Array, sweeps: int, tol: float) -> float:
        return kernels.coordinate_descent(
            H, self.n_penalised, self.l1, self.l2, self.lower, self.upper, p, r, sweeps, tol
        )

    def minimise(self, H: Array, p: Array, r: Array, sweeps: int, tol: float, rounds: int) -> None:
        kernels.minimise_separable(
            self.system, H, self.columns, self.l1, self.l2, self.lower, self.upper, p, r, sweeps,
            tol, rounds,
        )  # fmt: skip

    def sweeps(self, m: int) -> int:
        return 5 + min(m // 20, 20)

    def support(self, p: Array) -> Indices:
        inside = (p > self.lower) & (p < self.upper) & ((p != 0.0) | (self.l1 == 0.0))
        inside[self.n_penalised :] = True
        return np.flatnonzero(inside)

    def add_derivatives(self, p: Array, support: Indices, system: Array) -> Array:
        """Adds the second derivatives to the system, returns the first."""
        system.ravel()[:: len(p) + 1] += self.l2 * (support < self.n_penalised)
        return self.first_derivatives(p, support)

    def first_derivatives(self, p: Array, support: Indices) -> Array:
        return (support < self.n_penalised) * (self.l1 * np.sign(p) + self.l2 * p)

    def inverse_of_second(self, p: Array, support: Indices, ridge: Array) -> _Inverse:
        diagonal = ridge + self.l2 * (support < self.n_penalised)
        return _Inverse(diagonal, np.empty(0), np.empty(0, dtype=np.int64))

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
        labels = labels[self.order]
        first = np.diff(labels, prepend=-1) > 0  # of its group
        self.starts = np.append(np.flatnonzero(first), len(labels))
        self.weights = alpha * group_weights[labels[first]]
        self.groups = np.cumsum(first) - 1

    def coordinates(self) -> kernels.GroupedCoordinates:
        return kernels.GroupedCoordinates(self.l1, self.weights, self.starts)

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
        k, norms = self._own(p, support)
        groups = self.groups[support[:k]]
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
        return self.first_derivatives(p, support)

    def first_derivatives(self, p: Array, support: Indices) -> Array:
        k, norms = self._own(p, support)
        slope = np.zeros(len(p))
        slope[:k] = self.weights[self.groups[support[:k]]] * p[:k] / norms
        slope[:k] += self.l1 * np.sign(p[:k])
        return slope

    def _own(self, p: Array, support: Indices) -> tuple[int, Array]:
        """How many of the support are penalised, and the norms of their groups."""
        k = int(np.searchsorted(support, len(self.groups)))
        groups = self.groups[support[:k]]
        return k, self._norms(p[:k], groups)[groups]

    def inverse_of_second(self, p: Array, support: Indices, ridge: Array) -> _Inverse:
        """diag(d) - c u u' in a group, with c = weight / ||p_g|| and d = ridge + c.

        1 - c sum_j u_j^2 / d_j, which its inverse divides by, is sum_j u_j^2 ridge_j / d_j.
        """
        k, norms = self._own(p, support)
        groups = self.groups[support[:k]]
        u, c = p[:k] / norms, self.weights[groups] / norms
        diagonal = ridge.copy()
        diagonal[:k] += c
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        if k == 0:
            return _Inverse(diagonal, np.empty(0), starts)
        divisor = np.add.reduceat(u * u * ridge[:k] / diagonal[:k], starts)
        v = u / diagonal[:k] * np.sqrt(c / np.repeat(divisor, np.diff(starts, append=k)))
        return _Inverse(diagonal, v, starts)

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

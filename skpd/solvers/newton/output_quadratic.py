"""Penalised quadratics in a matrix of coefficients: sweeps over its rows, Newton steps in turns.

See `skpd.designs.outputs_gram` for the shapes in which the curvature comes. A row p of Euclidean
norm ||p|| and weight a has the second derivative D (I - u u') with u = p / ||p||, D = a / ||p||.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ... import kernels
from ..._typing import Array, Indices
from ...designs.outputs_gram import OutputColumns, RowBlocks
from ...designs.threads import blas_threads_for
from ...penalties import Structure
from .settings import OUTPUT_QUADRATIC as SETTINGS

__all__ = ["minimise_blocks", "minimise_by_products"]


class _Terms:
    """alpha R on the rows of a working set: weights of norms, l1 and l2."""

    def __init__(self, penalty: Any, alpha: float, features: Indices, n_outputs: int) -> None:
        if penalty.structure is Structure.GROUPED:
            l1, weights = penalty.group_terms
            rows = penalty.labels[features * n_outputs]
            self.weights = alpha * weights[rows]
            self.l1, self.l2 = alpha * l1, alpha * penalty.group_ridge
        else:
            l1, l2, _, _ = penalty.terms
            self.weights = np.zeros(len(features))
            self.l1, self.l2 = alpha * float(l1), alpha * float(l2)

    @property
    def n_penalised(self) -> int:
        return len(self.weights)

    @property
    def given(self) -> tuple[Array, float, float]:
        """What kernels take."""
        return self.weights, self.l1, self.l2

    @property
    def is_smooth(self) -> bool:
        """Whether there are squares alone."""
        return self.l1 == 0.0 and not self.weights.any()

    def value(self, P: Array) -> float:
        own = P[: self.n_penalised]
        value = float(self.weights @ np.linalg.norm(own, axis=1))
        value += self.l1 * float(np.sum(np.abs(own)))
        return value + 0.5 * self.l2 * float(np.sum(own * own))

    def support(self, P: Array) -> Indices:
        """The rows that are not 0 or have no kink there."""
        if self.is_smooth:
            return np.arange(len(P))
        inside: Any = P.any(axis=1)
        inside[self.n_penalised :] = True
        return np.flatnonzero(inside)

    def directions(self, P: Array, support: Indices) -> tuple[Array, Array]:
        """D and u of the rows of a support; D is 0 for those without a weight."""
        own = P[support]
        norms = np.linalg.norm(own, axis=1)
        weights = np.append(self.weights, np.zeros(len(P) - self.n_penalised))[support]
        u = own / np.where(norms > 0.0, norms, 1.0)[:, np.newaxis]
        return np.where(norms > 0.0, weights / np.where(norms > 0.0, norms, 1.0), 0.0), u

    def slopes(self, P: Array, support: Indices) -> Array:
        """The first derivative on a support."""
        D, _ = self.directions(P, support)
        penalised = (support < self.n_penalised)[:, np.newaxis]
        own = P[support]
        return D[:, np.newaxis] * own + penalised * (self.l1 * np.sign(own) + self.l2 * own)


def minimise_blocks(
    H: RowBlocks, gradient: Array, w: Array, penalty: Any, alpha: float, columns: Indices,
    tol: float,
) -> Array:  # fmt: skip
    """argmin over p of g.(p - w) + (p - w)'H(p - w) / 2 + alpha R(p).

    Parameters are those of `skpd.solvers.newton.quadratic.minimise_quadratic`.
    """
    K = H.n_outputs
    terms = _Terms(penalty, alpha, columns[::K] // K, K)
    P, R = w.reshape(-1, K).copy(), gradient.reshape(-1, K).copy()
    with blas_threads_for(len(P)):
        for _ in range(SETTINGS.most_rounds):
            most = SETTINGS.sweeps
            if kernels.descend_rows(H.matrices, *terms.given, P, R, most, tol) <= tol:
                break
            support = terms.support(P)
            if len(support) <= SETTINGS.newton_rows and terms.l1 == 0.0:
                _newton_step(H, P, R, terms, support)
    return np.ravel(P)


def _newton_step(H: RowBlocks, P: Array, R: Array, terms: _Terms, support: Indices) -> None:
    """A Newton step on the rows that are not 0, without a system for all their entries.

    With M_k = H_k + diag(D + l2) the system is diag(M_k) less u_j D_j u_j' for each row j. By
    Woodbury's identity that takes the inverses of the M_k and a system with a number for each
    row, diag(1 / D) - sum_k M_k^-1 o (u_k u_k').
    """
    D, u = terms.directions(P, support)
    slope = R[support] + terms.slopes(P, support)
    penalised = support < terms.n_penalised
    curved = np.flatnonzero(D > 0.0)
    inverses = []
    try:
        for block in H.blocks(support):
            block.ravel()[:: len(block) + 1] += D + terms.l2 * penalised
            block.ravel()[:: len(block) + 1] *= SETTINGS.diagonal_factor
            inverses.append(cho_solve(cho_factor(block, lower=True), np.eye(len(block))))
        if len(inverses) == 1:
            step = inverses[0] @ slope
        else:
            step = np.stack([M @ s for M, s in zip(inverses, slope.T, strict=True)], axis=1)
        if len(curved):
            some = np.ix_(curved, curved)
            if len(inverses) == 1:
                system = -inverses[0][some] * (u[curved] @ u[curved].T)
            else:
                parts = zip(inverses, u[curved].T, strict=True)
                system = -sum(M[some] * np.outer(v, v) for M, v in parts)
            system.ravel()[:: len(curved) + 1] += 1.0 / D[curved]
            right = np.sum(u[curved] * step[curved], axis=1)
            more = cho_solve(cho_factor(system, lower=True), right)[:, np.newaxis] * u[curved]
            if len(inverses) == 1:
                step += inverses[0][:, curved] @ more
            else:
                step += np.stack(
                    [M[:, curved] @ m for M, m in zip(inverses, more.T, strict=True)], axis=1
                )
    except LinAlgError:
        return
    value = terms.value(P)
    for length in 0.5 ** np.arange(SETTINGS.halvings):
        change = np.zeros_like(P)
        change[support] = -length * step
        response = H.times(change, support)
        rise = float(np.sum(change * (R + 0.5 * response))) + terms.value(P + change) - value
        if rise < 0.0:
            P += change
            R += response
            return


def minimise_by_products(
    H: OutputColumns, gradient: Array, w: Array, penalty: Any, alpha: float, columns: Indices,
    tol: float,
) -> Array:  # fmt: skip
    """The same by sweeps over the columns of X and conjugate gradients on the support."""
    m, K = H.mask.shape[0], H.mask.shape[1]
    n_features = len(H.features)
    places = np.searchsorted(H.features, columns // K), columns % K

    def table(vector: Array) -> Array:
        out = np.zeros((m, K))
        out[places] = vector[: len(columns)]
        out[n_features:] = vector[len(columns) :].reshape(m - n_features, K)
        return out

    terms = _Terms(penalty, alpha, H.features, K)
    G, W = table(gradient), table(w)
    P, U = W.copy(), np.zeros(H.d.shape)
    if terms.is_smooth:
        P += _smooth_step(H, G, W, terms, tol)
        return np.append(P[places], P[n_features:])
    exact, by_sweeps = not H.e.any(), False  # then sweeps take the curvature of a row as it is
    for _ in range(SETTINGS.most_rounds):
        sweeps = SETTINGS.sweeps if by_sweeps else SETTINGS.sweeps_by_products
        if H.descend(G, W, terms.given, P, U, sweeps=sweeps, tol=tol) <= tol:
            break
        by_sweeps = exact and len(terms.support(P)) > SETTINGS.newton_rows
        if by_sweeps:
            continue
        if terms.l1 > 0.0 and terms.l2 == 0.0 and H.is_shift_free:
            _shift_to_zero(P[:n_features])
        R = G + H.gradient(U) + H.ridge * (P - W)
        before = P.copy()
        if _conjugate_gradient_step(H, P, R, terms, tol):
            U += H.of_rows(H.predictions(P - before))
        else:
            by_sweeps = True
    return np.append(P[places], P[n_features:])


def _shift_to_zero(P: Array) -> None:
    """Take a middle entry off every row without a 0: with losses of classes it adds nothing.

    The l1 norm falls by that, and without a 0 Newton steps would have no end in this direction.
    """
    full = np.flatnonzero(P.all(axis=1))
    middle = np.partition(P[full], P.shape[1] // 2, axis=1)[:, P.shape[1] // 2]
    P[full] -= middle[:, np.newaxis]


def _smooth_step(H: OutputColumns, G: Array, W: Array, terms: _Terms, tol: float) -> Array:
    """The minimiser of a model without kinks: a linear system."""
    ridge = np.zeros((len(W), 1))
    ridge[: terms.n_penalised] = terms.l2
    if H.spectrum is not None:
        precondition = H.spectrum.inverse(H.of_outputs, terms.l2)
    else:
        everywhere = np.arange(len(W))
        precondition, _ = _preconditioner(H, H.mask, everywhere, ridge, True)
    most = SETTINGS.most_smooth_steps
    return _conjugate_gradients(
        lambda V: H.times(V) + ridge * V, precondition, -(G + ridge * W), tol, most
    )


def _conjugate_gradients(
    times: Callable[[Array], Array], precondition: Callable[[Array], Array], residual: Array,
    target: float, most: int,
) -> Array:  # fmt: skip
    """The solution of a linear system up to a largest residual, from 0."""
    step = np.zeros_like(residual)
    with blas_threads_for(len(residual)):
        direction, last_size = np.zeros_like(residual), 1.0
        for _ in range(most):
            if float(np.max(np.abs(residual))) <= target:
                break
            z = precondition(residual)
            size = float(np.sum(residual * z))
            direction = z + size / last_size * direction
            last_size = size
            product = times(direction)
            curvature = float(np.sum(direction * product))
            if not curvature > 0.0:
                break
            length = size / curvature
            step += length * direction
            residual = residual - length * product
    return step


def _conjugate_gradient_step(
    H: OutputColumns, P: Array, R: Array, terms: _Terms, tol: float
) -> bool:
    """A truncated Newton step on the support, R the gradient; whether it lowered the model."""
    support = terms.support(P)
    inside: Any = np.zeros(H.mask.shape, dtype=bool)
    inside[support] = True
    inside &= H.mask
    if terms.l1 > 0.0:
        inside[: terms.n_penalised] &= P[: terms.n_penalised] != 0.0
    slope = R.copy()
    slope[support] += terms.slopes(P, support)
    slope[~inside] = 0.0
    first = float(np.max(np.abs(slope), initial=0.0))
    if first <= tol:
        return False
    D, u = terms.directions(P, support)
    ridge = np.zeros((len(P), 1))
    ridge[support, 0] = D + terms.l2 * (support < terms.n_penalised)

    def times(V: Array) -> Array:
        product = H.times(V) + ridge * V
        own = V[support]
        product[support] -= (D * np.sum(u * own, axis=1))[:, np.newaxis] * u
        product[~inside] = 0.0
        return product

    precondition, is_diagonal = _preconditioner(H, inside, support, ridge, False)
    curved = np.flatnonzero(D > 0.0)
    if len(curved) and (is_diagonal or inside[support].all()):
        precondition = _along_rows(
            precondition, support[curved], D[curved], u[curved], len(P), is_diagonal
        )
    target = max(SETTINGS.linear_accuracy * first, 0.5 * tol)
    most = SETTINGS.most_linear_steps
    step = _conjugate_gradients(times, precondition, -slope, target, most)
    return _move(H, P, R, terms, step)


def _preconditioner(
    H: OutputColumns, inside: Any, support: Indices, ridge: Array, is_smooth: bool
) -> tuple[Callable[[Array], Array], bool]:
    """The inverse of an average of the outputs' own curvatures, or of the diagonal.

    Beside it is whether it is that of the diagonal.
    """
    more = ridge[:, 0] + np.mean(H.ridge, axis=1)
    if inside[support].all():
        parts = [(support, slice(None))]
    else:
        parts = [(np.flatnonzero(own), slice(k, k + 1)) for k, own in enumerate(inside.T)]
    solvers = [_averaged_inverse(H, rows, more[rows], is_smooth) for rows, _ in parts]
    if all(solver is not None for solver in solvers):

        def by_factors(table: Array) -> Array:
            out = np.zeros_like(table)
            for (rows, outputs), solve in zip(parts, solvers, strict=True):
                assert solve is not None
                out[rows, outputs] = solve(table[rows, outputs])
            return out

        return by_factors, False
    diagonal = np.where(inside, H.diagonal + H.ridge + ridge, 0.0)
    inverse = np.where(diagonal > 0.0, 1.0 / np.where(diagonal > 0.0, diagonal, 1.0), 0.0)
    return lambda table: inverse * table, True


def _along_rows(
    precondition: Callable[[Array], Array],
    rows: Indices,
    D: Array,
    u: Array,
    n_rows: int,
    is_diagonal: bool,
) -> Callable[[Array], Array]:
    """A preconditioner without the curvature D_j that norms do not have along their rows u_j.

    By Woodbury's identity for M - sum_j D_j (e_j u_j')(e_j u_j')' with M^-1 the preconditioner: a
    system with a number for each row, diagonal where M is. Where D_j is large, this direction
    alone moves, and it decides how many steps conjugate gradients take.
    """
    if is_diagonal:
        own = np.zeros((n_rows, u.shape[1]))
        own[rows] = u
        system = 1.0 / D - np.sum(u * precondition(own)[rows], axis=1)
        if not np.all(system > 0.0):
            return precondition
    else:
        units = np.zeros((n_rows, len(rows)))
        units[rows, np.arange(len(rows))] = 1.0
        system = np.diag(1.0 / D) - precondition(units)[rows] * (u @ u.T)
        try:
            factor = cho_factor(system, lower=True)
        except LinAlgError:
            return precondition

    def times(table: Array) -> Array:
        out = precondition(table)
        right = np.sum(u * out[rows], axis=1)
        right = right / system if is_diagonal else cho_solve(factor, right, check_finite=False)
        more = np.zeros_like(table)
        more[rows] = right[:, np.newaxis] * u
        return out + precondition(more)

    return times


def _averaged_inverse(
    H: OutputColumns, rows: Indices, ridge: Array, is_smooth: bool
) -> Callable[[Array], Array] | None:
    """The inverse of M + diag(ridge) on some rows, M the curvature averaged over the outputs.

    Where the samples are fewer than the rows, with M = A'A, by Woodbury's identity: for squares
    alone, as the curvature of norms is 0 along a row. None where neither is small.
    """
    fewer = is_smooth and H.design.shape[0] < len(rows) and bool(np.all(ridge > 0.0))
    if len(rows) > SETTINGS.newton_rows and not (
        fewer and H.design.shape[0] <= SETTINGS.newton_rows
    ):
        return None
    with suppress(LinAlgError):
        if not fewer:
            M = H.averaged[np.ix_(rows, rows)]
            M.ravel()[:: len(M) + 1] += ridge
            M.ravel()[:: len(M) + 1] *= SETTINGS.diagonal_factor
            factor = cho_factor(M, lower=True)
            return lambda table: cho_solve(factor, table, check_finite=False)
        A = H.scaled_table(rows)
        inverse = 1.0 / ridge[:, np.newaxis]
        inner = A @ (inverse * A.T)
        inner.ravel()[:: len(inner) + 1] += 1.0
        factor = cho_factor(inner, lower=True)

        def by_rows(table: Array) -> Array:
            scaled = inverse * table
            return scaled - inverse * (A.T @ cho_solve(factor, A @ scaled, check_finite=False))

        return by_rows
    return None


def _move(H: OutputColumns, P: Array, R: Array, terms: _Terms, step: Array) -> bool:
    """Along a step as far as that lowers the model; entries that would cross their kink stop."""
    value = terms.value(P)
    for length in 0.5 ** np.arange(SETTINGS.halvings):
        after = P + length * step
        if terms.l1 > 0.0:
            own = slice(terms.n_penalised)
            after[own] = np.where(after[own] * P[own] < 0.0, 0.0, after[own])
        change = after - P
        rise = float(np.sum(change * (R + 0.5 * H.times(change)))) + terms.value(after) - value
        if rise < 0.0:
            P[:] = after
            return True
    return False

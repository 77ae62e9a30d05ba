"""Penalised quadratic problems in a matrix of coefficients, by sweeps and Newton steps in turns.

See `skpd.designs.outputs_curvature` for the representations of the curvature. The norm of a row p
with weight a has the second derivative D (I - u u') with u = p / ||p|| and D = a / ||p||.
"""

from contextlib import suppress
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from ..._typing import Array, Indices
from ...designs.output_inverses import OutputInverses
from ...designs.outputs import positions_in
from ...designs.outputs_curvature import GramMatrices, OutputColumns, WideOutputs
from .output_systems import newton_step_by_products, smooth_step
from .output_terms import Terms
from .proximal_points import minimise_by_proximal_points, sweep_while_it_converges
from .settings import OUTPUT_QUADRATIC as SETTINGS
from .settings import QUADRATIC

Blocks = GramMatrices | WideOutputs


def minimise_blocks(
    H: Blocks, gradient: Array, w: Array, penalty: Any, alpha: float, columns: Indices, tol: float
) -> Array:  # fmt: skip
    """The minimiser p of g.(p - w) + (p - w)'H(p - w) / 2 + alpha R(p), for H in blocks.

    The parameters are those of `skpd.solvers.newton.quadratic.QuadraticModel.minimise`.
    """
    K = H.n_outputs
    terms = Terms(penalty, alpha, columns[::K] // K, K)
    P, R = w.reshape(-1, K).copy(), gradient.reshape(-1, K).copy()
    by_steps = terms.l1 == 0.0  # with an l1 norm, systems of outputs differ in their rows
    most_turns = QUADRATIC.most_rounds
    if by_steps:
        most_sweeps = SETTINGS.systems_of_sweeps * H.sweeps_of_system
        most_turns = 1 + int(most_sweeps / QUADRATIC.sweeps_by_columns)

    def turn() -> float:
        return H.descend(terms.numbers, P, R, sweeps=QUADRATIC.sweeps_by_columns, tol=tol)

    settled = sweep_while_it_converges(turn, tol, most_turns, ends_early=by_steps)
    if by_steps and not settled:
        minimise_by_proximal_points(_Blocks(H, terms), P, R, tol)
    return np.ravel(P)


class _Blocks:
    """A curvature in blocks with the penalty on rows, for proximal points.

    With the matrices M_k = H_k + diag(D + l2 + ridge), a linear system has the matrix diag(M_k)
    minus D_j u_j u_j' for each non-zero row j, see `skpd.designs.output_inverses`.
    """

    def __init__(self, H: Blocks, terms: Terms) -> None:
        self.H, self.terms = H, terms
        self.times, self.prox = H.times, terms.prox
        self.curvatures = H.curvatures

    def solve(self, right: Array, Z: Array, ridge: Array, precise: bool) -> tuple[Array, Array]:
        terms, support = self.terms, self.terms.support(Z)
        D, u = terms.directions(Z, support)
        order = np.argsort(D == 0.0, kind="stable")  # rows without a norm last
        support, D, u = support[order], D[order], u[order]
        n_normed = int(np.count_nonzero(D))
        diagonal = D + terms.l2 * (support < terms.n_penalised) + ridge[support, 0]
        table, right, D, u = np.zeros_like(Z), right[support], D[:n_normed], u[:n_normed]
        if not precise:  # quicker, unless rounding makes the matrix indefinite
            with suppress(LinAlgError):
                inverses = self.H.inverses(support, diagonal, n_normed, np.float32)
                table[support] = _solution(inverses, D, u, right)
                return table, self.times(table)
        inverses = self.H.inverses(support, diagonal, n_normed, np.float64)
        table[support] = _solution(inverses, D, u, right)
        return table, self.times(table)


def _solution(inverses: OutputInverses, D: Array, u: Array, right: Array) -> Array:
    """The solution of all outputs; D and u belong to the first rows, which have a norm."""
    solution, m = inverses.times(right), len(D)
    if m == 0:
        return solution
    share = inverses.solve_coupled(D, u, np.sum(u * solution[:m], axis=1))
    more = np.zeros(right.shape)
    more[:m] = share[:, np.newaxis] * u
    return solution + inverses.times(more)


def minimise_by_products(
    H: OutputColumns, gradient: Array, w: Array, penalty: Any, alpha: float, columns: Indices,
    tol: float,
) -> Array:  # fmt: skip
    """The minimiser p of g.(p - w) + (p - w)'H(p - w) / 2 + alpha R(p), for H given by products.

    Sweeps over the columns of X find the support, and conjugate gradients the values on it.
    """
    m, K = H.mask.shape[0], H.mask.shape[1]
    n_features = len(H.features)
    whole = len(columns) == n_features * K
    entries: Any = slice(n_features)
    if not whole:
        entries = positions_in(H.features, columns // K), columns % K

    def table(vector: Array) -> Array:
        if whole:
            return vector.reshape(m, K)
        out = np.zeros((m, K))
        out[entries] = vector[: len(columns)]
        out[n_features:] = vector[len(columns) :].reshape(m - n_features, K)
        return out

    terms = Terms(penalty, alpha, H.features, K)
    G, W = table(gradient), table(w)
    P, U = W.copy(), np.zeros(H.d.shape)
    if terms.is_smooth:
        P += smooth_step(H, G, W, terms, tol)
        return np.append(P[entries], P[n_features:])
    if H.gram is not None:
        _minimise_by_gram(H, G, P, terms, tol)
        return np.append(P[entries], P[n_features:])
    exact, by_sweeps = not H.e.any(), False  # exact: sweeps use the exact curvature of a row
    for _ in range(QUADRATIC.most_rounds):
        sweeps = QUADRATIC.sweeps_by_columns if by_sweeps else SETTINGS.sweeps_by_products
        if H.descend(G, W, terms.numbers, P, U, sweeps=sweeps, tol=tol) <= tol:
            break
        by_sweeps = exact and len(terms.support(P)) > SETTINGS.newton_rows
        if by_sweeps:
            continue
        if terms.l1 > 0.0 and terms.l2 == 0.0 and H.is_shift_free:
            _shift_to_zero(P[:n_features])
        R = G + H.gradient(U) + H.ridge * (P - W)
        before = P.copy()
        if newton_step_by_products(H, P, R, terms, tol):
            U += H.of_rows(H.predictions(P - before))
        else:
            by_sweeps = True
    return np.append(P[entries], P[n_features:])


def _minimise_by_gram(H: OutputColumns, R: Array, P: Array, terms: Terms, tol: float) -> None:
    """Update P to a minimiser of the quadratic model, by sweeps over the rows of a Gram matrix.

    R is the gradient at P. The sweeps minimise a majorant, whose curvature is the Gram matrix
    times an upper bound on the curvature of the outputs. If the curvature along their step is
    larger than that of the majorant, they are repeated with a multiple of it, so that the step
    decreases the model.
    """
    R, scale, turns = R.copy(), 1.0, QUADRATIC.sweeps_by_columns
    for _ in range(QUADRATIC.most_rounds):
        for _ in range(SETTINGS.most_bounds):
            after, gradient = P.copy(), R.copy()
            for _ in range(turns):  # each ends when the set of non-zero rows does not change
                if H.descend_by_gram(terms.numbers, after, gradient, scale, tol=0.1 * tol):
                    break
            change = after - P
            response = H.times(change)
            curvature, bound = np.sum(change * response), np.sum(change * (gradient - R))
            if not curvature > (1.0 + SETTINGS.bound_rounding) * bound:
                break
            scale *= SETTINGS.bound_increase * curvature / bound
        P += change
        R += response
        if np.max(np.abs(gradient - R + response), initial=0.0) <= tol:
            break
        if terms.l1 > 0.0 and terms.l2 == 0.0 and H.is_shift_free:
            _shift_to_zero(P[: len(H.features)])
        moved = newton_step_by_products(H, P, R, terms, tol)
        turns = QUADRATIC.sweeps_by_columns if moved else SETTINGS.sweeps_without_steps


def _shift_to_zero(P: Array) -> None:
    """Subtract the median entry from every row of P without a 0.

    With losses of classes this does not change the losses, and it decreases the l1 norm. Newton
    steps would not converge in this direction, along which there is no curvature.
    """
    full = np.flatnonzero(P.all(axis=1))
    middle = np.partition(P[full], P.shape[1] // 2, axis=1)[:, P.shape[1] // 2]
    P[full] -= middle[:, np.newaxis]

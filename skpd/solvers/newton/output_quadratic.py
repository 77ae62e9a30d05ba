"""Penalised quadratic problems in a matrix of coefficients, by sweeps and Newton steps in turns.

See `skpd.designs.outputs_curvature` for the representations of the curvature. The norm of a row p
with weight a has the second derivative D (I - u u') with u = p / ||p|| and D = a / ||p||.
"""

from typing import Any

import numpy as np

from ..._typing import Array, Indices
from ...designs.outputs import positions_in
from ...designs.outputs_curvature import GramMatrices, OutputColumns
from ...penalties import Penalty
from .output_systems import newton_step, smooth_step
from .output_terms import Terms
from .settings import OUTPUT_QUADRATIC as SETTINGS
from .settings import QUADRATIC


def minimise_blocks(
    H: GramMatrices, gradient: Array, w: Array, penalty: Penalty, alpha: float, columns: Indices,
    tol: float,
) -> Array:  # fmt: skip
    """The minimiser p of g.(p - w) + (p - w)'H(p - w) / 2 + alpha R(p), for H in blocks.

    The parameters are those of `skpd.solvers.newton.quadratic.QuadraticModel.minimise`.
    """
    K = H.n_outputs
    terms = Terms(penalty, alpha, columns[::K] // K, K)
    P, R = w.reshape(-1, K).copy(), gradient.reshape(-1, K).copy()
    for _ in range(QUADRATIC.most_rounds):
        if H.descend(terms.numbers, P, R, sweeps=QUADRATIC.sweeps_by_columns, tol=tol) <= tol:
            break
        newton_step(H, P, R, terms, tol)
    return np.ravel(P)


def minimise_by_products(
    H: OutputColumns, gradient: Array, w: Array, penalty: Penalty, alpha: float, columns: Indices,
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
    P = W.copy()
    if terms.is_smooth:
        P += smooth_step(H, G, W, terms, tol)
        return np.append(P[entries], P[n_features:])
    if H.gram is not None:
        _minimise_by_gram(H, G, P, terms, tol)
        return np.append(P[entries], P[n_features:])
    # for losses that couple outputs, sweeps have bounds on the curvature of a row
    sweeps = SETTINGS.sweeps_by_products if H.e.any() else QUADRATIC.sweeps_by_columns
    _take_turns(H, G, P, terms, tol, sweeps)
    return np.append(P[entries], P[n_features:])


def _take_turns(
    H: OutputColumns, R: Array, P: Array, terms: Terms, tol: float, sweeps: int
) -> None:
    """Update P by sweeps and Newton steps in turns; R is the gradient at the start."""
    W, U = P.copy(), np.zeros(H.d.shape)
    for _ in range(QUADRATIC.most_rounds):
        if H.descend(R, W, terms.numbers, P, U, sweeps=sweeps, tol=tol) <= tol:
            break
        if terms.l1 > 0.0 and terms.l2 == 0.0 and H.is_shift_free:
            _shift_to_zero(P[: len(H.features)])
        slope, before = R + H.gradient(U) + H.ridge * (P - W), P.copy()
        if newton_step(H, P, slope, terms, tol):
            U += H.of_rows(H.predictions(P - before))
        else:
            sweeps = QUADRATIC.sweeps_by_columns


def _minimise_by_gram(H: OutputColumns, R: Array, P: Array, terms: Terms, tol: float) -> None:
    """Update P to a minimiser of the quadratic model, by sweeps over the rows of a Gram matrix.

    R is the gradient at P. The sweeps minimise a majorant, whose curvature is the Gram matrix
    times an upper bound on the curvature of the outputs. If the curvature along their step is
    larger than that of the majorant, they are repeated with a multiple of it, so that the step
    decreases the model.
    """
    R, scale, turns = R.copy(), 1.0, QUADRATIC.sweeps_by_columns
    next_step, pause = 0, 1  # the round of the next Newton step, and the rounds after one fails
    for k in range(QUADRATIC.most_rounds):
        for _ in range(SETTINGS.most_bounds):
            after, gradient = P.copy(), R.copy()
            for _ in range(turns):  # each ends when the set of non-zero rows does not change
                if H.descend_by_gram(terms.numbers, after, gradient, scale, tol=0.1 * tol):
                    break
            change = after - P
            response = H.times(change)
            curvature, bound = np.sum(change * response), np.sum(change * (gradient - R))
            if not curvature > (1.0 + 1e-9) * bound:  # a smaller excess counts as rounding
                break
            scale *= SETTINGS.bound_increase * curvature / bound
        P += change
        R += response
        if np.max(np.abs(gradient - R + response), initial=0.0) <= tol:
            break
        if terms.l1 > 0.0 and terms.l2 == 0.0 and H.is_shift_free:
            _shift_to_zero(P[: len(H.features)])
        if k < next_step:
            continue
        moved = newton_step(H, P, R, terms, tol)
        turns = QUADRATIC.sweeps_by_columns if moved else SETTINGS.sweeps_without_steps
        pause = 1 if moved else 2 * pause
        next_step = k + pause


def _shift_to_zero(P: Array) -> None:
    """Subtract the median entry from every row of P without a 0.

    With losses of classes this does not change the losses, and it decreases the l1 norm. Newton
    steps would not converge in this direction, along which there is no curvature.
    """
    full = np.flatnonzero(P.all(axis=1))
    middle = np.partition(P[full], P.shape[1] // 2, axis=1)[:, P.shape[1] // 2]
    P[full] -= middle[:, np.newaxis]

"""The maximum of cutting planes plus half the squared norm, by an active set of planes.

The shares a of the planes are the multipliers of

    minimise over w, b, t    t + c ||w||^2 / 2    subject to    e_k + g_k.w + s_k b <= t for all k

and the minimisers of a quadratic programme, with w = -sum_k a_k g_k / c:

    minimise over a >= 0    ||sum_k a_k g_k||^2 / (2 c) - a.e    with sum_k a_k = 1,  a.s = 0.

Few planes join from one problem to the next, so that the active set of the last one is nearly that
of the next (a primal active-set method, as in Nocedal and Wright, 2006, Numerical optimization,
section 16.5).
"""

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dposv

from ..._typing import Array, Indices
from ...designs.threads import blas_threads_for
from .cuts import Cuts
from .settings import SETTINGS


def minimised_with_ridge(cuts: Cuts, accuracy: float) -> tuple[Array, Array]:
    """The minimiser of the planes and half the squared norm, and the shares of the planes.

    Parameters and results are those of `skpd.solvers.structured.master.minimised`. The active set
    is that of ``cuts.shares``, which are updated.

    Raises
    ------
    LinAlgError
        If the active set does not settle, because of rounding.
    """
    problem, d = cuts.problem, cuts.problem.n_coefficients
    ridge = problem.alpha * problem.penalty.without_ridge()[0]
    H, e, a = cuts.gram / ridge, cuts.losses, cuts.shares
    constraints = np.vstack([np.ones(len(e)), cuts.slopes[:, d:].T])  # of the sum, and of a.s
    # The squares of a.s and of the sum, which are 0 and 1, make the matrix of all planes that can
    # be active positive. The latter adds the same number to all gradients and to a multiplier.
    largest, sizes = float(np.max(H.diagonal())) or 1.0, np.max(np.abs(constraints), axis=1)
    of_squares = constraints / np.where(sizes > 0.0, sizes, 1.0)[:, np.newaxis]
    H += largest * (of_squares.T @ of_squares)
    H.ravel()[:: len(H) + 1] += SETTINGS.diagonal_rounding * largest
    with blas_threads_for(len(a)):
        multipliers = _move_shares(H, e, constraints, a, accuracy)
    coef = -(a @ cuts.slopes[:, :d]) / ridge
    return np.append(coef, -multipliers[1:]), a.copy()


def _move_shares(H: Array, e: Array, constraints: Array, a: Array, accuracy: float) -> Array:
    """Update the shares to those of the minimum; the multipliers of the constraints."""
    active = np.flatnonzero(a)
    for _ in range(SETTINGS.active_set_steps):
        best, multipliers = _minimiser(H, e, constraints, active)
        best[np.abs(best) <= SETTINGS.least_share] = 0.0
        step = best - a[active]
        falling = np.flatnonzero(best < 0.0)
        lengths = a[active[falling]] / -step[falling]
        length = float(np.min(lengths, initial=1.0))
        a[active] += length * step
        if length < 1.0 and len(active) > 1:  # a plane leaves
            leaving = falling[np.argmin(lengths)]
            a[active[leaving]] = 0.0
            active = np.delete(active, leaving)
            continue
        excess = e - H[:, active] @ a[active] - multipliers @ constraints
        excess[active] = 0.0
        if np.max(excess) <= accuracy:  # as shares sum to 1, the value is as near to the minimum
            return multipliers
        active = np.append(active, np.argmax(excess))
    raise LinAlgError("The active set does not settle.")


def _minimiser(H: Array, e: Array, constraints: Array, active: Indices) -> tuple[Array, Array]:
    """The shares of the active planes that minimise, of any sign, and the multipliers.

    The multipliers are those of the sum, which is t, and of a.s, which is -b.
    """
    rows = constraints[:, active]
    # without intercepts among them, the active planes leave b open
    used = np.flatnonzero(np.max(np.abs(rows), axis=1) > SETTINGS.least_share)
    rows, multipliers = rows[used], np.zeros(len(rows))
    matrix = H.take(active, axis=0).take(active, axis=1)
    # one call of LAPACK: in tens of thousands of small systems, checks take as long as these
    _, solved, failed = dposv(matrix.T, np.column_stack([e[active], rows.T]), lower=1)
    if failed:
        raise LinAlgError("The matrix of the active planes is not positive definite.")
    unconstrained, by_row = solved[:, 0], solved[:, 1:]
    goal = np.eye(len(used), 1)[:, 0]  # 1 and 0
    of_rows, shares = np.zeros(len(used)), unconstrained
    for _ in range(2):  # again, as differences of large numbers have lost digits
        change = np.linalg.solve(rows @ by_row, rows @ shares - goal)
        of_rows, shares = of_rows + change, shares - by_row @ change
    if not np.isfinite(shares).all():
        raise LinAlgError("The system of the active planes is singular.")
    multipliers[used] = of_rows
    return shares, multipliers

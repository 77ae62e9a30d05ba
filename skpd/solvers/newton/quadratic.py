"""Penalised quadratic problems on a working set, by coordinate descent and Newton steps."""

from dataclasses import replace

import numpy as np
from scipy.linalg.lapack import dposv

from ... import kernels
from ..._typing import Array
from ...designs import ColumnCurvature
from ...designs.gram import BLAS, LARGEST_GRAM
from ...designs.outputs_curvature import OutputColumns, RowBlocks
from ...designs.threads import blas_threads_for, blas_threads_for_product, one_blas_thread
from ...penalties import Structure
from .output_quadratic import minimise_blocks, minimise_by_products
from .parts import _GroupedPart, _SeparablePart
from .settings import QUADRATIC


def minimise_quadratic(
    H, gradient, w, penalty, alpha, columns, tol, *,
    max_rounds=QUADRATIC.most_rounds, max_passes=QUADRATIC.most_passes, system=None,
):  # fmt: skip
    """The minimiser p of g.(p - w) + (p - w)'H(p - w) / 2 + alpha R(p) on a working set.

    Coordinate descent finds the support, on which the penalty is smooth, and a Newton step the
    values on it; both are repeated in turns.

    Parameters
    ----------
    H : ndarray of shape (m, m) or ColumnCurvature
        Curvature on the working set, followed by the intercept if there is one.
    gradient, w : ndarray of shape (m,)
    penalty : Penalty
        A separable penalty or a sum over groups.
    alpha : float
    columns : ndarray of shape (n_columns,)
        The features of the working set, increasing and with whole groups.
    tol : float
        The largest change of a gradient at which to stop.
    max_rounds : int, default=20
        The largest number of rounds.
    max_passes : float, default=300
        The number of passes over the columns at which to stop, unless direct steps are used.
    system : SupportSystem, default=None
        Factors of the same matrix from earlier calls, possibly on other columns.

    Returns
    -------
    p : ndarray of shape (m,)
    """
    if isinstance(H, RowBlocks):
        return minimise_blocks(H, gradient, w, penalty, alpha, columns, tol)
    if isinstance(H, OutputColumns):
        return minimise_by_products(H, gradient, w, penalty, alpha, columns, tol)
    if penalty.structure is Structure.SEPARABLE:
        given = None if isinstance(H, ColumnCurvature) else system
        part = _SeparablePart(penalty, alpha, columns, given)
        return _minimise(H, gradient, w, part, tol, max_rounds, max_passes)
    grouped = _GroupedPart(penalty, alpha, columns)
    if penalty.group_ridge > 0.0:
        H, gradient = _with_ridge(H, gradient, w, alpha * penalty.group_ridge, len(columns))
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


def _with_ridge(H, gradient, w, ridge, n_columns):
    """The model with a ridge on the columns added to H and to the gradient."""
    more = np.zeros(len(w))
    more[:n_columns] = ridge
    if isinstance(H, ColumnCurvature):
        return replace(H, ridge=H.ridge + more), gradient + more * w
    H = H.copy()
    H.ravel()[:: len(w) + 1] += more
    return H, gradient + more * w


def _minimise(H, gradient, w, part, tol, max_rounds, max_passes):
    """The minimiser of the model, for columns in the order of ``part``."""
    if isinstance(H, ColumnCurvature):
        return _minimise_by_columns(H, gradient, w, part, tol, max_rounds, max_passes)
    return _minimise_by_matrix(H, gradient, w, part, tol, max_rounds)


def _minimise_by_columns(curvature, gradient, w, part, tol, max_rounds, max_passes):
    """The minimiser of the model for an H given by columns, with coordinate descent.

    Newton steps use conjugate gradients as long as these need few iterations, then direct methods.
    """
    columns = curvature.columns
    p, response = w.copy(), np.zeros(columns.n_rows)  # A (p - w)
    model = (curvature.places, gradient, w, curvature.ridge, part.coordinates(), p, response)
    direct = False
    for _ in range(max_rounds):
        change, sweeps = columns.descend(*model, QUADRATIC.sweeps, tol)
        curvature.passes += 2 * sweeps
        if change <= tol or (curvature.passes > max_passes and not direct):
            break
        affordable, most = _conjugate_gradients(curvature, np.count_nonzero(p))
        if direct and isinstance(part, _SeparablePart) and len(p) <= QUADRATIC.gram_columns:
            with blas_threads_for_product(len(p) ** 2 * columns.n_rows):
                H = curvature.matrix()  # its factor can be used for several steps
            curvature.passes += 2 * most
            part.minimise(H, p, gradient + H @ (p - w), part.sweeps(len(p)), tol, max_rounds)
            break
        if direct and affordable:
            with one_blas_thread():  # the products are over all rows even if the system is small
                _direct_step(curvature, gradient, w, part, model)
            curvature.passes += 2 * most
        else:
            steps = columns.newton_step(*model, most, QUADRATIC.linear_accuracy)
            curvature.passes += 2 * steps
            direct = steps == most
    return p


def _conjugate_gradients(curvature, k):
    """Whether a direct step on k coordinates fits in memory, and the equivalent CG steps.

    The second number is the number of steps of conjugate gradients that take as long.
    """
    c = curvature.columns.n_rows
    least = min(k, c)
    direct = (k * c * least + least**3 / 3) / BLAS
    one = 2.0 * curvature.cost_of_pass * k / max(len(curvature.places), 1) + 5.0 * k + 2.0 * c
    steps = max(direct / max(one, 1.0), QUADRATIC.fewest_linear_steps)
    return k * c <= LARGEST_GRAM**2, int(min(steps, QUADRATIC.most_linear_steps))


def _direct_step(curvature, gradient, w, part, model):
    """A Newton step on the support, by factorising a matrix over its columns or over the rows.

    The matrix of the system is B'B + E with the columns B of A on the support, and E a diagonal
    plus a matrix of rank one for each group. If there are fewer rows, Woodbury's identity is used,

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
        system.ravel()[:: k + 1] *= QUADRATIC.diagonal_factor
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


def _minimise_by_matrix(H, gradient, w, part, tol, max_rounds):
    p, r = w.copy(), gradient.copy()
    sweeps = part.sweeps(len(p))
    if len(p) <= QUADRATIC.compiled_columns and isinstance(part, _SeparablePart):
        part.minimise(H, p, r, sweeps, tol, max_rounds)
        return p
    with blas_threads_for(len(p)):
        for _ in range(max_rounds):
            if part.descend(H, p, r, sweeps, tol) <= tol:
                break
            _newton_step_on_support(H, p, r, part)
    return p


def _newton_step_on_support(H: Array, p: Array, r: Array, part) -> None:
    """A Newton step on the coordinates that are not at a kink; those that cross one stop there."""
    support = part.support(p)
    support = support[H[support, support] > 0.0]
    k = len(support)
    if k == 0:
        return
    system = np.empty((k, k))
    kernels.principal_submatrix(H, support, system)
    slope = r[support] + part.add_derivatives(p[support], support, system)
    system.ravel()[:: k + 1] *= QUADRATIC.diagonal_factor
    _, step, info = dposv(system.T, slope, lower=True, overwrite_a=True)
    if info == 0:
        part.move(H, p, r, support, -step)

"""The largest singular value of a sparse matrix: an estimate, and a proven upper bound."""

from math import sqrt

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.lapack import dpotrf

from .. import kernels
from .._floats import EPSILON
from .._typing import Array, Table

STEPS = 150  # most Lanczos steps, which together cost less than a factorisation
RESIDUAL = 1e-7  # relative residual of an eigenvalue, whose error is about its square
EXHAUSTED = 1e-14  # entries beside the diagonal that are rounding errors, relative to the largest
EXAMINED_EVERY = 8  # steps between checks of convergence
FIRST_MARGIN = 1e-11  # first margin of the bound, relative to the squared estimate
MARGIN_GROWTH = 100.0  # factor of the margin after a failed factorisation
BISECTIONS = 2  # bisections of the margin's exponent after it had to grow
SMALL_MARGIN = 1e-8
MOST_NUMBERS = 2e8  # most entries of G G', 1.6 GB
PARTS = 16  # number of blocks of columns in which G G' is formed
SMALLEST_EXPONENT = -1000.0  # least exponent of the unit, whose inverse must be finite
TINY = np.finfo(float).tiny


def estimated_largest_singular_value(
    matrix: Table, start: Array | None = None, steps: int = STEPS, residual: float = RESIDUAL
) -> tuple[float, Array, bool]:
    """A lower bound on the largest singular value, up to rounding, and its approximate vector.

    The method is that of Lanczos with full orthogonalisation. The vector is a right singular
    vector. The last result is whether the Krylov space is exhausted: from a random start, the
    value is then that of the matrix up to rounding.

    Parameters
    ----------
    matrix : linear map with ``@``, ``T`` and ``shape``
        The matrix G.
    start : ndarray of shape (n_columns,), default=None
        The first vector, such as the right singular vector of a similar matrix.
    steps : int, default=150
        The largest number of products with G and G'.
    residual : float, default=1e-7
        The residual of the eigenvalue of G'G at which to stop, relative to it; a negative one
        asks for all steps.
    """
    (m, n), transposed = matrix.shape, matrix.T
    if start is None or not start.any():
        start = np.random.default_rng(0).standard_normal(n)
    # the Krylov space has at most the rank of G plus one dimensions
    dimension = min(m + 1, n)
    steps = min(steps, dimension)
    basis = np.zeros((steps, n))
    diagonal, off_diagonal = np.zeros(steps), np.zeros(steps)
    v = start / np.linalg.norm(start)
    value, vector, exhausted = 0.0, start, False
    for k in range(1, steps + 1):
        basis[k - 1] = v
        v = transposed @ (matrix @ v)
        diagonal[k - 1] = v @ basis[k - 1]
        for _ in range(2):  # the second pass removes rounding errors of the first
            v = v - (basis[:k] @ v) @ basis[:k]
        off_diagonal[k - 1] = kernels.euclidean_norm(v)  # without overflow of squares
        largest = np.max(diagonal[:k])
        exhausted = k == dimension or not off_diagonal[k - 1] > EXHAUSTED * largest
        if k % EXAMINED_EVERY and k < steps and not exhausted:
            v = v / off_diagonal[k - 1]
            continue
        if not np.isfinite(diagonal[:k]).all() or not diagonal[:k].any():
            break
        values, vectors = eigh_tridiagonal(diagonal[:k], off_diagonal[: k - 1])
        value, vector = float(values[-1]), vectors[:, -1] @ basis[:k]
        if exhausted or abs(off_diagonal[k - 1] * vectors[-1, -1]) <= residual * value:
            break
        v = v / off_diagonal[k - 1]
    return sqrt(max(value, 0.0)), vector, exhausted


def largest_singular_value_bound(matrix: Table) -> float:
    """A proven upper bound on the largest singular value of a sparse matrix G.

    The matrix tau^2 I - G G' has a Cholesky factorisation in floating-point arithmetic only if
    tau^2 plus the rounding errors of that factorisation (Rump, 2006, Verification of positive
    definiteness) and of G G' is at least the largest eigenvalue of G G'. G'G is used instead if it
    is smaller. If the matrix would need more than 1.6 GB, the bound is the Frobenius norm, which
    is much larger in general.

    Parameters
    ----------
    matrix : csr_array
        The matrix G, whose data may be scaled in place.
    """
    largest = kernels.max_abs(matrix.data)
    if not 0.0 < largest < np.inf:
        return largest
    # scaling by a power of two is exact, and prevents under- and overflow of squares
    unit = 2.0 ** max(float(np.floor(np.log2(largest))), SMALLEST_EXPONENT)
    wide = matrix.T.tocsr() if matrix.shape[0] > matrix.shape[1] else matrix
    wide.data /= unit
    m = wide.shape[0]
    frobenius = kernels.euclidean_norm(wide.data) * (1.0 + (wide.nnz + 8.0) * EPSILON)
    if float(m) * m > MOST_NUMBERS:
        return unit * frobenius + TINY
    estimate, *_ = estimated_largest_singular_value(wide)
    if not estimate > 0.0:
        return unit * frobenius + TINY
    scale = 1.0 / estimate
    longest = int(np.max(np.diff(wide.indptr)))
    of_products = (longest + 2.0) * EPSILON * (scale * frobenius) ** 2
    wide.data *= scale
    margin, failed = FIRST_MARGIN, 0.0
    while not _is_below(wide, 1.0 + margin):
        failed, margin = margin, MARGIN_GROWTH * margin
    if margin > SMALL_MARGIN:
        for _ in range(BISECTIONS):
            middle = sqrt(failed * margin)
            if _is_below(wide, 1.0 + middle):
                margin = middle
            else:
                failed = middle
    # the trace of the factorised matrix bounds the squares of the factor's entries
    of_factor = (m + 3.0) * EPSILON * m * (1.0 + margin)
    square = 1.0 + margin + 2.0 * (of_products + of_factor)
    return unit * min(estimate * sqrt(square) * (1.0 + 8.0 * EPSILON), frobenius) + TINY


def _is_below(matrix: Table, square: float) -> bool:
    """Whether square I - G G' has a Cholesky factorisation, for a matrix G stored by rows."""
    m = matrix.shape[0]
    difference, width = np.zeros((m, m), order="F"), -(-m // PARTS)
    for first in range(0, m, width):
        columns = matrix[first : first + width].T.tocsr()
        below = (matrix[first:] if first else matrix) @ columns  # the first is no copy of all rows
        difference[first:, first : first + width] = below.toarray()
    np.negative(difference, out=difference)
    difference[np.diag_indices(m)] += square
    _, failed = dpotrf(difference, lower=True, clean=False, overwrite_a=True)
    return bool(failed == 0)

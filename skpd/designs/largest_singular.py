"""The largest singular value of a sparse matrix: an estimate, and a proven upper bound."""

from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh_tridiagonal

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
from .packed_triangle import PackedTriangle
from .threads import blas_threads_for

__all__ = ["estimated_largest_singular_value", "largest_singular_value_bound"]

STEPS = 150  # of Lanczos at most for a bound, which together cost less than a factorisation
RESIDUAL = 1e-7  # of the largest eigenvalue: its error is about the square of that
EXAMINED_EVERY = 8  # steps, to see whether they are enough
FIRST_MARGIN = 1e-11  # of the estimate squared, that a bound is tried at
MARGIN_GROWTH = 100.0  # of the margin where that was too little
BISECTIONS = 2  # of the exponent of the margin, where it had to grow beyond this
SMALL_MARGIN = 1e-8
MOST_NUMBERS = 2e8  # in a dense matrix: 0.8 GB, as half of it is held
KEPT_NUMBERS = 2e7  # of a dense matrix, half of which is kept for another factorisation: 80 MB
PARTS = 16  # of G G': the first are large, while there is room, and none repeats what is known
SMALLEST_EXPONENT = -1000.0  # so that its inverse is finite
TINY = np.finfo(float).tiny


def estimated_largest_singular_value(
    matrix: Any, start: Array | None = None, steps: int = STEPS
) -> tuple[float, Array]:
    """A lower bound on the largest singular value, up to rounding, and about its right vector.

    By the method of Lanczos with full orthogonalisation.

    Parameters
    ----------
    matrix : linear map with ``@``, ``T`` and ``shape``
        G.
    start : ndarray of shape (n_columns,), default=None
        A vector to begin with, such as the right vector of a matrix nearby.
    steps : int, default=150
        Products with G and G' at most.
    """
    (m, n), transposed = matrix.shape, matrix.T
    if start is None or not start.any():
        start = np.random.default_rng(0).standard_normal(n)
    # products of the start have at most the rank of G in dimensions, beside the start itself
    steps = min(steps, m + 1, n)
    basis = np.zeros((steps, n))
    diagonal, off_diagonal = np.zeros(steps), np.zeros(steps)
    v = start / np.linalg.norm(start)
    value, vector = 0.0, start
    for k in range(1, steps + 1):
        basis[k - 1] = v
        v = transposed @ (matrix @ v)
        diagonal[k - 1] = v @ basis[k - 1]
        for _ in range(2):  # once leaves what rounding makes of large parts
            v = v - (basis[:k] @ v) @ basis[:k]
        off_diagonal[k - 1] = kernels.euclidean_norm(v)  # whose squares may overflow
        exhausted = not off_diagonal[k - 1] > EPSILON * np.max(diagonal[:k])
        if k % EXAMINED_EVERY and k < steps and not exhausted:
            v = v / off_diagonal[k - 1]
            continue
        if not np.isfinite(diagonal[:k]).all() or not diagonal[:k].any():
            break
        values, vectors = eigh_tridiagonal(diagonal[:k], off_diagonal[: k - 1])
        value, vector = float(values[-1]), vectors[:, -1] @ basis[:k]
        if exhausted or abs(off_diagonal[k - 1] * vectors[-1, -1]) <= RESIDUAL * value:
            break
        v = v / off_diagonal[k - 1]
    return sqrt(max(value, 0.0)), vector


def largest_singular_value_bound(matrix: Any) -> float:
    """An upper bound on the largest singular value of a sparse matrix G, rounding included.

    tau^2 I - G G' has a Cholesky factorisation in floating-point arithmetic only if tau^2 plus
    the rounding errors of that factorisation (Rump, 2006, Verification of positive definiteness)
    and of G G' is at least the largest eigenvalue of G G', or of G'G where that is smaller. Where
    that would need more than 0.8 GB it is the Frobenius norm, which is far above in general.

    Parameters
    ----------
    matrix : csr_array
        G. Its data may be scaled in place.
    """
    largest = kernels.max_abs(matrix.data)
    if not 0.0 < largest < np.inf:
        return largest
    # a power of two: nothing is rounded, and no square under- or overflows
    unit = 2.0 ** max(float(np.floor(np.log2(largest))), SMALLEST_EXPONENT)
    wide = _wide(matrix)
    wide.data /= unit
    m = wide.shape[0]
    frobenius = kernels.euclidean_norm(wide.data) * (1.0 + (wide.nnz + 8.0) * EPSILON)
    if float(m) * m > MOST_NUMBERS:
        return unit * frobenius + TINY
    estimate, _ = estimated_largest_singular_value(wide)
    if not estimate > 0.0:
        return unit * frobenius + TINY
    scale = 1.0 / estimate
    longest = int(np.max(np.diff(wide.indptr)))
    of_products = (longest + 2.0) * EPSILON * (scale * frobenius) ** 2
    wide.data *= scale
    gram = _Gram(wide)

    margin, failed = FIRST_MARGIN, 0.0
    while not gram.is_below(1.0 + margin):
        failed, margin = margin, MARGIN_GROWTH * margin
    if margin > SMALL_MARGIN:
        for _ in range(BISECTIONS):
            middle = sqrt(failed * margin)
            if gram.is_below(1.0 + middle):
                margin = middle
            else:
                failed = middle
    # the trace of what was factorised bounds the squares of the factor's entries
    of_factor = (m + 3.0) * EPSILON * m * (1.0 + margin)
    square = 1.0 + margin + 2.0 * (of_products + of_factor)
    return unit * min(estimate * sqrt(square) * (1.0 + 8.0 * EPSILON), frobenius) + TINY


def _wide(matrix: Any) -> Any:
    """A matrix stored by rows, or its transpose if that has fewer rows.

    Where their number is odd there is one more, which is empty.
    """
    wide = matrix.T.tocsr() if matrix.shape[0] > matrix.shape[1] else matrix
    m, n = wide.shape
    if m % 2 == 0:
        return wide
    starts = np.append(wide.indptr, wide.indptr[-1])
    return sp.csr_array((wide.data, wide.indices, starts), shape=(m + 1, n))


class _Gram:
    """G G' of a sparse matrix with an even number of rows, which each factorisation overwrites."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix
        self._kept: Array | None = None

    def _triangle(self) -> PackedTriangle:
        matrix, m = self.matrix, self.matrix.shape[0]
        triangle = PackedTriangle(m)
        if self._kept is not None:
            triangle.numbers[:] = self._kept
            return triangle
        width = -(-m // PARTS)
        for first in range(0, m, width):
            some = matrix[first : first + width].T.tocsr()
            triangle.set_columns(first, (matrix[first:] @ some).toarray(order="F"))
        if float(m) * m <= KEPT_NUMBERS:
            self._kept = triangle.numbers.copy()
        return triangle

    def is_below(self, square: float) -> bool:
        """Whether square I - G G' has a Cholesky factorisation."""
        triangle = self._triangle()
        triangle.subtract_from(square)
        with blas_threads_for(triangle.size):
            return triangle.factorise()

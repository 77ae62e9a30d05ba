"""The largest singular value of a sparse matrix: an estimate, and a proven upper bound."""

from math import sqrt
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh_tridiagonal, solve_triangular

from .. import kernels
from .._floats import EPSILON
from .._typing import Array
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
BLOCK = 1000  # rows of a block
DENSE_NUMBERS = 4e6  # of a sparse product made dense at a time
SMALLEST_EXPONENT = -1000.0  # so that its inverse is finite
TINY = np.finfo(float).tiny


def estimated_largest_singular_value(
    matrix: Any, transposed: Any, start: Array | None = None, steps: int = STEPS
) -> tuple[float, Array]:
    """A lower bound on the largest singular value, up to rounding, and about its right vector.

    By the method of Lanczos with full orthogonalisation.

    Parameters
    ----------
    matrix, transposed : linear maps with ``@`` and ``shape``
        G and G'.
    start : ndarray of shape (n_columns,), default=None
        A vector to begin with, such as the right vector of a matrix nearby.
    steps : int, default=40
        Products with G and G' at most.
    """
    m, n = matrix.shape
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
        off_diagonal[k - 1] = np.linalg.norm(v)
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


def largest_singular_value_bound(matrix: Any, transposed: Any) -> float:
    """An upper bound on the largest singular value of a sparse matrix G, rounding included.

    tau^2 I - G G' has a Cholesky factorisation in floating-point arithmetic only if tau^2 plus
    the rounding errors of that factorisation (Rump, 2006, Verification of positive definiteness)
    and of G G' is at least the largest eigenvalue of G G', or of G'G where that is smaller. Where
    that would need more than 0.8 GB it is the Frobenius norm, which is far above in general.

    Parameters
    ----------
    matrix, transposed : sparse arrays, stored by rows
        G and G'. Their data are scaled in place.
    """
    if matrix.shape[0] > matrix.shape[1]:
        matrix, transposed = transposed, matrix
    m = matrix.shape[0]
    largest = kernels.max_abs(matrix.data)
    if not 0.0 < largest < np.inf:
        return largest
    # a power of two: nothing is rounded, and no square under- or overflows
    unit = 2.0 ** max(float(np.floor(np.log2(largest))), SMALLEST_EXPONENT)
    for part in (matrix, transposed):
        part.data /= unit
    frobenius = kernels.euclidean_norm(matrix.data) * (1.0 + (matrix.nnz + 8.0) * EPSILON)
    if float(m) * m > MOST_NUMBERS:
        return unit * frobenius + TINY
    estimate, _ = estimated_largest_singular_value(matrix, transposed)
    if not estimate > 0.0:
        return unit * frobenius + TINY
    scale = 1.0 / estimate
    longest = int(np.max(np.diff(matrix.indptr), initial=0))
    of_products = (longest + 2.0) * EPSILON * (scale * frobenius) ** 2
    for part in (matrix, transposed):
        part.data *= scale
    gram = _Gram(matrix, transposed)

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


class _Gram:
    """G G', in columns of blocks below the diagonal, which each factorisation overwrites."""

    def __init__(self, matrix: Any, transposed: Any) -> None:
        self.matrix, self.transposed = matrix, transposed
        self.firsts = range(0, matrix.shape[0], BLOCK)
        self.kept: list[Array] | None = None

    def _columns(self) -> list[Array]:
        if self.kept is not None:
            return [column.copy(order="F") for column in self.kept]
        columns = [self._column(first) for first in self.firsts]
        if float(self.matrix.shape[0]) ** 2 <= KEPT_NUMBERS:
            self.kept = [column.copy(order="F") for column in columns]
        return columns

    def _column(self, first: int) -> Array:
        m = self.matrix.shape[0]
        width = min(BLOCK, m - first)
        column = np.empty((m - first, width), order="F")
        step = max(1, int(DENSE_NUMBERS // m))
        for start in range(0, width, step):
            rows = slice(first + start, first + min(start + step, width))
            # G G' is symmetric: its rows are its columns
            some = (self.matrix[rows] @ self.transposed).toarray()
            column[:, start : start + step] = some[:, first:].T
        return column

    def is_below(self, square: float) -> bool:
        """Whether square I - G G' has a Cholesky factorisation."""
        columns = self._columns()
        try:
            with blas_threads_for(self.matrix.shape[0]):
                for column in columns:
                    np.negative(column, out=column)
                    width = column.shape[1]
                    column[np.arange(width), np.arange(width)] += square
                for k, (first, column) in enumerate(zip(self.firsts, columns, strict=True)):
                    width = column.shape[1]
                    factor = cholesky(column[:width], lower=True, check_finite=False)
                    below = solve_triangular(
                        factor, column[width:].T, lower=True, check_finite=False
                    ).T
                    columns[k] = np.empty(0)  # no longer needed
                    for other in range(k + 1, len(columns)):
                        start = self.firsts[other] - first - width
                        rows = below[start : start + columns[other].shape[1]]
                        columns[other] -= below[start:] @ rows.T
        except LinAlgError:
            return False
        return True

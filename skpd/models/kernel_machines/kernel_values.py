"""Kernels between samples: by name, as functions or precomputed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, prod
from typing import cast

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf
from sklearn.metrics.pairwise import KERNEL_PARAMS, PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms

from ..._floats import EPSILON
from ..._typing import Array, Indices, Matrix
from ...designs.threads import blas_threads_for_product
from .matrix import KernelMatrix, KernelMatrixByRows

# The increase of the diagonal of a kernel matrix, in units of n eps of its entries. With it the
# matrix of a positive semidefinite kernel is positive definite, whatever the rounding errors.
JITTER = 10.0
# The increase that is tried first, with a test. Linear kernels, polynomials and "rbf" on raw and
# on scaled features, with 300 to 800 rows, needed 0.2 at most.
LEAST_JITTER = 0.4
# Rows at most for which a definite kernel is tested too, which allows gaps of 1e-7 on raw
# features. With 2,000 rows it would take three quarters of the time of a fit
LARGEST_TESTED = 600
# The largest increase, for matrices that the user has computed, perhaps in float32.
LARGEST_JITTER = 1e-6
N_JITTERS = 5  # increases that are tried, from `JITTER` on
# With twice the increase bounds hold for the given values (see `KernelMachine`). The other
# tenth is for the rounding errors of the test.
TWICE = 2.2
BLOCK = 512  # rows whose values are computed in one call
TILE = 256  # rows and columns of a part of a matrix that fits into a cache
LEAST_ENTRY = 1e-140  # the products of smaller features may underflow
ASYMMETRY = 1e-7  # |K_ij - K_ji| / sqrt(K_ii K_jj) above this is no rounding error


Metric = str | Callable[..., Matrix]
KernelEntry = Metric | tuple[Metric, dict[str, float]]  # of the parameter ``kernels``


@dataclass(frozen=True)
class Kernel:
    """A kernel of `sklearn.metrics.pairwise.pairwise_kernels`.

    Attributes
    ----------
    metric : str or callable
        A name other than "precomputed", or a function of two matrices that returns the values
        between all of their rows.
    parameters : dict
        Parameters of the metric. A metric by name ignores those that it does not take; a callable
        takes all of them.
    centre : ndarray of shape (n_features,) or None, default=None
        What is subtracted from all rows.
    """

    metric: Metric
    parameters: dict[str, float]
    centre: Array | None = None

    def between(self, X: Matrix, Y: Matrix | None = None) -> Array:
        """Values k(x_i, y_j) of all pairs of rows, in float64."""
        if self.centre is not None:
            X, Y = self.centred(X), None if Y is None else self.centred(Y)
            return replace(self, centre=None).between(X, Y)
        if Y is None and self._is_symmetric_by_block(X):
            return self._between_rows(X)
        with blas_threads_for_product((X if Y is None else Y).shape[0] * prod(X.shape)):
            if not isinstance(self.metric, str):
                return self._of_function(X, X if Y is None else Y)
            options = {"metric": self.metric, "filter_params": True, **self.parameters}
            return np.asarray(pairwise_kernels(X, Y, **options), dtype=np.float64)

    def _is_symmetric_by_block(self, X: Matrix) -> bool:
        """Whether values of all pairs in different blocks of rows are computed once."""
        return isinstance(self.metric, str) and X.shape[0] > BLOCK

    def _of_function(self, X: Matrix, Y: Matrix) -> Array:
        values = cast(Callable[..., Matrix], self.metric)(X, Y, **self.parameters)
        values = values.toarray() if hasattr(values, "toarray") else values
        if np.shape(values) != (X.shape[0], Y.shape[0]):
            raise ValueError(
                f"kernel={self.metric!r} must return the values between all rows of two matrices, "
                f"of shape {(X.shape[0], Y.shape[0])}, got {np.shape(values)}. For a function f "
                "of two rows, sklearn.metrics.pairwise.pairwise_kernels(X, Y, metric=f) does so."
            )
        return np.asarray(values, dtype=np.float64)

    def _between_rows(self, X: Matrix) -> Array:
        """Values of all pairs of rows, each computed once, as kernels with names are symmetric.

        For "rbf" and 5,000 rows this takes 0.6 of the time of all values, and the means of
        `_symmetrise`, which are then needed near the diagonal alone, a quarter of theirs.
        """
        n = X.shape[0]
        values = np.empty((n, n))
        for i in range(0, n, BLOCK):
            rows = slice(i, i + BLOCK)
            values[rows, rows] = self.between(X[rows])
            if i > 0:
                values[rows, :i] = self.between(X[rows], X[:i])
                values[:i, rows] = values[rows, :i].T
        return values

    def matrix(self, X: Matrix) -> KernelMatrix:
        """The kernel matrix of the rows.

        Its rows are computed when they are needed if there are more than `LARGEST_TESTED` and the
        kernel is certain to be positive semidefinite and symmetric up to small rounding errors.

        Raises
        ------
        ValueError
            If the matrix is not finite or not positive semidefinite.
        """
        n, is_definite, of_rows = X.shape[0], self.is_definite(X), RowsOfKernel(self, X)
        if n > LARGEST_TESTED and is_definite and of_rows.error <= JITTER * n * EPSILON:
            return of_rows.matrix
        block = BLOCK if self._is_symmetric_by_block(X) else n
        return checked_matrix(self.between(X), self.argument, is_definite, of_rows.error, block)

    @property
    def argument(self) -> str:
        """The kernel as the argument of an estimator, for messages of errors."""
        return f"kernel={self.metric!r}"

    def is_definite(self, X: Matrix) -> bool:
        """Whether the kernel matrix is positive semidefinite, up to small rounding errors.

        False where this is not certain. The squared distances in "rbf" have errors relative to the
        norms of rows.
        """
        if self.metric in ("linear", "cosine", "chi2", "laplacian"):
            return bool(self.parameters.get("gamma", 1.0) >= 0.0)
        if self.metric in ("poly", "polynomial"):
            coef0, degree = self.parameters.get("coef0", 1.0), self.parameters.get("degree", 3)
            gamma = self.parameters.get("gamma", 1.0)
            return bool(gamma >= 0.0 and coef0 >= 0.0 and degree == int(degree))
        if self.metric == "rbf":
            squares, gamma = row_norms(self.centred(X), True), self.parameters.get("gamma", 1.0)
            return bool(0.0 <= gamma * float(np.max(squares)) <= JITTER * X.shape[0])
        return False

    def centred(self, X: Matrix) -> Matrix:
        if self.centre is None:
            return X
        return (X.toarray() if hasattr(X, "toarray") else X) - self.centre


class RowsOfKernel:
    """Rows of the matrix of a positive semidefinite kernel with a known rounding error.

    The error of a product x.y of p numbers is at most p eps |x| |y| / 2, that of a squared
    distance at most (p + 4) 2 eps max |x|^2, and |k(x, y)| at most sqrt(k(x, x) k(y, y)).

    Attributes
    ----------
    error : float
        An upper bound on the errors of values, relative to sqrt(k(x, x) k(y, y)); inf where it is
        not known.
    """

    def __init__(self, kernel: Kernel, X: Matrix) -> None:
        metric, options = kernel.metric, kernel.parameters
        self.argument, self.kernel = kernel.argument, replace(kernel, centre=None)
        self.X = X.tocsr() if hasattr(X, "tocsr") else kernel.centred(X)
        if metric == "cosine":  # the products of normalised rows
            self.X, self.kernel = normalize(self.X), Kernel("linear", {})
        self.values, self.error = np.ones(X.shape[0]), inf  # values k(x, x)
        entries = np.abs(self.X.data if sp.issparse(self.X) else self.X)
        least = np.min(entries, where=entries > 0.0, initial=inf)
        if not isinstance(metric, str) or least < LEAST_ENTRY:
            return
        p = X.shape[1] + 6.0
        if hasattr(self.X, "indptr"):  # rows have products of as many entries as they store
            p = float(np.max(np.diff(self.X.indptr))) + 6.0
        squares = row_norms(self.X, True)
        gamma, degree = options.get("gamma", 1.0), options.get("degree", 3.0)
        if metric == "rbf":
            self.error = EPSILON * (4.0 + 2.0 * p * gamma * float(np.max(squares)))
        elif metric in ("linear", "cosine"):
            self.values, self.error = squares, 0.5 * p * EPSILON
        elif metric in ("poly", "polynomial") and kernel.is_definite(X):
            with np.errstate(over="ignore"):
                self.values = (gamma * squares + options.get("coef0", 1.0)) ** degree
            self.error = 0.5 * p * (degree + 1.0) * EPSILON

    @property
    def matrix(self) -> KernelMatrixByRows:
        require_finite(self.values, self.argument)
        diagonal = self.values * (1.0 + TWICE * JITTER * len(self.values) * EPSILON)

        def values_of(rows: Indices) -> Array:
            values = self.kernel.between(self.X[rows], self.X)
            require_finite(values, self.argument)
            values[np.arange(len(rows)), rows] = diagonal[rows]
            return values

        # values have errors, and so have those that predict
        return KernelMatrixByRows(values_of, diagonal, diagonal - self.values, 2.0 * self.error)


def centre_of(metric: Metric, X: Matrix) -> Array | None:
    """The means of the features of an array, for kernels of distances computed from products.

    The errors of |x|^2 - 2 x.y + |y|^2 are relative to the squares, not to the distance.
    """
    return np.mean(X, axis=0) if metric == "rbf" and not sp.issparse(X) else None


@np.errstate(over="ignore", invalid="ignore")
def gamma_of(gamma: float | str, X: Matrix, weights: Array) -> float:
    """The number for gamma="scale", as in `sklearn.svm.SVC` for equal weights, or "auto".

    Parameters
    ----------
    gamma : {"scale", "auto"} or float
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
        Weights whose sum is 1.

    Raises
    ------
    ValueError
        If the variance of the entries of X overflows, which "scale" needs.
    """
    n_features, absent = X.shape[1], 0.0  # absent: the share of the entries that are not stored
    if gamma == "auto":
        return 1.0 / n_features
    if gamma != "scale":
        return float(gamma)
    min_std = len(weights) * EPSILON  # the rounding error of the mean, relative to it
    if hasattr(X, "tocoo"):
        X = X.tocoo()
        counts = np.bincount(X.row, minlength=len(weights))
        absent = float(weights @ (1.0 - counts / n_features))
        X, weights = X.data, weights[X.row]
    mean = np.sum(weights @ X) / n_features
    variance = np.sum(weights @ np.square(X - mean)) / n_features + absent * np.square(mean)
    if not np.isfinite(variance):
        raise ValueError("X must be on a smaller scale for gamma='scale': its variance overflows.")
    is_constant = np.sqrt(variance) <= min_std * abs(mean)
    return 1.0 if is_constant else float(1.0 / (n_features * variance))


def kernel_of(entry: KernelEntry, X: Matrix, weights: Array) -> Kernel:
    """The kernel of an entry of ``kernels``, with numbers for its parameters.

    Raises
    ------
    ValueError
        If the entry does not name a kernel, or has parameters that this one does not take.
    """
    metric, parameters = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, {})
    known = callable(metric) or metric in PAIRWISE_KERNEL_FUNCTIONS
    if not (known and isinstance(parameters, dict)):
        raise ValueError(
            "kernels must hold functions or names among "
            f"{sorted(PAIRWISE_KERNEL_FUNCTIONS)}, or pairs of these and a dict of their "
            f"parameters, got {entry!r}."
        )
    if not callable(metric):
        unknown = parameters.keys() - KERNEL_PARAMS[metric]
        if unknown:
            taken = ", ".join(sorted(KERNEL_PARAMS[metric])) or "none"
            raise ValueError(
                f"kernels must hold parameters that the kernel takes, for {metric!r} {taken}, got "
                f"{', '.join(sorted(unknown))}."
            )
        gamma = gamma_of(parameters.get("gamma", "scale"), X, weights)
        parameters = {**parameters, "gamma": gamma}
    return Kernel(metric, parameters, centre_of(metric, X))


def checked_matrix(
    matrix: Array, name: str, is_definite: bool = False, error: float = inf,
    block: int | None = None,
) -> KernelMatrix:  # fmt: skip
    """A kernel matrix K + S with a diagonal S >= 0, so that K + S / 2 is positive definite.

    Parameters
    ----------
    matrix : ndarray of shape (n_samples, n_samples)
        In float64; its memory becomes that of the result.
    name : str
        Name of the matrix in messages of errors.
    is_definite : bool, default=False
        Whether the matrix is certain to be positive semidefinite.
    error : float, default=inf
        An upper bound on the errors of values, relative to sqrt(K_ii K_jj); inf where none is
        known. Those of the same kernel that predict have errors of their own.
    block : int, default=None
        The size of blocks on the diagonal outside of which the matrix is certain to be symmetric.

    Raises
    ------
    ValueError
        If the matrix is not finite, symmetric and positive semidefinite.
    """
    require_finite(matrix, name)
    difference = _symmetrise(matrix, block or len(matrix))
    if difference > ASYMMETRY:
        raise ValueError(
            f"{name} must make a symmetric matrix, got values K_ij and K_ji that differ by up to "
            f"{difference:.3g} times the root of K_ii K_jj."
        )
    diagonal, n = np.diagonal(matrix).copy(), len(matrix)
    min_jitter, sure = LEAST_JITTER * n * EPSILON, JITTER * n * EPSILON
    jitters = np.array([sure]) if is_definite else np.geomspace(sure, LARGEST_JITTER, N_JITTERS)
    if not is_definite or n <= LARGEST_TESTED:
        jitters = np.append(min_jitter, jitters)
    for jitter in jitters:
        matrix.flat[:: n + 1] = diagonal * (1.0 + jitter)
        if (is_definite and jitter > min_jitter) or _is_positive(matrix):
            matrix.flat[:: n + 1] = diagonal * (1.0 + TWICE * jitter)
            asymmetry = max(0.5 * difference, 2.0 * error if error < inf else 0.0)
            return KernelMatrix(matrix, np.diagonal(matrix) - diagonal, asymmetry)
    matrix.flat[:: n + 1] = diagonal
    with blas_threads_for_product(n**3):
        eigenvalues = eigh(matrix, eigvals_only=True, subset_by_index=(0, 0))
    raise ValueError(
        f"{name} must make a positive semidefinite matrix, got one whose least eigenvalue is "
        f"{eigenvalues[0]:.3g} beside a largest diagonal entry of "
        f"{float(np.max(np.diagonal(matrix))):.3g}."
    )


def require_finite(values: Array, name: str) -> None:
    """Raise a ValueError unless all values are finite."""
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must have finite values, got inf or NaN.")


def _symmetrise(matrix: Array, block: int) -> float:
    """Replace entries of blocks on the diagonal by their means across it, in place.

    Returns the largest difference between such entries, in units of the root of K_ii K_jj.
    """
    n, largest = len(matrix), 0.0
    sizes = np.sqrt(np.maximum(np.diagonal(matrix), np.finfo(float).tiny))
    for i in range(0, n, TILE):
        for j in range(i - i % block, i + 1, TILE):
            rows, columns = slice(i, i + TILE), slice(j, j + TILE)
            lower, upper = matrix[rows, columns], matrix[columns, rows].T
            if np.array_equal(lower, upper):
                continue
            difference = np.max(np.abs(lower - upper) / sizes[rows, np.newaxis] / sizes[columns])
            largest = max(largest, float(difference))
            mean = 0.5 * (lower + upper)
            matrix[rows, columns], matrix[columns, rows] = mean, mean.T
    return largest


def _is_positive(matrix: Array) -> bool:
    """Whether the matrix without its rows of zeros has a Cholesky factor."""
    diagonal = np.diagonal(matrix)
    is_used = diagonal != 0.0
    if not np.all(is_used):
        if np.any(matrix[~is_used]):
            return False
        matrix = matrix[np.ix_(is_used, is_used)]
    with blas_threads_for_product(len(matrix) ** 3):
        _, failed = dpotrf(matrix, lower=True)
    return bool(failed == 0)

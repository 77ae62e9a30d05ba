"""Kernel matrices: squared norms, partial Cholesky factors, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.preprocessing import normalize

from skpd.models.kernel_machines import kernel_values
from skpd.models.kernel_machines.features import KernelRows
from skpd.models.kernel_machines.kernel_values import (
    Kernel,
    RowsOfKernel,
    centre_of,
    checked_matrix,
    gamma_of,
)
from skpd.models.kernel_machines.matrix import KernelMatrix, KernelMatrixByRows


def smooth_kernel(rng, n=300):
    return rbf_kernel(rng.normal(size=(n, 2)), gamma=0.1)


def exact_square(matrix, x):
    """x'K x of rational numbers."""
    return sum(
        Fraction(a) * Fraction(k) * Fraction(b)
        for a, row in zip(x.tolist(), matrix.tolist(), strict=True)
        for b, k in zip(x.tolist(), row, strict=True)
    )


@pytest.mark.parametrize("precise", [False, True])
def test_squared_norm_and_its_error(rng, precise):
    """Beside the value of rational numbers, also where almost everything cancels."""
    X = rng.integers(-8, 8, size=(12, 3)) / 8.0
    large = 1e8 * np.abs(X)
    for matrix in (X @ X.T + np.eye(12), large @ large.T + np.eye(12)):
        widths = []
        for _ in range(20):
            x = rng.normal(size=12) * (rng.random(12) < 0.7)
            x -= large @ np.linalg.lstsq(large, x, rcond=None)[0] if matrix[0, 0] > 1e6 else 0.0
            exact, (value, error) = (
                exact_square(matrix, x),
                KernelMatrix(matrix).squared_norm(x, precise),
            )
            assert abs(Fraction(value) - exact) <= Fraction(error)
            widths.append(error / max(float(exact), 1e-300))
        assert np.median(widths) < (1e-12 if matrix[0, 0] < 1e6 else 1e-6 if precise else 1e4)


@pytest.mark.parametrize(("units", "n_products"), [(0, 1), (1, 1), (2, 2)])
@pytest.mark.parametrize("kept_error", [0.0, 0.25])
def test_products_of_multiples_and_their_errors(units, n_products, kept_error, monkeypatch):
    """Numbers that differ from a multiple by one unit in the last place, and sums that cancel.

    The product that is kept is exact, or as wrong as it may be.
    """
    n = 20
    matrix, z = np.ones((n, n)) + 3.0 * np.eye(n), np.tile([1.0, -1.0], n // 2)
    z[0] = 2.0  # the factor is that of the largest number
    plain, multiplied, kernel = KernelMatrix._plain_product, [], KernelMatrix(matrix)
    monkeypatch.setattr(
        KernelMatrix, "_plain_product", lambda *args: multiplied.append(1) or plain(*args)
    )
    y, _, error = (part.copy() for part in kernel.product(z))
    kernel._products = ((z, False, (y + kept_error, np.zeros(n), 0.0 * error + kept_error)),)
    x = 4.0 * z
    for _ in range(units):
        x[1:] = np.nextafter(x[1:], np.inf)  # a unit of 4 is eps 4, and one of -4 half of it
    product, low, error = kernel.product(x)
    assert len(multiplied) == n_products
    for row, value, rest, bound in zip(matrix.tolist(), product, low, error, strict=True):
        exact = sum(Fraction(k) * Fraction(a) for k, a in zip(row, x.tolist(), strict=True))
        assert abs(Fraction(value) + Fraction(rest) - exact) <= Fraction(bound)
        assert bound < 4.1 * kept_error + 2e-12


def test_no_multiple_is_taken_near_underflow():
    """Half of seven times the least number is rounded to four times it, of a row of huge norm."""
    kernel, least = KernelMatrix(np.diag([1.0, 1e300])), np.finfo(float).smallest_subnormal
    kernel.product(np.array([1.0, 0.5]))
    x = np.array([7.0 * least, 4.0 * least])
    product, _, error = kernel.product(x)
    assert abs(product[1] - 1e300 * x[1]) <= error[1] < 1e-6 * product[1]


@pytest.mark.parametrize("metric", ["linear", "poly", "rbf", "sigmoid", "cosine", "laplacian"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_values_of_many_rows(rng, metric, container):
    """They are computed in blocks of rows, half of them by symmetry."""
    X = rng.normal(size=(1100, 4))
    values = Kernel(metric, {"gamma": 0.3}).between(container(X))
    assert_allclose(values, pairwise_kernels(X, metric=metric, filter_params=True, gamma=0.3),
                    rtol=1e-12, atol=1e-12)  # fmt: skip
    assert_allclose(np.diagonal(values)[[0, 600]], np.diagonal(
        pairwise_kernels(X[[0, 600]], metric=metric, filter_params=True, gamma=0.3)
    ), rtol=1e-14)  # fmt: skip


@pytest.mark.parametrize("trace", [10.0, 1e-3, 1e-8])
def test_residual_of_a_factor(rng, trace):
    """K - L L' is positive semidefinite, and its diagonal is what the factor says."""
    matrix = smooth_kernel(rng)
    factor = KernelMatrix(matrix).factor(trace)
    residual = matrix - factor.table @ factor.table.T
    assert_allclose(np.diagonal(residual), factor.residual, atol=1e-12)
    assert np.linalg.eigvalsh(residual)[0] >= -1e-12
    assert factor.trace <= trace
    assert factor.rank < 120
    triangle = factor.table[factor.pivots]
    assert_allclose(np.triu(triangle, 1), 0.0, atol=1e-12)


def test_a_factor_goes_on_from_the_last(rng):
    kernel = KernelMatrix(smooth_kernel(rng))
    coarse, fine = kernel.factor(1.0), kernel.factor(1e-6)
    assert coarse.rank < fine.rank
    assert np.array_equal(fine.table[:, : coarse.rank], coarse.table)
    assert kernel.factor(1e-3) is fine


def test_a_kernel_that_is_nearly_the_identity_has_an_ordinary_factor(rng):
    matrix = rbf_kernel(rng.normal(size=(200, 10)), gamma=2.0)
    factor = KernelMatrix(matrix).factor(1e-6)
    assert factor.rank == 200 and factor.is_complete
    assert_allclose(factor.table, np.linalg.cholesky(matrix), atol=1e-12)


def test_low_rank_ends_where_all_is_rounding(rng):
    X = rng.normal(size=(150, 4))
    factor = KernelMatrix(X @ X.T).factor(1e-300)
    assert factor.rank == 4 and factor.is_complete


def test_weights_make_the_function_of_the_coefficients(rng):
    """f(x_i) = (L w)_i for all rows, and ||f||^2 = a'Ka = ||w||^2."""
    matrix = smooth_kernel(rng)
    factor = KernelMatrix(matrix).factor(1e-8)
    w = rng.normal(size=factor.rank)
    a = factor.weights(w)
    assert np.count_nonzero(a) <= factor.rank
    assert_allclose(matrix @ a, factor.table @ w, atol=1e-4)
    assert_allclose(a @ matrix @ a, w @ w, rtol=1e-5)


@pytest.mark.parametrize("metric", ["sigmoid", "additive_chi2"])
def test_kernels_that_are_not_definite_are_refused(rng, metric):
    X = rng.uniform(size=(30, 3)) if metric == "additive_chi2" else 3.0 * rng.normal(size=(30, 3))
    kernel = Kernel(metric, {"gamma": 1.0, "coef0": -1.0})
    least = np.linalg.eigvalsh(kernel.between(X))[0]
    with pytest.raises(ValueError, match=f"least eigenvalue is {least:.3g}".replace("+", r"\+")):
        kernel.matrix(X)


def test_matrices_that_are_refused(rng):
    with pytest.raises(ValueError, match="symmetric"):
        checked_matrix(np.array([[1.0, 0.5], [0.4, 1.0]]), "K")
    with pytest.raises(ValueError, match="finite"):
        checked_matrix(np.array([[1.0, np.inf], [np.inf, 1.0]]), "K")
    with pytest.raises(ValueError, match="least eigenvalue is -1 "):
        checked_matrix(np.array([[0.0, 1.0], [1.0, 0.0]]), "K")
    large = np.eye(200)
    large[0, 1] = large[1, 0] = 1.5
    with pytest.raises(ValueError, match=r"least eigenvalue is -0\.5"):
        checked_matrix(large, "K")


@pytest.mark.parametrize("seed", range(5))
def test_factors_of_rows_of_very_different_size(seed):
    """What is left of the largest rows is all rounding, but more than there is of others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2)) * np.repeat([1.0, 1e12], [2, 10])[:, np.newaxis]
    kernel = checked_matrix(X @ X.T, "K")
    factor = kernel.factor(0.0)
    assert factor.is_complete
    distance = np.abs(kernel.to_array() - factor.table @ factor.table.T)
    assert np.max(distance / np.outer(kernel.sizes, kernel.sizes)) < 1e-13


def test_rounding_errors_are_not_refused(rng):
    X = rng.normal(size=(40, 3))
    matrix = (X @ X.T).astype(np.float32).astype(float)  # of rank 3, but for its rounding
    assert np.linalg.eigvalsh(matrix)[0] < 0.0
    found = checked_matrix(matrix.copy(), "K")
    assert_allclose(found.to_array(), matrix, rtol=3e-6, atol=1e-14)
    assert_allclose(found.to_array() - np.diag(found.added), matrix, rtol=0.0, atol=1e-15)
    # half of what is added is enough, as weak duality asks
    assert np.linalg.eigvalsh(matrix + 0.5 * np.diag(found.added))[0] > 0.0


@pytest.mark.parametrize("asymmetry", [0.0, 3e-8])
@pytest.mark.parametrize("precise", [False, True])
def test_products_with_the_values_that_predict(rng, precise, asymmetry):
    """In exact arithmetic, by fractions."""
    given = smooth_kernel(rng, 12)
    given *= 1.0 + asymmetry * np.triu(rng.uniform(-1.0, 1.0, size=(12, 12)), 1)
    kernel = checked_matrix(given.copy(), "K")
    x = rng.normal(size=12) * 1e6
    high, low, error = kernel.predictions_of(x, *kernel.product(x, precise))
    for row, *found, most in zip(given, high, low, error, strict=True):
        exact = sum(Fraction(k) * Fraction(v) for k, v in zip(row, x, strict=True))
        assert abs(sum(map(Fraction, found)) - exact) <= most
    assert np.max(error) <= (1e-7 if asymmetry == 0.0 else 1.0)


def test_gamma_of_weighted_rows(rng):
    X = rng.normal(size=(10, 3)) + 1.0
    assert gamma_of("scale", X, np.full(10, 0.1)) == pytest.approx(1.0 / (3.0 * X.var()))
    assert gamma_of("auto", X, np.full(10, 0.1)) == pytest.approx(1.0 / 3.0)
    weights = np.array([2.0] + [1.0] * 9) / 11.0
    repeated = np.vstack([X[:1], X])
    assert gamma_of("scale", X, weights) == pytest.approx(1.0 / (3.0 * repeated.var()))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("mean", [0.0, 1e8])
def test_gamma_far_from_zero_in_exact_arithmetic(rng, container, mean):
    X = (mean + rng.normal(size=(20, 3))) * (rng.random((20, 3)) < (1.0 if mean else 0.4))
    weights = rng.random(20)
    weights /= np.sum(weights)
    rows = [[Fraction(x) for x in row] for row in X.tolist()]
    shares = [Fraction(w) for w in weights.tolist()]
    moments = [
        sum(w * x**p for w, row in zip(shares, rows, strict=True) for x in row) / 3 for p in (1, 2)
    ]
    variance = float(moments[1] / sum(shares) - (moments[0] / sum(shares)) ** 2)
    assert gamma_of("scale", container(X), weights) == pytest.approx(1 / (3 * variance), rel=1e-9)


def test_gamma_of_constant_and_of_huge_features():
    for X in (np.full((9, 2), 0.1), np.zeros((9, 2)), sparse.csr_array((9, 2))):
        assert gamma_of("scale", X, np.full(9, 1.0 / 9.0)) == 1.0
    with pytest.raises(ValueError, match="X must be on a smaller scale for gamma='scale'"):
        gamma_of("scale", np.array([[1e200], [0.0]]), np.full(2, 0.5))


@pytest.mark.parametrize("mean", [0.0, 1e5, 1e8])
def test_values_far_from_zero(rng, mean):
    """Squared distances are computed from products, whose errors grow with the mean."""
    X = mean + rng.normal(size=(1100, 4))
    kernel = Kernel("rbf", {"gamma": 0.3}, centre_of("rbf", X))
    differences = X[:, np.newaxis] - X[:50]
    exact = np.exp(-0.3 * np.sum(differences**2, axis=2))
    assert_allclose(kernel.between(X)[:, :50], exact, rtol=1e-11, atol=0.0)
    for Y in (X[:50], sparse.csr_array(X[:50])):
        assert_allclose(kernel.between(X, Y), exact, rtol=1e-11, atol=0.0)
    assert kernel.is_definite(X)


def by_rows(matrix, computed, asymmetry=0.0):
    """A matrix whose rows are taken from the table, with their indices added to a list."""

    def values_of(rows):
        computed.extend(rows.tolist())
        return matrix[rows]

    return KernelMatrixByRows(values_of, np.diagonal(matrix), np.zeros(len(matrix)), asymmetry)


@pytest.mark.parametrize("precise", [False, True])
def test_rows_are_computed_when_they_are_needed(rng, precise):
    """Products are those of the whole matrix, and no row is computed twice."""
    matrix, computed, x = smooth_kernel(rng, 600), [], np.zeros(600)
    matrix = 0.5 * (matrix + matrix.T)
    kernel = by_rows(matrix, computed)
    x[rng.permutation(600)[:300]] = rng.normal(size=300)
    high, low, error = kernel.product(x, precise)
    assert sorted(computed) == np.flatnonzero(x).tolist()
    exact = [exact_product(row, x) for row in matrix]
    found = [Fraction(a) + Fraction(b) for a, b in zip(high, low, strict=True)]
    assert all(abs(a - b) <= e for a, b, e in zip(found, exact, error, strict=True))
    assert np.max(error) < (1e-24 if precise else 1e-9)
    assert_allclose(kernel.values(np.array([3, 1, 3])), matrix[[3, 1, 3]])
    kernel.product(np.ones(600))
    assert sorted(computed) == list(range(600))
    assert_allclose(kernel.to_array(), matrix)


def exact_product(row, x):
    used = np.flatnonzero(x)
    return sum(Fraction(row[j]) * Fraction(x[j]) for j in used.tolist())


def test_factors_compute_the_rows_of_pivots(rng):
    computed, matrix = [], smooth_kernel(rng)
    factor = by_rows(matrix, computed).factor(1e-6)
    assert sorted(set(computed)) == sorted(computed)
    assert set(factor.pivots.tolist()) <= set(computed)
    assert len(computed) < len(matrix)
    assert_allclose(factor.table @ factor.table.T, matrix, atol=1e-6)


def test_entries_that_two_rows_share_may_differ(rng):
    """The quadratic form is that of their means, which predictions are near."""
    n, size = 30, 1e-9
    matrix = rbf_kernel(rng.normal(size=(n, 2)), gamma=0.1)
    rounded = matrix + size * rng.uniform(-1.0, 1.0, size=(n, n)) * (1.0 - np.eye(n))
    x = rng.normal(size=n) * (rng.random(n) < 0.5)
    kernel = by_rows(rounded, [], asymmetry=2.0 * size)
    value, error = kernel.squared_norm(x)
    means = 0.5 * (rounded + rounded.T)
    assert abs(Fraction(value) - exact_square(means, x)) <= Fraction(error)
    z, _, error = kernel.predictions_of(x, *kernel.product(x))
    assert np.all(np.abs(means @ x - z) <= error)
    assert np.max(error) <= 2.01 * size * np.sum(np.abs(x))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("metric", ["rbf", "linear", "poly", "polynomial", "cosine"])
def test_errors_of_values(rng, metric, container, monkeypatch):
    """Beside values of long doubles; of rows, and of the same rows in another order."""
    monkeypatch.setattr(kernel_values, "LARGEST_TESTED", 20)
    X = (1.0 + rng.normal(size=(40, 7))) * (rng.random((40, 7)) < 0.8)
    X[5] = 0.0
    if metric == "cosine":
        X[6:9] *= [[1e-15], [1e-17], [1e9]]  # too small rows are not normalised
    options = {"gamma": 0.3, "coef0": 2.0, "degree": 3}
    table = container(X)
    kernel = Kernel(metric, options, centre_of(metric, table))
    if metric == "cosine":  # of rows as scikit-learn normalises them, for each container
        normalised = normalize(table)
        X = normalised.toarray() if sparse.issparse(normalised) else normalised
    exact = long_values(metric, X.astype(np.longdouble), **options)
    sizes = np.sqrt(np.diagonal(exact))
    rows = RowsOfKernel(kernel, table)
    assert 1e-16 < rows.error < 1e-12
    found = kernel.matrix(table)
    assert isinstance(found, KernelMatrixByRows)
    assert np.all(np.abs(found.diagonal - found.added - sizes**2) <= rows.error * sizes**2)
    order = rng.permutation(40)
    values = found.values(order)[np.argsort(order)]
    np.fill_diagonal(values, np.diagonal(exact))
    for computed in (values, kernel.between(table)):
        assert np.all(np.abs(computed - exact) <= rows.error * np.outer(sizes, sizes))
    assert found.asymmetry == 2.0 * rows.error
    assert np.linalg.eigvalsh(found.to_array())[0] > 0.0 or metric in ("linear", "cosine")


def long_values(metric, X, gamma, coef0, degree):
    products = X @ X.T
    if metric == "rbf":
        return np.exp(-gamma * np.sum((X[:, np.newaxis] - X) ** 2, axis=2))
    return products if metric in ("linear", "cosine") else (gamma * products + coef0) ** degree


def test_matrices_that_are_computed_at_once(rng, monkeypatch):
    """Those of kernels whose errors are not known, or too large."""
    monkeypatch.setattr(kernel_values, "LARGEST_TESTED", 20)
    X = rng.uniform(size=(40, 3))
    for metric in ("laplacian", "chi2"):
        assert not Kernel(metric, {"gamma": 1.0}).matrix(X).computes_rows
    assert Kernel("rbf", {"gamma": 1.0}).matrix(X).computes_rows
    assert not Kernel("rbf", {"gamma": 60.0}).matrix(X).computes_rows
    with pytest.raises(ValueError, match="kernel='linear' must have finite values"):
        Kernel("linear", {}).matrix(1e200 * X)
    X[3, 2] = 1e-150
    assert not Kernel("linear", {}).matrix(X).computes_rows


def test_norms_of_mean_rows_without_rows(rng):
    """They are at least those of the whole matrix."""
    matrix, computed, weights = smooth_kernel(rng, 50), [], rng.random(50)
    lazy, whole = KernelRows(by_rows(matrix, computed)), KernelRows(KernelMatrix(matrix))
    mean, error = lazy.mean_row_bounded(weights, 1.0 / np.sum(weights))
    exact = np.sqrt(weights @ matrix @ weights) / np.sum(weights)
    assert not computed
    assert exact <= mean[0] + error[0] <= 1.0 + 1e-13
    assert_allclose(whole.mean_row_bounded(weights, 1.0 / np.sum(weights))[0][0], exact)

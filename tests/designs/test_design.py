"""Products in every layout and precision, and the bound on the spectral norm."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from skpd.designs import Design, spectral_norm_bound

LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "CSR": sp.csr_array,
    "CSC": sp.csc_array,
    "CSR matrix": sp.csr_matrix,
    "CSR, 64-bit": lambda X: with_long_indices(sp.csr_array(X)),
    "CSR, mixed": lambda X: with_long_indptr(sp.csr_array(X)),
    "CSC, 64-bit": lambda X: with_long_indices(sp.csc_array(X)),
}


def with_long_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def with_long_indptr(X):
    X.indptr = X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(7, 4), (1, 3), (5, 1), (200, 33)])
def test_products(layout, dtype, shape, rng):
    X = (rng.normal(size=shape) * (rng.random(shape) < 0.6)).astype(dtype)
    design = Design(LAYOUTS[layout](X))
    X = X.astype(np.float64)
    w, rows = rng.normal(size=shape[1]), rng.normal(size=shape[0])
    weights = rng.random(shape[0])
    assert design.shape == shape
    assert_allclose(design.matvec(w), X @ w, atol=1e-12)
    assert_allclose(design.rmatvec(rows), X.T @ rows, atol=1e-12)
    high, low, error = design.matvec_compensated(w, 0.7)
    assert (error < 1e-25).all()
    assert_allclose(high + low, X @ w + 0.7, atol=1e-12)
    product, error = design.rmatvec_compensated(weights, rows)
    assert (error < 1e-14).all()
    assert_allclose(product, X.T @ (weights * rows), atol=1e-12)
    assert_allclose(design.row_sums(), np.abs(X).sum(axis=1))
    assert_allclose(design.column_sums(weights), weights @ np.abs(X), atol=1e-15)
    assert_allclose(design.row_norms(), np.linalg.norm(X, axis=1))
    assert_allclose(design.column_norms(weights), np.sqrt(weights @ X**2))


def test_data_are_not_copied(rng):
    for X in (rng.normal(size=(50, 3)), np.asfortranarray(rng.normal(size=(50, 3)))):
        design = Design(X)
        X[0, 0] = 100.0
        assert_allclose(design.matvec(np.array([1.0, 0, 0]))[0], 100.0)
    X = sp.random_array((50, 3), density=0.5, random_state=rng, format="csr")
    design = Design(X)
    X.data[:] = 1.0
    assert_allclose(design.matvec(np.ones(3)), np.diff(X.indptr))


def test_duplicate_entries_are_summed():
    X = sp.csr_array(
        (np.array([1.0, -3.0, 2.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    design = Design(X)
    assert_allclose(design.row_sums(), [2.0, 2.0])
    assert X.nnz == 3  # the caller's matrix is left as it was


def test_compensated_products_are_rounded_once():
    X = np.array([[1e16, 1.0, -1e16], [1.0, 1e-30, 0.0]])
    for layout in LAYOUTS.values():
        design = Design(layout(X))
        high, low, error = design.matvec_compensated(np.ones(3), 0.0)
        assert (error < 1e-13).all()
        assert high[0] == 1.0 and low[0] == 0.0
        assert high[1] == 1.0 and low[1] == 1e-30
        columns, _ = Design(layout(X.T.copy())).rmatvec_compensated(np.ones(3), np.ones(3))
        assert columns[0] == 1.0
    # the product of weight and row is not rounded either
    third = 1 / 3
    square = third * third
    found, error = Design(np.array([[1.0], [-1.0]])).rmatvec_compensated(
        np.array([third, 1.0]), np.array([third, square])
    )
    assert found[0] == float(Fraction(third) ** 2 - Fraction(square)) != 0.0
    assert error[0] < 1e-30


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bounds_on_rounding_errors_hold(layout, dtype, rng):
    """The errors of plain products, in rational arithmetic."""
    for scale in (0.0, 8.0, 150.0):  # cancelling sums; products near underflow
        X = rng.normal(size=(40, 30)) * 10.0 ** rng.uniform(-scale, 0.1 * scale, (40, 30))
        X *= rng.random((40, 30)) < 0.7
        X = np.clip(X, -1e30, 1e30).astype(dtype)
        w, rows, weights = rng.normal(size=30), rng.normal(size=40), rng.random(40)
        rows *= 10.0 ** rng.uniform(-scale, 0.0, 40)
        design = Design(LAYOUTS[layout](X))
        exact = [[Fraction(float(x)) for x in row] for row in X]
        z, error = design.matvec_bounded(w, 0.3)
        for i, row in enumerate(exact):
            sum_ = Fraction(0.3) + sum(x * Fraction(v) for x, v in zip(row, w, strict=True))
            assert abs(Fraction(z[i]) - sum_) <= Fraction(error[i])
        assert (error <= 1e-13 * (np.abs(X.astype(np.float64)) @ np.abs(w) + 0.3) + 1e-300).all()
        u, error = design.rmatvec_bounded(weights, rows)
        for j in range(30):
            terms = zip(exact, weights, rows, strict=True)
            sum_ = sum(row[j] * Fraction(c) * Fraction(r) for row, c, r in terms)
            assert abs(Fraction(u[j]) - sum_) <= Fraction(error[j])


def test_vectors_that_do_not_fit_are_refused(rng):
    design = Design(rng.normal(size=(3, 2)))
    with pytest.raises(ValueError, match="does not fit"):
        design.matvec(np.ones(3))
    with pytest.raises(ValueError, match="does not fit"):
        design.rmatvec(np.ones(2))


@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("index", [4, -1, 50_000_000, -(2**31)])
def test_stray_indices_are_refused(layout, index, rng):
    """SciPy and scikit-learn let them through; a product would write there."""
    X = layout(rng.normal(size=(4, 4)))
    X.indices[5] = index
    X.has_sorted_indices = X.has_canonical_format = True
    with pytest.raises(ValueError, match="indices of a sparse matrix must lie within"):
        Design(X)


@pytest.mark.parametrize("position, value", [(0, 1), (2, 10**8), (2, 0), (4, 17)])
def test_stray_indptr_is_refused(position, value, rng):
    X = sp.csr_array(rng.normal(size=(4, 4)))
    X.indptr[position] = value
    X.has_sorted_indices = X.has_canonical_format = True
    with pytest.raises(ValueError, match="indptr of a sparse matrix"):
        Design(X)


@pytest.mark.parametrize("shape", [(3, 3), (40, 7), (7, 40), (300, 120), (1, 5), (500, 400)])
@pytest.mark.parametrize("decay", [0.0, 2.0])
def test_spectral_norm_bound(shape, decay, rng):
    """Above the norm, and within 10 %, for flat and for decaying spectra."""
    for _ in range(5):
        X = rng.normal(size=shape) * np.arange(1, shape[1] + 1.0) ** -decay
        bound = spectral_norm_bound(
            lambda v, X=X: X @ v, lambda u, X=X: X.T @ u, shape, np.random.RandomState(0)
        )
        norm = np.linalg.norm(X, 2)
        assert norm <= bound * (1 + 1e-12)
        assert bound <= 1.1 * norm


def test_spectral_norm_of_degenerate_matrices():
    for X, norm in ((np.zeros((4, 3)), 0.0), (np.ones((50, 60)), np.sqrt(3000.0))):
        bound = spectral_norm_bound(
            lambda v, X=X: X @ v, lambda u, X=X: X.T @ u, X.shape, np.random.RandomState(0)
        )
        assert_allclose(bound, norm, rtol=1e-9)


@pytest.mark.parametrize("shape", [(40_000, 9), (9, 80_000)])
def test_counts_of_stored_entries(shape, rng):
    X = sp.random_array(shape, density=0.3, format="csr", random_state=rng)
    counts = np.diff(X.tocsc().indptr)
    assert len(X.indices) > 65536
    for layout in ("CSR", "CSC", "CSR, 64-bit"):
        np.testing.assert_array_equal(Design(LAYOUTS[layout](X)).column_counts, counts)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "CSC", "CSC, 64-bit"])
def test_products_with_some_columns(layout, rng):
    X = rng.normal(size=(20, 9)) * (rng.random((20, 9)) < 0.5)
    design, rows = Design(LAYOUTS[layout](X)), rng.normal(size=20)
    columns = np.array([7, 0, 3])
    assert_allclose(design.rmatvec_some(rows, columns), X[:, columns].T @ rows, atol=1e-14)
    with pytest.raises(ValueError, match="columns must lie"):
        design.rmatvec_some(rows, np.array([9]))
    design = Design(LAYOUTS[layout](X.astype(np.float32)))
    assert_allclose(design.rmatvec_some(rows, columns), X[:, columns].T @ rows, atol=1e-6)
    assert design.rmatvec_some(rows, columns).dtype == np.float64


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_dense_products_with_few_nonzeros(layout, dtype, rng):
    X = rng.normal(size=(150, 170)).astype(dtype)
    design, X = Design(LAYOUTS[layout](X)), X.astype(np.float64)
    w, rows = np.zeros(170), np.zeros(150)
    w[[3, 80, 169]], rows[[0, 149]] = rng.normal(size=3), rng.normal(size=2)
    assert_allclose(design.matvec(w), X @ w, atol=1e-14)
    assert_allclose(design.rmatvec(rows), X.T @ rows, atol=1e-14)
    for found, expected in (
        (design.matvec_bounded(w, 0.5), X @ w + 0.5),
        (design.rmatvec_bounded(np.ones(150), rows), X.T @ rows),
    ):
        assert_allclose(found[0], expected, atol=1e-14)
        assert (np.abs(found[0] - expected) <= found[1]).all() and (found[1] < 1e-13).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_threads_change_no_digit(layout, dtype, rng, monkeypatch):
    X = (rng.normal(size=(4001, 405)) * (rng.random((4001, 405)) < 0.98)).astype(dtype)
    w = rng.normal(size=405) * (rng.random(405) < 0.9)
    rows, weights = rng.normal(size=4001) * (rng.random(4001) < 0.9), rng.random(4001)
    found = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr(
            "skpd.designs.design._openmp_effective_n_threads", lambda n=n_threads: n
        )
        design = Design(LAYOUTS[layout](X))
        found.append([
            design.matvec(w),
            design.rmatvec(rows),
            *design.matvec_bounded(w, 0.3),
            *design.rmatvec_bounded(weights, rows),
            *design.matvec_compensated(w, 0.3),
            *design.rmatvec_compensated(weights, rows),
            design.row_norms(),
            design.column_sums(weights),
        ])  # fmt: skip
    assert_allclose(found[0][0], X.astype(np.float64) @ w, atol=1e-9)
    assert_allclose(found[0][1], X.astype(np.float64).T @ rows, atol=1e-9)
    for one, two, three in zip(*found, strict=True):
        np.testing.assert_array_equal(two, one)
        np.testing.assert_array_equal(three, one)


def test_those_that_run_at_the_same_time_share_the_threads(rng, monkeypatch):
    monkeypatch.setattr("skpd.designs.design._openmp_effective_n_threads", lambda: 4)
    given = []
    monkeypatch.setattr(
        "skpd.designs.design.kernels.Matrix.dense",
        lambda X, by_columns, n: given.append(n),
        raising=False,
    )
    for n_parallel in (1, 2, 3, 8):
        Design(rng.normal(size=(3, 2)), n_parallel=n_parallel)
    assert given == [4, 2, 1, 1]

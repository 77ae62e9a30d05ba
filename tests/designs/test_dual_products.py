"""Products X' diag(c) theta along a path: what is left out is bounded, what matters is exact."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from skpd import PdproxRegressor, regularization_path
from skpd.designs import Design, DualProducts, DualProductsOfPath

LAYOUTS = {
    "F": np.asfortranarray,
    "CSC": sp.csc_array,
    "CSC matrix": sp.csc_matrix,
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("scale", [0.0, 6.0, 150.0])
def test_errors_are_bounded_in_rational_arithmetic(layout, dtype, scale, rng):
    n, p = 25, 40
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-scale, 0.0, p)
    X = (X * (rng.random((n, p)) < 0.5)).astype(dtype)
    weights = rng.random(n)
    weights[3] = 0.0
    weights /= weights.sum()
    exact = [
        [Fraction(float(x)) * Fraction(c) for x in row] for row, c in zip(X, weights, strict=True)
    ]
    products = DualProductsOfPath(Design(LAYOUTS[layout](X)), weights)
    theta, coef = rng.normal(size=n), np.zeros(p)
    coef[[0, 7]] = 1.0
    for step in (1.0, 0.1, 0.0, 1e-3, 1e-8, 1e-170):
        theta = theta + step * rng.normal(size=n)
        for enough, at in ((0.2, None), (0.1, coef), (0.0, None)):
            u, error = products(theta, enough, at)
            rounding = 1e-14 * np.linalg.norm(X.astype(np.float64), axis=0) + 1e-150
            left_out = error > rounding
            assert (np.abs(u) + error <= enough)[left_out].all()
            assert at is None or not left_out[coef != 0.0].any()
            for j in range(p):
                true = sum(row[j] * Fraction(t) for row, t in zip(exact, theta, strict=True))
                assert abs(Fraction(u[j]) - true) <= Fraction(error[j])


def test_few_columns_are_met_again_where_dual_points_are_near(rng):
    X = sp.random_array((300, 500), density=0.05, random_state=rng, format="csc")
    design, weights = Design(X), np.full(300, 1 / 300)
    products, theta = DualProductsOfPath(design, weights), rng.normal(size=300)
    enough = 0.9 * np.max(np.abs(products(theta)[0]))
    theta = theta + 0.01 * rng.normal(size=300)
    u, error = products(theta, enough)
    large = np.abs(X.T @ theta / 300) > enough
    assert_allclose(u[large], (X.T @ theta / 300)[large], rtol=1e-12)
    assert 0 < np.count_nonzero(error < 1e-12) < 50


@pytest.mark.parametrize("kind", [DualProducts, DualProductsOfPath])
def test_nan_does_not_stay(kind, rng):
    X, weights = np.asfortranarray(rng.normal(size=(6, 3))), np.full(6, 1 / 6)
    products = kind(Design(X), weights)
    assert np.isnan(products(np.full(6, np.nan), 1.0)[0]).all()
    assert_allclose(products(np.ones(6))[0], X.mean(axis=0), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e30])
def test_small_entries_are_bounded_and_others_exact(dtype, scale, rng):
    n, p = 20, 300
    X = np.asfortranarray(rng.normal(size=(n, p)) * rng.lognormal(size=p) * scale, dtype=dtype)
    X[:, 0], X[:, 1] = 0.0, scale * rng.choice([-1.0, 1.0], n)
    weights = rng.random(n)
    products = DualProductsOfPath(Design(X), weights / weights.sum())
    exact = [[Fraction(float(x)) for x in column] for column in X.T]
    for _ in range(8):
        theta = rng.normal(size=n) * 10.0 ** rng.uniform(-3.0, 3.0, n)
        v = [
            Fraction(c) * Fraction(t) for c, t in zip(weights / weights.sum(), theta, strict=True)
        ]
        true = [sum(x * t for x, t in zip(column, v, strict=True)) for column in exact]
        enough = float(np.quantile(np.abs(np.array(true, dtype=float)), 0.9))
        u, error = products(theta, enough)
        assert all(
            abs(Fraction(a) - t) <= Fraction(e) for a, t, e in zip(u, true, error, strict=True)
        )
        size = np.linalg.norm(np.sqrt(weights / weights.sum()) * theta)
        rough = error > 1e-13 * size * np.linalg.norm(X.astype(float), axis=0) + 1e-150
        assert (np.abs(u) + error <= enough)[rough].all()


@pytest.mark.parametrize("rows", [sp.csr_array, np.ascontiguousarray])
def test_rows_are_refused(rows):
    with pytest.raises(ValueError, match="stored by columns"):
        DualProductsOfPath(Design(rows(np.eye(3))), np.ones(3))


@pytest.mark.parametrize("layout", [*LAYOUTS, "C"])
def test_certificates_along_a_path_hold(layout, rng):
    """Against the objective values of scikit-learn's path at a much smaller tolerance."""
    from sklearn.linear_model import lasso_path

    X = rng.normal(size=(60, 200)) * (rng.random((60, 200)) < 0.4)
    y = X[:, :5].sum(axis=1) + rng.normal(size=60)
    X_laid_out = LAYOUTS.get(layout, np.ascontiguousarray)(X)
    model = PdproxRegressor(loss="squared", fit_intercept=False, tol=1e-9)
    found = regularization_path(model, X_laid_out, y, alphas=40)
    _, coefs, _ = lasso_path(X, y, alphas=found.alphas, tol=1e-13, max_iter=100_000)
    for alpha, w, certificate in zip(found.alphas, coefs.T, found.certificates, strict=True):
        optimum = 0.5 * np.mean((y - X @ w) ** 2) + alpha * np.abs(w).sum()
        assert certificate.dual <= optimum <= certificate.primal + 1e-12
        assert certificate.relative_gap <= 1e-9

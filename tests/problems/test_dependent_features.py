"""Unpenalised features that are combinations of others, exactly or up to rounding."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from sklearn.linear_model import LinearRegression, PoissonRegressor
from sklearn.preprocessing import SplineTransformer, StandardScaler

from skpd import ElasticNetPD, GammaPD, PdproxRegressor, PdproxSVC, PoissonPD, RowBlocks, certify
from skpd.designs import row_blocks
from skpd.losses import Squared
from skpd.penalties import WeightedL1

N = 300
OPTIONS = {"alpha": 1.0, "tol": 1e-8}


@pytest.fixture
def data(rng):
    codes, x = rng.integers(0, 4, N), rng.normal(size=N)
    return np.column_stack([x, np.eye(4)[codes]]), x + 0.3 * codes


def dependent(name, X):
    """Features with as many directions as ``basis``, and the number of superfluous ones."""
    x, dummies = X[:, 0], X[:, 1:]
    if name == "standardised dummies":
        return StandardScaler().fit_transform(X), X[:, :4], 1
    if name == "sum of two others":
        table = np.column_stack([X[:, :3] / 3.0, X[:, 0] / 3.0 + X[:, 1] / 3.0])
        return table, X[:, :3], 1
    if name == "splines":
        splines = SplineTransformer(n_knots=3).fit_transform(X[:, :1])
        return splines, splines[:, :-1], 1
    if name == "two units":
        weight = 70.0 + 10.0 * x
        return np.column_stack([weight, weight * 2.20462]), weight[:, np.newaxis], 1
    single = StandardScaler().fit_transform(X).astype(np.float32)
    assert name == "single precision" and dummies.shape[1] == 4
    return single, single[:, :4].astype(np.float64), 1


CASES = [
    "standardised dummies", "sum of two others", "splines", "two units", "single precision",
]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_least_squares_of_a_basis(name, data):
    X, mean = data
    y = mean + np.sin(np.arange(N))
    Z, basis, n_left_out = dependent(name, X)
    model = PdproxRegressor(loss="squared", penalty_weights=np.zeros(Z.shape[1]), **OPTIONS)
    model.fit(Z, y)
    best = LinearRegression().fit(basis, y)
    optimum = 0.5 * np.mean((best.predict(basis) - y) ** 2)
    certificate = model.certificate_
    assert model.converged_ and len(certificate.left_out) == n_left_out
    of_least_norm = LinearRegression(fit_intercept=True).fit(Z.astype(float), y).coef_
    assert_allclose(model.coef_, of_least_norm, rtol=1e-4 if Z.dtype == np.float32 else 1e-6)
    assert certificate.dual <= optimum * (1 + 1e-12) <= certificate.primal * (1 + 2e-12)
    # float32 stores the coefficients to seven digits
    assert certificate.primal <= optimum * (1 + (1e-6 if Z.dtype == np.float32 else 1e-8))
    assert "combinations of others up to rounding" in " ".join(str(certificate).split())


@pytest.mark.parametrize("name", CASES[:4])
def test_losses_of_each_kind(name, data):
    X, mean = data
    Z, basis, _ = dependent(name, X)
    free = np.zeros(Z.shape[1])
    y = np.random.default_rng(1).poisson(np.exp(0.5 * mean))
    counts = PoissonPD(penalty_weights=free, **OPTIONS).fit(Z, y)
    peer = PoissonRegressor(alpha=0.0, solver="newton-cholesky", tol=1e-12).fit(basis, y)
    assert_allclose(counts.predict(Z), peer.predict(basis), rtol=1e-5)
    costs = GammaPD(penalty_weights=free, **OPTIONS).fit(Z, y + 1.0)
    # at the optimum the relative residuals are orthogonal to all features
    relative = (y + 1.0) / costs.predict(Z) - 1.0
    assert_allclose(basis.T @ relative / N, 0.0, atol=1e-3)
    for loss in ("huber", "absolute"):
        model = PdproxRegressor(loss=loss, penalty_weights=free, alpha=1.0).fit(Z, mean + y)
        own = PdproxRegressor(loss=loss, penalty_weights=np.zeros(basis.shape[1]), alpha=1.0)
        own.fit(basis, mean + y)
        assert model.converged_ and own.converged_
        assert model.certificate_.dual <= own.certificate_.primal
        assert own.certificate_.dual <= model.certificate_.primal
    for loss in ("hinge", "logistic"):
        model = PdproxSVC(loss=loss, penalty_weights=free, alpha=1.0).fit(Z, y > 1)
        assert model.converged_ and model.certificate_.dual > 0.1
    lasso = ElasticNetPD(alpha=0).fit(Z, mean + y)
    assert lasso.converged_ and lasso.certificate_.dual > 0.1


def test_optimum_of_a_linear_programme(data):
    """Absolute residuals with a basis, by HiGHS."""
    X, mean = data
    Z, basis, _ = dependent("standardised dummies", X)
    y = mean + np.sin(np.arange(N))
    A = np.column_stack([np.ones(N), basis])
    found = linprog(
        np.append(np.zeros(A.shape[1]), np.full(N, 1.0 / N)),
        A_ub=np.block([[A, -np.eye(N)], [-A, -np.eye(N)]]),
        b_ub=np.append(y, -y),
        bounds=[(None, None)] * A.shape[1] + [(0, None)] * N,
    )
    assert found.success
    model = PdproxRegressor(loss="absolute", penalty_weights=np.zeros(5), **OPTIONS).fit(Z, y)
    assert model.certificate_.dual - 1e-9 <= found.fun <= model.certificate_.primal + 1e-9
    assert model.certificate_.gap <= 1e-6


def test_dependence_in_exact_arithmetic_leaves_nothing_out(data):
    X, y = data
    constant = np.column_stack([X, np.full(N, 3.7), 2.0 * X[:, 0], -X[:, 0], np.zeros(N)])
    for Z in (X, constant, sp.csr_array(constant)):
        model = PdproxRegressor(loss="squared", penalty_weights=np.zeros(Z.shape[1]), **OPTIONS)
        model.fit(Z, y)
        assert model.converged_ and model.certificate_.left_out == ()
        assert "combinations" not in str(model.certificate_)


def test_more_columns_than_rows_most_of_which_are_zero(rng):
    X = rng.normal(size=(20, 21))
    X[:, 3:] = 0.0
    y = X[:, 0] + rng.normal(size=20)
    model = PdproxRegressor(loss="squared", penalty_weights=np.zeros(21), **OPTIONS).fit(X, y)
    best = LinearRegression().fit(X[:, :3], y)
    optimum = 0.5 * np.mean((best.predict(X[:, :3]) - y) ** 2)
    assert model.certificate_.left_out == ()
    assert_allclose([model.certificate_.dual, model.certificate_.primal], optimum, rtol=1e-7)


def test_blocks_leave_out_the_same_features(data, monkeypatch):
    X, mean = data
    Z, _, _ = dependent("standardised dummies", X)
    y = mean + np.sin(np.arange(N))
    monkeypatch.setattr(row_blocks, "GATHERED", 0)
    options = {"loss": "huber", "penalty_weights": np.zeros(5), "tol": 1e-6}
    whole = PdproxRegressor(1.0, **options).fit(Z, y)
    blocks = PdproxRegressor(1.0, **options).fit(RowBlocks(np.array_split(Z, 4)), y)
    assert blocks.converged_ and blocks.certificate_.left_out == whole.certificate_.left_out == (
        4,
    )
    assert blocks.certificate_.dual <= whole.certificate_.primal
    assert whole.certificate_.dual <= blocks.certificate_.primal


def test_models_of_others_with_dependent_features(data):
    """A model may use the features that are left out: its objective is still above the bound."""
    X, mean = data
    Z, basis, _ = dependent("standardised dummies", X)
    y = mean + np.sin(np.arange(N))
    theirs = LinearRegression().fit(Z, y)
    own = LinearRegression().fit(basis, y)
    penalty = WeightedL1(np.zeros(5))
    certificate = certify(theirs, Z, y, loss=Squared(), penalty=penalty, alpha=1.0)
    optimum = 0.5 * np.mean((own.predict(basis) - y) ** 2)
    assert certificate.left_out == (4,) and certificate.relative_gap < 1e-9
    assert certificate.dual <= optimum * (1 + 1e-12)


def test_weights_of_zero_do_not_count(data):
    """Columns are dependent if they are on the rows with a weight."""
    X, mean = data
    Z, _, _ = dependent("standardised dummies", X)
    y, weights = mean + np.sin(np.arange(N)), np.ones(N)
    Z[:50] = np.random.default_rng(2).normal(size=(50, 5))
    weights[:50] = 0.0
    model = PdproxRegressor(loss="squared", penalty_weights=np.zeros(5), **OPTIONS)
    model.fit(Z, y, weights)
    alone = PdproxRegressor(loss="squared", penalty_weights=np.zeros(5), **OPTIONS)
    alone.fit(Z[50:], y[50:])
    assert model.converged_ and model.certificate_.left_out == (4,)
    assert_allclose(model.coef_, alone.coef_, atol=1e-6)
    assert_array_equal(model.certificate_.left_out, alone.certificate_.left_out)

"""Wide tables in coordinates of their rows, against Clarabel, closed forms and other steps."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone

from skpd import (
    LogisticPD,
    MultinomialPD,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    regularization_path,
)


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_crammer_and_singer_on_wide_data(fit_intercept, layout, rng):
    """The kernel form of the model has a weight of each class for each row, W = X'A."""
    n, d, K, alpha = 30, 1500, 3, 1e-4
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, d)) + 0.1 * rng.normal(size=(n, d))
    y = rng.integers(0, K, size=n)
    model = MultinomialPD(
        alpha, loss="crammer_singer", penalty="l2", fit_intercept=fit_intercept, tol=1e-9
    )
    model.fit(layout(X), y)
    assert model.converged_ and model.solver_ == "interior-point"
    factor = np.linalg.cholesky(X @ X.T)
    V, b = cp.Variable((n, K)), cp.Variable(K)
    scores = factor @ V + (np.ones((n, 1)) @ cp.reshape(b, (1, K), order="C")) * fit_intercept
    of_label = cp.sum(cp.multiply(np.eye(K)[y], scores), axis=1)
    losses = cp.max(scores + 1.0 - np.eye(K)[y], axis=1) - of_label
    problem = cp.Problem(cp.Minimize(cp.sum(losses) / n + alpha / 2 * cp.sum_squares(V)))
    best = problem.solve(solver=cp.CLARABEL)
    certificate = model.certificate_
    assert certificate.dual <= best * (1.0 + 1e-6)
    assert_allclose(certificate.primal, best, rtol=2e-4)
    span = X.T @ np.linalg.lstsq(X.T, model.coef_.T, rcond=None)[0]
    assert_allclose(span, model.coef_.T, atol=1e-9 * np.max(np.abs(model.coef_)))


def wide(rng, n=40, d=500):
    X = rng.normal(size=(n, d)) + 0.5 * rng.normal(size=(n, 1))
    z = X[:, :5].sum(axis=1)
    return X, z + rng.normal(size=n), rng.integers(0, 3, size=n).astype(float)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("repeated", [False, True])
def test_ridge_on_wide_tables(repeated, fit_intercept, rng):
    """The kernel form solves (K + alpha C^-1) a = y; repeated rows have a singular K."""
    X, y, s = wide(rng)
    if repeated:
        X[20:], s[20:] = X[:20], 1.0
    c, alpha = s / s.sum(), 0.05
    centre = c @ X if fit_intercept else np.zeros(X.shape[1])
    t = y - (c @ y if fit_intercept else 0.0)
    A = np.sqrt(c)[:, np.newaxis] * (X - centre)
    w = A.T @ np.linalg.solve(A @ A.T + alpha * np.eye(len(y)), np.sqrt(c) * t)
    options = {"loss": "squared", "penalty": "l2", "fit_intercept": fit_intercept, "tol": 1e-9}
    model = PdproxRegressor(alpha, **options).fit(X, y, s)
    assert model.converged_
    assert_allclose(model.coef_, w, atol=1e-5 * np.max(np.abs(w)))
    best = np.sum((A @ w - np.sqrt(c) * t) ** 2) / 2.0 + alpha / 2.0 * w @ w
    assert model.certificate_.dual <= best * (1.0 + 1e-12)
    assert_allclose(model.certificate_.primal, best, rtol=1e-7)
    single = PdproxRegressor(alpha, loss="squared", penalty="l2", fit_intercept=fit_intercept)
    single.fit(np.asfortranarray(X, dtype=np.float32), y, s)
    assert single.converged_ and single.coef_.dtype == np.float32
    assert_allclose(single.coef_, w, atol=2e-2 * np.max(np.abs(w)))


@pytest.mark.parametrize("loss", ["softmax", "logistic", "poisson", "squared_hinge"])
def test_smooth_losses_on_wide_tables(loss, rng):
    """Models of a dense X, in the row space, and of the same X as a sparse matrix are equal."""
    X, y, s = wide(rng)
    model, target = {
        "softmax": (LogisticPD(1e-3), np.digitize(y, [-1.0, 1.0])),
        "logistic": (LogisticPD(1e-3), y > 0.0),
        "poisson": (PoissonPD(1e-3, penalty="l2"), rng.poisson(np.exp(0.2 * y))),
        "squared_hinge": (PdproxSVC(1e-3, loss="squared_hinge", penalty="l2"), y > 0.0),
    }[loss]
    model.set_params(tol=1e-7).fit(X, target, s)
    other = clone(model).fit(sp.csr_array(X), target, s)
    assert model.converged_ and other.converged_
    assert model.certificate_.dual <= other.certificate_.primal
    assert other.certificate_.dual <= model.certificate_.primal
    assert_allclose(model.certificate_.primal, other.certificate_.primal, atol=2e-7)
    # alpha / 2 ||w - w*||^2 is at most the gap
    distances = [np.sqrt(2.0 * each.certificate_.gap / 1e-3) for each in (model, other)]
    assert np.linalg.norm(model.coef_ - other.coef_) <= sum(distances) * (1.0 + 1e-9)
    path = regularization_path(model, X, target, alphas=[0.1, 0.01, 1e-3], sample_weight=s)
    assert path.converged.all()
    distance = np.linalg.norm(np.ravel(path.coefs[-1]) - np.ravel(model.coef_))
    assert distance <= 2.0 * np.sqrt(2.0 * 1e-7 / 1e-3)

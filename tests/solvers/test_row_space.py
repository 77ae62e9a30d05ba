"""Classes with fewer rows than features, in coordinates of the rows, against Clarabel."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from skpd import MultinomialPD


@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_crammer_and_singer_on_wide_data(fit_intercept, layout, rng):
    """The kernel form of the model has a weight of each class for each row, W = X'A."""
    n, d, K, alpha = 30, 1500, 3, 1e-4
    X = rng.normal(size=(n, 5)) @ rng.normal(size=(5, d)) + 0.1 * rng.normal(size=(n, d))
    y = rng.integers(0, K, size=n)
    model = MultinomialPD(
        alpha, loss="crammer_singer", penalty="l2", fit_intercept=fit_intercept, tol=1e-6
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

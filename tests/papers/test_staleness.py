"""The simulated asynchronous updates: without a delay the methods, and with one by their index."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.papers.staleness import coordinate_descent, pdprox_averages, shrunk
from skpd import PdproxSVC


@pytest.fixture
def data(rng):
    X = rng.normal(size=(30, 6))
    return X, np.where(X[:, 0] + rng.normal(size=30) > 0, 1.0, -1.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pdprox_without_a_delay_is_algorithm_1(data):
    model = PdproxSVC(
        0.05, penalty="l1", fit_intercept=False, solver="pdprox-dual", tol=0.0, max_iter=40
    ).fit(*data)
    *_, average = pdprox_averages(*data, 0.05, 0, 1.0, 40)
    assert_allclose(model.coef_.ravel(), average, rtol=0, atol=1e-9)


@pytest.mark.parametrize("delay", [1, 5])
def test_stale_pdprox(delay, data):
    X, y = data
    n, d = X.shape
    H = -(X * y[:, None]).T / n
    gamma, lam = 0.5 / (np.sqrt(2) * np.linalg.norm(H, 2)), 0.05
    ws, alphas, beta = [np.zeros(d)], [], np.zeros(n)

    def up(t):  # G_alpha at w_t, where w_t = 0 before the start
        return 1 / n + H.T @ ws[max(t, 0)]

    found = pdprox_averages(X, y, lam, delay, 0.5, 30)
    for t in range(1, 31):
        alphas.append(np.clip(beta + gamma * up(t - 1 - delay), 0, 1))
        down = H @ alphas[t - 1 - delay] if t > delay else np.zeros(d)
        ws.append(shrunk(ws[-1] - gamma * down, gamma * lam))
        beta = np.clip(beta + gamma * up(t - delay), 0, 1)
        assert_allclose(next(found), np.mean(ws[1:], axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("delay", [0, 1, 5])
def test_stale_coordinates(delay, data):
    X, y = data
    n, d = X.shape
    random, ws, lam = np.random.default_rng(0), [np.zeros(d)], 0.05
    for objective in coordinate_descent(X, y, lam, delay, 0.5, 20):
        for j in random.integers(d, size=d):
            stale, w = ws[max(len(ws) - 1 - delay, 0)], ws[-1].copy()
            step = 0.5 * n / (X[:, j] @ X[:, j])
            w[j] = shrunk(w[j] - step * (X[:, j] @ (X @ stale - y)) / n, step * lam)
            ws.append(w)
        expected = 0.5 * np.mean((X @ ws[-1] - y) ** 2) + lam * np.abs(ws[-1]).sum()
        assert objective == pytest.approx(expected, rel=1e-10)

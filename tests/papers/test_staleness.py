"""The simulated asynchronous updates: without a delay the methods, and with one by their index."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.papers.staleness import coordinate_descent, pdprox_averages, shrunk
from skpd import PdproxSVC
from tests.oracles.paper_pages import paper_page


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


def test_what_staleness_costs_pdprox():
    page = paper_page("pdprox")
    rows = {int(row["tau"]): row for row in page.table("Stale gradients in Pdprox")}
    page.claims("averages diverge from a delay of one iteration on")
    assert all(float(rows[delay]["after 1000"]) > 1.0 for delay in (1, 4, 16, 64))
    page.claims("more than 5 times that without a delay for tau = 1, and more than 30 times for")
    excess = {delay: float(row["after 1000 2"]) for delay, row in rows.items()}
    assert excess[1] > 5.0 * excess[0] and excess[16] > 30.0 * excess[0]


def test_what_staleness_costs_coordinate_descent():
    page = paper_page("rates")
    tables = {}
    for row in page.table("Stale residuals in coordinate descent"):
        tables.setdefault(row["data"], {})[int(row["tau"])] = row
    page.claims("A delay of one step costs nothing that shows")
    page.claims("one of 16 at most three times the epochs to 1e-6, with shorter steps; full steps")
    for rows in tables.values():
        epochs = {delay: float(rows[delay]["1e-6"]) for delay in (0, 1, 16)}
        assert epochs[1] <= 1.05 * epochs[0] and epochs[16] <= 3.0 * epochs[0]
        assert rows[16]["1e-6, full steps"] == "diverges"


def test_what_blocks_of_rows_gain():
    page = paper_page("pdprox")
    page.claims("From 30 passes on the smallest blocks leave less than half of the excess of all")
    tables = {}
    for row in page.table("Stochastic Pdprox"):
        tables.setdefault((row["data"], row["iterate"]), []).append(row)
    for rows in tables.values():
        for passes in ("after 30", "after 100", "after 300"):
            assert float(rows[-1][passes]) < 0.5 * float(rows[0][passes])

"""The benchmarks that repeat the papers: their baselines, and the pages that they write."""

import importlib

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from benchmarks.papers import PAPERS, Table, list_table, of_page
from benchmarks.papers.admm import gs_admm, loss, prox
from benchmarks.papers.excessive_gap import Saddle, excessive_gap
from benchmarks.papers.pdprox_svm import pegasos
from skpd import PdproxSVC
from skpd.penalties import GroupL2
from tests.oracles.optima import linear_optimum


@pytest.mark.parametrize("lam", [0.5, 3.0])
def test_prox_of_the_robust_loss(lam, rng):
    for v in 4.0 * rng.normal(size=50):
        best = minimize_scalar(
            lambda y, v=v: 0.7 * loss(y, lam, 1.0) + 0.5 * (y - v) ** 2,
            bounds=(v - 1.0, v + 1.0), method="bounded", options={"xatol": 1e-12},
        ).x  # fmt: skip
        assert_allclose(prox(np.array([v]), 0.7, lam, 1.0), best, atol=1e-5)


def test_gs_admm_against_a_linear_programme(rng):
    n, d, epsilon, kappa = 30, 4, 0.1, 1.0
    Z = rng.normal(size=(n, d)) + 0.5
    # w, lam and the losses of the rows
    cost = np.concatenate([np.zeros(d), [epsilon], np.full(n, 1 / n)])
    ones = np.ones((n, 1))
    norm = np.hstack([np.vstack([np.eye(d), -np.eye(d)]), -np.ones((2 * d, 1))])
    A = np.vstack([
        np.hstack([-Z, 0 * ones, -np.eye(n)]), np.hstack([Z, -kappa * ones, -np.eye(n)]),
        np.hstack([norm, np.zeros((2 * d, n))]),
    ])  # fmt: skip
    b = np.concatenate([-np.ones(2 * n), np.zeros(2 * d)])
    bounds = [(None, None)] * d + [(0, None)] * (n + 1)
    optimum = linear_optimum(cost, A, b, bounds=bounds).fun
    found, _ = gs_admm(Z, epsilon, kappa)
    assert optimum - 1e-9 <= found <= optimum + 1e-3


def test_pegasos_decreases_the_objective(rng):
    X = rng.normal(size=(80, 5))
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=80) > 0, 1.0, -1.0)

    def value(w):
        return np.mean(np.maximum(1 - y * (X @ w), 0)) + 0.05 * w @ w

    first, *_, last = [value(w.copy()) for w in pegasos(csr_array(X), y, 0.1, 30, rng)]
    assert last < 0.7 * value(np.zeros(5)) and last <= first + 1e-3


def test_a_section_of_a_page():
    page = of_page("Table 2", Table(["data", "here"], [["a1a", 0.65109034], ["a9a", None]]), "It.")
    assert page.splitlines()[:2] == ["Table 2", "-------"]
    assert "   * - a1a\n     - 0.6511" in page and "   * - a9a\n     - \N{EN DASH}" in page
    assert list_table([("a", "b")]).endswith("   * - a\n     - b")


@pytest.mark.parametrize("name", PAPERS)
def test_papers_say_where_everything_is(name):
    module = importlib.import_module(f"benchmarks.papers.{name}")
    assert all(len(entry) == 2 and all(entry) for entry in module.CONTENTS)
    assert all(function.__doc__ for function in module.RESULTS.values())
    figures = [title.split(":")[0] for title in module.RESULTS if title.startswith("Figure")]
    named = " ".join(part for part, _ in module.CONTENTS)
    assert all(title.split()[1].rstrip(",") in named for title in figures)


def test_the_excessive_gap_condition_holds_and_bounds_the_gap(rng):
    """f_mu2(w) <= phi_mu1(u), so that the gap is at most the effects of both levels."""
    X, lam, sizes = rng.normal(size=(60, 8)), 0.05, np.array([2, 2, 1, 3])
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)
    saddle = Saddle(csr_array(X * y[:, None]), sizes, lam)
    model = PdproxSVC(lam, penalty=GroupL2(sizes), fit_intercept=False, tol=1e-9).fit(X, y)
    squares = 60 + np.sum(saddle.limits**2)
    for state in excessive_gap(saddle, 400):
        dual, w = state.best_dual(saddle, state.w), state.best_w(saddle, state.dual)

        def lagrangian(w, dual):
            (a, q), (slope, along) = dual, saddle.slope(np.zeros(8))
            return a @ slope + q @ along + w @ saddle.gradient(a, q)

        smoothed = lagrangian(state.w, dual) - state.mu_2 / 2 * sum(part @ part for part in dual)
        below = lagrangian(w, state.dual) + state.mu_1 / 2 * w @ w
        assert smoothed <= below + 1e-9
        effect = state.mu_1 / 2 * saddle.radius**2 + state.mu_2 / 2 * squares
        excess = saddle.objective(state.w) - model.certificate_.dual
        assert -1e-9 <= excess <= effect + 1e-9
    assert excess < 0.05

"""The benchmarks that repeat the papers: their baselines, and the pages that they write."""

import importlib
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from benchmarks.papers import PAPERS, Table, of_page, write_csv
from benchmarks.papers.admm import gs_admm
from benchmarks.papers.excessive_gap import Saddle, excessive_gap
from benchmarks.papers.pdprox_svm import pegasos
from benchmarks.papers.saddle_points import GroupNorms, RowMaxima, SaddlePoint
from benchmarks.papers.subgradients import METHODS, tuned
from skpd import MultiTaskPD, PdproxSVC
from skpd.losses import EpsilonInsensitive
from skpd.penalties import GroupL2
from tests.oracles.optima import linear_optimum


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


def test_a_section_of_a_page(tmp_path):
    table, link = Table(["data", "here"], [["a1a", 0.65109034], ["a9a", None]]), "tables/2.csv"
    page = of_page("Table 2", table, "It.", link)
    assert page.splitlines()[:2] == ["Table 2", "-------"] and f"<{link}>`" in page
    write_csv(tmp_path / link, table)
    assert (tmp_path / link).read_text().splitlines() == ["data,here", "a1a,0.6511", "a9a,"]


@pytest.mark.parametrize("name", PAPERS)
def test_papers_say_where_everything_is(name):
    module = importlib.import_module(f"benchmarks.papers.{name}")
    contents = re.split(r"^   \* - ", module.__doc__, flags=re.M)[2:]
    named = [entry.split("\n     - ") for entry in contents]
    assert named and all(len(entry) == 2 and all(entry) for entry in named)
    assert all(function.__doc__ for function in module.RESULTS.values())
    figures = [title.split(":")[0] for title in module.RESULTS if title.startswith("Figure")]
    parts = " ".join(part for part, _ in named)
    assert all(title.split()[1].rstrip(",") in parts for title in figures)


def test_slopes_of_saddle_points(rng):
    """Subgradients: P(u) >= P(w) + slope.(u - w) for the loss and for the norm."""
    Z, offsets = csr_array(rng.normal(size=(30, 12))), rng.normal(size=30)
    for norm in (GroupNorms([3, 4, 5]), RowMaxima(3, 4)):
        for lower, epsilon in ((0.0, 0.0), (-1.0, 0.3)):
            problem = SaddlePoint(Z, offsets, norm, 0.4, lower, epsilon)
            w, u = rng.normal(size=(2, 12))
            t = problem.errors(w)
            by_hand = np.mean(
                np.maximum(t, 0) if lower == 0 else np.maximum(np.abs(t) - epsilon, 0)
            )
            assert_allclose(problem.objective(w), by_hand + 0.4 * norm.value(w), rtol=1e-12)
            slope = problem.loss_slope(w) + problem.penalty_slope(w)
            assert problem.objective(u) >= problem.objective(w) + slope @ (u - w) - 1e-12
            at_level = problem.loss_slope(w, 1e-9)  # of the loss smoothed by very little
            assert_allclose(at_level, problem.loss_slope(w), atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_baselines_approach_the_optimum(method, rng):
    X, sizes = rng.normal(size=(60, 8)), [2, 2, 1, 3]
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)
    model = PdproxSVC(0.05, penalty=GroupL2(sizes), fit_intercept=False, tol=1e-9).fit(X, y)
    signed = csr_array(-X * y[:, None])
    problem = SaddlePoint(signed, np.ones(60), GroupNorms(sizes), 0.05, lower=0.0)
    objectives = tuned(problem, method, 1000, 100, range(-4, 8))
    assert -1e-9 <= objectives[-1] - model.certificate_.dual <= 5e-3


@pytest.mark.parametrize("factor", [1.0, 0.01])
def test_the_excessive_gap_condition_holds_and_bounds_the_gap(factor, rng):
    """f_mu2(w) <= phi_mu1(u), so that the gap is at most the effects of both levels."""
    X, lam, sizes = rng.normal(size=(60, 8)), 0.05, np.array([2, 2, 1, 3])
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=60) > 0, 1.0, -1.0)
    signed = csr_array(-X * y[:, None])
    problem = SaddlePoint(signed, np.ones(60), GroupNorms(sizes), lam, lower=0.0)
    model = PdproxSVC(lam, penalty=GroupL2(sizes), fit_intercept=False, tol=1e-9).fit(X, y)
    excesses = checked_excesses(problem, model.certificate_.dual, factor)
    assert excesses[-1] < 0.05


def test_the_excessive_gap_condition_with_tasks_and_an_epsilon(rng):
    X, W = rng.normal(size=(40, 3)), rng.normal(size=(3, 2))
    Y = X @ W + 0.1 * rng.normal(size=(40, 2))
    model = MultiTaskPD(0.1, loss=EpsilonInsensitive(0.2), penalty="l1inf", fit_intercept=False)
    optimum = model.set_params(tol=1e-9).fit(X, Y).certificate_.dual / 2  # means over all entries
    rows = csr_array(np.kron(X, np.eye(2)))  # coefficients of a feature side by side
    problem = SaddlePoint(rows, -Y.ravel(), RowMaxima(3, 2), 0.05, epsilon=0.2)
    assert checked_excesses(problem, optimum, 1.0)[-1] < 0.05


def checked_excesses(problem, optimum, factor):
    """The excesses of Pdexg, each between 0 and the bound by the levels of smoothing."""
    saddle, excesses = Saddle(problem), []
    for state in excessive_gap(saddle, 400, factor):
        dual, w = state.best_dual(saddle, state.w), state.best_w(saddle, state.dual)

        def lagrangian(w, dual):
            a, q = dual
            losses = a @ problem.offsets - problem.epsilon * np.sum(np.abs(a))
            return losses / saddle.n + w @ saddle.gradient(a, q)

        smoothed = lagrangian(state.w, dual) - state.mu_2 / 2 * sum(part @ part for part in dual)
        below = lagrangian(w, state.dual) + state.mu_1 / 2 * w @ w
        assert smoothed <= below + 1e-9
        effect = state.mu_1 / 2 * saddle.radius**2 + state.mu_2 / 2 * saddle.squares
        excesses.append(problem.objective(state.w) - optimum)
        assert -1e-9 <= excesses[-1] <= effect + 1e-9
    return excesses

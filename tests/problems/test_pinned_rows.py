"""Intervals of predictions near the optimum of hinge losses: they hold all of its vertices."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import scale

from skpd import PdproxSVC
from skpd.certificates.coefficients import implied_bounds_of
from skpd.certificates.dual_corrections import DualCorrections
from skpd.designs import Design
from skpd.losses import Hinge, Logistic
from skpd.penalties import L1
from skpd.problems import linear_problem
from skpd.problems.pinned_rows import intervals_of_pinned_rows
from skpd.solvers import solve


def programme(X, y, weights, alpha, fit_intercept):
    """The cost and the constraints of the hinge loss with the l1 norm in (w+, w-, b, losses)."""
    n, d = X.shape
    signed, free = y[:, None] * X, float(fit_intercept)
    cost = np.concatenate([np.full(2 * d, alpha), [0.0], weights])
    A = np.hstack([-signed, signed, -free * y[:, None], -np.eye(n)])
    return cost, A, [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n


@np.errstate(all="ignore")  # as in a solver
def intervals(problem, tol):
    solution = solve(problem, tol=tol, max_iter=1000, random_state=np.random.RandomState(0))
    gap = solution.certificate.gap + 1e-13
    model = solution.coef, float(solution.intercept)
    penalty = problem.penalty
    corrections = DualCorrections(
        problem, solution.certificate.primal, penalty.bounded_conjugate, True, 0.0
    )
    point = problem.feasible_point(solution.dual_coef)
    bound = corrections.best(point)
    implied = implied_bounds_of(problem, solution.certificate.primal - bound.value, bound)
    gap = max(gap, solution.certificate.primal - bound.value)
    return intervals_of_pinned_rows(problem, model, gap, bound.theta, implied.intervals)


@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-9])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("levels", [2, 3, 0])
@pytest.mark.parametrize("work", [0, 50])
def test_all_optima_are_within(work, levels, fit_intercept, tol, rng, monkeypatch):
    """With few levels of the features there are many optima; HiGHS looks for the furthest.

    Without work, rows are bounded by the products of |X| alone.
    """
    monkeypatch.setattr("skpd.problems.pinned_rows.LARGEST_WORK", work)
    monkeypatch.setattr("skpd.problems.pinned_rows.LARGEST_SHARE", 1.0)
    n_pinned = 0
    for _ in range(6):
        n, d = 24, 5
        X = rng.normal(size=(n, d)) if levels == 0 else rng.integers(0, levels, (n, d)) - 0.5
        y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=n) > 0.0, 1.0, -1.0)
        weights = rng.uniform(0.5, 2.0, n)
        weights[0] = 0.0
        weights /= np.sum(weights)
        problem = linear_problem(Design(X), y, weights, Hinge(), L1(), 0.02, fit_intercept)
        lower, upper, _ = intervals(problem, tol)
        cost, A, bounds = programme(X, y, weights, 0.02, fit_intercept)
        optimum = linprog(cost, A, -np.ones(n), bounds=bounds)
        # the optimal face, with room for the tolerance of HiGHS
        A, right = np.vstack([A, cost]), np.append(-np.ones(n), optimum.fun + 1e-11)
        for i in range(1, n, 6):
            prediction = np.concatenate([X[i], -X[i], [float(fit_intercept)], np.zeros(n)])
            ends = [
                sign * linprog(sign * prediction, A, right, bounds=bounds).fun
                for sign in (1.0, -1.0)
            ]
            assert lower[i] <= ends[0] + 1e-6 and ends[1] - 1e-6 <= upper[i]
        n_pinned += np.sum(upper - lower < 0.1)
    assert n_pinned > 0 or tol > 1e-5


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05])
@pytest.mark.parametrize("name", ["breast cancer", "digits 3 and 8"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_decisions_near_the_optimum(name, alpha, layout):
    """At most twice the rows whose prediction is nearly 0 may have another decision."""
    X, y = load_breast_cancer(return_X_y=True)
    if name != "breast cancer":
        X, y = load_digits(return_X_y=True)
        X, y = X[(y == 3) | (y == 8)], y[(y == 3) | (y == 8)]
    X = layout(scale(X))
    model = PdproxSVC(alpha=alpha, tol=1e-8).fit(X, y)
    assert model.duality_gap_ <= 4e-9
    n_near = np.sum(np.abs(model.decision_function(X)) < 1e-3)
    assert model.certificate_.decisions_that_may_differ <= 2 * n_near


def test_nothing_is_known_of_other_losses(rng):
    X, y = rng.normal(size=(20, 2)), rng.choice([-1.0, 1.0], 20)
    problem = linear_problem(Design(X), y, np.full(20, 0.05), Logistic(), L1(), 0.1)
    model = np.zeros(2), 0.0
    assert intervals_of_pinned_rows(problem, model, 0.1, np.zeros(20), lambda: None) is None

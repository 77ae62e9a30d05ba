"""Newton steps of small tables in one call, against SciPy's L-BFGS-B and against each other."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from skpd.designs import Design
from skpd.losses import Gamma, Logistic, NegativeBinomial, Poisson, Squared, SquaredHinge
from skpd.losses.shifted import with_offset
from skpd.penalties import L1, ElasticNet, Separable, SquaredL2
from skpd.problems import linear_problem
from skpd.solvers import solve
from skpd.solvers.newton.on_small_table import is_small_table

LOSSES = [Squared(), Logistic(), SquaredHinge(), Poisson(), Gamma(), NegativeBinomial(0.5)]
FREE = Separable(np.append(np.ones(6), [0.0, 0.0]), 0.0)  # without a penalty on two features
PENALTIES = [L1(), SquaredL2(), ElasticNet(0.3), Separable(0.7, 0.2, 0.0, 0.3), FREE]
LAYOUTS = [np.asfortranarray, np.ascontiguousarray, sp.csr_array, sp.csc_array]


def drawn(loss, rng, n=60, d=8):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    z = X @ np.append([1.0, -0.5], np.zeros(d - 2)) + 0.2
    if loss.of_labels:
        y = np.where(z + rng.normal(size=n) > 0.0, 1.0, -1.0)
    elif isinstance(loss, Squared):
        y = z + rng.normal(size=n)
    else:
        y = rng.poisson(np.exp(z)) + (1.0 if isinstance(loss, Gamma) else 0.0)
    weights = rng.random(n) * (rng.random(n) < 0.9)
    return X, y, weights / weights.sum()


def least(problem, X, fit_intercept):
    """The least objective value, over the positive and the negative parts of coefficients."""
    loss, y, c, d = problem.loss, problem.y, problem.weights, X.shape[1]
    l1, l2, lower, upper = (np.broadcast_to(term, d) for term in problem.penalty.terms)

    def value(v):
        w, b = v[:d] - v[d : 2 * d], v[-1]
        z = X @ w + b
        theta = c * loss.gradient(y, z)
        slope = X.T @ theta + problem.alpha * l2 * w
        objective = c @ loss.value(y, z) + problem.alpha * (l1 @ (v[:d] + v[d : 2 * d]))
        objective += problem.alpha * (l2 @ (w * w)) / 2.0
        part = problem.alpha * l1
        return objective, np.concatenate([slope + part, part - slope, [theta.sum()]])

    free = (None, None) if fit_intercept else (0.0, 0.0)
    bounds = [*((0.0, end) for end in np.append(upper, -lower)), free]
    options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000, "maxfun": 20000}
    return minimize(value, np.zeros(2 * d + 1), jac=True, bounds=bounds, options=options).fun


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_optimum(loss, penalty, fit_intercept, rng):
    X, y, weights = drawn(loss, rng)
    objectives = []
    for layout in LAYOUTS:
        problem = linear_problem(Design(layout(X)), y, weights, loss, penalty, 0.02, fit_intercept)
        assert is_small_table(problem)
        solution = solve(problem, tol=1e-8, max_iter=100, random_state=None)
        assert solution.converged and len(solution.history) == 2 and solution.n_iter <= 20
        certificate = solution.certificate
        assert certificate.dual <= least(problem, X, fit_intercept) * (1.0 + 1e-9)
        objectives.append(certificate.primal)
    assert_allclose(objectives, least(problem, X, fit_intercept), rtol=1e-7)


def test_what_it_does_not_take(rng):
    """Wide or large tables and offsets are left to the other steps."""
    X, y, _ = drawn(Squared(), rng)

    def taken(X, y, loss, penalty):
        n = len(X)
        return is_small_table(
            linear_problem(Design(X), y, np.full(n, 1.0 / n), loss, penalty, 0.1, True)
        )

    assert taken(X, y, Squared(), L1())
    assert not taken(X[:7], y[:7], Squared(), L1())
    assert not taken(np.tile(X, (250, 1)), np.tile(y, 250), Squared(), L1())
    labels, loss = with_offset(Logistic(), np.sign(y), np.ones(60))
    assert not taken(X, labels, loss, L1())


def test_a_start_that_is_optimal_takes_no_step(rng):
    X, y, weights = drawn(Logistic(), rng)
    problem = linear_problem(Design(X), y, weights, Logistic(), L1(), 0.02, True)
    first = solve(problem, tol=1e-9, max_iter=100, random_state=None)
    again = solve(problem, tol=1e-6, max_iter=100, random_state=None, start=first)
    assert again.converged and again.n_iter == 0

"""Dual coordinate descent: optimality by weak duality, in the formulas of the tests."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

import benchmarks.certificates as random
from skpd import PdproxSVC
from skpd.designs import Design
from skpd.losses import Hinge, Logistic, MarginLoss, Pinball, Squared
from skpd.penalties import ElasticNet, SquaredL2
from skpd.problems import Point, linear_problem
from skpd.solvers import SolverContext, solve
from skpd.solvers.coordinates.dual import dual_descent
from skpd.solvers.monitor import Monitor

COMPILED = [loss for loss in random.LOSSES if loss.is_compiled]


def data(rng, loss, n=60, d=12):
    X = np.round(rng.normal(size=(n, d)), 3) * (rng.random((n, d)) < 0.5)
    z = X @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
    return X, np.where(z > 0, 1.0, -1.0) if isinstance(loss, MarginLoss) else z + 2.0


def descend(problem, tol=1e-10, start=None, max_iter=100_000):
    """The best point of dual descent alone."""
    monitor = Monitor(problem, tol)
    monitor.begin()
    random_state = np.random.RandomState(3)
    dual_descent(SolverContext(problem, monitor, start, max_iter, random_state))
    return monitor


def gap(problem, X, point):
    """P(w, b) - D(theta) by definition, for theta with sum_i c_i theta_i = 0."""
    X = X.astype(float)
    c, y, loss, alpha = problem.weights, problem.y, problem.loss, problem.alpha
    z = X @ point.coef + point.intercept
    primal = c @ loss.value(y, z) + alpha / 2 * point.coef @ point.coef
    v = X.T @ (c * point.dual_coef)
    return primal + c @ loss.conjugate(y, point.dual_coef) + v @ v / (2 * alpha)


@pytest.mark.parametrize("alpha", [1.0, 1e-2])
@pytest.mark.parametrize("loss", COMPILED, ids=str)
def test_it_closes_the_gap(loss, alpha, rng):
    X, y = data(rng, loss)
    weights = rng.random(len(y))
    weights[:3] = 0.0
    problem = linear_problem(
        Design(X), y, weights / weights.sum(), loss, SquaredL2(), alpha, False
    )
    monitor = descend(problem, tol=1e-8)
    assert monitor.done
    assert -1e-12 <= gap(problem, X, monitor.best) <= 1e-8 * problem.null_objective


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", COMPILED, ids=str)
def test_elastic_net(loss, intercept, rng):
    """The gap by definition, with the conjugate of the elastic net and w its gradient."""
    X, y = data(rng, loss)
    weights = np.full(len(y), 1 / len(y))
    problem = linear_problem(Design(X), y, weights, loss, ElasticNet(0.2), 0.1, intercept)
    monitor = descend(problem, tol=1e-6)
    assert monitor.done
    best = monitor.best
    c, l1, l2 = problem.weights, 0.1 * 0.2, 0.1 * 0.8
    w, theta = best.coef, best.dual_coef
    primal = c @ loss.value(y, X @ w + best.intercept) + l1 * np.abs(w).sum() + l2 / 2 * w @ w
    excess = np.maximum(np.abs(X.T @ (c * theta)) - l1, 0.0)
    dual = -c @ loss.conjugate(y, theta) - excess @ excess / (2 * l2)
    assert np.count_nonzero(w) > 0
    if not intercept:
        assert -1e-12 <= primal - dual <= 1e-6 * problem.null_objective
    assert_allclose(monitor.primal, primal, rtol=1e-12)


@pytest.mark.parametrize("loss", COMPILED, ids=str)
def test_free_intercept(loss, rng):
    """The certified interval closes, and shifting regression targets shifts b alone."""
    X, y = data(rng, loss)
    weights = np.full(len(y), 1 / len(y))
    problem = linear_problem(Design(X), y, weights, loss, SquaredL2(), 0.05, True)
    monitor = descend(problem, tol=1e-8)
    assert monitor.done
    best = monitor.best
    assert abs(weights @ best.dual_coef) < 1e-6 * max(1.0, np.abs(best.dual_coef).max())
    if not isinstance(loss, MarginLoss):
        shifted = linear_problem(Design(X), y + 7.0, weights, loss, SquaredL2(), 0.05, True)
        other = descend(shifted, tol=1e-8)
        assert_allclose(other.primal, monitor.primal, rtol=1e-6)
        assert_allclose(other.best.coef, best.coef, atol=1e-3)


def test_same_as_scikit_learn(rng):
    X, y = data(rng, Hinge(), n=200)
    alpha, n = 0.02, 200
    theirs = LinearSVC(loss="hinge", C=1 / (alpha * n), fit_intercept=False, tol=1e-10,
                       max_iter=10**6, random_state=0).fit(X, y)  # fmt: skip
    ours = PdproxSVC(alpha, penalty="l2", fit_intercept=False, tol=1e-10).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    X, y = data(rng, Squared())
    weights = np.full(60, 1 / 60)
    problem = linear_problem(Design(X), y, weights, Squared(), SquaredL2(), alpha, False)
    ridge = Ridge(alpha=alpha * 60, fit_intercept=False, tol=1e-12).fit(X, y)
    assert_allclose(descend(problem, tol=1e-12).best.coef, ridge.coef_, atol=1e-5)


@pytest.mark.parametrize("loss", [Hinge(), Pinball(0.8), Logistic()], ids=str)
def test_awkward_rows(loss, rng):
    """Duplicates, opposites, rows of zeros and of weight zero, one feature in all."""
    X, y = data(rng, loss, n=40, d=5)
    X = np.vstack([X, X, -X, np.zeros((5, 5))])
    X[:, 1] = 0.0
    y = np.concatenate([y, y, y, y[:5]])
    weights = rng.random(len(y)) * (rng.random(len(y)) < 0.8)
    weights /= weights.sum()
    for intercept in (False, True):
        problem = linear_problem(Design(X), y, weights, loss, SquaredL2(), 1e-2, intercept)
        assert descend(problem, tol=1e-8).done
    problem = linear_problem(
        Design(np.zeros((len(y), 2))), y, weights, loss, SquaredL2(), 1e-2, False
    )
    monitor = descend(problem)
    assert monitor.done and not monitor.best.coef.any()


def test_it_pauses_and_goes_on(rng):
    """However often it is interrupted, rows that were left out come back."""
    X, y = data(rng, Hinge(), n=400, d=30)
    weights = np.full(400, 1 / 400)
    matrix, theta = Design(X).matrix, np.zeros(400)
    descent = matrix.dual_descent(Hinge().evaluator, y, weights, theta, 1e-3, 0.0, 0.0, 0.0, 1)
    epochs = 0
    for _ in range(100_000):
        ran, visits, found = descent.run(1e-9, 7, 1e12)
        assert ran <= 7 and visits <= 14 * 400
        epochs += ran
        if np.isfinite(found):
            break
    theta, w = descent.theta(), descent.variables()[:-1]
    problem = linear_problem(Design(X), y, weights, Hinge(), SquaredL2(), 1e-3, False)
    assert found <= 1e-9 and epochs > 7
    assert_allclose(w, -X.T @ theta / 400 / 1e-3, atol=1e-9)
    assert gap(problem, X, Point(w, 0.0, theta)) <= 2e-9


def test_small_alpha_is_left_to_newton_steps(rng):
    X, y = data(rng, Hinge(), n=300, d=20)
    weights = np.full(300, 1 / 300)
    problem = linear_problem(Design(X), y, weights, Hinge(), SquaredL2(), 1e-8, False)
    alone = descend(problem, tol=1e-6, max_iter=10**6)
    assert not alone.done
    found = solve(problem, tol=1e-6, max_iter=10**6, random_state=np.random.RandomState(0))
    assert found.converged


def test_columns_are_refused_by_the_kernel(rng):
    matrix = Design(np.asfortranarray(rng.normal(size=(4, 3)))).matrix
    ones = np.ones(4)
    with pytest.raises(ValueError, match="stored by rows"):
        matrix.dual_descent(Hinge().evaluator, ones, ones, ones, 1.0, 0.0, 0.0, 0.0, 1)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("alpha", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("mean", [0.0, 3.0])
def test_separable_data_take_few_rounds(loss, alpha, mean, rng):
    """The loss is nearly 0, so that the objective hardly depends on the intercept."""
    X = rng.normal(size=(300, 400))
    y = np.where(X[:, :5].sum(axis=1) + rng.normal(size=300) > 0.5, 1, -1)
    model = PdproxSVC(alpha, loss=loss, penalty="l2").fit(X + mean, y)
    assert model.converged_ and model.solver_ == "dual-descent" and model.n_iter_ <= 250

"""Accelerated gradients of every estimator that has them (Zhang, Saha and Vishwanathan, 2011).

Algorithms 1 and 2 are transcribed for composite objectives in general, with sigma = 1 and
Delta(x, y) = ||x - y||^2 / 2, and so are the losses, their smoothing by (57), the best intercepts
and the proxes. ``coef_`` after some gradients is the iterate, and ``dual_coef_`` the average (22).
"""

from itertools import islice

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import logsumexp

from skpd import (
    ChainCRF,
    GroupLassoPD,
    GroupLassoSVC,
    MultinomialPD,
    MultiTaskPD,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    QuantilePD,
)
from skpd.penalties import ElasticNetBall
from tests.oracles.chain_labelings import K, features, generated, labelings

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
TOL, N = 1e-3, 40


def estimate_functions(f, psi, prox, size, L, *, lam=0.0, adaptive=True):
    """The number of gradients, x_k and the average of the dual points, from x_0 = 0.

    ``f`` returns a value, the gradient and the dual point, and ``psi`` is lam strongly convex.
    """
    x = z = slopes = np.zeros(size)
    A, constant, dual, n_gradients = 0.0, 0.0, 0.0, int(adaptive)
    L = 1.05 * L if adaptive else L
    while True:
        L = L / (1.05 * 2.0) if adaptive else L
        while True:
            L = 2.0 * L if adaptive else L
            # (a + A)(lam A + 1) + a lam A = L a^2
            a = max(np.roots([-L, 2 * lam * A + 1, A * (lam * A + 1)]).real)
            after, t1, t3 = A + a, 1 + lam * A, lam * a * A / (A + a)
            t = t1 + t3
            u = (a * t1 * z + (t * A + t3 * a) * x) / (t * after)
            value, gradient, theta = f(u)
            n_gradients += 1
            new_slopes = slopes + a * gradient
            new_constant = constant + a * (value - gradient @ u)
            new_z = prox(-new_slopes, after)
            new = (A * x + a * new_z) / after
            least = new_constant + new_slopes @ new_z + new_z @ new_z / 2 + after * psi(new_z)
            if not adaptive or after * (f(new)[0] + psi(new)) <= least + 1e-12 * (1 + after):
                break
        dual = (A * dual + a * theta) / after
        A, slopes, constant, z, x = after, new_slopes, new_constant, new_z, new
        yield n_gradients, x, dual


def best_intercept(z, y, box, curvature):
    """min over b of max over theta in the box of theta (z + b - y) - curvature theta^2 / 2."""

    def theta(b):
        return np.clip((z + b - y) / curvature, *box)

    ends = np.max(np.abs(z - y)) + 1.0 + np.max(np.abs(curvature))
    return theta(brentq(lambda b: np.sum(theta(b)), -ends, ends, xtol=1e-15, rtol=1e-15))


def mean_loss(X, Y, box, curvature, fit_intercept):
    """f of the coefficients (row by row for several outputs) and the first L of the search."""
    n, d = X.shape
    targets = Y.reshape(n, -1)

    def f(w):
        Z = X @ w.reshape(d, -1)
        columns, columns_of_box = [], [end.reshape(n, -1).T for end in box]
        for z, y, low, high in zip(Z.T, targets.T, *columns_of_box, strict=True):
            if fit_intercept:
                columns.append(best_intercept(z, y, (low, high), curvature))
            else:
                columns.append(np.clip((z - y) / curvature, low, high))
        theta = np.stack(columns, axis=1)
        # with sum_i theta_i = 0 for each output the intercept has no part in the value
        value = np.sum(theta * (Z - targets) - curvature * theta**2 / 2) / n
        return value, np.ravel(X.T @ theta) / n, np.squeeze(theta)

    g = f(np.zeros(d * targets.shape[1]))[1]
    return f, np.sum((X @ g.reshape(d, -1)) ** 2) / n / curvature / (g @ g)


def compared(estimator, X, y, run, coef_of=lambda model: np.ravel(model.coef_)):
    for n_gradients, x, dual in list(islice(run, N))[:: N // 8]:
        model = estimator.set_params(max_iter=n_gradients).fit(X, y)
        assert model.n_iter_ == n_gradients and model.solver_ == "agm"
        assert_allclose(coef_of(model), x, rtol=1e-9, atol=1e-9)
        assert_allclose(np.squeeze(model.dual_coef_), dual, rtol=1e-9, atol=1e-9)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 9))
    scores = X[:, :3].sum(axis=1) + rng.normal(size=60)
    return X, np.where(scores > 0.4, 1.0, -1.0), scores + 2.0


def of_labels(y):
    """The box of the dual variables of the hinge losses, whose conjugates are y theta."""
    return np.minimum(-y, 0.0), np.maximum(-y, 0.0)


def soft(v, step):
    return np.sign(v) * np.maximum(np.abs(v) - step, 0.0)


def shrunk(v, step, size):
    """The prox of step times the sum of the norms of consecutive groups."""
    groups = v.reshape(-1, size)
    norms = np.linalg.norm(groups, axis=1, keepdims=True)
    return np.ravel(groups * np.maximum(1.0 - step / np.maximum(norms, 1e-300), 0.0))


def norms(w, size):
    return np.sum(np.linalg.norm(w.reshape(-1, size), axis=1))


def test_hinge_loss_with_a_squared_norm_and_an_intercept(data):
    X, y, _ = data
    lam, null = 0.05, 2.0 * np.mean(y > 0) if np.mean(y > 0) < 0.5 else 2.0 * np.mean(y < 0)
    mu = 0.5 * TOL * null / 0.5  # (57) for half the gap, with theta^2 / 2 at most D = 1/2
    f, L = mean_loss(X, y, of_labels(y), mu, True)
    run = estimate_functions(
        f, lambda w: lam / 2 * w @ w, lambda v, t: v / (1 + t * lam), 9, L, lam=lam
    )
    compared(PdproxSVC(lam, penalty="l2", solver="agm", tol=TOL), X, y, run)


def test_absolute_loss_with_the_l1_norm_and_an_intercept(data):
    X, _, y = data
    lam, box = 0.05, (np.full(60, -1.0), np.full(60, 1.0))
    mu = TOL * np.mean(np.abs(y - np.median(y)))
    f, L = mean_loss(X, y, box, mu, True)
    run = estimate_functions(
        f, lambda w: lam * np.sum(np.abs(w)), lambda v, t: soft(v, t * lam), 9, L
    )
    compared(PdproxRegressor(lam, solver="agm", tol=TOL), X, y, run)


def test_smooth_losses_with_groups(data):
    X, y, targets = data
    lam, root = 0.05, np.sqrt(3)
    unbounded = np.full(60, -np.inf), np.full(60, np.inf)
    hinge = GroupLassoSVC(lam, groups=3, loss="smoothed_hinge", fit_intercept=False)
    for model, goals, box, intercept in (
        (hinge, y, of_labels(y), False),
        (GroupLassoPD(lam, groups=3), targets, unbounded, True),
    ):
        f, L = mean_loss(X, goals, box, 1.0, intercept)
        run = estimate_functions(
            f, lambda w: lam * root * norms(w, 3), lambda v, t: shrunk(v, t * lam * root, 3), 9, L
        )
        compared(model.set_params(solver="agm", tol=1e-12), X, goals, run)


@pytest.mark.parametrize("one_X", [True, False], ids=["outputs", "tasks"])
def test_several_outputs_have_their_own_intercepts(one_X, data, rng):
    """Groups are rows of W, and the loss is the sum of those of the outputs."""
    X, _, y = data
    lam, lower, upper = 0.1, -np.ones((60, 2)), np.ones((60, 2))
    Y = np.stack([y, 3.0 - 2.0 * y + rng.normal(size=60)], axis=1)
    rows, task = np.arange(60), np.repeat([0, 1], 30)
    if one_X:
        given, targets = X, Y
        null = np.sum(np.mean(np.abs(Y - np.median(Y, axis=0)), axis=0))
        mu = 0.5 * TOL * null  # D = 1
    else:  # rows of the other task have no part
        given, targets = np.column_stack([X, task]), Y[rows, task]
        other = 1 - np.eye(2)[task]
        lower, upper = lower * (1 - other), upper * (1 - other)
        medians = np.array([np.median(targets[task == k]) for k in (0, 1)])
        null = np.mean(np.abs(targets - medians[task]))
        mu = TOL * null
    f, L = mean_loss(X, Y, (lower, upper), mu, True)
    if not one_X:  # the curvature of the rows of the other task does not count
        g = f(np.zeros(18))[1].reshape(9, 2)
        L = np.sum((X @ g)[rows, task] ** 2) / 60 / mu / np.sum(g**2)
    run = estimate_functions(
        f, lambda w: lam * norms(w, 2), lambda v, t: shrunk(v, t * lam, 2), 18, L
    )
    run = ((n, x, dual if one_X else dual[rows, task]) for n, x, dual in run)
    model = MultiTaskPD(lam, loss="absolute", solver="agm", tol=TOL, tasks=None if one_X else 9)
    compared(model, given, targets, run, lambda model: np.ravel(model.coef_.T))


def test_the_constrained_elastic_net(data):
    """Section 5.5.2: (69) with the root of the constraint, here by bisection."""
    X, _, y = data
    gamma, r = 0.5, 0.6

    def size(w):
        return gamma * np.sum(np.abs(w)) + w @ w / 2

    def projected(g, t):
        def at(lam):
            return soft(g, lam * gamma) / (1 + lam)

        if size(g) <= r:
            return g
        return at(brentq(lambda lam: size(at(lam)) - r, 0.0, 1e6, xtol=1e-15, rtol=1e-15))

    unbounded = np.full(60, -np.inf), np.full(60, np.inf)
    f, L = mean_loss(X, y, unbounded, 1.0, True)
    run = estimate_functions(f, lambda w: 0.0, projected, 9, L)
    # l1_ratio ||w||_1 + (1 - l1_ratio) ||w||^2 / 2 is this size over 1 + gamma
    ball = ElasticNetBall(radius=r / (1 + gamma), l1_ratio=gamma / (1 + gamma))
    model = PdproxRegressor(1.0, loss="squared", penalty=ball, solver="agm", tol=1e-12)
    compared(model, X, y, run)
    assert r * (1.0 - 1e-6) <= size(model.coef_) <= r * (1.0 + 1e-12)


@pytest.mark.parametrize("cost", [None, "hamming"])
def test_random_fields_with_costs_in_the_exponent(cost):
    """Algorithm 1 on (45), by all labelings of each chain."""
    X, y, _ = generated(7, lengths=np.array([2, 3, 1, 3]))
    y[0][0], y[0][1], y[1][0] = 0, 1, 2
    lam, size, chains, L = 0.05, 4 * K + K * K, [], 0.0
    for tokens, true in zip(X, y, strict=True):
        found, (f, c) = labelings(len(true)), features(true)
        rows = [
            np.append(np.ravel(tokens.T @ (other[0] - f)), np.ravel(other[1] - c))
            for other in map(features, found)
        ]
        hamming = np.array([np.sum(labels != true) for labels in found])
        chains.append((np.array(rows), hamming if cost else 0.0 * hamming))
        L += 2.0 * (np.sum(np.linalg.norm(tokens, axis=1)) + len(true) - 1) ** 2 / len(X)
        assert np.max(np.sum(chains[-1][0] ** 2, axis=1)) <= L * len(X)

    def objective(v):
        value, gradient = 0.0, np.zeros(size)
        for rows, costs in chains:
            exponents = costs + rows @ v
            value += logsumexp(exponents) / len(X)
            gradient += rows.T @ np.exp(exponents - logsumexp(exponents)) / len(X)
        return value, gradient, 0.0

    run = estimate_functions(
        objective, lambda w: lam / 2 * w @ w, lambda v, t: v / (1 + t * lam), size, L,
        lam=lam, adaptive=False,
    )  # fmt: skip
    options = {"adaptive": False}
    model = ChainCRF(lam, cost=cost, solver="agm", solver_options=options, tol=1e-12)
    for n_gradients, v, _ in list(islice(run, N))[:: N // 8]:
        fitted = model.set_params(max_iter=n_gradients).fit(X, y)
        found = np.append(np.ravel(fitted.coef_.T), np.ravel(fitted.transitions_))
        assert_allclose(found, v, rtol=1e-9, atol=1e-9)
        expected = objective(v)[0] + lam / 2 * v @ v
        assert fitted.certificate_.primal == pytest.approx(expected, rel=1e-12)


def test_models_without_bounded_or_single_slopes_are_refused(data):
    X, _, y = data
    Y, counts = np.stack([y, -y], axis=1), np.round(np.abs(y))
    for model, targets in (
        (MultiTaskPD(loss="l2_norm"), Y),
        (PoissonPD(), counts),
        (MultinomialPD(), counts % 3),
        (QuantilePD([0.2, 0.8]), y),
    ):
        with pytest.raises(ValueError, match="that is smooth or whose slopes are bounded, got"):
            model.set_params(solver="agm").fit(X, targets)

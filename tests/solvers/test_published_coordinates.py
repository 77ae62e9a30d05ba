"""Coordinate descent and APPROX on either side, against transcriptions with full vectors.

Dünner, Forte, Takáč and Jaggi (2016), Algorithm 1: a step minimises the objective along a random
coordinate. Fercoq and Richtárik (2015), Algorithm 1, of which the package has the form with fewer
operations, Algorithm 2.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet as TheirElasticNet

from skpd import ElasticNetPD, ElasticNetPDClassifier, PdproxRegressor, PdproxSVC
from skpd.designs import Design
from skpd.losses import Absolute, Hinge, Huber, Logistic, SmoothedHinge, Squared, SquaredHinge
from skpd.penalties import L1, ElasticNet, GroupL2, SquaredL2
from skpd.problems import linear_problem
from skpd.solvers import METHODS, check_solver_options, solve
from tests.oracles.draws import Draws
from tests.solvers.test_published import classes, last_iterate

EPOCHS = 12
TINY = 1e-300


def posed(X, y, loss, penalty, alpha, fit_intercept=False):
    weights = np.full(len(y), 1 / len(y))
    return linear_problem(Design(X), y, weights, loss, penalty, alpha, fit_intercept)


def soft(v, threshold):
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)


def root(f, low, high):
    """The root of an increasing function, or the end of the interval that is nearest to one."""
    if f(low) >= 0.0:
        return low
    if f(high) <= 0.0:
        return high
    return brentq(f, low, high, xtol=1e-16, rtol=1e-15, maxiter=500)


# phi*' and its domain, of u = y theta for margins and u = theta for residuals
DUAL = {
    "hinge": (Hinge(), lambda u: 1.0, (-1.0, 0.0)),
    "smoothed hinge": (SmoothedHinge(0.5), lambda u: 1.0 + 0.5 * u, (-1.0, 0.0)),
    "squared hinge": (SquaredHinge(), lambda u: 1.0 + u / 2, (-1e3, 0.0)),
    "logistic": (
        Logistic(), lambda u: np.log1p(u) - np.log(-u), (-1.0 + 2.0**-53, -TINY),
    ),
    "squared": (Squared(), lambda u: u, (-1e3, 1e3)),
    "huber": (Huber(0.5), lambda u: u, (-0.5, 0.5)),
    "absolute": (Absolute(), lambda u: 0.0, (-1.0, 1.0)),
}  # fmt: skip
MARGINS = {"hinge", "smoothed hinge", "squared hinge", "logistic"}


@pytest.mark.parametrize("l1_ratio", [0.0, 0.6])
@pytest.mark.parametrize("name", DUAL)
def test_algorithm_1_on_the_dual(name, l1_ratio, rng):
    """With (alpha R)* a sum of [|u| - alpha l1]_+^2 / (2 alpha l2), of which soft(u) / (alpha l2)
    is the gradient."""
    n, d, alpha = 14, 5, 0.1
    X, y = classes(rng, n, d)
    y = y if name in MARGINS else y + rng.normal(size=n)
    loss, slope, domain = DUAL[name]
    penalty = ElasticNet(l1_ratio) if l1_ratio else SquaredL2()

    def coef(theta):
        return soft(-X.T @ theta / n, alpha * l1_ratio) / (alpha * (1 - l1_ratio))

    theta, draw = np.zeros(n), Draws(0, n)
    for _ in range(EPOCHS * n):
        i = draw()
        sign = y[i] if name in MARGINS else 1.0

        def derivative(u, i=i, sign=sign):
            moved = theta.copy()
            moved[i] = sign * u
            target = 0.0 if name in MARGINS else y[i]
            return slope(u) + sign * (target - X[i] @ coef(moved))

        theta[i] = sign * root(derivative, *domain)
    options = {"variables": "dual", "average": False}
    found = last_iterate("cd", posed(X, y, loss, penalty, alpha), EPOCHS, **options)
    assert_allclose(found.dual_coef, theta, atol=1e-9)
    assert_allclose(found.coef, coef(theta), atol=1e-9)


SMOOTH = {
    "logistic": (Logistic(), lambda y, z: -y * expit(-y * z)),
    "squared hinge": (SquaredHinge(), lambda y, z: -2 * y * np.maximum(1 - y * z, 0)),
    "smoothed hinge": (SmoothedHinge(0.5), lambda y, z: -y * np.clip((1 - y * z) / 0.5, 0, 1)),
    "huber": (Huber(0.5), lambda y, z: np.clip(z - y, -0.5, 0.5)),
}


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("name", SMOOTH)
def test_algorithm_1_along_coefficients_of_other_losses(name, fit_intercept, rng):
    """The objective itself is minimised along a coefficient, and not a bound on it."""
    n, d, alpha, l1_ratio = 20, 4, 0.05, 0.7
    X, y = classes(rng, n, d)
    loss, derivative = SMOOTH[name]
    table = np.hstack([X, np.ones((n, 1))]) if fit_intercept else X
    problem = posed(X, y, loss, ElasticNet(l1_ratio), alpha, fit_intercept)
    l1 = alpha * l1_ratio * (np.arange(table.shape[1]) < d)
    l2 = alpha * (1 - l1_ratio) * (np.arange(table.shape[1]) < d)
    start = problem.null_point
    w, draw = np.append(start.coef, [start.intercept] * fit_intercept), Draws(0, len(l1))
    for _ in range(EPOCHS * len(w)):
        j = draw()
        rest = table @ w - table[:, j] * w[j]

        def slope(t, rest=rest, j=j):
            return np.mean(derivative(y, rest + t * table[:, j]) * table[:, j]) + l2[j] * t

        at_0 = slope(0.0)
        sign = -np.sign(at_0) if abs(at_0) > l1[j] else 0.0

        def right(s, sign=sign, slope=slope, j=j):
            return sign * slope(sign * s) + l1[j]

        w[j] = sign * root(right, 0.0, 1e3)
    found = last_iterate("cd", problem, EPOCHS, average=False)
    assert_allclose(found.coef, w[:d], atol=1e-9)
    assert_allclose(found.intercept, w[d] if fit_intercept else 0.0, atol=1e-9)


def drawn_set(draw, n, tau):
    """A random set of tau of n coordinates, by Floyd's method."""
    members = []
    for k in range(n - tau, n):
        draw.n = k + 1
        member = draw()
        members.append(k if member in members else member)
    return members


def approx_by_hand(A, gradient, prox, curvatures, tau, n_steps, draw):
    """Algorithm 1 of Fercoq and Richtárik from x = 0, with
    v_j = (1 + (omega - 1) (tau - 1) / max(1, n - 1)) L_j, where no row has more than omega of
    the n coordinates."""
    n = A.shape[1]
    omega = np.max(np.count_nonzero(A, axis=1))
    v = (1 + (omega - 1) * (tau - 1) / max(1, n - 1)) * curvatures
    x, theta = np.zeros(n), tau / n
    z = x.copy()
    for _ in range(n_steps):
        between = (1 - theta) * x + theta * z
        after, slopes = z.copy(), A.T @ gradient(A @ between)
        for j in drawn_set(draw, n, tau):
            step = tau / (n * theta * v[j])
            after[j] = prox(j, z[j] - step * slopes[j], step)
        x, z = between + n / tau * theta * (after - z), after
        theta = (np.sqrt(theta**4 + 4 * theta**2) - theta**2) / 2
    return x


@pytest.mark.parametrize("tau", [1, 3, 7])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", [Squared(), Logistic()], ids=str)
def test_approx_with_several_coefficients_in_a_step(loss, fit_intercept, tau, rng):
    n, d, alpha, epochs = 15, 7, 0.05, 6
    X, y = classes(rng, n, d)
    X *= rng.random((n, d)) < 0.4  # rows of fewer coordinates
    problem = posed(X, y, loss, L1(), alpha, fit_intercept)
    if isinstance(loss, Squared):
        shift = fit_intercept
        table, target = X - shift * X.mean(axis=0), y - shift * y.mean()

        def gradient(z):
            return (z - target) / n

        L = np.sum(table**2, axis=0) / n
    else:
        table = np.hstack([X, np.ones((n, 1))]) if fit_intercept else X
        start = problem.null_point.intercept

        def gradient(z):
            return -y * expit(-y * (z + start)) / n

        L = np.sum(table**2, axis=0) / (4 * n)

    def prox(j, v, step):
        return soft(v, step * alpha) if j < d else v

    n_steps = epochs * -(-table.shape[1] // tau)
    x = approx_by_hand(table, gradient, prox, L, tau, n_steps, Draws(0, 1))
    found = last_iterate("approx", problem, epochs, coordinates_per_step=tau)
    assert_allclose(found.coef, x[:d], atol=1e-9)


@pytest.mark.parametrize("tau", [1, 4, 15])
def test_approx_with_several_dual_variables_in_a_step(tau, rng):
    n, d, alpha, l1_ratio, epochs = 15, 8, 0.1, 0.3, 6
    X, y = classes(rng, n, d)
    X *= rng.random((n, d)) < 0.5
    l1, l2 = alpha * l1_ratio, alpha * (1 - l1_ratio)
    problem = posed(X, y, Hinge(), ElasticNet(l1_ratio), alpha)

    def prox(i, v, step):  # of c_i l*(v / c_i) = y v on y v in [-c_i, 0]
        return y[i] * np.clip(y[i] * v - step, -1 / n, 0.0)

    L = np.sum(X**2, axis=1) / l2
    n_steps = epochs * -(-n // tau)
    v = approx_by_hand(X.T, lambda u: soft(u, l1) / l2, prox, L, tau, n_steps, Draws(0, 1))
    found = last_iterate("approx", problem, epochs, coordinates_per_step=tau)
    assert_allclose(found.dual_coef, np.clip(n * v * y, -1, 0) * y, atol=1e-9)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("solver", ["cd", "approx"])
def test_dual_variables_of_the_elastic_net_equal_scikit_learn(solver, positive, rng):
    """A row of zeros and one of weight 0 take part as they should."""
    X = rng.normal(size=(30, 8))
    y, weights = X[:, 0] - X[:, 1] + rng.normal(size=30), rng.uniform(0.5, 2.0, 30)
    X[4], weights[9] = 0.0, 0.0
    options = {"l1_ratio": 0.5, "fit_intercept": False, "positive": positive}
    theirs = TheirElasticNet(0.2, tol=1e-14, max_iter=10**5, **options).fit(X, y, weights)
    ours = ElasticNetPD(
        0.2, solver=solver, solver_options={"variables": "dual"}, tol=1e-9, max_iter=10**4,
        random_state=0, **options,
    ).fit(X, y, sample_weight=weights)  # fmt: skip
    assert ours.converged_
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)


def test_a_row_of_zeros_of_the_svm(rng):
    X, y = classes(rng, 40, 5)
    X[7] = 0.0
    model = PdproxSVC(0.05, penalty="l2", solver="cd", fit_intercept=False, tol=1e-6)
    assert model.fit(X, y).converged_


def test_exact_steps_along_an_unpenalised_coefficient_that_has_no_optimum():
    """Separable classes: steps end where the loss is 0 to the accuracy of floats."""
    X, y = np.array([[1.0, 1.0], [1.0, -1.0]] * 5), np.array([1.0, -1.0] * 5)
    for loss in ("logistic", "squared_hinge"):
        model = ElasticNetPDClassifier(
            1e-3, loss=loss, l1_ratio=1.0, penalty_weights=[0.0, 1.0], solver="cd", max_iter=20
        )
        assert np.isfinite(model.fit(X, y).coef_).all()
    X[:, 0] = y
    model = ElasticNetPDClassifier(
        1e-3, loss="logistic", penalty_weights=[0.0, 1.0], solver="cd", max_iter=20, tol=0.1
    )
    with pytest.warns(ConvergenceWarning, match="no optimum"):
        assert np.isfinite(model.fit(X, y).coef_).all()


def test_what_is_refused(rng):
    X, y = classes(rng, 20, 4)
    arguments = {"tol": 1e-3, "max_iter": 10, "random_state": np.random.RandomState(0)}
    for solver in ("cd", "approx"):
        for problem, variables, message in (
            (posed(X, y, Hinge(), SquaredL2(), 0.1), "primal", "a smooth loss, got Hinge"),
            (posed(X, y, Squared(), L1(), 0.1), "dual", r"a squared l2 norm.* with L1\(\)"),
            (posed(X, y, Squared(), SquaredL2(), 0.1, True), "dual", ".*and fit_intercept=True"),
        ):
            named = f"variables='{variables}' of solver '{solver}' needs {message}"
            with pytest.raises(ValueError, match=named):
                solve(problem, solver, variables=variables, **arguments)
        with pytest.raises(ValueError, match="single coefficients"):
            solve(posed(X, y, Hinge(), GroupL2([2, 2]), 0.1), solver, **arguments)
        with pytest.raises(ValueError, match="must be one of 'auto', 'primal', 'dual', got 'x'"):
            check_solver_options(METHODS[solver], {"variables": "x"})
    for tau in (0, 1.5, True):
        with pytest.raises(ValueError, match="coordinates_per_step"):
            check_solver_options(METHODS["approx"], {"coordinates_per_step": tau})
    model = PdproxRegressor(
        0.1, loss="squared", solver="approx", solver_options={"coordinates_per_step": 5}
    )
    with pytest.raises(ValueError, match="at most the number of coordinates, 4, got 5"):
        model.fit(X, y)

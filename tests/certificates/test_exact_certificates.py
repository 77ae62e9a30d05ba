"""Certificates against rational arithmetic, at kinks and where digits cancel or vanish."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks import certificates as random
from skpd.certificates import certify_point, dual_bound, primal_objective
from skpd.certificates.rigorous import rigorous_primal
from skpd.designs import Design
from skpd.losses import (
    Absolute,
    EpsilonInsensitive,
    Huber,
    MarginLoss,
    Pinball,
    SmoothedHinge,
    Squared,
    SquaredEpsilonInsensitive,
)
from skpd.penalties import L1, ElasticNet, L1Ball, L2Norm, SparseGroup, SquaredL2
from skpd.problems import linear_problem
from skpd.solvers import solve
from tests.oracles.exact_objectives import PHI, phi


def exact_lasso_dual(X, y, theta, alpha, radius):
    """The lipschitz bound of the lasso in rational arithmetic."""
    n, d = X.shape
    c = Fraction(1, n)
    theta = [Fraction(t) for t in theta]
    value = -sum(c * (t * t / 2 + t * Fraction(v)) for t, v in zip(theta, y, strict=True))
    u = [abs(sum(c * t * Fraction(X[i, j]) for i, t in enumerate(theta))) for j in range(d)]
    return value - Fraction(radius) * max(max(u) - Fraction(alpha), 0)


@pytest.mark.parametrize("largest", [0.0, 2.0], ids=["another column", "the cancelling one"])
@pytest.mark.parametrize("column_scale", [1.0, 1e8])
def test_lower_bound_survives_rounding(column_scale, largest, rng):
    """Against rational arithmetic, with a column whose product cancels to its last digits."""
    for _ in range(10):
        n, d = 16, 3
        X = rng.normal(size=(n, d)) * np.array([1.0, 1.0, column_scale])
        y = rng.normal(size=n)
        theta = 0.1 * rng.normal(size=n) - 0.5 * y
        X[:, 2] += theta * (n * largest - X[:, 2] @ theta) / (theta @ theta)
        products = [abs(float(np.dot(list(map(Fraction, x)), list(map(Fraction, theta))))) / n
                    for x in X.T]  # fmt: skip
        assert np.argmax(products) == 2 or largest == 0.0
        alpha = max(products) / 1.001  # theta is a little outside of the dual ball
        problem = linear_problem(
            Design(X), y, np.full(n, 1 / 16), Squared(), L1(), alpha, fit_intercept=False
        )
        bound = dual_bound(problem, theta, np.inf, scaling=False)
        assert bound.kind == "lipschitz" and bound.value > 0.3 * problem.null_objective
        assert Fraction(bound.radius) * Fraction(alpha) >= sum(Fraction(t) ** 2 for t in y) / 32
        exact = exact_lasso_dual(X, y, theta, alpha, bound.radius)
        assert Fraction(bound.value) <= exact
        allowed = 1e-11 * problem.null_objective
        if largest > 0.0:  # n EPSILON |x_3|'|theta| / n for the rounding of its product
            allowed += bound.radius * np.finfo(float).eps * (np.abs(X[:, 2]) @ np.abs(theta))
        assert float(exact - Fraction(bound.value)) <= allowed


def exact_objective(problem, X, coef, intercept=0):
    """P(w, b) in rational arithmetic, for a loss of `PHI` and an l1 penalty."""
    w = [Fraction(v) for v in coef]
    value = Fraction(problem.alpha) * sum(abs(v) for v in w)
    for row, target, c in zip(X, problem.y, problem.weights, strict=True):
        z = sum(Fraction(x) * v for x, v in zip(row, w, strict=True)) + Fraction(intercept)
        t = int(target) * z if isinstance(problem.loss, MarginLoss) else z - Fraction(target)
        value += Fraction(c) * phi(problem.loss, t)
    return value


def at_a_kink(rng, loss):
    """A problem with an l1 penalty and a model that leaves next to nothing of 1 - m or |r| - e."""
    n, d, scale = 3, 2, 10.0 ** rng.choice([-50, -8, 0, 8, 50])
    X, w = scale * rng.normal(size=(n, d)), rng.normal(size=d) / scale
    b = float(rng.choice([0.0, 1.0, 10.0, 1e-17 * rng.normal()]))
    X[rng.random(n) < 0.3] = 0.0
    z = X @ w + b
    if isinstance(loss, MarginLoss):
        y = rng.choice([-1.0, 1.0], n)
        rows = (z != b) & (rng.random(n) < 0.7)
        X[rows] *= ((y - b)[rows] / (z - b)[rows])[:, np.newaxis]
    else:
        near = rng.choice([1.0, 1 + 1e-16, 1 - 1e-16, 1 + 1e-8, 0.5], n)
        y = z + rng.choice([-1.0, 1.0], n) * getattr(loss, "epsilon", 1.0) * near
        y[rng.random(n) < 0.2] *= 1e-17
    weights = rng.random(n) + 0.05
    problem = linear_problem(
        Design(X), y, weights / weights.sum(), loss, L1(), 10.0 ** rng.uniform(-12, 0), b != 0.0
    )
    return problem, X, w, b


@pytest.mark.parametrize(
    "loss",
    [
        *(loss for loss in random.LOSSES if type(loss).__name__ in PHI.keys() - {"Logistic"}),
        EpsilonInsensitive(10.0), EpsilonInsensitive(1e-8), SquaredEpsilonInsensitive(1e3),
        SmoothedHinge(mu=1e-8), Huber(delta=1e8), Pinball(quantile=1 - 1e-9),
    ],
    ids=str,
)  # fmt: skip
def test_objectives_are_rounded_up(loss):
    """Against rational arithmetic, at models and null models near the kinks of the loss."""
    rng = np.random.default_rng(8)
    for _ in range(100):
        problem, X, w, b = at_a_kink(rng, loss)
        null = problem.null_point.intercept
        for coef, intercept in ((w, b), (np.zeros(2), null)):
            exact = exact_objective(problem, X, coef, intercept)
            assert Fraction(primal_objective(problem, coef, intercept)) >= exact
            assert Fraction(rigorous_primal(problem, coef, intercept)[0]) >= exact
        certificate, _ = certify_point(problem, w, b, problem.loss.gradient(problem.y, X @ w + b))
        assert Fraction(certificate.dual) <= exact_objective(problem, X, w, b)


def test_a_residual_that_rounds_to_the_tube():
    """20 is 10 from b = 10 and -1e-17 more than that, which z - y does not show."""
    problem = linear_problem(
        Design(np.zeros((2, 1))), np.array([-1e-17, 20.0]), np.full(2, 0.5),
        EpsilonInsensitive(10.0), L1(), 1.0,
    )  # fmt: skip
    assert primal_objective(problem, np.zeros(1), 10.0) >= 0.5e-17
    assert problem.null_objective >= 0.5e-17 * (1 - 1e-14)
    inside = linear_problem(
        Design(np.zeros((2, 1))), np.array([0.0, 20.0]), np.full(2, 0.5),
        EpsilonInsensitive(10.0), L1(), 1.0,
    )  # fmt: skip
    assert primal_objective(inside, np.zeros(1), 10.0) == 0.0


def test_sums_that_defeat_twice_the_working_precision():
    """Terms 2^130 apart, whose products cancel beyond 106 bits: the bound falls, not the truth."""
    a, t = (1 + 2.0**-30 + 2**-52) * 2.0**130, 0.5 + 2**-29 + 2**-53
    X = np.array([[a, -a], [1024, 0], [a, -a], [0, 0]])
    y, weights = np.array([0, 1.0, 0, 0]), np.full(4, 0.25)
    for layout in (np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array):
        problem = linear_problem(Design(layout(X)), y, weights, Absolute(), L1(), 1.0, False)
        certificate, _ = certify_point(problem, np.zeros(2), 0.0, np.array([t, -1, -t, 0]))
        best = exact_objective(problem, X, [1 / 1024, 1 / 1024])
        assert Fraction(certificate.dual) <= best
    # the same in the slope of a free intercept
    y, weights = np.array([0, 2.0**120, 0]), np.array([1 / 3, 2.0**-120, 1 / 3])
    X = np.array([[1.0], [0.0], [1.0]])
    problem = linear_problem(Design(X), y, weights, Absolute(), L1(), 2.0**-140, True)
    certificate, _ = certify_point(problem, np.zeros(1), 0.0, np.array([0.7, -1, -0.7]))
    assert Fraction(certificate.dual) <= exact_objective(problem, X, [-(2.0**120)], 2.0**120)
    # and in the predictions: the primal value is rounded up
    X = np.array([[2.0**120, 1.0, -(2.0**120)], [0.0, 1.0, 0.0], [2.0**120, 0.0, -(2.0**120)]])
    w, y = np.array([1 / 3, 1.0, 1 / 3]), np.array([0.0, 1.0, 0.0])
    problem = linear_problem(Design(X), y, np.full(3, 1 / 3), Absolute(), L1(), 1e-6, False)
    assert Fraction(primal_objective(problem, w, 0.0)) >= exact_objective(problem, X, w)


def test_products_near_overflow():
    X = np.array([[1e301, -1e301], [1e284, 0], [1e301, -1e301], [0, 0]])
    y = np.array([0, 1.0, 0, 0])
    problem = linear_problem(Design(X), y, np.full(4, 0.25), Absolute(), L1(), 1.0, False)
    certificate, _ = certify_point(problem, np.zeros(2), 0.0, np.array([0.5, -1, -0.5, 0]))
    assert Fraction(certificate.dual) <= exact_objective(problem, X, [1e-284, 1e-284])


@pytest.mark.parametrize("theta", [-6e-309, -1e-306, -1e-180, -1e-20])
@pytest.mark.parametrize("x, alpha", [(1e-7, 2e-8), (1e-150, 1e-155)])
def test_dual_points_near_underflow(theta, x, alpha):
    x = x * 1.2345
    problem = linear_problem(
        Design(np.array([[x]])), np.ones(1), np.ones(1), Absolute(), L1(), alpha, False
    )
    certificate, _ = certify_point(problem, np.zeros(1), 0.0, np.array([theta]))
    assert Fraction(certificate.dual) <= exact_objective(problem, [[x]], [1 / x])


@pytest.mark.parametrize("l1_ratio", [0.5, 0.999, 1 - 1e-7])
@pytest.mark.parametrize("weight", [1e-7, 1.0, 1e200])
@pytest.mark.parametrize("k", [1, 10, 11, 1000])
def test_sparse_group_dual_norm_is_not_below(l1_ratio, weight, k):
    """Of k equal entries x: k x over the norm of (1, ..., 1), by symmetry."""
    penalty = SparseGroup(groups=k, weights=[weight], l1_ratio=l1_ratio).for_n_features(k)
    for x in (0.3, 1e-170, 1e170):
        l1, l2 = Fraction(l1_ratio), Fraction(weight)
        root = Fraction(np.sqrt(k)) * (1 + Fraction(2) ** -52)  # from above
        exact = k * Fraction(x) / (l1 * k + (1 - l1) * l2 * root)
        found = penalty.dual_norm(np.full(k, x))
        assert Fraction(found) >= exact * (1 - Fraction(1, 10**15))
        if exact > Fraction(1e-300):
            assert float(Fraction(found) / exact) <= 1 + 1e-7


def test_squares_that_underflow():
    for penalty in (SquaredL2(), ElasticNet(l1_ratio=0.5)):
        x, y, alpha = 1e-153, 1e-12, 1e-306
        problem = linear_problem(
            Design(np.array([[x]])), np.array([y]), np.ones(1), Squared(), penalty, alpha, False
        )
        certificate, _ = certify_point(problem, np.zeros(1), 0.0, np.array([-y]))
        w = Fraction(y) * Fraction(x) / (Fraction(x) ** 2 + Fraction(alpha))
        value = (Fraction(x) * w - Fraction(y)) ** 2 / 2 + Fraction(alpha) * w**2 / 2
        if isinstance(penalty, ElasticNet):
            value += Fraction(alpha) * w
        assert Fraction(certificate.dual) <= value


def test_long_dual_norms_are_not_rounded_down():
    """100,000 features: ||v||_2 by a sum in order would miss its last digits."""
    d = 100_000
    X = np.full((1, d), 0.1)
    for penalty in (L2Norm(), SquaredL2(), SparseGroup(groups=d, l1_ratio=0.5)):
        problem = linear_problem(
            Design(X), np.ones(1), np.ones(1), Squared(), penalty, 0.01, False
        )
        certificate, _ = certify_point(problem, np.zeros(d), 0.0, -np.ones(1) / 2)
        for t in np.linspace(0, 2 / (0.1 * d), 2001):  # w = t (1, ..., 1) is optimal for some t
            coef = np.full(d, t)
            value = (0.1 * t * d - 1) ** 2 / 2 + 0.01 * problem.penalty.value(coef)
            assert certificate.dual <= value * (1 + 1e-13)


def test_coefficients_outside_of_a_ball_are_moved_inside():
    problem = linear_problem(
        Design(np.ones((1, 1))),
        np.array([1 + 1e-12]),
        np.ones(1),
        Absolute(),
        L1Ball(radius=1.0),
        1.0,
        False,
    )
    assert primal_objective(problem, np.array([1 + 9e-13]), 0.0) == np.inf
    found = solve(problem, tol=1e-3, max_iter=1000, random_state=np.random.RandomState(0))
    assert np.abs(found.coef).sum() <= 1.0
    assert found.certificate.primal >= 1e-12 * (1 - 1e-3)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e8, 1e150):
        for _ in range(20):
            w = problem.penalty.prox(scale * rng.normal(size=50), 1.0)
            assert problem.penalty.value(w) == 0.0

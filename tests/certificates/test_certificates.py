"""The promise: no certificate above the optimum, whatever the points and the data."""

import re
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Lasso

from benchmarks import certificates as random
from skpd import Certificate, RigorousCertificate
from skpd.certificates import certify_point, dual_bound, primal_objective
from skpd.certificates.rigorous import rigorous_primal
from skpd.designs import Design
from skpd.losses import (
    Absolute,
    EpsilonInsensitive,
    GeneralizedHinge,
    Hinge,
    Huber,
    MarginLoss,
    ModifiedHuber,
    Pinball,
    SmoothedHinge,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from skpd.penalties import L1, ElasticNet, GroupL2, L1Ball, L2Norm, SparseGroup, SquaredL2
from skpd.problems import linear_problem
from skpd.solvers import solve
from tests.oracles.reference import linear_programme
from tests.pairs import every_fourth_pair

PAIRS = every_fourth_pair(random.POLYHEDRAL_LOSSES, random.POLYHEDRAL_PENALTIES)
PENALTIES = [*random.PENALTIES, *random.FUNCTIONS_OF_NORMS]
PAIRS_OF_ALL = every_fourth_pair(random.LOSSES, PENALTIES)


@pytest.mark.parametrize("loss, penalty", PAIRS, ids=str)
def test_against_linear_programmes(loss, penalty):
    """6 problems for each pair: below HiGHS's optimum, and tight after a fit."""
    rng = np.random.default_rng(1)
    for _ in range(6):
        problem, X = random.random_problem(rng, loss, penalty, mild=True)
        above, gap = random.excess(rng, problem, X)
        assert above <= 1e-9
        assert gap <= 1e-3


@pytest.mark.parametrize("loss, penalty", PAIRS_OF_ALL, ids=str)
def test_weak_duality_against_arbitrary_points(loss, penalty):
    """Every lower bound is below the objective of every point, also at extreme scales."""
    rng = np.random.default_rng(2)
    for _ in range(2):
        problem, _ = random.random_problem(rng, loss, penalty)
        certificates, primals = [], [problem.null_objective]
        for coef, intercept, theta in random.random_points(rng, problem):
            certificate, repaired = certify_point(problem, coef, intercept, theta)
            assert certificate.dual <= certificate.primal
            assert certificate.kind in ("exact", "scaling", "lipschitz")
            assert np.isfinite(certificate.dual) and np.isfinite(repaired).all()
            lower, upper = problem.loss.dual_bounds(problem.y)
            assert ((lower <= repaired) & (repaired <= upper)).all()
            certificates.append(certificate.dual)
            primals.append(primal_objective(problem, coef, intercept))
        # 1e-13: the rounding error of the objective itself
        assert max(certificates) <= min(primals) * (1 + 1e-13)


@pytest.mark.parametrize("loss, penalty", PAIRS_OF_ALL, ids=str)
def test_bounds_to_an_accuracy(loss, penalty):
    """Below every objective, and as good as the best bound unless they are good enough."""
    rng = np.random.default_rng(3)
    for share in (1e-9, 1e-3):
        problem, _ = random.random_problem(rng, loss, penalty, mild=True)
        accuracy = share * problem.null_objective
        points = list(random.random_points(rng, problem))
        primals = [primal_objective(problem, *point[:2]) for point in points]
        upper = min(*primals, problem.null_objective)
        for _, _, theta in points:
            found = dual_bound(problem, theta, upper, accuracy).value
            best = dual_bound(problem, theta, upper).value
            assert found <= upper * (1 + 1e-13)
            assert found >= min(best - accuracy, upper - 10.0 * accuracy - 1e-12 * upper)


def test_a_balanced_dual_point_costs_one_product(rng):
    """Its sum being 0 but for rounding, it is not projected to be moved by a rounding error."""
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    problem = linear_problem(Design(X), y, np.full(50, 0.02), Squared(), L1(), alpha=0.1)
    solution = solve(problem, tol=1e-9, max_iter=50, random_state=np.random.RandomState(0))
    theta = X @ solution.coef + solution.intercept - y
    theta -= np.mean(theta)
    problem = problem.in_workspace()
    products, asked = problem.products, []

    def counted(point, *options):
        asked.append(point)
        return products(point, *options)

    problem.workspace.products = counted
    accuracy = 1e-6 * problem.null_objective
    bound = dual_bound(problem, theta, solution.certificate.primal, accuracy)
    assert solution.certificate.primal - bound.value <= accuracy
    assert len(asked) == 1 and np.array_equal(asked[0], theta)
    assert np.array_equal(bound.theta, theta)


def test_nothing_kept_reaches_another_problem(rng):
    """Products and predictions belong to one X and one set of weights, whatever is replaced."""
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    c = np.full(30, 1 / 30)
    first = linear_problem(Design(X), y, c, Squared(), L1(), 0.1).in_workspace()
    w, theta = rng.normal(size=4), rng.normal(size=30)
    for problem in (
        first,
        first.of_rows(replace(first.rows, design=Design(2.0 * X))),
        first.of_rows(replace(first.rows, weights=rng.dirichlet(np.ones(30)))),
        first.with_penalty(SquaredL2(), 0.5),
        first.with_alpha(0.3),
    ):
        data, weights = problem.design.matvec(np.eye(4)[0]) / X[:, 0], problem.weights
        assert_allclose(problem.predictions(w, 0.5)[0], data * (X @ w) + 0.5)
        assert_allclose(problem.products(theta)[0], X.T @ (data * weights * theta))
        alone = replace(problem, workspace=None)
        upper = primal_objective(problem, w, 0.5)
        assert upper == primal_objective(alone, w, 0.5)
        assert dual_bound(problem, theta, upper).value == dual_bound(alone, theta, upper).value
    with pytest.raises(FrozenInstanceError):
        first.alpha = 1.0


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-150, 1e-8, 1.0, 1e8, 1e150]))
def test_any_finite_input_has_a_finite_certificate(seed, scale):
    rng = np.random.default_rng(seed)
    loss = random.LOSSES[rng.integers(len(random.LOSSES))]
    penalty = PENALTIES[rng.integers(len(PENALTIES))]
    problem, _ = random.random_problem(rng, loss, penalty)
    n, d = problem.design.shape
    theta = rng.normal(size=n) * scale
    theta[0] = rng.choice([np.nan, np.inf, 0.0])
    with np.errstate(over="ignore", invalid="ignore"):
        certificate, _ = certify_point(problem, rng.normal(size=d) * scale, 0.0, theta)
    assert 0.0 <= certificate.dual <= problem.null_objective * (1 + 1e-13)
    assert certificate.gap >= 0.0


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


def slack(t):
    return max(1 - t, Fraction(0))


def tube(loss, t):
    return max(abs(t) - Fraction(loss.epsilon), Fraction(0))


EXACT = {  # phi in rational arithmetic
    Hinge: lambda loss, t: slack(t),
    GeneralizedHinge: lambda loss, t: max(1 - Fraction(loss.slope) * t, slack(t)),
    SmoothedHinge: lambda loss, t: (
        slack(t) ** 2 / (2 * Fraction(loss.mu))
        if slack(t) < loss.mu
        else slack(t) - Fraction(loss.mu) / 2
    ),
    SquaredHinge: lambda loss, t: slack(t) ** 2,
    ModifiedHuber: lambda loss, t: slack(t) ** 2 if t >= -1 else -4 * t,
    Squared: lambda loss, t: t * t / 2,
    Absolute: lambda loss, t: abs(t),
    EpsilonInsensitive: tube,
    SquaredEpsilonInsensitive: lambda loss, t: tube(loss, t) ** 2,
    Pinball: lambda loss, t: max((1 - Fraction(loss.quantile)) * t, -Fraction(loss.quantile) * t),
    Huber: lambda loss, t: (
        t * t / 2
        if abs(t) <= loss.delta
        else Fraction(loss.delta) * (abs(t) - Fraction(loss.delta) / 2)
    ),
}


def exact_objective(problem, X, coef, intercept=0):
    """P(w, b) in rational arithmetic, for a loss of `EXACT` and an l1 penalty."""
    w = [Fraction(v) for v in coef]
    value = Fraction(problem.alpha) * sum(abs(v) for v in w)
    for row, target, c in zip(X, problem.y, problem.weights, strict=True):
        z = sum(Fraction(x) * v for x, v in zip(row, w, strict=True)) + Fraction(intercept)
        t = int(target) * z if isinstance(problem.loss, MarginLoss) else z - Fraction(target)
        value += Fraction(c) * EXACT[type(problem.loss)](problem.loss, t)
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
        *(loss for loss in random.LOSSES if type(loss) in EXACT),
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


def test_groups_of_very_different_scales():
    penalty = GroupL2(groups=1, weights=[1e-3, 1e200]).for_n_features(2)
    assert_allclose(penalty.value(np.array([1.0, 1e-200])), 1.001)
    penalty = GroupL2(groups=1, weights=[1.0, 1e-200]).for_n_features(2)
    assert_allclose(penalty.dual_norm(np.array([1.0, 1e-199])), 10.0)


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


@pytest.mark.parametrize("scale", [1e-13, 1e-6, 1.0, 1e9])
def test_the_allowance_for_rounding_has_the_unit_of_the_objective(scale, rng):
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    weights = np.full(50, 1 / 50)
    for loss, alpha in ((Absolute(), 0.1), (Squared(), 0.1 * scale)):
        problem = linear_problem(Design(X), y * scale, weights, loss, L1(), alpha, False)
        unscaled = linear_problem(Design(X), y, weights, loss, L1(), 0.1, False)
        found = solve(unscaled, tol=1e-9, max_iter=20_000, random_state=np.random.RandomState(0))
        theta = found.dual_coef * (scale if isinstance(loss, Squared) else 1.0)
        certificate, _ = certify_point(problem, found.coef * scale, 0.0, theta)
        assert certificate.relative_gap <= 2e-9


def test_lasso_gap_of_dunner_et_al(rng):
    """The lipschitz gap is B [||X'theta|| - alpha]_+ beside the Fenchel terms of the loss."""
    n, d, alpha = 20, 5, 0.1
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    w = 0.9 * Lasso(alpha, fit_intercept=False, tol=1e-10).fit(X, y).coef_
    problem = linear_problem(Design(X), y, np.full(n, 1 / n), Squared(), L1(), alpha, False)
    theta = X @ w - y
    certificate, _ = certify_point(problem, w, 0.0, theta, scaling=False)
    primal = np.mean(theta**2) / 2 + alpha * np.abs(w).sum()
    radius = min(primal, np.mean(y**2) / 2) / alpha
    u = X.T @ theta / n
    gap = alpha * np.abs(w).sum() + w @ u + radius * max(np.abs(u).max() - alpha, 0)
    assert_allclose(certificate.primal, primal)
    assert_allclose(certificate.radius, radius)
    assert np.abs(u).max() > alpha and certificate.kind == "lipschitz"
    assert_allclose(certificate.gap, gap)
    assert certify_point(problem, w, 0.0, theta)[0].gap <= gap * (1 + 1e-12)


def test_ridge_gap_is_the_ordinary_one(rng):
    n, d, alpha = 20, 5, 0.1
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    problem = linear_problem(Design(X), y, np.full(n, 1 / n), Squared(), SquaredL2(), alpha, False)
    best = np.linalg.solve(X.T @ X / n + alpha * np.eye(d), X.T @ y / n)
    w = best + 0.1 * rng.normal(size=d)
    theta = X @ w - y
    certificate, _ = certify_point(problem, w, 0.0, theta)
    u = X.T @ theta / n
    dual = -np.mean(theta**2 / 2 + theta * y) - u @ u / (2 * alpha)
    assert certificate.kind == "exact"
    assert_allclose(certificate.dual, dual, rtol=1e-12)
    exact, _ = certify_point(problem, best, 0.0, X @ best - y)
    assert exact.relative_gap <= 1e-13


def test_elastic_net_takes_the_better_of_two_bounds(rng):
    n, d = 20, 5
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    largest = np.abs(X.T @ y).max() / n
    alpha, theta = 0.3 * largest, -0.3 * 1.05 * y  # 5 % outside of the lasso's dual ball
    kinds = {}
    for l1_ratio in (0.01, 1 - 1e-9):
        penalty = ElasticNet(l1_ratio=l1_ratio)
        problem = linear_problem(Design(X), y, np.full(n, 1 / n), Squared(), penalty, alpha, False)
        kinds[l1_ratio] = dual_bound(problem, theta, np.inf).kind
    assert list(kinds.values()) == ["exact", "lipschitz"]


def test_each_repair_wins_somewhere(rng):
    kinds = set()
    for _ in range(50):
        problem, _ = random.random_problem(rng, Hinge(), L1(), mild=True)
        for coef, intercept, theta in random.random_points(rng, problem):
            kinds.add(certify_point(problem, coef, intercept, theta)[0].kind)
    assert kinds == {"exact", "scaling", "lipschitz"}


def test_relative_gap_has_no_unit(rng):
    """Rescaling X and y (with alpha) leaves the relative gap as it is."""
    n, d, alpha = 30, 4, 0.05
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    w, theta = rng.normal(size=d), np.clip(rng.normal(size=n), -0.5, 0.5)
    gaps = []
    for x_scale, y_scale in ((1, 1), (2.0**10, 1), (1, 2.0**10), (2.0**-10, 2.0**-10)):
        problem = linear_problem(
            Design(X * x_scale), y * y_scale, np.full(n, 1 / n), Absolute(), L1(),
            alpha * x_scale, True,
        )  # fmt: skip
        certificate, _ = certify_point(problem, w * y_scale / x_scale, 0.1 * y_scale, theta)
        gaps.append(certificate.relative_gap)
    assert_allclose(gaps, gaps[0], rtol=1e-9)


def test_free_intercept_needs_a_repair(rng):
    """Without balance the ordinary dual value is -inf; both repairs make it finite."""
    n = 12
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n) + 5
    problem = linear_problem(
        Design(X), y, np.full(n, 1 / n), Pinball(quantile=0.4), L1(), 0.1, True
    )
    theta = np.full(n, 0.3)  # sums to 0.3, not 0
    bound = dual_bound(problem, theta, np.inf)
    value = linear_programme(X, y, problem.weights, problem.loss, problem.penalty, 0.1, True)
    assert 0.0 <= bound.value <= value
    assert np.isfinite(bound.intercept_radius)


@pytest.mark.parametrize("loss, penalty", PAIRS_OF_ALL, ids=str)
def test_gap_closes(loss, penalty):
    """A solved problem is certified to 1e-6, whatever the loss and the penalty."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        problem, _ = random.random_problem(rng, loss, penalty, mild=True)
        found = solve(problem, tol=1e-6, max_iter=100_000, random_state=np.random.RandomState(0))
        assert found.certificate.relative_gap <= 1e-6


def test_an_intercept_without_fit_intercept_is_refused(rng):
    X, y = rng.normal(size=(5, 2)), np.ones(5)
    problem = linear_problem(Design(X), y, np.full(5, 0.2), Squared(), L1(), 0.1, False)
    with pytest.raises(ValueError, match="intercept must be 0"):
        certify_point(problem, np.zeros(2), 1.0, y)


def test_a_model_that_is_not_a_number_has_no_objective():
    problem = linear_problem(
        Design(np.ones((2, 1))), np.ones(2), np.full(2, 0.5), Hinge(), L1(), 1.0, False
    )
    assert primal_objective(problem, np.array([np.nan]), np.nan) == np.inf
    with pytest.raises(ValueError, match=r"intercept must be 0 .* got 1\.0"):
        primal_objective(problem, np.ones(1), 1.0)


@pytest.mark.parametrize("primal", [0.1158712345678901, 12345678.9, 3e-200, 7.0])
@pytest.mark.parametrize("share", [0.5, 1e-3, 1e-6, 1e-9, 1e-13])
def test_certificates_print_no_better_than_they_are(primal, share):
    """The second line, with as many digits as it takes to tell the bounds apart."""
    dual = primal * (1.0 - share)
    gap = primal - dual
    values = primal, dual, gap, 2.0 * share, "scaling", 1.0, 1.0
    text = str(Certificate(*values)).splitlines()[1]
    shown = re.fullmatch(
        r"objective (\S+), lower bound (\S+): at most (\S+) above the optimum, "
        r"relative gap (\S+) \(scaling\)",
        text,
    )
    upper, lower, more, relative = map(Fraction, shown.groups())
    assert primal <= upper < primal + 0.2 * gap
    assert dual - 0.2 * gap < lower <= dual
    assert gap <= more <= 1.2 * gap and 2.0 * share <= relative <= 2.4 * share
    assert repr(Certificate(*values)) == f"<Certificate: {text}>"
    rigorous = RigorousCertificate(*values, rounding=1e-16)
    assert repr(rigorous) == f"<RigorousCertificate: {text}>"


def test_certificates_of_nothing_print():
    certificate = Certificate(np.inf, 0.0, np.inf, np.nan, "exact", np.inf, np.inf)
    assert "\nobjective inf, lower bound 0: at most inf above" in str(certificate)


def test_certificates_of_an_optimum_print():
    certificate = Certificate(0.5, 0.5, 0.0, 0.0, "exact", 1.0, 1.0)
    expected = (
        "no model of this kind is better, within rounding errors\n"
        "objective 0.5, lower bound 0.5: at most 0 above the optimum, relative gap 0 (exact)"
    )
    assert str(certificate) == expected

"""The promise: no certificate above the optimum, whatever the points and the data."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from benchmarks import certificates as random
from benchmarks.reference import linear_programme
from skpd.certificates import certify_point, dual_bound, primal_objective
from skpd.design import Design
from skpd.losses import Absolute, Hinge, Pinball, Squared
from skpd.penalties import L1, ElasticNet, SquaredL2
from skpd.problem import Problem
from skpd.solvers import solve

PAIRS = list(itertools.product(random.POLYHEDRAL_LOSSES, random.POLYHEDRAL_PENALTIES))
EVERY_PAIR = list(itertools.product(random.LOSSES, random.PENALTIES))


@pytest.mark.parametrize("loss, penalty", PAIRS, ids=str)
def test_against_linear_programmes(loss, penalty):
    """15 problems for each of 20 pairs: below HiGHS's optimum, and tight after a fit."""
    rng = np.random.default_rng(1)
    for _ in range(15):
        problem, X = random.random_problem(rng, loss, penalty, mild=True)
        above, gap = random.excess(rng, problem, X)
        assert above <= 1e-9
        assert gap <= 1e-3


@pytest.mark.parametrize("loss, penalty", EVERY_PAIR, ids=str)
def test_weak_duality_against_arbitrary_points(loss, penalty):
    """Every lower bound is below the objective of every point, also at extreme scales."""
    rng = np.random.default_rng(2)
    for _ in range(6):
        problem, _ = random.random_problem(rng, loss, penalty)
        certificates, primals = [], [problem.null_objective]
        for coef, intercept, theta in random.random_points(rng, problem):
            certificate, repaired = certify_point(problem, coef, intercept, theta)
            assert certificate.dual <= certificate.primal
            assert certificate.kind in ("exact", "scaling", "lipschitz")
            assert np.isfinite(certificate.dual) and np.isfinite(repaired).all()
            lower, upper = loss.dual_bounds(problem.y)
            assert ((lower <= repaired) & (repaired <= upper)).all()
            certificates.append(certificate.dual)
            primals.append(primal_objective(problem, coef, intercept))
        # 1e-13: the rounding error of the objective itself
        assert max(certificates) <= min(primals) * (1 + 1e-13)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([1e-150, 1e-8, 1.0, 1e8, 1e150]))
def test_any_finite_input_has_a_finite_certificate(seed, scale):
    rng = np.random.default_rng(seed)
    loss = random.LOSSES[rng.integers(len(random.LOSSES))]
    penalty = random.PENALTIES[rng.integers(len(random.PENALTIES))]
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


@pytest.mark.parametrize("column_scale", [1.0, 1e8])
def test_lower_bound_survives_rounding(column_scale, rng):
    """Against rational arithmetic, with columns whose products cancel to their last digits."""
    for _ in range(10):
        n, d = 16, 3
        X = rng.normal(size=(n, d)) * np.array([1.0, 1.0, column_scale])
        y, theta = rng.normal(size=n), rng.normal(size=n)
        X[:, 2] -= theta * (X[:, 2] @ theta) / (theta @ theta)  # u_3 is all rounding error
        problem = Problem(
            Design(X), y, np.full(n, 1 / 16), Squared(), L1(), alpha=1e-3, fit_intercept=False
        )
        bound = dual_bound(problem, theta, np.inf)
        if bound.kind == "lipschitz":
            exact = exact_lasso_dual(X, y, theta, 1e-3, bound.radius)
            assert Fraction(bound.value) <= exact
            assert float(exact - Fraction(bound.value)) <= 1e-11 * problem.null_objective


def test_lasso_gap_of_dunner_et_al(rng):
    """The lipschitz gap is B [||X'theta|| - alpha]_+ beside the Fenchel terms of the loss."""
    n, d, alpha = 20, 5, 0.1
    X, y, w = rng.normal(size=(n, d)), rng.normal(size=n), 0.3 * rng.normal(size=d)
    problem = Problem(Design(X), y, np.full(n, 1 / n), Squared(), L1(), alpha, False)
    theta = X @ w - y
    certificate, _ = certify_point(problem, w, 0.0, theta)
    primal = np.mean(theta**2) / 2 + alpha * np.abs(w).sum()
    radius = min(primal, np.mean(y**2) / 2) / alpha
    u = X.T @ theta / n
    gap = alpha * np.abs(w).sum() + w @ u + radius * max(np.abs(u).max() - alpha, 0)
    assert_allclose(certificate.primal, primal)
    assert_allclose(certificate.radius, radius)
    assert certificate.gap <= gap * (1 + 1e-12)
    if certificate.kind == "lipschitz":
        assert_allclose(certificate.gap, gap)


def test_ridge_gap_is_the_ordinary_one(rng):
    n, d, alpha = 20, 5, 0.1
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    problem = Problem(Design(X), y, np.full(n, 1 / n), Squared(), SquaredL2(), alpha, False)
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
        problem = Problem(Design(X), y, np.full(n, 1 / n), Squared(), penalty, alpha, False)
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
        problem = Problem(
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
    problem = Problem(Design(X), y, np.full(n, 1 / n), Pinball(quantile=0.4), L1(), 0.1, True)
    theta = np.full(n, 0.3)  # sums to 0.3, not 0
    bound = dual_bound(problem, theta, np.inf)
    value = linear_programme(X, y, problem.weights, problem.loss, problem.penalty, 0.1, True)
    assert 0.0 <= bound.value <= value
    assert np.isfinite(bound.intercept_radius)


@pytest.mark.parametrize("loss, penalty", EVERY_PAIR, ids=str)
def test_gap_closes(loss, penalty):
    """A solved problem is certified to 1e-6, whatever the loss and the penalty."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        problem, _ = random.random_problem(rng, loss, penalty, mild=True)
        found = solve(problem, tol=1e-6, max_iter=100_000, random_state=np.random.RandomState(0))
        assert found.certificate.relative_gap <= 1e-6


def test_an_intercept_without_fit_intercept_is_refused(rng):
    X, y = rng.normal(size=(5, 2)), np.ones(5)
    problem = Problem(Design(X), y, np.full(5, 0.2), Squared(), L1(), 0.1, False)
    with pytest.raises(ValueError, match="intercept must be 0"):
        certify_point(problem, np.zeros(2), 1.0, y)

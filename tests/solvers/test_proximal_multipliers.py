"""The default engine: its compiled parts, and its answers against independent optima."""

from copy import copy

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Lasso

from benchmarks import certificates as random
from skpd import kernels
from skpd.designs import Design, WeightedGram
from skpd.losses import Absolute, Hinge, Squared
from skpd.penalties import (
    L1,
    Box,
    ElasticNet,
    GroupL2,
    NonNegativeL1,
    SquaredL2,
    SquaredL2OnL1Ball,
)
from skpd.problems import Point, linear_problem
from skpd.solvers import METHODS, Monitor, SolverContext, solve
from skpd.solvers.newton import in_memory
from skpd.solvers.newton.proximal_multipliers import proximal_multipliers
from skpd.solvers.newton.settings import SETTINGS
from tests.oracles.reference import linear_programme
from tests.pairs import every_fourth_pair

ENGINE_PENALTIES = [
    p for p in random.PENALTIES if hasattr(type(p), "terms") or hasattr(type(p), "group_terms")
]


@pytest.mark.parametrize("penalty", [
    L1(), ElasticNet(0.3), SquaredL2(), NonNegativeL1(), Box(-0.5, 1.0),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("steps", [None, "of each"])
def test_features_that_are_active_or_violate(penalty, steps, rng):
    alpha, step = 0.7, 0.2
    w = rng.normal(size=200) * (rng.random(200) < 0.3)
    w, g, expected = penalty.prox(w, 0.0), rng.normal(size=200), rng.normal(size=200)
    sizes = np.ones(200) if steps is None else rng.random(200)
    given = (w, g, penalty.kernel_terms(alpha, 200), step, sizes if steps else None)
    steps = step * sizes
    violation = np.abs(w - penalty.prox(w - steps * g, steps * alpha)) / steps
    joining = penalty.prox(w - steps * expected, steps * alpha) != 0.0
    for hint, chosen in ((None, violation > 0.0), (expected, (violation > 0.0) & joining)):
        chosen |= w != 0.0
        columns, found, largest = kernels.active_or_violating(*given, hint)
        assert_array_equal(columns, np.flatnonzero(chosen))
        assert_allclose(found, violation[chosen], rtol=1e-12, atol=1e-12)
        assert_allclose(largest, violation.max(), rtol=1e-12)


@pytest.mark.parametrize(
    ("loss", "sigma"),
    [
        (loss, sigma)
        for loss in random.LOSSES
        for sigma in (0.3, 20.0, np.inf)
        if sigma < np.inf or not loss.has_kinks
    ],
    ids=str,
)
def test_smoothed_derivatives(loss, sigma, rng):
    """The derivative is that of the envelope, by its definition; the curvature its slope."""
    n, h = 400, 1e-6
    y = np.sign(rng.normal(size=n)) if hasattr(loss, "_min_margin") else rng.normal(size=n)
    y = np.abs(y) if loss.has_log_link else y
    z = 3 * rng.normal(size=n)
    theta = loss.project_dual(y, rng.normal(size=n))
    weights = 0.1 + rng.random(n)

    def derivatives(z):
        first, gradient, curvature = np.empty(n), np.empty(n), np.empty(n)
        primal, dual = loss.evaluator.smoothed_derivatives(
            y, weights, theta, z, sigma, first, gradient, curvature
        )
        assert_allclose(primal, weights @ loss.value(y, z), rtol=1e-12)
        assert_allclose(dual, loss.dual_value(y, weights, first)[0], rtol=1e-9, atol=1e-12)
        assert_allclose(gradient, weights * first)
        return first, curvature / weights * (sigma if np.isfinite(sigma) else 1.0)

    first, second = derivatives(z)
    if sigma == np.inf:
        assert_allclose(first, loss.gradient(y, z), atol=1e-12)
    else:
        assert_allclose(first, loss.prox_conjugate(y, theta + sigma * z, sigma), atol=1e-9)
    quotient = (derivatives(z + h)[0] - derivatives(z - h)[0]) / (2 * h)
    near_kink = np.abs(quotient - second) > 1e-4 * (1 + np.abs(second))
    assert near_kink.mean() <= 0.01  # a difference across a kink is no derivative
    direction = rng.normal(size=n)
    slope = loss.evaluator.smoothed_slope(y, weights, theta, z, direction, 0.7, sigma)
    expected = weights @ (derivatives(z + 0.7 * direction)[0] * direction)
    assert_allclose(slope, expected, rtol=1e-10, atol=1e-12)


@pytest.fixture(params=[True, False], ids=["by columns", "by Gram matrix"])
def by_columns(request, monkeypatch):
    """The form of the curvature, whatever it costs."""
    monkeypatch.setattr(WeightedGram, "_favours_columns", lambda *arguments: request.param)
    return request.param


LAYOUTS = [np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array]


@pytest.mark.parametrize(
    "loss, penalty", every_fourth_pair(random.LOSSES, ENGINE_PENALTIES), ids=str
)
def test_pairs_to_eight_digits(loss, penalty, by_columns):
    """The engine alone, in at most 300 Newton steps, on awkward but not extreme data."""
    rng = np.random.default_rng(5)
    for _ in range(4):
        problem, _ = random.random_problem(rng, loss, penalty, mild=True)
        monitor = Monitor(problem, 1e-8)
        monitor.check(0, problem.null_point)
        if not monitor.done:
            proximal_multipliers(SolverContext(problem, monitor, None, 300, None))
        assert monitor.relative_gap <= 1e-8


@pytest.mark.parametrize("name, width, penalty, alpha, optimum", [
    ("a1a", 123, L1(), 1e-2, 0.43504673),
    ("a9a", 123, L1(), 1e-3, 0.36833879),
    ("reuters", 8315, L1(), 1e-3, 0.22788886),
    ("a9a", 123, GroupL2(groups=3), 1e-3, 0.37227132),
    ("a9a", 123, SquaredL2(), 1 / 32561, 0.35115039),
], ids=str)  # fmt: skip
def test_reference_optima(skpd_data, name, width, penalty, alpha, optimum):
    X, y = skpd_data(name, width)
    problem = linear_problem(
        Design(X), y, np.full(len(y), 1 / len(y)), Hinge(), penalty, alpha, False
    )
    for tol in (1e-6, 1e-9):
        found = solve(problem, tol=tol, max_iter=5000, random_state=np.random.RandomState(0))
        certificate = found.certificate
        assert certificate.dual <= optimum + 5e-9 and certificate.primal >= optimum - 5e-9
        assert certificate.relative_gap <= tol


def test_lasso_with_more_features_than_rows(rng, by_columns):
    X = rng.normal(size=(80, 600))
    y = X[:, :5].sum(axis=1) + 0.1 * rng.normal(size=80)
    alpha = np.abs(X.T @ (y - y.mean())).max() / 80 / 20
    theirs = Lasso(alpha=alpha, tol=1e-12, max_iter=100_000).fit(X, y)
    for layout in (np.ascontiguousarray, sp.csc_array):
        problem = linear_problem(
            Design(layout(X)), y, np.full(80, 1 / 80), Squared(), L1(), alpha, True
        )
        found = solve(problem, tol=1e-10, max_iter=300, random_state=np.random.RandomState(0))
        assert found.converged
        assert_allclose(found.coef, theirs.coef_, atol=1e-6)


def test_what_a_path_tells_of_the_next_alpha(rng):
    """The gradient of the lasso is linear in alpha while the support stays, as scikit-learn's."""
    n, d = 80, 12
    X = rng.normal(size=(n, d))
    y = X @ np.append(np.ones(6), np.zeros(6)) + 0.5 * rng.normal(size=n)
    first = linear_problem(
        Design(X), y, np.full(n, 1 / n), Squared(), L1().for_n_features(d), 0.2, False
    )
    first, start = first.in_workspace(), None
    for alpha in (0.2, 0.19, 0.185):
        problem = first.with_alpha(alpha)
        found = solve(
            problem, "multipliers", tol=1e-10, max_iter=100, random_state=None, start=start
        )
        start = Point(found.coef, 0.0, found.dual_coef)
    solved = first.workspace.solved
    assert solved.alpha == 0.185 and solved.before.alpha == 0.19 and solved.before.before is None
    w = Lasso(0.17, fit_intercept=False, tol=1e-14).fit(X, y).coef_
    assert np.array_equal(w != 0, found.coef != 0)
    assert_allclose(solved.gradient_at(0.17), X.T @ (X @ w - y) / n, atol=1e-8)
    for alpha in (0.185, 0.2, 0.1):  # not decreasing, or too far
        assert solved.gradient_at(alpha) is None


def test_it_hands_over_where_it_stalls(rng, monkeypatch):
    """More active features than a working set may hold: the primal-dual method goes on."""
    X = rng.normal(size=(60, 40))
    y = X @ rng.normal(size=40)
    problem = linear_problem(Design(X), y, np.full(60, 1 / 60), Absolute(), SquaredL2(), 0.1, True)
    settings = copy(SETTINGS)
    settings.largest_working_set = 10
    monkeypatch.setattr(in_memory, "SETTINGS", settings)
    alone = Monitor(problem, 1e-4)
    alone.check(0, problem.null_point)
    proximal_multipliers(SolverContext(problem, alone, None, 50_000, None))
    found = solve(problem, tol=1e-4, max_iter=50_000, random_state=np.random.RandomState(0))
    assert not alone.done and alone.n_iter == 0
    assert found.converged and found.n_iter > 0


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("intercept", [True, False])
def test_hinge_with_more_features_than_rows(layout, intercept, rng, by_columns):
    X = rng.normal(size=(40, 150)) * (rng.random((40, 150)) < 0.5)
    y, weights = np.sign(X[:, 0] + rng.normal(size=40)), np.full(40, 1 / 40)
    value = linear_programme(X, y, weights, Hinge(), L1(), 0.02, intercept)
    problem = linear_problem(Design(layout(X)), y, weights, Hinge(), L1(), 0.02, intercept)
    found = solve(problem, tol=1e-9, max_iter=300, random_state=np.random.RandomState(0))
    assert found.converged
    assert_allclose(found.certificate.primal, value, rtol=1e-8)


@pytest.mark.parametrize("sigma", [0.3, 20.0])
@pytest.mark.parametrize("loss", random.LOSSES, ids=str)
def test_rows_that_bend(loss, sigma, rng):
    """All but those whose derivative is the same on an interval around z."""
    n, radius = 400, 0.5
    y = np.sign(rng.normal(size=n)) if hasattr(loss, "_min_margin") else rng.normal(size=n)
    z, weights = 3 * rng.normal(size=n), np.ones(n)
    theta = loss.project_dual(y, rng.normal(size=n))
    first, gradient, curvature = np.empty((3, n))
    loss.evaluator.smoothed_derivatives(y, weights, theta, z, sigma, first, gradient, curvature)
    rows = loss.evaluator.rows_that_bend(y, theta, z, sigma, first, curvature, radius)
    slopes = np.array([
        loss.prox_conjugate(y, theta + sigma * (z + shift), sigma)
        for shift in np.linspace(-radius, radius, 41)
    ])  # fmt: skip
    moves = np.ptp(slopes, axis=0) > 1e-9
    assert np.isin(np.flatnonzero(moves), rows).all()
    # at a kink itself the derivative need not move for a row to have curvature
    assert np.isin(rows, np.flatnonzero(moves | (curvature > 0.0))).all()
    if loss.linear_tails:
        assert len(rows) < n


@pytest.mark.parametrize("alpha", [1e-3, 0.1])
def test_rows_that_bend_while_they_are_left_out_come_back(alpha):
    """Their linear losses may take an objective below every bound, even below 0."""
    rng = np.random.default_rng(39)
    X = rng.normal(size=(120, 25)) * (1 + 3 * rng.random(25))
    z = X @ np.r_[rng.normal(size=5), np.zeros(20)]
    y = z + 0.5 * np.std(z) * rng.normal(size=120)
    weights = np.full(120, 1 / 120)
    ball = SquaredL2OnL1Ball(1.0)
    problem = linear_problem(Design(X), y, weights, Absolute(), ball, alpha, True)
    monitor = Monitor(problem, 1e-6)
    monitor.begin()
    state = np.random.RandomState(0)
    METHODS["multiplier-search"].run(SolverContext(problem, monitor, None, 300, state))
    exact = solve(problem, tol=1e-8, max_iter=1000, random_state=state)
    assert monitor.dual <= exact.certificate.primal and exact.certificate.dual <= monitor.primal

"""The interior-point method: losses with penalties, its systems, kinks and weights."""

from contextlib import nullcontext
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import LinAlgError
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning

from benchmarks import certificates as random
from skpd import DRSVMClassifier, PdproxSVC
from skpd.designs import Design
from skpd.losses import Absolute, Hinge, Logistic, MarginLoss, Squared, SquaredHinge
from skpd.penalties import (
    L1,
    Box,
    ElasticNet,
    ElasticNetBall,
    FunctionOfNorm,
    FusedLasso,
    GroupL2,
    LInf,
    NonNegativeL1,
    SparseGroup,
    SquaredL2,
    TotalVariation,
)
from skpd.problems import linear_problem
from skpd.solvers import METHODS, Monitor, SolverContext
from skpd.solvers.interior import expected_cost, interior_point, method
from skpd.solvers.interior.cones import EuclideanNorms
from skpd.solvers.interior.systems import FeatureSystem
from skpd.solvers.interior.terms import ConeVector
from skpd.solvers.select import select
from tests.oracles.reference import linear_programme
from tests.oracles.robust_reference import robust_linear_programme
from tests.pairs import every_fourth_pair

ALL_PENALTIES = [*random.PENALTIES, TotalVariation()]
POLYHEDRAL = {type(p) for p in [*random.POLYHEDRAL_PENALTIES, TotalVariation()]}
LINEAR = {type(loss) for loss in random.POLYHEDRAL_LOSSES}


@cache
def raw(labels):
    """40 rows and 6 features as they come, on scales from 0.1 to 1000."""
    X, y = load_breast_cancer(return_X_y=True) if labels else load_diabetes(
        return_X_y=True, scaled=False
    )  # fmt: skip
    X, y = X[::11, :6][:40], y[::11][:40]
    return X, 2.0 * y - 1.0 if labels else y


def posed(X, y, loss, penalty, alpha, fit_intercept=True, weights=None):
    """A problem; without weights every row has the same."""
    weights = np.ones(len(y)) if weights is None else weights
    total = float(weights.sum())
    return linear_problem(
        Design(X), y, weights / total, loss, penalty, alpha, fit_intercept, total_weight=total
    )


def strength(X, y, loss, fit_intercept=True):
    """The largest entry of the gradient at the best constant: that of l1."""
    return float(np.max(np.abs(posed(X, y, loss, L1(), 1.0, fit_intercept).null_gradient)))


def reached(problem, tol=1e-8, max_iter=100, monitor=Monitor):
    """What the method alone finds."""
    monitor = monitor(problem, tol)
    monitor.begin()
    interior_point(SolverContext(problem, monitor, None, max_iter, None))
    return monitor.solution()


@pytest.mark.parametrize("loss, penalty", every_fourth_pair(random.LOSSES, ALL_PENALTIES), ids=str)
def test_losses_with_penalties(loss, penalty):
    X, y = raw(isinstance(loss, MarginLoss))
    rows = np.full(len(y), 1 / len(y))
    for fit_intercept in (True, False):
        for share in (0.1, 0.001):
            alpha = share * strength(X, y, loss, fit_intercept)
            problem = posed(X, y, loss, penalty, alpha, fit_intercept)
            found = reached(problem)
            certificate = found.certificate
            assert certificate.relative_gap <= 1e-8 and found.n_iter <= 50
            if type(loss) in LINEAR and type(penalty) in POLYHEDRAL:
                best = linear_programme(X, y, rows, loss, penalty, alpha, fit_intercept)
                accuracy = 1e-6 * problem.objective_unit
                assert_allclose(certificate.primal, best, rtol=0.0, atol=accuracy)
                assert certificate.dual <= best + 1e-9 * problem.objective_unit


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("share", [0.3, 0.1, 0.03])
def test_the_support_is_that_of_a_vertex(share, fit_intercept, rng):
    """A linear programme with one solution, which HiGHS gives with exact zeros."""
    X = rng.normal(size=(80, 15))
    y = np.where(X[:, :3].sum(axis=1) + rng.normal(size=80) > 0.0, 1.0, -1.0)
    alpha = share * strength(X, y, Hinge(), fit_intercept)
    _, vertex, intercept, *_ = robust_linear_programme(
        X, y, np.full(80, 1 / 80), epsilon=alpha, kappa=np.inf, norm=1, fit_intercept=fit_intercept
    )
    found = reached(posed(X, y, Hinge(), L1(), alpha, fit_intercept), tol=1e-10)
    assert 0 < np.count_nonzero(vertex) < 15
    assert_array_equal(found.coef != 0.0, vertex != 0.0)
    assert_allclose(found.coef, vertex, atol=1e-6)
    assert_allclose(found.intercept, intercept, atol=1e-6)


def slopes(problem, found):
    """The derivatives of the mean loss in the coefficients, at the dual point that was found."""
    return problem.design.rmatvec(problem.weights * found.dual_coef)


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge(), Logistic()], ids=str)
def test_coefficients_end_exactly_on_kinks(loss, rng):
    """Where the dual point says that the optimum is on a kink, the coefficients are."""
    X = rng.normal(size=(100, 18))
    truth = np.repeat([1.0, 0.0, -1.0], 6)
    y = np.where(X @ truth + 2.0 * rng.normal(size=100) > 0.0, 1.0, -1.0)
    alpha = 0.1 * strength(X, y, loss)

    def fitted(penalty, scale=1.0):
        problem = posed(X, y, loss, penalty, scale * alpha)
        found = reached(problem)
        assert found.converged
        return found.coef, slopes(problem, found), problem.alpha

    coef, u, a = fitted(L1())
    inside = np.abs(u) < a * (1 - 1e-3)
    assert np.any(inside) and not np.any(coef[inside]) and np.all(coef[~inside])

    coef, u, a = fitted(NonNegativeL1())
    inside = u > -a * (1 - 1e-3)
    assert np.any(inside) and not np.any(coef[inside]) and np.all(coef[~inside] > 0.0)

    coef, u, a = fitted(GroupL2(3), scale=2.0)
    lengths = np.linalg.norm(u.reshape(6, 3), axis=1)
    inside = lengths < np.sqrt(3) * a * (1 - 1e-3)
    groups = coef.reshape(6, 3)
    assert np.any(inside) and not np.any(groups[inside]) and np.all(groups[~inside])

    coef, u, a = fitted(SparseGroup(3, l1_ratio=0.5), scale=1.5)
    beyond = np.maximum(np.abs(u) - 0.5 * a, 0.0)  # what the l1 part leaves to the groups
    inside = np.linalg.norm(beyond.reshape(6, 3), axis=1) < 0.5 * np.sqrt(3) * a * (1 - 1e-3)
    inside = np.repeat(inside, 3) | (np.abs(u) < 0.5 * a * (1 - 1e-3))
    assert np.any(inside) and not np.any(coef[inside]) and np.all(coef[~inside])

    coef, u, _ = fitted(Box(-0.05, 0.1))
    size = np.max(np.abs(u))
    assert_array_equal(coef == 0.1, u < -1e-3 * size)
    assert_array_equal(coef == -0.05, u > 1e-3 * size)

    coef, u, a = fitted(TotalVariation(), scale=2.0)
    flow = np.abs(np.cumsum(u)[:-1])  # the multiplier of a difference
    assert_array_equal(np.diff(coef) == 0.0, flow < a * (1 - 1e-3))
    assert 1 <= np.count_nonzero(np.diff(coef)) < 17


@pytest.mark.parametrize("penalty", [L1(), SquaredL2(), GroupL2(2), LInf(), ElasticNet(0.5)],
                         ids=str)  # fmt: skip
@pytest.mark.parametrize("alpha", [1e-3, 1e-6, 1e-8])
def test_separable_classes_with_a_tiny_alpha(alpha, penalty, rng):
    """The coefficients grow as log(1 / alpha), where the second derivatives vanish."""
    X = rng.normal(size=(30, 4))
    y = np.sign(X[:, 0])
    for fit_intercept in (True, False):
        problem = posed(X, y, Logistic(), penalty, alpha, fit_intercept)
        found = reached(problem)
        assert found.certificate.relative_gap <= 1e-8
        z = X @ found.coef + found.intercept
        value = np.mean(np.logaddexp(0.0, -y * z)) + alpha * penalty.value(found.coef)
        assert_allclose(found.certificate.primal, value, rtol=1e-9)
        assert np.all(y * z > 0.0)


@pytest.mark.parametrize("shift", [1e2, 1e4])
@pytest.mark.parametrize("penalty", [L1(), LInf(), TotalVariation(), Box(-0.1, 0.1)], ids=str)
def test_features_far_from_0_without_an_intercept(penalty, shift, rng):
    X = rng.normal(size=(50, 5)) + shift
    rows = np.full(50, 1 / 50)
    y = np.where(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=50) > 0.0, 1.0, -1.0)
    for loss, target in ((Hinge(), y), (Absolute(), X[:, 0] - X[:, 1])):
        for alpha in (0.1, 0.01):
            best = linear_programme(X, target, rows, loss, penalty, alpha, False)
            problem = posed(X, target, loss, penalty, alpha, False)
            certificate = reached(problem).certificate
            assert certificate.relative_gap <= 1e-8
            accuracy = 1e-7 * problem.objective_unit
            assert_allclose(certificate.primal, best, rtol=0.0, atol=accuracy)
            assert certificate.dual <= best + 1e-9 * problem.objective_unit


def test_what_it_cannot_solve(rng):
    X, y = rng.normal(size=(10, 3)), np.ones(10)
    assert expected_cost(posed(X, y, Squared(), L1(), 1.0)) < np.inf
    assert expected_cost(posed(X, y, Squared(), FunctionOfNorm(L1()), 1.0)) == np.inf
    large = sp.random_array((4001, 4001), density=1e-4, format="csr", random_state=rng)
    assert expected_cost(posed(large, np.ones(4001), Squared(), L1(), 1.0)) == np.inf
    few_rows = large[:20]
    assert expected_cost(posed(few_rows, np.ones(20), Squared(), L1(), 1.0)) < np.inf
    assert expected_cost(posed(few_rows, np.ones(20), Squared(), FusedLasso(0.5), 1.0)) == np.inf


def test_the_order_of_the_methods(rng):
    """Kinks of small data are left to the interior-point method, smooth losses to Newton."""
    X, y = rng.normal(size=(40, 5)), rng.choice([-1.0, 1.0], 40)

    def names(loss, penalty, **options):
        return [
            METHODS[attempt.key].name
            for attempt in select(posed(X, y, loss, penalty, 0.1), **options)
        ]

    last = ["interior-point", "multipliers", "hybrid-gradient"]
    assert names(Hinge(), L1()) == last
    assert names(Hinge(), L1(), warm=True) == ["multipliers", *last]
    in_one_call = ["multipliers", "multipliers"]  # that of small tables first
    assert names(Logistic(), L1()) == [*in_one_call, *last]
    assert names(Logistic(), LInf()) == ["interior-point", "hybrid-gradient"]
    assert names(Hinge(), SquaredL2()) == ["dual-descent", *last]


@pytest.mark.parametrize("end", [KeyboardInterrupt, LinAlgError])
def test_what_was_reached_is_recorded_however_it_ends(monkeypatch, end):
    X, y = raw(labels=True)
    problem = posed(X, y, Hinge(), L1(), 1e-3)
    step, steps = method.State.step, []

    def breaks_down(state, goal):
        if len(steps) == 9:
            raise end
        steps.append(goal)
        step(state, goal)

    monkeypatch.setattr(method.State, "step", breaks_down)
    monitor = Monitor(problem, 1e-12)
    with pytest.raises(end) if end is KeyboardInterrupt else nullcontext():
        interior_point(SolverContext(problem, monitor, None, 50, None))
    assert monitor.n_iter == 9
    assert 0.0 < monitor.dual <= monitor.primal < problem.null_objective


@pytest.mark.parametrize("kind", ["plain", "robust"])
def test_what_is_too_hard_is_given_up(kind, rng, monkeypatch):
    """After the interior-point method the last resort has a limit, which the warning knows."""
    monkeypatch.setattr("skpd.certificates.relative_gaps.NEGLIGIBLE", 0.0)
    X, y = rng.normal(size=(20, 3)), rng.choice([-1.0, 1.0], 20)
    options = {"tol": 1e-18, "max_iter": 100_000}
    model = DRSVMClassifier(**options) if kind == "robust" else PdproxSVC(
        penalty=LInf(), loss="hinge", **options
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning, match=r"no smaller gap\. Increase tol, or bring"):
        model.fit(X, y)
    assert 1000 < model.n_iter_ < 30_000
    model.set_params(max_iter=200)
    with pytest.warns(ConvergenceWarning, match=r"Increase max_iter \(now 200\) or tol"):
        model.fit(X, y)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4, 1e8])
def test_an_elastic_net_ball_that_is_large_or_small_relative_to_the_coefficients(scale, rng):
    """With X a multiple of the identity and the squared loss, a projection."""
    penalty, y = ElasticNetBall(0.7, 0.4), rng.normal(size=12)
    problem = posed(scale * np.eye(12), y, Squared(), penalty, 1.0, fit_intercept=False)
    found = reached(problem, tol=1e-10)
    best = np.mean((scale * penalty.prox(y / scale, 1.0) - y) ** 2) / 2.0
    assert found.converged and found.n_iter <= 25
    assert_allclose(found.certificate.primal, best, rtol=1e-9, atol=1e-9)
    assert found.certificate.dual <= best * (1.0 + 1e-15)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shift", [0.0, 1e5])
@pytest.mark.parametrize("loss", [Absolute(), Squared()], ids=str)
def test_total_variation_of_features_of_all_sizes(loss, shift, fit_intercept, rng):
    """Sums of features keep the digits of the small ones."""
    for _ in range(5):
        scales = 10.0 ** rng.permutation([-4.0, -3.0, -1.0, 1.0, 3.0, 4.0])
        X = (rng.normal(size=(30, 6)) + shift) * scales
        y = (X - shift * scales) @ (rng.normal(size=6) / scales) + rng.normal(size=30)
        alpha = 1e-3 * strength(X, y, loss, fit_intercept)
        problem = posed(X, y, loss, TotalVariation(), alpha, fit_intercept)
        found = reached(problem, tol=1e-7)
        assert found.converged and found.n_iter <= 40


def test_far_features_whose_groups_are_nearly_alike():
    """Without an intercept, features around 10,000 stand in for one, any group as well as others.

    Groups that are set to 0 must leave their part of it to others, and coefficients of 1e-7 are
    not small. Most multipliers are near the boundary of their cones.
    """
    X, labels = load_digits(return_X_y=True)
    y, groups = np.where(labels == 8, 1.0, -1.0), GroupL2([3] * 21 + [1])
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0) + 1e4
    problem = posed(X, y, Hinge(), groups, 806.0, fit_intercept=False)
    assert reached(problem, 1e-8).certificate.relative_gap <= 1e-8


def test_multipliers_near_the_boundary_of_their_cone_keep_their_digits():
    """A group of one coefficient has the two inequalities t + w >= 0 and t - w >= 0.

    Their multipliers p = (1 + v) / 2 and q = (1 - v) / 2 change by -(p / (t + w)) (dt + dw) and
    -(q / (t - w)) (dt - dw), and by 0 in sum.
    """
    t, w, v = 1.0, 1.0 - 2.0**-26, 2.0**-27 - 1.0
    term = EuclideanNorms(np.array([0, 1]), np.ones(1), 1.0, np.ones(1))
    term.slack = ConeVector(np.array([t]), np.array([w]))
    term.dual = ConeVector(np.ones(1), np.array([v]))
    term.factorise(FeatureSystem(Design(np.zeros((1, 1))), 1, 0))
    term.add_centering(None, False, np.zeros(1))
    first, second = (1.0 + v) / (2.0 * (t + w)), (1.0 - v) / (2.0 * (t - w))
    term.set_step(np.array([1.0]))
    assert_allclose(term.slack_step.head, (second - first) / (first + second), rtol=1e-7)
    assert_allclose(term.dual_step.tail, -4.0 * first * second / (first + second), rtol=1e-7)

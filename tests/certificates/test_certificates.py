"""The promise: no certificate above the optimum, whatever the points and the data."""

import json
import re
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.linear_model import Lasso

from benchmarks import certificates as random
from skpd import Certificate, MultinomialPD, RigorousCertificate
from skpd.certificates import certify_point, dual_bound, primal_objective
from skpd.designs import Design
from skpd.losses import Absolute, Hinge, Pinball, Squared
from skpd.penalties import L1, ElasticNet, GroupL2, SquaredL2
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


def test_groups_of_very_different_scales():
    penalty = GroupL2(groups=1, weights=[1e-3, 1e200]).for_n_features(2)
    assert_allclose(penalty.value(np.array([1.0, 1e-200])), 1.001)
    penalty = GroupL2(groups=1, weights=[1.0, 1e-200]).for_n_features(2)
    assert_allclose(penalty.dual_norm(np.array([1.0, 1e-199])), 10.0)


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
    """The last line, with as many digits as it takes to tell the bounds apart."""
    dual = primal * (1.0 - share)
    gap = primal - dual
    values = primal, dual, gap, 2.0 * share, "scaling", 1.0, 1.0
    text = str(Certificate(*values)).splitlines()[1]
    shown = re.fullmatch(
        r"objective (\S+), lower bound (\S+), gap (\S+)",
        text,
    )
    upper, lower, more = map(Fraction, shown.groups())
    assert primal <= upper < primal + 0.2 * gap
    assert dual - 0.2 * gap < lower <= dual
    assert gap <= more <= 1.2 * gap
    assert repr(Certificate(*values)) == f"<Certificate: {text}>"
    rigorous = RigorousCertificate(*values, rounding=1e-16)
    assert repr(rigorous) == f"<RigorousCertificate: {text}>"


def test_certificates_of_nothing_print():
    certificate = Certificate(np.inf, 0.0, np.inf, np.nan, "exact", np.inf, np.inf)
    assert str(certificate).endswith("\nobjective inf, lower bound 0, gap inf")


def test_certificates_of_an_optimum_print():
    certificate = Certificate(0.5, 0.5, 0.0, 0.0, "exact", 1.0, 1.0)
    expected = (
        "finished: no model of this kind is better, within rounding errors\n"
        "objective 0.5, lower bound 0.5, gap 0"
    )
    assert str(certificate) == expected


def test_notebooks_show_what_is_printed():
    certificate = Certificate(0.5, 0.375, 0.125, 0.25, "scaling", 2.5, 1.0)
    assert certificate._repr_html_() == f"<pre>{certificate}</pre>"


def test_dictionaries_are_json():
    certificate = Certificate(0.5, 0.375, 0.125, 0.25, "scaling", np.inf, 1.0)
    values = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert (values["primal"], values["dual"], values["relative_gap"]) == (0.5, 0.375, 0.25)
    assert values["radius"] is None and values["kind"] == "scaling"
    fitted = MultinomialPD().fit(*load_iris(return_X_y=True)).certificate_.to_dict()
    assert json.loads(json.dumps(fitted, allow_nan=False))["decisions_that_may_differ"] >= 0

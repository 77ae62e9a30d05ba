"""Dual points of single rows: their sums against fractions, and the shares of rounding in them."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import LinearConstraint

from skpd.designs import Design
from skpd.formulation.constraints import linear_constraints
from skpd.losses import Absolute, Hinge, Huber, Logistic, Squared
from skpd.penalties import L1, Separable, TotalVariation, WeightedL1
from skpd.problems import linear_problem
from skpd.problems.constrained_points import ConstrainedPoint
from skpd.problems.dual_points import BalancedPoint
from tests.oracles.exact_sums import exact_sum, within

EPSILON = 2.0**-52
NOTHING = (0.0, 0.0)


def problem_of(rng, loss, penalty, fit_intercept=True, n=12, d=3):
    X, y = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n)
    return linear_problem(
        Design(X), y, rng.dirichlet(np.ones(n)), loss, penalty, 0.1, fit_intercept
    ), X


def inside(problem, rng):
    """A point inside the box."""
    lower, upper = (np.clip(x, -1.0, 1.0) for x in problem.loss.dual_bounds(problem.y))
    return lower + rng.uniform(0.2, 0.8, len(lower)) * (upper - lower)


@pytest.mark.parametrize("loss", [Squared(), Huber(2.0), Absolute(), Hinge()], ids=str)
@pytest.mark.parametrize("scale", [0.0, 0.25, 0.3, 0.5, 0.9, 1.0, 1.7])
def test_values_of_multiples(loss, scale, rng):
    """-sum c (y t theta + q (t theta)^2 / 2), of which a parabola has three values."""
    problem, _ = problem_of(rng, loss, L1())
    theta, curvature = inside(problem, rng), Fraction(loss.conjugate_curvature)
    scale = scale if loss.dual_is_free else min(scale, 1.0)
    value, rounding = problem.row_point(theta).value(scale)
    t, c = Fraction(scale), problem.weights
    linear = exact_sum(c, problem.y, theta)
    square = curvature * exact_sum(c, theta, theta) / 2
    assert abs(Fraction(value) + t * linear + t * t * square) <= Fraction(rounding)
    if scale == 1.0 or not loss.quadratic_conjugate:
        assert (value, rounding) == loss.dual_value(problem.y, c, theta, scale)
    else:
        half, whole = loss.dual_values(problem.y, c, theta, (0.5, 1.0))
        shares = 4.0 * scale * abs(1.0 - scale), scale * abs(2.0 * scale - 1.0)
        parts = zip(shares, (half, whole), strict=True)
        expected = sum(share * (r + 4.0 * EPSILON * abs(v)) for share, (v, r) in parts)
        assert_allclose(rounding, expected, rtol=1e-12)


@pytest.mark.parametrize("loss, scales", [(Squared(), [(0.5, 1.0)]), (Hinge(), [(1.0,), (0.5,)])])
def test_values_are_computed_once(loss, scales, rng, monkeypatch):
    problem, _ = problem_of(rng, loss, L1())
    point, calls, original = problem.row_point(inside(problem, rng)), [], type(loss).dual_values

    def counted(self, y, weights, theta, scales):
        calls.append(scales)
        return original(self, y, weights, theta, scales)

    monkeypatch.setattr(type(loss), "dual_values", counted)
    for scale in [scales[0][0], 1.0, 0.5]:
        point.value(scale)
    assert calls == scales


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    "penalty, free", [(L1(), []), (TotalVariation(), []), (WeightedL1([0.0, 1.0, 0.0]), [0, 2])]
)
def test_products_and_free_sums(penalty, free, fit_intercept, rng):
    problem, X = problem_of(rng, Hinge(), penalty, fit_intercept)
    theta, c = inside(problem, rng), problem.weights
    point = problem.row_point(theta)
    for precise, share in ((True, 4.0), (False, 40.0)):
        products, errors = point.products(precise)
        columns = [exact_sum(c, x, theta) for x in X.T]
        sizes = np.abs(products) if precise else np.abs(c * theta) @ np.abs(X)
        for j in range(3):
            found = products[j], errors[j]
            assert within(found, columns[j], share * EPSILON * sizes[j] + 1e-30)
        sums = point.free_sums(products, errors)
        assert point.sums_without_products() == sums[:1]
        if fit_intercept:
            assert within(sums[0], exact_sum(c, theta), 2.0 * EPSILON * np.sum(c * np.abs(theta)))
        else:
            assert sums[0] == NOTHING
        if problem.has_free_level:
            value, error = sums[1]
            assert within((value, error), sum(columns), 1.0)
            assert_allclose(error, np.sum(errors) + EPSILON * abs(value), rtol=1e-12)
        else:
            assert sums[1:] == [(products[j], errors[j]) for j in free]


def test_the_largest_scale(rng):
    problem, _ = problem_of(rng, Hinge(), L1())
    assert problem.row_point(0.25 * -problem.y).largest_scale() == 4.0


def balanced_point(rng, loss, penalty, columns=(), **options):
    """A `BalancedPoint` with its parts."""
    problem, _ = problem_of(rng, loss, penalty)
    theta = inside(problem, rng)
    change = 1e-3 * rng.normal(size=len(theta))
    towards = np.clip(theta + change / 0.125, *problem.loss.dual_bounds(problem.y))
    balance = SimpleNamespace(
        share=0.125, residual=1e-11, cost=1e-9, endpoint_error=0.0, columns=np.array(columns)
    )
    parts = [problem.row_point(x) for x in (theta, towards, change)]
    return problem, BalancedPoint(problem, *parts, balance, **options), parts, balance


@pytest.mark.parametrize("loss", [Hinge(), Squared(), Logistic()], ids=str)
@pytest.mark.parametrize("scale", [0.25, 1.0, 3.0])
def test_values_of_balanced_points(loss, scale, rng):
    """(1 - share) times the value at theta and share times that of the other point."""
    scale = scale if loss.dual_is_free else min(scale, 1.0)
    _, point, (own, towards, _), balance = balanced_point(rng, loss, L1())
    balance.cost, balance.endpoint_error = 1e-14, 1.6e-13
    (value, rounding), (a, r), (b, s) = (p.value(scale) for p in (point, own, towards))
    assert_allclose(value, 0.875 * a + 0.125 * b, rtol=1e-14)
    more = 4.0 * EPSILON * (abs(a) + abs(b)) + max(1.0, scale) ** 2 * 3e-14
    assert_allclose(rounding, r + 0.125 * s + more, rtol=1e-12)
    assert (point.linear, point.quadratic) == (loss.linear_conjugate, loss.quadratic_conjugate)
    assert point.largest_scale() == min(own.largest_scale(), towards.largest_scale())


@pytest.mark.parametrize("rest", [0.0, 1e-11])
@pytest.mark.parametrize("only_precise", [True, False, None])
def test_products_of_balanced_points(only_precise, rest, rng):
    options = {} if only_precise is None else {"only_precise": only_precise}
    problem, point, (own, _, moved), balance = balanced_point(rng, Hinge(), L1(), **options)
    balance.residual = rest
    assert point.only_precise is (only_precise is not False)
    for precise in (True, False):
        used = precise or point.only_precise
        (u, error), (v, more) = own.products(used), moved.products(used)
        products, errors = point.products(precise)
        assert_array_equal(products, u + v)
        norms = np.sqrt(problem.squares[:3])
        expected = error + more + EPSILON * np.abs(u + v) + 1.01 * rest * norms
        assert_allclose(errors, expected, rtol=1e-13)


def test_free_sums_of_balanced_points(rng):
    """Those of features that a bound on one side has kept out of the balance stay."""
    one_sided = Separable([0.0, 1.0, 0.0], 0.0, [-np.inf, -np.inf, 0.0], np.inf)
    for penalty, columns in ((L1(), []), (TotalVariation(), []), (one_sided, [0])):
        _, point, _, _ = balanced_point(rng, Hinge(), penalty, columns)
        products, errors = np.arange(1.0, 4.0), np.full(3, 1e-9)
        sums = point.free_sums(products, errors)
        expected = [NOTHING] * (1 + penalty.free_level)
        assert sums == (expected if not columns else [*expected, NOTHING, (3.0, 1e-9)])
        assert point.sums_without_products() == [NOTHING]


@pytest.mark.parametrize("scale", [0.25, 1.0])
def test_points_with_constraints(scale, rng):
    """Less the support of the multipliers, and with C'mu in the products."""
    problem, _ = problem_of(rng, Hinge(), L1())
    C, mu = rng.normal(size=(2, 3)), np.array([1.5, -0.5])
    constraints = linear_constraints(LinearConstraint(C, [-3.0, -2.0], [1.0, 7.0]), 3)
    problem = replace(
        problem, regularisation=replace(problem.regularisation, constraints=constraints)
    )
    rows = problem.row_point(inside(problem, rng))
    mu = constraints.multipliers(mu)
    point = ConstrainedPoint(constraints, rows, mu)
    assert point.with_rows(rows) is point
    other = problem.row_point(0.5 * rows.theta)
    assert point.with_rows(other).inner is other
    assert_array_equal(point.theta, np.append(rows.theta, mu))
    bounds = np.where(mu > 0.0, constraints.upper, constraints.lower)
    support = exact_sum(bounds, mu)
    (value, rounding), (own, error) = point.value(scale), rows.value(scale)
    assert within((value, rounding), Fraction(own) - Fraction(scale) * support, 1e-13)
    added = 4.0 * EPSILON * (abs(own) + abs(scale * float(support)))
    assert_allclose(rounding, error + scale * constraints.support(mu)[1] + added, rtol=1e-12)
    products, errors = point.products(True)
    u, of_rows = rows.products(True)
    change, more = constraints.products(mu)
    assert_array_equal(products, u + change)
    assert_allclose(errors, of_rows + more + EPSILON * np.abs(products), rtol=1e-13)
    assert constraints.products(mu)[0] == pytest.approx(constraints.matrix.toarray().T @ mu)

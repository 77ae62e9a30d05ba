"""Multipliers of the robust SVM as dual points."""

from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from skpd.designs import Design
from skpd.losses import Hinge
from skpd.models.robust.problem import robust_problem
from skpd.models.robust.rows import HingePoint, TrianglePoint
from skpd.penalties import L1
from skpd.problems import linear_problem
from tests.oracles.exact_sums import exact_sum, within

EPSILON = 2.0**-52
GRID = 2.0**52
NOTHING = (0.0, 0.0)


def problem_of(rng, kappa=0.5, fit_intercept=True, n=12, **options):
    X, y = rng.normal(size=(n, 3)), np.where(np.arange(n) % 3, 1.0, -1.0)
    problem = robust_problem(
        Design(X), y, rng.dirichlet(np.ones(n)), epsilon=0.05, kappa=kappa, norm=1,
        fit_intercept=fit_intercept, **options,
    )  # fmt: skip
    return problem, X


def triangle(rng, n=12):
    """Multipliers on the grid."""
    return np.floor(rng.dirichlet(np.ones(3), n).T[:2] * GRID) / GRID


@pytest.mark.parametrize("bounds", [None, {1: (-1.0, inf)}])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sums_of_multipliers(fit_intercept, bounds, rng):
    """Those of `skpd.models.robust.lift`, in rational arithmetic."""
    problem, _ = problem_of(rng, 0.3, fit_intercept, bounds_of_free=bounds)
    X = np.column_stack([problem.design.matvec(unit) for unit in np.eye(3)])
    (p, r), y, c = triangle(rng), problem.y, problem.weights
    point = problem.feasible_point(np.stack([p, r]))
    assert isinstance(point, TrianglePoint)
    assert (point.linear, point.quadratic, point.only_precise) == (True, False, True)
    total = exact_sum(c, p) + exact_sum(c, r)
    assert within(point.value(1.0), total, 2.0 * EPSILON)
    value, rounding = point.value(1.0)
    assert point.value(0.25) == (0.25 * value, 0.25 * rounding)
    products, errors = point.products(False)
    for j, x in enumerate(X.T):
        v = exact_sum(c, r, y, x) - exact_sum(c, p, y, x)
        assert within((products[j], errors[j]), v, 3.0 * EPSILON * abs(products[j]) + 1e-30)
    rho = Fraction(0.3) * exact_sum(c, r)
    assert within((products[3], errors[3]), -rho, 3.0 * EPSILON * abs(products[3]))
    assert errors[3] >= EPSILON * abs(products[3])
    sums = point.free_sums(products, errors)
    if fit_intercept:
        s = exact_sum(c, r, y) - exact_sum(c, p, y)
        assert within(sums[0], s, 2.0 * EPSILON)
    else:
        assert sums[0] == NOTHING
    assert sums[1:] == ([(products[2], errors[2])] if bounds else [])
    assert point.sums_without_products() == sums[:1]
    largest = Fraction(point.largest_scale()) * Fraction(np.max(p + r))
    assert 1 - 9 * Fraction(EPSILON) <= largest <= 1 - 6 * Fraction(EPSILON)
    nothing = TrianglePoint(problem.rows, np.zeros((2, 12)), problem.free.columns)
    assert nothing.largest_scale() == 1.0
    small = TrianglePoint(problem.rows, np.full((2, 12), 0.25), problem.free.columns)
    assert small.largest_scale() == 2.0 * (1.0 - 8.0 * EPSILON)


def test_projections_of_multipliers(rng):
    """The nearest p on the grid with a sum of nearly 0, by SLSQP; r stays."""
    problem, _ = problem_of(rng)
    point = problem.feasible_point(np.stack([rng.uniform(0.0, 0.9, 12), np.full(12, 0.1)]))
    found = problem.projected(point)
    (p, r), normal = point.theta, problem.weights * problem.y
    q, same = found.theta
    assert_array_equal(same, r)
    assert_array_equal(q * GRID, np.floor(q * GRID))
    assert np.all(q >= 0.0) and np.all(q <= 1.0 - r)
    assert abs(normal @ (r - q)) <= 1e-15 < abs(normal @ (r - p))
    assert_array_equal(found.columns, problem.free.columns)
    expected = minimize(
        lambda x: problem.weights @ (x - p) ** 2, p, bounds=[(0.0, b) for b in 1.0 - r],
        constraints={"type": "eq", "fun": lambda x: normal @ (r - x)},
        method="SLSQP", options={"ftol": 1e-15},
    )  # fmt: skip
    assert_allclose(problem.weights @ (q - p) ** 2, expected.fun, rtol=1e-6)
    without, _ = problem_of(rng, fit_intercept=False)
    alone = without.feasible_point(point.theta)
    assert without.projected(alone) is alone and without.balanced(alone) is alone
    problem.y[:] = 1.0  # r - p has a sum of 0 for p = r only
    opposed = problem.feasible_point(np.stack([np.full(12, 0.5), np.full(12, 0.25)]))
    assert_allclose(problem.projected(opposed).theta[0], 0.25, atol=1e-15)
    kept = problem.feasible_point(np.stack([np.zeros(12), np.full(12, 0.75)]))
    assert problem.projected(kept) is kept  # p <= 1 - r leaves no room for that


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_without_flips_dual_points_are_those_of_the_hinge_loss(ridge, rng):
    problem, X = problem_of(rng, inf, ridge=ridge)
    plain = linear_problem(Design(X), problem.y, problem.weights, Hinge(), L1(), 0.05)
    p, _ = triangle(rng)
    point, theta = problem.feasible_point(np.stack([p, np.zeros(12)])), -problem.y * p
    assert isinstance(point, HingePoint)
    pairs = [
        (point, plain.feasible_point(theta)),
        (problem.projected(point), plain.projected(plain.feasible_point(theta))),
        (problem.balanced(point), plain.balanced(plain.feasible_point(theta))),
    ]
    for found, expected in pairs:
        assert_allclose(found.theta, np.stack([-problem.y * expected.theta, np.zeros(12)]))
        assert found.value(1.0) == pytest.approx(expected.value(1.0), rel=1e-12)
        (u, error), (v, other) = found.products(True), expected.products(True)
        assert_allclose(u, np.append(v, 0.0), rtol=1e-15)
        assert_allclose(error, np.append(other, 0.0), rtol=1e-12)
        free = found.free_sums(u, error)
        assert free == expected.free_sums(v, other)
    assert_allclose(problem.free_intervals(2.0), plain.free_intervals(2.0), rtol=1e-12)


def test_the_problem_of_the_hinge_loss_is_that_of_the_same_alpha(rng):
    problem, _ = problem_of(rng, inf)
    other = replace(problem, regularisation=replace(problem.regularisation, alpha=0.2))
    own = problem.free._hinge(problem)
    assert problem.free._hinge(problem) is own and own.alpha == 0.05
    assert problem.free._hinge(other).alpha == 0.2
    assert problem.free._hinge(problem).alpha == 0.05


def test_intervals_are_those_of_the_hinge_loss(rng):
    """The worst-case loss is at least the hinge loss."""
    problem, X = problem_of(rng, 0.5)
    plain = linear_problem(Design(X), problem.y, problem.weights, Hinge(), L1(), 0.05)
    assert_allclose(problem.free_intervals(1.5), plain.free_intervals(1.5), rtol=1e-12)

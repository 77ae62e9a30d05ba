"""Dual points orthogonal to free directions: what is promised of them, in exact arithmetic."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from skpd.certificates import certify_point
from skpd.designs import Design
from skpd.losses import (
    Absolute,
    Hinge,
    Huber,
    Logistic,
    MarginLoss,
    ModifiedHuber,
    Pinball,
    Squared,
    SquaredHinge,
)
from skpd.penalties import L1, Box, ElasticNetBall, L1Ball, TotalVariation, WeightedL1
from skpd.problems import linear_problem
from skpd.problems.balance import balance_exactly
from skpd.solvers import solve
from tests.oracles.exact_sums import exact, exact_sum, solved
from tests.oracles.reference import linear_programme
from tests.pairs import every_fourth_pair

UNIT_ROUNDOFF = Fraction(1, 2**53)
# the directions that the penalty and the intercept leave free, one of them or both, beside a
# shift of the features
FREE = [
    *product([L1()], [True], [0.0, 1e6]),
    *product([TotalVariation()], [False], [0.0, 100.0, 1e6]),
    *product([TotalVariation()], [True], [0.0, 100.0, 1e6]),
]
PAIRS = pytest.mark.parametrize(
    "loss, penalty, fit_intercept, shift",
    [
        (loss, *free)
        for loss, free in every_fourth_pair([Absolute(), Squared(), Huber(2.0), Hinge()], FREE)
    ],
    ids=str,
)


def conjugate(loss, y, theta):
    """l*(y, theta) of the losses of which it is a polynomial inside the box."""
    curvature = Fraction(1, 2) if isinstance(loss, Squared | Huber) else Fraction(0)
    return curvature * theta * theta + y * theta


def problem_and_point(loss, penalty, fit_intercept, shift, noise, rng):
    """A problem, and a dual point inside the box whose sums are rounding errors or noise."""
    n = 25
    X = rng.normal(size=(n, 4)) + shift
    y = rng.choice([-1.0, 1.0], n) if isinstance(loss, MarginLoss) else rng.normal(size=n)
    c = rng.dirichlet(np.full(n, 5.0))
    problem = linear_problem(Design(X), y, c, loss, penalty, 0.1, fit_intercept)
    F = [np.ones(n)] if fit_intercept else []
    F = np.stack([*F, X.sum(axis=1)] if problem.has_free_level else F, axis=1)
    theta = (-0.5 * y if isinstance(loss, MarginLoss) else 0.0) + 0.02 * rng.normal(size=n)
    root = np.sqrt(c)
    Q = np.linalg.qr(root[:, np.newaxis] * F)[0]
    theta -= Q @ (Q.T @ (root * theta)) / root
    return problem, theta + noise * rng.normal(size=n)


def exact_directions(problem):
    """The free directions as fractions."""
    found = [[Fraction(1)] * problem.n_samples] if problem.fit_intercept else []
    if problem.has_free_level:
        units = np.eye(problem.n_coefficients)
        columns = [exact(problem.design.matvec(unit)) for unit in units]
        found.append([sum(row) for row in zip(*columns, strict=True)])
    return found


def rest_of(directions, c, point, room):
    """What cancels the sums of a point with the least norm in units of the room of every row."""
    weights = [ci * r * r for ci, r in zip(c, room, strict=True)]
    gram = [[exact_sum(weights, f, g) for g in directions] for f in directions]
    multipliers = solved(gram, [-exact_sum(c, f, point) for f in directions])
    return [
        r * r * sum(m * f[i] for m, f in zip(multipliers, directions, strict=True))
        for i, r in enumerate(room)
    ]


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-6])
@PAIRS
def test_a_balanced_point_exists(loss, penalty, fit_intercept, shift, noise, rng):
    """The rest that cancels the sums is as small and as cheap as promised, and in the box."""
    problem, theta = problem_and_point(loss, penalty, fit_intercept, shift, noise, rng)
    balance = balance_exactly(problem, theta)
    assert balance is not None
    directions, c, y = exact_directions(problem), exact(problem.weights), exact(problem.y)
    lower, upper = problem.loss.dual_bounds(problem.y)
    room = np.minimum(np.minimum(theta - lower, upper - theta), np.max(np.abs(theta)))
    point = [t + e for t, e in zip(exact(theta), exact(balance.change), strict=True)]
    rest = rest_of(directions, c, point, exact(0.5 * room))
    whole = [t + e for t, e in zip(point, rest, strict=True)]
    assert all(exact_sum(c, f, whole) == 0 for f in directions)
    assert exact_sum(c, rest, rest) <= Fraction(balance.residual) ** 2
    for value, low, high in zip(whole, lower, upper, strict=True):
        assert low == -np.inf or Fraction(low) <= value
        assert high == np.inf or value <= Fraction(high)

    def sum_of_conjugates(values, scale):
        scaled = [scale * value for value in values]
        return exact_sum(c, [conjugate(loss, *pair) for pair in zip(y, scaled, strict=True)])

    scales = [Fraction(1, 100), Fraction(1, 2), Fraction(1)]
    if isinstance(loss, Squared):
        scales.append(Fraction(50))
    for scale in scales:
        added = sum_of_conjugates(whole, scale) - sum_of_conjugates(point, scale)
        assert added <= max(scale, 1) ** 2 * Fraction(balance.cost)


@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-6])
@PAIRS
def test_the_change_is_a_share_of_the_way_to_a_point_in_the_box(
    loss, penalty, fit_intercept, shift, noise, rng
):
    problem, theta = problem_and_point(loss, penalty, fit_intercept, shift, noise, rng)
    balance = balance_exactly(problem, theta)
    lower, upper = problem.loss.dual_bounds(problem.y)
    assert 0.0 < balance.share <= 0.25
    assert np.all(lower <= balance.endpoint) and np.all(balance.endpoint <= upper)
    share, c, y = Fraction(balance.share), exact(problem.weights), exact(problem.y)
    here, there = exact(theta), exact(balance.endpoint)
    middle = [t + e for t, e in zip(here, exact(balance.change), strict=True)]
    convex = [(1 - share) * t + share * e for t, e in zip(here, there, strict=True)]
    # the other point is rounded, and so is the share
    for one, other, t, end in zip(middle, convex, here, there, strict=True):
        assert abs(one - other) <= 8 * UNIT_ROUNDOFF * share * (abs(t) + abs(end))
    sums = [
        exact_sum(c, [conjugate(loss, *pair) for pair in zip(y, values, strict=True)])
        for values in (middle, here, there)
    ]
    mean = (1 - share) * sums[1] + share * sums[2]
    sizes = sum(abs(yi) + 1 for yi in y) / len(y)
    assert sums[0] <= mean + 64 * UNIT_ROUNDOFF * share * sizes


def test_no_balance_where_rows_have_no_room(rng):
    """At the corners of the box nothing can move, nor can one row serve two directions."""
    X, y = rng.normal(size=(10, 2)), rng.choice([-1.0, 1.0], 10)
    rows = np.full(10, 0.1)
    corner = np.where(rng.random(10) < 0.5, -y, 0.0)
    with_intercept = linear_problem(Design(X), y, rows, Hinge(), L1(), 0.1)
    assert balance_exactly(with_intercept, corner) is None
    corner[3] = -0.5 * y[3]
    both = linear_problem(Design(X), y, rows, Hinge(), TotalVariation(), 0.1)
    assert balance_exactly(both, corner) is None
    level = linear_problem(Design(X), y, rows, Hinge(), TotalVariation(), 0.1, fit_intercept=False)
    nothing = balance_exactly(level, np.zeros(10))
    assert nothing is not None and nothing.residual == nothing.cost == 0.0
    without = linear_problem(Design(X), y, rows, Hinge(), L1(), 0.1, fit_intercept=False)
    assert balance_exactly(without, -0.5 * y) is None  # nothing is free


@pytest.mark.parametrize("sums, fit_intercept", [(0.0, False), (0.0, True), (0.7, True)])
@pytest.mark.parametrize(
    "loss", [Hinge(), SquaredHinge(), Logistic(), ModifiedHuber()], ids=lambda loss: str(loss)
)
def test_a_level_that_is_nothing_of_its_own_where_it_counts(loss, sums, fit_intercept):
    """The level classifies all rows but those of one sum, and of these only a constant is left.

    Of n = 9 rows it separates 4, at no loss in the limit. The 3 + 2 others have the loss of
    their best constant: of 0 without an intercept.
    """
    one = sums + np.array([-2.0, -1.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    X = np.column_stack([0.75 * one, 0.25 * one])
    y = np.array([-1.0, -1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    rows = np.full(9, 1 / 9)
    few = np.repeat(1 / 9, 5)
    b = loss.best_constant(y[4:], few / few.sum()) if fit_intercept else 0.0
    best = float(few @ loss.value(y[4:], np.full(5, b)))
    problem = linear_problem(Design(X), y, rows, loss, TotalVariation(), 1e-3, fit_intercept)
    found = solve(problem, tol=1e-6, max_iter=200, random_state=np.random.RandomState(0))
    assert found.converged
    assert best - 1e-6 <= found.certificate.dual <= best + 1e-15


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_features_of_zeros_and_a_free_level(fit_intercept):
    """The model is the best constant, or 0."""
    y = np.array([1.0, -1.0, -1.0, -1.0])
    problem = linear_problem(
        Design(np.zeros((4, 2))), y, np.full(4, 0.25), SquaredHinge(), TotalVariation(), 1.0,
        fit_intercept,
    )  # fmt: skip
    found = solve(problem, tol=1e-9, max_iter=10, random_state=np.random.RandomState(0))
    # (1 - b)^2 + 3 (1 + b)^2 is least at b = -1/2
    best = Fraction(3, 4) if fit_intercept else Fraction(1)
    assert found.converged
    assert best - Fraction(1, 10**9) <= Fraction(found.certificate.dual) <= best


# Problems of one or two features whose optimum is a formula, in exact arithmetic


def grid(rng, shape, shift):
    """Multiples of 1/8, which a shift by a power of 2 leaves exact."""
    return rng.integers(-16, 17, shape) / 8.0 + shift


def best_squared(columns, y, alpha):
    """The least mean (z - y)^2 / 2 + alpha |v| over combinations z of columns, v of the last."""
    n = len(y)

    def value(some, sign):
        gram = [[exact_sum(f, g) / n for g in some] for f in some]
        right = [exact_sum(f, y) / n for f in some]
        if sign:
            right[-1] -= alpha * sign
        w = solved(gram, right)
        if sign and w[-1] * sign < 0:
            return None
        z = [sum(wk * f[i] for wk, f in zip(w, some, strict=True)) for i in range(n)]
        loss = sum((a - b) ** 2 for a, b in zip(z, y, strict=True)) / (2 * n)
        return loss + (alpha * sign * w[-1] if sign else 0)

    values = [value(columns[:-1], 0), *(value(columns, sign) for sign in (-1, 1))]
    return min(v for v in values if v is not None)


def certified(problem, best, rng):
    """Checks certificates of the solution and of points near it against the exact optimum."""
    found = solve(problem, tol=1e-8, max_iter=20_000, random_state=np.random.RandomState(0))
    unit = Fraction(problem.null_objective)
    assert found.converged
    assert Fraction(found.certificate.dual) <= best <= Fraction(found.certificate.primal)
    assert best - Fraction(found.certificate.dual) <= Fraction(1, 10**8) * unit
    theta = found.dual_coef
    for noise in (1e-16, 1e-14, 1e-10, 1e-4):
        for scale in (1.0, 1.0 - noise, 1.0 + noise, 0.5):
            near = scale * theta * (1.0 + noise * rng.normal(size=len(theta)))
            for coef in (
                found.coef,
                found.coef * (1.0 + noise * rng.normal(size=len(found.coef))),
            ):
                coef = problem.penalty.feasible(coef)
                certificate, _ = certify_point(problem, coef, found.intercept, near)
                assert Fraction(certificate.dual) <= best


SHIFTS = pytest.mark.parametrize("shift", [0.0, 2.0**10, -(2.0**20)])
ALPHAS = pytest.mark.parametrize("alpha", [1e-2, 1e-5, 1e-8])
ROWS = np.full(16, 1 / 16)  # exact


@pytest.mark.parametrize(
    "penalty, fit_intercept, shift",
    [
        *product([L1Ball, ElasticNetBall], [True], [0.0, 2.0**10, 2.0**24]),
        *product([L1Ball, ElasticNetBall, lambda r: Box(-r, r)], [False], [0.0]),
        (ElasticNetBall, False, 2.0**10),
    ],
)
def test_a_ball_far_larger_than_the_coefficients(penalty, fit_intercept, shift, rng):
    """Least squares; X' diag(c) theta is 0, to more digits than those of a number theta."""
    X, y = grid(rng, (16, 3), shift), grid(rng, 16, 3.0)
    columns = [exact(x) for x in X.T]
    columns = [[Fraction(1)] * 16, *columns] if fit_intercept else columns
    best = best_squared(columns, exact(y), Fraction(0))
    problem = linear_problem(Design(X), y, ROWS, Squared(), penalty(1e8), 1.0, fit_intercept)
    certified(problem, best, rng)


@SHIFTS
@ALPHAS
def test_lasso_of_one_feature(alpha, shift, rng):
    X, y = grid(rng, (16, 1), shift), grid(rng, 16, 3.0)
    columns = [[Fraction(1)] * 16, exact(X[:, 0])]
    best = best_squared(columns, exact(y), Fraction(alpha))
    certified(linear_problem(Design(X), y, ROWS, Squared(), L1(), alpha), best, rng)


@ALPHAS
@SHIFTS
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_total_variation_of_two_features(fit_intercept, alpha, shift, rng):
    """w.x = w_1 (x_1 + x_2) + (w_2 - w_1) x_2: the lasso on x_2 beside a free column."""
    X, y = grid(rng, (16, 2), shift), grid(rng, 16, 3.0)
    first, second = exact(X[:, 0]), exact(X[:, 1])
    columns = [[a + b for a, b in zip(first, second, strict=True)], second]
    if fit_intercept:
        columns = [[Fraction(1)] * 16, *columns]
    best = best_squared(columns, exact(y), Fraction(alpha))
    problem = linear_problem(Design(X), y, ROWS, Squared(), TotalVariation(), alpha, fit_intercept)
    certified(problem, best, rng)


@SHIFTS
@pytest.mark.parametrize("alpha", [1e-3, 1e-6])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=str)
def test_separable_classes_of_one_feature(loss, alpha, shift, rng):
    """Only the ends of the gap between the classes count where alpha is small.

    At w = 2 (1 - s) / gap each of the two has slack s, which costs 2 s / n or 2 s^2 / n.
    """
    X = np.append(-1.0 - np.arange(8), 1.0 + np.arange(8))[:, np.newaxis] + shift
    y = np.repeat([-1.0, 1.0], 8)
    n, gap, price = 16, 2, Fraction(alpha)
    s = Fraction(0) if isinstance(loss, Hinge) else price * n / (2 * gap)
    best = 2 * s * s / n + price * 2 * (1 - s) / gap
    certified(linear_problem(Design(X), y, ROWS, loss, L1(), alpha), best, rng)


@pytest.mark.parametrize("shift", [0.0, 64.0, 1024.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", [Hinge(), Absolute()], ids=str)
def test_total_variation_with_a_piecewise_linear_loss(loss, fit_intercept, shift, rng):
    X = grid(rng, (30, 4), shift)
    z = X @ [1.0, 1.0, -1.0, -1.0] + rng.normal(size=30)
    y = np.where(z > 0.0, 1.0, -1.0) if isinstance(loss, MarginLoss) else z
    rows = np.full(30, 1 / 30)
    for alpha in (1e-2, 1e-4):
        problem = linear_problem(Design(X), y, rows, loss, TotalVariation(), alpha, fit_intercept)
        best = linear_programme(X, y, rows, loss, TotalVariation(), alpha, fit_intercept)
        found = solve(problem, tol=1e-8, max_iter=20_000, random_state=np.random.RandomState(0))
        unit = problem.null_objective
        assert found.converged
        assert found.certificate.dual <= best + 1e-9 * unit
        assert best - 2e-8 * unit <= found.certificate.dual
        assert abs(found.certificate.primal - best) <= 2e-8 * unit


def test_targets_whose_spacing_is_1():
    """The point between theta and the rounded endpoint misses theta + change, times y of 7e15."""
    n, c = 30, np.full(30, 1.0 / 30.0)
    for seed in (507, 532, 537, 583):
        rng = np.random.default_rng(seed)
        X, y = 10.0 + rng.normal(size=(n, 2)), -6920603225967971.0 + rng.integers(0, 2, n)
        problem = linear_problem(Design(X), y, c, Pinball(0.8), WeightedL1([1.0, 0.0]), 0.005)
        near = problem.projected(problem.feasible_point(rng.uniform(-0.7, 0.15, n))).theta
        point = problem.feasible_point(near + 0.01 * rng.normal(size=n))
        balanced = problem.balanced(point)
        assert balanced.balance.share > 0.01
        rows = zip(*map(exact, (c, balanced.theta, balanced.balance.change, y)), strict=True)
        value, rounding = map(Fraction, balanced.value(1.0))
        assert value - rounding <= -sum(w * (t + d) * target for w, t, d, target in rows)

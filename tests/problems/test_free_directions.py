"""Intervals of the intercept, the level and unpenalised coefficients, and what balances sums."""

from math import fsum, inf, isnan
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd.designs import Design
from skpd.losses import Absolute, Hinge, Huber, Squared
from skpd.penalties import L1, NonNegativeL1, Separable, TotalVariation, WeightedL1
from skpd.problems import balance, linear_problem
from skpd.problems.dual_points import BalancedPoint
from skpd.problems.free_directions import FreeDirections
from tests.oracles.optima import linear_optimum

EPSILON = 2.0**-52
NOTHING = (0.0, 0.0)
EVERYTHING = (-inf, inf)


def problem_of(rng, loss=None, penalty=None, fit_intercept=True, n=12, X=None, alpha=0.1):
    X = rng.normal(size=(n, 3)) if X is None else X
    y = np.where(np.arange(len(X)) % 3, 1.0, -1.0)
    loss, penalty = loss or Hinge(), penalty or L1()
    c = rng.dirichlet(np.full(len(X), 3.0))
    return linear_problem(Design(X), y, c, loss, penalty, alpha, fit_intercept)


# Unpenalised coefficients


@pytest.mark.parametrize("lower, left_out", [(-np.inf, [2]), (-5.0, [])])
def test_coefficients_that_others_imply(lower, left_out, rng):
    """They are fixed at 0 if none has a bound; rows without a weight do not count."""
    X = rng.normal(size=(12, 4))
    X[2:, 2] = X[2:, 0] / 3.0 + 0.1
    penalty = Separable([0.0, 1.0, 0.0, 0.0], 0.0, [-np.inf, -np.inf, lower, -np.inf], np.inf)
    problem = problem_of(rng, penalty=penalty, X=X)
    assert problem.left_out.tolist() == []
    weights = np.where(np.arange(12) < 2, 0.0, 0.1)
    problem = linear_problem(Design(X), problem.y, weights, Hinge(), penalty, 0.1)
    free = problem.free
    assert free.left_out.tolist() == left_out and free.dependence.nearly == [1]
    assert_allclose(free.squares, weights @ X[:, [0, 2, 3]] ** 2, rtol=1e-14)
    ends = NOTHING if left_out else (-5.0, inf)
    assert free.intervals(0.1, 1.0)[1:] == [EVERYTHING, ends, EVERYTHING]
    coef = np.array([1.0, 2.0, 3.0, 4.0])
    found, intercept = free.restricted(coef, 0.5)
    if left_out:
        assert_allclose(found, [2.0, 2.0, 0.0, 4.0], rtol=1e-12)
        assert_allclose(intercept, 0.8, rtol=1e-12)
        assert_allclose((X @ found + intercept)[2:], (X @ coef + 0.5)[2:], rtol=1e-12)
        assert free.restricted(found, 0.5) == (found, 0.5)
    else:
        assert found is coef and intercept == 0.5


def test_features_with_an_upper_bound_are_kept(rng):
    X = np.column_stack([np.arange(5.0), np.arange(5.0) / 3.0])
    penalty = Separable([0.0, 0.0], 0.0, -np.inf, [np.inf, 1.0])
    assert len(problem_of(rng, penalty=penalty, X=X).left_out) == 0


@pytest.mark.parametrize("shape, rank, fit_intercept, expected", [
    ((4, 3), 3, True, False), ((4, 4), 4, False, True), ((4, 5), 3, True, True),
    ((4, 5), 3, False, False), ((4, 5), 2, True, False), ((4, 4), 3, True, True),
])  # fmt: skip
def test_features_that_span_all_rows(shape, rank, fit_intercept, expected, rng):
    """No dual point but 0 is then orthogonal to them."""
    X = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    problem = problem_of(rng, Hinge(), WeightedL1(np.zeros(shape[1])), fit_intercept, X=X)
    free = problem.free
    assert bool(free.outnumber_rows) is expected
    if expected:
        assert len(free.left_out) == 0
        point = problem.feasible_point(-0.5 * problem.y)
        assert problem.projected(point) is point and problem.balanced(point) is point
        assert_allclose(free.squares, problem.weights @ X**2)


@pytest.mark.parametrize("penalty, level, columns", [
    (L1(), False, []), (TotalVariation(), True, []), (WeightedL1([0.0, 1.0, 0.0]), False, [0, 2])
])  # fmt: skip
def test_sums_and_the_order_of_intervals(penalty, level, columns, rng):
    gradient = np.array([1.0, 2.0, 4.0])
    for fit_intercept in (True, False):
        problem = problem_of(rng, penalty=penalty, fit_intercept=fit_intercept)
        free = problem.free
        assert free.sums(gradient, 0.5) == [0.5] + [7.0] * level + gradient[columns].tolist()
        first, second = free.intervals(0.1, 0.5), free.intervals(0.1, 1.0)
        assert len(first) == 1 + level + len(columns) and free.intervals(0.1, 1.0) is second
        assert first[1 + level :] == [EVERYTHING] * len(columns)
        assert (first[0] == NOTHING) is (not fit_intercept)
        if fit_intercept and not level:
            assert second[0][0] < first[0][0] < first[0][1] < second[0][1] or len(columns)
        assert isnan(free.largest_alpha(problem)) is bool(level or len(columns))
    assert problem_of(rng).free.largest_alpha(problem_of(rng)) > 0.0


# Intervals of the intercept and the level


@pytest.mark.parametrize("loss", [Hinge(), Absolute(), Squared(), Huber(0.5)], ids=str)
@pytest.mark.parametrize("penalty", [L1(), NonNegativeL1()], ids=str)
def test_intervals_of_the_intercept(penalty, loss, rng):
    """Jensen's inequality for the mean row, with R <= upper / alpha."""
    problem = problem_of(rng, loss, penalty)
    X, y, c = problem.design.table(np.arange(3)), problem.y, problem.weights
    upper, alpha = 0.7, 0.2
    radius = upper / alpha
    sets = [c * (y > 0), c * (y < 0)] if loss.of_labels else [c]
    reaches, bounds = [], []
    for weights in sets:
        mean = weights @ X / weights.sum()
        sizes = np.abs(mean) if penalty.even else np.maximum(mean, -mean)
        reaches.append(radius * np.max(sizes, initial=0.0))
    if loss.of_labels:
        least = [1.0 - upper / w.sum() - reach for w, reach in zip(sets, reaches, strict=True)]
        bounds = least[0], -least[1]
    else:
        delta = 0.5
        room = {Absolute: upper, Squared: np.sqrt(2.0 * upper), Huber: upper / delta + delta / 2}
        if isinstance(loss, Huber) and upper <= delta**2 / 2:
            room[Huber] = np.sqrt(2.0 * upper)
        room = room[type(loss)] + reaches[0]
        bounds = c @ y - room, c @ y + room
    [found] = problem.free.intervals(alpha, upper)
    assert_allclose(found, bounds, rtol=1e-13)
    assert found[0] < bounds[0] and found[1] > bounds[1]


def support_of(penalty, row, error, radius):
    problem = problem_of(np.random.default_rng(0), penalty=penalty)
    return problem.free._support(np.array(row), np.array(error))(radius)


def test_supports_with_bounds_on_unpenalised_coefficients():
    """The largest x.w: radius times the penalised part, and the ends of free coefficients."""
    bounded = Separable([0.0, 1.0, 0.0], 0.0, [-2.0, -np.inf, -1.0], [0.5, np.inf, 4.0])
    for sign, exact in ((1.0, 8.5), (-1.0, 4.0)):
        row = sign * np.array([1.0, 3.0, 2.0])
        assert support_of(bounded, row, np.zeros(3), 0.0) == exact * (1.0 + 64.0 * EPSILON)
        assert_allclose(support_of(bounded, row, np.zeros(3), 5.0), 15.0 + exact, rtol=1e-13)
    wide = support_of(bounded, [1.0, 3.0, -0.125], [0.25, 0.5, 0.25], 5.0)
    assert_allclose(wide, 3.5 * 5.0 + 1.25 * 0.5 + 0.5, rtol=1e-13)
    unbounded = WeightedL1([0.0, 1.0, 0.0])
    assert_allclose(support_of(unbounded, [0.0, 3.0, 0.0], np.zeros(3), 5.0), 15.0)
    assert support_of(unbounded, [1e-300, 3.0, 0.0], np.zeros(3), 5.0) == inf
    assert support_of(L1(), [1.0, -3.0, 2.0], np.zeros(3), 5.0) == 15.0


def level_of(sets, fit_intercept=True, same_sum=False):
    """The intervals of intercept and level of sets lower <= b + g m <= above."""
    rows = SimpleNamespace(
        loss=SimpleNamespace(constant_interval=lambda groups, upper, reaches: groups[0]),
        fit_intercept=fit_intercept,
    )
    free = FreeDirections(rows, SimpleNamespace(support=lambda side, radius: radius * side))
    free.__dict__["_sets_of_rows"] = (
        same_sum,
        [([bounds], g, [1.0, 2.0], error) for g, error, bounds in sets],
    )
    return free._intercept_and_level(1.0, 1.0)


def units(found, exact):
    """The distance of a bound from a number, in units of its precision."""
    return (found / exact - 1.0) / EPSILON


def test_levels_of_two_sets():
    """2 m <= 3 + 2 and -2 m <= 2 + 1; then b from each set at the ends of m."""
    sets = [(1.0, 0.0, (-1.0, 3.0)), (-1.0, 0.0, (-2.0, 2.0))]
    (first, last), (lowest, highest) = level_of(sets)
    # 4 units of the bounds, of the sums and of the quotient
    for found, exact in ((highest, 2.5), (lowest, -1.5)):
        assert 10.0 <= units(found, exact) <= 14.0
    # b >= -1 - 2.5, b >= -2 - 1.5; b <= 3 + 1.5, b <= 2 + 2.5, with 8 units of 2.5
    assert 30.0 <= (-3.5 - first) / EPSILON <= 56.0
    assert 30.0 <= (last - 4.5) / EPSILON <= 56.0
    _, narrow = level_of([(0.25, 0.0, (-1.0, 3.0)), (-0.25, 0.0, (-2.0, 2.0))])
    assert_allclose(narrow, (-6.0, 10.0), rtol=1e-14)
    (first, last), _ = level_of([(3.0, 0.0, (0.0, 0.5)), (1.0, 0.0, (0.25, 1.0))])
    # -0.5 <= m <= 0.125: b >= 0 - 3/8, b >= 1/4 - 1/8; b <= 1/2 + 3/2, b <= 1 + 1/2
    assert_allclose([first, last], [0.125, 1.5], atol=4e-15, rtol=0.0)


def test_levels_with_errors_of_sums():
    """The difference 2 of the sums may be 0.5 less, or 0.5 more where that is worse."""
    sets = [(1.0, 0.125, (-1.0, 3.0)), (-1.0, 0.375, (-2.0, 2.0))]
    (first, last), level = level_of(sets)
    assert_allclose(level, (-2.0, 10.0 / 3.0), rtol=1e-14)
    lower, above = -1.0 - 1.125 * 10.0 / 3.0, 3.0 + 1.125 * 2.0
    other = -2.0 - 1.375 * 2.0, 2.0 + 1.375 * 10.0 / 3.0
    assert_allclose([first, last], [max(lower, other[0]), min(above, other[1])], rtol=1e-14)
    empty = [(1.0, 0.125, (5.0, -3.0)), (-1.0, 0.375, (4.0, -1.0))]
    # -3 - 4 >= 2 m, of which the error may make 2.5 m
    assert level_of(empty)[1] == EVERYTHING
    one = [(1.0, 0.125, (-9.0, -3.0)), (-1.0, 0.375, (4.0, 9.0))]
    assert_allclose(level_of(one)[1], (-18.0 / 1.5, -7.0 / 2.5), rtol=1e-14)
    # all but 2^-20 of the difference is error, which is rounded up
    nearly = [(1.0, 1.0 - 2.0**-20, (-1.0, 3.0)), (-1.0, 1.0, (-2.0, 2.0))]
    extra = units(level_of(nearly)[1][1], 5.0 * 2.0**20)
    assert 0.9 <= extra / (2.0**20 * (4.0 * (2.0 - 2.0**-20) + 8.0)) <= 1.1


@pytest.mark.parametrize("sets", [
    [(1.0, 0.0, (-1.0, inf)), (-1.0, 0.0, (-2.0, inf))],
    [(1.0, 1.0, (-1.0, 3.0)), (-1.0, 1.0, (-2.0, 2.0))],
    [(1.0, 0.0, (-1.0, 3.0)), (1.0, 0.0, (-2.0, 2.0))],
    [(0.5, 0.0, (-1.0, 3.0))],
])  # fmt: skip
def test_sets_that_do_not_bound_the_level(sets):
    assert level_of(sets) == (EVERYTHING, EVERYTHING)


def test_levels_with_one_unknown():
    """Without an intercept m = 0 is 0 <= 0 m <= 0; with rows of one sum only b counts."""
    sets = [(2.0, 0.0, (-1.0, 3.0)), (-1.0, 0.0, (-2.0, 2.0))]
    intercept, level = level_of(sets, fit_intercept=False)
    assert intercept == NOTHING
    # 2 m <= 3, -m >= -2, 3 m <= 5 and 2 m >= -1, -m <= 2, -3 m <= 3
    assert_allclose(level, (-0.5, 1.5), rtol=1e-14)
    assert level_of(sets, same_sum=True) == ((-1.0, 2.0), NOTHING)
    half = [(2.0, 0.0, (-1.0, inf)), (-1.0, 0.0, (-2.0, 2.0))]
    assert_allclose(level_of(half)[1], (-1.0, inf), rtol=1e-14)
    assert level_of(half)[0] == EVERYTHING


@pytest.mark.parametrize("loss", [Hinge(), Squared()], ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sets_of_rows(fit_intercept, loss, rng):
    """Rows with small and with large sums, each group by itself, with a bound on rounding."""
    X = rng.normal(size=(16, 3)) + 0.25
    X[0] = [0.5, 0.25, -0.75]
    X[1] = 1.0 + X[1]
    problem = problem_of(rng, loss, TotalVariation(), fit_intercept, X=X)
    if fit_intercept:  # a sum that is the mean, beside rows without a weight
        problem.weights[2] = 0.0
        X[0, 2] += np.mean(X.sum(axis=1)[np.arange(16) != 2]) * 16.0 / 15.0
    free, y, c = problem.free, problem.y, problem.weights
    same_sum, sets = free._sets_of_rows
    sums = problem.design.matvec(np.ones(3))
    middle = np.mean(sums[c > 0.0]) if fit_intercept else 0.0
    low = sums <= middle if fit_intercept else sums < middle
    groups = [y > 0, y < 0] if loss.of_labels else [np.ones(16, dtype=bool)]
    expected = [c * (side & own) for side in (low, sums > middle) for own in groups]
    assert not same_sum and len(sets) == len(expected)
    for k, ((found, mean, box, error), weights) in enumerate(zip(sets, expected, strict=True)):
        totals = [s.total for s in found]
        own = k % len(groups)
        assert totals[own] == np.sum(weights) and sum(totals) == totals[own]
        scale = np.full(16, 1.0 / np.sum(weights))
        row, of_row = problem.design.rmatvec_compensated(np.ascontiguousarray(weights), scale)
        of_row = of_row + (16.0 + 4.0) * EPSILON * np.abs(row)
        assert_allclose(mean, fsum(row), rtol=1e-13)
        assert_allclose(error, fsum(of_row) + 4.0 * EPSILON * abs(fsum(row)), rtol=1e-12)
        sides = [problem.penalty.worst_case(side, of_row) for side in (row, -row)]
        assert_allclose(np.stack(box), np.stack(sides), rtol=1e-14)


@pytest.mark.parametrize("loss", [Hinge(), Squared()], ids=str)
def test_rows_of_the_mean_sum_and_of_none(loss, rng):
    """Sums equal to the mean count as low; without an intercept rows with a sum of 0 do not."""
    X = np.array([[1.0, 0.0], [2.0, 1.0], [1.0, 1.0], [0.5, 1.5], [9.0, 9.0]])
    y, c = np.array([1.0, -1.0, -1.0, 1.0, 1.0]), np.array([0.25, 0.25, 0.25, 0.25, 0.0])
    problem = linear_problem(Design(X), y, c, loss, TotalVariation(), 0.1)
    sums = [mean for _, mean, _, _ in problem.free._sets_of_rows[1]]
    assert sums == ([1.5, 2.0, 3.0] if loss.of_labels else [5.0 / 3.0, 3.0]) or sums == [
        pytest.approx(5.0 / 3.0), 3.0
    ]  # fmt: skip
    centred = linear_problem(Design(X - 1.0), y, c, loss, TotalVariation(), 0.1, False)
    sums = [mean for _, mean, _, _ in centred.free._sets_of_rows[1]]
    assert sums == [-1.0, 1.0]
    equal = np.array([[1.0, 2.0], [2.0, 1.0], [0.0, 3.0], [1.5, 1.5], [3.0, 0.0]])
    same_sum, sets = linear_problem(
        Design(equal), y, c, loss, TotalVariation(), 0.1
    ).free._sets_of_rows
    assert same_sum and [mean for _, mean, _, _ in sets] == [3.0] * (1 + loss.of_labels)
    without = linear_problem(Design(equal), y, c, loss, TotalVariation(), 0.1, False)
    assert not without.free._sets_of_rows[0]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_intervals_hold_models_with_small_objectives(fit_intercept, seed):
    """The least and the largest level and intercept with P <= upper, by HiGHS."""
    rng = np.random.default_rng(seed)
    problem = problem_of(rng, Absolute(), TotalVariation(), fit_intercept, alpha=2.0)
    X, y, c = problem.design.table(np.arange(3)), problem.y, problem.weights
    upper = 1.5 * problem.null_objective
    # variables w, b, residuals, differences; level m of w as the mean of its ends
    n, d = 12, 3
    eye, zero = np.eye(n), np.zeros((n, d - 1))
    ones = np.ones((n, 1)) * fit_intercept
    D = np.diff(np.eye(d), axis=0)
    A = np.block([
        [X, ones, -eye, zero], [-X, -ones, -eye, zero],
        [D, np.zeros((2, 1)), np.zeros((2, n)), -np.eye(2)],
        [-D, np.zeros((2, 1)), np.zeros((2, n)), -np.eye(2)],
    ])  # fmt: skip
    A = np.vstack([A, np.concatenate([np.zeros(d + 1), c, np.full(2, 2.0)])])
    right = np.concatenate([y, -y, np.zeros(4), [upper]])
    bounds = [(None, None)] * (d + 1) + [(0, None)] * (n + 2)
    cost = np.zeros(A.shape[1])
    cost[d] = fit_intercept
    intercept, level = problem.free.intervals(2.0, upper)
    if fit_intercept:
        ends = [s * linear_optimum(s * cost, A, right, bounds=bounds).fun for s in (1.0, -1.0)]
        assert intercept[0] <= ends[0] and ends[1] <= intercept[1]
        assert intercept[1] - intercept[0] <= 40.0 * (ends[1] - ends[0])
    cost = np.zeros(A.shape[1])
    cost[:d] = 1.0 / d
    ends = [s * linear_optimum(s * cost, A, right, bounds=bounds).fun for s in (1.0, -1.0)]
    assert level[0] <= ends[0] and ends[1] <= level[1]
    assert level[1] - level[0] <= 40.0 * (ends[1] - ends[0])


# Estimates


@pytest.mark.parametrize("penalty", [L1(), TotalVariation(), WeightedL1([0.0, 1.0, 0.0])])
def test_likely_costs(penalty, rng):
    """Twice the scale of predictions for what has no interval, else the interval's end."""
    problem = problem_of(rng, penalty=penalty)
    free, columns = problem.free, problem.free_columns
    sizes = [1.0] * (1 + problem.has_free_level) + problem.squares[columns].tolist()
    expected = 2.0 * problem.prediction_scale / np.sqrt(sizes)
    assert_allclose(free.likely_sizes, expected, rtol=1e-13)
    gradient, slope, upper = np.array([0.5, -0.25, 0.125]), -0.3, 5.0
    sums = free.sums(gradient, slope)
    cost = 0.0
    intervals = free.intervals(0.1, problem.null_objective)
    for total, (low, high), likely in zip(sums, intervals, expected, strict=True):
        proven = max(-low * total, -high * total)
        cost += proven if np.isfinite(proven) else abs(total) * likely
    assert_allclose(free.likely_cost(gradient, slope, 0.1, upper), cost, rtol=1e-12)
    found = free.likely_cost(gradient, slope, 0.1, 0.5 * problem.null_objective)
    assert found < cost or len(columns)
    tiny = 1e-14 * upper / sum(abs(s) * e for s, e in zip(sums, expected, strict=True))
    for factor, is_free in ((0.99, True), (1.01, False)):
        found = free.likely_cost(factor * tiny * gradient, factor * tiny * slope, 0.1, upper)
        assert bool(found == 0.0) is is_free
    without = problem_of(rng, fit_intercept=False)
    assert without.free.likely_cost(gradient, slope, 0.1, upper) == 0.0


# The attempts of a balance


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("n_failures", [0, 1, 2, 3])
def test_attempts_of_a_balance(n_failures, free, rng, monkeypatch):
    """Of the point itself if features are free, of its projection, and of that without specks."""
    penalty = WeightedL1([0.0, 1.0, 1.0]) if free else L1()
    problem = problem_of(rng, penalty=penalty)
    theta = -problem.y * rng.uniform(0.1, 0.9, 12)
    point, seen = problem.feasible_point(theta), []
    projected = problem.projected(point).theta
    found = SimpleNamespace(endpoint=theta, change=theta, share=0.1, residual=0.0, cost=0.0)
    speck = projected.copy()
    speck[:2] = -problem.y[:2] * np.array([0.7e-9, 1.4e-9]) * np.max(np.abs(projected))
    monkeypatch.setattr(FreeDirections, "_projected", lambda *_: speck)

    def scripted(of, theta):
        assert of is problem
        seen.append(theta)
        return None if len(seen) <= n_failures else found

    monkeypatch.setattr(balance, "balance_exactly", scripted)
    balanced = problem.free.balanced(problem, point)
    cleared = np.where(np.arange(12) == 0, 0.0, speck)
    attempts = [point.theta] * free + [speck, cleared]
    assert len(seen) == min(n_failures + 1, len(attempts))
    for own, expected in zip(seen, attempts, strict=False):
        assert_array_equal(own, expected)
    success = n_failures < len(attempts)
    assert isinstance(balanced, BalancedPoint) is success
    assert_array_equal(balanced.theta, seen[-1])
    if success:
        assert balanced.balance is found and balanced._endpoint.theta is theta


def test_projections_of_points(rng):
    """With an intercept the sum vanishes; without anything free the point is its own."""
    problem = problem_of(rng)
    point = problem.feasible_point(-problem.y * rng.uniform(0.1, 0.9, 12))
    found = problem.projected(point)
    assert abs(problem.weights @ found.theta) < 1e-15
    assert np.all((-problem.y * found.theta >= 0.0) & (-problem.y * found.theta <= 1.0))
    without = problem_of(rng, fit_intercept=False)
    point = without.feasible_point(-without.y * rng.uniform(0.1, 0.9, 12))
    assert without.projected(point) is point

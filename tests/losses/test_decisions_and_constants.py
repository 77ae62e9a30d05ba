"""Costs of other decisions, best constants, dual points and changes by errors."""

from decimal import Decimal, localcontext
from math import inf, log, sqrt

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, minimize_scalar

from skpd import losses as L
from skpd.losses.numerical import SIGNED_POWERS, constant_between, last_above, root_of_slope
from skpd.losses.shifted import with_offset

N, K, EPSILON = 60, 3, 2.0**-52
MARGIN = [L.Hinge(), L.GeneralizedHinge(2.5), L.SmoothedHinge(0.5), L.SmoothedHinge(3.0),
          L.SquaredHinge(), L.ModifiedHuber(), L.Logistic()]  # fmt: skip
RESIDUAL = [L.Squared(), L.Absolute(), L.Pinball(0.3), L.EpsilonInsensitive(0.3), L.Huber(0.7),
            L.SquaredEpsilonInsensitive(0.3),
            L.PiecewiseLinear((-1.0, 1.0, 3.0), (-1.0, 0.0, 1.0, 2.5))]  # fmt: skip
CLASSES = [L.Softmax(K), L.CrammerSinger(K)]


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("loss", MARGIN, ids=repr)
def test_costs_of_other_labels(loss, beside, rng):
    """The least divergences over predictions on a grid on the other side of 0."""
    y, z = rng.choice([-1.0, 1.0], N), 3.0 * rng.normal(size=N)
    weights, error = rng.random(N), 0.1 * rng.random(N)
    theta = loss.project_dual(y, rng.normal(size=N))
    z[:3], error[:3] = [0.05, 0.1, 0.0], [0.1, 0.1 + 1e-9, 1e-9]  # with no decision
    posed, targets, at = loss, y, z
    if beside:
        offset = rng.normal(size=N)
        targets, posed = with_offset(loss, y, offset)
        at = z - offset
    found = posed.decision_costs(targets, weights, at, error, theta)
    nearest = np.sign(z) * np.maximum(np.abs(z) - error, 0.0)
    grid = np.concatenate([[0.0, 1.0], np.geomspace(1e-6, 30.0, 600)])
    expected = np.empty(N)
    for i in range(N):
        x = -np.sign(z[i]) * grid
        own, rows = np.full(len(x), y[i]), np.full(len(x), nearest[i])
        surplus = loss.value(own, x) + loss.conjugate(y[i : i + 1], theta[i : i + 1])
        surplus = np.maximum(surplus - theta[i] * x, 0.0)
        divergence = 0.0
        if loss.smoothness < inf:
            value = loss.value(own, x)
            divergence = loss.value(own, rows) - value - loss.gradient(own, x) * (rows - x)
            divergence = np.min(np.maximum(divergence, 0.0))
        expected[i] = weights[i] * (np.min(surplus) + divergence)
    expected[nearest == 0.0] = 0.0
    assert_allclose(found, expected, atol=1e-3)
    assert np.all(found <= expected + 1e-15)
    # less than the costs without rounding by 64 roundings of their terms
    if not beside:
        u, m = y * theta, y * nearest
        at_0 = float(loss.value(np.ones(1), np.zeros(1))[0])
        slope = float(loss.gradient(np.ones(1), np.zeros(1))[0])
        conjugate = loss.conjugate(y, theta)
        sizes = at_0 + np.abs(conjugate) + np.abs(u)
        costs = np.where(np.sign(m) * (u - slope) > 0.0, at_0 + conjugate, 0.0)
        if loss.smoothness < inf:
            of_z = loss.value(y, nearest)
            costs = np.maximum(costs, 0.0) + np.maximum(of_z - at_0 - slope * m, 0.0)
            sizes = sizes + of_z + np.abs(slope * m)
        costs = weights * np.maximum(costs - 64.0 * EPSILON * sizes, 0.0)
        assert_allclose(found, np.where(nearest == 0.0, 0.0, costs), rtol=1e-15, atol=1e-17)


def test_costs_of_other_labels_beside_offsets():
    """The rounding of z + offset adds to the error."""
    loss, y = L.Hinge(), np.ones(1)
    table, shifted = with_offset(loss, y, np.array([1.0]))
    given = y, np.array([1.0]), np.zeros(1)
    z, theta = np.array([2.0]), np.array([-0.5])
    moved = loss.decision_costs(y, given[1], z + 1.0, EPSILON * 3.0 * np.ones(1), theta)
    assert_array_equal(shifted.decision_costs(table, given[1], z, given[2], theta), moved)
    just = np.array([-1.0 + EPSILON]), np.array([EPSILON * EPSILON / 2])
    for error, cost in ((just[1], True), (np.array([EPSILON]), False)):
        found = shifted.decision_costs(table, given[1], just[0], error, theta)
        assert (found[0] > 0.0) == cost


def divergence(p, q):
    return np.sum(np.where(p > 0.0, p * np.log(np.where(p > 0.0, p, 1.0) / q), 0.0))


def test_costs_of_other_classes_of_the_softmax(rng):
    """KL(x, p) and KL(q, x) over probabilities x whose largest entry is another."""
    loss, n = L.Softmax(K), 12
    y = np.eye(K)[rng.integers(0, K, n)]
    z, weights = 2.0 * rng.normal(size=(n, K)), rng.random(n)
    q = rng.dirichlet(np.ones(K), n)
    error = np.repeat(0.001 * rng.random((n, 1)), K, axis=1)
    q[0] = [0.0, 0.0, 1.0]
    z[1] = [1.0, 1.0 + 1e-4, -3.0]  # with scores too near to be told apart
    error[1] = [0.0, 1e-3, 0.0]
    found = loss.decision_costs(
        y.ravel(), np.repeat(weights, K), z.ravel(), error.ravel(), (q - y).ravel()
    )
    assert found.shape == (n,)
    for i in range(n):
        p = np.exp(z[i]) / np.exp(z[i]).sum()
        first = int(np.argmax(p))
        runner = int(np.argmax(np.where(np.arange(K) == first, -1.0, p)))
        tied = p.copy()
        tied[[first, runner]] = sqrt(p[first] * p[runner])
        cost = max(divergence(tied / tied.sum(), p) - 2.0 * error[i].max(), 0.0)
        others = np.delete(q[i], first)
        if q[i, first] > others.max():
            x = q[i].copy()
            second = int(np.argmax(np.where(np.arange(K) == first, -1.0, q[i])))
            x[[first, second]] = 0.5 * (q[i, first] + q[i, second])
            cost += divergence(q[i], np.maximum(x, 1e-300))
        cost *= weights[i] * (i != 1)
        assert_allclose(found[i], cost, rtol=1e-9, atol=1e-12)

        def objective(v, own=p):
            x = np.exp(v) / np.exp(v).sum()
            return divergence(x, own)

        # no probabilities with another first class are nearer
        near = [objective(v) for v in rng.normal(size=(300, K)) * 2.0 if np.argmax(v) != first]
        assert min(near) >= divergence(tied / tied.sum(), p) - 1e-12


def test_allowances_of_costs_of_classes():
    """At scores far apart and q with a sure class: 64 roundings for each class and term."""
    loss = L.Softmax(2)
    y, z, weights = np.array([1.0, 0.0]), np.array([3.0, -3.0]), np.ones(2)
    p = 1.0 / (1.0 + np.exp(-6.0))
    roots = np.sqrt(p) - np.sqrt(1.0 - p)
    first = -np.log1p(-roots * roots)
    room = 64.0 * 2 * EPSILON * (1.0 + first)
    for q, own in ((1.0, log(2.0)), (0.5, 0.0), (0.25, 0.0)):
        theta = np.array([q - 1.0, 1.0 - q])
        cost = first - room + (own - 64.0 * 2 * EPSILON if own else 0.0)
        found = loss.decision_costs(y, weights, z, np.zeros(2), theta)
        assert_allclose(found, cost, rtol=0, atol=0.4 * room)
    singer = L.CrammerSinger(2)
    error = np.array([0.0, 2.0])
    for q, z, error, cost in (
        (0.75, [3.0, -3.0], [0.0, 2.0], 0.75 - 128.0 * EPSILON),
        (0.75, [3.0, -3.0], [0.0, 3.0], 0.0),  # a class that may be ahead
        (0.75, [-3.0, 3.0], [0.0, 0.0], 0.0),
        (0.0, [3.0, -3.0], [0.0, 2.0], 0.0),
        (1.0, [3.0, -3.0], [0.0, 0.0], 1.0 - 128.0 * EPSILON),
    ):
        theta = np.array([q - 1.0, 1.0 - q])
        found = singer.decision_costs(y, 2.0 * weights, np.array(z), np.array(error), theta)
        assert_allclose(found, 2.0 * cost, rtol=1e-15)


@pytest.mark.parametrize("loss", CLASSES, ids=repr)
def test_dual_points_of_classes(loss, rng):
    """The probabilities of the other classes are cut to [0, 1] and their sum to just below 1."""
    inside = 1.0 - 8.0 * K * EPSILON
    assert loss._inside == inside
    y = np.tile([0.0, 1.0, 0.0], 5)
    theta = np.array([
        [0.25, 9.0, 0.5], [-0.25, 9.0, 0.5], [2.0, 9.0, 1.5], [np.inf, np.nan, np.nan],
        [0.5, 0.0, 0.5],
    ])  # fmt: skip
    found = loss.project_dual(y, theta.ravel()).reshape(5, K)
    assert_array_equal(found[0], [0.25, -0.75, 0.5])
    assert_array_equal(found[1], [0.0, -0.5, 0.5])
    assert_allclose(found[2], [0.5 * inside, -inside, 0.5 * inside], rtol=2 * EPSILON)
    assert_allclose(found[3], [inside, -inside, 0.0], rtol=2 * EPSILON)
    assert_allclose(found[4], [0.5 * inside, -inside, 0.5 * inside], rtol=2 * EPSILON)
    assert np.all(found[:, 1] >= -1.0)
    lower, upper = loss.dual_bounds(y)
    assert_array_equal(lower[:3], [0.0, -1.0, 0.0])
    assert_array_equal(upper[:3], [1.0, 0.0, 1.0])
    scale = loss.largest_scale(y[:6], np.array([0.1, -0.5, 0.4, 0.1, -0.3, 0.2]))
    assert_allclose(scale, inside / 0.5, rtol=2 * EPSILON)
    assert loss.largest_scale(y[:3], np.zeros(3)) == inf
    assert loss.best_constant(y, np.ones(15)) == 0.0


def test_dual_points_of_row_norms():
    loss, inside = L.L2Norm(2), 1.0 - 16.0 * EPSILON
    y = np.zeros(8)
    theta = np.array([[0.6, 0.8 * inside - 1e-12], [3.0, 4.0], [np.inf, 0.0], [np.nan, -np.inf]])
    found = loss.project_dual(y, theta.ravel()).reshape(4, 2)
    assert_array_equal(found[0], theta[0])
    assert_allclose(
        found[1:], inside * np.array([[0.6, 0.8], [1.0, 0.0], [0.0, -1.0]]), rtol=1e-15
    )
    assert_allclose(loss.largest_scale(y[:4], np.array([0.3, 0.4, 0.0, 0.1])), 2.0 * inside)
    assert loss.largest_scale(y[:2], np.zeros(2)) == inf
    assert_array_equal(loss.dual_bounds(y), [np.full(8, -1.0), np.full(8, 1.0)])
    assert_array_equal(loss.gradient(np.zeros(2), np.array([3.0, 4.0])), [0.6, 0.8])
    assert_array_equal(loss.gradient(np.ones(2), np.ones(2)), 0.0)
    assert loss.best_constant(np.array([1.0, 4.0]), np.array([1.0, 2.0])) == 3.0


def test_best_constants_of_several_outputs(rng):
    """The geometric median by another method, and shares of classes."""
    y, own = rng.normal(size=(30, 2)), rng.random(30)
    weights = np.repeat(own, 2)
    found = L.L2Norm(2).best_constants(y.ravel(), weights, [])
    best = minimize(lambda b: own @ np.linalg.norm(y - b, axis=1), np.zeros(2), tol=1e-12)
    assert_allclose(found, best.x, atol=1e-5)
    same = L.L2Norm(2).best_constants(np.tile([1.0, 2.0], 4), np.ones(8), [])
    assert_array_equal(same, [1.0, 2.0])
    # the median is a row itself, if its weight is at least that of all others
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]])
    heavy = L.L2Norm(2).best_constants(rows.ravel(), np.repeat([5.0, 1.0, 2.0], 2), [])
    assert_allclose(heavy, 0.0, atol=1e-6)
    labels = np.array([0, 0, 0, 1, 1, 2])
    table, weights = np.eye(3)[labels], np.repeat([1.0, 1.0, 1.0, 1.0, 0.5, 0.5], 3)
    found = L.Softmax(3).best_constants(table.ravel(), weights, [])
    assert_allclose(np.exp(found), [0.6, 0.3, 0.1])
    singer = L.CrammerSinger(3)
    assert_array_equal(singer.best_constants(table.ravel(), weights, []), [1.0, 0.0, 0.0])
    # from a share of 1/2 on a score of 1 for the class is better
    for share, best in ((0.5, 0.0), (0.501, 1.0), (0.4, 0.0)):
        weights = np.repeat([share, 0.0, 0.0, 1.0 - share, 0.0, 0.0], 3)
        found = singer.best_constants(table.ravel(), weights, [])
        assert found.max() == (best if share >= 0.5 else 1.0)
        if share < 0.5:
            assert_array_equal(found, [0.0, 1.0, 0.0])


def test_least_means_of_softmax(rng):
    """The entropy of the shares of classes in fifty digits, of rows of very different weights."""
    for scales in (np.ones(2000), 10.0 ** rng.uniform(-300.0, 0.0, 2000)):
        labels, weights = rng.integers(5, size=2000), rng.random(2000) * scales
        weights[labels == 4] = 0.0  # a class without weight
        with localcontext() as context:
            context.prec = 50
            shares = [sum(map(Decimal, weights[labels == k].tolist())) for k in range(4)]
            exact = float(sum(s * (sum(shares) / s).ln() for s in shares))
        bound = L.Softmax(5).least_mean_of_constants(
            np.eye(5)[labels].ravel(), np.repeat(weights, 5)
        )
        assert exact - 1e-12 * sum(weights) <= bound < exact


@pytest.mark.parametrize("loss", [*MARGIN, *RESIDUAL], ids=repr)
def test_best_constants_of_single_predictions(loss, rng):
    for trial in range(12):
        y = rng.choice([-1.0, 1.0], 9) if loss.of_labels else rng.normal(size=9)
        y[:2] = -1.0, 1.0
        weights = rng.random(9) * (np.arange(9) != 4)
        y[4] = 1.0 if loss.of_labels else 1e6  # a row without a weight

        def mean(b, y=y, weights=weights):
            return weights @ loss.value(y, np.full(9, b))

        best = minimize_scalar(mean, bounds=(-40.0, 40.0), options={"xatol": 1e-10})
        found = loss.best_constant(y, weights)
        assert mean(found) <= best.fun + 1e-12 * (1.0 + best.fun)
        if not loss.has_kinks and trial:
            assert abs(weights @ loss.gradient(y, np.full(9, found))) <= 1e-12


def test_best_constants_of_one_class():
    y = np.ones(3)
    for loss, sign in ((L.Logistic(), 1.0), (L.Logistic(), -1.0)):
        assert loss.best_constant(sign * y, y) == sign * inf
    for loss in MARGIN[:-1]:
        for sign in (1.0, -1.0):
            found = loss.best_constant(sign * y, y)
            assert loss.value(sign * y, np.full(3, found)).max() == 0.0
    assert L.Hinge().best_constant(np.array([1.0, -1.0]), np.ones(2)) == 0.0


@pytest.mark.parametrize("loss", RESIDUAL, ids=repr)
def test_best_constants_of_one_row(loss):
    y, weights = np.array([2.0]), np.array([0.5])
    found = loss.best_constant(y, weights)
    assert loss.value(y, np.array([found]))[0] <= 1e-15
    two = np.array([2.0, 9.0]), np.array([0.5, 0.0])
    assert loss.value(y, np.array([loss.best_constant(*two)]))[0] <= 1e-15


def test_best_constants_beside_tubes():
    """Of one row; beside two rows, where their slopes cancel."""
    loss = L.SquaredEpsilonInsensitive(0.5)
    assert_allclose(loss.best_constant(np.array([2.0]), np.ones(1)), 2.0)
    assert_allclose(loss.best_constant(np.array([0.0, 4.0]), np.array([1.0, 3.0])), 2.75)


def test_best_constants_of_counts():
    for mean in (0.25, 4.0):
        y, weights = np.array([0.5, 1.5]) * mean, np.ones(2)
        for loss in (L.Poisson(), L.Gamma(), L.NegativeBinomial(0.4)):
            assert_allclose(loss.best_constant(y, weights), log(mean))


def test_distant_constants():
    assert L.Huber().distant_constant(3.0) == L.Logistic().distant_constant(3.0) == 0.0
    assert L.Poisson().distant_constant(3.0) == 4.0


@pytest.mark.parametrize("loss", [L.Poisson(), L.Tweedie(1.3), L.Gamma()], ids=repr)
def test_best_constants_of_counts_beside_offsets(loss, rng):
    y, weights, offset = rng.gamma(2.0, size=20), rng.random(20), 3.0 + rng.normal(size=20)
    found = loss.constant_with_offsets(y, weights, offset)
    assert abs(weights @ loss.gradient(y, offset + found)) <= 1e-11
    # offsets so far apart that exponentials of their differences overflow
    far = offset + np.array([1e5, -1e5] * 10)
    middle = np.average(far, weights=weights)
    found = loss.constant_with_offsets(y, weights, far)
    assert np.isfinite(found)
    assert found == loss.best_constant(y, weights) - middle or loss.power == 2.0


def test_the_best_constant_with_offsets_offsets():
    """The root of the slope, or an end of the interval around it."""
    for given, expected in (
        ((0.0, (-1.0, 2.0), lambda b: b - 0.25), 0.25),
        ((0.0, (-1.0, 2.0), lambda b: b - 5.0), 1.0),
        ((0.0, (-1.0, 2.0), lambda b: b + 5.0), -2.0),
        ((0.0, (-1.0, 2.0), lambda b: 0.0 * b), -2.0),
        ((0.0, (-1.0, 2.0), lambda b: min(b - 1.0, 0.0)), 1.0),
        ((3.0, (2.0, 2.0), lambda b: b - 99.0), 1.0),
        ((inf, (-1.0, 2.0), lambda b: b), inf),
        ((-inf, (-1.0, 2.0), lambda b: b), -inf),
    ):
        assert_allclose(constant_between(*given), expected, rtol=1e-14)
    root = constant_between(1e3, (-1e3, 1e3), lambda b: np.arctan(b - 1.0 / 3.0))
    assert abs(root - 1.0 / 3.0) <= 4.0 * EPSILON * 2001.0


def test_bisections_between_given_points():
    points = np.array([-4.0, -1.0, 2.0, 8.0])
    assert_allclose(root_of_slope(lambda b: b - 0.3, points), 0.3, rtol=1e-15)
    assert root_of_slope(lambda b: b + 9.0, points) == -4.0
    flat = root_of_slope(lambda b: np.minimum(b - 0.3, 0.0) + np.maximum(b - 1.5, 0.0), points)
    assert_allclose(flat, 0.3, rtol=1e-15)  # where the slope comes to 0
    assert root_of_slope(lambda b: b - 9.0, points) == inf
    assert_allclose(last_above(lambda t: 1.0 - t, 0.25, points), 0.75, rtol=1e-15)
    assert last_above(lambda t: 0.0 * t, 0.25, points) == inf
    assert last_above(lambda t: 1.0 + 0.0 * t, 0.25, points) == 8.0
    assert last_above(lambda t: 0.0 * t + 0.25, 0.25, points) == inf
    assert_array_equal(SIGNED_POWERS[[0, 500, 1000, 1001, 1501, 2001]],
                       [-(2.0**500), -1.0, -(2.0**-500), 2.0**-500, 1.0, 2.0**500])  # fmt: skip


def test_changes_of_means_by_errors(rng):
    """By the Lipschitz constant, by the smoothness or by the slopes."""
    y, z = rng.gamma(2.0, size=(2, N))
    weights, error = rng.random((2, N))
    given = y, weights, z, error, 0.7
    assert_allclose(L.Huber(1.35).change_by_errors(*given), 1.35 * (weights @ error))
    expected = sqrt(2.0 * 1.0 * 0.7 * (weights @ error**2))
    assert_allclose(L.Squared().change_by_errors(*given), expected)
    expected = sqrt(2.0 * 2.0 * 0.7 * (weights @ error**2))
    assert_allclose(L.SquaredEpsilonInsensitive().change_by_errors(*given), expected)
    slopes = np.abs(np.exp(z) - y)
    assert_allclose(L.Poisson().change_by_errors(*given), (weights * error) @ slopes)


def test_rows_without_a_weight_may_have_infinite_losses():
    y, z = np.zeros(2), np.array([1.0, 1e200])
    for loss in (L.SquaredEpsilonInsensitive(0.0), L.Poisson()):
        value = loss.value(y[:1], z[:1])[0]
        mean = loss.largest_mean(y, np.array([0.5, 0.0]), z, 0.0, np.zeros(2))
        assert_allclose(mean, 0.5 * value)
        assert loss.largest_mean(y, np.array([0.5, 0.1]), z, 0.0, np.zeros(2)) == inf
        assert np.isnan(loss.largest_mean(y, np.array([0.5, 0.1]), np.array([1.0, np.nan]), 0.0,
                                          np.zeros(2)))  # fmt: skip


@pytest.mark.parametrize("loss", [L.Pinball(0.3), L.Hinge(), L.Huber(0.7)], ids=repr)
def test_scales_and_projections_of_dual_points(loss):
    y = np.array([1.0, -1.0, 1.0])
    lower, upper = loss.dual_bounds(y)
    theta = np.array([0.5 * lower[0], 0.0, 0.1 * lower[2]])
    assert_allclose(loss.largest_scale(y, theta), 2.0)
    theta = np.array([0.1 * lower[0], 0.25 * upper[1], 0.0])
    assert_allclose(loss.largest_scale(y, theta), 4.0)
    assert loss.largest_scale(y, np.zeros(3)) == inf
    given = np.array([np.nan, np.inf, -np.inf])
    assert_array_equal(loss.project_dual(y, given), [0.0, upper[1], lower[2]])
    inside = 0.5 * lower
    assert_array_equal(loss.project_dual(y, inside), inside)
    assert_array_equal(loss.box_around(y, inside), (lower, upper))


def test_dual_points_of_losses_with_a_free_dual():
    loss, y = L.Squared(), np.zeros(3)
    assert loss.largest_scale(y, np.ones(3)) == inf
    given = np.array([np.nan, np.inf, 1e200])
    largest = np.finfo(float).max
    assert_array_equal(loss.project_dual(y, given), [0.0, largest, 1e200])


@pytest.mark.parametrize("loss", [L.Poisson(), L.Gamma(), L.NegativeBinomial(0.4)], ids=repr)
def test_dual_points_of_counts(loss):
    """Cut to their domain, and to the size 1e100."""
    y = np.array([2.0, 3.0, 1.0])
    found = loss.project_dual(y, np.array([-1e200, 1e200, np.nan]))
    lower, upper = {
        L.Poisson(): (-2.0, 1e100), L.Gamma(): (-1e100, 1.0), L.NegativeBinomial(0.4): (-2.0, 2.5),
    }[loss]  # fmt: skip
    assert_array_equal(found, [lower, upper, 0.0])
    assert loss.dual_bounds(y)[0][1] == (-inf if loss == L.Gamma() else -3.0)
    assert loss.power == (2.0 if loss == L.Gamma() else 1.0)


@pytest.mark.parametrize("loss", [L.Squared(), L.Huber(0.7), L.L2Norm(1)], ids=repr)
def test_errors_of_targets_widen_intervals(loss, rng):
    y, z, error = 1.0 + rng.random(N), rng.normal(size=N), 0.1 * rng.random(N)
    widened = loss.with_target_error(0.01)
    expected = loss.largest(y, z, 0.0, error + 0.01 * np.abs(y))
    assert_allclose(widened.largest(y, z, 0.0, error), expected, rtol=1e-14)
    weights = rng.random(N)
    assert_allclose(widened.largest_mean(y, weights, z, 0.0, error), weights @ expected)

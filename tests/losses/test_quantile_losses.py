"""The pinball losses of quantiles in order: their domain, envelopes and bounds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from sklearn.isotonic import isotonic_regression

from skpd import kernels
from skpd.losses import NonCrossingPinball, Pinball
from skpd.losses.quantiles import _raises

THREE, EPSILON = (0.1, 0.5, 0.8), 2.0**-52


def random_quantiles(rng, K):
    return tuple(np.sort(rng.uniform(0.03, 0.97, K)).tolist())


def drawn(rng, n=40, quantiles=THREE):
    """A loss, targets, weights and predictions in order, each as a table."""
    loss, K = NonCrossingPinball(quantiles), len(quantiles)
    y = np.repeat(rng.normal(size=(n, 1)), K, axis=1)
    weights = np.repeat(rng.random((n, 1)) * (np.arange(n) % 5 > 0)[:, None], K, axis=1)
    return loss, y, weights, np.sort(y + rng.normal(size=(n, K)), axis=1)


def test_the_domain_of_the_conjugate_is_that_of_its_multipliers(rng):
    """theta + (mu_{k-1} - mu_k) lies between the slopes for some mu >= 0, or it does not."""
    inside = 0
    for K in (2, 3, 5):
        loss = NonCrossingPinball(random_quantiles(rng, K))
        moves = np.diff(np.eye(K), axis=0).T
        for _ in range(25):
            theta = rng.normal(size=K) * rng.choice([0.2, 0.5, 2.0])
            lower, upper = -np.array(loss.quantiles), 1.0 - np.array(loss.quantiles)
            found = linprog(
                np.zeros(K - 1), A_ub=np.vstack([moves, -moves]),
                b_ub=np.append(upper - theta, theta - lower),
            )  # fmt: skip
            assert found.status in (0, 2)
            exists = found.status == 0
            assert (loss.largest_scale(np.zeros(K), theta) >= 1.0) == exists
            inside += exists
    assert 10 < inside < 65


@pytest.mark.parametrize("scale", [0.3, 1.0, 30.0])
def test_fenchel_young_and_moreau(scale, rng):
    """v = prox of the conjugate + step z with z in order and equality in Fenchel-Young."""
    for K in (2, 3, 6):
        loss, n, step = NonCrossingPinball(random_quantiles(rng, K)), 20, 0.7
        y = np.repeat(rng.normal(size=n), K)
        v = scale * rng.normal(size=n * K)
        theta = loss.prox_conjugate(y, v, step)
        z = (v - theta) / step
        assert np.all(np.diff(z.reshape(n, K), axis=1) >= -1e-12 * scale)
        gap = loss.value(y, z) + loss.conjugate(y, theta) - theta * z
        assert_allclose(gap.reshape(n, K).sum(axis=1), 0.0, atol=1e-11 * scale)
        assert loss.largest_scale(y, theta) >= 1.0 - 1e-12 * (1.0 + scale)
        other = np.ravel(np.sort(rng.normal(size=(n, K)), axis=1))
        gap = loss.value(y, other) + loss.conjugate(y, theta) - theta * other
        assert np.all(gap.reshape(n, K).sum(axis=1) >= -1e-12)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3, np.inf])
def test_projected_dual_points_are_inside(size, rng):
    loss = NonCrossingPinball((0.01, 0.2, 0.5, 0.99))
    y = np.repeat(rng.normal(size=50), 4)
    theta = size * rng.normal(size=200)
    found = loss.project_dual(y, theta)
    table, q = found.reshape(-1, 4), np.array(loss.quantiles)
    exact = [np.sum(table[:, :j].astype(np.longdouble), axis=1) for j in range(5)]
    for j in range(1, 5):
        assert np.all(exact[j] >= -np.sum(q[:j]))
        assert np.all(exact[4] - exact[j - 1] <= np.sum(1.0 - q[j - 1 :]))
    if size == 1e-3:
        assert_array_equal(found, theta)


def test_the_box_around_a_dual_point_is_inside(rng):
    loss = NonCrossingPinball(random_quantiles(rng, 4))
    y = np.repeat(rng.normal(size=30), 4)
    theta = loss.project_dual(y, 2.0 * rng.normal(size=120))
    lower, upper = loss.box_around(y, theta)
    assert np.all(lower <= theta + 1e-12) and np.all(theta <= upper + 1e-12)
    assert_allclose(upper - lower, 1.0)
    for share in rng.random((20, 120)):
        corner = np.where(share < 0.5, lower, upper)
        assert loss.largest_scale(y, corner) >= 1.0 - 1e-12


def test_the_envelope(rng):
    """Its gradient is the prox of the conjugate, and its Hessian that of finite differences."""
    loss, n, sigma, step = NonCrossingPinball(THREE), 200, 2.0, 1e-6
    y = np.repeat(rng.normal(size=n), 3)
    theta = loss.project_dual(y, 0.2 * rng.normal(size=3 * n))
    theta /= max(1.0, np.max(np.abs(theta)))
    z = y + rng.normal(size=3 * n)
    found, d, e = loss.derivatives(y, theta, z, sigma)
    assert_allclose(found, loss.prox_conjugate(y, theta + sigma * z, sigma), atol=1e-12)
    assert np.any(e != 0.0)
    direction = rng.normal(size=3 * n)
    ends = [loss.derivatives(y, theta, z + t * direction, sigma)[0] for t in (-step, step)]
    along = e.reshape(n, 3) * np.sum((e * direction).reshape(n, 3), axis=1, keepdims=True)
    expected = sigma * (d * direction - np.ravel(along))
    assert_allclose((ends[1] - ends[0]) / (2.0 * step), expected, atol=1e-6)


@pytest.mark.parametrize("K", [1, 2, 5])
def test_nearest_rows_in_order_are_those_of_scikit_learn(K, rng):
    table = rng.normal(size=(50, K)).round(1)  # with ties
    nearest = kernels.OrderedPinballs([0.5] * K).nearest(table.ravel()).reshape(50, K)
    assert_allclose(nearest, [isotonic_regression(row) for row in table], atol=1e-15)


def test_values_gradients_and_the_losses_of_single_quantiles(rng):
    loss, y, weights, z = drawn(rng)
    q = np.array(THREE)
    expected = np.where(z >= y, (1.0 - q) * (z - y), q * (y - z)).sum(axis=1)
    assert_allclose(loss.value(y.ravel(), z.ravel()), np.repeat(expected / 3, 3))
    gradient = np.where(z > y, 1.0 - q, -q)
    assert_allclose(loss.gradient(y.ravel(), z.ravel()), gradient.ravel())
    assert_array_equal(loss.gradient(y.ravel(), y.ravel()), 0.0)
    theta = rng.normal(size=(40, 3))
    conjugate = (theta.sum(axis=1) * y[:, 0]).repeat(3) / 3
    assert_allclose(loss.conjugate(y.ravel(), theta.ravel()), conjugate, atol=1e-15)
    lower, upper = loss.dual_bounds(y.ravel())
    assert_allclose(lower.reshape(40, 3)[7], [-0.1, -np.inf, -np.inf])
    assert_allclose(upper.reshape(40, 3)[7], [np.inf, np.inf, 1.0 - 0.8])
    for k in range(3):
        assert loss.of_output(k) == Pinball(THREE[k])
    assert loss.with_target_error(0.5).of_output(1).target_error == 0.5
    assert loss.n_outputs == 3 and loss.of_quantiles and loss.couples_outputs
    change = loss.change_by_errors(
        y.ravel(), weights.ravel(), z.ravel(), np.array([0.1, 0.3]), 1.0
    )
    assert_allclose(change, 2.0 * 3 * 0.3 * weights.sum())


@pytest.mark.parametrize("size", [1e-14, 1.0])
@pytest.mark.parametrize("target_error", [0.0, 1e-3])
def test_the_largest_losses_in_boxes(target_error, size, rng):
    """Each pinball at the worse end of its interval, which has the roundings of both ends."""
    loss, y, _, z = drawn(rng)
    loss, z = loss.with_target_error(target_error), 50.0 * z
    low, error = 0.01 * size * rng.normal(size=(40, 3)), size * rng.random((40, 3))
    low[::2], error[::2] = 0.0, 0.0
    room = error + np.abs(low) + target_error * np.abs(y)
    room = room + np.where(room > 0.0, 2.0 * EPSILON * (np.abs(z - y) + room), 0.0)
    ends = [np.maximum(r * -np.array(THREE), r * (1.0 - np.array(THREE)))
            for r in ((z - y) - room, (z - y) + room)]  # fmt: skip
    expected = np.sum(np.maximum(*ends), axis=1) * (1.0 + 3 * EPSILON) / 3
    found = loss.largest(y.ravel(), z.ravel(), low.ravel(), error.ravel())
    assert_array_equal(found, np.repeat(expected, 3))
    if not target_error:
        assert_array_equal(loss.largest(y.ravel(), z.ravel(), 0.0, 0.0)[::6], found[::6])


def test_the_scale_to_the_boundary(rng):
    """The first sums reach -(q_1 + ... + q_j), or the last ones what is left of 1."""
    loss, y = NonCrossingPinball(THREE), np.zeros(3)
    for theta, scale in (
        ([-0.2, 0.0, 0.0], 0.5),
        ([0.0, -1.2, 0.0], 0.5),
        ([0.0, 0.0, -2.8], 0.5),
        ([0.0, 0.0, 0.4], 0.5),
        ([0.0, 1.4, 0.0], 0.5),
        ([3.2, 0.0, 0.0], 0.5),
    ):
        assert_allclose(loss.largest_scale(y, np.array(theta)), scale, rtol=1e-13)
        sizes = 3 * EPSILON * np.abs(theta).sum()
        assert loss.largest_scale(y, np.array(theta)) < scale * (1.0 - 24 * EPSILON)
        assert loss.largest_scale(y, np.array(theta)) > scale * (1.0 - 24 * EPSILON - 12 * sizes)
    assert loss.largest_scale(y, np.zeros(3)) == np.inf
    # points inside by more than rounding are left as they are, others are scaled
    for share, moved in ((1.0 - 100 * EPSILON, False), (1.0, True), (1.0 + 1e-15, True)):
        theta = share * np.array([-0.1, 0.0, 0.0])
        found = loss.project_dual(y, theta)
        assert np.array_equal(found, theta) != moved
        assert_allclose(found, theta, rtol=1e-13)
    assert_allclose(loss.project_dual(y, np.array([np.nan, 0.0, 5.0])), [0.0, 0.0, 0.2])
    # outside by a little they are projected, not scaled
    assert_allclose(loss.project_dual(y, np.array([-0.12, 0.3, 0.0])), [-0.1, 0.3, 0.0])
    for size in (1e3, 1e9):
        far = loss.project_dual(y, size * np.array([-1.0, 0.0, 1.0]))
        assert_allclose(far, [-0.1, 0.0, 0.2], atol=4 * EPSILON * size)


def test_raised_intercepts():
    """Each is raised above the last one by what they overlap, with a bound on rounding."""
    assert_array_equal(_raises(np.array([-1.0, -2.0]), 5.0), 0.0)
    assert_array_equal(_raises(np.array([0.0, -2.0]), 5.0), 0.0)
    first = 2.0 + 4.0 * EPSILON * (5.0 + 2.0)
    assert_array_equal(_raises(np.array([2.0, -9.0]), 5.0), [0.0, first, 0.0])
    second = first - 0.5 + 4.0 * EPSILON * (5.0 + first + 0.5)
    assert_array_equal(_raises(np.array([2.0, -0.5]), 5.0), [0.0, first, second])
    assert_array_equal(_raises(np.array([-1.0, 2.0]), 5.0), [0.0, 0.0, first])
    second = first - 2.0
    assert 0.0 < _raises(np.array([2.0, -2.0]), 5.0)[2] < 4 * 64 * EPSILON


def test_raises_and_the_largest_mean_of_predictions_that_may_cross(rng):
    loss, y, weights, z = drawn(rng, n=4)
    y, weights = y.ravel(), np.full(12, 0.25)
    z = np.array([[0.0, 1.0, 3.0], [0.0, 2.0, 1.5], [0.0, 5.0, 9.0], [1.0, 1.0, 9.0]])
    low, error = np.zeros((4, 3)), np.full((4, 3), 0.01)
    low[3] = [0.125, 0.0, 0.0]
    rounded = z + low
    rounded[0, 0] = 1.25  # a prediction of which the rounding crosses another
    high, of_low = np.diff(z, axis=1), np.diff(low, axis=1)
    apart, errors = high + of_low, 0.02 + 4.0 * EPSILON * (np.abs(high) + np.abs(of_low))
    overlaps = np.max(np.maximum(errors - apart, -np.diff(rounded, axis=1)), axis=0)
    found = loss.raises_in_order(z.ravel(), low.ravel(), error.ravel(), rounded.ravel(), 9.0)
    assert_array_equal(found, _raises(overlaps, 9.0))
    assert_allclose(found, [0.0, 0.25, 0.25 + 0.52], rtol=1e-12)
    mean = loss.largest_mean(y, weights, z.ravel(), low.ravel(), error.ravel())
    assert mean == np.inf
    # errors may hide crossings of at most their size
    z[1, 2], z[3, 0] = 2.0 - 0.02, 1.0 - 0.02
    low[3, 0] = 0.03
    high, of_low = np.diff(z, axis=1), np.diff(low, axis=1)
    errors = 0.02 + 4.0 * EPSILON * (np.abs(high) + np.abs(of_low))
    raises = _raises(np.max(errors - high - of_low, axis=0), 0.0)
    mean = loss.largest_mean(y, weights, z.ravel(), low.ravel(), error.ravel())
    moved = (low + raises).ravel()
    expected = weights @ loss.largest(y, z.ravel(), moved, error.ravel())
    assert_allclose(mean, expected, rtol=1e-14)
    # rows without a weight may cross by any amount
    z[1] = [9.0, 0.0, 0.0]
    weights[3:6] = 0.0
    assert np.isfinite(loss.largest_mean(y, weights, z.ravel(), low.ravel(), error.ravel()))


def levels_of(loss, y, theta, z, sigma):
    """The levels whose nearest rows in order are clipped, and the factors of sigma."""
    largest = np.max(np.abs(theta.reshape(-1, loss.n_outputs)), axis=1)
    factors = np.repeat(1.0 + 10.0 * np.clip(largest - 1.0, 0.0, 1e6), loss.n_outputs)
    quantiles = np.tile(loss.quantiles, len(largest))
    return theta + sigma * factors * (z - y) + quantiles, factors


def test_steps_grow_with_dual_points_beyond_1():
    loss = NonCrossingPinball(THREE)
    theta = np.array([0.3, -0.2, 0.1, 0.0, -3.0, 2.0, 0.0, 0.0, 1e9])
    y = np.repeat([1.0, 2.0, 3.0], 3)
    levels = np.tile([0.2, 0.5, 0.7], 3)  # between 0 and 1, where the second derivative is 1
    factors = np.repeat([1.0, 1.0 + 10.0 * 2.0, 1.0 + 10.0 * 1e6], 3)
    z = y + (levels - np.tile(THREE, 3) - theta) / (2.0 * factors)
    gradient, d, e = loss.derivatives(y, theta, z, 2.0)
    assert_allclose(d, factors, rtol=1e-15)
    assert_allclose(gradient[:6], (levels - np.tile(THREE, 3))[:6], atol=1e-12)
    assert not e.any()


def test_the_envelope_with_growing_steps(rng):
    """The gradient is a projection, and its derivative that of finite differences."""
    loss, y, _, z = drawn(rng, n=300, quantiles=(0.1, 0.3, 0.5, 0.8))
    y, z = y.ravel(), (z + rng.normal(size=z.shape)).ravel()
    theta, sigma, step = 3.0 * rng.normal(size=1200), 0.2, 1e-7
    levels, factors = levels_of(loss, y, theta, z, sigma)
    found, d, e = loss.derivatives(y, theta, z, sigma)
    expected = loss._nearest((levels - np.tile(loss.quantiles, 300)).reshape(-1, 4))
    assert_allclose(found, expected.ravel(), atol=1e-11)
    tables = [x.reshape(-1, 4) for x in (levels, d, e, factors)]
    ends = []
    for side in (-step, step):
        moved = [loss.derivatives(y, theta, z + side * np.tile(unit, 300), sigma)[0]
                 for unit in np.eye(4)]  # fmt: skip
        ends.append(np.stack([x.reshape(-1, 4) for x in moved], axis=2))
    slopes = (ends[1] - ends[0]) / (2.0 * step * sigma)
    own = tables[1][:, :, None] * np.eye(4) - tables[2][:, :, None] * tables[2][:, None]
    s = loss.compiled.nearest(levels).reshape(-1, 4)
    blocks = [
        len({x for x in row if (x <= 0.0 or x >= 1.0) and np.sum(row == x) > 1}) for row in s
    ]
    single = np.array(blocks) <= 1
    close = {"rtol": 1e-4, "atol": 1e-3}
    assert_allclose(slopes[single], own[single], **close)
    assert single.mean() > 0.5 and np.any(e != 0.0)
    # with several blocks the bound is larger
    for slope, bound in zip(slopes[~single], own[~single], strict=True):
        assert np.linalg.eigvalsh(bound - 0.5 * (slope + slope.T)).min() >= -0.01


def test_derivatives_include_what_brings_predictions_in_order(rng):
    loss, y, weights, z = drawn(rng, n=20)
    z = z + rng.normal(size=z.shape)
    z[0] = [9.0, -9.0, 5.0]  # a row without a weight
    given = y.ravel(), weights.ravel(), 0.1 * rng.normal(size=60), z.ravel(), 0.5
    outputs = np.empty((4, 60))
    primal, dual = loss.evaluator.smoothed_derivatives(*given, *outputs)
    counted = weights[:, 0] > 0.0
    overlaps = [np.max((z[:, k] - z[:, k + 1])[counted]) for k in range(2)]
    raised = _raises(np.array(overlaps), 0.0) @ (1.0 - np.array(THREE))
    values = loss.value(y.ravel(), z.ravel()).reshape(20, 3).sum(axis=1)
    assert_allclose(primal, weights[:, 0] @ values + raised, rtol=1e-13)
    first, d, e = loss.derivatives(y.ravel(), given[2], z.ravel(), 0.5)
    products = first.reshape(20, 3).sum(axis=1) * y[:, 0]
    assert_allclose(dual, -weights[:, 0] @ products, rtol=1e-12)
    expected = first, weights.ravel() * first, weights.ravel() * d, np.sqrt(weights.ravel()) * e
    assert_allclose(outputs, expected, rtol=1e-14)
    direction = rng.normal(size=60)
    slope = loss.evaluator.smoothed_slope(*given[:4], direction, 0.3, 0.5)
    moved = loss.derivatives(y.ravel(), given[2], z.ravel() + 0.3 * direction, 0.5)[0]
    assert_allclose(slope, weights.ravel() @ (direction * moved), rtol=1e-12)


def test_rows_that_bend(rng):
    """An entry or more of each row whose gradient moves within the radius."""
    loss, y, _, z = drawn(rng, n=400)
    y, z = y.ravel(), (3.0 * z + 0.3 * rng.normal(size=z.shape)).ravel()
    theta, sigma, radius = 0.5 * rng.normal(size=1200), 2.0, 0.1
    nothing = np.empty(0)
    rows = loss.evaluator.rows_that_bend(y, theta, z, sigma, nothing, nothing, radius)
    gradients = [
        loss.derivatives(y, theta, z + radius * rng.uniform(-1, 1, 1200), sigma)[0]
        for _ in range(50)
    ]
    moves = np.flatnonzero(np.ptp(gradients, axis=0).reshape(400, 3).max(axis=1) > 1e-12)
    assert np.isin(moves, rows // 3).all() and 0 < len(np.unique(rows // 3)) < 400
    levels, factors = (x.reshape(400, 3) for x in levels_of(loss, y, theta, z, sigma))
    room = sigma * factors * radius
    near = (levels > -room) & (levels < 1.0 + room)
    near[:, 1:] |= np.diff(levels) < 2.0 * room[:, 1:]
    assert_array_equal(rows, np.flatnonzero(near))


def test_constants(rng):
    loss, y, weights, _ = drawn(rng)
    y, weights = y.ravel(), weights.ravel()
    best = loss.best_constants(y, weights, [slice(k, None, 3) for k in range(3)])
    for k, q in enumerate(THREE):
        assert best[k] == Pinball(q).best_constant(y[::3], weights[::3])
    assert loss.best_constant(y, weights) == Pinball(np.mean(THREE)).best_constant(y, weights)
    groups = loss.row_groups(y, weights)
    mean, total = np.average(y, weights=weights), weights.sum()
    lower, upper = loss.constant_interval(groups, 3.0, [0.25])
    assert_allclose(lower, mean - 3.0 / total / 0.1 - 0.25, rtol=1e-12)
    assert_allclose(upper, mean + 3.0 / total / (1.0 - 0.8) + 0.25, rtol=1e-12)


@pytest.mark.parametrize(
    "theta, mu",
    [
        ([0.0, 0.0, 0.0], [0.0, 0.0]),
        ([1.5, -0.7, 0.0], [0.6, 0.0]),
        ([1.0, 0.9, -3.0], [0.8, 2.2]),
        ([0.0, -0.8, -0.1], [0.3, 0.0]),
        ([0.0, -0.8, -1.0], [0.5, 0.2]),
        ([1.0, 0.9, 0.0], [0.1, 0.5]),
    ],
)
def test_boxes_of_single_rows(theta, mu):
    """The slopes, from -0.1, -0.5, -0.8 to 0.9, 0.5, 0.2, with the least multipliers by hand."""
    lower, upper = NonCrossingPinball(THREE).box_around(np.zeros(3), np.array(theta))
    moved = np.diff([0.0, *mu, 0.0])
    assert_allclose(lower, moved - THREE, atol=1e-15)
    assert_allclose(upper, moved + 1.0 - THREE, atol=1e-15)

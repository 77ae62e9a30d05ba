"""Allowances for rounding, which are those of formulas: neither less nor much more."""

from math import inf, log, log2

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd import kernels
from skpd import losses as L
from skpd._floats import sum_and_rest
from skpd.losses.jensen_groups import all_rows
from skpd.losses.residual import weighted_quantile
from skpd.losses.shifted import with_offset

N, EPSILON = 40, 2.0**-52
DEPTH = 64.0 + log2(N + 1.0)  # of a sum of N terms
MARGIN = [L.Hinge(), L.GeneralizedHinge(2.5), L.SmoothedHinge(0.5), L.SquaredHinge(),
          L.ModifiedHuber(), L.Logistic()]  # fmt: skip
RESIDUAL = [L.Squared(), L.Absolute(), L.Pinball(0.3), L.EpsilonInsensitive(0.3), L.Huber(0.7),
            L.SquaredEpsilonInsensitive(0.3),
            L.PiecewiseLinear((-1.0, 1.0, 3.0), (-1.0, 0.0, 1.0, 2.5))]  # fmt: skip
COUNTS = [L.Poisson(), L.Gamma(), L.Tweedie(1.5), L.Tweedie(1.8), L.NegativeBinomial(0.4)]
K = 3
CLASSES = [L.Softmax(K), L.CrammerSinger(K)]


class Own(L.Huber):
    """The Huber loss without its kernel."""

    evaluator = L.ResidualLoss.evaluator


def drawn(loss, rng):
    """Targets, weights, of which some are 0, and dual points."""
    weights = rng.random(N) * (np.arange(N) % 6 > 0)
    if loss.of_classes:
        y = np.ravel(np.eye(K)[np.arange(N) % K])
        theta = np.ravel(rng.dirichlet(np.ones(K), N)) - y
        return y, np.repeat(weights, K), theta * 0.9
    y = rng.choice([-1.0, 1.0], N) if loss.of_labels else rng.normal(size=N)
    if loss.has_log_link:
        y = rng.gamma(2.0, size=N)
        y[::7] = 0.0 if loss.zeros else y[::7]
    return y, weights, loss.project_dual(y, 0.5 * rng.normal(size=N))


def name(loss):
    return repr(loss)


@pytest.mark.parametrize("loss", MARGIN, ids=name)
def test_dual_values_of_margins(loss, rng):
    y, weights, theta = drawn(loss, rng)
    for scale, (value, rounding) in zip(
        (1.0, 0.3, 0.0), loss.dual_values(y, weights, theta, (1.0, 0.3, 0.0)), strict=True
    ):
        conjugate = loss.conjugate(y, scale * theta)
        assert_allclose(value, -weights @ conjugate, rtol=1e-13, atol=1e-300)
        sizes = weights @ (np.abs(conjugate) + np.abs(scale * theta))
        assert_allclose(rounding, DEPTH * EPSILON * sizes, rtol=1e-12)


@pytest.mark.parametrize("error", [0.0, 1e-3])
@pytest.mark.parametrize("loss", [*RESIDUAL, Own(0.7)], ids=name)
def test_dual_values_of_residuals(loss, error, rng):
    y, weights, theta = drawn(loss, rng)
    loss = loss.with_target_error(error)
    linear, missed = kernels.compensated_dot(weights, theta, y)
    missed += (1.0 + 1e-9) * error * (weights @ np.abs(theta * y))
    if isinstance(loss, Own):
        assert not loss.is_compiled
        missed += 4.0 * EPSILON * (weights @ np.abs(theta))
    found = loss.dual_values(y, weights, theta, (1.0, 0.3, 0.0))
    for scale, (value, rounding) in zip((1.0, 0.3, 0.0), found, strict=True):
        of_phi = weights @ (loss.conjugate(y, scale * theta) - scale * y * theta)
        assert_allclose(value, -of_phi - scale * linear, rtol=1e-12, atol=1e-300)
        expected = 2.0 * DEPTH * EPSILON * of_phi + scale * missed
        expected += 2.0 * EPSILON * (scale * abs(linear) + of_phi)
        assert_allclose(rounding, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("loss", COUNTS, ids=name)
def test_dual_values_of_counts(loss, rng):
    y, weights, theta = drawn(loss, rng)
    power = isinstance(loss, L.NegativeBinomial)
    origin = np.full(N, log(loss.k)) if power else np.log(np.where(y > 0.0, y, 1.0))
    linear, missed = kernels.compensated_dot(weights, theta, origin)
    missed += 2.0 * EPSILON * (weights @ np.abs(theta * origin))
    for scale, (value, rounding) in zip(
        (1.0, 0.3), loss.dual_values(y, weights, theta, (1.0, 0.3)), strict=True
    ):
        t = scale * theta
        conjugate = loss.conjugate(y, t)
        assert_allclose(value, -weights @ conjugate, rtol=1e-12)
        if power:
            least = np.where(y > 0.0, y * np.log1p(loss.k / np.maximum(y, 1e-300)), 0.0)
            least += loss.k * np.log1p(y / loss.k)
            up, down, total = y + t, loss.k - t, y + loss.k
            terms = np.where(up > 0.0, up * np.log(np.maximum(up, 1e-300) / total), 0.0)
            sizes = np.abs(terms) + np.abs(down * np.log(down / total)) + least + np.abs(t)
        else:
            factor = {1.0: 1.0, 2.0: 1.0, 1.5: 4.0, 1.8: 1.0 / 0.2 + 1.0 / 0.8}[loss.power]
            sizes = np.abs(conjugate - t * origin) + factor * np.abs(t)
        expected = scale * missed + EPSILON * (
            (DEPTH + 2.0) * (weights @ sizes) + 2.0 * scale * abs(linear)
        )
        assert_allclose(rounding, expected, rtol=1e-10)


@pytest.mark.parametrize("loss", [*MARGIN, *COUNTS], ids=name)
def test_dual_values_beside_offsets(loss, rng):
    y, weights, theta = drawn(loss, rng)
    offset = rng.normal(size=N)
    table, shifted = with_offset(loss, y, offset)
    linear, error = kernels.compensated_dot(weights, theta, offset)
    inner = loss.dual_values(y, weights, theta, (1.0, 0.3))
    found = shifted.dual_values(table, weights, theta, (1.0, 0.3))
    for scale, own, all_ in zip((1.0, 0.3), inner, found, strict=True):
        assert_allclose(all_[0], own[0] + scale * linear, rtol=1e-14)
        expected = own[1] + scale * error + 2.0 * EPSILON * (abs(own[0]) + abs(scale * linear))
        assert_allclose(all_[1], expected, rtol=1e-13)


def test_dual_values_of_classes(rng):
    for loss in CLASSES:
        y, weights, theta = drawn(loss, rng)
        p = np.where(y > 0.0, 0.0, theta).reshape(N, K)
        own, total = weights[::K], p.sum(axis=1)
        found = loss.dual_values(y, weights, theta, (1.0, 0.3))
        for scale, (value, rounding) in zip((1.0, 0.3), found, strict=True):
            if isinstance(loss, L.CrammerSinger):
                assert_allclose(value, scale * (own @ total), rtol=1e-13)
                expected = (DEPTH + K) * EPSILON * scale * (own @ total)
            else:
                q, rest = scale * p, scale * total
                terms = np.where(q > 0.0, q * np.log(np.where(q > 0.0, q, 1.0)), 0.0)
                entropy = -terms.sum(axis=1) - (1.0 - rest) * np.log1p(-rest)
                assert_allclose(value, own @ entropy, rtol=1e-12)
                moved = (32.0 + K) * (entropy + 2.0 * rest) + 40.0 * K * rest
                expected = EPSILON * (own @ moved) + DEPTH * EPSILON * value
            assert_allclose(rounding, expected, rtol=1e-12)
        spread = loss.spread(y, theta).reshape(N, K)
        assert_allclose(spread, K * EPSILON * total[:, None] * y.reshape(N, K), rtol=1e-13)


@pytest.mark.parametrize("error", [0.0, 1e-3])
def test_dual_values_and_bounds_of_row_norms(error, rng):
    loss = L.L2Norm(K).with_target_error(error)
    y, z, weights = *rng.normal(size=(2, N * K)), np.repeat(rng.random(N), K)
    theta = loss.project_dual(y, rng.normal(size=N * K))
    linear, missed = kernels.compensated_dot(weights, theta, y)
    missed += (1.0 + 1e-9) * error * (weights @ np.abs(theta * y))
    for scale, found in zip(
        (1.0, 0.3), loss.dual_values(y, weights, theta, (1.0, 0.3)), strict=True
    ):
        expected = scale * missed + 2.0 * EPSILON * scale * abs(linear)
        assert_allclose(found, [-scale * linear, expected], rtol=1e-13)
    low, room = 0.1 * rng.normal(size=N * K), rng.random(N * K)
    sizes = np.abs(z - y) * (1.0 + EPSILON) + np.abs(low) + room + error * np.abs(y)
    norms = np.linalg.norm(sizes.reshape(N, K), axis=1) * (1.0 + (K + 8.0) * EPSILON)
    assert_allclose(loss.largest(y, z, low, room), np.repeat(norms / K, K), rtol=2 * EPSILON)
    (group,) = loss.row_groups(y, weights)
    mean = np.average(y, weights=weights)
    assert_allclose([group.centre, group.total], [mean, weights.sum()], rtol=1e-13)
    most = 3.0 / weights.sum() + 0.25 + group.error
    interval = loss.constant_interval([group], 3.0, [0.25])
    room = most + 64.0 * EPSILON * (abs(mean) + most)
    assert_allclose(interval, [mean - room, mean + room], rtol=1e-15)


@pytest.mark.parametrize("error", [0.0, 1e-3])
def test_means_of_targets(error, rng):
    y, weights = rng.normal(size=N), rng.random(N)
    (group,) = all_rows(y, weights, error)
    total = weights.sum()
    mean, missed = kernels.compensated_dot(weights, y)
    missed += (1.0 + 1e-9) * error * (weights @ np.abs(y))
    assert_allclose([group.total, group.centre, group.error],
                    [total, mean / total, missed / total], rtol=1e-14)  # fmt: skip
    assert (group.offset, group.offset_error) == (0.0, 0.0)
    (nothing,) = all_rows(y, 0.0 * weights, error)
    assert (nothing.total, nothing.centre) == (0.0, 0.0) and nothing.error < 1e-300


# Intervals of intercepts


def test_intervals_of_classes(rng):
    for loss in CLASSES:
        y, weights, _ = drawn(loss, rng)
        groups = loss.row_groups(y, weights)
        for k, group in enumerate(groups):
            of_class = (weights * y).reshape(N, K)[:, k]
            assert_allclose(group.weights, of_class)
            assert_allclose(group.total, of_class.sum())
        bounds = [0.1, 0.5, 0.2]
        most = max(0.7 / s.total + reach for s, reach in zip(groups, bounds, strict=True))
        expected = [-1.000001 * most, 1.000001 * most]
        assert_allclose(loss.constant_interval(groups, 0.7, bounds), expected, rtol=1e-12)
        empty = loss.row_groups(y, weights * (np.arange(N) % K != 1).repeat(K))
        assert loss.constant_interval(empty, 0.7, bounds) == (-inf, inf)


def test_weighted_quantiles_by_sorting(rng):
    values, weights = rng.normal(size=9), rng.integers(0, 4, 9).astype(float)
    repeated = np.sort(np.repeat(values, weights.astype(int)))
    for q in (0.1, 0.37, 0.5, 0.9):
        expected = repeated[int(np.ceil(q * len(repeated))) - 1]
        assert weighted_quantile(values, weights, q) == expected


# The largest losses on intervals


@pytest.mark.parametrize("error", [0.0, 1e-3])
@pytest.mark.parametrize("kind", ["margin", "residual"])
def test_arguments_with_their_errors(kind, error, rng):
    loss = L.Hinge() if kind == "margin" else L.Huber(0.7).with_target_error(error)
    y, z, room = rng.choice([-1.0, 1.0], N), 1e3 * rng.normal(size=N), rng.random(N)
    y, low = (y, 1e-15 * z) if kind == "margin" else (y + rng.random(N), 1e-15 * z)
    room[::2] = 0.0
    if kind == "margin":
        t, missed = sum_and_rest(y * z, y * low)
        missed = np.abs(missed)
    else:
        t, first = sum_and_rest(z, -y)
        t, second = sum_and_rest(t, low)
        missed = np.abs(first) + np.abs(second) + error * np.abs(y)
    expected = room + missed
    expected = expected + np.where(expected > 0.0, 2.0 * EPSILON * (np.abs(t) + expected), 0.0)
    lower, upper = loss.arguments(y, z, low, room)
    assert_array_equal(lower, t - expected)
    assert_array_equal(upper, t + expected)
    # without any error nothing is added
    whole = np.round(z)
    lower, upper = loss.arguments(np.round(y), whole, 0.0, np.zeros(N))
    if not (error and kind == "residual"):
        assert_array_equal(lower, upper)


@pytest.mark.parametrize("size", [1e-15, 1.0])
@pytest.mark.parametrize("loss", CLASSES, ids=name)
def test_the_largest_losses_of_classes(loss, size, rng):
    """Other classes at their highest score, the own one at its lowest."""
    y, z = np.eye(K)[np.arange(N) % K], 50.0 * rng.normal(size=(N, K))
    low, error = 0.01 * size * rng.normal(size=(N, K)), size * rng.random((N, K))
    error[::2], low[::2] = 0.0, 0.0
    own = z - np.sum(z * y, axis=1, keepdims=True)
    room = error + np.abs(low)
    room = room + np.sum(room * y, axis=1, keepdims=True)
    room = room + np.where(room > 0.0, 8.0 * EPSILON * (np.abs(own) + room), 0.0)
    ahead = own + np.where(y > 0.0, 0.0, room + 2.0 * EPSILON * np.abs(own))
    values = loss._of_ahead(y, ahead) * (1.0 + (64.0 + K) * EPSILON) / K
    found = loss.largest(y.ravel(), z.ravel(), low.ravel(), error.ravel())
    assert_array_equal(found, np.repeat(values, K))
    exact = loss.largest(y.ravel(), z.ravel(), 0.0, 0.0)
    assert_array_equal(exact[:: 2 * K], values[::2])


@pytest.mark.parametrize("loss", COUNTS, ids=name)
def test_the_largest_losses_of_counts(loss, rng):
    """At the end that is farther from the least value; at both where it is between them."""
    y, _, _ = drawn(loss, rng)
    z, low = np.log(y + 0.1) + rng.normal(size=N), 1e-3 * rng.normal(size=N)
    error = np.where(np.arange(N) % 2, 0.5, 0.0)
    negative = isinstance(loss, L.NegativeBinomial)
    origin = np.full(N, log(loss.k)) if negative else np.log(np.where(y > 0.0, y, 1.0))
    r, first = sum_and_rest(z, -origin)
    r, second = sum_and_rest(r, low)
    room = error + np.abs(first) + np.abs(second) + 2.0 * EPSILON * np.abs(origin)
    room = room + 4.0 * EPSILON * (np.abs(r) + room)
    ends = np.array([loss._of_argument(y, r - room), loss._of_argument(y, r + room)])
    assert_allclose(loss.largest(y, z, low, error), ends.max(axis=0), rtol=1e-15)
    exact = [loss.value(y, z, low + side * error) for side in (-1.0, 1.0)]
    assert_allclose(ends.max(axis=0), np.max(exact, axis=0), rtol=1e-12, atol=1e-12)
    if negative:  # an upper bound, by 64 roundings of terms that may cancel
        t = np.array([-0.5, 0.25])
        given = np.array([2.0, 3.0])
        terms = given * np.logaddexp(0.0, -t), loss.k * np.logaddexp(0.0, t)
        least = given * np.log1p(loss.k / given) + loss.k * np.log1p(given / loss.k)
        value = loss.value(given, t + log(loss.k))
        assert_allclose(value, sum(terms) - least, rtol=1e-12)
        expected = value + 64.0 * EPSILON * (sum(terms) + least)
        found = loss._of_argument(given, t)
        assert_allclose(found - value, expected - value, rtol=0.1)


def test_the_largest_losses_beside_offsets(rng):
    y, offset = rng.choice([-1.0, 1.0], N), 1e8 * rng.normal(size=N)
    table, loss = with_offset(L.Hinge(), y, offset)
    z, low, error = rng.normal(size=N) - offset, 1e-9 * rng.normal(size=N), rng.random(N)
    at, rest = sum_and_rest(z, offset)
    expected = L.Hinge().largest(y, at, low + rest, error + EPSILON * np.abs(low + rest))
    assert_array_equal(loss.largest(table, z, low, error), expected)
    values = L.Hinge().value(y, at, low + rest)
    assert_array_equal(loss.value(table, z, low), values)


@pytest.mark.parametrize("loss", CLASSES, ids=name)
def test_values_with_low_parts(loss, rng):
    y, z = np.ravel(np.eye(K)[np.arange(N) % K]), rng.normal(size=N * K)
    assert_array_equal(loss.value(y, z, 0.25), loss.value(y, z + 0.25))
    for kind, targets in ((L.Huber(), z + 1.0), (L.Poisson(), np.abs(z))):
        assert_allclose(kind.value(targets, z, 0.25), kind.value(targets, z + 0.25), rtol=1e-12)
    expected = np.logaddexp(0.0, -np.sign(z) * (z + 0.25))
    assert_allclose(L.Logistic().value(np.sign(z), z, 0.25), expected)

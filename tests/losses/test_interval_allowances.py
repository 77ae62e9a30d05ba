"""Intervals of intercepts, with allowances for rounding: neither less nor much more."""

from math import inf, log

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from numpy.testing import assert_allclose, assert_array_equal

from skpd import kernels
from skpd import losses as L
from skpd.losses.shifted import with_offset
from tests.losses.test_rounding_allowances import COUNTS, EPSILON, MARGIN, RESIDUAL, N, drawn, name


def level_set(loss, value):
    """The ends of the t with phi(t) <= value, by bisection from phi itself."""
    start = 0.0 if loss.of_residuals else 60.0
    target, ends = np.full(1, 1.0 if loss.of_labels else 0.0), []
    for side in (-1.0, 1.0):
        inside, outside = start, side * 1e4
        for _ in range(200):
            middle = 0.5 * (inside + outside)
            is_inside = loss.value(target, np.array([middle]))[0] <= value
            inside, outside = (middle, outside) if is_inside else (inside, middle)
        ends.append(inside)
    return ends


@pytest.mark.parametrize("value", [1e-3, 0.2, 0.4, 0.6, 1.0, 1.5, 5.0, 30.0])
@pytest.mark.parametrize("loss", RESIDUAL, ids=name)
def test_intervals_of_residuals(loss, value, rng):
    y, weights, _ = drawn(loss, rng)
    lower, upper = level_set(loss, value)
    loss = loss.with_target_error(1e-6)
    total, (group,) = weights.sum(), loss.row_groups(y, weights)
    mean = group.centre
    assert_allclose(mean, np.average(y, weights=weights))
    found = loss.constant_interval([group], value * total, [0.25])
    room = 0.25 + group.error
    assert_allclose(found, [mean + lower - room, mean + upper + room], rtol=1e-12)
    # the allowance alone
    lower, upper = loss._residual_interval(value * total / group.total)
    room = room + 64.0 * EPSILON * (abs(mean) + max(-lower, upper) + 0.25)
    assert_allclose(found, [mean + lower - room, mean + upper + room], rtol=2 * EPSILON)


@pytest.mark.parametrize("value", [1e-3, 0.2, 0.6, 1.0, 1.5, 5.0, 30.0])
@pytest.mark.parametrize("loss", MARGIN, ids=name)
def test_intervals_of_margins(loss, value, rng):
    """The classes bound the intercept from both sides."""
    y, weights, _ = drawn(loss, rng)
    least = level_set(loss, value)[0]
    groups = loss.row_groups(y, weights)
    for group, sign in zip(groups, (1.0, -1.0), strict=True):
        assert_array_equal(group.weights, np.where(y == sign, weights, 0.0))
        assert_allclose(group.total, weights[y == sign].sum(), rtol=1e-14)
    mean_loss = value * groups[0].total
    lower, upper = loss.constant_interval(groups, mean_loss, [0.25, 0.5])
    other = level_set(loss, mean_loss / groups[1].total)[0]
    assert_allclose([lower, upper], [least - 0.25, 0.5 - other], rtol=1e-10, atol=1e-12)
    # the allowance alone
    for end, reach, group in ((lower, 0.25, groups[0]), (-upper, 0.5, groups[1])):
        at = loss._min_margin(mean_loss / group.total)
        room = 64.0 * EPSILON * (1.0 + abs(at) + reach)
        assert_allclose(at - reach - end, room, atol=8 * EPSILON * (1.0 + abs(at)), rtol=0.1)
    nothing = loss.row_groups(y, np.where(y > 0.0, weights, 0.0))
    assert loss.constant_interval(nothing, mean_loss, [0.25, 0.5]) == (lower, inf)
    nothing = loss.row_groups(y, np.where(y > 0.0, 0.0, weights))
    assert loss.constant_interval(nothing, mean_loss, [0.25, 0.5]) == (-inf, upper)


@pytest.mark.parametrize("loss", COUNTS[:4], ids=name)
def test_intervals_of_counts(loss, rng):
    y, weights, _ = drawn(loss, rng)
    (group,) = loss.row_groups(y, weights)
    scaled = weights * (np.ones(N) if loss.power == 2.0 else y ** (2.0 - loss.power))
    total, log_y = scaled.sum(), np.log(np.where(y > 0.0, y, 1.0))
    mean, error = kernels.compensated_dot(scaled, log_y)
    error += 2.0 * EPSILON * (scaled @ np.abs(log_y))
    assert_allclose(group.weights, scaled, rtol=1e-14)
    assert_allclose([group.total, group.centre], [total, mean / total], rtol=1e-13)
    assert_allclose(group.error, error / total, rtol=1e-9)
    for value in (0.1, 2.0):
        lower, upper = loss.constant_interval([group], value * total, [0.25])
        for end, side in ((lower, -1.0), (upper, 1.0)):
            r = end - group.centre - side * 0.25
            assert_allclose(loss.value(np.ones(1), np.array([r]))[0], value, rtol=1e-11)
            assert side * r > 0.0
        at = loss._interval_of_r((value * total * (1.0 + 16.0 * EPSILON)) / group.total)
        size = abs(group.centre) + max(-at[0], at[1]) + 0.25
        room = 0.25 + group.error + 64.0 * EPSILON * size
        expected = group.centre + at[0] - room, group.centre + at[1] + room
        assert_allclose([lower, upper], expected, rtol=2 * EPSILON)
    (nothing,) = loss.row_groups(y, 0.0 * weights)
    assert (nothing.total, nothing.centre) == (0.0, 0.0) and nothing.error < 1e-300
    assert loss.constant_interval([nothing], 1.0, [0.0]) == (-inf, inf)


def test_intervals_of_negative_binomial_counts(rng):
    """Where one of both terms, less the sum of the least values, comes to the mean loss."""
    loss = L.NegativeBinomial(0.4)
    y, weights, _ = drawn(loss, rng)
    groups, k = loss.row_groups(y, weights), 2.5
    positive = y > 0.0
    least = np.where(positive, y * np.log1p(k / np.where(positive, y, 1.0)), 0.0) + k * np.log1p(
        y / k
    )
    for group, factor in zip(groups, (y, np.full(N, k)), strict=True):
        assert_allclose(group.weights, weights * factor)
        total = weights @ factor
        expected = (weights @ least) / total
        assert_allclose([group.total, group.centre], [total, expected], rtol=1e-12)
        assert_allclose(group.centre * (1.0 - 64.0 * EPSILON), expected, rtol=16 * EPSILON)
    lower, upper = loss.constant_interval(groups, 3.0, [0.25, 0.5])
    ends = []
    for group, reach in zip(groups, (0.25, 0.5), strict=True):
        most = (3.0 / group.total + group.centre) * (1.0 + 64.0 * EPSILON)
        t = float(-(most + mpmath.log(-mpmath.expm1(-mpf(most)))))
        assert_allclose(np.logaddexp(0.0, -t), most, rtol=1e-12)
        ends.append(t - reach - 64.0 * EPSILON * (1.0 + abs(t) + reach))
    room = 4.0 * EPSILON * log(k)
    assert_allclose(lower, ends[0] + log(k) - room, rtol=4 * EPSILON)
    assert_allclose(upper, log(k) - ends[1] + room, rtol=4 * EPSILON)
    assert loss.constant_interval(loss.row_groups(0.0 * y, weights), 3.0, [0.25, 0.5])[0] == -inf
    assert loss.constant_interval(loss.row_groups(y, 0.0 * weights), 3.0, [0.1, 0.1]) == (
        -inf,
        inf,
    )


@pytest.mark.parametrize("inner", [L.Hinge(), L.Poisson(), L.NegativeBinomial(0.4)], ids=name)
def test_intervals_beside_offsets(inner, rng):
    y, weights, _ = drawn(inner, rng)
    weights, offset = 0.01 * weights, rng.normal(size=N) + 3.0 * (y > 0.0)
    table, loss = with_offset(inner, y, offset)
    groups, bounds = (
        loss.row_groups(table, weights),
        [0.25, 0.5][: len(inner.row_groups(y, weights))],
    )
    for group in groups:
        mean, error = kernels.compensated_dot(group.weights, offset)
        assert_allclose(group.offset, mean / group.total, rtol=1e-13)
        error = error / group.total + 4.0 * EPSILON * abs(mean / group.total)
        assert_allclose(group.offset_error, error, rtol=1e-12)
        assert group.total < 1.0
    offsets = [group.offset for group in groups]
    middle = 0.5 * (min(offsets) + max(offsets))
    further = []
    for group, reach in zip(groups, bounds, strict=True):
        distance = abs(group.offset - middle) + group.offset_error
        further.append(reach + distance + 4.0 * EPSILON * (reach + distance + abs(middle)))
    lower, upper = inner.constant_interval(groups, 0.1, further)
    room = 4.0 * EPSILON * abs(middle)
    expected = lower - middle - room - EPSILON * abs(lower), upper - middle + room
    expected = expected[0], expected[1] + EPSILON * abs(upper)
    assert_allclose(loss.constant_interval(groups, 0.1, bounds), expected, rtol=EPSILON)
    empty = loss.row_groups(table, 0.0 * weights)
    assert all(group.offset == 0.0 for group in empty)
    assert loss.constant_interval(empty, 0.1, bounds) == (-inf, inf)

"""The worst-case hinge loss, and losses as maxima over two multipliers."""

from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd import losses as L
from skpd.losses.shifted import with_offset
from skpd.models.robust.loss import FlippedHinge, WorstCaseHinge, project_triangle

EPSILON = 2.0**-52


def test_projection_onto_the_triangle(rng):
    """Nearer than any of 2,000 points of the triangle."""
    points = rng.dirichlet(np.ones(3), 2000)[:, :2]
    for point in rng.normal(size=(100, 2)) * 2:
        nearest = np.array(project_triangle(*point[:, np.newaxis])).ravel()
        assert (nearest >= 0).all() and nearest.sum() <= 1.0
        assert np.linalg.norm(nearest - point) <= np.min(np.linalg.norm(points - point, axis=1))


# p and r of the triangle, on a grid
GRID = [(p, r) for p in np.linspace(0, 1, 201) for r in np.linspace(0, 1, 201) if p + r <= 1.0]
P, R = np.array(GRID).T


@pytest.mark.parametrize("cost", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
def test_the_flipped_hinge_is_a_maximum_over_the_triangle(cost, rng):
    loss, one = FlippedHinge(cost), np.ones(41)
    m = np.linspace(-4.0, 4.0, 41)
    values = np.max(P * (1.0 - m[:, None]) + R * (1.0 + m[:, None] - cost), axis=1)
    assert_allclose(loss.value(one, m), values, atol=1e-12)
    assert_allclose(loss.value(-one, m), loss.value(one, -m))
    u = np.linspace(-1.0, 1.0, 41)
    near = np.abs(R - P - u[:, None]) < 1e-9
    most = np.max(np.where(near, P + R * (1.0 - cost), -inf), axis=1)
    assert_allclose(loss.conjugate(one, u), -most, atol=1e-12)
    assert np.all(np.isinf(loss.conjugate(one[:2], np.array([-1.001, 1.001]))))
    slopes = (loss.value(one, m + 1e-7) - loss.value(one, m - 1e-7)) / 2e-7
    kinks = np.abs(m[:, None] - [1.0, cost - 1.0, 0.5 * cost]).min(axis=1) < 1e-6
    assert_allclose(loss.gradient(one, m)[~kinks], slopes[~kinks], atol=1e-6)
    assert loss.conjugate_domain == (-1.0, 1.0)


@pytest.mark.parametrize("cost", [0.3, 2.5])
def test_the_largest_flipped_hinge_in_an_interval(cost, rng):
    loss, y = FlippedHinge(cost), rng.choice([-1.0, 1.0], 200)
    z, low, error = 3.0 * rng.normal(size=200), 0.01 * rng.normal(size=200), rng.random(200)
    ends = [loss.value(y, z + low + side * error) for side in (-1.0, 1.0)]
    found = loss.largest(y, z, low, error)
    assert_allclose(found, np.maximum(*ends), atol=1e-14)
    assert np.all(found >= np.maximum(*ends))
    # with the rounding of the flipped loss where that is the larger one
    upper = loss.arguments(y, z, low, error)[1]
    flipped = (1.0 + upper - cost) + EPSILON * (1.0 + np.abs(upper) + cost)
    larger = flipped > ends[0] + 1.0
    assert larger.any()
    assert_array_equal(found[larger], flipped[larger])


def test_decisions_and_radii(rng):
    loss = WorstCaseHinge(0.5)
    assert loss.at_radius(3.0) == FlippedHinge(1.5)
    assert WorstCaseHinge().at_radius(3.0) == L.Hinge()
    p, r = rng.dirichlet(np.ones(3), 6).T[:2]
    y, weights = np.array([1.0, 1.0, 1.0, -1.0, -1.0, 1.0]), rng.random(6)
    z, error = np.array([2.0, -2.0, 0.1, -3.0, 3.0, 0.5]), np.array([0.1] * 5 + [0.5])
    p[3], r[3] = 0.5, 0.5
    found = loss.decision_costs(y, weights, z, error, (p, r))
    expected = weights * (1.0 - p - r - 4.0 * EPSILON)
    assert_array_equal(found, [expected[0], 0.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("kappa", [0.5, inf])
def test_multipliers_have_exact_sums(kappa, rng):
    loss, y = WorstCaseHinge(kappa), rng.choice([-1.0, 1.0], 100)
    given = rng.normal(size=(2, 100))
    p, r = loss.project_dual(y, given)
    expected = project_triangle(given[0], given[1] if kappa < inf else 0.0 * given[1])
    assert_allclose([p, r], expected, atol=2.0**-51)
    assert np.all(p >= 0.0) and np.all(r >= 0.0) and np.all(p + r <= 1.0)
    assert_array_equal(np.array([p, r]) * 2.0**52 % 1.0, 0.0)
    assert_array_equal(loss.project_dual(y, np.stack([p, r])), [p, r])
    # a dual point of the hinge loss has r = 0
    theta = -y * rng.random(100)
    p, r = loss.project_dual(y, theta)
    assert_allclose(p, np.abs(theta), atol=2.0**-52)
    assert_array_equal(r, 0.0)
    bad = np.array([[np.nan, np.inf, -np.inf, 1e200], [0.0, 0.0, 0.0, 0.0]])
    assert_array_equal(loss.project_dual(np.ones(4), bad), [[0.0, 1.0, 0.0, 1.0], [0.0] * 4])
    if kappa < inf:  # sizes beyond 1e100 count the same
        for far in ([3e100, 1.5e100], [1.5e100, 3e100]):
            same = project_triangle(np.array([1e100]), np.array([1e100]))
            found = loss.project_dual(np.ones(1), np.reshape(far, (2, 1)))
            assert_array_equal(found, same)


@pytest.mark.parametrize("largest", [2.0**-20, 0.999 * 2.0**-20, 2.0**-21, 3e-9, 1e-300, 0.0])
def test_small_multipliers_are_scaled(largest):
    """By the power of 2 that brings the largest sum between 1/4 and 1/2, if it is below 2^-20."""
    given = largest * np.array([[0.25, 0.5, 0.0], [0.25, 0.5, 0.125]])
    p, r = WorstCaseHinge(1.0).project_dual(np.ones(3), given)
    if largest >= 2.0**-20 or largest == 0.0:
        assert_allclose([p, r], given, atol=2.0**-52)
    else:
        assert 0.25 < p[1] + r[1] <= 0.5
        exponent = np.log2((p[1] + r[1]) / largest)
        assert abs(exponent - np.round(exponent)) <= 1e-9
        assert_allclose([p, r], 2.0 ** np.round(exponent) * given, atol=2.0**-51)


def test_points_of_the_triangle_are_left_as_they_are():
    above = np.nextafter(0.7, 1.0)  # 0.3 + this is 1, when it is rounded
    points = np.array([[0.0, 1.0, 0.5, 0.25, 0.3], [1.0, 0.0, 0.5, 0.5, above]])
    assert_array_equal(project_triangle(*points), points)
    assert_array_equal(project_triangle(*np.array([[2.0, 0.75, -1.0], [0.0, 0.75, 0.5]])),
                       [[1.0, 0.5, 0.0], [0.0, 0.5, 0.5]])  # fmt: skip
    assert_array_equal(project_triangle(np.array([3.0, 0.5]), np.array([-9.0, 1.5])),
                       [[1.0, 0.0], [0.0, 1.0]])  # fmt: skip


# Losses as maxima over two multipliers


@pytest.mark.parametrize(
    "loss", [L.GeneralizedHinge(2.5), L.Pinball(0.3), L.EpsilonInsensitive(0.4)], ids=str
)
def test_maxima_over_two_multipliers(loss, rng):
    y = rng.choice([-1.0, 1.0], 30) if loss.of_labels else rng.normal(size=30)
    z, offset = 3.0 * rng.normal(size=30), rng.normal(size=30)
    table, shifted = with_offset(loss, y, offset) if loss.of_labels else (y, loss)
    moved = z + offset if loss.of_labels else z
    for kind, targets, at in ((loss, y, moved), (shifted, table, z)):
        found = kind.multipliers(targets)
        terms = found.slopes * at[:, None] + found.offsets
        values = np.max(P[:, None] * terms[:, 0] + R[:, None] * terms[:, 1], axis=0)
        assert_allclose(values, loss.value(y, moved), atol=1e-12)
    a = rng.dirichlet(np.ones(3), 30)[:, :2]
    theta = found.theta(a)
    assert_allclose(theta, found.slopes[:, 0] * a[:, 0] + found.slopes[:, 1] * a[:, 1])
    # those of least norm have the direction of the slopes
    norms = found.slopes * (theta / np.sum(found.slopes**2, axis=1))[:, None]
    assert_allclose(found.of_theta(theta), np.transpose(project_triangle(*norms.T)), atol=1e-15)
    inside = np.all(norms >= 0.0, axis=1) & (norms.sum(axis=1) <= 1.0)
    assert_allclose(found.theta(found.of_theta(theta))[inside], theta[inside])
    points = 2.0 * rng.normal(size=(300, 2))
    expected = np.transpose(project_triangle(*points.T))
    assert_allclose(found.projected(points), expected, atol=1e-15)


def test_losses_without_multipliers(rng):
    for loss in (L.Hinge(), L.Huber(), L.Logistic()):
        assert loss.multipliers(np.ones(2)) is None
    table, shifted = with_offset(L.Hinge(), np.ones(2), np.ones(2))
    assert shifted.multipliers(table) is None

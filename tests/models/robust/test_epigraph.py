"""A norm with its radius as a variable: exact numbers, and how far bounds are rounded up."""

from math import inf

import numpy as np
import pytest
from mpmath import mpf
from numpy.testing import assert_allclose, assert_array_equal

from skpd._floats import EPSILON
from skpd.penalties import FreeFeatures, NormEpigraph
from tests.oracles.exact_objectives import exact, norm

FREE = FreeFeatures(np.array([2, 3]), np.array([-0.5, 0.0]), np.array([2.0, inf]))


def roundings(found, expected):
    return (found - expected) / (EPSILON * expected)


def test_dual_norms_are_rounded_up():
    for q in (1, 2, inf):
        penalty = NormEpigraph(q)
        assert penalty.dual_norm(np.array([1.0, 0.0, 0.0])) == 1.0 + 64.0 * EPSILON
        assert penalty.dual_norm(np.array([1.0, 0.0, 0.5])) == 1.5 + 64.0 * EPSILON
        assert penalty.dual_norm(np.array([1.0, 0.0, -2.0])) == 0.0
        assert penalty.support(np.array([0.0, 1.0, 0.5]), 2.0) == 3.0 + 128.0 * EPSILON
        # alpha - t is rounded down by 4 EPSILON (alpha + |t|)
        v = np.array([2.0, 0.0, -0.5])
        assert penalty.bounded_conjugate(v, 1.0, 1.0) == 0.5 + 134.0 * EPSILON
        assert penalty.conjugate(v, 1.0) == inf
        assert penalty.conjugate(v, 1.5 * (1.0 + 100.0 * EPSILON)) == 0.0
        assert penalty.conjugate(v, 1.5) == inf
        assert penalty.bounded_conjugate(v, 3.0, 1.0) == 0.0
        # the two sides are equal: 4 (1 + 64 EPSILON) + 1 <= alpha (1 - 4 EPSILON) - ...
        assert penalty.is_norm and not NormEpigraph(q, 0.1).is_norm


def test_conjugates_are_zero_at_equality():
    """1 + 64 EPSILON is at most the room 2 - 4 EPSILON 2 for alpha = 2; find where they meet."""
    penalty, v = NormEpigraph(2), np.array([1.0, 0.0, 0.0])
    alpha = 1.0 + 68.0 * EPSILON
    assert alpha - 4.0 * EPSILON * alpha == 1.0 + 64.0 * EPSILON
    assert penalty.conjugate(v, alpha) == 0.0
    assert penalty.conjugate(v, alpha - EPSILON) == inf


@pytest.mark.parametrize(
    ("q", "v", "square"),
    [
        (1, [3.0, -1.5, 0.5], 2.0**2 + 0.5**2),  # room 1: max(|v| - 1, 0)
        (2, [3.0, -4.0, 0.0], 4.0**2),
        (inf, [3.0, -1.0, 0.5], 2.0**2 + 1.0 + 0.25),  # the projection is (1, 0, 0)
    ],
)
def test_conjugates_with_a_ridge(q, v, square):
    """Half the squared distance from the dual ball of radius alpha - t over alpha weight."""
    for t, alpha, weight in ((0.0, 1.0, 1.0), (0.5, 1.5, 0.25), (-0.25, 0.75, 2.0)):
        penalty = NormEpigraph(q, weight)
        point = np.append(v, t)
        expected = 0.5 * square / (alpha * weight)
        found = penalty.conjugate(point, alpha)
        assert 170.0 <= roundings(found, expected) <= 330.0, roundings(found, expected)
        assert penalty.bounded_conjugate(point, alpha, 1e9) == found
        size = {1: np.max, 2: np.linalg.norm, inf: np.sum}[q](np.abs(v))
        assert_allclose(penalty.bounded_conjugate(point, alpha, 0.01), 0.01 * (size - 1.0))
        assert penalty.conjugate(np.append(v, 2.0 * alpha), alpha) == inf
        # beyond alpha the radius is as large as it may be
        for radius in (0.1, 3.0):
            bounds = (
                radius * (size + alpha),
                0.5 * float(np.dot(v, v)) / (alpha * weight) + radius * alpha,
            )
            found = penalty.bounded_conjugate(np.append(v, 2.0 * alpha), alpha, radius)
            assert 0.0 < roundings(found, min(bounds)) <= 200.0
    penalty, zeros = NormEpigraph(q, 1.0), np.zeros(4)
    assert penalty.conjugate(zeros, 0.0) == penalty.bounded_conjugate(zeros, 0.0, 3.0) == 0.0
    inside = np.array([0.2, 0.1, 0.0, 0.0])
    assert penalty.conjugate(inside, 1.0) == penalty.bounded_conjugate(inside, 1.0, 3.0) == 0.0


def test_distances_from_l1_balls_that_are_small(rng):
    """Of points that are far from the ball, whose projections have errors beside its radius."""
    for scale in (1.0, 1e4, 1e8):
        for _ in range(40):
            v = scale * rng.normal(size=5)
            found = NormEpigraph(inf, 1.0)._distance(np.append(v, 0.0), 0.5)
            threshold, sizes = mpf(0), sorted(map(abs, exact(v)), reverse=True)
            for k in range(1, 6):
                threshold = max(threshold, (sum(sizes[:k]) - mpf(0.5)) / k)
            distance = norm([min(size, threshold) for size in sizes])
            assert 0 < roundings(found, distance) <= 200.0


def test_values_and_the_nearest_points():
    penalty = NormEpigraph(1, 0.5, FREE)
    w = np.array([1.0, -2.0, 1.5, 7.0, 4.0])
    assert penalty.value(w) == 4.0 + 0.25 * 5.0
    assert_array_equal(penalty.of_norm(w), [1.0, -2.0])
    for place, outside in ((2, -0.6), (2, 2.1), (3, -0.1), (4, 2.9)):
        other = w.copy()
        other[place] = outside
        assert penalty.value(other) == inf
    other = penalty.feasible(np.array([1.0, -2.0, 3.0, -1.0, 2.0]))
    assert_array_equal(other, [1.0, -2.0, 2.0, 0.0, 3.0])
    assert_array_equal(penalty.feasible(w), w)
    # far inside, the prox shrinks w by the ridge, and the radius by the step
    found = penalty.prox(np.array([1.0, -0.5, 3.0, -1.0, 9.0]), np.full(5, 2.0))
    assert_allclose(found, [0.5, -0.25, 2.0, 0.0, 7.0])
    assert_array_equal(
        penalty.worst_case(
            np.array([1.0, -2.0, 0.0, 0.0, -4.0]), np.array([0.5, 0.5, 0.0, 0.0, 0.5])
        ),
        [1.5, 2.5, 0.0, 0.0, -3.5],
    )
    for free in ((), (0.0, 0.0)):
        one = NormEpigraph(2, 0.0, FREE if free else NormEpigraph(2).free_features)
        assert_allclose(one.prox(np.array([3.0, 4.0, *free, 1.0]), 1.0), [1.5, 2.0, *free, 2.5])


def test_only_three_norms():
    assert repr(NormEpigraph(1)) == "NormEpigraph(q=1, weight=0.0)"
    assert NormEpigraph(1).value(np.zeros(2)) == 0.0
    for q in (0, 1.5, 3):
        with pytest.raises(KeyError):
            _ = NormEpigraph(q).norm

"""Sums over single coefficients, with weights and bounds of their own."""

import itertools
from math import inf

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skpd import penalties as R
from skpd._floats import EPSILON
from skpd.penalties.weighted import WithExtraCoefficient, restricted, with_extra_coefficient
from tests.penalties.examples import N


def test_the_widest_points_of_bounded_coefficients():
    penalty = R.Separable(1.0, 0.0, [-1.0, -1.0, -1.0, 0.0, -2.0], [2.0, 0.5, 1.0, 1.0, 0.0])
    v, error = np.array([0.5, 0.5, 3.0, 0.5, 0.5]), np.array([1.0, 1.0, 1.0, 1.0, 1.0])
    assert_array_equal(penalty.worst_case(v, error), [1.5, -1.5, 4.0, 1.5, -0.5])
    assert_array_equal(penalty.worst_case(-v, error), [1.5, -1.5, -4.0, 0.5, -1.5])
    assert_array_equal(
        R.NormEpigraph(2).worst_case(np.array([-1.0, 2.0, -3.0]), error[:3]), [2, 3, -2]
    )
    assert_array_equal(R.NonNegativeL1().worst_case(-v, error), -v + error)
    assert_array_equal(R.L1().worst_case(-v, error), -v - error)
    assert_array_equal(R.TotalVariation().worst_case(-v, error), [-v, error])


def test_penalties_with_one_more_coefficient(rng):
    w = rng.normal(size=N + 1)
    for penalty in (
        R.L1(), R.SquaredL2(), R.ElasticNet(0.3), R.WeightedL1([1.0, 0.0, 2.0, 0.5]), R.L2Norm(),
        R.GroupL2(2), R.GroupL2([[3, 0], [1, 2]]), R.GroupL2(["b", "a", "b", "a"], [0.5, 2.0]),
    ):  # fmt: skip
        for weight in (0.0, 0.3):
            found = with_extra_coefficient(penalty, N, weight).for_n_features(N + 1)
            expected = penalty.value(w[:-1]) + weight * abs(w[-1])
            assert found.value(w) == pytest.approx(expected, rel=1e-14)
            assert found.is_finite and (N in found.free_features.columns) == (weight == 0.0)
    bounded = with_extra_coefficient(R.Box(-0.5, 2.0), N, 0.3)
    assert bounded.lower.tolist() == [-0.5] * 4 + [-inf]
    assert bounded.upper.tolist() == [2.0] * 4 + [inf]
    with pytest.raises(ValueError, match="one more unknown"):
        with_extra_coefficient(R.LInf(), N, 0.0)
    assert R.LInf().with_extra_coefficient(N, 0.3) is None


def test_penalties_of_some_coefficients():
    assert restricted(R.ElasticNet(0.3), np.array([1])) == R.ElasticNet(0.3)
    found = restricted(R.Separable([1.0, 2.0, 3.0], 0.5, [-1.0, -2.0, -3.0]), np.array([2, 0]))
    assert found.l1.tolist() == [3.0, 1.0] and found.lower.tolist() == [-3.0, -1.0]
    assert (found.l2, found.upper) == (0.5, inf)


def test_weights_and_bounds_of_features():
    found = R.for_features(R.ElasticNet(0.25), [1.0, 2.0], -1.0, [3.0, inf])
    assert isinstance(found, R.Separable)
    assert (found.l1.tolist(), found.l2.tolist()) == ([0.25, 0.5], [0.75, 1.5])
    assert (found.lower, found.upper.tolist()) == (-1.0, [3.0, inf])
    found = R.for_features(R.Box(-0.5, 2.0), None, [-1.0, -0.25], 1.0)
    assert (found.lower.tolist(), found.upper) == ([-0.5, -0.25], 1.0)
    found = R.for_features(R.L1(), [0.0, 0.5])
    assert isinstance(found, R.WeightedL1) and found.weights.tolist() == [0.0, 0.5]
    assert isinstance(R.for_features(R.L1()), R.Separable)
    assert R.for_features(R.L1()).terms == (1.0, 0.0, -inf, inf)
    for bound in ({"lower": -1.0}, {"upper": 1.0}):
        assert isinstance(R.for_features(R.L1(), [1.0, 2.0], **bound), R.Separable)
    assert isinstance(R.for_features(R.SquaredL2(), [1.0, 2.0]), R.Separable)
    left_out = R.for_features(R.ElasticNet(0.5), [inf, 2.0], [-1.0, -2.0])
    assert [term.tolist() for term in left_out.terms] == [
        [0.5, 1.0], [0.5, 1.0], [0.0, -2.0], [0.0, inf],
    ]  # fmt: skip
    assert R.Separable(0.0, 0.0, 0.0, 0.0).value(np.array([0.0, 1.0])) == inf
    assert R.Separable(0.0, 0.0, 0.0, 0.0).conjugate(np.array([3.0, 1.0]), 0.5) == 0.0
    for wrong in (
        {"weights": [-1e-9]}, {"weights": [-inf]}, {"weights": [np.nan]}, {"lower": 1e-9},
        {"upper": -1e-9},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"penalty_weights|bounds"):
            R.for_features(R.L1(), **wrong)
    with pytest.raises(ValueError, match="need a penalty of single coefficients"):
        R.for_features(R.L2Norm(), [1.0])
    with pytest.raises(ValueError, match="the same length"):
        R.Separable([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="must differ"):
        R.Box(0.0, 0.0)
    R.Separable(1.0, 0.0, [0.0, -1.0], [1.0, 0.0])  # differ in each coefficient


def test_conjugates_of_single_coefficients():
    """Over l1 |w_j| <= radius: the largest u (|v| - alpha l1) - alpha l2 u^2 / 2 on a grid."""
    for penalty in (
        R.L1(),
        R.NonNegativeL1(),
        R.ElasticNet(0.3),
        R.Separable(0.5, 1.0, -1.0, 2.0),
    ):
        l1, l2, lower, upper = penalty.terms
        for v, alpha, radius in itertools.product(
            (-3.0, -0.1, 0.0, 0.4, 2.5), (0.3, 2.0), (0.5, 9)
        ):
            u = np.linspace(max(lower, -radius / l1), min(upper, radius / l1), 20_001)
            u = np.append(u, 0.0)
            most = np.max(v * u - alpha * (l1 * np.abs(u) + 0.5 * l2 * u * u))
            found = penalty.coordinate_conjugate(np.array([v, 0.0, v]), alpha, radius)
            assert 2.0 * most <= found * (1.0 + 1e-12) <= 2.0 * most + 1e-4


def test_rounding_of_conjugates_of_sums():
    """The slope alpha l1 is rounded down by 4 EPSILON, multipliers up by 16."""
    edge = np.array([1.0])
    assert R.Separable([1.0], 0.0, -1.0, 1.0).conjugate(edge, 1.0) == 4.0 * EPSILON
    assert R.Separable([1.0], 1.0).conjugate(2.0 * edge, 1.0) == 0.5 + 4.0 * EPSILON
    assert R.ElasticNet(0.5).coordinate_conjugate(2.0 * edge, 1.0, 0.25) == 0.6875 + EPSILON
    assert R.L1().coordinate_conjugate(edge, 1.0, 2.0) == 8.0 * EPSILON
    assert R.WeightedL1(edge).bounded_conjugate(2.0 * edge, 0.5, 1.0) == 1.5 + 40.0 * EPSILON
    assert R.WeightedL1(edge).support(edge, 3.0) == 3.0 + 48.0 * EPSILON


def test_what_sums_of_terms_declare():
    for some, is_norm, even, is_finite in (
        ({}, True, True, True),
        ({"l2": [0.0, 1.0]}, False, True, True),
        ({"l1": [1.0, 0.0], "l2": [0.0, 1.0]}, False, True, True),
        ({"lower": 0.0}, True, False, False),
        ({"upper": 0.0}, True, False, False),
        ({"lower": [0.0, -inf], "upper": [inf, 0.0]}, True, False, False),
        ({"lower": -1.0}, False, False, False),
        ({"upper": 1.0}, False, False, False),
        ({"lower": -1.0, "upper": 1.0}, False, True, False),
        ({"lower": [-1.0, -2.0], "upper": [1.0, 2.0]}, False, True, False),
        ({"lower": [-1.0, -2.0], "upper": [2.0, 1.0]}, False, False, False),
        ({"l1": [0.0, 1.0], "lower": [-1.0, -inf], "upper": [2.0, inf]}, True, False, False),
        ({"l1": [0.0, 1.0], "lower": [-1.0, -1.0]}, False, False, False),
    ):
        penalty = R.Separable(**some).for_n_features(2)
        assert (penalty.is_norm, penalty.even, penalty.is_finite) == (is_norm, even, is_finite)
        assert penalty.n_features == 2


def test_slopes_of_sums(rng):
    """The dual norm: the largest |v_j| / l1_j among the signs that bounds allow."""
    penalty = R.Separable([2.0, 0.5, 0.0, 1.0], 0.0, [0.0, -inf, -1.0, -inf], [inf, 0.0, 2.0, inf])
    for v, expected in (
        ([3.0, 0.0, 9.0, 0.0], 1.5), ([-3.0, 0.0, 9.0, 0.0], 0.0), ([0.0, 3.0, -9.0, 0.0], 0.0),
        ([0.0, -3.0, 0.0, 2.0], 6.0), ([0.0, 0.0, 0.0, -0.5], 0.5),
    ):  # fmt: skip
        assert penalty.dual_norm(np.array(v)) == penalty.largest_alpha(np.array(v)) == expected
    ridge = R.Separable([0.0, 1.0], [1.0, 0.0])
    assert ridge.largest_alpha(np.array([0.1, 1.0])) == inf
    assert ridge.largest_alpha(np.array([0.0, 1.0])) == 1.0
    box = R.Separable(0.0, 1.0, [-1.0, -0.5], [2.0, 3.0])
    assert box.conjugate(np.array([9.0, -9.0]), 1.0) == 18.0 - 2.0 + 4.5 - 0.125
    assert box.bounded_conjugate(np.array([9.0, -9.0]), 1.0, 2.125) == 18.0 - 2.0 + 4.5 - 0.125
    assert box.bounded_conjugate(np.array([9.0, -9.0]), 1.0, 0.0) == 0.0


@pytest.mark.parametrize("inner", [R.L2Norm(), R.LInf()], ids=str)
def test_norms_with_one_more_coefficient(inner, rng):
    """R(w) + 3 |t|: each property is that of both parts, by their own formulas."""
    penalty = WithExtraCoefficient(inner, 3.0)
    assert R.check_penalty(penalty, n_features=5) is None
    v = rng.normal(size=4)
    both, far = np.append(v, 1.5), np.append(v, 30.0)
    assert penalty.value(both) == pytest.approx(inner.value(v) + 4.5)
    assert penalty.dual_norm(both) == pytest.approx(max(inner.dual_norm(v), 0.5))
    assert penalty.dual_norm(far) == 10.0
    assert penalty.conjugate(0.1 * both, 10.0) == 0.0 and penalty.conjugate(both, 0.1) == inf
    assert penalty.support(far, 2.0) == pytest.approx(20.0)
    assert penalty.bounded_conjugate(far, 4.0, 2.0) == pytest.approx(12.0)
    assert penalty.bounded_conjugate(far, 10.5, 2.0) == 0.0
    moved = penalty.prox(np.append(v, 5.0), 0.5)
    np.testing.assert_allclose(moved, np.append(inner.prox(v, 0.5), 3.5))
    assert penalty.worst_case(both, np.full(5, 0.25))[-1] == 1.75


def test_a_square_with_one_more_coefficient(rng):
    penalty, v = WithExtraCoefficient(R.GroupL1Squared(groups=2), 2.0), rng.normal(size=4)
    inner, both = penalty.penalty, np.append(v, 1.0)
    assert R.check_penalty(penalty.for_n_features(5), n_features=5) is None
    assert penalty.support(both, 3.0) == pytest.approx(inner.support(v, 3.0) + 1.5)
    of_inner = inner.bounded_conjugate(v, 0.25, 3.0)
    assert penalty.bounded_conjugate(both, 0.25, 3.0) == pytest.approx(of_inner + 0.75)

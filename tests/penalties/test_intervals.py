"""Intervals and zeros that follow from an upper bound on alpha R(w) - v.w."""

from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd import penalties as R
from skpd._floats import EPSILON
from skpd.penalties.implied_intervals import ROUNDING, Slopes, intervals_within

FAR = 1e7  # beyond all ends of intervals


def bisected(function, inside, outside):
    """The end of the set where a convex function is at most 0, of which one point is known."""
    if function(outside) <= 0.0:
        return outside
    for _ in range(200):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if function(middle) <= 0.0 else (inside, middle)
    return inside


def term(l1, l2, v, error, alpha):
    """One term, at the v of its interval that makes it least."""
    return lambda u: alpha * (l1 * abs(u) + 0.5 * l2 * u * u) - v * u - error * abs(u)


def minimiser(function, low, high):
    low, high = max(low, -FAR), min(high, FAR)
    for _ in range(300):
        a, b = low + (high - low) / 3.0, high - (high - low) / 3.0
        low, high = (low, b) if function(a) < function(b) else (a, high)
    return min((low, 0.0, high), key=function)


def by_bisection(penalty, slopes, above):
    """The intervals where the sum of the terms is at most its minimum and a number above it."""
    arrays = [np.broadcast_to(term, len(slopes.v)) for term in penalty.terms]
    l1, l2, lower, upper = arrays
    functions = [
        term(*numbers, slopes.alpha)
        for numbers in zip(l1, l2, slopes.v, slopes.error, strict=True)
    ]
    free = (l1 == 0.0) & (l2 == 0.0)
    at = [minimiser(f, a, b) for f, a, b in zip(functions, lower, upper, strict=True)]
    least = [f(x) for f, x in zip(functions, at, strict=True)]
    most = sum(np.array(least)[~free]) + above
    ends = np.column_stack([lower, upper])
    for j, function in enumerate(functions):
        if not free[j]:
            ends[j] = [
                bisected(lambda u, f=function, b=least[j]: f(u) - b - above, at[j], far)
                for far in (max(lower[j], -FAR), min(upper[j], FAR))
            ]
    return most, ends


SEPARABLE = [
    R.SquaredL2(),
    R.ElasticNet(0.4),
    R.Separable([9.0, 0.5, 0.0, 0.5], [0.0, 1.0, 0.0, 2.0], [-inf, -0.5, -1.0, 0.0], inf),
    R.Separable(0.3, 0.7, -inf, [0.0, 0.3, 2.0, inf]),
    R.Separable(0.0, [0.5, 1.0, 2.0, 3.0], -2.0, 1.0),
    R.Separable([0.0, 1.0, 0.1, 0.0], 0.0, [-0.5, -0.2, -1.0, -3.0], [1.0, 0.0, 2.0, 4.0]),
]


@pytest.mark.parametrize("penalty", SEPARABLE, ids=str)
def test_intervals_of_sums_against_bisection(penalty, rng):
    penalty = penalty.for_n_features(4)
    for above in (1e-3, 0.1, 2.0):
        for errors in (0.0, 0.5):
            v, alpha = rng.normal(size=4), rng.uniform(0.5, 1.5)
            slopes = Slopes(v, errors * rng.random(4) * np.abs(v), alpha)
            most, expected = by_bisection(penalty, slopes, above)
            found = penalty.intervals(slopes, most, 1e9)
            where = np.isfinite(expected)
            assert_allclose(found[where], expected[where], rtol=1e-6, atol=1e-6)
            assert_array_equal(found[~where], expected[~where])


def of_terms(terms, v, most, radius, error=0.0, alpha=1.0):
    v = np.atleast_1d(np.array(v, dtype=float))
    penalty = R.Separable(*terms).for_n_features(len(v))
    return penalty.intervals(Slopes(v, np.full(len(v), error), alpha), most, radius)


def allowance(found, expected):
    """By how many EPSILON, relative to them, ends are outside of the exact intervals."""
    expected = np.array(expected)
    outside = (found - expected) * [-1.0, 1.0]
    return outside / (EPSILON * np.where(expected == 0.0, 1.0, np.abs(expected)))


@pytest.mark.parametrize(
    ("terms", "v", "most", "radius", "expected", "roundings"),
    [
        # |u| - v u <= most
        ((1.0,), [0.5, -0.25], 0.25, FAR, [[-1 / 6, 0.5], [-1 / 3, 0.2]], [192, 320, 235, 191]),
        ((1.0,), [0.5, -0.25], 0.25, 0.25, [[-1 / 6, 0.25], [-0.25, 0.2]], [192, 128, 128, 191]),
        ((0.5,), [0.0], 1.0, 0.25, [[-0.5, 0.5]], [128, 128]),
        # u^2 / 2 - 2 u <= -3 / 2 from 1 to 3
        ((0.0, 1.0), [2.0], -1.5, FAR, [[1.0, 3.0]], [416, 267]),
        ((0.0, 1.0), [-2.0], -1.5, FAR, [[-3.0, -1.0]], [267, 416]),
        ((0.0, 1.0), [2.0, 1.0], -2.0, FAR, [[1.0, 3.0], [0.0, 2.0]], [544, 309, 544, 400]),
        # u^2 / 2 + u / 2 - u <= 3, where -u / 2 is a part of it for u < 0
        ((0.5, 1.0), [1.0], 3.0, FAR, [[1.5 - 8.25**0.5, 3.0]], [148, 129]),
        # within bounds
        ((0.0, 1.0, -1.0, 1.0), [2.0], -1.5, FAR, [[1.0, 1.0]], [384, 0]),
        ((1.0, 0.0, [0.0, -0.125], 0.125), [0.5, 0.5], 1.0, FAR, [[0, 0.125], [-0.125, 0.125]], 0),
        # unbounded below: w_0 may be as large as R(w) <= radius allows, and the others more
        ((1.0,), [1.5, 0.5], 0.0, 2.0, [[-0.4, 2.0], [-2 / 3, 2.0]], [511, 128, 512, 128]),
        ((2.0,), [2.5, 1.0], 0.0, 2.0, [[-1 / 9, 1.0], [-1 / 6, 0.5]], [768, 128, 768, 896]),
    ],
)  # fmt: skip
def test_intervals_of_small_sums(terms, v, most, radius, expected, roundings):
    """The exact ends, wider by so many EPSILON for the rounding errors on the way to them."""
    found = allowance(of_terms(terms, v, most, radius), expected)
    assert_allclose(found, np.reshape(np.broadcast_to(roundings, found.size), found.shape), 0.02)


def test_intervals_of_a_single_point():
    """Where the bound is the least value, its rounding errors move the ends most."""
    assert_allclose(of_terms((0.0, 1.0), [2.0, 1.0], -2.5, FAR), [[2, 2], [1, 1]], atol=1e-6)
    found = of_terms((1.0,), [0.5, 0.0], 0.0, FAR)
    assert not found.any() and not np.signbit(found).any()


def of_groups(v, most, radius=inf, error=0.0, alpha=1.0, l1=0.25, weights=(1.0, 2.0)):
    """With l1 = 1 / 4 beside groups (0, 1) and (2) with weights, all of R as it is."""
    groups, v = R.SparseGroup([[0, 1], [2]], weights, l1_ratio=0.25), np.array(v)
    object.__setattr__(groups, "weights", np.array(weights) / 0.75)
    groups, slopes = groups.for_n_features(3), Slopes(v, np.full(3, error), alpha)
    assert_allclose(groups.group_terms[1], weights)
    return groups.intervals(slopes, most, radius), groups.zeros(slopes)


def test_intervals_of_groups():
    """A group with ||max(|v_g| - l1, 0)|| = 0.5 and weight 1 has the room 0.5."""
    for v, most, expected in (
        ([0.55, 0.65, 0.0], 0.1, [0.2, 0.2, 0.05]),
        ([0.55, -0.65, -1.0], 0.1, [0.2, 0.2, 0.08]),
        ([0.05, 0.0, 0.25], 0.1, [0.1, 0.1, 0.05]),
        ([0.55, 0.65, 0.0], 0.0, [0.0, 0.0, 0.0]),
    ):
        found, zeros = of_groups(v, most)
        assert_allclose(found, np.outer(expected, [-1.0, 1.0]), rtol=1e-12)
        assert zeros.all()
        found, _ = of_groups(v, most, error=0.125)
        assert np.all(found[:, 1] >= np.array(expected))
    # the room of a single coefficient, alpha l1 - |v_j|, where that is larger
    found, _ = of_groups([0.05, 0.2, 0.0], 0.1, weights=(0.1, 2.0))
    assert_allclose(found[:, 1], [0.5, 1.0, 0.05])
    # at most radius / (l1 + weight), also where there is no room
    found, zeros = of_groups([3.0, 0.0, 0.0], 0.1, radius=1.0)
    assert_allclose(found[:, 1], [0.8, 0.8, 1.0 / 2.25], rtol=1e-12)
    assert zeros.tolist() == [False, True, True]
    with np.errstate(all="raise"):
        found, _ = of_groups([1.25, 0.0, 0.0], 0.0, radius=1.0)
    assert_allclose(found[:, 1], [0.8, 0.0, 0.0], atol=1e-13)
    free = R.GroupL2([[0, 1], [2]], [0.0, 2.0]).for_n_features(3)
    found = free.intervals(Slopes(np.zeros(3), np.zeros(3), 1.0), 0.1, 1.0)
    assert_allclose(found[:, 1], [inf, inf, 0.05])


def test_rounding_of_intervals_of_groups():
    found, _ = of_groups([0.0, 0.0, 0.0], 0.5)
    outside = allowance(found, np.outer([0.5, 0.5, 0.25], [-1.0, 1.0]))
    assert np.all(outside >= 128.0) and np.all(outside <= 200.0)
    assert_allclose(allowance(intervals_within(2.0, 3), [[-2.0, 2.0]] * 3), 64.0)


def test_rounding_of_the_room_of_a_group():
    """Room 1 - 1 / 2 has 64 (1 + 1 / 2) EPSILON, and what other groups have adds to the bound."""
    for penalty, v in (
        (R.GroupL2([[0, 1]], [1.0]), [0.3, 0.4]), (R.SparseGroup(1, l1_ratio=1.0), [0.5, -0.5])
    ):  # fmt: skip
        slopes = Slopes(np.array(v), np.zeros(2), 1.0)
        found = penalty.for_n_features(2).intervals(slopes, 0.25, 9.0)
        expected = [320.0] * 2  # 192 of the room, 64 of the bound and 64 of the end
        assert_allclose(allowance(found, [[-0.5, 0.5]] * 2), [expected] * 2, 0.02)
    slopes = Slopes(np.array([1.5, 0.0]), np.zeros(2), 1.0)
    for most, roundings in ((0.5, 64.0 * 1.5 / 1.5), (-0.25, 64.0 * 1.25 / 0.75)):
        found = R.GroupL2(1, [1.0, 1.0]).for_n_features(2).intervals(slopes, most, 2.0)
        expected = [64.0, roundings + 128.0]
        found = allowance(found, [[-2.0, 2.0], [-1.0 - most, 1.0 + most]])
        assert_allclose(found, np.transpose([expected] * 2), 0.02)


def test_zeros_at_the_edge():
    """A slope that is alpha l1, up to 64 roundings, may belong to a coefficient that is not 0."""
    edge = 1.0 - ROUNDING
    assert ROUNDING == 64.0 * EPSILON
    for penalty in (R.L1(), R.Separable(1.0, 1.0), R.GroupL2(1, [1.0] * 5)):
        v = np.array([1.0, edge, -edge, edge - 2.0 * ROUNDING, 2.0 * ROUNDING - edge])
        slopes = Slopes(v, np.zeros(5), 1.0)
        assert penalty.for_n_features(5).zeros(slopes).tolist() == [False] * 3 + [True] * 2
        slopes = Slopes(v - np.sign(v) * 0.25, np.full(5, 0.25), 1.0)
        assert penalty.for_n_features(5).zeros(slopes).tolist() == [False] * 3 + [True] * 2
    penalty = R.Separable(
        [1.0, 1.0, 1.0, 0.0, 0.0], 0.0, [0.0, -1.0, 0.0, 0.0, -inf], [1, 0, 1, 1, inf]
    )
    slopes = Slopes(np.array([-9.0, 9.0, 2.0, -1.0, 0.0]), np.zeros(5), 1.0)
    assert penalty.zeros(slopes).tolist() == [True, True, False, False, False]
    slopes = Slopes(np.array([9.0, -9.0, 0.5, -1.0, 0.0]), np.zeros(5), 1.0)
    assert penalty.zeros(slopes).tolist() == [False, False, True, False, False]


def test_zeros_of_groups():
    for v, alpha, expected in (
        ([0.55, 0.65, 0.0], 1.0, [True] * 3),
        ([0.55, 0.65, 0.0], 0.5, [False, False, True]),
        ([0.0, 0.65, 3.0], 0.25, [True, False, False]),
        ([0.0, 0.1, 3.0], 2.0, [True, True, True]),
    ):
        assert of_groups(v, 0.0, alpha=alpha)[1].tolist() == expected
    _, zeros = of_groups([0.85, 0.25, 0.0], 0.0, weights=(0.6, 1.0))
    assert zeros.tolist() == [False, False, True]  # the norm is the weight
    # a coefficient alone has |v_j| < alpha l1, the group of it has not
    for size, zero in (
        (0.25, False), (0.25 * (1.0 - ROUNDING), False), (0.25 * (1.0 - 2.0 * ROUNDING), True)
    ):  # fmt: skip
        assert of_groups([9.0, size, 0.0], 0.0)[1].tolist() == [False, zero, True]


def test_intervals_of_norms_of_all_coefficients():
    v = np.array([0.3, -0.4])
    for norm, dual in ((R.L2Norm(), 0.5), (R.LInf(), 0.7)):
        slopes = Slopes(v, np.zeros(2), 1.0)
        for most, radius, largest in (
            (0.1, 9.0, 0.1 / (1.0 - dual)), (0.1, 0.125, 0.125), (0.0, 9.0, 0.0), (-1.0, 9.0, 0.0)
        ):  # fmt: skip
            found = norm.intervals(slopes, most, radius)
            assert_allclose(found, [[-largest, largest]] * 2, rtol=1e-13)
        for alpha in (dual, 0.1):  # no room
            found = norm.intervals(Slopes(v, np.zeros(2), alpha), 0.1, 9.0)
            assert_allclose(found, [[-9.0, 9.0]] * 2)
        wide = norm.intervals(Slopes(v, np.array([0.1, 0.1]), 1.0), 0.1, 9.0)
        largest = 0.1 / (1.0 - norm.dual_norm(np.array([0.4, -0.5])))
        assert_allclose(wide, [[-largest, largest]] * 2)


def test_penalties_without_intervals():
    slopes = Slopes(np.zeros(4), np.zeros(4), 1.0)
    for penalty in (R.L1Ball(), R.TotalVariation(), R.SquaredGroupL2(2), R.GroupLInf(2)):
        penalty = penalty.for_n_features(4)
        assert penalty.intervals(slopes, 1.0, 1.0) is None and penalty.zeros(slopes) is None
    assert R.LInf().zeros(slopes) is None

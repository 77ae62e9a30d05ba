"""Penalties against their definitions, and Fenchel-Young and Moreau identities."""

from math import fsum, hypot, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_equal
from scipy.optimize import brentq

from skpd import penalties as R
from skpd.penalties.increasing_functions import PowerOfNorm

N = 6
NORMS = [
    R.L1(),
    R.L2Norm(),
    R.LInf(),
    R.GroupL2(groups=3),
    R.GroupL2(groups=[[5, 0], [1, 3, 4], [2]], weights=[0.5, 2.0, 1.0]),
    R.SparseGroup(groups=[1, 2, 3], l1_ratio=0.3),
    R.SparseGroup(groups=2, l1_ratio=0.0),
    R.SparseGroup(groups=2, l1_ratio=1.0),
    R.GroupLInf(groups=3),
    R.GroupLInf(groups=[[5, 0], [1, 3, 4], [2]], weights=[0.5, 2.0, 1.0]),
    R.FusedLasso(l1_ratio=0.4),
    R.FusedLasso(l1_ratio=1.0),
]
OTHERS = [
    R.TotalVariation(),
    R.NonNegativeL1(),
    R.SquaredL2(),
    R.ElasticNet(l1_ratio=0.4),
    R.ElasticNet(l1_ratio=0.999),
    R.L1Ball(radius=2.0),
    R.Box(lower=-0.5, upper=2.0),
    R.SquaredL2OnL1Ball(radius=2.0, weight=0.3),
    R.ElasticNetBall(radius=1.5, l1_ratio=0.3),
    R.GroupElasticNet(groups=2, l1_ratio=0.3),
    R.GroupElasticNet(groups=[1, 2, 3], weights=[0.5, 2.0, 1.0], l1_ratio=0.9),
    R.GroupL1Squared(groups=3),
    R.GroupL1Squared(groups=[1, 5]),
    R.SquaredGroupL2(groups=2),
    R.SquaredGroupL2(groups=[[5, 0], [1, 3, 4], [2]]),
    R.FunctionOfNorm(R.GroupL2(groups=2, weights=[1.0, 1.0, 1.0])),
    R.FunctionOfNorm(R.L1(), PowerOfNorm(exponent=1.5, scale=0.5)),
    R.FunctionOfNorm(R.LInf(), PowerOfNorm(exponent=3.0)),
    R.FunctionOfNorm(R.NonNegativeL1()),
]
each_norm = pytest.mark.parametrize(
    "penalty", [p.for_n_features(N) for p in NORMS], ids=map(str, NORMS)
)
each_penalty = pytest.mark.parametrize(
    "penalty", [p.for_n_features(N) for p in NORMS + OTHERS], ids=map(str, NORMS + OTHERS)
)
OF_OTHER_KINDS = [
    R.WeightedL1([0.0, 1.0, 2.0, 0.5, 0.0, 1.0]),
    R.Separable(l1=[0.0, 1.0, 0.0, 0.5, 0.0, 1.0], l2=[0.0, 0.0, 2.0, 0.5, 0.0, 1.0]),
    R.Separable(l1=[0.0, 1.0, 0.0, 0.5, 0.0, 1.0], l2=0.5, lower=-0.5, upper=[1, 0, 2, 3, 4, 5]),
    R.Separable(lower=0.0),
    R.GroupL2(groups=2, weights=[0.0, 1.0, 2.0]),
    R.SparseGroup(groups=2, weights=[0.0, 1.0, 2.0], l1_ratio=0.0),
    R.Spectral(R.L1(), n_outputs=2),
    R.Spectral(R.L2Norm(), n_outputs=3),
    R.Spectral(R.SquaredL2OnL1Ball(), n_outputs=2),
    R.NormEpigraph(1),
    R.NormEpigraph(2),
    R.NormEpigraph(np.inf),
    R.NormEpigraph(2, weight=0.5),
]
vectors = st.lists(st.floats(-100, 100), min_size=N, max_size=N).map(np.array)


@each_norm
@given(v=vectors)
def test_dual_norm_is_where_the_prox_vanishes(penalty, v):
    """prox of step R at v is 0 exactly for steps of at least R°(v)."""
    step = penalty.dual_norm(v)
    if step > 1e-3:
        assert not penalty.prox(v, step * (1 + 1e-9)).any()
        assert penalty.prox(v, step * (1 - 1e-9)).any()


@pytest.mark.parametrize("penalty", NORMS + OTHERS + OF_OTHER_KINDS, ids=str)
def test_penalties_are_what_they_say(penalty):
    """Prox, conjugate, dual norm and the bounds of certificates: see `check_penalty`."""
    R.check_penalty(penalty, N)


def test_groups_need_not_be_bound():
    w = np.arange(6.0)
    for penalty in (R.GroupL2(groups=3), R.SparseGroup(groups=[2, 4])):
        assert penalty.value(w) == penalty.for_n_features(6).value(w)
        assert_allclose(penalty.prox(w, 0.5), penalty.for_n_features(6).prox(w, 0.5))


def test_elastic_net_stays_bounded_where_its_conjugate_blows_up():
    """As l1_ratio -> 1 the ball's value tends to that of the lasso."""
    v = np.array([1.5, 0.2])
    lasso = R.L1().bounded_conjugate(v, 1.0, 3.0)
    nearly = R.ElasticNet(l1_ratio=1 - 1e-12)
    assert nearly.conjugate(v, 1.0) > 1e10
    assert_allclose(nearly.bounded_conjugate(v, 1.0, 3.0), lasso, rtol=1e-9)


@pytest.mark.parametrize(
    "groups, message",
    [
        ([[0, 1], [1, 2, 3, 4, 5]], "overlap"),
        ([[0, 1], [2, 3, 4]], "miss"),
        ([[0, 1, 2, 3, 4, 5], []], "whole numbers"),
        ([[0, 1, 2, 3, 4, 6], [5]], "indices from 0 to 5"),
        ([2, 3], "sum is the number of features, 6"),
        ([3.0, 3.0], "whole numbers"),
        ([[0, 1, 2], [3, 4, 5.5]], "whole numbers"),
        ([["a"], ["b"]], "whole numbers"),
        (3.0, "whole numbers"),
        (4, "divide the number of features, 6"),
        (0, "divide the number of features, 6"),
    ],
)
def test_groups_must_be_a_partition(groups, message):
    with pytest.raises(ValueError, match=message):
        R.GroupL2(groups=groups).for_n_features(6)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan], "a"])
def test_group_weights_must_be_positive(weights):
    with pytest.raises(ValueError, match="The weights of groups"):
        R.GroupL2(groups=3, weights=weights).for_n_features(6)


@pytest.mark.parametrize(
    "make, name",
    [
        (lambda: R.ElasticNet(l1_ratio=1.0), "l1_ratio"),
        (lambda: R.SparseGroup(2, l1_ratio=1.5), "l1_ratio"),
        (lambda: R.L1Ball(radius=0.0), "radius"),
        (lambda: R.L1Ball(radius="a"), "radius of L1Ball must be a number.*got 'a'"),
        (lambda: R.Box(lower=1.0, upper=2.0), "lower"),
        (lambda: R.Box(lower=0.0, upper=np.inf), "upper"),
    ],
)
def test_invalid_parameters_are_named(make, name):
    with pytest.raises(ValueError, match=name):
        make()


@pytest.mark.parametrize("n", [0, 1, 31, 32, 511, 512, 513, 20_001])
def test_norms_of_long_vectors(n, rng):
    w = rng.normal(size=n) * 10.0 ** rng.uniform(-9, 9, n)
    for v in (w, np.repeat(w, 2)[::2], w.astype(np.float32)):
        exact = fsum(np.abs(v, dtype=np.float64))
        assert abs(R.L1().value(v) - exact) <= 4.0 * np.finfo(float).eps * exact
        assert R.L1().dual_norm(v) == max(np.abs(v), default=0.0)
    if n > 0:
        for wrong in (np.inf, np.nan):
            w[n // 2] = wrong
            assert_equal([R.L1().value(w), R.L1().dual_norm(-w)], [wrong, wrong])


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("n", [1, 513, 200_001])
def test_euclidean_norms_of_long_vectors(n, scale):
    """Certificates allow a norm 64 roundings; added one by one, equal terms all err one way."""
    v = np.full(n, 0.3)
    exact = sqrt(fsum(v * v)) * scale
    group = R.GroupL2(groups=[n], weights=[1.0]).for_n_features(n)
    for penalty in (R.L2Norm(), group):
        for found in (penalty.value(v * scale), penalty.dual_norm(v * scale)):
            assert abs(found - exact) <= 4.0 * np.finfo(float).eps * exact


@pytest.mark.parametrize("l1_ratio", [1e-300, 0.5, 1 - 1e-12])
@pytest.mark.parametrize("radius", [1e-300, 1e-100, 1e-16, 1.0, 1e100, 1e300])
@pytest.mark.parametrize("length", [1e-310, 1e-10, 1.0, 1e10, 1e160, 1e300])
def test_balls_of_any_radius(radius, length, l1_ratio):
    """Equal coordinates end where l1_ratio n u + (1 - l1_ratio) n u^2 / 2 = radius."""
    n, share = 5, radius / 5
    within = 2 * share / (l1_ratio + hypot(l1_ratio, sqrt(2 - 2 * l1_ratio) * sqrt(share)))
    balls = ((R.ElasticNetBall(radius, l1_ratio), within), (R.L1Ball(radius), share))
    for penalty, u in balls:
        w = length * np.array([1.0, -1.0, 1.0, -1.0, 1.0])
        found = penalty.prox(w, 1.0)
        assert penalty.value(found) == 0.0
        assert_allclose(found, np.sign(w) * min(u, length), rtol=1e-12, atol=4e-16 * length)
        # every point of the ball is a lower bound
        assert penalty.conjugate(w, 1.0) >= n * length * min(u, 1e300 / length) * (1 - 1e-12)
    ridge = R.SquaredL2OnL1Ball(radius)
    assert_allclose(np.abs(ridge.prox(2.0 * w, 1.0)), min(share, length), atol=4e-16 * length)


def test_projection_of_a_point_that_is_small_beside_the_ratio(rng):
    """Where w^2 is negligible the ball is that of the l1 norm."""
    w = 1e-10 * rng.normal(size=20)
    found = R.ElasticNetBall(1e-10, l1_ratio=0.5).prox(w, 1.0)
    assert_allclose(found, R.L1Ball(2e-10).prox(w, 1.0), rtol=1e-8)


@each_penalty
def test_penalties_have_what_they_declare(penalty):
    assert (penalty.structure is R.Structure.SEPARABLE) == hasattr(penalty, "terms")
    assert (penalty.structure is R.Structure.GROUPED) == hasattr(penalty, "group_terms")
    assert penalty.is_norm == hasattr(penalty, "dual_norm")
    w = np.arange(1.0, N + 1.0)
    assert penalty.is_quadratic == (penalty.value(2.0 * w) == 4.0 * penalty.value(w) < np.inf)


def test_a_square_that_overflows_is_infinite():
    assert R.SquaredGroupL2(groups=2).for_n_features(4).value(np.full(4, 1e200)) == np.inf


def level_of(sizes, radius):
    """The level t with sum_j max(s_j - t, 0) = radius, by SciPy."""

    def excess(level):
        return np.sum(np.maximum(sizes - level, 0.0)) - radius

    largest = np.max(sizes)
    if radius <= 1e-15 * largest or excess(0.0) <= 0.0:
        return largest if radius <= 1e-15 * largest else 0.0
    return brentq(excess, 0.0, largest, xtol=1e-16 * largest, rtol=1e-14)


@pytest.mark.parametrize("size", [1e-150, 1e-3, 1.0, 1e150])
@pytest.mark.parametrize("share", [1e-17, 1e-3, 0.3, 2.0])
def test_prox_of_largest_entries_clips_at_a_level(share, size, rng):
    labels, weights = np.array([1, 0, 2, 1, 1, 0, 1, 2, 0]), np.array([0.7, 0.0, 1.9])
    v = size * rng.normal(size=9)
    v[[0, 3]] = v[0]  # two entries that are equal
    step = share * float(np.max(np.abs(v)))
    z = R.GroupLInf(labels, weights=weights).prox(v, step)
    for group, weight in zip((1, 0, 2), weights, strict=True):  # in order of appearance
        of_group = labels == group
        level = level_of(np.abs(v[of_group]), step * weight)
        expected = np.clip(v[of_group], -level, level)
        assert_allclose(z[of_group], expected, rtol=1e-12, atol=1e-13 * size)

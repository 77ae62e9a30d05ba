"""Values, suprema and declarations of all penalties against their definitions."""

import itertools
from math import inf, sqrt

import numpy as np
import pytest
from mpmath import mpf
from numpy.testing import assert_allclose, assert_array_equal

from skpd import penalties as R
from skpd._floats import EPSILON
from skpd.penalties.increasing_functions import PowerOfNorm
from tests.oracles.exact_objectives import exact, missed_by, value_of
from tests.penalties.examples import CHAINED, EVERY, LOOSE, NORMS, TIGHT, N, coefficients, least

every = pytest.mark.parametrize("penalty", EVERY, ids=str)
PAIR = R.FunctionOfNorm(R.L1(), PowerOfNorm(2.0, 3.0))


def definition(penalty, w):
    """R(w) in exact arithmetic for w in the domain."""
    name, w = type(penalty).__name__, exact(w)
    if name == "NormEpigraph":
        coef = w[: N - 1 - len(penalty.free_features.columns)]
        return w[-1] + mpf(penalty.weight) * np.sum(coef * coef) / 2
    if name == "ElasticNetBall":
        return mpf(0)
    if name == "SquaredL2OnL1Ball":
        return mpf(penalty.weight) * np.sum(w * w) / 2
    if name == "Spectral" and type(penalty.of_values).__name__ == "SquaredL2OnL1Ball":
        return mpf(penalty.of_values.weight) * np.sum(w * w) / 2
    return value_of(penalty, w)


@every
def test_values(penalty, rng):
    for scale in (1e-3, 1.0, 30.0):
        w = coefficients(penalty, rng, scale)
        value = definition(penalty, w)
        assert abs(penalty.value(w) - value) <= 256.0 * EPSILON * value
    assert penalty.value(np.zeros(N)) == 0.0


@every
def test_values_are_infinite_outside_of_the_domain_alone(penalty, rng):
    values = [penalty.value(60.0 * rng.normal(size=N)) for _ in range(10)]
    assert penalty.is_finite == (inf not in values)
    for w in np.vstack([rng.normal(size=(20, N)), np.diag(rng.normal(size=N))]):
        if type(penalty).__name__ in (
            "Box",
            "Separable",
            "NonNegativeL1",
            "NonNegativeGroupL2",
            "L1Ball",
        ):
            outside = missed_by(penalty, exact(w)) > 0
            assert outside == (penalty.value(w) == inf)
        nearest = penalty.feasible(w)
        assert np.array_equal(nearest, w) == (penalty.value(w) < inf)


@pytest.mark.parametrize(
    ("penalty", "w"),
    [
        (R.L1Ball(3.0), [1.0, -2.0]),
        (R.SquaredL2OnL1Ball(3.0), [1.0, -2.0]),
        (R.ElasticNetBall(0.75), [-1.0, 0.0]),
        (R.Box(-0.5, 2.0), [-0.5, 2.0]),
        (R.Separable([1.0, 2.0], lower=-0.5, upper=2.0), [-0.5, 2.0]),
        (R.NormEpigraph(1), [1.0, -2.0, 3.0]),
        (R.NormEpigraph(np.inf), [1.0, -2.0, 2.0]),
        (R.NonNegativeL1(), [0.0, 2.0]),
        (R.NonNegativeGroupL2(2).for_n_features(2), [0.0, 2.0]),
    ],
    ids=str,
)
def test_the_boundary_belongs_to_the_domain(penalty, w):
    w = np.array(w)
    assert penalty.value(w) < inf
    assert_array_equal(penalty.feasible(w), w)
    further = w.copy()
    further[0] += np.copysign(1e-12, w[0] or -1.0)
    if not isinstance(penalty, R.NormEpigraph) or penalty.q == 1:
        assert penalty.value(further) == inf


@pytest.mark.parametrize("penalty", NORMS + TIGHT, ids=str)
def test_bounds_are_the_suprema(penalty, rng):
    """By Lagrange multipliers tau of R(w) <= radius, from the conjugate alone."""
    for alpha, radius in ((0.3, 0.7), (1.0, 3.0), (0.05, 0.1), (2.0, 0.2)):
        v = rng.normal(size=N)

        def at(tau, v=v, alpha=alpha, radius=radius):
            return penalty.conjugate(v, alpha + tau) + tau * radius

        def by_support(tau, v=v, radius=radius):
            return penalty.conjugate(v, tau) + tau * radius if tau else inf

        expected = least(at, 1e3)
        found = penalty.bounded_conjugate(v, alpha, radius)
        assert_allclose(found, expected, rtol=1e-7, atol=1e-12)
        expected = least(by_support, 1e3)
        assert_allclose(penalty.support(v, radius), expected, rtol=1e-7, atol=1e-12)


@every
def test_suprema_that_are_zero(penalty):
    zeros = np.zeros(N)
    with np.errstate(invalid="raise"):
        for found in (
            penalty.conjugate(zeros, 0.7), penalty.bounded_conjugate(zeros, 0.7, 2.0),
            penalty.support(zeros, 2.0), penalty.support(zeros, inf),
        ):  # fmt: skip
            assert found == 0.0
    assert penalty.largest_alpha(zeros) == 0.0 or np.isnan(penalty.largest_alpha(zeros))
    if penalty.is_norm:
        assert penalty.support(np.ones(N), 0.0) == penalty.dual_norm(zeros) == 0.0


def test_conjugates_at_the_edge_of_their_domain():
    v = np.array([0.5, -2.0])
    for norm, size in ((R.L1(), 2.0), (R.LInf(), 2.5), (R.NonNegativeL1(), 0.5)):
        assert norm.dual_norm(v) == norm.largest_alpha(v) == size
        assert norm.conjugate(v, size) == norm.bounded_conjugate(v, size, 3.0) == 0.0
        assert norm.conjugate(v, np.nextafter(size, 0.0)) == inf
    assert R.SquaredL2().conjugate(np.array([0.5]), 0.0) == inf
    assert R.SquaredL2().conjugate(np.array([0.0]), 0.0) == 0.0
    for ball in (R.L1Ball(), R.ElasticNetBall(), R.SquaredL2OnL1Ball()):
        assert ball.conjugate(np.array([1.0, inf]), 1.0) == inf


def by_l1(penalty, excess, alpha, radius):
    """The least tau r + sum_j max(e_j - tau, 0)^2 / (2 c), r the bound on the l1 norm."""
    c, r = alpha * (1.0 - penalty.l1_ratio), radius / penalty.l1_ratio
    return least(
        lambda tau: tau * r + float(np.sum(np.maximum(excess - tau, 0.0) ** 2)) / (2.0 * c), 100.0
    )


@pytest.mark.parametrize("ratio", [0.3, 0.9])
def test_bounds_of_the_elastic_net(ratio, rng):
    penalty, grouped = (
        R.ElasticNet(ratio),
        R.GroupElasticNet(2, [0.5, 2.0], ratio).for_n_features(N),
    )
    for alpha, radius in ((0.3, 0.7), (1.0, 300.0), (0.05, 0.1), (0.1, 0.01)):
        v = rng.normal(size=N)
        excess = np.maximum(np.abs(v) - alpha * ratio, 0.0)
        expected = by_l1(penalty, excess, alpha, radius)
        assert_allclose(penalty.bounded_conjugate(v, alpha, radius), expected, rtol=1e-9)
        by_square = sqrt(2.0 * radius / (1.0 - ratio))
        supports = radius / ratio * np.max(np.abs(v)), by_square * np.linalg.norm(v)
        assert_allclose(penalty.support(v, radius), min(supports))
        assert_allclose(penalty.largest_alpha(v), np.max(np.abs(v)) / ratio)
        norms, weights = np.hypot(v[::2], v[1::2]), ratio * np.array([0.5, 2.0])
        excess = np.maximum(norms - alpha * weights, 0.0)
        conjugate = np.sum(excess**2) / (2.0 * alpha * (1.0 - ratio))
        assert_allclose(grouped.conjugate(v, alpha), conjugate)
        for found, sizes, most in (
            (grouped.support(v, radius), norms, inf),
            (grouped.bounded_conjugate(v, alpha, radius), excess, conjugate),
        ):
            bounds = radius * np.max(sizes / weights), by_square * np.linalg.norm(sizes), most
            assert_allclose(found, min(bounds))
        assert_allclose(grouped.largest_alpha(v), np.max(norms / weights))
    excess = np.array([0.0, 5.0 - alpha * ratio])
    expected = by_l1(penalty, excess, alpha, 0.3)
    assert_allclose(penalty.bounded_conjugate(np.array([0.0, 5.0]), alpha, 0.3), expected)
    tiny = np.array([0.0, alpha * ratio / 2.0])
    assert penalty.bounded_conjugate(tiny, alpha, 1.0) == 0.0


def test_bounds_of_ridges(rng):
    v = rng.normal(size=N)
    for radius in (0.01, 1.0, 30.0):
        by_square = sqrt(2.0 * radius) * np.linalg.norm(v)
        assert_allclose(R.SquaredL2().support(v, radius), by_square)
        assert_allclose(R.SquaredL2().bounded_conjugate(v, 0.3, radius), v @ v / 0.6)
        expected = min(2.0 * np.max(np.abs(v)), by_square / sqrt(0.3))
        assert_allclose(R.SquaredL2OnL1Ball(2.0, 0.3).support(v, radius), expected)


@pytest.mark.parametrize(
    "penalty", [p for p in NORMS + TIGHT + LOOSE if p.of_conjugate_arguments is p], ids=str
)
def test_the_widest_point_is_the_best_corner(penalty, rng):
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=N)))
    for scale in (0.1, 1.0, 3.0):
        v, error = rng.normal(size=N), scale * rng.random(N)
        v[0], error[1] = 0.0, 0.0
        wide = penalty.worst_case(v, error)
        corners = v + signs * error
        for of in (lambda x: penalty.conjugate(x, 0.3), lambda x: penalty.support(x, 0.7)):
            most = max(map(of, corners))
            assert of(wide) >= most
            if not isinstance(penalty, R.Separable):  # where both signs are possible
                assert_allclose(of(wide), most, rtol=1e-12)


SYMMETRIC = (
    R.L1, R.L2Norm, R.LInf, R.SquaredL2, R.ElasticNet, R.L1Ball, R.SquaredL2OnL1Ball,
    R.ElasticNetBall,
)  # fmt: skip
CHAINS = R.TotalVariation, R.FusedLasso
WITH_CONES = (
    R.L1, R.NonNegativeL1, R.SquaredL2, R.ElasticNet, R.Box, R.WeightedL1, R.Separable, R.L2Norm,
    R.LInf, R.GroupL2, R.NonNegativeGroupL2, R.SparseGroup, R.L1Ball, R.SquaredL2OnL1Ball,
    R.ElasticNetBall, *CHAINS,
)  # fmt: skip
WITH_CONES_OF_OUTPUTS = R.GroupLInf, R.GroupL1Squared, R.SquaredGroupL2, R.GroupElasticNet
QUADRATIC = R.SquaredL2, R.GroupL1Squared, R.SquaredGroupL2


@every
def test_declarations(penalty, rng):
    of_norm = isinstance(penalty, R.FunctionOfNorm)
    inner = penalty.norm if of_norm else penalty
    assert penalty.is_norm == any(penalty is norm for norm in NORMS + CHAINED)
    assert penalty.symmetric == isinstance(inner, SYMMETRIC)
    square = of_norm and penalty.function.exponent == 2.0
    assert penalty.is_quadratic == (isinstance(penalty, QUADRATIC) or square)
    w = [rng.normal(size=N) for _ in range(20)]
    w.extend(np.abs(w))
    assert penalty.even == all(penalty.value(-x) == penalty.value(x) for x in w)
    assert penalty.free_level == isinstance(penalty, R.TotalVariation)
    assert penalty.of_neighbours == isinstance(penalty, R.TotalVariation)
    ball = isinstance(penalty, R.L1Ball | R.SquaredL2OnL1Ball)
    assert penalty.l1_radius == (penalty.radius if ball else inf)
    grouped = hasattr(penalty, "groups") or hasattr(inner, "groups")
    assert (penalty.group_order is not None) == grouped
    alone = penalty.structure.value == "separable" and not any(map(np.ndim, penalty.terms))
    assert (penalty.of_one_output is not None) == (alone or isinstance(penalty, R.Spectral))
    assert penalty.structure.is_block_separable == (
        penalty.structure.value in ("separable", "grouped")
    )
    assert penalty.for_n_features(N).value(np.zeros(N)) == 0.0
    kind = type(penalty)
    of_values = R.L1 | R.L1Ball | R.SquaredL2OnL1Ball
    trace = kind is R.Spectral and isinstance(penalty.of_values, of_values)
    assert penalty.has_cones == (kind in WITH_CONES)
    of_outputs = kind in {*WITH_CONES, *WITH_CONES_OF_OUTPUTS} and kind not in CHAINS
    assert penalty.has_cones_of_outputs == (of_outputs or trace)


class Terms:
    """The sum of the functions that a penalty adds to a conic programme."""

    def __init__(self, order):
        self.n_coefficients, self.order, self.terms = N, order, []

    def value(self, w):
        return sum(term(w, w if self.order is None else w[self.order]) for term in self.terms)

    def sum_of(self, starts, norm, finish):
        parts = list(itertools.pairwise(starts))
        self.terms.append(lambda _, x: finish(np.array([norm(x[a:b]) for a, b in parts])))

    def add_separable(self, l1=0, l2=0, lower=-inf, upper=inf):
        def value(w, _):
            inside = np.all((w >= lower) & (w <= upper))
            return np.sum(l1 * np.abs(w) + 0.5 * l2 * w * w) if inside else inf

        self.terms.append(value)

    def add_group_norms(self, starts, weights):
        self.sum_of(starts, np.linalg.norm, lambda norms: weights @ norms)

    def add_largest_sizes(self, starts, weights):
        self.sum_of(starts, lambda x: np.max(np.abs(x)), lambda norms: weights @ norms)

    def add_squared_sums(self, starts, weight):
        self.sum_of(starts, lambda x: np.sum(np.abs(x)) ** 2, lambda each: weight * np.sum(each))

    def add_squared_sum_of_norms(self, starts, weight):
        self.sum_of(starts, np.linalg.norm, lambda norms: weight * np.sum(norms) ** 2)

    def add_largest_size(self, weight):
        self.terms.append(lambda w, _: weight * np.max(np.abs(w)))

    def add_l1_ball(self, radius):
        self.terms.append(lambda w, _: 0.0 if np.sum(np.abs(w)) <= radius else inf)

    def add_elastic_net_ball(self, radius, l1_ratio):
        def value(w, _):
            size = l1_ratio * np.sum(np.abs(w)) + (1.0 - l1_ratio) * (w @ w) / 2.0
            return 0.0 if size <= radius else inf

        self.terms.append(value)

    def add_differences(self, weight):
        self.terms.append(lambda w, _: weight * np.sum(np.abs(np.diff(w))))

    def add_trace_norm(self, shape, weight):
        def value(w, _):
            return weight * np.linalg.norm(w.reshape(shape), "nuc")

        self.terms.append(value)

    def add_trace_norm_ball(self, shape, radius):
        def value(w, _):
            return 0.0 if np.linalg.norm(w.reshape(shape), "nuc") <= radius else inf

        self.terms.append(value)


@pytest.mark.parametrize(
    "penalty", [p for p in EVERY if p.has_cones or p.has_cones_of_outputs], ids=str
)
def test_cones_add_up_to_the_penalty(penalty, rng):
    terms = Terms(penalty.group_order)
    penalty.add_cones(terms, 0.7)
    for scale in (0.3, 1.0, 10.0):
        for w in (scale * rng.normal(size=N), coefficients(penalty, rng, scale)):
            w = w * (1.0 - 1e-12)
            assert_allclose(terms.value(w), 0.7 * penalty.value(w), rtol=1e-10)


def test_a_penalty_of_a_norm_has_no_cones_of_its_own():
    assert not PAIR.has_cones and not PAIR.has_cones_of_outputs
    assert R.Spectral(R.L1(), 2).has_cones_of_outputs
    assert R.Spectral(R.L1Ball(), 2).has_cones_of_outputs
    assert not R.Spectral(R.SquaredL2(), 2).has_cones_of_outputs
    assert not R.Spectral(R.L2Norm(), 2).has_cones_of_outputs

"""Which repairs of a dual point are tried, and their bounds, by their formulas."""

from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest

from skpd.certificates import DualBound
from skpd.certificates.dual_corrections import DualCorrections, _best_scale, _vertex, least_linear
from skpd.certificates.interface import NOTHING, DualPoint
from skpd.penalties import NonNegativeL1
from tests.certificates.small import ALLOWANCE, Objective, Point, penalty_of

BELOW = 1.0 - 2.0**-50  # 1 - 4 EPSILON, times which the largest scale is taken
ABOVE = 1.0 + 2.0**-50  # so that ABOVE * BELOW = 1 when rounded
DOUBLINGS = [2.0**k for reach in range(100) for k in (reach + 1, reach)]


def repairs_of(objective, upper=1.0, scaling=False, accuracy=0.0):
    ball = objective.penalty.bounded_conjugate
    return DualCorrections(objective, upper, ball, scaling, accuracy)


@pytest.mark.parametrize(
    ("slope", "interval", "least"),
    [
        ((3.0, 0.0), (2.0, 5.0), 6.0),
        ((-3.0, 0.0), (2.0, 5.0), -15.0),
        ((3.0, 1.0), (2.0, 5.0), 4.0),  # of slopes in [2, 4]
        ((3.0, 1.0), (-5.0, -2.0), -20.0),
        ((-3.0, 1.0), (2.0, 5.0), -20.0),
        ((-3.0, 1.0), (-5.0, -2.0), 4.0),
        ((1.0, 1.0), (0.0, inf), -inf),  # as 0 times inf is not a number
        ((1.0, 0.5), (1.0, inf), 0.5),
        ((0.0, 0.0), (-inf, inf), 0.0),
        ((3.0, 1.0), (0.0, 0.0), 0.0),
        ((0.0, 1e-9), (-inf, inf), -inf),
    ],
)
def test_least_values_of_products(slope, interval, least):
    assert least_linear(slope, interval) == least


def test_a_point_has_these_properties_unless_it_says_otherwise():
    class Plain(DualPoint):
        value = products = largest_scale = None

        def sums_without_products(self):
            return [(1.0, 2.0)]

    point = Plain()
    assert point.only_precise is False
    assert point.free_sums(None, None) == [(1.0, 2.0)]
    assert NOTHING == (0.0, 0.0)


# The bound of one point


def test_bound_and_its_allowance_for_rounding():
    """1 - 2 - 4 - 16 less 64 EPSILON times the sum of all terms and the upper bound."""
    objective = Objective(penalty_of(2.0, 3.0), intervals=[(1.0, 2.0)])
    point = Point(lambda scale: scale, v=[5.0], errors=[0.5], sums=[(-2.0, 0.0)], rounding=16.0)
    bound = repairs_of(objective, 8.0).of(point)
    assert bound.value == -21.0 - 15.0 * ALLOWANCE
    assert (bound.kind, bound.by_free_sums, bound.conjugate) == ("exact", 4.0, 2.0)
    assert bound.slopes == ([5.0], [0.5]) and bound.theta is point.theta


@pytest.mark.parametrize(
    ("exact", "bounded", "kind", "least"),
    [(0.0, -1.0, "exact", 0.0), (2.0, 2.0, "exact", 2.0), (1.0, 0.5, "lipschitz", 0.5)],
)
def test_the_smaller_conjugate_is_taken(exact, bounded, kind, least):
    """That of the ball is not computed where the other is 0."""
    bound = repairs_of(Objective(penalty_of(exact, bounded))).of(Point())
    assert (bound.kind, bound.conjugate) == (kind, least)


@pytest.mark.parametrize(
    "point",
    [
        Point(v=[inf]),
        Point(v=[1e308], errors=[1e308]),
        Point(sums=[(1.0, 0.0)]),
        Point(lambda scale: nan),
    ],
)
def test_no_bound(point):
    with np.errstate(over="ignore"):
        found = repairs_of(Objective(intervals=[(-inf, inf)])).of(point)
    assert found.value == -inf and found.by_free_sums == inf and found.slopes is None


def test_conjugates_are_at_minus_the_products_and_their_errors():
    """max(v_j + e_j, 0) for coefficients that are not negative."""
    objective = Objective(NonNegativeL1())
    bounds = [repairs_of(objective).of(Point(v=[v], errors=[0.5])).conjugate for v in (3.0, -3.0)]
    assert bounds == [2.5, 0.0]


# Scaled points


def test_a_scaled_point_and_what_belongs_to_it():
    """Of norm 1.5 + 0.5 = 2: half, where (1 - scale)^2 and the free sum count as they are."""
    objective = Objective(intervals=[(-2.0, 2.0)])
    point = Point(
        lambda scale: 8.0 * scale, v=[-1.5], errors=[0.5], sums=[(1.0, 0.0)], linear=True
    )
    bound = repairs_of(objective, 16.0, scaling=True).of(point)
    half = 0.5 * BELOW
    assert bound.kind == "scaling" and bound.conjugate == 0.0
    assert bound.by_free_sums == 2.0 * half
    value = Fraction(6 * half) - Fraction(ALLOWANCE) * Fraction(10 * half + 16)
    assert float(value) == pytest.approx(bound.value, rel=2e-16)
    assert np.array_equal(bound.theta, half * point.theta)
    assert np.array_equal(bound.slopes, [[-1.5 * half], [0.5 * half]])


@pytest.mark.parametrize(
    ("norm", "largest", "scale", "n_asked"),
    [
        (2.0, 0.25, 0.5 * BELOW, 0),  # a point in the domain can be scaled down
        (1.0, 1.5, 1.0 * BELOW, 0),
        (0.5, 1.5, 1.5 * BELOW, 1),
        (0.5, 3.0, 2.0 * BELOW, 1),
        (0.75, 1.125, 1.125 * BELOW, 1),
        (0.0, 3.0, 3.0 * BELOW, 1),
        (0.0, inf, 1.0, 1),
    ],
)
def test_scales_of_linear_bounds(norm, largest, scale, n_asked):
    point = Point(lambda scale: scale - 0.5, v=[norm], linear=True, largest=largest)
    bound = repairs_of(Objective(), scaling=True).of(point)
    assert point.asked.count("largest") == n_asked
    assert point.scales == [1.0, scale]
    if scale > 1.0:
        assert np.array_equal(bound.theta, scale * point.theta)


def test_good_bounds_are_not_scaled():
    for scaling, accuracy, n_values in ((True, 0.1, 1), (True, 0.04, 2), (False, 0.0, 1)):
        point = Point(lambda scale: 0.5 * scale, v=[0.5], linear=True)
        repairs_of(Objective(), scaling=scaling, accuracy=accuracy).of(point)
        assert len(point.scales) == n_values


@pytest.mark.parametrize(
    ("linear", "square", "norm", "largest", "scale"),
    [
        (1.0, 1.0, 0.25, inf, 0.5),  # t - t^2
        (3.0, 1.0, 0.25, inf, 1.5),
        (3.0, 1.0, 1.0, inf, BELOW),
        (9.0, 1.0, 0.25, 3.0, 3.0 * BELOW),
        (0.25, 0.5, 0.25, inf, 0.25),  # a peak with a square below 1
        (-1.0, 1.0, 0.25, inf, 0.0),
        (1.0, 0.0, 0.25, 2.0, 2.0 * BELOW),
        (1.0, -1.0, 0.25, 2.0, 2.0 * BELOW),
        (1.0, 0.0, 0.0, inf, 1.0),  # without an end
        (1.0, 1.0, 4.0, inf, 0.25 * BELOW),
        (0.25, 1.0, 4.0, inf, 0.125),
    ],
)
def test_scales_of_parabolas(linear, square, norm, largest, scale):
    """The peak of linear t - square t^2 up to alpha / norm, from values at the middle and end."""
    point = Point(
        lambda t: t * (linear - square * t), v=[norm], quadratic=True, largest=largest,
        others=64.0,
    )  # fmt: skip
    bound = repairs_of(Objective(), 64.0, scaling=True).of(point)
    reach = min(1.0 / norm if norm else inf, largest, 1.0) * (BELOW if norm >= 1.0 else 1.0)
    assert point.scales == pytest.approx([1.0, reach, reach / 2, scale], rel=1e-14, abs=1e-15)
    assert point.scales[2] == point.scales[1] / 2
    expected = max(scale * (linear - square * scale), linear - square if norm <= 1.0 else -inf)
    assert bound.value == pytest.approx(expected, abs=1e-12)


def peak(points):
    """The vertex of a parabola through three points, by Lagrange's formula."""
    (a, f), (b, g), (c, h) = ((Fraction(t), Fraction(value)) for t, value in points)
    above = (b * b - c * c) * f + (c * c - a * a) * g + (a * a - b * b) * h
    return above / ((b - c) * f + (c - a) * g + (a - b) * h) / 2


@pytest.mark.parametrize(
    ("values", "largest", "asked_first", "n_parabolas"),
    [
        (lambda t: 5.0 - abs(t - 5.0), 100.0, [2, 1, 4, 2, 8, 4, 4, 8], 4),
        (lambda t: -((t - 3.0) ** 4) + 81.0, 4.0 * ABOVE, [2, 1, 2, 4], 1),
        (lambda t: -((t - 0.25) ** 2) * (t + 1.0) + 0.0625, ABOVE, [0.5, 1], 4),
        (lambda t: t * (1.0 - t), 100.0, [2, 1, 1, 2], 1),
        (lambda t: t * (1.0 - t), ABOVE, [0.5, 1], 0),  # whose peak is known
        (lambda t: -t * (t + 1.0), 100.0, [2, 1, 1, 2], 0),  # whose peak is below 0
        (lambda t: t * (1.0 + t), ABOVE, [0.5, 1], 0),  # without a peak
        (lambda t: t, 4.0 * ABOVE, [2, 1, 2, 4], 0),
        (lambda t: t * (8.0 - t), 2.0 * ABOVE, [1, 2], 0),  # whose peak is above the largest
        (lambda t: 1.0, 100.0, [2, 1, 1, 2], 1),
        (lambda t: 1.0, 1.5 * ABOVE, [0.75, 1.5], 1),
        (lambda t: t, inf, [*DOUBLINGS, 2.0**100, 2.0**101], 0),
    ],
)  # fmt: skip
def test_scales_of_other_bounds(values, largest, asked_first, n_parabolas):
    """Doubled while the bound rises, and then by parabolas through the last three."""
    asked = []

    def value(t):
        asked.append(t)
        return values(t)

    found = _best_scale(Point(), largest, value)
    n = len(asked_first)
    assert asked[:n] == asked_first
    points = [(0.0, 0.0), *((t, values(t)) for t in asked[n - 2 :])]
    assert len(asked) == n + n_parabolas
    for k in range(n_parabolas):
        assert asked[n + k] == pytest.approx(min(float(peak(points[k : k + 3])), largest))
    assert found == max(points, key=lambda point: point[1])[0]


def test_scales_of_bounds_with_kinks():
    """The peak of scale - conjugate, the latter 4 max(scale - 1/4, 0), by search in [0, 1]."""
    for sign in (1.0, -1.0):  # of a penalty that is not even
        penalty = penalty_of(
            lambda v, alpha: 0.0 if np.all(v == 0.0) else inf,
            lambda v, alpha, radius, sign=sign: max(sign * v[0] - 1.0, 0.0),
        )
        point = Point(lambda scale: scale, v=[sign * 4.0], others=8.0)
        bound = repairs_of(Objective(penalty), 8.0, scaling=True).of(point)
        assert bound.kind == "scaling" and bound.value == pytest.approx(0.25, abs=1e-4)
        assert bound.theta == pytest.approx(0.25 * point.theta, abs=1e-4)
        assert max(point.scales) <= 1.0 and len(point.scales) > 5
    finite = Point(lambda scale: scale, v=[4.0])
    repairs_of(Objective(penalty_of(2.0, 3.0)), scaling=True).of(finite)
    assert finite.scales == [1.0]


@pytest.mark.parametrize(
    ("t", "f", "peak"),
    [
        ((0.0, 1.0, 3.0), (0.0, 3.0, 3.0), 2.0),  # t (4 - t)
        ((1.0, 4.0, 2.0), (3.0, 0.0, 4.0), 2.0),
        ((2.0, 5.0, 6.0), (3.0, 9.0, 11.0), inf),  # on a line
        ((2.0, 3.0, 6.0), (1.0, 2.25, 9.0), inf),  # t^2 / 4, which has no largest value
    ],
)
def test_vertices_of_parabolas(t, f, peak):
    assert _vertex(t, f) == peak


# Which products are precise


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("more, precisions", [(1.0, ["plain"]), (1 + 1e-9, ["plain", "precise"])])
@pytest.mark.parametrize(
    ("value", "upper", "accuracy", "most"),
    [
        (0.0, 1.0, 0.0, 0.01),  # a hundredth of the gap
        (1.0, 3.0, 0.0, 0.02),
        (1.0 - 2.0**-44, 1.0, 0.0, 1e-13),  # of the upper bound
        (4.0 - 2.0**-42, 4.0, 0.0, 4e-13),
        (-1.0, 1.0, 0.0625, 0.0625),  # the accuracy
    ],
)
def test_rounding_that_is_accepted(value, upper, accuracy, most, more, precisions, share):
    """The error of the norm times the radius 4 / 2, and that of a free sum times the interval."""
    objective = Objective(alpha=0.5 * upper, intervals=[(0.0, 4.0)])
    by_norm, by_sum = share * most * more, (1.0 - share) * most * more
    point = Point(
        lambda _: value, v=[0.0], rough=[by_norm / 2], sums=[(8.0, by_sum / 4)], others=upper
    )
    repairs_of(objective, upper, accuracy=accuracy).of(point)
    assert point.precisions == precisions


def test_rounding_in_a_ball_and_of_coordinates_without_bounds():
    ball = penalty_of(inf, lambda v, alpha, radius: v[0] ** 2)  # 0.0121 - 0.01 or 0.0225 - 0.01
    for error, precisions in ((0.01, ["plain"]), (0.05, ["plain", "precise"])):
        point = Point(v=[0.1], rough=[error], others=1.0)
        repairs_of(Objective(ball)).of(point)
        assert point.precisions == precisions
    point = Point(sums=[(1.0, 0.1)])  # of a coordinate above 0, at which the sum is least
    repairs_of(Objective(intervals=[(0.0, inf)])).of(point)
    assert point.precisions == ["plain"]
    point = Point(lambda _: 0.995, rough=[0.5], others=1.0)  # a gap of 0.005 is good enough
    repairs_of(Objective(), accuracy=0.001).of(point)
    assert point.precisions == ["plain"]
    point.asked.clear()
    point.only_precise = True
    repairs_of(Objective()).of(point)
    assert point.precisions == ["precise"]


# Which points are tried


def tried(value=1.0, by_sums=0.0, others=(0.0, 0.0), options=(2.0, False, 0.0), **given):
    """What is tried, in order, and the best bound, of points with these bounds.

    ``others`` are the bounds of the projection and of the balanced point.
    """
    point = Point(sums=given.pop("sums")) if "sums" in given else Point()
    nearby, exact = Point(), Point()
    objective = Objective(**{"nearby": nearby, "exact": exact, **given})
    repairs, events = repairs_of(objective, *options), objective.asked
    values = dict(zip((point, nearby, exact), (value, *others), strict=True))
    names = {point: "point", nearby: "projection", exact: "exact"}

    def of(point):
        events.append(names[point])
        return DualBound(values[point], "exact", names[point], by_free_sums=by_sums)

    repairs.of = of
    events.clear()
    best = repairs.best(point)
    return events, best.theta, point.precisions


ALL = ["point", "projected", "projection"]
BALANCED = ["balanced", "exact"]
FREE, UNBOUNDED = ((-1.0, 1.0),), ((0.0, 0.0), (-inf, inf))
SCALED = (2.0, True, 0.0)
MORE = 1.0 + 1e-9


@pytest.mark.parametrize(
    ("given", "events"),
    [
        ({}, ["point"]),
        ({"options": SCALED}, ["point"]),
        ({"by_sums": inf}, ["point"]),
        ({"intervals": FREE}, ["point"]),
        ({"intervals": FREE, "options": SCALED}, ALL),
        ({"intervals": FREE, "options": SCALED, "nearby": None}, ALL[:2]),
        ({"intervals": FREE, "options": SCALED, "penalty": penalty_of(0.0)}, ["point"]),
        # the projection is first where the sums are above a hundredth of the accuracy
        ({"intervals": FREE, "sums": [(0.04, 0.0)], "options": (1e4, False, 4.0)}, ["point"]),
        (
            {"intervals": FREE, "sums": [(0.04 * MORE, 0.0)], "options": (1e4, False, 4.0)},
            ["projected", "projection", "point"],
        ),
        # the first sums are those that are known without products
        ({"intervals": FREE * 2, "sums": [(0.0, 0.0)], "options": (2.0, False, 1e-9)}, ["point"]),
        # a gap of ten times the accuracy is good
        ({"intervals": FREE, "value": 0.75, "options": (2.0, True, 0.125)}, ["point"]),
        ({"intervals": FREE, "value": 0.75 - 1e-9, "options": (2.0, True, 0.125)}, ALL),
        # balanced where the free sums cost a hundredth of the gap
        ({"intervals": FREE, "by_sums": 0.01}, ["point", *BALANCED]),
        ({"intervals": FREE, "by_sums": 0.01 / MORE}, ["point"]),
        ({"intervals": FREE, "by_sums": 0.03, "value": -1.0}, ["point", *BALANCED]),
        ({"intervals": FREE, "by_sums": 0.03 / MORE, "value": -1.0}, ["point"]),
        ({"intervals": FREE, "by_sums": 0.01, "exact": None}, ["point", "balanced"]),
        # nothing else is finite where a coordinate is not bounded
        ({"intervals": UNBOUNDED}, BALANCED),
        ({"intervals": UNBOUNDED, "others": (0.0, -inf)}, [*BALANCED, "point"]),
    ],
)  # fmt: skip
def test_points_that_are_tried(given, events):
    assert tried(**given)[0] == events


def test_the_best_point_is_kept():
    """The first of the best."""
    free = {"intervals": FREE, "options": SCALED}
    for others, best in (((1.0, 9.0), "point"), ((1.5, 9.0), "projection"), ((0.5, 9.0), "point")):
        assert tried(others=others, **free)[1] == best
    assert tried(others=(0.0, 1.5), by_sums=1.0, **free)[1] == "exact"
    assert tried(intervals=UNBOUNDED, others=(0.0, -inf), value=0.5)[1] == "point"
    point = Point(lambda scale: nan if scale == 1.0 else 0.25, v=[0.5], linear=True)
    assert repairs_of(Objective(), scaling=True).of(point).kind == "scaling"

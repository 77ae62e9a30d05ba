"""Certificates with every rounding error bounded: the allowances, by their formulas."""

from fractions import Fraction
from math import inf, nan
from types import SimpleNamespace

import numpy as np
import pytest

from skpd.certificates import DualBound
from skpd.certificates.rigorous import (
    UNDERFLOW,
    of_coefficients,
    of_weights,
    rigorous_certificate,
    rigorous_dual,
    rigorous_primal,
)
from tests.certificates.small import Objective, Point, penalty_of

EPSILON = Fraction(1, 2**52)
ROWS = (64 + 10) * EPSILON  # of sums over 1023 rows
COEFS = (64 + 4) * EPSILON  # of sums over 4 coefficients
WIDER = 1.0 + 2.0**-49  # 1 + 8 EPSILON
NARROWER = 1.0 - 2.0**-49
X = np.zeros(4)
INFINITE = penalty_of(inf, inf, value=lambda w: 0.0)


def close(found, exact, scale):
    """Up to the rounding of the few operations of the formula itself."""
    return abs(Fraction(found) - exact) <= 3 * EPSILON * scale


def test_shares_of_rounding_in_sums_over_rows_and_features():
    """A sum of 1023 = 2^10 - 1 rows by halves has 10 levels; that of features is term by term."""
    assert [of_weights(n) * 2.0**52 for n in (1, 1023)] == [65.0, 74.0]
    assert [of_coefficients(d) * 2.0**52 for d in (0, 10)] == [64.0, 74.0]


@pytest.mark.parametrize(("loss", "norm"), [(2.0, 0.0), (0.0, 1.0), (2.0, 0.75)])
def test_allowances_of_an_objective(loss, norm):
    penalty = penalty_of(0.0, value=lambda w: norm)
    objective = Objective(
        penalty, alpha=4.0, n_samples=1023, loss_value=lambda w, b: (loss, loss - 0.5)
    )
    value, above = rigorous_primal(objective, X, 0.0)
    exact = Fraction(loss) * (1 + 16 * EPSILON) * (1 + ROWS) + 4 * Fraction(norm) * (1 + COEFS)
    exact *= 1 + ROWS
    assert close(value, exact, value) and above == value - (loss - 0.5) - 4.0 * norm


def test_objectives_of_nothing():
    objective = Objective(INFINITE, loss_value=lambda w, b: (0.0, 0.0))
    assert rigorous_primal(objective, X, 0.0) == (UNDERFLOW, UNDERFLOW) == (1e-290, 1e-290)
    objective.loss_value = lambda w, b: (inf, 1.0)
    assert rigorous_primal(objective, X, 0.0) == (inf, 0.0)


def asked_for(value, intervals=((0.0, 0.0),), largest_target=0.0, **given):
    """The lower bound, its allowance, the arguments of the conjugates and the point."""
    asked = []

    def conjugate(v, *others):
        asked.append((v.tolist(), *others))
        return 0.75 if len(asked) <= 2 else 0.5  # first with the bounds on errors

    objective = Objective(
        penalty_of(conjugate, conjugate), alpha=2.0, n_samples=1023, intervals=intervals,
        largest_target=largest_target, point=Point(lambda _: value, **given),
    )  # fmt: skip
    return *rigorous_dual(objective, X, 6.0), asked, objective.point


def test_arguments_of_conjugates():
    """Coefficients, alpha and the radius 6 / 2 are moved outwards by 8 EPSILON."""
    _, _, asked, point = asked_for(value=8.0, v=[3.0, -1.0], errors=[0.5, 0.5])
    assert point.precisions == ["precise"] and point.scales == [1.0]
    worst_case = [(3.0 + 0.5 * WIDER) * WIDER, (-1.0 + 0.5 * WIDER) * WIDER]
    assert asked == [
        (worst_case, 2.0 * NARROWER), (worst_case, 2.0 * NARROWER, 3.0 * WIDER),
        ([3.0, -1.0], 2.0), ([3.0, -1.0], 2.0, 3.0),
    ]  # fmt: skip
    point.free_sums = lambda products, errors: [(0.0, asked.append((products, errors)))]
    rigorous_dual(Objective(point=point), X, 6.0)
    assert np.array_equal(asked[-1], [[-3.0, 1.0], [0.5 * WIDER] * 2])


def test_each_coordinate_needs_its_sum():
    with pytest.raises(ValueError, match="longer"):
        asked_for(1.0, [(0.0, 0.0), (-1.0, 1.0)])


@pytest.mark.parametrize(
    ("value", "rounding", "slope", "error", "interval", "largest_target"),
    [
        (8.0, 0.0, 0.0, 0.0, (0.0, 0.0), 5.0),  # without an intercept
        (8.0, 0.5, 1.0, 0.0, (-3.0, 1.0), 0.0),
        (32.0, 0.25, 1.0, 0.5, (-3.0, 1.0), 7.0),
        (16.0, 0.0, 1.0, 0.0, (2.0, 4.0), 1.0),
        (-0.5, 0.0, 1.0, 0.25, (2.0, 4.0), 1.0),
    ],
)
def test_allowances_of_a_lower_bound(value, rounding, slope, error, interval, largest_target):
    found, above, _, _ = asked_for(
        value=value, rounding=rounding, sums=[(slope, error)], intervals=[interval],
        largest_target=largest_target, v=[0.0] * 4, errors=[0.0] * 4,
    )  # fmt: skip
    size = Fraction(max(map(abs, interval)))
    room = Fraction(1e-6) * (size + Fraction(largest_target)) if any(interval) else 0
    lowest, highest = Fraction(interval[0]) - room, Fraction(interval[1]) + room
    ends = (lowest, highest)
    from_free = min(Fraction(s) * b for s in (slope - error, slope + error) for b in ends)
    plain = Fraction(value) - Fraction(1, 2) + min(Fraction(slope) * b for b in ends)
    conjugate = Fraction(3, 4) * (1 + COEFS)
    exact = Fraction(value) - Fraction(1.01) * Fraction(rounding) - conjugate + from_free
    exact -= 8 * EPSILON * (abs(Fraction(value)) + conjugate + abs(from_free))
    exact *= 1 - ROWS
    scale = abs(Fraction(value)) + abs(from_free)
    assert close(found, exact, scale)
    assert close(above, plain - exact, scale)


def test_without_a_bound():
    """theta = 0 proves 0, of which the bounds on rounding errors may take a part."""
    assert rigorous_dual(Objective(point=None), X, 1.0) == (0.0, 0.0)
    bounds = {value: asked_for(value=value, rounding=100.0)[:2] for value in (-4.0, 1.0, nan)}
    assert bounds == {-4.0: (0.0, 0.0), 1.0: (0.0, 0.5), nan: (0.0, 0.0)}
    assert asked_for(value=1.0, sums=[(1.0, 0.0)], intervals=[(-inf, inf)])[:2] == (0.0, 0.0)


def test_underflow_is_allowed_for():
    """A value at which other allowances are below the smallest numbers."""
    penalty = penalty_of(0.0)
    for value, expected in ((1e-288, 0.99e-288), (1e-291, 0.0)):
        objective = Objective(penalty, point=Point(lambda _, value=value: value))
        assert rigorous_dual(objective, X, 1.0)[0] == pytest.approx(expected, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("intervals, n_free", [([(0.0, 0.0)], 0), ([(-1.0, 1.0)], 1)])
@pytest.mark.parametrize("better", [None, Point(lambda _: 1.5)])
def test_points_that_are_balanced(intervals, n_free, better):
    """Where there are free coordinates."""
    objective = Objective(point=Point(lambda _: 1.0), intervals=intervals, exact=better)
    bound = rigorous_dual(objective, X, 2.0)[0]
    assert bound == pytest.approx(1.5 if better and n_free else 1.0, rel=1e-12)
    assert objective.asked.count("balanced") == n_free


def test_a_certificate_of_two_models():
    """The radius is that of the better model, of objective 4; the interval that of the model."""
    objectives = {1.0: (8.0, 7.0), 2.0: (4.0, 4.0)}
    penalty = penalty_of(0.0, 0.0, value=lambda w: 0.0)
    objective = Objective(
        penalty, alpha=2.0, loss_value=lambda w, b: objectives[w[0]], null_lower_bound=17.0,
        intervals=[(1.0, 5.0), (0.0, 0.0)], table_shape=(3,), left_out=[1],
        point=Point(lambda _: 1.0, v=[1.0], rounding=0.25, sums=[(0.0, 0.0), (0.0, 0.0)]),
        costs=np.array([1.0, 100.0]),
        loss=SimpleNamespace(smoothness=inf, is_log_likelihood=False),
    )  # fmt: skip
    model, best = (np.array([1.0]), 0.5), (np.array([2.0]), 0.25)
    found = rigorous_certificate(objective, model, best, DualBound(0.0, "scaling", X))
    assert (found.kind, found.coef_shape, found.left_out) == ("scaling", (3,), (1,))
    lost = 1.01 * 0.25
    relative_gap = (7.0 + lost) / (16.0 + lost)
    close_to = dict(primal=8.0, dual=1.0 - lost, gap=7.0 + lost, relative_gap=relative_gap)
    for name, value in (close_to | dict(radius=2.0, rounding=1.0 + lost)).items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-12)
    assert found.intercept_radius == pytest.approx(2.0 + 5e-6, rel=1e-12)
    assert found.decisions_that_may_differ == 1
    assert repr(found).startswith(f"<RigorousCertificate: {str(found).splitlines()[-1]}; ")

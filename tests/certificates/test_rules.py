"""What follows from an objective value and a dual bound, and how it is printed, by formulas."""

from dataclasses import FrozenInstanceError, replace
from math import inf, nan, nextafter, sqrt
from types import SimpleNamespace

import numpy as np
import pytest

from skpd import Certificate
from skpd.certificates import (
    DualBound,
    bound_below,
    certificate_of,
    certify_point,
    dual_bound,
    dual_estimate,
    primal_objective,
)
from skpd.certificates.coefficients import ImpliedBounds, implied_bounds_of
from skpd.certificates.digits import rounded
from skpd.certificates.row_bounds import RowBounds, most_turned, row_bounds
from skpd.penalties import L1, ElasticNet, GroupL2, NonNegativeL1, SquaredL2, WeightedL1
from skpd.penalties.implied_intervals import Slopes
from tests.certificates.small import ALLOWANCE, Objective, Point, penalty_of

THETA = np.array([1.0, -2.0])
ROUNDED = 1.0 + 1e-12
KNOWN = Certificate(0.5, 0.375, 0.125, 0.25, "scaling", 2.5, 1.0)


# Bounds


def test_objective_values_are_rounded_up():
    """2.5 + 4 * 3, and the allowance of 64 EPSILON."""
    objective = Objective(L1(), alpha=4.0, loss_value=2.5)
    assert primal_objective(objective, [1.0, -2.0], 0.0) == 14.5 * (1.0 + ALLOWANCE)
    primal_objective(objective, [1.0, -2.0], 0.0, 0.5)
    assert objective.asked == [0.0, 0.5]
    objective.loss_value = nan
    assert primal_objective(objective, [1.0, -2.0], 0.0) == inf


@pytest.mark.parametrize(
    ("upper", "allowed", "lipschitz", "value", "kind"),
    [
        (3.0, True, "monotone", 3.0, "monotone"),
        (4.0, True, "monotone", 4.0, "initial"),
        (9.0, True, "monotone", 4.0, "initial"),
        (9.0, False, "monotone", 9.0, "monotone"),
        (3.0, True, "initial", 4.0, "initial"),
        (3.0, True, "coordinate", 3.0, "coordinate"),
        (9.0, True, "coordinate", 4.0, "coordinate"),
    ],
)
def test_radii(upper, allowed, lipschitz, value, kind):
    """P / alpha, where P is rounded up, and half the first interval of free coordinates."""
    intervals = [(-1.0, 5.0), (-9.0, 9.0)]
    objective = Objective(
        alpha=2.0, null_objective=4.0, null_is_allowed=allowed, intervals=intervals
    )
    bound = dual_bound(objective, THETA, upper, lipschitz=lipschitz)
    assert bound.radius == value * (1.0 + ALLOWANCE) / 2.0
    assert (bound.radius_kind, bound.intercept_radius) == (kind, 3.0)


@pytest.mark.parametrize("v, lost", [([1.5, -1.25], 0.5), ([-1.5, 1.5], 0.5)])
def test_balls(v, lost):
    """The excess of the largest entry, or the sum of them, times the radius 1."""
    objective = Objective(point=Point(lambda _: 0.9, v=v, errors=[0.0, 0.0]))
    by_sum = sum(abs(x) - 1.0 for x in v)
    for lipschitz, by_ball in (("monotone", lost), ("coordinate", by_sum)):
        bound = dual_bound(objective, THETA, 1.0, lipschitz=lipschitz, scaling=False)
        assert bound.value == pytest.approx(max(0.9 - by_ball, 0.0), rel=1e-12)
        assert bound.kind == ("lipschitz" if by_ball < 0.9 else "scaling")


@pytest.mark.parametrize(
    ("point", "null", "found"),
    [
        (None, 1.0, "zero"),
        (Point(lambda _: -0.5), 1.0, "zero"),
        (Point(lambda _: nan), 1.0, "zero"),
        (Point(lambda _: 0.0), 0.0, "zero"),
        (Point(lambda _: 0.25), 1.0, "exact"),
    ],
)
def test_theta_0_proves_0(point, null, found):
    bound = dual_bound(Objective(point=point, null_objective=null), THETA, 1.0, scaling=False)
    if found == "exact":
        assert bound.value == 0.25 - ALLOWANCE * 1.25 - ALLOWANCE**2
        assert bound.kind == "exact" and bound.theta is point.theta
    else:
        assert bound[:2] == (0.0, "scaling") and not bound.theta.any()
        assert (bound.by_free_sums, bound.conjugate, bound.slopes) == (0.0, 0.0, None)


def test_options_of_bounds():
    """By default accurate products, and scaled points."""
    point = Point(lambda scale: 0.25 * scale, rough=[0.5], linear=True, largest=2.0)
    objective = Objective(point=point)
    assert dual_bound(objective, THETA, 1.0).kind == "scaling"
    assert point.precisions == ["plain", "precise"]
    point.asked.clear()
    assert dual_bound(objective, THETA, 1.0, 1.0, scaling=False).kind == "exact"
    assert point.precisions == ["plain"]


@pytest.mark.parametrize(
    ("penalty", "is_l1"),
    [(L1(), True), (NonNegativeL1(), True), (ElasticNet(l1_ratio=0.25), True),
     (WeightedL1([0.5, 0.25]), True), (WeightedL1([0.5, 0.0]), False), (SquaredL2(), False),
     (GroupL2(groups=1), False)],
)  # fmt: skip
def test_penalties_with_a_box(penalty, is_l1):
    objective = Objective(penalty)
    if is_l1:
        assert dual_bound(objective, THETA, 1.0, lipschitz="coordinate").value == 0.0
    else:
        with pytest.raises(ValueError, match="coordinate"):
            dual_bound(objective, THETA, 1.0, lipschitz="coordinate")


def test_estimates_are_at_minus_the_gradient():
    """Of a function that is not even, and 0 where it is not a number."""
    objective = Objective(NonNegativeL1(), null_objective=4.0)
    estimates = [dual_estimate(objective, 0.5, np.array([g]), 9.0) for g in (-2.0, 2.0, nan)]
    assert estimates == [0.25, 0.5, 0.0]
    penalty = penalty_of(inf, lambda v, alpha, radius: v[0] + alpha + radius)
    objective = Objective(penalty, alpha=2.0, null_objective=4.0)
    assert dual_estimate(objective, 7.5, np.array([-2.0]), 9.0) == 7.5 - 2.0 - 2.0 - 2.0


UNIT = Objective(null_rounding=0.25, null_lower_bound=8.0, objective_unit=8.0)
ROOM = 12.0 * ALLOWANCE + 0.5  # for the objective value 4


@pytest.mark.parametrize("dual, below", [(3.0, 3.0), (4.0, 4.0), (4.25, 4.0), (4.0 + ROOM, 4.0)])
def test_bounds_above_by_rounding(dual, below):
    assert bound_below(UNIT, dual, 4.0) == below


def test_bounds_above_by_more():
    for left_out in ((), (3,), (3, 4)):
        objective = replace(UNIT, left_out=left_out)
        if left_out:
            assert bound_below(objective, nextafter(4.0 + ROOM, inf), 4.0) == 4.0 - ROOM
        else:
            with pytest.raises(ValueError, match="inconsistent"):
                bound_below(objective, nextafter(4.0 + ROOM, inf), 4.0)


def test_certificates_and_their_evidence():
    """Rows that cost the gap with its allowance are counted."""
    slopes = np.array([0.5]), np.array([0.0])
    bound = DualBound(1.0, "exact", THETA, 3.0, 2.0, "initial", conjugate=0.5, slopes=slopes)
    costs = np.array([3.0 + ROOM, 0.0, 3.0 + ROOM])
    objective = replace(UNIT, costs=costs, distances=np.array([0.25]), left_out=[2])
    found, theta = certificate_of(objective, 4.0, bound, ([1.0], 0.0))
    assert theta is THETA and found.decisions_that_may_differ == 2
    assert (found.primal, found.dual, found.gap, found.relative_gap) == (4.0, 1.0, 3.0, 3.0 / 7.0)
    assert found.implied_bounds.most == 2.5 and found.left_out == (2,)
    assert (found.radius, found.intercept_radius, found.radius_kind) == (3.0, 2.0, "initial")
    objective.costs = np.array([3.0 + 1.01 * ROOM])
    assert certificate_of(objective, 4.0, bound, ([1.0], 0.0))[0].decisions_that_may_differ == 0
    assert certificate_of(objective, 4.0, bound)[0].decisions_that_may_differ is None


def test_certificates_of_points():
    objective = Objective(loss_value=0.75, point=Point(lambda scale: 0.5 * scale, largest=1.0))
    found, _ = certify_point(objective, [0.0], 0.0, THETA)
    assert found.primal == 0.75 * (1.0 + ALLOWANCE)
    assert found.dual == pytest.approx(0.5, rel=1e-12) and found.gap == found.primal - found.dual


# Coefficients


def test_zeros_and_intervals_of_coefficients():
    """|v_j| + e_j + d_j < 1 proves a 0, and |w_j| <= 1.5 / (1 - |v_j| - e_j) <= 2 the rest."""
    slopes = Slopes(np.array([0.5, 0.5, -0.5, 0.0]), np.array([0.125, 0.0, 0.0, 0.0]), 1.0)
    distances = np.array([0.5, 0.25, 0.625, 2.0])
    implied_bounds = ImpliedBounds(L1(), slopes, 0.5, 2.0, distances, (1, 3))
    assert implied_bounds.zeros.tolist() == [[False, True, False]]
    expected = [[[-0.5 / 1.375, 0.5 / 0.375], [0.0, 0.0], [-1.0, 1.0 / 3.0]]]
    assert implied_bounds.bounds == pytest.approx(np.array(expected), rel=1e-9)
    unknown = replace(implied_bounds, distances=None, shape=(1, 2))
    assert unknown.zeros is None and unknown.bounds.shape == (1, 2, 2)
    assert unknown.bounds[0, 1] == pytest.approx([-0.5 / 1.5, 1.0], rel=1e-9)
    assert replace(implied_bounds, shape=(2, 2)).zeros.tolist() == [[False, False], [True, False]]
    nothing = penalty_of(0.0, intervals=lambda *_: None, zeros=lambda *_: None)
    assert replace(implied_bounds, penalty=nothing).zeros is None
    assert replace(implied_bounds, penalty=nothing).bounds is None
    with pytest.raises(FrozenInstanceError):
        implied_bounds.most = 1.0


def test_bounds_without_evidence():
    slopes = np.array([0.5]), np.array([0.0])
    bound = DualBound(1.0, "exact", THETA, slopes=slopes)
    singular = penalty_of(0.0)
    singular.of_conjugate_arguments = L1()
    assert implied_bounds_of(Objective(), 1.0, bound).most == 1.0
    assert implied_bounds_of(Objective(), 1.0, bound._replace(slopes=None)) is None
    assert implied_bounds_of(Objective(singular), 1.0, bound) is None
    assert implied_bounds_of(Objective(), inf, bound) is None


# Rows


def loss_of(smoothness, constant, likelihood):
    return SimpleNamespace(
        smoothness=smoothness, constant_curvature=constant, is_log_likelihood=likelihood
    )


@pytest.mark.parametrize(
    ("loss", "factor", "of"),
    [
        (loss_of(4.0, True, False), sqrt(0.5), "predictions"),
        (loss_of(4.0, False, True), sqrt(8.0), "predicted probabilities"),
        (loss_of(4.0, False, False), None, ""),
        (loss_of(inf, True, True), None, ""),
        (loss_of(inf, True, False), None, ""),
    ],
)
def test_factors_of_distances(loss, factor, of):
    found = row_bounds(Objective(loss=loss, costs=np.ones(3)), 4.0, ([1.0], 0.0), THETA)
    assert (found.factor, found.of) == (factor, of)
    assert found.distance(9.0) == (None if factor is None else factor * 3.0 * ROUNDED)
    assert set(found.reasons) == (set() if factor else {"prediction_distance"})
    assert found.decisions == 3 and found.n_decisions == 3 and found.inactive is None


def test_rows_with_intervals():
    """An interval on the prediction's side of 0 leaves no other decision, however small."""
    lower = np.array([-1.0, 0.0, 1e-200, -2.0, -3.0, 0.5, 3.0])
    upper = np.array([1.0, 1.0, 1e-200, 0.0, -1e-9, 0.75, 4.0])
    signs = np.array([1.0, 1.0, 1.0, -1.0, -1.0, 1.0, 1.0])
    objective = Objective(costs=np.zeros(7), predictions=(lower, upper, signs))
    found = row_bounds(objective, 1.0, ([1.0], 0.0), THETA)
    assert found.decisions == 3 and found.n_decisions == 7
    on_other_side = replace(objective, predictions=(lower, upper, -signs))
    assert row_bounds(on_other_side, 1.0, ([1.0], 0.0), THETA).decisions == 7
    assert found.inactive.tolist() == [False] * 6 + [True]
    objective.costs = None
    found = row_bounds(objective, 1.0, ([1.0], 0.0), THETA)
    assert found.decisions is None and found.inactive.tolist() == [False] * 6 + [True]
    assert set(found.reasons) == {"decisions_that_may_differ"}
    assert row_bounds(objective, 1.0, None, THETA).inactive is None


def test_changes_of_means_by_their_sum():
    """g + sqrt(g^2 + 6 g) for a third of the gap over the sum of the means, here 1 / 10."""
    objective = Objective()
    for total, means in ((2.0, (0.1 + sqrt(0.61)) * ROUNDED), (0.0, None), (None, None)):
        objective.sum_of_means = lambda *_, total=total: total
        assert row_bounds(objective, 0.6, ([1.0], 0.0), THETA).means == pytest.approx(means)


@pytest.mark.parametrize("size, is_told", [(0.4, True), (0.6, False)])
def test_sentences_where_half_is_excluded(size, is_told):
    for known in (
        RowBounds(size, "predicted probabilities"), RowBounds(means=size),
        RowBounds(decisions=int(10 * size), n_decisions=10),
    ):  # fmt: skip
        assert bool(known.sentences(1.0, 1.0, 9.0, str)) == is_told


def test_costs_that_fit_into_a_gap():
    """Up to the allowance of 1e-12 for rounding."""
    assert most_turned(np.array([ROUNDED, 0.0]), 1.0) == 2
    assert most_turned(np.array([nextafter(ROUNDED, 2.0), 0.0]), 1.0) == 1
    assert most_turned(np.array([0.5, 0.5, ROUNDED - 1.0]), 1.0) == 3
    assert most_turned(np.array([0.5, 0.5, 1.1e-12]), 1.0) == 2


PREDICTIONS = "predictions within 2 of an optimal model's (root mean square)"
PROBABILITIES = "predicted probabilities within 0.4 of an optimal model's (root mean square)"


@pytest.mark.parametrize(
    ("implied_bounds", "gap", "sentences"),
    [
        (RowBounds(), 1.0, []),
        (RowBounds(2.0, "predictions"), 1.0, [PREDICTIONS]),
        (RowBounds(2.0, "predictions"), 1.01, []),  # more than half of that for the gap 4
        (RowBounds(2.0, "predictions"), inf, []),
        (RowBounds(1.0, "predicted probabilities"), 0.16, [PROBABILITIES]),
        (RowBounds(1.0, "predicted probabilities"), 1.0, []),
        (RowBounds(1.0, "predicted probabilities"), 2.25, []),
        (RowBounds(decisions=3, n_decisions=5), 1.0, []),
        (RowBounds(decisions=4, n_decisions=4), 1.0, []),
        (RowBounds(decisions=41, n_decisions=100), 1.0, []),  # above ten times the root
        (
            RowBounds(decisions=1200, n_decisions=3400), 1.0,
            ["at most 1,200 of 3,400 training decisions could change"],
        ),
    ],
)  # fmt: skip
def test_sentences_on_rows(implied_bounds, gap, sentences):
    assert implied_bounds.sentences(gap, 0.0016, 4.0, lambda value: f"{value:g}") == sentences


def test_evidence_on_rows_of_another_model():
    implied_bounds = RowBounds(1.0, "predictions", 2, 3, np.ones(3), {"a": "b"})
    other = implied_bounds.without_decisions("why")
    assert (other.decisions, other.inactive, other.n_decisions) == (None, None, 3)
    assert other.reasons == {"a": "b", "decisions_that_may_differ": "why"}
    with pytest.raises(FrozenInstanceError):
        implied_bounds.decisions = 1


# Certificates as text


@pytest.mark.parametrize(
    ("primal", "dual", "upper", "lower", "gap"),
    [
        (2 / 3, 1 / 3, "0.666667", "0.333333", "0.34"),
        (2 / 3, 0.0, "0.666667", "0", "0.67"),
        (1 / 3, 1 / 3 - 2e-9, "0.333333333334", "0.333333331333", "2e-9"),
        (1 / 3, 1 / 3, "0.333334", "0.333333", "0"),
        (-1 / 3, -1 / 3 - 2e-9, "-0.333333333333", "-0.333333335334", "2e-9"),
        (-1 / 3, -2.0, "-0.333333", "-2", "1.7"),
        (inf, 1 / 3, "inf", "0.333333", "inf"),
        (0.0, -1.0, "0", "-1", "1"),
    ],
)
def test_digits_that_are_printed(primal, dual, upper, lower, gap):
    certificate = Certificate(primal, dual, primal - dual, 1 / 3, "exact", 1.0, 1.0)
    assert str(certificate) == (
        "not finished: at most 34 % of the possible improvement can still be gained\n"
        f"objective {upper}, lower bound {lower}, gap {gap}"
    )


@pytest.mark.parametrize(
    ("relative_gap", "shown"),
    [
        (1e-12, "finished: less than 0.0001 %"), (9e-7, "finished: less than 0.0001 %"),
        (1.05e-6, "finished: at most 0.00011 %"), (0.00101, "not finished: at most 0.11 %"),
        (0.000945, "finished: at most 0.095 %"), (0.25, "not finished: at most 25 %"),
        (1.61e-4, "finished: at most 0.017 %"), (0.996, "not finished: at most 99.6 %"),
    ],
)  # fmt: skip
def test_shares_that_are_printed(relative_gap, shown):
    """Rounded up to two digits, and finished up to a thousandth."""
    text = str(Certificate(0.5, 0.4, 0.1, relative_gap, "exact", 1.0, 1.0)).splitlines()[0]
    assert text == f"{shown} of the possible improvement can still be gained"


def test_shares_that_are_not_those_of_a_constant():
    values = 0.5, 0.4, 0.1, 0.25, "exact", 1.0, 1.0
    for relative_gap in (1.0, 1.5):
        nothing = replace(Certificate(*values), relative_gap=relative_gap)
        assert str(nothing).startswith("not finished: no improvement is proven.")
        assert ("scaled alike?" in str(nothing)) == (relative_gap > 1.0)
    assert "possible improvement on a feasible model" in str(
        Certificate(*values, reference="model")
    )
    own = str(Certificate(*values, reference="objective"))
    assert own.startswith("not finished: at most 25 % of the objective can still be saved\n")


def test_lines_that_are_printed():
    """One fact a line, at most eighty columns."""
    rows = RowBounds(1e-3, "predicted probabilities", 12_345, 678_900, means=0.0123456789)
    certificate = Certificate(
        0.5, 0.4999, 1e-4, 0.000115, "exact", 1.0, 1.0, row_bounds=rows, left_out=(1, 2)
    )
    assert str(certificate).splitlines() == [
        "finished: at most 0.012 % of the possible improvement can still be gained",
        "predicted probabilities within 0.000011 of an optimal model's (root mean square)",
        "predicted means within factors of 0.987 and 1.013 of an optimal model's on",
        "  average",
        "at most 12,345 of 678,900 training decisions could change",
        "among models without features 1, 2, which have no penalty and are combinations",
        "  of others up to rounding",
        "objective 0.5, lower bound 0.4999, gap 0.00011",
    ]


@pytest.mark.parametrize(
    "n, features",
    [(1, "0"), (5, "0, 1, 2, 3, 4"), (6, "0, 1, 2, 3, 4 and 1 more"),
     (7, "0, 1, 2, 3, 4 and 2 more")],
)  # fmt: skip
def test_features_that_are_printed(n, features):
    implied_bounds = RowBounds(1.0, "predictions")
    text = str(replace(KNOWN, left_out=tuple(range(n)), row_bounds=implied_bounds))
    status, known, *about, numbers = text.splitlines()
    assert [status, numbers] == str(KNOWN).splitlines()
    assert known.startswith("predictions within 0.36 of")
    assert "".join(about).startswith(f"among models without features {features}, which have")


def test_certificates_are_values():
    """Equal where their intervals are, whatever else is known."""
    known = np.ones(2, dtype=bool)
    implied_bounds = SimpleNamespace(bounds=np.ones((1, 2)), zeros=known)
    other = replace(
        KNOWN, implied_bounds=implied_bounds, coef_shape=(1,), row_bounds=RowBounds(inactive=known)
    )
    assert other == KNOWN and replace(KNOWN, gap=0.25) != KNOWN
    assert replace(KNOWN, left_out=(1,)) != KNOWN
    assert other.proven_zero is known and other.coefficient_bounds is implied_bounds.bounds
    assert other.proven_inactive_rows is known and other.without_arrays() == other
    brief = other.without_arrays()
    assert brief.proven_zero.tolist() == [False] and brief.proven_inactive_rows.shape == (0,)
    assert brief.coefficient_bounds.tolist() == [[-inf, inf]]
    assert KNOWN.proven_zero.shape == (0,) and KNOWN.coefficient_bounds.shape == (0, 2)
    assert (KNOWN.radius_kind, KNOWN.left_out) == ("monotone", ())
    assert KNOWN.prediction_distance is None is KNOWN.decisions_that_may_differ
    assert set(KNOWN.not_known) == {"prediction_distance", "decisions_that_may_differ"}
    with pytest.raises(FrozenInstanceError):
        KNOWN.gap = 1.0
    assert DualBound(0.0, "exact", THETA)[3:] == (inf, inf, "monotone", 0.0, 0.0, None)


def test_numbers_that_are_not_finite_are_printed_as_they_are():
    assert [rounded(x, 2, "ROUND_FLOOR") for x in (inf, -inf, nan, 0.129)] == [
        "inf", "-inf", "nan", "0.12",
    ]  # fmt: skip

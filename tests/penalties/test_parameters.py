"""The parameters of penalties, and what follows from them for some number of features."""

from dataclasses import FrozenInstanceError, fields
from math import inf, sqrt

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skpd import penalties as R
from skpd.penalties.base import NO_FEATURES
from skpd.penalties.increasing_functions import PowerOfNorm
from tests.penalties.examples import BOUNDS, EVERY, PAIRS, UNEQUAL, N

PAIR = R.FunctionOfNorm(R.L1(), PowerOfNorm(2.0, 3.0))


DEFAULTS = [
    (R.L1Ball, (), {"radius": 1.0}),
    (R.SquaredL2OnL1Ball, (), {"radius": 1.0, "weight": 1.0}),
    (R.ElasticNetBall, (), {"radius": 1.0, "l1_ratio": 0.5}),
    (R.Box, (), {"lower": -1.0, "upper": 1.0}),
    (R.FusedLasso, (), {"l1_ratio": 0.5}),
    (R.ElasticNet, (), {"l1_ratio": 0.5}),
    (R.SparseGroup, (2,), {"weights": None, "l1_ratio": 0.5}),
    (R.GroupElasticNet, (2,), {"weights": None, "l1_ratio": 0.5}),
    (PowerOfNorm, (), {"exponent": 2.0, "scale": 1.0}),
    (R.Separable, (), {"l1": 1.0, "l2": 0.0, "lower": -inf, "upper": inf}),
    (R.NormEpigraph, (1,), {"weight": 0.0}),
    (R.Spectral, (R.L1(),), {"n_outputs": None}),
]


@pytest.mark.parametrize(("kind", "arguments", "defaults"), DEFAULTS)
def test_defaults(kind, arguments, defaults):
    penalty = kind(*arguments)
    parameters = penalty.get_params()
    if kind is PowerOfNorm:
        assert penalty.value(0.0) == 0.0
    else:
        assert (
            penalty.for_n_features(4).value(np.zeros((2, 2) if kind is R.Spectral else 4)) == 0.0
        )
    assert {name: parameters[name] for name in defaults} == defaults


LIMITS = [  # parameter, allowed, refused
    (R.L1Ball, "radius", [1e-300, 1e300], [0.0, inf]),
    (R.SquaredL2OnL1Ball, "radius", [1e-300, 1e300], [0.0, -1.0]),
    (R.SquaredL2OnL1Ball, "weight", [1e-300, 1e300], [0.0, inf]),
    (R.ElasticNetBall, "radius", [1e-300, 1e300], [0.0, -1.0]),
    (R.ElasticNetBall, "l1_ratio", [1e-9, 1.0 - 1e-9], [0.0, 1.0]),
    (R.Box, "lower", [-1e300, 0.0], [1e-300, 0.5]),
    (R.Box, "upper", [1e300, 0.0], [-1e-300, -0.5]),
    (R.FusedLasso, "l1_ratio", [1e-9, 1.0], [0.0, 1.0 + 1e-9]),
    (R.ElasticNet, "l1_ratio", [1e-9, 1.0 - 1e-9], [0.0, 1.0]),
    (lambda **some: R.SparseGroup(2, **some), "l1_ratio", [0.0, 1.0], [-1e-9, 1.0 + 1e-9]),
    (lambda **some: R.GroupElasticNet(2, **some), "l1_ratio", [1e-9, 0.99], [0.0, 1.0]),
    (PowerOfNorm, "exponent", [1.0 + 1e-9, 30.0], [1.0, 0.5]),
    (PowerOfNorm, "scale", [1e-9, 30.0], [0.0, -1.0]),
    (R.Separable, "l1", [0.0, 0.5, [1.0, 0.0]], [-1e-9, inf, np.nan]),
    (R.Separable, "l2", [0.0, 0.5, [1.0, 0.0]], [-1e-9, inf, np.nan]),
    (R.Separable, "lower", [0.0, -inf, [-1.0, 0.0]], [1e-9, np.nan]),
    (R.Separable, "upper", [0.0, inf, [1.0, 0.0]], [-1e-9, np.nan]),
    (R.WeightedL1, "weights", [[0.0, 0.5], [1.0, 0.0]], [[-1e-9], [inf], [np.nan]]),
]


@pytest.mark.parametrize(("kind", "name", "allowed", "refused"), LIMITS)
def test_limits_of_parameters(kind, name, allowed, refused):
    for value in allowed:
        penalty = kind(**{name: value})
        assert np.all(getattr(penalty, name) == value)
        if kind is PowerOfNorm:
            assert penalty.value(0.0) == 0.0
        else:
            assert penalty.for_n_features(2).value(np.zeros(2)) == 0.0
    for value in refused:
        with pytest.raises(ValueError, match=name):
            kind(**{name: value})


@pytest.mark.parametrize(
    "penalty", [*EVERY, PowerOfNorm(), R.TotalVariation()], ids=lambda p: type(p).__name__
)
def test_penalties_are_immutable_values(penalty):
    assert penalty.value(0.0 if isinstance(penalty, PowerOfNorm) else np.zeros(N)) == 0.0
    for name in [field.name for field in fields(penalty)] or ["any"]:
        with pytest.raises(FrozenInstanceError):
            setattr(penalty, name, None)
    if not isinstance(penalty, R.NormEpigraph):  # whose bounds of free features are arrays
        assert isinstance(hash(penalty), int)


def test_equality():
    for make in (
        lambda: R.L1Ball(2.0), lambda: R.ElasticNet(0.3), lambda: R.Spectral(R.L1(), 2),
        R.TotalVariation, R.LInf, lambda: R.Box(-1.0, 2.0), lambda: R.ElasticNetBall(2.0),
        lambda: R.SquaredL2OnL1Ball(2.0), lambda: R.FusedLasso(0.3), R.L1, R.L2Norm, R.SquaredL2,
    ):  # fmt: skip
        assert make() == make()
        assert make().value(np.zeros(2)) == 0.0
    for make in (
        lambda: R.GroupL2(2), lambda: R.SparseGroup(2), lambda: R.GroupLInf(2),
        lambda: R.GroupL1Squared(2), lambda: R.SquaredGroupL2(2), lambda: R.GroupElasticNet(2),
        lambda: R.WeightedL1([1.0, 2.0]), R.Separable, lambda: R.FunctionOfNorm(R.L1()),
    ):  # fmt: skip
        assert make() != make() and make().for_n_features(2).value(np.zeros(2)) == 0.0


def test_strong_convexity():
    for penalty, mu in (
        (R.SquaredL2(), 1.0), (R.ElasticNet(0.3), 0.7), (R.L1(), 0.0), (R.Box(), 0.0),
        (R.GroupElasticNet(2, l1_ratio=0.3), 0.7), (R.Separable(1.0, [2.0, 0.5]), 0.5),
        (R.WeightedL1([1.0]), 0.0), (R.GroupL2(2), 0.0), (R.L2Norm(), 0.0), (PAIR, 0.0),
        (R.TotalVariation(), 0.0), (R.SquaredL2OnL1Ball(), 0.0),
    ):  # fmt: skip
        assert penalty.strong_convexity == mu


def test_parts_besides_the_ridge():
    for penalty in (R.L1(), R.GroupL2(2), R.LInf(), R.SquaredGroupL2(2), R.L1Ball(), PAIR):
        assert penalty.without_ridge() == (0.0, penalty, 1.0) and not penalty.is_ridge
    assert R.SquaredL2().without_ridge() == (1.0, None, 0.0) and R.SquaredL2().is_ridge
    assert R.ElasticNet(0.3).without_ridge() == (0.7, R.L1(), 0.3)
    assert R.SquaredL2OnL1Ball(2.0, 0.3).without_ridge() == (0.3, R.L1Ball(2.0), 1.0)
    ridge, rest, factor = R.Separable([0.0, 1.0], [2.0, 0.5], -1.0).without_ridge()
    assert (ridge, factor) == (0.5, 1.0) and rest.l2.tolist() == [1.5, 0.0]
    assert not R.ElasticNet().is_ridge and rest.lower == -1.0 and rest.l1.tolist() == [0.0, 1.0]


def test_free_features():
    for penalty, free in (
        (R.GroupL2(UNEQUAL, weights=[0.5, 0.0]), [0, 2, 3]),
        (R.SparseGroup(UNEQUAL, weights=[0.5, 0.0], l1_ratio=0.0), [0, 2, 3]),
        (R.SparseGroup(UNEQUAL, weights=[0.5, 0.0], l1_ratio=0.1), []),
        (R.GroupLInf(UNEQUAL, weights=[0.0, 0.5]), [1]),
        (R.WeightedL1([0.5, 0.0, 2.0, 0.0]), [1, 3]),
        (R.Separable([0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0]), [2, 3]),
    ):
        columns, lower, upper = penalty.for_n_features(N).free_features
        assert columns.tolist() == free
        assert np.all(lower == -inf) and np.all(upper == inf) and len(lower) == len(upper)
    bounded = R.Separable([0.0, 1.0, 0.0], 0.0, [-1.0, -2.0, 0.0], [5.0, 2.0, 3.0]).free_features
    assert [part.tolist() for part in bounded] == [[0, 2], [-1.0, 0.0], [5.0, 3.0]]
    assert [len(part) for part in NO_FEATURES] == [0, 0, 0]
    assert R.NormEpigraph(1, free_features=BOUNDS).free_features is BOUNDS
    # supports and dual norms are over coefficients that are 0 there
    v = np.array([3.0, 1.0, 5.0, 7.0])
    for penalty in (
        R.GroupL2(UNEQUAL, weights=[0.5, 0.0]), R.GroupLInf(UNEQUAL, weights=[0.5, 0.0]),
        R.SparseGroup(UNEQUAL, weights=[0.5, 0.0], l1_ratio=0.0), R.WeightedL1([0, 0.5, 0, 0]),
    ):  # fmt: skip
        assert penalty.dual_norm(v) == penalty.largest_alpha(v) == pytest.approx(2.0, rel=1e-14)


def test_penalised_first():
    penalty = R.GroupL2([[4, 1], [0], [5, 3], [2]], weights=[0.0, 2.0, 0.5, 0.0]).for_n_features(6)
    order, starts, weights = penalty.penalised_first
    assert order.tolist() == penalty.group_order.tolist() == [0, 5, 3, 4, 1, 2]
    assert starts.tolist() == [0, 1, 3] and weights.tolist() == [2.0, 0.5]
    order, starts, weights = R.SquaredGroupL2([[2, 1], [0]]).for_n_features(3).penalised_first
    assert (order.tolist(), starts.tolist(), weights.tolist()) == ([2, 1, 0], [0, 2, 3], [1, 1])
    assert penalty.partition is penalty._partition
    sparse = R.SparseGroup([[1], [0]], [0.0, 1.0], 0.3).for_n_features(2)
    assert sparse.group_order.tolist() == [0, 1] and sparse.l1_ratio == 0.3


def test_groups_are_bound_again_for_other_numbers_of_features():
    penalty = R.GroupL2(2, weights=[0.0, 1.0]).for_n_features(4)
    assert penalty.free_features.columns.tolist() == [0, 1]
    assert R.GroupL2(2).for_n_features(4).for_n_features(6).labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert_array_equal(R.GroupL2([[0], [1, 2]]).for_n_features(3)._weights, [1.0, sqrt(2.0)])
    other = R.GroupL2([[0, 2], [1]], weights=[0.0, 1.0]).for_n_features(3)
    assert other.free_features.columns.tolist() == [0, 2]
    assert repr(R.GroupL2(2).for_n_features(4)) == "GroupL2(groups=2, weights=None)"


def test_step_sizes():
    steps = np.array([0.3, 0.1, 0.7, 0.2])
    assert R.L1().step_sizes(steps) is R.WeightedL1(steps).step_sizes(steps) is steps
    for penalty in (R.LInf(), R.L1Ball(), R.SquaredGroupL2(PAIRS), R.Spectral(R.L1(), 2)):
        assert penalty.step_sizes(steps).tolist() == [0.1] * 4
    for penalty in (
        R.GroupL2(PAIRS),
        R.GroupLInf(PAIRS),
        R.GroupL1Squared(PAIRS).for_n_features(N),
    ):
        assert penalty.step_sizes(steps).tolist() == [0.2, 0.1, 0.1, 0.2]


def test_what_does_not_fit_the_number_of_features():
    for penalty, message in (
        (R.WeightedL1([1.0, 2.0]), "for each of the 3 features, got 2"),
        (R.Separable([1.0, 2.0]), "for each of the 3 features, got 2"),
        (R.Spectral(R.L1(), 2), "n_outputs of Spectral must divide"),
        (R.GroupElasticNet([1, 2], weights=[0.0, 1.0]), "must be greater than 0"),
        (R.FunctionOfNorm(R.WeightedL1([0.0, 1.0, 1.0])), "must penalise every coefficient"),
    ):
        with pytest.raises(ValueError, match=message):
            penalty.for_n_features(3)
    for penalty in (R.L1(), R.Spectral(R.L1()), R.Box(), R.TotalVariation()):
        assert penalty.for_n_features(3) is penalty
    assert R.Separable(0.5).for_n_features(3).l1.tolist() == [0.5] * 3
    with pytest.raises(ValueError, match="same for every sign"):
        R.Spectral(R.NonNegativeL1())

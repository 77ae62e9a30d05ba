"""`check_penalty` refuses a penalty that is wrong in one property, and names it."""

import inspect
from dataclasses import dataclass
from math import inf

import numpy as np
import pytest

from skpd import penalties as R
from skpd.penalties.declaration_checks import _Points


def soft(w, step):
    return np.sign(w) * np.maximum(np.abs(w) - step, 0.0)


def leaning(self, w):
    return float(np.sum(np.maximum(w, 0.0) + 2.0 * np.maximum(-w, 0.0)))


def scaled(kind, name, factor):
    """A method that returns the right result times a factor."""
    method = getattr(kind, name)
    return {name: lambda self, *some: factor * method(self, *some)}


class Light(R.L1):
    """The sum of |w_j| / 1000."""

    terms = (1e-3, 0.0, -inf, inf)

    def value(self, w):
        return 1e-3 * float(np.sum(np.abs(w)))

    def prox(self, w, step):
        return soft(w, 1e-3 * step)

    def dual_norm(self, v):
        return 1e3 * super().dual_norm(v)


class Sizes(R.L1):
    """The l1 norm, whose methods do not follow from its terms."""

    even, is_finite = True, True

    def value(self, w):
        return float(np.sum(np.abs(w)))

    def prox(self, w, step):
        return soft(w, step)

    def feasible(self, w):
        return w


class Within(R.SeparablePenalty):
    """The l1 norm for coefficients of at least -1, whose methods do not use the terms."""

    terms = 1.0, 0.0, -1.0, inf
    even, is_finite = False, False

    def value(self, w):
        return float(np.sum(np.abs(w))) if np.min(w) >= -1.0 else inf

    def prox(self, w, step):
        return np.maximum(soft(w, step), -1.0)

    def feasible(self, w):
        return np.maximum(w, -1.0)


FREE = R.FreeFeatures(np.array([0]), np.array([-inf]), np.array([inf]))
WRONG = [  # the property, and what is wrong of which penalty
    (r"value at 0, R\(0\) = 0, .*: 1 against 0", R.L1, {"value": lambda self, w: 1.0}),
    ("non-negativity, .* against 0", R.L1, {"value": lambda self, w: -float(np.sum(np.abs(w)))}),
    ("is_finite, .*: inf against inf", Within, {"is_finite": True}),
    ("feasible, where R .*: inf against inf", R.NonNegativeL1, {"feasible": lambda self, w: w}),
    ("feasible, w itself .* against 0", R.L1, {"feasible": lambda self, w: 0.5 * w}),
    ("feasible, w itself", R.L1, {"feasible": lambda self, w: w + 1e-12}),
    ("convexity", R.L1, {"value": lambda self, w: float(np.sum(np.abs(w))) ** 0.5}),
    ("convexity", R.L1, {"value": lambda self, w: float(np.sum(np.abs(w)) ** 0.999)}),
    (r"norm, R\(t w\) = t R\(w\)", R.SquaredL2, {"is_norm": True}),
    (r"even, R\(-w\) = R\(w\)", R.L1, {"value": leaning}),
    ("symmetric, the same", R.L1, {"value": leaning, "even": False}),
    ("symmetric, the same", R.TotalVariation, {"symmetric": True}),
    (r"is_quadratic, R\(2 w\) = 4 R\(w\)", R.L1, {"is_quadratic": True}),
    ("l1_radius, outside .* against inf", R.L1, {"l1_radius": 3.0}),
    ("l1_radius, outside .* against inf", R.Box, {"l1_radius": 0.3}),
    ("without_ridge", R.SquaredL2, {"without_ridge": lambda self: (0.9, None, 0.0)}),
    ("without_ridge", R.ElasticNet, {"without_ridge": lambda self: (0.5, R.L1(), 0.4)}),
    ("without_ridge", R.ElasticNet, {"without_ridge": lambda self: (0.4, R.L1(), 0.5)}),
    ("free_features", R.L1, {"free_features": FREE}),
    (r"free_level, R\(w \+ level\) = R\(w\)", R.L1, {"free_level": True}),
    ("terms, sum_j", Sizes, {"terms": (1.1, 0.0, -inf, inf)}),
    ("terms, sum_j", Sizes, {"terms": (1.0, 0.1, -inf, inf)}),
    ("terms, sum_j", Sizes, {"terms": (1.0, 0.0, -1.0, inf)}),
    ("terms, sum_j", Sizes, {"terms": (1.0, 0.0, -inf, 1.0)}),
    ("terms, sum_j", Within, {"terms": (1.0, 0.0, -2.0, inf)}),
    ("prox, which is where R is finite", R.NonNegativeL1, {"prox": lambda self, w, t: soft(w, t)}),
    (
        "prox, which is where R",
        R.Box,
        {
            "prox": lambda self, w, t: np.clip(w, -1.0, 1.001),
            "feasible": lambda self, w: np.clip(w, -1.0, 1.0),
        },
    ),
    ("prox, which minimises", R.L1, {"prox": lambda self, w, t: soft(w, 1.01 * t)}),
    ("prox, which minimises", R.L1, {"prox": lambda self, w, t: soft(w, 0.99 * t)}),
    ("prox, which minimises", R.L1, {"prox": lambda self, w, t: soft(w, np.min(t))}),
    ("prox, which minimises", R.SquaredL2, {"prox": lambda self, w, t: w / (1.01 + t)}),
    (r"dual norm, v.w <= R°\(v\) R\(w\)", R.L1, scaled(R.L1, "dual_norm", 0.999)),
    (r"dual norm, R°\(w - prox", R.L1, scaled(R.L1, "dual_norm", 1.001)),
    (r"dual norm, R°\(w - prox", Light, scaled(Light, "dual_norm", 1.001)),
    ("Fenchel-Young inequality", R.SquaredL2, scaled(R.SquaredL2, "conjugate", 0.999)),
    ("Fenchel-Young equality", R.SquaredL2, scaled(R.SquaredL2, "conjugate", 1.001)),
    ("Fenchel-Young inequality", R.L1Ball, scaled(R.L1Ball, "conjugate", 0.999)),
    ("Fenchel-Young equality", R.L1Ball, scaled(R.L1Ball, "conjugate", 1.001)),
    ("support, at least v.w", R.SquaredL2, scaled(R.SquaredL2, "support", 0.999)),
    (
        "bounded_conjugate, at least",
        R.SquaredL2,
        scaled(R.SquaredL2, "bounded_conjugate", 0.999),
    ),
    (
        "bounded_conjugate, at least",
        R.ElasticNet,
        {"bounded_conjugate": lambda self, v, alpha, radius: 0.0},
    ),
    (
        "bounded_conjugate, at most the conjugate",
        R.SquaredL2,
        scaled(R.SquaredL2, "bounded_conjugate", 1.001),
    ),
    ("largest_alpha, from which on .* against 0", R.L1, scaled(R.L1, "largest_alpha", 0.999)),
    ("largest_alpha, below which .* 0 against 0", R.L1, scaled(R.L1, "largest_alpha", 1.001)),
    ("largest_alpha, from which on", R.SquaredL2, {"largest_alpha": lambda self, v: 1.0}),
    ("worst_case, whose conjugate", R.SquaredL2, {"worst_case": lambda self, v, error: v + error}),
    (
        "worst_case, whose support",
        R.L1,
        {"worst_case": lambda self, v, error: v + 0.9 * np.copysign(error, v)},
    ),
    (
        "worst_case, whose support",
        R.SquaredL2,
        {"support": lambda self, v, radius: 1e9 / (1.0 + float(v @ v))},
    ),
]


@pytest.mark.parametrize(("what", "right", "members"), WRONG, ids=range(len(WRONG)))
def test_a_penalty_that_is_wrong_in_one_property(what, right, members):
    wrong = type("Wrong", (right,), members)()
    R.check_penalty(right())
    with pytest.raises(AssertionError, match=f"^Wrong fails the test of its {what}"):
        R.check_penalty(wrong)


@pytest.mark.parametrize(
    "penalty", [
        R.L1Ball(0.02), R.L1Ball(90.0), R.SquaredL2OnL1Ball(50.0), R.Box(-90.0, 0.01), R.L1(),
        R.Box(-1.0, 0.0), R.SquaredL2(), R.NonNegativeL1(),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("n_features", [1, 3])
def test_right_penalties_pass(penalty, n_features):
    R.check_penalty(penalty, n_features)


def test_points_vary_over_orders_of_magnitude():
    tests = _Points(R.NonNegativeL1(), 400)
    vectors = np.array([tests.vector() for _ in range(200)])
    assert 0.18 < np.mean(vectors == 0.0) < 0.22
    scales = np.std(vectors, axis=1)
    alphas = np.array([tests.alpha() for _ in range(200)])
    assert np.all(alphas <= 30.0) and np.all(alphas >= 1.0 / 30.0)
    for some, low, high in ((scales, 1.0 / 30.0, 30.0), (alphas, 1.0 / 30.0, 30.0)):
        assert 0.8 * low < np.min(some) < 1.2 * low and 0.8 * high < np.max(some) < 1.2 * high
        assert 0.4 < np.mean(some < 1.0) < 0.6
    assert np.array_equal(_Points(R.L1(), 6).coefficients(), _Points(R.L1(), 6).vector())
    for _ in range(20):
        assert tests.penalty.value(tests.coefficients()) < inf


def test_points_of_penalties_that_leave_something_free():
    w = np.array([1.0, 2.0, 6.0])
    assert _Points(R.TotalVariation(), 3).held(w).tolist() == [-2.0, -1.0, 3.0]
    assert _Points(R.WeightedL1([1.0, 0.0, 2.0]), 3).held(w).tolist() == [1.0, 0.0, 6.0]
    assert w.tolist() == [1.0, 2.0, 6.0]


def test_half_of_the_dual_vectors_are_subgradients():
    tests = _Points(R.L1(), 6)
    pairs = [tests.pair() for _ in range(300)]
    equal = [np.isclose(v @ w, alpha * np.sum(np.abs(w))) for w, v, alpha in pairs]
    assert 0.4 < np.mean(equal) < 0.6


def test_six_features_by_default():
    assert inspect.signature(R.check_penalty).parameters["n_features"].default == 6


class OwnL1(R.Norm):
    """The l1 norm, as a user would write it."""

    def value(self, w):
        return float(np.abs(w).sum())

    def prox(self, w, step):
        return np.sign(w) * np.maximum(np.abs(w) - step, 0.0)

    def dual_norm(self, v):
        return float(np.abs(v).max())


class OwnRidge(R.Penalty):
    def value(self, w):
        return 0.5 * float(w @ w)

    def prox(self, w, step):
        return w / (1.0 + step)

    def conjugate(self, v, alpha):
        return float(v @ v) / (2.0 * alpha)

    def support(self, v, radius):
        return float(np.sqrt(2.0 * radius * (v @ v)))


@dataclass(frozen=True)
class OwnBall(R.Penalty):
    """A ball as a user might write it, with a prox that is no projection of its norm."""

    is_finite = False

    def value(self, w):
        return 0.0 if np.linalg.norm(w) <= 1.0 + 1e-12 else inf

    def prox(self, w, step):
        return w / max(1.0, np.linalg.norm(w))

    feasible = prox_of_one = lambda self, w: self.prox(w, 1.0)

    def conjugate(self, v, alpha):
        return float(np.linalg.norm(v))

    def support(self, v, radius):
        return float(np.linalg.norm(v))


@pytest.mark.parametrize("penalty", [OwnL1(), OwnRidge(), OwnBall()])
@pytest.mark.parametrize("n_features", [1, 5])
def test_right_penalties(penalty, n_features):
    assert R.check_penalty(penalty, n_features) is None


l1, ridge = OwnL1(), OwnRidge()
WRONG_PENALTIES = {
    "value at 0": (OwnRidge, {"value": lambda self, w: ridge.value(w) + 1.0}),
    "non-negativity": (OwnRidge, {"value": lambda self, w: -ridge.value(w)}),
    "is_finite": (OwnBall, {"is_finite": True}),
    "feasible, where R is finite": (OwnBall, {"feasible": lambda self, w: w}),
    "feasible, w itself": (OwnRidge, {"feasible": lambda self, w: 0.9 * w}),
    "convexity": (OwnRidge, {"value": lambda self, w: float(np.log1p(w @ w))}),
    "prox, which is where": (OwnBall, {
        "prox": lambda self, w, step: w / max(1.0, 0.9 * np.linalg.norm(w)),
        "feasible": lambda self, w: OwnBall().prox(w, 1.0)}),
    "prox, which minimises": (OwnL1, {"prox": lambda self, w, step: l1.prox(w, 0.5 * step)}),
    "norm, R": (OwnL1, {"value": lambda self, w: l1.value(w) + 1e-3 * l1.value(w) ** 2,
                        "prox": lambda self, w, step: OwnL1.prox(self, w, step) / (1.0 + 2e-3)}),
    "dual norm, v.w": (OwnL1, {"dual_norm": lambda self, v: 0.9 * l1.dual_norm(v)}),
    "dual norm, R°": (OwnL1, {"dual_norm": lambda self, v: 1.1 * l1.dual_norm(v)}),
    "Fenchel-Young inequality": (
        OwnRidge, {"conjugate": lambda self, v, alpha: 0.9 * ridge.conjugate(v, alpha)}),
    "Fenchel-Young equality": (
        OwnRidge, {"conjugate": lambda self, v, alpha: 1.1 * ridge.conjugate(v, alpha)}),
    "support, at least": (
        OwnRidge, {"support": lambda self, v, radius: 0.5 * ridge.support(v, radius)}),
    "bounded_conjugate, at least": (
        OwnRidge, {"bounded_conjugate": lambda self, v, alpha, radius: 0.0}),
    "bounded_conjugate, at most": (OwnRidge, {
        "bounded_conjugate": lambda self, v, alpha, radius: 2.0 * ridge.conjugate(v, alpha)}),
    "largest_alpha, from": (OwnL1, {"largest_alpha": lambda self, v: 0.5 * l1.dual_norm(v)}),
    "largest_alpha, below": (OwnL1, {"largest_alpha": lambda self, v: 2.0 * l1.dual_norm(v)}),
    "worst_case": (OwnRidge, {"worst_case": lambda self, v, error: v}),
    "even": (OwnBall, {"value": lambda self, w: 0.0 if np.all((w >= 0) & (w <= 1)) else inf,
                       "prox": lambda self, w, step: np.clip(w, 0.0, 1.0),
                       "conjugate": lambda self, v, alpha: float(np.maximum(v, 0.0).sum()),
                       "support": lambda self, v, radius: float(np.maximum(v, 0.0).sum())}),
    "symmetric": (OwnRidge, {
        "symmetric": True, "value": lambda self, w: 0.5 * float(w @ (w * np.arange(len(w)))),
    }),
    "is_quadratic": (OwnL1, {"is_quadratic": True}),
    "l1_radius": (OwnRidge, {"l1_radius": 1.0}),
    "without_ridge": (OwnRidge, {"without_ridge": lambda self: (0.5, None, 0.0)}),
    "terms": (OwnRidge, {"structure": R.Structure.SEPARABLE, "terms": (0.0, 2.0, -inf, inf)}),
    "free_features": (OwnL1, {"free_features": R.FreeFeatures(
        np.array([0]), np.array([-inf]), np.array([inf]))}),
    "free_level": (OwnL1, {"free_level": True}),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG_PENALTIES)
def test_an_own_penalty_that_is_wrong_in_one_property(what):
    right, members = WRONG_PENALTIES[what]
    wrong = type("Wrong", (right,), members)
    with pytest.raises(AssertionError, match=rf"^Wrong fails the test of its {what}.* against "):
        R.check_penalty(wrong())


def test_a_penalty_that_does_not_fit():
    with pytest.raises(ValueError, match="divide the number of features, 5"):
        R.check_penalty(R.GroupL2(groups=2), n_features=5)

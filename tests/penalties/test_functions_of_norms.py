"""Functions of norms: their conjugates, and models with them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skpd import PdproxRegressor, PdproxSVC
from skpd.losses import Hinge
from skpd.penalties import (
    L1,
    FunctionOfNorm,
    GroupL2,
    LInf,
    NonNegativeL1,
    SquaredGroupL2,
    SquaredL2,
    TotalVariation,
    WeightedL1,
    check_penalty,
)
from skpd.penalties.declaration_checks import check_function
from skpd.penalties.increasing_functions import IncreasingFunction, PowerOfNorm
from tests.oracles.reference import conic_solution


class Exponential(IncreasingFunction):
    """V(z) = exp(z) - 1 - z, with V*(s) = (1 + s) log(1 + s) - s."""

    def value(self, z):
        return float(np.expm1(z) - z)

    def slope(self, z):
        return float(np.expm1(z))

    def conjugate(self, s):
        return float((1.0 + s) * np.log1p(s) - s)


class WithKink(IncreasingFunction):
    """V(z) = z + 2 max(z - 1, 0): slopes 1 and 3."""

    def value(self, z):
        return z + 2.0 * max(z - 1.0, 0.0)

    def slope(self, z):
        return 1.0 if z < 1.0 else 3.0

    def conjugate(self, s):
        return np.inf if s > 3.0 else max(s - 1.0, 0.0)


@pytest.mark.parametrize("function", [Exponential(), WithKink()], ids=["exponential", "kink"])
@pytest.mark.parametrize("norm", [L1(), GroupL2(groups=2)], ids=str)
def test_functions_of_ones_own(function, norm):
    with np.errstate(over="ignore"):
        check_penalty(FunctionOfNorm(norm, function))


@pytest.mark.parametrize("exponent", [1.0 + 1e-7, 1.01, 1.5, 2.0, 10.0, 208.0, 1e4])
@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1.0, 1e8, 1e300])
def test_powers_of_all_sizes_pass(exponent, scale):
    check_function(PowerOfNorm(exponent, scale))


class Bounded(Exponential):
    """V(z) = 1 - exp(-z), which is concave."""

    def value(self, z):
        return float(-np.expm1(-z))

    def slope(self, z):
        return float(np.exp(-z))


class Square(PowerOfNorm):
    """z^2."""


class Faint(IncreasingFunction):
    """V(z) = z^3 / 10^9, with V*(s) = 2 s / 3 sqrt(10^9 s / 3)."""

    def value(self, z):
        return 1e-9 * z**3

    def slope(self, z):
        return 3e-9 * z * z

    def conjugate(self, s):
        return 2.0 * s / 3.0 * (1e9 * s / 3.0) ** 0.5


WRONG_FUNCTIONS = {
    "value at 0": (Exponential, {"value": lambda self, z: float(np.exp(z))}),
    r"slope, V'\(z\) >= 0": (Exponential, {"slope": lambda self, z: -1.0}),
    r"slope, V\(x\)": (WithKink, {"slope": lambda self, z: 1.0 if z < 2.0 else 3.0}),
    r"conjugate, V\(x\)": (Square, {"conjugate": lambda self, s: s * s / 4.001}),
    r"conjugate, V\*\(s\)": (Square, {"conjugate": lambda self, s: s * s / 3.999}),
    r"inverse of V\(z\), at": (Square, {"inverse": lambda self, v: 0.999 * v**0.5}),
    r"inverse of V\(z\), below": (Square, {"inverse": lambda self, v: 1.001 * v**0.5}),
    "is_square": (Exponential, {"is_square": True}),
    r"is_square, V\(2 z\)": (Faint, {"is_square": True}),
    r"inverse of V\(z\), below which V": (Square, {"inverse": lambda self, v: 1.0000015 * v**0.5}),
    r"value at 0, V\(0\) = 0": (Square, {"value": lambda self, z: z * z + 1e-12}),
    r"slope, V'\(z\) >= 0 \(": (Square, {"slope": lambda self, z: 2.0 * z - 1e-12}),
    r"slope, V'\(z\) >= 0 \(.*, z=0": (Square, {"slope": lambda self, z: 2.0 * z or -1.0}),
}


@pytest.mark.parametrize("what", WRONG_FUNCTIONS)
def test_a_function_that_is_wrong_in_one_property(what):
    right, members = WRONG_FUNCTIONS[what]
    check_function(right())
    wrong = type("Wrong", (right,), members)()
    with pytest.raises(AssertionError, match=rf"^Wrong fails the test of its {what}.* against "):
        check_function(wrong)
    with pytest.raises(ValueError, match="function must pass check_function: Wrong fails"):
        FunctionOfNorm(L1(), wrong)


def test_a_function_that_does_not_grow():
    assert IncreasingFunction.inverse(Bounded(), 2.0) == np.inf
    with pytest.raises(ValueError, match="Bounded fails the test of its slope"):
        FunctionOfNorm(L1(), Bounded())


def test_conjugates_of_powers_by_a_grid():
    z = np.linspace(0.0, 50.0, 500_001)
    for exponent, scale, s in ((2.0, 0.5, 3.0), (1.5, 2.0, 4.0), (4.0, 0.1, 2.0)):
        power = PowerOfNorm(exponent, scale)
        assert_allclose(power.conjugate(s), np.max(s * z - scale * z**exponent), rtol=1e-7)
        assert_allclose(power.value(power.inverse(7.0)), 7.0, rtol=1e-14)
        assert IncreasingFunction.inverse(power, 7.0) == pytest.approx(power.inverse(7.0))


def test_square_of_norms_is_squared_groups(rng):
    ours = FunctionOfNorm(GroupL2(groups=3, weights=np.ones(4))).for_n_features(12)
    known = SquaredGroupL2(groups=3).for_n_features(12)
    for _ in range(20):
        w, v = rng.normal(size=12), rng.normal(size=12)
        assert_allclose(ours.prox(w, 0.3), known.prox(w, 0.3), atol=1e-13)
        assert_allclose(ours.value(w), known.value(w))
        assert_allclose(ours.conjugate(v, 0.7), known.conjugate(v, 0.7))
        assert_allclose(ours.bounded_conjugate(v, 0.7, 0.4), known.bounded_conjugate(v, 0.7, 0.4))


@pytest.mark.parametrize("alpha", [1.0, 0.1, 1e-3])
def test_hinge_whose_norm_jumps(alpha):
    """Two points: the norm with a slope s has every size at one s, and a square chooses one.

    With margins m = w for both, mean loss max(1 - w, 0) plus alpha w^2: w = min(1 / (2 alpha), 1).
    """
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    penalty = FunctionOfNorm(L1())
    model = PdproxSVC(alpha, penalty=penalty, fit_intercept=False, tol=1e-9).fit(X, y)
    w = min(0.5 / alpha, 1.0)
    assert model.converged_ and model.solver_ == "slopes-of-norm"
    assert_allclose(model.coef_[0, 0], w, rtol=1e-4)
    assert_allclose(model.certificate_.primal, 1.0 - w + alpha * w * w, atol=2e-9)


def test_against_clarabel(rng):
    X = rng.normal(size=(40, 6))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0.0, 1.0, -1.0)
    for exponent in (1.5, 3.0):
        penalty = FunctionOfNorm(GroupL2(groups=2), PowerOfNorm(exponent))
        model = PdproxSVC(0.05, penalty=penalty, tol=1e-8).fit(X, y)
        weights = np.full(40, 1 / 40)
        value = conic_solution(X, y, weights, Hinge(), penalty, 0.05, True)[0]
        assert model.certificate_.dual <= value + 1e-9
        assert_allclose(model.certificate_.primal, value, atol=2e-8)


def test_grid_search_reaches_its_parameters():
    model = PdproxRegressor(penalty=FunctionOfNorm(L1(), PowerOfNorm(1.5)))
    changed = model.set_params(penalty__function=PowerOfNorm(3.0))
    assert changed.penalty.function.exponent == 3.0


def test_errors():
    with pytest.raises(ValueError, match="norm must be a norm"):
        FunctionOfNorm(SquaredL2())
    with pytest.raises(ValueError, match="function must be an IncreasingFunction"):
        FunctionOfNorm(L1(), 2.0)
    with pytest.raises(ValueError, match="must penalise every coefficient"):
        FunctionOfNorm(WeightedL1([0.0, 1.0])).for_n_features(2)
    with pytest.raises(ValueError, match="exponent of PowerOfNorm must be a number in"):
        PowerOfNorm(exponent=1.0)


def test_inverses_by_bisection():
    """The largest z with V(z) <= value, the next number above it where V is exact."""
    for function, value, expected in (
        (WithKink(), 0.5, 0.5), (WithKink(), 1.0, 1.0), (WithKink(), 4.0, 2.0),
        (WithKink(), 1e300, 1e300 / 3.0), (WithKink(), 1e-300, 1e-300), (WithKink(), 0.0, 0.0),
    ):  # fmt: skip
        found = function.inverse(value)
        assert found >= expected and found == pytest.approx(expected, rel=1e-15, abs=1e-60)
    assert WithKink().inverse(1.0) == np.nextafter(1.0, 2.0)
    for value in (np.inf, np.nan):
        assert WithKink().inverse(value) == np.inf


def test_powers():
    power = PowerOfNorm(3.0, 2.0)
    assert (power.value(2.0), power.slope(2.0), power.inverse(16.0)) == (16.0, 24.0, 2.0)
    assert power.conjugate(24.0) == pytest.approx(32.0) and not power.is_square
    assert PowerOfNorm(2.0, 0.1).is_square and not PowerOfNorm(4.0).is_square
    assert power.conjugate(0.0) == power.value(0.0) == power.slope(0.0) == 0.0
    assert power.value(1e200) == power.conjugate(np.inf) == np.inf
    assert not IncreasingFunction.is_square


def test_values_and_suprema_with_functions_that_are_linear_somewhere():
    """With slopes 1 and 3 of the norm, at R°(v) = 2."""
    penalty, v = FunctionOfNorm(L1(), WithKink()), np.array([2.0, -1.0])
    assert penalty.value(np.array([0.5, -1.5])) == 2.0 + 2.0 * 1.0
    assert penalty.largest_alpha(v) == 2.0 and penalty.largest_alpha(0.0 * v) == 0.0
    # alpha V*(2 / alpha): V* is 0 up to 1, s - 1 up to 3, and inf beyond
    for alpha, expected in ((2.0, 0.0), (1.0, 1.0), (2.0 / 3.0, 4.0 / 3.0), (0.5, np.inf)):
        assert penalty.conjugate(v, alpha) == pytest.approx(expected)
    # over z with V(z) <= radius: 2 z - alpha V(z)
    for alpha, radius, expected in (
        (0.5, 0.5, 1.0 - 0.25), (0.5, 4.0, 4.0 - 2.0), (1.0, 4.0, 1.0), (1.0, 0.5, 0.5),
        (2.0, 4.0, 0.0), (3.0, 0.5, 0.0),
    ):  # fmt: skip
        found = penalty.bounded_conjugate(v, alpha, radius)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert penalty.bounded_conjugate(v, 1.0, np.inf) == 1.0
    assert penalty.support(v, 4.0) == pytest.approx(4.0)
    assert penalty.conjugate(0.0 * v, 0.0) == 0.0 and penalty.conjugate(v, 0.0) == np.inf
    square = FunctionOfNorm(L1())
    assert square.largest_alpha(v) == np.inf and square.largest_alpha(0.0 * v) == 0.0
    assert square.is_quadratic and not penalty.is_quadratic


def test_prox_where_the_slope_jumps():
    """The prox of V(|w|): 0 below the slope 1, at the kink between 2 and 4, then w - 3."""
    penalty = FunctionOfNorm(L1(), WithKink())
    for w, expected in ((0.5, 0.0), (1.5, 0.5), (2.0, 1.0), (3.9, 1.0), (5.0, 2.0), (-5.0, -2.0)):
        found = penalty.prox(np.array([w]), np.array([1.0]))
        assert_allclose(found, [expected], atol=1e-12)
    found = penalty.prox(np.array([5.0, 0.0]), np.array([2.0, 0.5]))  # with the least step
    assert_allclose(found, [3.5, 0.0])


def test_values_outside_of_the_domain_of_the_norm():
    """They are inf whatever V(inf) is: inf - inf for this one."""
    with np.errstate(over="ignore"):
        penalty = FunctionOfNorm(NonNegativeL1(), Exponential())
    assert penalty.value(np.array([1.0, -1e-9])) == np.inf


def test_attributes_are_those_of_the_norm():
    assert FunctionOfNorm(LInf()).symmetric and not FunctionOfNorm(GroupL2(2)).symmetric
    for wrong in (TotalVariation(), SquaredL2(), "l1", None):
        with pytest.raises(ValueError, match="norm must be a norm"):
            FunctionOfNorm(wrong)

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
    IncreasingFunction,
    PowerOfNorm,
    SquaredGroupL2,
    SquaredL2,
    WeightedL1,
    check_function,
    check_penalty,
)
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


WRONG_FUNCTIONS = {
    "value at 0": (Exponential, {"value": lambda self, z: float(np.exp(z))}),
    r"slope, V'\(z\) >= 0": (Exponential, {"slope": lambda self, z: -1.0}),
    r"slope, V\(x\)": (WithKink, {"slope": lambda self, z: 1.0 if z < 2.0 else 3.0}),
    r"conjugate, V\(x\)": (Square, {"conjugate": lambda self, s: s * s / 4.001}),
    r"conjugate, V\*\(s\)": (Square, {"conjugate": lambda self, s: s * s / 3.999}),
    r"inverse of V\(z\), at": (Square, {"inverse": lambda self, v: 0.999 * v**0.5}),
    r"inverse of V\(z\), below": (Square, {"inverse": lambda self, v: 1.001 * v**0.5}),
    "is_square": (Exponential, {"is_square": True}),
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
    ours = FunctionOfNorm(GroupL2(groups=3, weights=np.ones(4))).bind(12)
    known = SquaredGroupL2(groups=3).bind(12)
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
        FunctionOfNorm(WeightedL1([0.0, 1.0])).bind(2)
    with pytest.raises(ValueError, match="exponent of PowerOfNorm must be a number in"):
        PowerOfNorm(exponent=1.0)

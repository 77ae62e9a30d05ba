"""Deviances with a log link and losses with offsets, against 50 digits and independent optima."""

from math import inf

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import mean_gamma_deviance, mean_poisson_deviance, mean_tweedie_deviance

from skpd import losses as L
from skpd.losses.shifted import Shifted, with_offset
from tests.oracles.exact_objectives import deviance, deviance_conjugate

POWERS = (1.0, 1.001, 1.3, 1.5, 1.9, 1.999, 2.0)
N = 60


def of_power(power):
    return {1.0: L.Poisson(), 2.0: L.Gamma()}.get(power) or L.Tweedie(power)


def extreme(power, rng):
    """Targets of many sizes, and predictions from 1e-9 to 30 away from their logarithms."""
    y = np.exp(rng.normal(size=N) * rng.choice([0.5, 5.0, 30.0], N))
    log_y = np.log(y)
    if power < 2.0:
        y[::5], log_y[::5] = 0.0, 0.0
    return y, log_y + rng.normal(size=N) * 10.0 ** rng.uniform(-9.0, 1.0, N)


@pytest.mark.parametrize("power", POWERS)
def test_values_and_derivatives_in_50_digits(power, rng):
    loss = of_power(power)
    y, z = extreme(power, rng)
    most = loss.largest(y, z, 0.0, 0.0)
    slopes = loss.gradient(y, z)
    # rounding of log(y) changes z by this, relative to which all results are accurate
    change = mpf(2e-15) * (1 + np.abs([mpmath.log(t) if t else mpf(0) for t in map(mpf, y)]))
    a, b = 2 - mpf(power), mpf(power) - 1
    for t, p, value, slope, room in zip(
        map(mpf, y), map(mpf, z), most, slopes, change, strict=True
    ):
        ends = [deviance(power, t, p + side * room) for side in (-1, 1)]
        exact = deviance(power, t, p)
        assert exact <= mpf(float(value)) * (1 + mpf(1e-14))
        assert value <= max(ends) * (1 + mpf(4e-14)) + abs(exact) * mpf(4e-14)
        derivatives = [
            mpmath.exp(a * (p + side * room)) - t * mpmath.exp(-b * (p + side * room))
            for side in (-1, 1)
        ]
        size = mpf(4e-15) * max(abs(x) for x in derivatives)
        assert derivatives[0] - size <= mpf(float(slope)) <= derivatives[1] + size


@pytest.mark.parametrize("power", POWERS)
def test_conjugates_are_upper_bounds_in_50_digits(power, rng):
    """A conjugate that is too small makes a false bound, and a dual value includes it."""
    loss = of_power(power)
    y, z = extreme(power, rng)
    theta = loss.gradient(y, z) * rng.choice([1.0, 0.5, 0.999999], N)
    theta = loss.project_dual(y, theta)
    for k in range(N):
        exact = deviance_conjugate(power, mpf(y[k]), mpf(theta[k])) if theta[k] else mpf(0)
        one = slice(k, k + 1)
        value, rounding = loss.dual_value(y[one], np.ones(1), theta[one])
        assert mpf(value) - mpf(rounding) <= -exact
        log_y = abs(np.log(y[k])) if y[k] else 0.0
        size = abs(exact) + abs(theta[k]) * (1.0 + log_y) / min(
            2.0 - power or 1.0, power - 1.0 or 1.0
        )
        assert -exact - mpf(value) <= mpf(4e-14) * size
        assert_allclose(loss.conjugate(y[one], theta[one])[0], -value, rtol=1e-12)


@pytest.mark.parametrize("power", POWERS)
def test_domains_of_conjugates(power):
    loss, y = of_power(power), np.array([2.0] if power == 2.0 else [0.0, 2.0])
    lower, upper = loss.dual_bounds(y)
    assert_array_equal(lower, {1.0: [-0.0, -2.0], 2.0: [-inf]}.get(power, [0.0, -inf]))
    assert_array_equal(upper, 1.0 if power == 2.0 else inf)
    assert not loss.dual_is_free
    for end, side in ((lower, -1.0), (upper, 1.0)):
        bounded = np.isfinite(end)
        outside = np.where(bounded, end + side * 1e-9, 0.0)
        assert np.all(np.isinf(loss.conjugate(y, outside)[bounded]))
        assert np.all(np.isfinite(loss.conjugate(y, np.where(bounded, end, 0.0))))


def test_deviances_are_those_of_scikit_learn(rng):
    y, z = rng.gamma(2.0, size=100), rng.normal(size=100)
    half = 0.5 * mean_gamma_deviance(y, np.exp(z))
    assert_allclose(L.Gamma().value(y, z).mean(), half)
    y[::3] = 0.0
    half = 0.5 * mean_poisson_deviance(y, np.exp(z))
    assert_allclose(L.Poisson().value(y, z).mean(), half)
    half = 0.5 * mean_tweedie_deviance(y, np.exp(z), power=1.7)
    assert_allclose(L.Tweedie(1.7).value(y, z).mean(), half)


def test_negative_binomial_is_a_log_likelihood_less_its_largest(rng):
    from scipy.stats import nbinom

    y, z, dispersion = rng.poisson(3.0, 50).astype(float), rng.normal(size=50), 0.4
    k = 1.0 / dispersion
    likelihood = nbinom.logpmf(y, k, k / (k + np.exp(z)))
    saturated = nbinom.logpmf(y, k, k / (k + y))
    loss = L.NegativeBinomial(dispersion)
    assert_allclose(loss.value(y, z), saturated - likelihood, atol=1e-12)
    assert_allclose(L.NegativeBinomial(1e-7).value(y, z), L.Poisson().value(y, z), rtol=1e-4)


@pytest.mark.parametrize(
    "loss", [L.Poisson(), L.Gamma(), L.Tweedie(1.4), L.NegativeBinomial(2.0)], ids=str
)
def test_intervals_hold_intercepts_of_rows_with_some_weights(loss, rng):
    """Whichever rows have weights, as the free level of a penalty asks for sets of rows."""
    for _ in range(50):
        y = rng.gamma(2.0, size=6) * 10.0 ** rng.integers(-2, 3)
        if loss.zeros:
            y[:2] = 0.0
        weights = rng.random(6) * (rng.random(6) < 0.7)
        x, b = rng.normal(size=6), float(rng.normal())
        groups = loss.row_groups(y, weights)
        bounds = [abs(s.weights @ x) / (s.total or 1.0) for s in groups]
        lower, upper = loss.constant_interval(
            groups, float(weights @ loss.value(y, x + b)), bounds
        )
        assert lower <= b <= upper


def test_best_constant_is_the_logarithm_of_the_mean(rng):
    y, weights = rng.poisson(2.0, 30).astype(float), rng.random(30)
    for loss in (L.Poisson(), L.Tweedie(1.5), L.NegativeBinomial(1.0)):
        assert loss.best_constant(y, weights) == np.log(np.average(y, weights=weights))
    with pytest.raises(ValueError, match="y must have targets greater than 0"):
        L.Poisson().best_constant(np.zeros(3), np.ones(3))


def test_refused_parameters_and_targets():
    with pytest.raises(ValueError, match=r"power of Tweedie must be a number in \[1.0, 2.0\]"):
        L.Tweedie(power=3.0)
    with pytest.raises(
        ValueError, match=r"y must be greater than 0 for the loss Gamma\(\), got 0"
    ):
        L.Gamma().require_targets(0.0)
    with pytest.raises(ValueError, match=r"y must be 0 or greater .* got -1"):
        L.Poisson().require_targets(-1.0)


# Losses with offsets

SHIFTED = [
    L.Hinge(), L.GeneralizedHinge(3.0), L.SmoothedHinge(0.5), L.SquaredHinge(), L.ModifiedHuber(),
    L.Logistic(), L.Poisson(), L.Gamma(), L.Tweedie(1.5), L.NegativeBinomial(0.5),
]  # fmt: skip


@pytest.mark.parametrize("inner", SHIFTED, ids=str)
def test_losses_with_offsets_are_those_of_the_sum(inner, rng):
    y = rng.choice([-1.0, 1.0], 40) if inner.of_labels else rng.gamma(2.0, size=40)
    z, o, weights = rng.normal(size=40), rng.normal(size=40), rng.random(40)
    table, loss = with_offset(inner, y, o)
    assert loss == Shifted(inner)
    assert_allclose(loss.value(table, z), inner.value(y, z + o))
    assert_allclose(loss.gradient(table, z), inner.gradient(y, z + o))
    theta = loss.project_dual(table, rng.normal(size=40))
    assert_allclose(loss.conjugate(table, theta), inner.conjugate(y, theta) - theta * o)
    (value, rounding), (half, _) = loss.dual_values(table, weights, theta, (1.0, 0.5))
    assert_allclose(value, -weights @ loss.conjugate(table, theta), atol=10 * rounding + 1e-13)
    assert_allclose(half, -weights @ loss.conjugate(table, 0.5 * theta), atol=1e-12)
    # Moreau: theta is a subgradient at z = (v - theta) / step
    v, step = rng.normal(size=40), 0.7
    theta = loss.prox_conjugate(table, v, step)
    at = (v - theta) / step
    touches = loss.value(table, at) + loss.conjugate(table, theta)
    assert_allclose(touches, theta * at, atol=1e-12)
    found, gradient, curvature = (np.empty(40) for _ in range(3))
    kinks = inner.linear_tails
    primal, dual = loss.evaluator.smoothed_derivatives(
        table, weights, 0.0 * z, z, 2.0 if kinks else inf, found, gradient, curvature
    )
    assert_allclose(primal, weights @ loss.value(table, z))
    assert_allclose(dual, -weights @ loss.conjugate(table, found), atol=1e-12)


@pytest.mark.parametrize("inner", SHIFTED, ids=str)
def test_best_constants_and_intervals_beside_offsets(inner, rng):
    for _ in range(10):
        y = rng.choice([-1.0, 1.0], 12) if inner.of_labels else rng.gamma(2.0, size=12)
        y[:2] = [1.0, -1.0] if inner.of_labels else y[:2]
        weights, o = rng.random(12), 3.0 * rng.normal(size=12)
        table, loss = with_offset(inner, y, o)
        best = loss.best_constant(table, weights)
        means = [weights @ loss.value(table, np.full(12, best + d)) for d in (0.0, -0.01, 0.01)]
        assert means[0] <= min(means) + 1e-12
        x, b = rng.normal(size=12), float(rng.normal())
        groups = loss.row_groups(table, weights)
        bounds = [abs(s.weights @ x) / (s.total or 1.0) for s in groups]
        value = float(weights @ loss.value(table, x + b))
        lower, upper = loss.constant_interval(groups, value, bounds)
        assert lower <= b <= upper


def test_residual_losses_take_offsets_off_their_targets(rng):
    y, o = rng.normal(size=5), rng.normal(size=5)
    differences, loss = with_offset(L.Huber(), y, o)
    assert_array_equal(differences, y - o)
    assert loss == L.Huber()
    with pytest.raises(ValueError, match="one prediction for each row"):
        with_offset(L.Softmax(3), y, o)

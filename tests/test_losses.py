"""Losses against their definitions, and Fenchel-Young and Moreau identities."""

from decimal import Decimal, localcontext
from math import fsum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from sklearn.metrics import hinge_loss, log_loss, mean_absolute_error, mean_pinball_loss

from skpd import losses as L

MARGIN = [
    L.Hinge(),
    L.GeneralizedHinge(slope=2.5),
    L.SmoothedHinge(mu=0.5),
    L.SmoothedHinge(mu=3.0),
    L.SquaredHinge(),
    L.ModifiedHuber(),
    L.Logistic(),
]
RESIDUAL = [
    L.Squared(),
    L.Absolute(),
    L.EpsilonInsensitive(epsilon=0.3),
    L.Pinball(quantile=0.2),
    L.Huber(delta=0.7),
    L.SquaredEpsilonInsensitive(epsilon=0.3),
    L.PiecewiseLinear(knots=(-1.0, 1.0, 3.0), slopes=(-1.0, 0.0, 1.0, 2.5)),
    L.PiecewiseLinear(knots=(-2.0, 0.0, 0.5), slopes=(-3.0, -0.5, 1.0, 2.0)),
]
ALL = MARGIN + RESIDUAL
each_loss = pytest.mark.parametrize("loss", ALL, ids=str)

numbers = st.floats(-1e3, 1e3)


def target(loss, value):
    return np.array([(1.0 if value >= 0 else -1.0) if isinstance(loss, L.MarginLoss) else value])


def dual_points(loss, y, u):
    """A point of the dual domain for every number u."""
    lower, upper = loss.dual_bounds(y)
    return np.clip(np.array([u]), lower, upper)


@each_loss
@given(y=numbers, z=numbers, u=numbers)
def test_fenchel_young_inequality(loss, y, z, u):
    y, z = target(loss, y), np.array([z])
    theta = dual_points(loss, y, u)
    total = loss.value(y, z) + loss.conjugate(y, theta)
    assert total >= theta * z - 1e-12 * (1 + np.abs(theta * z) + np.abs(y * theta))


@each_loss
@given(y=numbers, z=st.floats(-30, 30))
def test_fenchel_young_is_an_equality_at_the_gradient(loss, y, z):
    y, z = target(loss, y), np.array([z])
    theta = loss.gradient(y, z)
    total = loss.value(y, z) + loss.conjugate(y, theta)
    assert_allclose(total, theta * z, rtol=1e-11, atol=1e-9 * (1 + np.abs(y * z).item()))


@each_loss
@given(y=numbers, v=st.floats(-50, 50), step=st.floats(1e-3, 1e3))
def test_moreau_identity(loss, y, v, step):
    """v = prox of the conjugate + step * prox of the loss, the latter found by optimality."""
    y, v = target(loss, y), np.array([v])
    theta = loss.prox_conjugate(y, v, step)
    z = (v - theta) / step
    # z minimises l(y, z) + step / 2 (z - v / step)^2 exactly when theta is a subgradient at z
    lower, upper = loss.dual_bounds(y)
    assert (lower <= theta).all() and (theta <= upper).all()
    total = loss.value(y, z) + loss.conjugate(y, theta)
    scale = 1 + np.abs(theta * z) + np.abs(y * theta)
    assert_allclose(total, theta * z, atol=1e-10 * scale.item())


@each_loss
def test_prox_of_the_conjugate_minimises(loss, rng):
    for _ in range(20):
        y = target(loss, rng.normal())
        v, step = rng.normal(size=1) * 3, 10.0 ** rng.uniform(-2, 2)

        def objective(x, y=y, v=v, step=step):
            value = loss.conjugate(y, np.array([x])) + (x - v) ** 2 / (2 * step)
            return value.item()

        (lower,), (upper,) = loss.dual_bounds(y)
        bounds = (max(lower, -100.0), min(upper, 100.0))
        found = minimize_scalar(objective, bounds=bounds, method="bounded")
        theta = loss.prox_conjugate(y, v, step).item()
        assert objective(theta) <= found.fun + 1e-9


@each_loss
@given(y=numbers, z=st.floats(-20, 20))
def test_gradient_is_a_difference_quotient(loss, y, z):
    y, z, h = target(loss, y / 100), np.array([z]), 1e-6
    ahead = (loss.value(y, z + h) - loss.value(y, z)) / h
    behind = (loss.value(y, z) - loss.value(y, z - h)) / h
    gradient = loss.gradient(y, z)
    assert behind - 1e-5 * (1 + np.abs(behind)) <= gradient
    assert gradient <= ahead + 1e-5 * (1 + np.abs(ahead))
    assert np.abs(gradient) <= loss.lipschitz
    if np.isfinite(loss.smoothness):
        rise = loss.gradient(y, z + 0.1) - gradient
        assert 0 <= rise <= 0.1 * loss.smoothness * (1 + 1e-9)


def test_values_of_scikit_learn(rng):
    y, z = np.sign(rng.normal(size=50)), rng.normal(size=50)
    assert_allclose(L.Hinge().value(y, z).mean(), hinge_loss(y, z))
    probability = 1 / (1 + np.exp(-z))
    assert_allclose(L.Logistic().value(y, z).mean(), log_loss(y, probability))
    t = rng.normal(size=50)
    assert_allclose(L.Absolute().value(t, z).mean(), mean_absolute_error(t, z))
    pinball = L.Pinball(quantile=0.3).value(t, z).mean()
    assert_allclose(pinball, mean_pinball_loss(t, z, alpha=0.3))


def test_values_by_hand():
    one, m = np.ones(4), np.array([-2.0, 0.0, 0.5, 3.0])
    assert_allclose(L.Hinge().value(one, m), [3, 1, 0.5, 0])
    assert_allclose(L.GeneralizedHinge(slope=3).value(one, m), [7, 1, 0.5, 0])
    assert_allclose(L.SmoothedHinge(mu=1).value(one, m), [2.5, 0.5, 0.125, 0])
    assert_allclose(L.SquaredHinge().value(one, m), [9, 1, 0.25, 0])
    assert_allclose(L.ModifiedHuber().value(one, m), [8, 1, 0.25, 0])
    r = np.array([-2.0, 0.0, 0.5, 3.0])
    assert_allclose(L.Squared().value(0 * r, r), [2, 0, 0.125, 4.5])
    assert_allclose(L.EpsilonInsensitive(epsilon=1).value(0 * r, r), [1, 0, 0, 2])
    assert_allclose(L.Huber(delta=1).value(0 * r, r), [1.5, 0, 0.125, 2.5])
    assert_allclose(L.SquaredEpsilonInsensitive(epsilon=1).value(0 * r, r), [1, 0, 0, 4])


@each_loss
def test_best_constant_beats_a_grid(loss, rng):
    for _ in range(20):
        n = rng.integers(2, 12)
        weights = rng.random(n) * rng.integers(0, 2, n)
        weights[:2] += 0.1
        y = rng.normal(size=n) * 10.0 ** rng.integers(-2, 3)
        if isinstance(loss, L.MarginLoss):
            y = np.where(np.arange(n) % 2, 1.0, -1.0)
        b = loss.best_constant(y, weights)
        grid = np.concatenate([np.linspace(-4, 4, 801) * max(1.0, np.abs(y).max()), y])
        values = [(weights * loss.value(y, np.full(n, z))).sum() for z in grid]
        best = (weights * loss.value(y, np.full(n, b))).sum()
        assert best <= min(values) + 1e-12 * (1 + min(values))


@each_loss
@settings(max_examples=50)
@given(seed=st.integers(0, 10**6))
def test_constant_interval_holds_every_good_intercept(loss, seed):
    rng = np.random.default_rng(seed)
    n = 8
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    if not isinstance(loss, L.MarginLoss):
        y = rng.normal(size=n)
    weights = rng.random(n)
    weights /= weights.sum()
    spread = rng.normal(size=n)  # the predictions x_i.w
    b = rng.normal() * 3
    value = (weights * loss.value(y, spread + b)).sum()
    strata = loss.strata(y, weights)
    reaches = [abs(s.weights @ spread) / s.total for s in strata]
    lower, upper = loss.constant_interval(strata, value, reaches)
    assert lower - 1e-9 <= b <= upper + 1e-9


@pytest.mark.parametrize(
    "make, name",
    [
        (lambda: L.GeneralizedHinge(slope=1.0), "slope"),
        (lambda: L.SmoothedHinge(mu=0.0), "mu"),
        (lambda: L.EpsilonInsensitive(epsilon=-1.0), "epsilon"),
        (lambda: L.SquaredEpsilonInsensitive(epsilon=-1.0), "epsilon"),
        (lambda: L.Pinball(quantile=1.0), "quantile"),
        (lambda: L.Huber(delta=float("nan")), "delta"),
    ],
)
def test_invalid_parameters_are_named(make, name):
    with pytest.raises(ValueError, match=name):
        make()


def test_prox_of_the_logistic_conjugate_where_newton_steps_cycle(rng):
    """The root t of step t + phi'(t) = v, also between the two flat tails of phi'."""
    step = np.append(10.0 ** rng.uniform(-3, 2, 100_000), 0.08123343)
    v = np.append(-rng.random(100_000) + step[:-1] * 3 * rng.normal(size=100_000), -0.62202684)
    u = L.Logistic().prox_conjugate(np.ones_like(v), v, step)
    inside = (u > -1 + 1e-9) & (u < -1e-9)
    t = np.log1p(u[inside]) - np.log(-u[inside])
    assert_allclose(step[inside] * t + u[inside], v[inside], atol=1e-6)


def test_logistic_conjugate_to_the_last_places():
    """The entropy, where its terms are tiny or cancel, against 450 digits."""
    a = np.concatenate([[0.5, 0.3, 1e-3, 1e-9, 1e-200], 1.0 - np.array([1e-3, 1e-9, 2.0**-53])])
    with localcontext(prec=450):
        exact = [x * x.ln() + (1 - x) * (1 - x).ln() for x in map(Decimal, a)]
    found = L.Logistic().conjugate(np.ones_like(a), -a)
    assert_allclose(found, np.array(exact, dtype=float), rtol=4e-16)
    ends = L.Logistic().conjugate(np.ones(4), np.array([0.0, -1.0, 0.1, -1.1]))
    assert_allclose(ends, [0.0, 0.0, np.inf, np.inf])


@each_loss
def test_largest_value_on_an_interval(loss, rng):
    y, z, error = rng.choice([-1.0, 1.0], 200), 2.0 * rng.normal(size=200), rng.random(200)
    grid = [loss.value(y, z + 0.25 + t * error) for t in np.linspace(-1.0, 1.0, 41)]
    assert_allclose(loss.largest(y, z, 0.25, error), np.max(grid, axis=0), rtol=1e-14, atol=1e-14)
    weights = rng.random(200)
    mean, expected = loss.largest_mean(y, weights, z, 0.25, error), np.max(grid, axis=0)
    assert_allclose(mean, fsum(weights * expected), rtol=1e-14)


@each_loss
@pytest.mark.parametrize("scale", [1.0, 1e160])
def test_the_mean_of_many_losses_is_rounded_little(loss, scale):
    """Equal terms, added one by one, would all err one way; squares may be infinite."""
    y, weights, z = np.ones(100_001), np.full(100_001, 0.3), np.full(100_001, -0.7 * scale)
    found, exact = loss.largest_mean(y, weights, z, 0.0, 0.0), loss.largest(y, z, 0.0, 0.0)[0]
    expected = fsum(weights) * float(exact)
    assert found == expected or abs(found - expected) <= 64.0 * np.finfo(float).eps * expected


@each_loss
def test_dual_values_are_sums_of_conjugates(loss, rng):
    y, weights = rng.choice([-1.0, 1.0], 50), rng.random(50)
    lower, upper = loss.dual_bounds(y)
    theta = np.clip(rng.normal(size=50), lower, upper)
    values = loss.dual_values(y, weights, theta, (0.0, 0.3, 1.0))
    for scale, (value, rounding) in zip((0.0, 0.3, 1.0), values, strict=True):
        expected = -fsum(weights * loss.conjugate(y, scale * theta))
        assert_allclose(value, expected, rtol=1e-13, atol=1e-15)
        assert abs(value - expected) <= rounding <= 1e-12


def test_the_best_constant_between_rows_far_apart():
    """Any constant as far as delta from both is as good, and none of the rows is."""
    assert L.Huber().best_constant(np.array([0.0, 10.0]), np.array([0.5, 0.5])) == 5.0

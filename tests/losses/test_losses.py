"""Losses against their definitions, and Fenchel-Young and Moreau identities."""

from decimal import Decimal, localcontext
from math import fsum

import numpy as np
import pytest
from numpy.testing import assert_allclose
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
COUPLED = [L.L2Norm(3), L.L2Norm(1), L.Softmax(3), L.CrammerSinger(4)]
each_loss = pytest.mark.parametrize("loss", ALL, ids=str)


@pytest.mark.parametrize("loss", ALL + COUPLED, ids=str)
def test_losses_are_what_they_say(loss):
    """Convexity, subgradients, Fenchel-Young, prox, constants: see `check_loss`."""
    L.check_loss(loss)


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


def test_the_best_constant_between_rows_far_apart():
    """Any constant as far as delta from both is as good, and none of the rows is."""
    assert L.Huber().best_constant(np.array([0.0, 10.0]), np.array([0.5, 0.5])) == 5.0


def test_targets_that_are_allowed():
    for loss in (L.Poisson(), L.Gamma(), L.Tweedie(1.5), L.Squared(), L.Hinge()):
        for least in (0.5, 1.0, 2.0):
            assert loss.require_targets(least) is None
    assert L.Poisson().require_targets(0.0) is None

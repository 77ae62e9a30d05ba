"""Losses of several predictions at once: the l2 norm, the softmax, Crammer and Singer's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from skpd.losses import CrammerSinger, L2Norm, LabelLoss, Softmax

K, N = 4, 12
LOSSES = [L2Norm(K), Softmax(K), CrammerSinger(K)]
each = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def targets(loss, rng, n=N):
    if isinstance(loss, LabelLoss):
        return np.ravel(np.eye(K)[rng.integers(K, size=n)])
    return rng.normal(size=n * K)


def by_row(values):
    return values.reshape(-1, K).sum(axis=1)


def dual_points(loss, y, rng):
    """Points of the domain of the conjugate."""
    n = len(y) // K
    if isinstance(loss, LabelLoss):
        return np.ravel(rng.dirichlet(np.full(K, 0.5), n)) - y
    found = rng.normal(size=(n, K))
    return np.ravel(found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1.0))


@each
def test_values_by_definition(loss, rng):
    y, z = targets(loss, rng), 3.0 * rng.normal(size=N * K)
    table, own = z.reshape(-1, K), y.reshape(-1, K)
    expected = {
        L2Norm: lambda: np.linalg.norm(table - own, axis=1),
        Softmax: lambda: np.log(np.exp(table).sum(axis=1)) - (own * table).sum(axis=1),
        CrammerSinger: lambda: (table + 1 - own).max(axis=1) - (own * table).sum(axis=1),
    }[type(loss)]()
    assert_allclose(by_row(loss.value(y, z)), expected, rtol=1e-12, atol=1e-14)


def test_the_softmax_does_not_overflow():
    y, z = np.eye(K)[0], np.array([-1000.0, 1000.0, 0.0, 0.0])
    assert_allclose(by_row(Softmax(K).value(y, z)), 2000.0)
    assert_allclose(by_row(Softmax(K).value(np.eye(K)[1], z)), 0.0, atol=1e-300)


@each
def test_fenchel_young(loss, rng):
    """l(z) + l*(theta) >= theta.z, with equality at the gradient."""
    y = targets(loss, rng)
    for scale in (0.1, 1.0, 10.0):
        z = scale * rng.normal(size=N * K)
        theta = dual_points(loss, y, rng)
        surplus = by_row(loss.value(y, z) + loss.conjugate(y, theta) - theta * z)
        assert np.all(surplus >= -1e-12 * (1 + scale))
        theta = loss.gradient(y, z)
        surplus = by_row(loss.value(y, z) + loss.conjugate(y, theta) - theta * z)
        assert_allclose(surplus, 0.0, atol=1e-10 * (1 + scale))


@each
def test_the_gradient_by_finite_differences(loss, rng):
    y, z = targets(loss, rng), rng.normal(size=N * K)
    gradient = loss.gradient(y, z)
    for k in range(K):
        step = np.tile(1e-6 * np.eye(K)[k], N)
        slope = by_row(loss.value(y, z + step) - loss.value(y, z - step)) / 2e-6
        assert_allclose(gradient[k::K], slope, atol=1e-7)


@each
@pytest.mark.parametrize("step", [0.05, 1.0, 20.0])
def test_prox_of_the_conjugate(loss, step, rng):
    """theta = prox(v) of step l* has (v - theta) / step in the subdifferential of l*.

    So the loss, its conjugate and their product meet there (Fenchel and Young), and no other dual
    point is better.
    """
    y, v = targets(loss, rng), 2.0 * rng.normal(size=N * K)
    theta = loss.prox_conjugate(y, v, step)
    z = (v - theta) / step
    surplus = by_row(loss.value(y, z) + loss.conjugate(y, theta) - theta * z)
    assert_allclose(surplus, 0.0, atol=1e-9)

    def objective(x):
        return by_row(loss.conjugate(y, x) + (x - v) ** 2 / (2.0 * step))

    least = objective(theta)
    for _ in range(50):
        other = dual_points(loss, y, rng)
        for share in (1.0, 0.1, 1e-3):
            assert np.all(least <= objective(theta + share * (other - theta)) + 1e-9)


def test_the_prox_of_the_entropy_by_slsqp(rng):
    loss, step = Softmax(K), 0.7
    y, v = targets(loss, rng, 1), rng.normal(size=K)

    def objective(p):
        return np.sum(p * np.log(np.maximum(p, 1e-300))) + np.sum((p - y - v) ** 2) / (2 * step)

    found = minimize(
        objective, np.full(K, 1 / K), bounds=[(1e-9, 1)] * K, method="SLSQP",
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1}, options={"ftol": 1e-14},
    )  # fmt: skip
    assert_allclose(loss.prox_conjugate(y, v, step) + y, found.x, atol=1e-6)


@each
def test_largest_within_boxes(loss, rng):
    y, z = targets(loss, rng), 2.0 * rng.normal(size=N * K)
    for size in (0.0, 1e-9, 0.1, 2.0):
        low = 1e-3 * size * rng.normal(size=N * K)
        error = size * rng.random(N * K)
        most = by_row(loss.largest(y, z, low, error))
        for _ in range(200):
            corner = z + low + error * rng.choice([-1.0, 1.0, 0.3], N * K)
            assert np.all(by_row(loss.value(y, corner)) <= most * (1 + 1e-13))
        # and not far above it
        slope = 2.0 * by_row(error + np.abs(low))
        assert np.all(most <= by_row(loss.value(y, z)) + slope + 1e-9)


@each
def test_projections(loss, rng):
    """The nearest dual point: its derivative is diag(d) - e e' by finite differences."""
    y, v = targets(loss, rng), 1.5 * rng.normal(size=N * K)
    found, d, e = loss.projection(y, v)
    d, e = d.reshape(-1, K), e.reshape(-1, K)
    assert_allclose(loss.projection(y, found)[0], found, atol=1e-15)
    distance = by_row((found - v) ** 2)
    for _ in range(50):
        assert np.all(distance <= by_row((dual_points(loss, y, rng) - v) ** 2) + 1e-12)
    for k in range(K):
        step = np.tile(1e-7 * np.eye(K)[k], N)
        difference = (loss.projection(y, v + step)[0] - loss.projection(y, v - step)[0]) / 2e-7
        column = d * np.eye(K)[k] - e * e[:, k : k + 1]
        assert_allclose(difference.reshape(-1, K), column, atol=1e-6)


@each
@pytest.mark.parametrize("sigma", [0.1, 3.0])
def test_the_derivatives_of_the_envelope(loss, sigma, rng):
    """The second is diag(d) - e e', times sigma where the loss is not smooth."""
    y, z = targets(loss, rng), rng.normal(size=N * K)
    theta = dual_points(loss, y, rng)
    _, d, e = loss.derivatives(y, theta, z, sigma)
    d, e = d.reshape(-1, K), e.reshape(-1, K)
    factor = 1.0 if isinstance(loss, Softmax) else sigma
    for k in range(K):
        step = np.tile(1e-6 * np.eye(K)[k], N)
        ends = [loss.derivatives(y, theta, z + side * step, sigma)[0] for side in (1, -1)]
        column = factor * (d * np.eye(K)[k] - e * e[:, k : k + 1])
        assert_allclose((ends[0] - ends[1]).reshape(-1, K) / 2e-6, column, atol=1e-5)


@each
def test_points_moved_into_the_domain(loss, rng):
    """Once there nothing moves them, and scaling by ``largest_scale`` keeps them inside."""
    y = targets(loss, rng)
    for size in (0.1, 1.0, 1e3):
        theta = loss.project_dual(y, size * rng.normal(size=N * K))
        assert_allclose(loss.project_dual(y, theta), theta, rtol=1e-14, atol=1e-16)
        scaled = theta * loss.largest_scale(y, theta)
        assert_allclose(loss.project_dual(y, scaled), scaled, rtol=1e-12, atol=1e-14)
        assert np.all(np.isfinite(loss.conjugate(y, theta)))
        weights = np.repeat(rng.random(N), K)
        (value, error), (half, _) = loss.dual_values(y, weights, theta, (1.0, 0.5))
        assert_allclose(value, -weights @ loss.conjugate(y, theta), rtol=1e-9, atol=error + 1e-12)
        assert_allclose(half, -weights @ loss.conjugate(y, 0.5 * theta), rtol=1e-9, atol=1e-9)


@each
def test_the_best_constants(loss, rng):
    """No other constants are better, up to what Weiszfeld's iterations leave."""
    y, weights = targets(loss, rng, 40), np.repeat(rng.uniform(0.1, 1.0, 40), K)
    best = loss.best_constants(y, weights, [slice(k, None, K) for k in range(K)])

    def objective(b):
        return float(weights @ loss.value(y, np.tile(b, 40)))

    for size in (1e-2, 1.0):
        for _ in range(100):
            assert objective(best) <= objective(best + size * rng.normal(size=K)) + 1e-6

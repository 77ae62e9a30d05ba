"""Kernels in Python: prox, derivatives of envelopes, and what solvers ask of coupled losses."""

from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd import losses as L
from skpd.losses import numerical
from skpd.losses.numerical import NumericalEvaluator
from skpd.losses.shifted import with_offset

N, EPSILON = 200, 2.0**-52


class FourthPower(L.ResidualLoss):
    conjugate_domain = (-inf, inf)
    linear_tails = False

    def _phi(self, t):
        return 0.25 * t**4

    def _phi_conjugate(self, u):
        return 0.75 * np.abs(u) ** (4.0 / 3.0)

    def _phi_derivative(self, t):
        return t**3


def derivatives(loss, y, weights, theta, z, sigma):
    outputs = np.empty((3, len(z)))
    sums = loss.evaluator.smoothed_derivatives(y, weights, theta, z, sigma, *outputs)
    return sums, outputs


@pytest.mark.parametrize("sigma", [0.3, 5.0, inf])
def test_derivatives_of_a_loss_in_python(sigma, rng):
    """t^4 / 4, or its envelope, whose derivative u is the root of u + u^(1/3) / sigma."""
    loss, y, z, theta = FourthPower(), *rng.normal(size=(3, N))
    weights = rng.random(N) / N
    (primal, dual), (first, gradient, curvature) = derivatives(loss, y, weights, theta, z, sigma)
    if sigma == inf:
        t = z - y
        second = 3.0 * t**2
    else:
        t = (z + (theta - first) / sigma) - y
        second = 3.0 * t**2 / (3.0 * t**2 + sigma)
    assert_allclose(first, t**3, atol=1e-12)
    assert_allclose(gradient, weights * first, rtol=1e-15)
    assert_allclose(curvature, weights * second, rtol=1e-6, atol=1e-10)
    assert_allclose(primal, weights @ (0.25 * (z - y) ** 4), rtol=1e-13)
    assert_allclose(dual, -weights @ loss.conjugate(y, first), rtol=1e-12)
    direction = rng.normal(size=N)
    slope = loss.evaluator.smoothed_slope(y, weights, theta, z, direction, 0.7, sigma)
    _, (moved, _, _) = derivatives(loss, y, weights, theta, z + 0.7 * direction, sigma)
    assert_allclose(slope, weights @ (direction * moved), rtol=1e-12)
    assert_array_equal(loss.evaluator.rows_that_bend(y, theta, z, sigma, first, curvature, 1.0),
                       np.arange(N))  # fmt: skip


def test_the_width_of_differences(rng):
    """The cube root of a rounding, relative to predictions, targets and their distances."""
    seen = []

    class Seen(FourthPower):
        def gradient(self, y, z):
            seen.append(z)
            return super().gradient(y, z)

    y, z, weights = rng.normal(size=5), rng.normal(size=5), np.full(5, 0.1)
    derivatives(Seen(), y, weights, 0.0 * z, z, inf)
    width = EPSILON ** (1.0 / 3.0) * (np.abs(z) + np.abs(y) + weights @ np.abs(z - y))
    assert_allclose(seen[-2] - z, width, rtol=1e-9)
    assert_allclose(seen[-1] - z, -width, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("loss", [L.Hinge(), L.Pinball(0.3), L.Huber(0.7), L.Logistic()], ids=repr)
def test_a_prox_by_bisection(loss, scale, rng):
    """That of the kernel, also where it is at a kink."""
    y = rng.choice([-1.0, 1.0], N) if loss.of_labels else scale * rng.normal(size=N)
    theta, step = scale * rng.normal(size=N), 10.0 ** rng.uniform(-2.0, 2.0, N)
    theta[:20] = 0.5 * loss.dual_bounds(y)[0][:20] + step[:20] * y[:20]
    found = NumericalEvaluator(loss).prox_conjugate(y, theta, step)
    size = np.abs(theta) + step * np.abs(y) + step
    assert np.all(np.abs(found - loss.prox_conjugate(y, theta, step)) <= 1e-13 * (1.0 + size))


@pytest.mark.parametrize("loss", [L.Hinge(), L.Huber(0.7)], ids=repr)
def test_the_end_of_a_bisection(loss, monkeypatch):
    """Where both ends differ by four roundings of their sizes."""
    monkeypatch.setattr(numerical, "MOST_HALVINGS", 10_000)  # so that an endless one is slow
    calls = []

    class Counted(type(loss)):
        def gradient(self, y, z):
            calls.append(1)
            return super().gradient(y, z)

    counted = Counted(**loss.get_params())
    NumericalEvaluator(counted).prox_conjugate(np.ones(1), np.full(1, 0.3), np.full(1, 0.7))
    assert 40 <= len(calls) <= 70


@pytest.mark.parametrize("loss", [L.Logistic(), L.SmoothedHinge(0.5), L.Poisson()], ids=repr)
def test_kernels_beside_offsets(loss, rng):
    """They are those at z + o, and the dual sum has the offsets times the derivatives."""
    y = rng.choice([-1.0, 1.0], N) if loss.of_labels else rng.gamma(2.0, size=N)
    o, z, theta, direction = rng.normal(size=(4, N))
    table, shifted = with_offset(loss, y, o)
    weights, theta = rng.random(N), loss.project_dual(y, 0.3 * theta)
    (primal, dual), outputs = derivatives(shifted, table, weights, theta, z, 2.0)
    expected, own = derivatives(loss, y, weights, theta, z + o, 2.0)
    assert_allclose(outputs, own)
    assert_allclose([primal, dual], [expected[0], expected[1] + own[1] @ o], rtol=1e-12)
    given = weights, theta, z, direction, 0.3, 2.0
    slope = loss.evaluator.smoothed_slope(y, *given[:2], z + o, *given[3:])
    assert_allclose(shifted.evaluator.smoothed_slope(table, *given), slope)
    step = np.full(N, 0.7)
    assert_allclose(shifted.evaluator.prox_conjugate(table, theta, step),
                    loss.evaluator.prox_conjugate(y, theta + 0.7 * o, step))  # fmt: skip
    if loss.of_labels:
        bend = theta, z + o, 2.0, outputs[0], outputs[2], 0.5
        rows = loss.evaluator.rows_that_bend(y, *bend)
        found = shifted.evaluator.rows_that_bend(table, theta, z, *bend[2:])
        assert_array_equal(found, rows)


@pytest.mark.parametrize("loss", [L.L2Norm(3), L.CrammerSinger(3), L.Softmax(3)], ids=repr)
@pytest.mark.parametrize("sigma", [0.5, inf])
def test_kernels_of_coupled_losses(loss, sigma, rng):
    y = np.ravel(np.eye(3)[rng.integers(0, 3, 30)]) if loss.of_classes else rng.normal(size=90)
    weights, z = np.repeat(rng.random(30), 3), rng.normal(size=90)
    theta = loss.project_dual(y, 0.3 * rng.normal(size=90))
    outputs = np.empty((4, 90))
    primal, dual = loss.evaluator.smoothed_derivatives(y, weights, theta, z, sigma, *outputs)
    first, d, e = loss.derivatives(y, theta, z, sigma)
    root = np.sqrt(weights)
    assert_allclose(outputs, [first, weights * first, weights * d, root * e], atol=1e-14)
    assert_allclose(primal, weights @ loss.value(y, z), rtol=1e-12)
    assert_allclose(dual, -weights @ loss.conjugate(y, first), rtol=1e-9, atol=1e-13)
    if sigma == inf:
        assert_allclose(first, loss.gradient(y, z), atol=1e-15)
        if not isinstance(loss, L.Softmax):
            assert_array_equal([d, e], 0.0)
    direction = rng.normal(size=90)
    slope = loss.evaluator.smoothed_slope(y, weights, theta, z, direction, 0.7, sigma)
    moved = loss.derivatives(y, theta, z + 0.7 * direction, sigma)[0]
    assert_allclose(slope, weights @ (direction * moved), rtol=1e-12)


def test_invalid_parameters_of_losses():
    for knots, slopes in (
        ((0.0, 1.0), (-1.0, 1.0)),
        ((1.0, 0.0), (-1.0, 0.5, 1.0)),
        ((-1.0, -1.0, 0.0), (-2.0, -1.0, -0.5, 1.0)),
        ((-1.0, 0.0, 1.0), (-1.0, -1.0, 1.0, 2.0)),
        ((0.0, 1.0), (-1.0, 1.0, 0.5)),
        ((0.0, 1.0), (-1.0, -1.0, 0.5)),
        ((0.0, 1.0), (0.0, 0.5, 1.0)),
        ((-1.0, 0.0), (-1.0, -0.5, 0.0)),
        ((1.0, 2.0), (-1.0, 0.5, 1.0)),
        ((-2.0, -1.0), (-1.0, -0.5, 1.0)),
    ):
        with pytest.raises(ValueError, match="PiecewiseLinear wants increasing knots"):
            L.PiecewiseLinear(knots, slopes)
    for knots, slopes in (
        (0.0, (-1.0, 1.0)),
        ((-1.0, 0.0), (-1.0, -0.5, 1.0)),
        ((0.0, 1.0), (-1.0, 0.5, 1.0)),
        ((-1.0, 1.0), (-1.0, 0.0, 1.0)),
        ((-1.0, 0.0), (-1.0, 0.0, 1.0)),
        ((0.0, 1.0), (-1.0, 0.0, 1.0)),
    ):
        loss = L.PiecewiseLinear(knots, slopes)
        assert loss.value(np.zeros(1), np.zeros(1)) == 0.0
    for make in (L.Softmax, L.CrammerSinger, L.L2Norm):
        assert make(1).n_outputs == 1
        with pytest.raises(ValueError, match="n_outputs"):
            make(0)


def test_slopes_of_piecewise_linear_losses_at_knots():
    """At a knot the slope nearest to 0, and between knots that of the piece."""
    loss = L.PiecewiseLinear((-1.0, 1.0, 3.0), (-1.0, 0.0, 1.0, 2.5))
    z = np.array([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0])
    assert_array_equal(loss.gradient(np.zeros(7), z), [-1, 0, 0, 0, 1, 1, 2.5])
    assert_array_equal(loss.value(np.zeros(7), z), [1, 0, 0, 0, 1, 2, 4.5])
    loss = L.PiecewiseLinear((-1.0, 0.0), (-3.0, -1.0, 2.0))
    assert_array_equal(loss.gradient(np.zeros(3), np.array([-1.0, 0.0, 1.0])), [-1, 0, 2])
    theta = np.array([-3.0, -2.0, -1.0, 0.0, 2.0, 2.1, -3.1])
    assert_array_equal(loss.conjugate(np.zeros(7), theta), [2, 1, 0, 0, 0, inf, inf])

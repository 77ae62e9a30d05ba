"""The optima that the campaign of unpenalised models compares with, and its separations."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad

from benchmarks.helpers import separations
from benchmarks.helpers.newton_optimum import SmoothProblem, optimum
from benchmarks.helpers.smooth_losses import (
    DIGITS,
    FLOATS,
    PartialLikelihood,
    RowLoss,
    Softmax,
    SquaredOutputs,
)

N = 12


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def losses(rng):
    y, weights = rng.integers(0, 3, N).astype(float), rng.uniform(0.5, 2.0, N)
    times, strata = np.ceil(3.0 * rng.random(N)), rng.integers(0, 2, N)
    for name in ("logistic", "squared_hinge"):
        yield 1, RowLoss(name, np.where(y > 0.0, 1.0, -1.0), weights)
    yield 1, RowLoss("squared", y, weights)
    yield 1, RowLoss("huber", 3.0 * y, weights, 1.35)
    for power in (1.0, 1.5, 2.0):
        yield 1, RowLoss("deviance", y + (power == 2.0), weights, power)
    yield 3, Softmax(y.astype(int), weights)
    yield 2, SquaredOutputs(rng.normal(size=(N, 2)), weights)
    for efron in (True, False):
        entry = times * rng.random(N)
        yield 1, PartialLikelihood(entry, times, y > 0.0, weights, strata, efron)


def test_gradients_and_curvatures_are_differences_of_values(rng):
    A = rng.normal(size=(N, 2))
    for K, loss in losses(rng):

        def value(v, loss=loss, K=K):
            return float(loss.value(A @ v.reshape(2, K), FLOATS))

        def gradient(v, loss=loss, K=K):
            return np.ravel(A.T @ loss.gradient(A @ v.reshape(2, K), FLOATS))

        v = 0.3 * rng.normal(size=2 * K)
        assert check_grad(value, gradient, v) < 1e-6
        H, step = loss.curvature(A, A @ v.reshape(2, K)), 1e-6
        for j, unit in enumerate(np.eye(2 * K)):
            difference = (gradient(v + step * unit) - gradient(v - step * unit)) / (2 * step)
            assert_allclose(H[j], difference, atol=1e-7)
        exact = loss.value(DIGITS.number(A) @ DIGITS.number(v.reshape(2, K)), DIGITS)
        assert_allclose(value(v), float(exact), rtol=1e-13)


def test_optimum_of_counts_is_the_logarithm_of_their_mean():
    y = np.array([0.0, 1.0, 5.0, 2.0])
    V, value = optimum(SmoothProblem(np.ones((4, 1)), RowLoss("deviance", y, np.ones(4), 1.0)))
    with mpmath.workdps(50):
        assert abs(V[0, 0] - mpmath.log(2)) < mpmath.mpf("1e-30")
        logs = mpmath.fsum([t * mpmath.log(t) for t in (5, 2)]) / 4
        assert abs(value - (logs - 2 * mpmath.log(2))) < mpmath.mpf("1e-30")


def test_optima_of_orthogonal_columns_are_thresholded(rng):
    Q = np.linalg.qr(rng.normal(size=(8, 3)))[0] * np.sqrt(8.0)
    Y = Q @ np.array([[2.0, 1.0], [0.1, 0.1], [-1.0, 0.5]])
    rows = tuple((np.array([2 * j, 2 * j + 1]), 0.5) for j in range(3))
    V, _ = optimum(SmoothProblem(Q, SquaredOutputs(Y, np.ones(8)), 2, rows))
    least_squares = Q.T @ Y / 8.0
    shrunk = np.maximum(1.0 - 0.5 / np.linalg.norm(least_squares, axis=1, keepdims=True), 0.0)
    assert_allclose(V.astype(float), shrunk * least_squares, atol=1e-12)
    y = Y[:, 0]
    single = tuple((np.array([j]), 0.5) for j in (1, 2))
    V, _ = optimum(SmoothProblem(Q, RowLoss("squared", y, np.ones(8)), groups=single))
    w = Q.T @ y / 8.0
    w[1:] = np.sign(w[1:]) * np.maximum(np.abs(w[1:]) - 0.5, 0.0)
    assert_allclose(V[:, 0].astype(float), w, atol=1e-12)


def test_dependent_columns_have_an_optimum(rng):
    X, y = rng.normal(size=(20, 1)), np.where(rng.random(20) < 0.5, 1.0, -1.0)
    loss = RowLoss("logistic", y, np.ones(20))
    value = optimum(SmoothProblem(X, loss))[1]
    doubled = optimum(SmoothProblem(np.hstack([X, 2.0 * X, 0.0 * X]), loss))[1]
    assert abs(value - doubled) < 1e-25


def test_separations_are_found():
    x = np.array([[-1.0], [-0.5], [0.0], [0.5], [1.0]])
    ones = np.ones((5, 1))
    A = np.hstack([x, ones])
    y = np.array([-1.0, -1.0, 1.0, 1.0, 1.0])
    assert separations.of_labels(A, y).separate()
    assert not separations.of_labels(A, y * [1, -1, 1, 1, -1]).separate()
    counts = np.array([0.0, 0.0, 1.0, 2.0, 3.0])
    level = (counts == 0.0).astype(float)[:, None]
    assert separations.of_counts(np.hstack([level, ones]), counts).separate()
    assert not separations.of_counts(A, counts).separate()
    classes = np.array([0, 0, 1, 1, 2])
    assert separations.of_order(x, classes, 3).separate()
    assert not separations.of_order(x, np.array([0, 1, 0, 2, 1]), 3).separate()
    assert separations.of_softmax(A, classes, 3).separate()
    assert not separations.of_softmax(A, np.array([0, 1, 0, 1, 0]), 2).separate()
    entry, event, strata = np.full(5, -np.inf), np.ones(5, bool), np.zeros(5, int)
    assert separations.of_risk_sets(x, entry, -x[:, 0], event, strata).separate()
    times = np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    assert not separations.of_risk_sets(x * [[1], [-1], [1], [1], [-1]], entry, times, event,
                                        strata).separate()  # fmt: skip

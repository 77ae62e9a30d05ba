"""Losses of all scores, as problems and for the cutting-plane method."""

import numpy as np
import pytest

from skpd.designs import Design
from skpd.losses import FBeta, Hinge
from skpd.losses.structured import StructuredDual, StructuredLoss
from skpd.penalties import L1, ElasticNet, GroupL2, L2Norm, SquaredL2, TotalVariation
from skpd.problems import linear_problem
from skpd.problems.structured_rows import scores_problem
from skpd.solvers import solve
from tests.oracles.optima import linear_optimum


class MeanHinge(StructuredLoss):
    """The mean hinge loss: the largest over subsets of rows of their mean 1 - y z."""

    def __init__(self, y):
        self.y, self.weights = y, np.full(len(y), 1.0 / len(y))
        self.largest_theta, self.entropy_range = np.ones(len(y)), np.log(2.0)

    def value(self, z):
        value = float(np.mean(np.maximum(1.0 - self.y * z, 0.0)))
        return value, 1e-14 * (1.0 + value)

    def _mixture(self, inside):
        theta = np.where(inside, -self.y, 0.0)
        return StructuredDual(theta, float(np.mean(inside)), mean_loss_error=1e-15)

    def loss_augmented(self, z, smoothing):
        return self.value(z)[0], self._mixture(1.0 - self.y * z > 0.0)

    @property
    def points_of_both_signs(self):
        return self._mixture(self.y > 0), self._mixture(self.y < 0)


def generated(n=40, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + rng.standard_normal(n) > 0.3, 1.0, -1.0)


def problems(penalty, intercept, seed=0, alpha=0.02):
    X, y = generated(seed=seed)
    rows = linear_problem(
        Design(X), y, np.full(len(y), 1.0 / len(y)), Hinge(), penalty, alpha, intercept
    )
    return rows, scores_problem(Design(X), MeanHinge(y), penalty, alpha, intercept)


def solved(problem, tol=1e-9, max_iter=500):
    return solve(problem, tol=tol, max_iter=max_iter, random_state=np.random.RandomState(0))


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("penalty", [SquaredL2(), L1(), ElasticNet(0.5), L2Norm(), GroupL2(2)])
def test_cutting_planes_find_the_optimum_of_a_sum_over_the_rows(penalty, intercept):
    rows, structured = problems(penalty, intercept)
    expected, found = solved(rows, 1e-11, 10_000), solved(structured, 1e-8)
    assert found.converged
    assert found.certificate.dual <= expected.certificate.primal
    assert found.certificate.primal >= expected.certificate.dual
    assert found.certificate.primal == pytest.approx(expected.certificate.primal, abs=2e-8)
    np.testing.assert_allclose(found.coef, expected.coef, atol=1e-3)


@pytest.mark.parametrize("intercept", [False, True])
def test_bounds_hold_from_the_first_plane_on(intercept):
    X, y = generated(seed=3)
    n, d = X.shape
    # min over u, v >= 0, xi >= 0, b of mean(xi) + alpha sum(u + v), xi >= 1 - y (X (u - v) + b)
    signed = y[:, None] * X
    blocks = [-signed, signed, -np.eye(n)]
    cost = np.concatenate([np.full(2 * d, 0.02), np.full(n, 1.0 / n)])
    bounds = [(0, None)] * len(cost)
    if intercept:
        blocks.append(-y[:, None])
        cost, bounds = np.append(cost, 0.0), [*bounds, (None, None)]
    optimum = linear_optimum(cost, np.hstack(blocks), -np.ones(n), bounds=bounds).fun
    _, structured = problems(L1(), intercept, seed=3)
    for max_iter in (1, 2, 4, 8, 16):
        certificate = solved(structured, max_iter=max_iter).certificate
        assert certificate.dual <= optimum + 1e-12
        assert certificate.primal >= optimum - 1e-12
    assert certificate.gap < 0.05


def test_a_mixture_is_scaled_towards_the_true_labeling():
    first = StructuredDual(np.array([2.0, 0.0]), 0.5)
    second = StructuredDual(np.array([0.0, -2.0]), 1.0)
    loss = FBeta(np.array([1.0, -1.0]))
    mixed = loss.convex_combination(np.array([0.25, 0.5]), [first, second])
    np.testing.assert_allclose(mixed.theta, [0.5, -1.0])
    assert mixed.mean_loss == 0.625
    half = np.float64(0.5) * mixed
    np.testing.assert_allclose(half.theta, [0.25, -0.5])
    assert half.value(1.0)[0] == mixed.value(0.5)[0] == 0.3125


def test_the_best_constant_balances_its_mixture():
    _, structured = problems(SquaredL2(), True)
    y = structured.loss.y
    point = structured.null_point
    losses = [np.mean(np.maximum(1.0 - y * b, 0.0)) for b in np.linspace(-2.0, 2.0, 4001)]
    assert structured.null_objective == pytest.approx(min(losses), abs=1e-12)
    assert abs(np.mean(point.dual_coef.theta)) < 1e-12


def test_a_penalty_with_free_coefficients_is_refused():
    with pytest.raises(ValueError, match="no coefficient free, got TotalVariation"):
        problems(TotalVariation(), False)


def test_an_intercept_without_meaning_is_refused():
    X, y = generated()

    class Differences(MeanHinge):
        points_of_both_signs = ()

    with pytest.raises(ValueError, match="fit_intercept must be False"):
        scores_problem(Design(X), Differences(y), L1(), 0.1, True)

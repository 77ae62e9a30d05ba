"""Parts of models that go together without a class for the pair, against Clarabel."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

from skpd import GroupLassoPD, PdproxRegressor, PdproxSVC
from tests.oracles.optima import optimal_value

cp = pytest.importorskip("cvxpy")

PARTITION, OVERLAPPING = [[0, 1, 2], [3, 4], [5, 6, 7]], [[0, 1, 2], [2, 3, 4], [4, 5, 6, 7]]


def generated(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 8)) + rng.choice([0.0, 3.0], size=8)
    return X, X[:, 0] - X[:, 1] + 0.5 * X[:, 5] + 0.3 * rng.standard_normal(60)


def optimum(loss, parts, alpha, constraints=()):
    norms = sum(np.sqrt(part.size) * cp.norm2(part) for part in parts)
    return optimal_value(cp.Problem(cp.Minimize(loss + alpha * norms), list(constraints)))


def holds(certificate, expected):
    assert certificate.relative_gap <= 1e-8
    assert certificate.dual <= expected + 1e-9 <= certificate.primal + 2e-8


@pytest.mark.parametrize("seed", range(3))
def test_overlapping_groups_in_a_regressor(seed):
    X, y = generated(seed)
    parts, b = [cp.Variable(len(group)) for group in OVERLAPPING], cp.Variable()
    z = sum(X[:, group] @ part for group, part in zip(OVERLAPPING, parts, strict=True)) + b
    expected = optimum(cp.sum_squares(z - y) / 120, parts, 0.1)
    model = GroupLassoPD(0.1, groups=OVERLAPPING, tol=1e-8).fit(X, y)
    holds(model.certificate_, expected)
    assert model.latent_coef_.shape == (10,)


@pytest.mark.parametrize("seed", range(3))
def test_group_lasso_with_bounds(seed):
    X, y = generated(seed)
    w, b = cp.Variable(8), cp.Variable()
    lower, upper = np.full(8, -0.2), np.full(8, 0.4)
    parts = [w[group] for group in PARTITION]
    loss = cp.sum_squares(X @ w + b - y) / 120
    expected = optimum(loss, parts, 0.05, [w >= lower, w <= upper])
    model = PdproxRegressor(
        0.05, loss="squared", penalty="group", groups=PARTITION,
        constraints=LinearConstraint(np.eye(8), lower, upper), tol=1e-8,
    ).fit(X, y)  # fmt: skip
    holds(model.certificate_, expected)
    assert np.all((model.coef_ >= lower - 1e-12) & (model.coef_ <= upper + 1e-12))


@pytest.mark.parametrize("seed", range(3))
def test_noise_budget_with_groups_and_constraints(seed):
    X, y = generated(seed)
    y = np.where(y > np.median(y), 1.0, -1.0)
    w, b, t = cp.Variable(8), cp.Variable(), cp.Variable(nonneg=True)
    loss = cp.sum(cp.pos(1.0 - t - cp.multiply(y, X @ w + b))) / 60 + 0.3 * t
    parts = [w[group] for group in PARTITION]
    expected = optimum(loss, parts, 0.02, [cp.sum(w) == 0.1, w[0] <= 0.3])
    rows = np.vstack([np.ones(8), np.eye(8)[0]])
    model = PdproxSVC(
        0.02, penalty="group", groups=PARTITION, noise_budget=18.0, tol=1e-8,
        constraints=LinearConstraint(rows, [0.1, -np.inf], [0.1, 0.3]),
    ).fit(X, y)  # fmt: skip
    holds(model.certificate_, expected)
    assert np.sum(model.coef_) == pytest.approx(0.1, abs=1e-12)

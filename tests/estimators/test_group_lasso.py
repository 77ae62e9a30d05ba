"""GroupLassoPD against closed forms, the conditions of its optimum and other solvers."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from skpd import GroupLassoPD, RowBlocks, certify, regularization_path
from tests.oracles.reference import conic_programme

GROUPS = {"person": [0, 1], "body": [2, 3], "blood": [4, 5, 6, 7, 8, 9]}


def test_orthogonal_features_shrink_in_groups():
    """With X'X = n I and z = X'y / n: w_g = max(0, 1 - alpha sqrt(size) / ||z_g||) z_g."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((60, 7)))[0] * np.sqrt(60)
    y = Q @ np.array([2.0, -1.0, 0.3, 0.2, 0.1, 0.0, 3.0]) + 0.1 * rng.standard_normal(60)
    z, alpha, groups = Q.T @ y / 60, 0.4, [[0, 1], [2, 3, 4], [5, 6]]
    expected = np.zeros(7)
    for group in groups:
        shrink = 1.0 - alpha * np.sqrt(len(group)) / np.linalg.norm(z[group])
        expected[group] = max(0.0, shrink) * z[group]
    model = GroupLassoPD(alpha, groups=groups, fit_intercept=False, tol=1e-12).fit(Q, y)
    assert_allclose(model.coef_, expected, atol=1e-6)
    assert not model.coef_[2:5].any()


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array, sp.csc_array])
def test_conditions_of_the_optimum(layout, diabetes):
    X, y = diabetes
    weights = {"person": 1.0, "body": 0.5}
    sample_weight = np.random.default_rng(0).uniform(0.0, 2.0, len(y))
    model = GroupLassoPD(12.0, groups=GROUPS, group_weights=weights, tol=1e-12)
    model.fit(layout(X), y, sample_weight)
    residuals = sample_weight * (model.predict(X) - y) / sample_weight.sum()
    gradient = X.T @ residuals
    assert abs(residuals.sum()) < 1e-6
    kept = {}
    for name, group in GROUPS.items():
        w, bound = model.coef_[group], 12.0 * weights.get(name, np.sqrt(len(group)))
        kept[name] = bool(w.any())
        if kept[name]:
            assert_allclose(gradient[group], -bound * w / np.linalg.norm(w), atol=1e-4)
        else:
            assert np.linalg.norm(gradient[group]) <= bound
    assert kept == {"person": False, "body": True, "blood": True}


def test_groups_that_overlap(diabetes):
    """The sums of the latent vectors are the coefficients, for `certify` too."""
    X, y = diabetes
    groups = [[0, 1, 2], [2, 3], [4, 5, 6, 7, 8, 9]]
    model = GroupLassoPD(3.0, groups=groups, tol=1e-9).fit(X, y)
    latent = np.split(model.latent_coef_, [3, 5])
    sums = np.zeros(10)
    for group, part in zip(groups, latent, strict=True):
        sums[group] += part
    assert_allclose(model.coef_, sums, atol=1e-12)
    norms = sum(np.sqrt(len(part)) * np.linalg.norm(part) for part in latent)
    objective = ((y - model.predict(X)) ** 2).mean() / 2 + 3.0 * norms
    assert_allclose(model.certificate_.primal, objective, rtol=1e-10)
    assert_allclose(certify(model, X, y).primal, objective, rtol=1e-10)


def test_groups_of_coefficients_that_are_not_negative_are_those_of_skglm(diabetes):
    """By WeightedGroupL2(2.0, sqrt(sizes), positive=True) of skglm 0.5 and its GroupBCD."""
    X, y = diabetes
    expected = [
        0.0, 0.0, 26.32783338, 12.92175671, 0.0, 0.0, 0.0, 5.48888086, 17.3416344, 3.02377192,
    ]  # fmt: skip
    for layout in (np.asarray, sp.csr_array, lambda X: RowBlocks([X])):
        model = GroupLassoPD(2.0, groups=GROUPS, positive=True, tol=1e-10).fit(layout(X), y)
        assert model.converged_
        assert_allclose(model.coef_, expected, atol=1e-4)
        assert_allclose(model.intercept_, 152.13348416)
    assert certify(model, X, y).relative_gap <= 1e-10
    bounds = model.certificate_.coefficient_bounds
    assert np.all(bounds[:, 0] <= model.coef_) and np.all(model.coef_ <= bounds[:, 1])
    assert np.all(bounds[:, 0] >= 0.0)
    path = regularization_path(model, X, y, alphas=[20.0, 2.0])
    assert_allclose(path.coefs[1], expected, atol=1e-3)


@pytest.mark.parametrize("loss", ["absolute", "huber", "squared"])
@pytest.mark.parametrize("weights", [[1.0, 2.0, 1.0], [0.0, 1.0, 0.5]])
def test_groups_of_coefficients_that_are_not_negative_by_cones(weights, loss, diabetes):
    X, y = diabetes[0][:80], diabetes[1][:80] / 50.0
    model = GroupLassoPD(
        0.02, groups=GROUPS, group_weights=weights, positive=True, loss=loss, tol=1e-7
    ).fit(X, y)
    assert model.converged_ and model.coef_.min() == 0.0 < model.coef_.max()
    penalty = model._get_penalty().for_n_features(10)
    value = conic_programme(X, y, np.full(80, 1 / 80), model._get_loss(), penalty, 0.02, True)
    unit = (model.certificate_.primal - model.certificate_.dual) / model.relative_gap_
    assert model.certificate_.dual <= value + 1e-8 * unit
    assert model.certificate_.primal >= value - 1e-8 * unit
    for solver in ("pdprox-dual", "pdprox-primal"):
        model.set_params(solver=solver, tol=1e-2, max_iter=10**5).fit(X, y)
        assert model.converged_ and model.coef_.min() >= 0.0
        assert model.certificate_.dual <= value + 1e-8 * unit

"""The latent group lasso: groups that share features."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from skpd import GroupLassoSVC, RowBlocks, certify, regularization_path
from skpd.formulation.overlapping import copies_of
from tests.oracles.optima import optimal_value

GROUPS = [[0, 1, 2], [2, 3], [3, 4, 5], [5, 0]]


def generated(n=80, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 2] + X[:, 3] + rng.standard_normal(n) > 0.2, 1, 0)


def optimum(X, y, groups, weights, alpha):
    """Of the mean hinge loss with a vector for each group."""
    cp = pytest.importorskip("cvxpy")
    parts = [cp.Variable(len(group)) for group in groups]
    b, signs = cp.Variable(), np.where(y == 1, 1.0, -1.0)
    z = sum(X[:, group] @ part for group, part in zip(groups, parts, strict=True)) + b
    norms = sum(c * cp.norm2(part) for c, part in zip(weights, parts, strict=True))
    objective = cp.sum(cp.pos(1.0 - cp.multiply(signs, z))) / len(y) + alpha * norms
    return optimal_value(cp.Problem(cp.Minimize(objective)))


@pytest.mark.parametrize("seed", range(5))
def test_optimum_is_that_of_an_independent_solver(seed):
    X, y = generated(seed=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, size=4)
    expected = optimum(X, y, GROUPS, weights, 0.03)
    model = GroupLassoSVC(0.03, groups=GROUPS, group_weights=weights, tol=1e-9).fit(X, y)
    assert model.converged_
    assert model.certificate_.primal == pytest.approx(expected, abs=1e-8)
    assert model.certificate_.dual <= expected + 1e-10


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(3))
def test_coefficients_are_exact_sums(seed, dtype):
    """So that the certificate of a vector for each group holds for the function that predicts."""
    X, y = generated(seed=seed)
    groups = [[0, 1, 2], [1, 2, 3], [2, 3, 4, 5], [0, 2, 5]]
    model = GroupLassoSVC(1e-3, groups=groups, loss="logistic", tol=1e-6).fit(X.astype(dtype), y)
    assert model.converged_
    places = np.concatenate(groups)
    for j in range(6):
        parts = model.latent_coef_[0, places == j]
        assert sum(map(Fraction, map(float, parts))) == Fraction(float(model.coef_[0, j]))


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1.0, 1e200])
def test_summable_coefficients_are_near_those_given(scale):
    copies = copies_of([[0, 1], [0, 1], [0, 1]], 2)
    for seed in range(20):
        coef = scale * np.random.default_rng(seed).standard_normal(6)
        coef[0] *= 1e-10
        found = copies.summable(coef)
        sizes = copies.sums(np.abs(coef))[copies.features]
        assert np.all(np.abs(found - coef) <= 2.0**-52 * sizes)
        exact = [sum(map(Fraction, found[j::2])) for j in range(2)]
        assert exact == [*map(Fraction, copies.sums(found))]


def test_coefficients_are_sums_and_say_what_the_model_does():
    X, y = generated()
    model = GroupLassoSVC(0.03, groups=GROUPS, tol=1e-8).fit(X, y)
    places = np.concatenate(GROUPS)
    assert model.coef_.shape == (1, 6)
    assert model.latent_coef_.shape == (1, 10)
    assert model.certificate_.coefficient_bounds.shape == (10, 2)
    sums = [model.latent_coef_[0, places == j].sum() for j in range(6)]
    np.testing.assert_allclose(model.coef_[0], sums)
    z = X[:, places] @ model.latent_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), z)
    signs = np.where(y == 1, 1.0, -1.0)
    ends = np.cumsum([0, *map(len, GROUPS)])
    norms = [
        np.sqrt(j - i) * np.linalg.norm(model.latent_coef_[0, i:j])
        for i, j in itertools.pairwise(ends)
    ]
    value = np.mean(np.maximum(1.0 - signs * z, 0.0)) + 0.03 * sum(norms)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-9)


def test_certify_and_path():
    X, y = generated()
    model = GroupLassoSVC(0.03, groups=GROUPS, tol=1e-7).fit(X, y)
    found = certify(model, X, y)
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-9)
    assert found.relative_gap < 2e-4
    along = regularization_path(GroupLassoSVC(groups=GROUPS, tol=1e-7), X, y, alphas=[0.05, 0.03])
    assert along.certificates[1].primal == pytest.approx(model.certificate_.primal, abs=1e-6)


def test_partitions_have_no_copies():
    assert copies_of([[0, 1], [2, 3]], 4) is None
    assert copies_of([2, 2], 4) is None
    assert copies_of("ab", 2) is None
    X, y = generated()
    assert not hasattr(GroupLassoSVC(groups=[[0, 1, 2], [3, 4, 5]]).fit(X, y), "latent_coef_")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[0, 1, 2], [2, 3]], "they miss feature 4"),
        ([[0, 1, 2, 2], [2, 3, 4, 5]], "a feature twice in one list"),
        ([[0, 1, 2], [2, 3, 4, 6]], "indices from 0 to 5"),
    ],
)
def test_groups_that_are_none_are_refused(groups, message):
    X, y = generated()
    with pytest.raises(ValueError, match=message):
        GroupLassoSVC(groups=groups).fit(X, y)


def test_blocks_are_refused():
    X, y = generated()
    with pytest.raises(ValueError, match="in memory, got RowBlocks"):
        GroupLassoSVC(groups=GROUPS).fit(RowBlocks([X] * 30_000), np.tile(y, 30_000))

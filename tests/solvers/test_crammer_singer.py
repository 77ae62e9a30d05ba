"""Dual descent for the loss of Crammer and Singer against LinearSVC and identities."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, load_wine
from sklearn.svm import LinearSVC

from skpd import MultinomialPD

DESCENT = "dual-descent"


def classes(rng, n=80, d=6, K=4, noise=1.0):
    X = rng.normal(size=(n, d))
    return X, np.argmax(X @ rng.normal(size=(d, K)) + noise * rng.normal(size=(n, K)), axis=1)


def fitted(X, y, alpha, *, weights=None, tol=1e-10, **parameters):
    parameters = {"fit_intercept": False, "random_state": 0, **parameters}
    model = MultinomialPD(alpha, loss="crammer_singer", tol=tol, **parameters)
    return model.fit(X, y, weights)


def objective(model, X, y, weights=None):
    """By its definition."""
    Z, own = X @ model.coef_.T, np.searchsorted(model.classes_, y)
    rivals = Z + 1.0
    rivals[np.arange(len(y)), own] -= 1.0
    losses = np.max(rivals, axis=1) - Z[np.arange(len(y)), own]
    return np.average(losses, weights=weights) + 0.5 * model.alpha * np.sum(model.coef_**2)


# a padded table of classes, a full one and a long one
@pytest.mark.parametrize(("K", "C"), [(3, 0.01), (3, 10.0), (4, 1.0), (5, 1.0), (17, 0.1)])
def test_as_liblinear(K, C, rng):
    X, y = classes(rng, n=120, K=K)
    other = LinearSVC(
        C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-9, max_iter=100_000,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    model = fitted(X, y, 1 / (C * len(X)))
    assert_allclose(model.coef_, other.coef_, atol=2e-4 * np.max(np.abs(other.coef_)))
    assert objective(model, X, y) <= objective(_with(model, other.coef_), X, y) * (1.0 + 1e-9)


@pytest.mark.parametrize("K", [3, 4, 6])
def test_intercepts_of_many_features(K, rng):
    """liblinear regularises intercepts, by the less the larger their scaling is."""
    X, y = classes(rng, n=90, d=1500, K=K, noise=10.0)
    y[:40] = 0
    other = LinearSVC(
        C=1e-3, multi_class="crammer_singer", intercept_scaling=30.0, tol=1e-8, max_iter=1_000_000,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    model = fitted(X, y, 1 / (1e-3 * len(X)), fit_intercept=True, tol=1e-9)
    assert model.solver_ == "interior-point" and model.converged_
    ones = np.column_stack([X, np.ones(len(X))])
    values = []
    for one in (model, other):
        whole = _with(model, np.column_stack([one.coef_, one.intercept_]))
        square = 0.5 * model.alpha * np.sum(one.intercept_**2)
        values.append(objective(whole, ones, y) - square)
    assert_allclose(values[0], model.certificate_.primal, rtol=1e-10)
    assert values[0] <= values[1] * (1.0 + 1e-9) <= values[0] * (1.0 + 1e-3)
    assert np.ptp(model.intercept_) > 0.1


def _with(model, coef):
    other = MultinomialPD(model.alpha, loss="crammer_singer")
    other.coef_, other.classes_ = coef, model.classes_
    return other


@pytest.mark.filterwarnings("ignore:.*is less precise in float32")
@pytest.mark.parametrize("alpha", [1e-3, 1e-1])
def test_every_layout(alpha, rng):
    X, y = classes(rng)
    X[rng.random(X.shape) < 0.4] = 0.0
    X[5] = 0.0  # a row without entries, whose loss is 1 whatever W is
    X = X.astype(np.float32).astype(np.float64)
    model = fitted(X, y, alpha)
    assert model.solver_ == DESCENT
    assert_allclose(model.certificate_.primal, objective(model, X, y), rtol=1e-12, atol=1e-12)
    long = sp.csr_array(X)
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    layouts = [np.asfortranarray(X), sp.csr_array(X), sp.csc_array(X), long]
    for other in [*layouts, *(data.astype(np.float32) for data in layouts), X[:, ::-1][:, ::-1]]:
        assert_allclose(fitted(other, y, alpha).coef_, model.coef_, atol=1e-4)


def test_two_classes_are_a_hinge_loss(rng):
    """Of w = W[1] - W[0], whose square is twice that of W."""
    X, y = classes(rng, K=2)
    C = 0.5
    other = LinearSVC(
        C=C, loss="hinge", fit_intercept=False, tol=1e-10, max_iter=1_000_000, random_state=0
    ).fit(X, y)  # fmt: skip
    # max(0, 1 - y x.w) + a |w|^2 / 2 with |W|^2 = |w|^2 / 2
    model = fitted(X, y, 2.0 / (C * len(X)))
    assert_allclose(model.coef_[1] - model.coef_[0], other.coef_[0], atol=1e-4)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_ill_conditioned_data(load):
    """Features as they are, some of them in hundreds: the multipliers may finish."""
    X, y = load(return_X_y=True)
    model = fitted(X, y, 1 / len(X), tol=1e-7)
    assert model.converged_
    assert_allclose(model.certificate_.primal, objective(model, X, y), rtol=1e-12, atol=1e-12)
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    assert fitted(standard, y, 1 / len(X), tol=1e-7).solver_ == DESCENT


def test_more_features_than_rows(rng):
    X, y = classes(rng, n=40, d=300, K=5)
    model = fitted(sp.csr_array(X), y, 1e-3)
    assert model.solver_ == DESCENT
    assert_allclose(model.certificate_.primal, objective(model, X, y), rtol=1e-12, atol=1e-12)
    # an optimal W is -X' diag(c) theta / alpha
    assert_allclose(model.coef_, -model.dual_coef_.T @ X / len(X) / model.alpha, atol=1e-5)


def test_intercepts_of_small_tables_and_other_penalties_are_left_to_others(rng):
    X, y = classes(rng)
    assert fitted(X, y, 0.1, fit_intercept=True, tol=1e-6).solver_ != DESCENT
    assert fitted(X, y, 0.1, penalty="l1", tol=1e-6).solver_ != DESCENT
    assert fitted(X, y, 0.1, penalty="squared_groups", tol=1e-6).solver_ != DESCENT


def test_the_random_state_decides(rng):
    X, y = classes(rng)
    first, again = (fitted(X, y, 0.01, tol=1e-4) for _ in range(2))
    np.testing.assert_array_equal(first.coef_, again.coef_)


@pytest.mark.parametrize("alpha", [1e-1, 1e-3])
@pytest.mark.parametrize("mean", [0.0, 3.0])
def test_intercepts_of_larger_tables_take_few_passes(alpha, mean, rng):
    X = rng.normal(size=(300, 150)) + mean
    y = np.argmax(X[:, :3] + rng.normal(size=(300, 3)), axis=1)
    model = fitted(X, y, alpha, fit_intercept=True, tol=1e-4)
    assert model.solver_ == DESCENT and model.converged_ and model.n_iter_ <= 500
    exact = MultinomialPD(alpha, loss="crammer_singer", tol=1e-6, random_state=1).fit(X, y)
    assert model.certificate_.dual <= exact.certificate_.primal
    assert exact.certificate_.dual <= model.certificate_.primal

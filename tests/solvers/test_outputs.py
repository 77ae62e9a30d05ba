"""MultiTaskPD and MultinomialPD against scikit-learn, HiGHS and optimality conditions."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, MultiTaskLasso, Ridge
from sklearn.svm import LinearSVC

from skpd import MultinomialPD, MultiTaskPD
from skpd.penalties import SparseGroup, WeightedL1
from tests.oracles.optima import linear_optimum
from tests.oracles.output_models import Model
from tests.oracles.scikit_learn import l1_logistic

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def regression(rng, n=40, d=6, K=3):
    X, W = rng.normal(size=(n, d)), rng.normal(size=(d, K))
    W[d // 2 :] = 0.0
    return X, X @ W + [1.0, -2.0, 0.5] + rng.standard_t(3, size=(n, K))


def classes(rng, n=60, d=5, K=3):
    X = rng.normal(size=(n, d))
    y = np.argmax(X @ rng.normal(size=(d, K)) + 0.7 * rng.normal(size=(n, K)), axis=1)
    return X, y


def tasks(rng, n=60, d=4, K=3):
    """Features with the number of each row's task behind them, and a target."""
    X, of_task = rng.normal(size=(n, d)), np.arange(n) % K
    W = rng.normal(size=(d, K))
    y = np.sum(X * W[:, of_task].T, axis=1) + of_task + 0.5 * rng.normal(size=n)
    return np.column_stack([X, of_task]), y


def definition(model, X, y, weights=None):
    """The objective of an estimator by its definition, a function of W and b."""
    n = X.shape[0]
    weights = np.ones(n) if weights is None else weights
    of_task, K = None, len(model.coef_)
    if getattr(model, "tasks", None) is not None:
        of_task = np.searchsorted(model.tasks_, X[:, model.tasks])
        X = np.delete(X, model.tasks, axis=1)
    if hasattr(model, "classes_"):
        y = (y[:, np.newaxis] == model.classes_).astype(float)
    return Model(
        X, y, weights / weights.sum(), of_task, K, model.loss, model.penalty, model.l1_ratio,
        model.fit_intercept, model.alpha,
    )  # fmt: skip


def near_optimal(model, X, y, tol=1e-8):
    """A certificate that tells its objective, which is less than that of models nearby."""
    objective = definition(model, X, y).objective
    W, b = model.coef_.T, model.intercept_
    value = objective(W, b)
    assert_allclose(model.certificate_.primal, float(value), rtol=1e-12)
    assert model.certificate_.relative_gap <= tol
    rng = np.random.default_rng(1)
    for size in (1e-3, 1e-2, 0.3):
        for _ in range(10):
            near = b + model.fit_intercept * size * rng.normal(size=b.shape)
            assert model.certificate_.dual <= objective(W + size * rng.normal(size=W.shape), near)
    return float(value)


# Models of scikit-learn


def test_ridge_with_weights(rng):
    X, Y = regression(rng)
    weights = rng.uniform(0.1, 2.0, len(X))
    model = MultiTaskPD(alpha=0.2, penalty="l2", tol=1e-12).fit(X, Y, weights)
    other = Ridge(alpha=0.2 * weights.sum()).fit(X, Y, weights)
    assert_allclose(model.coef_, other.coef_, atol=1e-6)
    assert_allclose(model.intercept_, other.intercept_, atol=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_multinomial_logistic_regression(fit_intercept, rng):
    X, y = classes(rng)
    alpha = 0.02
    options = {"C": 1 / (alpha * len(X)), "fit_intercept": fit_intercept, "max_iter": 100_000}
    other = LogisticRegression(tol=1e-10, **options).fit(X, y)
    model = MultinomialPD(alpha, fit_intercept=fit_intercept, tol=1e-13).fit(X, y)
    assert_allclose(model.coef_, other.coef_, atol=1e-5)
    shift = other.intercept_ - other.intercept_.mean()
    assert_allclose(model.intercept_, shift, atol=1e-5)
    assert_allclose(model.predict_proba(X), other.predict_proba(X), atol=1e-5)
    assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    assert_array_equal(model.predict(X), other.predict(X))


def test_sparse_multinomial_logistic_regression(rng):
    X, y = classes(rng)
    alpha = 0.03
    other = l1_logistic(1.0, C=1 / (alpha * len(X)), fit_intercept=False, tol=1e-10).fit(X, y)
    model = MultinomialPD(alpha, penalty="l1", fit_intercept=False, tol=1e-13).fit(X, y)
    assert_allclose(model.coef_, other.coef_, atol=1e-5)
    assert np.count_nonzero(model.coef_) < model.coef_.size


def test_the_svm_of_crammer_and_singer(rng):
    X, y = classes(rng)
    alpha = 0.05
    other = LinearSVC(
        C=1 / (alpha * len(X)), multi_class="crammer_singer", fit_intercept=False, tol=1e-10,
        max_iter=1_000_000,
    ).fit(X, y)  # fmt: skip
    model = MultinomialPD(
        alpha, loss="crammer_singer", fit_intercept=False, tol=1e-12, max_iter=100_000
    ).fit(X, y)
    assert_allclose(model.coef_, other.coef_, atol=1e-4)


# Conditions of optimality


def slopes(model, X, y):
    """The gradient of the mean loss in W, of a differentiable loss."""
    if hasattr(model, "classes_"):
        theta = model.predict_proba(X) - (y[:, None] == model.classes_)
    else:
        z = model.predict(X)
        theta = np.clip(z - y, -1.35, 1.35) if model.loss == "huber" else z - y
    return X.T @ theta / len(X), theta.mean(axis=0)


@pytest.mark.parametrize("loss", ["squared", "huber", "softmax"])
@pytest.mark.parametrize(
    "penalty", ["l21", "l1inf", "exclusive", "trace", "squared_groups", "squared_outputs"]
)
def test_the_gradient_is_a_subgradient_of_the_penalty(loss, penalty, rng):
    """G.W = - alpha R(W) and the dual norm of G is alpha for norms; G.W = -2 alpha R for squares.

    For a square of a norm that is 2 alpha times the norm of W.
    """
    alpha = 0.05
    if loss == "softmax":
        X, y = classes(rng)
        model = MultinomialPD(alpha, penalty=penalty, tol=1e-12).fit(X, y)
    else:
        X, y = regression(rng)
        model = MultiTaskPD(alpha, loss=loss, penalty=penalty, tol=1e-12).fit(X, y)
    W = model.coef_.T
    G, of_intercept = slopes(model, X, y)
    assert_allclose(of_intercept, 0.0, atol=1e-5)
    rows, sums, largest = np.linalg.norm(G, axis=1), np.abs(G).sum(axis=1), np.abs(G).max(axis=1)
    product = -np.sum(G * W)
    if penalty == "l21":
        active = W.any(axis=1)
        assert_allclose(rows[active], alpha, rtol=1e-4)
        assert np.all(rows <= alpha * (1 + 1e-4))
        assert_allclose(product, alpha * np.linalg.norm(W, axis=1).sum(), rtol=1e-4)
    elif penalty == "l1inf":
        assert np.max(sums) <= alpha * (1 + 1e-4)
        assert_allclose(product, alpha * np.abs(W).max(axis=1).sum(), rtol=1e-4)
    elif penalty == "trace":
        assert np.linalg.norm(G, 2) <= alpha * (1 + 1e-4)
        assert_allclose(product, alpha * np.linalg.norm(W, "nuc"), rtol=1e-4)
    elif penalty == "exclusive":
        norms = np.abs(W).sum(axis=1)
        assert_allclose(largest, 2 * alpha * norms, rtol=1e-3, atol=1e-5)
        assert_allclose(product, 2 * alpha * np.sum(norms**2), rtol=1e-4)
    else:
        axis = int(penalty == "squared_groups")
        norm = np.linalg.norm(W, axis=axis).sum()
        assert_allclose(np.max(np.linalg.norm(G, axis=axis)), 2 * alpha * norm, rtol=1e-4)
        assert_allclose(product, 2 * alpha * norm**2, rtol=1e-4)


@pytest.mark.parametrize("penalty", ["l1inf", "l21", "trace", "exclusive", "l1"])
@pytest.mark.parametrize("loss", ["absolute", "l2_norm", "epsilon_insensitive", "pinball"])
def test_losses_without_a_derivative(loss, penalty, rng):
    X, Y = regression(rng, n=25, d=4)
    model = MultiTaskPD(0.05, loss=loss, penalty=penalty, tol=1e-6).fit(X, Y)
    near_optimal(model, X, Y, 1e-6)
    # the dual solution satisfies what asks for an optimum up to the gap
    theta = model.dual_coef_
    assert_allclose(theta.sum(axis=0), 0.0, atol=1e-6)
    sizes = np.linalg.norm(theta, axis=1) if loss == "l2_norm" else np.abs(theta)
    assert np.max(sizes) <= (0.5 if loss == "pinball" else 1.0) + 1e-12


@pytest.mark.parametrize("penalty", ["l21", "l1inf", "trace", "squared_groups", "squared_outputs"])
@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic", "squared_hinge"])
def test_tasks(loss, penalty, rng):
    X, y = tasks(rng)
    if loss != "squared":
        y = np.where(y > np.median(y), 1.0, -1.0)
    model = MultiTaskPD(0.02, loss=loss, penalty=penalty, tasks=4, tol=1e-6).fit(X, y)
    near_optimal(model, X, y, 1e-6)


# Linear programmes


def linear_programme_of_l1(Z, offsets, of_loss, weights, alpha, free):
    """min weights.t + alpha ||w||_1 with t[of_loss] >= Z (w, b) + offsets and t >= 0.

    The last ``free`` columns of Z are those of b.
    """
    m, n = Z.shape[1] - free, len(weights)
    cost = np.concatenate([np.full(2 * m, alpha), np.zeros(free), weights])
    slack = -(of_loss[:, None] == np.arange(n)).astype(float)
    A = np.hstack([Z[:, :m], -Z[:, :m], Z[:, m:], slack])
    bounds = [(0, None)] * (2 * m) + [(None, None)] * free + [(0, None)] * n
    return linear_optimum(cost, A, -offsets, bounds=bounds, options=EXACT).fun


def test_hinge_and_l1_by_highs(rng):
    X, Y = regression(rng, n=20, d=4)
    Y = np.where(Y > 0, 1.0, -1.0)
    n, K = Y.shape
    Z = np.hstack([np.kron(X, np.eye(K)), np.kron(np.ones((n, 1)), np.eye(K))])
    Z *= -Y.reshape(-1, 1)
    each = np.arange(n * K)
    value = linear_programme_of_l1(Z, np.ones(n * K), each, np.full(n * K, 1 / n), 0.03, K)
    model = MultiTaskPD(0.03, loss="hinge", penalty="l1", tol=1e-9).fit(X, Y)
    assert_allclose(near_optimal(model, X, Y), value, rtol=1e-8)
    assert model.certificate_.dual <= value * (1 + 1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_crammer_singer_and_l1_by_highs(fit_intercept, rng):
    X, y = classes(rng, n=30)
    (n, d), K = X.shape, 3
    differences, offsets = [], []
    for x, label in zip(X, y, strict=True):
        for k in range(K):
            sides = np.eye(K)[k] - np.eye(K)[label]
            differences.append(np.concatenate([np.outer(x, sides).ravel(), sides]))
            offsets.append(float(k != label))
    Z = np.array(differences)[:, : d * K + fit_intercept * K]
    value = linear_programme_of_l1(
        Z, np.array(offsets), np.repeat(np.arange(n), K), np.full(n, 1 / n), 0.03,
        fit_intercept * K,
    )  # fmt: skip
    model = MultinomialPD(
        0.03, loss="crammer_singer", penalty="l1", tol=1e-9, fit_intercept=fit_intercept
    ).fit(X, y)
    assert_allclose(near_optimal(model, X, y), value, rtol=1e-8)
    assert model.certificate_.dual <= value * (1 + 1e-12)


# Certificates


@pytest.mark.parametrize("penalty", ["l21", "l1inf", "trace", "exclusive"])
def test_a_certificate_holds_before_convergence(penalty, rng):
    X, Y = regression(rng)
    best = MultiTaskPD(0.05, loss="absolute", penalty=penalty, tol=1e-7).fit(X, Y)
    early = MultiTaskPD(0.05, loss="absolute", penalty=penalty, tol=1e-12, max_iter=3)
    with pytest.warns(ConvergenceWarning):
        early.fit(X, Y)
    assert not early.converged_ and early.n_iter_ <= 3
    value = float(definition(early, X, Y).objective(early.coef_.T, early.intercept_))
    assert_allclose(early.certificate_.primal, value, rtol=1e-12)
    assert early.certificate_.dual <= best.certificate_.primal
    assert best.certificate_.dual <= early.certificate_.primal


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("penalty", ["l21", "l1inf", "l1"])
def test_a_task_of_one_class(penalty, loss, kind, rng):
    """Its intercept may be infinite, and all of its rows may be left out."""
    n = 24
    X = np.column_stack([rng.normal(size=(n, 3)), np.arange(n) % 3])
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[2::3] = 1.0
    model = MultiTaskPD(0.05, loss=loss, penalty=penalty, tasks=3, max_iter=2000)
    model.fit(kind(X), y)
    assert model.converged_
    shares = [np.mean(y[k::3] == 1.0) for k in range(2)]
    if loss == "logistic":
        certificate = model.certificate_
        unit = certificate.dual + certificate.gap / certificate.relative_gap
        entropy = [-p * np.log(p) - (1 - p) * np.log(1 - p) for p in shares]
        assert_allclose(unit, np.sum(entropy) / 3, rtol=1e-6)


@pytest.mark.parametrize("loss", ["softmax", "crammer_singer"])
@pytest.mark.parametrize("seed", range(3))
def test_a_penalty_need_not_treat_classes_alike(loss, seed):
    """The intervals of the intercepts hold those of an optimum, whatever the weights are."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(25, 3)) + 5.0, np.append(np.arange(3), rng.integers(0, 3, 22))
    penalty = WeightedL1(10.0 ** rng.uniform(-3, 1, 9))
    model = MultinomialPD(0.05, loss=loss, penalty=penalty, tol=1e-7).fit(X, y)
    certificate = model.certificate_
    assert model.converged_
    (problem,) = model._problems(X, y, None)[2]
    lowest, highest = problem.free_intervals(certificate.primal)[0]
    assert np.ptp(model.intercept_) <= min(-lowest, highest)
    scaled = certificate.primal / (0.05 * np.min(penalty.weights))  # of the largest coefficient
    assert highest >= 0.5 * scaled


def test_sweeps_of_sparse_groups_go_on(rng):
    """They have no other method behind them, however slowly they converge on two factors."""
    X = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 60))
    X += 0.1 * rng.standard_normal(X.shape)
    Y = X[:, :5] @ rng.standard_normal((5, 3)) + 0.3 * rng.standard_normal((300, 3))
    model = MultiTaskPD(0.01, penalty=SparseGroup(3, l1_ratio=0.5)).fit(X, Y)
    assert model.solver_ == "multipliers" and model.converged_


@pytest.mark.parametrize("alpha", [0.1, 0.01, 0.001])
def test_far_more_features_than_rows(alpha, rng):
    """The objective is that of another package and within the bounds."""
    X = rng.standard_normal((40, 6)) @ rng.standard_normal((6, 400))
    X += 0.5 * rng.standard_normal(X.shape)
    Y = X[:, :8] @ rng.standard_normal((8, 5)) + 0.3 * rng.standard_normal((40, 5))
    model = MultiTaskPD(alpha, tol=1e-8).fit(X, Y)
    peer = MultiTaskLasso(alpha, tol=1e-8, max_iter=100_000).fit(X, Y)
    residuals = Y - peer.predict(X)
    objective = np.sum(residuals**2) / 80.0 + alpha * np.sum(np.linalg.norm(peer.coef_, axis=0))
    certificate = model.certificate_
    assert certificate.dual <= objective * (1.0 + 1e-9)
    assert certificate.primal <= objective * (1.0 + 1e-6)

"""Sums of kernels against Clarabel, and what their attributes say."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import cross_val_score

from skpd import MKLClassifier, MKLRegressor
from tests.oracles.optima import optimal_value

KERNELS = ["linear", ("rbf", {"gamma": 0.5}), ("rbf", {"gamma": 20.0})]


@pytest.fixture(scope="module")
def moons():
    return make_moons(80, noise=0.25, random_state=0)


def matrices(X):
    return [linear_kernel(X), rbf_kernel(X, gamma=0.5), rbf_kernel(X, gamma=20.0)]


def optimum(tables, losses, alpha, half_square):
    """Of the values of the functions at the rows: f = F v with K = F F'."""
    factors = []
    for table in tables:
        values, vectors = np.linalg.eigh(table / np.mean(np.diagonal(table)))
        factors.append(vectors * np.sqrt(np.maximum(values, 0.0)))
    cp = pytest.importorskip("cvxpy")
    parts, b = [cp.Variable(len(F)) for F in factors], cp.Variable()
    z = sum(F @ v for F, v in zip(factors, parts, strict=True)) + b
    norms = [cp.norm2(v) for v in parts]
    penalty = cp.square(sum(norms)) / 2 if half_square else sum(norms)
    value = optimal_value(cp.Problem(cp.Minimize(losses(cp, z) + alpha * penalty)))
    return value, np.array([norm.value for norm in norms])


@pytest.mark.parametrize("penalty", ["sum", "half_square"])
@pytest.mark.parametrize("alpha", [0.1, 3e-3])
def test_hinge(moons, penalty, alpha):
    X, y = moons
    signs = 2.0 * y - 1.0
    value, norms = optimum(
        matrices(X), lambda cp, z: cp.sum(cp.pos(1 - cp.multiply(signs, z))) / len(y), alpha,
        penalty == "half_square",
    )  # fmt: skip
    model = MKLClassifier(alpha, kernels=KERNELS, penalty=penalty, tol=1e-8).fit(X, y)
    assert model.converged_
    assert model.certificate_.dual <= value + 1e-9
    assert_allclose(model.certificate_.primal, value, atol=2e-8)
    assert_allclose(model.kernel_weights_, norms / norms.sum(), atol=2e-3)


@pytest.mark.parametrize("penalty", ["sum", "half_square"])
def test_squared_loss(rng, penalty):
    X = rng.uniform(0.0, 6.0, size=(60, 1))
    y = np.sin(3.0 * X[:, 0]) + X[:, 0]
    value, norms = optimum(
        matrices(X), lambda cp, z: cp.sum_squares(z - y) / (2 * len(y)), 0.02,
        penalty == "half_square",
    )  # fmt: skip
    model = MKLRegressor(
        0.02, kernels=KERNELS, penalty=penalty, loss="squared", tol=1e-8
    ).fit(X, y)  # fmt: skip
    assert model.certificate_.dual <= value + 1e-9
    assert_allclose(model.certificate_.primal, value, atol=3e-8)
    assert_allclose(model.kernel_weights_, norms / norms.sum(), atol=2e-3)


def test_precomputed(moons):
    """The values of all kernels in a third dimension, also in cross-validation."""
    X, y = moons
    table = np.stack(matrices(X), axis=2)
    named = MKLClassifier(kernels=KERNELS).fit(X, y)
    given = MKLClassifier(kernels="precomputed").fit(table, y)
    assert_allclose(given.kernel_weights_, named.kernel_weights_, atol=1e-6)
    assert_allclose(given.decision_function(table), named.decision_function(X), atol=1e-6)
    scores = cross_val_score(MKLClassifier(kernels="precomputed"), table, y, cv=2)
    assert_allclose(scores, cross_val_score(MKLClassifier(kernels=KERNELS), X, y, cv=2), atol=0.03)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("penalty", ["sum", "half_square"])
@pytest.mark.parametrize("alpha", [1e-2, 1e-4])
def test_the_certificate_is_that_of_the_predictions_of_indefinite_matrices(rng, penalty, alpha):
    """Recomputed in 50 digits."""
    tables = [B @ B.T for B in rng.normal(size=(2, 16, 3))]
    table = np.stack([t - 1e-8 * np.trace(t) / 16 * np.eye(16) for t in tables], axis=2)
    y = np.sign(tables[0][0] + tables[1][1] + rng.normal(size=16))
    model = MKLClassifier(
        alpha, kernels="precomputed", penalty=penalty, scale_kernels=False, tol=1e-9
    ).fit(table, y)  # fmt: skip
    with localcontext() as context:
        context.prec = 50
        K = np.vectorize(Decimal, otypes=[object])(table[:, model.support_])
        a = np.vectorize(Decimal, otypes=[object])(model.support_coef_[0])
        parts = [K[:, :, k] @ a[k] for k in range(2)]
        squares = [a[k] @ parts[k][model.support_] for k in range(2)]
        total = sum(max(square, Decimal(0)).sqrt() for square in squares)
        scores = sum(parts) + Decimal(model.intercept_[0])
        margins = [int(t) * z for t, z in zip(y, scores, strict=True)]
        losses = sum(max(1 - margin, Decimal(0)) for margin in margins) / 16
        of_norms = total**2 / 2 if penalty == "half_square" else total
        exact = losses + Decimal(alpha) * of_norms
        assert Decimal(model.certificate_.primal) >= exact
    assert model.certificate_.primal <= float(exact) + model.duality_gap_


def test_classes():
    X, y = load_iris(return_X_y=True)
    model = MKLClassifier(kernels=KERNELS).fit(X, y)
    assert model.kernel_weights_.shape == (3, 3)
    assert_allclose(model.kernel_weights_.sum(axis=1), 1.0)
    assert model.support_coef_.shape == (3, 3, len(model.support_))
    assert model.score(X, y) > 0.95


def test_errors(moons):
    X, y = moons
    with pytest.raises(ValueError, match=r"kernels must hold functions or names.*got 'gauss'"):
        MKLClassifier(kernels=["gauss"]).fit(X, y)
    with pytest.raises(ValueError, match="at least one kernel"):
        MKLClassifier(kernels=[]).fit(X, y)
    with pytest.raises(ValueError, match=r"kernels\[1\] must make a positive semidefinite"):
        sigmoid = ("sigmoid", {"gamma": 2.0, "coef0": -1.0})
        MKLClassifier(kernels=["linear", sigmoid]).fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(n_samples, n_samples, n_kernels\)"):
        MKLClassifier(kernels="precomputed").fit(X, y)

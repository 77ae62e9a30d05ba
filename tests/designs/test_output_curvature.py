"""The curvature of several outputs, its products and its approximate inverses."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.special import entr, log_softmax, softmax
from sklearn.datasets import load_wine

from skpd import MultinomialPD
from skpd.designs import Design, newton_cost_of_outputs, outputs_gram
from skpd.designs.outputs import SharedDesign
from skpd.designs.outputs_curvature import GramMatrices, OutputColumns
from skpd.designs.outputs_gram import OutputsGram
from skpd.losses import Softmax
from skpd.penalties import GroupL2
from skpd.solvers.newton.output_quadratic import minimise_blocks
from skpd.solvers.newton.output_systems import _without_rows


def dense(times, shape):
    """The matrix of a linear map of tables."""
    units = np.eye(shape[0] * shape[1]).reshape(-1, *shape)
    return np.array([np.ravel(times(unit)) for unit in units]).T


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_derivatives_of_the_softmax(scale, rng):
    n, K = 130, 5
    z, classes, shares = scale * rng.normal(size=(n, K)), rng.integers(K, size=n), rng.random(n)
    y, weights = np.ravel(np.eye(K)[classes]), np.repeat(shares, K)
    derivative, gradient, d, e = (np.empty(n * K) for _ in range(4))
    primal, dual = Softmax(K).evaluator.smoothed_derivatives(
        y, weights, np.zeros(n * K), np.ravel(z), np.inf, derivative, gradient, d, e
    )
    p = softmax(z, axis=1)
    assert_allclose(primal, -shares @ log_softmax(z, axis=1)[np.arange(n), classes], rtol=1e-12)
    assert_allclose(dual, shares @ entr(p).sum(axis=1), rtol=1e-12)
    assert_allclose(derivative, np.ravel(p) - y, atol=1e-15)
    assert_allclose(gradient, weights * derivative)
    assert_allclose(d, np.ravel(shares[:, None] * p), rtol=1e-12, atol=1e-300)
    assert_allclose(e, np.ravel(np.sqrt(shares)[:, None] * p), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("layout", [np.asfortranarray, np.ascontiguousarray, sp.csr_array])
@pytest.mark.parametrize(("n", "K", "ones"), [(700, 5, True), (63, 2, False), (3, 1, True)])
def test_products_with_the_curvature_of_coupled_outputs(layout, n, K, ones, rng):
    X, features = layout(rng.normal(size=(n, 9))), np.array([0, 2, 3, 5, 6, 8])
    A = np.column_stack([Design(X).table(features), np.ones((n, int(ones)))])
    d, e, V = rng.random((n, K)), rng.random((n, K)), rng.normal(size=(A.shape[1], K))
    mask, ridge = rng.random(V.shape) < 0.8, rng.random(V.shape)
    V[~mask] = ridge[~mask] = 0.0
    design = Design(X)
    H = OutputColumns(design, features, ones, d, e, mask, ridge, design.columns(features))
    z = A @ V
    expected = A.T @ (d * z - e * np.sum(e * z, axis=1, keepdims=True)) + ridge * V
    assert_allclose(H.times(V), np.where(mask, expected, 0.0), atol=1e-9)


def wide_outputs(rng, agree, with_ridge=True, layout=np.asarray):
    """The curvature of outputs of wide data, some rows without any, and the matrices it has."""
    n, d, K = 9, 40, 3
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    design = SharedDesign(Design(layout(X)), K)
    h = np.repeat(rng.random((n, 1)), K, axis=1) if agree else rng.random((n, K))
    h *= rng.random((n, 1 if agree else K)) < 0.8
    features = np.flatnonzero(rng.random(d) < 0.8)
    columns = np.ravel(features[:, np.newaxis] * K + np.arange(K))
    m = len(features) + 1
    ridge = np.repeat(rng.random(m), K) if with_ridge else None
    gram = OutputsGram(K, ones=True, agree=agree, all_at_once=False)
    H = gram.curvature(design, np.ravel(h), None, columns, scale=0.5, ridge=ridge)
    A = np.column_stack([X[:, features], np.ones(n)])
    matrices = 0.5 * np.einsum("ij,ik,il->jlk", A, h, A)
    if with_ridge:
        np.einsum("jjk->jk", matrices)[:] += ridge.reshape(m, K)
    return H, matrices


@pytest.mark.parametrize("with_ridge", [True, False])
@pytest.mark.parametrize("layout", [np.asfortranarray, np.ascontiguousarray, sp.csr_array])
@pytest.mark.parametrize("agree", [True, False])
def test_products_with_columns_of_wide_data(agree, layout, with_ridge, rng):
    H, matrices = wide_outputs(rng, agree, with_ridge, layout)
    assert isinstance(H, OutputColumns)
    grams = GramMatrices(matrices[..., :1] if agree else matrices, matrices.shape[2])
    P = rng.normal(size=matrices.shape[1:])
    assert_allclose(H.times(P), np.einsum("ijk,jk->ik", matrices, P), atol=1e-11)
    assert_allclose(grams.times(P), H.times(P), atol=1e-11)
    assert_allclose(grams.diagonal, H.diagonal + H.ridge, rtol=1e-11)


@pytest.mark.parametrize("agree", [True, False])
def test_sweeps_go_on_while_the_support_stays(agree, rng):
    """Up to the solution of the linear systems, without a norm in the penalty."""
    n_samples, d, K, l2 = 100, 20, 3, 0.5
    X = rng.normal(size=(n_samples, d))
    design = SharedDesign(Design(X), K)
    h = np.repeat(rng.random((n_samples, 1)), K, axis=1) if agree else rng.random((n_samples, K))
    gram = OutputsGram(K, ones=False, agree=agree, all_at_once=False)
    H = gram.curvature(design, np.ravel(h), None, np.arange(d * K), scale=1.0, ridge=None)
    assert isinstance(H, GramMatrices)
    G, P = rng.normal(size=(d, K)), np.zeros((d, K))
    R = G.copy()
    assert H.descend((np.zeros(d), 0.0, l2), P, R, sweeps=20_000, tol=1e-12) <= 1e-12
    systems = np.einsum("ij,ik,il->kjl", X, h, X) + l2 * np.eye(d)
    assert_allclose(P.T, -np.linalg.solve(systems, G.T[..., np.newaxis])[..., 0], atol=1e-10)
    assert_allclose(R, -l2 * P, atol=1e-10)


def wide(seed, n=60, d=150, correlation=0.95, n_outputs=3):
    """Features of an autoregression with fewer rows, and outputs that depend on ten of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1.0 - correlation**2) * X[:, j]
    signal = X[:, ::15] @ rng.normal(size=(d // 15, n_outputs))
    return X, signal + 0.3 * rng.normal(size=signal.shape)


@pytest.mark.parametrize("n_blocks", [1, 3])
def test_the_minimiser_of_blocks_is_optimal(n_blocks):
    """Also where the outputs have matrices of their own, with intercepts in the last row."""
    X, Y = wide(1)
    A = np.column_stack([X, np.ones(len(X))])
    scales = np.array([1.0, 2.0, 0.5])[:n_blocks]
    matrices = np.multiply.outer(A.T @ A / len(X), scales)
    G = -A.T @ Y / len(X)
    alpha = 0.01 * np.max(np.linalg.norm(G[:-1], axis=1))
    of_rows = np.where(np.arange(150) % 40 == 10, 0.0, 1.0)  # with rows that are not penalised
    penalty = GroupL2(np.repeat(np.arange(150), 3), weights=of_rows).for_n_features(450)
    columns = np.arange(450)
    p = minimise_blocks(
        GramMatrices(matrices, 3), np.ravel(G), np.zeros(453), penalty, alpha, columns, 1e-9
    ).reshape(-1, 3)
    gradient = G + np.einsum("ijk,jk->ik", np.broadcast_to(matrices, (151, 151, 3)), p)
    weights, norms = alpha * of_rows[:, np.newaxis], np.linalg.norm(p[:-1], axis=1)
    used = norms > 0.0
    assert 5 < np.count_nonzero(used) < 150
    slopes = (weights * p[:-1])[used] / norms[used, np.newaxis]
    assert_allclose(-gradient[:-1][used], slopes, rtol=0, atol=1e-8)
    assert np.all(np.linalg.norm(gradient[:-1], axis=1) <= weights[:, 0] + 1e-8)
    assert_allclose(gradient[-1], 0.0, atol=1e-8)


def test_inverses_without_rows(rng):
    """Woodbury's identity, with the matrix itself inverted for comparison."""
    m, K, rows = 5, 4, np.array([1, 3])
    diagonal, u = rng.random((m, K)) + 1.0, rng.normal(size=(2, K))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    D, matrix = np.array([0.5, 0.9]), np.diag(np.ravel(diagonal))
    for row, strength, direction in zip(rows, D, u, strict=True):
        own = slice(row * K, (row + 1) * K)
        matrix[own, own] -= strength * np.outer(direction, direction)
    found = dense(_without_rows(1.0 / diagonal, rows, D, u), (m, K))
    assert_allclose(found @ matrix, np.eye(m * K), atol=1e-8)


@pytest.mark.parametrize("penalty", ["l21", "l1"])
def test_matrices_and_products_find_the_same_model(penalty, monkeypatch):
    """With features of scales from 0.1 to 1,000, as they come."""
    X, y = load_wine(return_X_y=True)
    model = MultinomialPD(1e-2, penalty=penalty, tol=1e-9)
    by_matrix = model.fit(X, y).certificate_
    monkeypatch.setattr(outputs_gram, "LARGEST_MATRIX", 0)
    by_products = model.fit(X, y).certificate_
    assert model.converged_ and model.solver_ == "multipliers"
    assert_allclose(by_products.primal, by_matrix.primal, rtol=1e-8)


def test_a_step_on_many_entries_costs_products_with_x(rng):
    """A matrix over 4,001 entries would take 4,001^3 / 3 multiplications for its factor."""
    design = SharedDesign(Design(rng.normal(size=(60, 900))), 10)
    few, many = (newton_cost_of_outputs(design, 600, m, couples=True) for m in (4000, 4001))
    assert many < 60 * 900 * 10 * 1000 < few

"""The curvature of several outputs, its products and its approximate inverses."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.special import entr, log_softmax, softmax
from sklearn.datasets import load_wine

from skpd import MultinomialPD, kernels
from skpd.designs import Design, newton_cost_of_outputs, outputs_gram
from skpd.designs import outputs_moment_preconditioner as outputs_moments
from skpd.designs.output_inverses import RowSpaceInverses
from skpd.designs.outputs import SharedDesign
from skpd.designs.outputs_curvature import GramMatrices, WideOutputs
from skpd.designs.outputs_gram import OutputsGram
from skpd.designs.outputs_moment_preconditioner import FeatureMoments
from skpd.losses import Softmax
from skpd.solvers.newton.output_preconditioners import _Averaged, _Rowwise, without_rows


def dense(times, shape):
    """The matrix of a linear map of tables."""
    units = np.eye(shape[0] * shape[1]).reshape(-1, *shape)
    return np.array([np.ravel(times(unit)) for unit in units]).T


def positive_definite(rng, n):
    A = rng.normal(size=(n, n))
    return A @ A.T + np.eye(n)


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


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "K", "ones"), [(700, 5, True), (63, 2, False), (3, 1, True)])
def test_products_with_the_curvature_of_dense_columns(dtype, n, K, ones, rng):
    X = np.asfortranarray(rng.normal(size=(n, 9)).astype(dtype))
    features = np.array([0, 2, 3, 5, 6, 8])
    A = np.column_stack([X[:, features], np.ones((n, int(ones)))]).astype(float)
    d, e, V = rng.random((n, K)), rng.random((n, K)), rng.normal(size=(A.shape[1], K))
    out = np.empty(V.shape)
    matrix = Design(X, by_columns=True).matrix
    kernels.curvature_product_by_columns(matrix, features, ones, d, e, V, out)
    z = A @ V
    assert_allclose(out, A.T @ (d * z - e * np.sum(e * z, axis=1, keepdims=True)), atol=1e-9)


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
def test_columns_of_wide_data_serve_as_gram_matrices(agree, layout, with_ridge, rng):
    """Sweeps over the features, products and the mean of the diagonal, with intercepts."""
    H, matrices = wide_outputs(rng, agree, with_ridge, layout)
    m, K = matrices.shape[1:]
    assert isinstance(H, WideOutputs)
    grams = GramMatrices(matrices[..., :1] if agree else matrices, K)
    assert H.n_blocks == grams.n_blocks == (1 if agree else K)
    assert_allclose(H.curvatures, grams.curvatures, rtol=1e-11)
    penalty, G = (rng.random(m - 1), 0.1, 0.2), rng.normal(size=(m, K))
    P, R = rng.normal(size=(m, K)), G.copy()
    assert_allclose(H.times(P), np.einsum("ijk,jk->ik", matrices, P), atol=1e-11)
    assert_allclose(grams.times(P), H.times(P), atol=1e-11)
    others = P.copy(), R.copy()
    for _ in range(2):
        change = H.descend(penalty, P, R, sweeps=2, tol=0.0)
        assert_allclose(change, grams.descend(penalty, *others, sweeps=2, tol=0.0), rtol=1e-7)
        assert_allclose(P, others[0], rtol=1e-7, atol=1e-9)
        assert_allclose(R, others[1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("agree", [True, False])
@pytest.mark.parametrize("n_features", [5, 15, 30])
@pytest.mark.parametrize("form", ["matrices", np.asarray, sp.csr_array])
def test_systems_of_outputs_with_norms_of_rows(form, n_features, agree, rng):
    """Against dense systems, with fewer and more features than rows, and than those of outputs."""
    as_matrices = form == "matrices"
    H, matrices = wide_outputs(rng, agree, layout=np.asarray if as_matrices else form)
    m, K = matrices.shape[1:]
    if as_matrices:
        H = GramMatrices(matrices[..., :1] if agree else matrices, K)
    features = np.append(np.sort(rng.choice(m - 1, n_features - 1, replace=False)), m - 1)
    D = rng.random(n_features - 1)  # the intercepts have no norm
    u = rng.normal(size=(n_features - 1, K))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    diagonal = np.append(D, 0.0) + 0.1
    inverses = H.inverses(features, diagonal, len(D), np.float64)
    systems = matrices[np.ix_(features, features)].transpose(2, 0, 1) + np.diag(diagonal)
    right = rng.normal(size=(n_features, K))
    expected = np.linalg.solve(systems, right.T[..., np.newaxis])[..., 0].T
    assert_allclose(inverses.times(right), expected, atol=1e-9)
    C = np.diag(1.0 / D)
    for inverse, of_output in zip(np.linalg.inv(systems), u.T, strict=True):
        C -= inverse[:-1, :-1] * np.outer(of_output, of_output)
    solution = inverses.solve_coupled(D, u, right[:-1, 0])
    assert_allclose(C @ solution, right[:-1, 0], atol=1e-8)
    single = H.inverses(features, diagonal, len(D), np.float32)
    assert_allclose(single.times(right), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("agree", [True, False])
@pytest.mark.parametrize("n_samples", [9, 100])
def test_sweeps_go_on_while_the_support_stays(agree, n_samples, rng):
    """Up to the solution of the linear systems, without a norm in the penalty."""
    d, K, l2 = 20, 3, 0.5
    X = rng.normal(size=(n_samples, d))
    design = SharedDesign(Design(X), K)
    h = np.repeat(rng.random((n_samples, 1)), K, axis=1) if agree else rng.random((n_samples, K))
    gram = OutputsGram(K, ones=False, agree=agree, all_at_once=False)
    H = gram.curvature(design, np.ravel(h), None, np.arange(d * K), scale=1.0, ridge=None)
    assert isinstance(H, WideOutputs) == (n_samples == 9)
    assert H.n_blocks == (1 if agree else K)
    G, P = rng.normal(size=(d, K)), np.zeros((d, K))
    R = G.copy()
    assert H.descend((np.zeros(d), 0.0, l2), P, R, sweeps=20_000, tol=1e-12) <= 1e-12
    systems = np.einsum("ij,ik,il->kjl", X, h, X) + l2 * np.eye(d)
    assert_allclose(P.T, -np.linalg.solve(systems, G.T[..., np.newaxis])[..., 0], atol=1e-10)
    assert_allclose(R, -l2 * P, atol=1e-10)


@pytest.mark.parametrize("n_rows", [300, 30])
def test_moments_become_those_of_the_features(n_rows, monkeypatch, rng):
    X, weights, ridge = rng.normal(size=(n_rows, 50)), rng.random(n_rows), 0.3
    C = positive_definite(rng, 3)
    monkeypatch.setattr(outputs_moments, "SMALL", 0)
    moments = FeatureMoments(Design(X), weights, False, n_outputs=3, is_curvature=False)
    G = X.T @ (weights[:, None] * X) / np.sum(weights)
    diagonal = np.kron(np.diag(np.diag(G)), C) + ridge * np.eye(150)
    first = dense(moments.now.inverse(C, ridge), (50, 3))
    assert_allclose(first @ diagonal, np.eye(150), atol=1e-9)
    assert 0.0 < moments.max_steps < np.inf
    moments.learn()
    exact = np.kron(G, C) + ridge * np.eye(150)
    assert_allclose(dense(moments.now.inverse(C, ridge), (50, 3)) @ exact, np.eye(150), atol=1e-8)


@pytest.mark.parametrize("kind", ["averaged", "common", "rowwise"])
def test_preconditioners_without_rows(kind, rng):
    """Woodbury's identity, with the matrix itself inverted for comparison."""
    m, K, support = 7, 4, np.array([0, 1, 2, 4, 6])
    G, ridge = positive_definite(rng, len(support)), rng.random(len(support)) + 1.0
    if kind == "rowwise":
        C = positive_definite(rng, K)
        inner = _Rowwise(G.diagonal().copy(), C, ridge, support)
        matrix = np.kron(np.diag(G.diagonal()), C)
    else:
        inner = _Averaged(G.copy(), ridge, support, kind == "common")
        matrix = np.kron(G, np.eye(K) - (kind == "common") / K)
    matrix += np.kron(np.diag(ridge), np.eye(K))
    rows, u = support[[1, 3]], rng.normal(size=(2, K))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    D = np.array([0.5, 0.9])
    for row, strength, direction in zip([1, 3], D, u, strict=True):
        own = slice(row * K, (row + 1) * K)
        matrix[own, own] -= strength * np.outer(direction, direction)
    found = dense(without_rows(inner, rows, D, u), (m, K))
    places = np.ravel(np.add.outer(support * K, np.arange(K)))
    assert_allclose(found[np.ix_(places, places)] @ matrix, np.eye(len(places)), atol=1e-8)


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


def test_outputs_without_curvature_have_diagonal_inverses(rng):
    """As where all rows of an output lie on linear pieces of their losses."""
    factors, s = [np.empty((0, 4)), rng.normal(size=(2, 4))], 1.0 + rng.random((4, 2))
    inverses, table = RowSpaceInverses(factors, s, 4), rng.normal(size=(4, 2))
    expected = table / s
    expected[:, 1] = np.linalg.solve(factors[1].T @ factors[1] + np.diag(s[:, 1]), table[:, 1])
    assert_allclose(inverses.times(table), expected, rtol=1e-12)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("n_free", [1, 5])
def test_features_without_a_norm_lose_no_accuracy(n_free, n_outputs, rng):
    """Their ridge is tiny: residuals were .01 at 1e-14, by the difference of large inverses."""
    n, m = 20, 60
    A = np.column_stack([rng.normal(size=(n, m - 1)), np.ones(n)])
    factors = [A * np.sqrt(rng.random((n, 1))) for _ in range(n_outputs)]
    s = np.full((m, n_outputs), 1e-14)
    s[: m - n_free] = 0.1 + rng.random((m - n_free, 1))
    inverses = RowSpaceInverses(factors, s, m - n_free)
    M = np.stack([A.T @ A + np.diag(s[:, k]) for k, A in enumerate(factors)])
    right = np.column_stack([A.T @ rng.normal(size=n) for A in factors])
    x = inverses.times(right)
    residual = np.einsum("kij,jk->ik", M, x) - right
    assert np.max(np.abs(residual)) < 1e-10 * np.max(np.abs(right))
    # the entries of M^-1 for features with a norm, from a block elimination in exact arithmetic
    # for a ridge of 0: the other features are projected away
    D, u = 0.5 * s[: m - n_free, 0], np.full((m - n_free, n_outputs), n_outputs**-0.5)
    C = np.diag(1.0 / D)
    for A in factors:
        free, *_ = np.linalg.qr(A[:, m - n_free :])
        others = A[:, : m - n_free] - free @ (free.T @ A[:, : m - n_free])
        inverse = np.linalg.inv(others.T @ others + np.diag(s[: m - n_free, 0]))
        C -= inverse / n_outputs
    right = rng.normal(size=m - n_free)
    assert_allclose(C @ inverses.solve_coupled(D, u, right), right, atol=1e-9)

"""`TraceNormPD(n_columns=...)`: rows that are matrices A_i, with predictions <A_i, W> + b."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from skpd import TraceNormPD, certify
from tests.oracles.optima import optimal_value

D, C = 6, 4


def measurements(rng, n=30):
    """Matrices A_i, numbers <A_i, W> of a matrix of rank 1 with noise, and its trace norm."""
    A, W = rng.normal(size=(n, D, C)), np.outer(rng.normal(size=D), rng.normal(size=C))
    return A, np.einsum("ijk,jk->i", A, W) + 0.3 * rng.normal(size=n) + 1.0, np.linalg.norm(W)


def optimum(A, y, losses, alpha, radius, fit_intercept):
    """By cones, of the mean loss as a function of predictions and targets."""
    cp = pytest.importorskip("cvxpy")
    W, b = cp.Variable((D, C)), cp.Variable() if fit_intercept else 0.0
    z = cp.hstack([cp.sum(cp.multiply(one, W)) for one in A]) + b
    norm, objective = cp.normNuc(W), losses(cp, z, y) / len(y)
    if radius is None:
        return optimal_value(cp.Problem(cp.Minimize(objective + alpha * norm)))
    objective += 0.5 * alpha * cp.sum_squares(W)
    return optimal_value(cp.Problem(cp.Minimize(objective), [norm <= radius]))


LOSSES = {
    "squared": lambda cp, z, y: 0.5 * cp.sum_squares(z - y),
    "huber": lambda cp, z, y: 0.5 * cp.sum(cp.huber(z - y, 1.35)),
    "absolute": lambda cp, z, y: cp.norm1(z - y),
    "logistic": lambda cp, z, y: cp.sum(cp.logistic(-cp.multiply(y, z))),
    "hinge": lambda cp, z, y: cp.sum(cp.pos(1.0 - cp.multiply(y, z))),
}


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("share", [0.5, None])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_certificate_holds_the_optimum_of_cones(loss, share, fit_intercept, rng):
    A, y, norm = measurements(rng)
    y = np.sign(y) if loss in ("logistic", "hinge") else y
    radius = None if share is None else share * norm
    best = optimum(A, y, LOSSES[loss], 0.05, radius, fit_intercept)
    model = TraceNormPD(
        0.05, radius=radius, loss=loss, n_columns=C, fit_intercept=fit_intercept, tol=1e-6
    ).fit(A.reshape(len(y), -1), y)
    found = model.certificate_
    slack = 1e-7 * best  # of the optimum by cones
    assert found.dual <= best + slack and found.primal >= best - slack
    assert found.relative_gap <= 1e-6
    W = model.coef_.reshape(D, C)
    assert radius is None or np.linalg.norm(W, "nuc") <= radius
    assert model.rank_ == np.linalg.matrix_rank(W, tol=1e-8 * np.linalg.norm(W, 2))
    z = np.einsum("ijk,jk->i", A, W) + model.intercept_
    assert_allclose(model.predict(A.reshape(len(y), -1)), z, rtol=1e-12, atol=1e-12)


def entries(rng, n=16):
    """Some entries of a matrix as rows with a single 1, and their values."""
    places = rng.choice(D * C, size=n, replace=False)
    X = sp.csr_array((np.ones(n), (np.arange(n), places)), shape=(n, D * C))
    M = np.outer(rng.normal(size=D), rng.normal(size=C))
    return X, M.ravel()[places] + 0.1 * rng.normal(size=n), np.linalg.norm(M)


def test_completion_with_a_radius(rng):
    """Rows with a single 1 are entries of W."""
    X, y, norm = entries(rng)
    model = TraceNormPD(1e-3, radius=norm, n_columns=C, fit_intercept=False, tol=1e-7).fit(X, y)
    A = X.toarray().reshape(-1, D, C)
    best = optimum(A, y, LOSSES["squared"], 1e-3, norm, False)
    assert model.certificate_.dual <= best * (1 + 1e-7)
    assert model.certificate_.primal >= best * (1 - 1e-7)
    assert model.certificate_.relative_gap <= 1e-7


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_block_frank_wolfe_of_matrices(container, fit_intercept, rng):
    """Algorithm 2 as printed bounds the optimum, and reaches it with a longer dual step."""
    A, y, norm = measurements(rng)
    X = container(A.reshape(len(y), -1))
    best = optimum(A, y, LOSSES["squared"], 0.5, 0.5 * norm, fit_intercept)
    parameters = {"radius": 0.5 * norm, "n_columns": C, "fit_intercept": fit_intercept}
    model = TraceNormPD(0.5, **parameters, solver="frank-wolfe", max_iter=50, tol=1e-8)
    with pytest.warns(ConvergenceWarning):
        printed = model.fit(X, y).certificate_
    assert printed.dual <= best * (1 + 1e-7) and printed.primal >= best * (1 - 1e-7)
    model.set_params(solver_options={"delta": 3.0, "n_rows": len(y)}, max_iter=5000)
    longer = model.fit(X, y).certificate_
    assert longer.relative_gap <= 1e-8
    assert_allclose(longer.primal, best, rtol=1e-7)
    assert certify(model, X, y).relative_gap <= 2e-8


def test_a_column_is_a_vector_of_features(rng):
    """Matrices of one column are rows of features, whose trace norm is the Euclidean norm."""
    X, y = rng.normal(size=(20, 5)), rng.normal(size=20)
    models = [
        TraceNormPD(0.1, radius=0.2, n_columns=n_columns, tol=1e-9).fit(X, y)
        for n_columns in (None, 1, 5)
    ]
    for model in models:  # neither does it matter whether the vector is a row or a column
        assert_allclose(model.coef_, models[0].coef_, atol=1e-4)
        assert model.rank_ == 1


@pytest.mark.parametrize("n_columns, n_targets", [(4, 1), (5, 2)])
def test_columns_that_do_not_fit(n_columns, n_targets, rng):
    X, Y = rng.normal(size=(9, 10)), rng.normal(size=(9, n_targets)).squeeze()
    with pytest.raises(ValueError, match=f"^n_columns must divide .* got n_columns={n_columns}"):
        TraceNormPD(n_columns=n_columns).fit(X, Y)

"""Algorithm 2 of Lei et al. (2019), as printed: iterates up to the 50th.

The algorithm is transcribed from the paper here and shares nothing with the package but the data.
The rows of the data are rows a_i' of a matrix A, with predictions a_i' W, or matrices A_i, with
predictions <A_i, W>, which is the form of matrix completion, affine rank minimisation and phase
retrieval that the paper names.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from skpd import TraceNormPD
from skpd.designs import Design
from skpd.losses import SmoothedHinge, Squared
from skpd.penalties import L1Ball, Spectral, SquaredL2OnL1Ball
from skpd.problems.output_rows import outputs_problem
from skpd.solvers import solve
from tests.oracles.projections import onto_l1_ball

COMPARED = (1, 2, 3, 5, 10, 50)  # iterations


# The maximisers over u of slope u - f*(u) - (u - dual)^2 / (2 step)


def squared_step(dual, slope, step, Y):
    """The proximal step of f_i*(y) = y^2 / 2 + y y_i."""
    return (dual + step * (slope - Y)) / (1 + step)


def hinge_step(dual, slope, step, Y):
    """The proximal step of the conjugate of the smoothed hinge, v + v^2 / 2 at v = y y_i."""
    return Y * np.clip((Y * dual + step * (Y * slope - 1)) / (1 + step), -1, 0)


def of_features(rng, n, d, c):
    """A W, A'Y for some rows of Y, the largest singular value of A, and X and Y for the package"""
    A = rng.normal(size=(n, d))
    Y = np.where(rng.normal(size=(n, c)) > 0, 1.0, -1.0)
    return lambda W: A @ W, lambda Y, rows: A[rows].T @ Y, np.linalg.norm(A, 2), A, Y


def of_matrices(rng, n, d, c):
    """The same for the map from W to <A_i, W>."""
    A = rng.normal(size=(n, d, c))
    y = np.where(rng.normal(size=(n, 1)) > 0, 1.0, -1.0)
    size = np.linalg.norm(A.reshape(n, -1), 2)

    def products(W):
        return np.einsum("ijk,jk->i", A, W)[:, None]

    return products, lambda Y, rows: np.tensordot(Y[:, 0], A[rows], 1), size, A.reshape(n, -1), y


@pytest.mark.parametrize("given", [{}, {"eta": 0.25, "delta": 4.0}, {"n_rows": 40}], ids=str)
@pytest.mark.parametrize("loss, dual_step", [
    (Squared(), squared_step), (SmoothedHinge(mu=1.0), hinge_step),
])  # fmt: skip
@pytest.mark.parametrize("linear_map", [of_features, of_matrices])
def test_algorithm_2_of_block_frank_wolfe(linear_map, loss, dual_step, given, rng):
    n, d, c, s, mu, radius = 40, 6, 5, 2, 0.3, 1.5
    forward, back, size, X, Y = linear_map(rng, n, d, c)
    k = given.get("n_rows", int(n * s * (1 / c + 1 / d)))
    # Theorem 4.3 with beta = alpha = 1 and L = mu
    delta = 1 / (k * (1 / n + 5 * size**2 / (2 * mu * n**2) * (1 + 8)))
    eta, delta = given.get("eta", 0.5), given.get("delta", delta)
    problem = outputs_problem(
        Design(X), Y, np.full(n, 1 / n), loss, Spectral(SquaredL2OnL1Ball(radius), c), alpha=mu,
        fit_intercept=False,
    )  # fmt: skip
    W, product, Z, dual = np.zeros((d, c)), np.zeros(Y.shape), np.zeros((d, c)), np.zeros(Y.shape)
    for t in range(1, COMPARED[-1] + 1):
        U, sigma, V = np.linalg.svd(W - (Z / n + mu * W) / (mu * eta))
        update = (U[:, :s] * onto_l1_ball(sigma[:s], radius)) @ V[:s]
        W = (1 - eta) * W + eta * update
        product = (1 - eta) * product + eta * forward(update)
        # (14) with 1 / n before <W, Y>, as in (10), and f* the mean of the f_i*
        moved = dual_step(dual, product, delta / n, Y)
        rows = np.argsort(-np.linalg.norm(moved - dual, axis=1), kind="stable")[:k]
        Z = Z + back((moved - dual)[rows], rows)
        dual[rows] = moved[rows]
        if t in COMPARED:
            random_state = np.random.RandomState(0)
            found = solve(
                problem, "frank-wolfe", tol=0.0, max_iter=t, random_state=random_state, rank=s,
                **given,
            )  # fmt: skip
            assert_allclose(found.coef.reshape(d, c), W, rtol=1e-9, atol=1e-9)
            assert_allclose(found.dual_coef.reshape(Y.shape), dual, rtol=1e-9, atol=1e-9)


def test_14_is_at_rest_at_the_saddle_point_only_with_1_over_n(rng):
    """Its argmax as printed, and with the 1 / n that (10) has, for squared loss of one output."""
    n, delta = 8, 3.0
    X, y = rng.normal(size=(n, 3)), rng.normal(size=n)
    model = TraceNormPD(0.1, radius=1.0, fit_intercept=False, tol=1e-13).fit(X, y)
    slopes = X @ model.coef_
    duals = slopes - y  # the gradients of the losses
    for factor, is_at_rest in ((1.0 / n, True), (1.0, False)):
        for slope, dual, target in zip(slopes, duals, y, strict=True):

            def falling(u, slope=slope, dual=dual, target=target, factor=factor):
                conjugates = (0.5 * u**2 + u * target) / n
                return conjugates - factor * slope * u + 0.5 * (u - dual) ** 2 / delta

            step = minimize_scalar(falling).x - dual
            assert (abs(step) < 1e-6) == is_at_rest


def test_mu_is_alpha_times_the_weight_of_the_squared_norm(rng):
    X, Y = rng.normal(size=(20, 6)), rng.normal(size=(20, 5))

    def fitted(ball, alpha):
        problem = outputs_problem(
            Design(X), Y, np.full(20, 0.05), Squared(), Spectral(ball, 5), alpha=alpha,
            fit_intercept=False,
        )  # fmt: skip
        random_state = np.random.RandomState(0)
        return solve(problem, "frank-wolfe", tol=0.0, max_iter=5, random_state=random_state)

    weighted = fitted(SquaredL2OnL1Ball(1.5, weight=3.0), 0.1)
    assert_allclose(weighted.coef, fitted(SquaredL2OnL1Ball(1.5), 0.3).coef, rtol=1e-9)
    with pytest.raises(ValueError, match="needs a radius with a squared Frobenius norm"):
        fitted(L1Ball(1.5), 0.3)

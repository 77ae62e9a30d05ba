"""Pdprox and block Frank-Wolfe as printed: the first 50 iterates on each paper's own problem.

The algorithms are transcribed from the papers here, in their order and with their step sizes, and
share nothing with the package but the data.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from skpd.designs import Design
from skpd.losses import EpsilonInsensitive, GeneralizedHinge, Hinge, Pinball, SmoothedHinge
from skpd.models.kernel_machines.matrix import KernelMatrix
from skpd.models.kernel_machines.problem import kernel_machines
from skpd.penalties import L1, GroupL2, SquaredL2, SquaredL2OnL1Ball
from skpd.problems import linear_problem
from skpd.solvers import solve
from tests.oracles.projections import onto_l1_ball

N = 50


def last_iterate(name, problem, n, **options):
    """The solution of a named method after n iterations, which is what its algorithm returns."""
    random_state = np.random.RandomState(0)
    return solve(problem, name, tol=1e-12, max_iter=n, random_state=random_state, **options)


def classes(rng, n, d):
    X = rng.normal(size=(n, d))
    y = np.where(X[:, :3].sum(axis=1) + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def posed(X, y, loss, penalty, alpha):
    return linear_problem(Design(X), y, np.full(len(y), 1 / len(y)), loss, penalty, alpha, False)


# Pdprox (Yang, Mahdavi, Jin and Zhu, 2015): hinge loss with group lasso


def hinge_with_groups(rng):
    X, y = classes(rng, 40, 12)
    lam, size = 0.05, 3
    H = -(X * y[:, None]).T / len(y)  # G_w = H alpha, G_alpha = (1 - y x.w) / n
    gamma = np.sqrt(1 / (2 * np.linalg.norm(H, 2) ** 2))

    def gradient(w):
        return (1 - y * (X @ w)) / len(y)

    def prox(v):
        out = v.copy()
        for g in range(0, 12, size):
            norm, shrink = np.linalg.norm(v[g : g + size]), gamma * lam * np.sqrt(size)
            out[g : g + size] *= 1 - shrink / norm if norm > shrink else 0.0
        return out

    problem = posed(X, y, Hinge(), GroupL2(groups=size), lam)
    return problem, H, gamma, gradient, prox


def project(alpha):
    return np.clip(alpha, 0, 1)


def compare_averages(name, problem, ws, alphas):
    for t in range(1, N + 1):
        found = last_iterate(name, problem, t)
        assert_allclose(found.coef, np.mean(ws[:t], axis=0), rtol=1e-9, atol=1e-9)
        assert_allclose(-problem.y * found.dual_coef, np.mean(alphas[:t], axis=0), atol=1e-9)


def test_algorithm_1_of_pdprox(rng):
    problem, H, gamma, gradient, prox = hinge_with_groups(rng)
    w, beta, ws, alphas = np.zeros(12), np.zeros(40), [], []
    for _ in range(N):
        alpha = project(beta + gamma * gradient(w))
        w = prox(w - gamma * (H @ alpha))
        beta = project(beta + gamma * gradient(w))
        ws.append(w)
        alphas.append(alpha)
    compare_averages("pdprox-dual", problem, ws, alphas)


def test_algorithm_1_of_pdprox_for_functions(rng):
    """(18) in the coefficients zeta of g = sum_i zeta_i k(x_i, .), with half the squared norm."""
    X, y = classes(rng, 40, 3)
    K, lam, n = rbf_kernel(X, gamma=2.0), 0.05, 40
    gamma = np.sqrt(n**2 / (2 * np.linalg.norm(K, 2)))  # 1 / sqrt(2 c), c the largest curvature
    (machine,) = kernel_machines(
        [KernelMatrix(K)], [y], np.full(n, 1 / n), loss=Hinge(), penalty_of=lambda of: SquaredL2(),
        alpha=lam, fit_intercept=False, tol=1e-12, factored=True,
    )  # fmt: skip
    zeta, beta, zetas, alphas = np.zeros(n), np.zeros(n), [], []
    for t in range(1, N + 1):
        alpha = project(beta + gamma * (1 - y * (K @ zeta)) / n)
        zeta = (zeta + gamma * y * alpha / n) / (1 + gamma * lam)
        beta = project(beta + gamma * (1 - y * (K @ zeta)) / n)
        zetas.append(zeta)
        alphas.append(alpha)
        found = last_iterate("pdprox-dual", machine.problem, t)
        weights = machine.expanded(found).weights[0]
        assert_allclose(K @ weights, K @ np.mean(zetas, axis=0), rtol=1e-9, atol=1e-9)
        assert_allclose(-y * found.dual_coef, np.mean(alphas, axis=0), atol=1e-9)


def test_algorithm_2_of_pdprox(rng):
    problem, H, gamma, gradient, prox = hinge_with_groups(rng)
    u, alpha, ws, alphas = np.zeros(12), np.zeros(40), [], []
    for _ in range(N):
        w = prox(u - gamma * (H @ alpha))
        before, alpha = alpha, project(alpha + gamma * gradient(w))
        u = w + gamma * (H @ (before - alpha))
        ws.append(w)
        alphas.append(alpha)
    compare_averages("pdprox-primal", problem, ws, alphas)


def onto_the_simplex_and_below(alpha):
    """The projection onto alpha_1, alpha_2 >= 0 with alpha_1 + alpha_2 <= 1, by its sides."""
    out = np.maximum(alpha, 0.0)
    for i in np.flatnonzero(out.sum(axis=1) > 1):
        shifted = alpha[i] - (alpha[i].sum() - 1) / 2
        out[i] = shifted if np.all(shifted >= 0) else (alpha[i] > alpha[i].min()).astype(float)
    return out


def two_multipliers(name, y):
    """The loss, and the slopes h and offsets b of its form max sum_k alpha_k (h_k z + b_k)."""
    one = np.ones_like(y)
    if name == "generalised hinge":
        return GeneralizedHinge(slope=3.0), np.stack([-3 * y, -y]), np.stack([one, one])
    if name == "epsilon-insensitive":
        return EpsilonInsensitive(0.2), np.stack([one, -one]), np.stack([-y - 0.2, y - 0.2])
    a = 0.3
    return Pinball(a), np.stack([-a * one, (1 - a) * one]), np.stack([a * y, -(1 - a) * y])


@pytest.mark.parametrize("algorithm", [1, 2, 3])
@pytest.mark.parametrize("name", ["generalised hinge", "epsilon-insensitive", "pinball"])
def test_pdprox_with_two_multipliers(name, algorithm, rng):
    """Section 3 of the paper: G_alpha = (h x.w + b) / n and G_w = sum_k X' (alpha_k h_k) / n."""
    X, y = classes(rng, 40, 12)
    y = y if name == "generalised hinge" else y + rng.normal(size=40)
    lam, n = 0.02, 40
    loss, h, b = two_multipliers(name, y)
    H = np.hstack([X.T * h[0], X.T * h[1]]) / n
    gamma = np.sqrt(1 / (2 * np.linalg.norm(H, 2) ** 2))

    def up(alpha, w, to=None):  # the gradient at w, or its change
        rows = (h * (X @ w)).T if to is None else (h * (X @ (w - to))).T
        return alpha + gamma * (rows if to is not None else rows + b.T) / n

    def down(w, alpha):
        moved = w - gamma * H @ alpha.T.ravel()
        return np.sign(moved) * np.maximum(np.abs(moved) - gamma * lam, 0)

    w, u, before, ws, thetas = np.zeros(12), np.zeros(12), np.zeros(12), [], []
    alpha = beta = np.zeros((n, 2))
    for _ in range(N):
        if algorithm == 2:
            w = down(u, alpha)
            last, alpha = alpha, onto_the_simplex_and_below(up(alpha, w))
            u = w + gamma * H @ (last - alpha).T.ravel()
        else:
            alpha = onto_the_simplex_and_below(up(beta, w))
            before, w = w, down(w, alpha)
            project = onto_the_simplex_and_below
            beta = project(up(beta, w)) if algorithm == 1 else up(alpha, w, before)
        ws.append(w)
        thetas.append(np.sum(h.T * alpha, axis=1))
    problem = posed(X, y, loss, L1(), lam)
    solver = "pdprox-primal" if algorithm == 2 else "pdprox-dual"
    options = {} if algorithm == 2 else {"algorithm": algorithm}
    for t in range(1, N + 1):
        found = last_iterate(solver, problem, t, **options)
        assert_allclose(found.coef, np.mean(ws[:t], axis=0), rtol=1e-9, atol=1e-9)
        assert_allclose(found.dual_coef, np.mean(thetas[:t], axis=0), atol=1e-9)


@pytest.mark.parametrize("implementation", ["double-dual", "double-primal"])
def test_accelerated_pdprox(implementation, rng):
    """Algorithm 2 of Chambolle and Pock (2011), for the hinge loss and a squared l2 norm."""
    X, y = classes(rng, 40, 12)
    lam, n = 0.05, 40
    K = -(X * y[:, None]) / n  # alpha' K w, and G = lam ||w||^2 / 2
    tau = sigma = np.sqrt(1 / (2 * np.linalg.norm(K, 2) ** 2))
    w, bar, alpha = np.zeros(12), np.zeros(12), np.zeros(n)
    problem = posed(X, y, Hinge(), SquaredL2(), lam)
    options = {"algorithm": 3, "accelerated": True, "average": False}
    options["implementation"] = implementation
    for t in range(1, N + 1):
        alpha = project(alpha + sigma * (K @ bar + 1 / n))
        before, w = w, (w - tau * (K.T @ alpha)) / (1 + tau * lam)
        theta = 1 / np.sqrt(1 + 2 * lam * tau)
        tau, sigma = theta * tau, sigma / theta
        bar = w + theta * (w - before)
        found = last_iterate("pdprox-dual", problem, t, **options)
        assert_allclose(found.coef, w, rtol=1e-9, atol=1e-9)
        assert_allclose(-y * found.dual_coef, alpha, atol=1e-9)
    with pytest.raises(ValueError, match="needs algorithm 3 and a squared l2 penalty"):
        last_iterate("pdprox-dual", problem, 1, accelerated=True)


# Primal-dual block Frank-Wolfe (Lei et al., 2019): smoothed hinge over the l1 ball


@pytest.mark.parametrize("given", [{}, {"eta": 0.25, "delta": 40.0}], ids=str)
def test_algorithm_1_of_block_frank_wolfe(given, rng):
    n, d, s, mu, radius = 48, 12, 4, 0.3, 1.5
    X, y = classes(rng, n, d)
    k = n * s // d
    R = np.max(np.sum(X**2, axis=1))
    delta = 1 / (k * (1 / n + 25 * R / (2 * mu * n**2)))  # Corollary 4.1.1 with beta = 1
    eta, delta = given.get("eta", 1 / 2), given.get("delta", delta)
    options = {"sparsity": s, **given, **({"n_coordinates": k} if given else {})}
    problem = posed(X, y, SmoothedHinge(mu=1.0), SquaredL2OnL1Ball(radius), mu)
    x, dual, w, z = np.zeros(d), np.zeros(n), np.zeros(n), np.zeros(d)
    for t in range(1, N + 1):
        centre = x - (z / n + mu * x) / (mu * eta)
        largest = np.argsort(-np.abs(centre), kind="stable")[:s]
        update = np.zeros(d)
        update[largest] = onto_l1_ball(centre[largest], radius)
        x = (1 - eta) * x + eta * update
        w = (1 - eta) * w + eta * (X @ update)
        found = last_iterate("pdbfw", problem, t, **options)
        assert_allclose(found.coef, x, rtol=1e-9, atol=1e-12)
        # the pair whose gap the method knows has the dual variables of the iteration before
        assert_allclose(found.dual_coef, dual, rtol=1e-9, atol=1e-9)
        # the conjugate of a row's loss is v + v^2 / 2 at v = y theta in [-1, 0], each over n
        step = delta / n
        moved = y * np.clip((y * dual + step * (y * w - 1)) / (1 + step), -1, 0)
        greedy = np.argsort(-np.abs(moved - dual), kind="stable")[:k]
        z = z + X[greedy].T @ (moved - dual)[greedy]
        dual[greedy] = moved[greedy]

"""The published methods, by default as printed: the first 50 iterates on each paper's own problem.

The algorithms are transcribed from the papers here, in their order and with their step sizes, and
share nothing with the package but the data.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from sklearn.metrics.pairwise import rbf_kernel

from skpd.designs import Design, KernelMatrix
from skpd.losses import (
    EpsilonInsensitive,
    GeneralizedHinge,
    Hinge,
    Pinball,
    SmoothedHinge,
)
from skpd.penalties import L1, GroupL2, SquaredL2, SquaredL2OnL1Ball
from skpd.problems import linear_problem
from skpd.problems.kernel import kernel_machines
from skpd.problems.robust import robust_problem
from skpd.solvers import solve
from skpd.solvers.published import agm, excessive_gap
from tests.oracles.draws import Draws

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


# Accelerated gradients by estimate functions (Zhang, Saha and Vishwanathan): hinge loss, smoothed
# by (57), with a squared norm; sigma = 1 and Delta(x, y) = ||x - y||^2 / 2, lambda_1 = 0


def smoothed_risk(X, y, lam, mu):
    n = len(y)

    def f(w):  # max over theta in [0, 1] of theta (1 - m) - mu theta^2 / 2, and its gradient
        slack = 1 - y * (X @ w)
        theta = np.clip(slack / mu, 0, 1)
        return np.mean(theta * slack - mu * theta**2 / 2), -X.T @ (y * theta) / n

    def objective(w):
        return f(w)[0] + lam / 2 * w @ w

    # L is searched for from the curvature along the first gradient
    g = f(np.zeros(X.shape[1]))[1]
    L = np.mean((X @ g) ** 2) / mu / (g @ g)
    return f, objective, L


def algorithm_2(X, y, lam, mu):
    f, J, L = smoothed_risk(X, y, lam, mu)
    x = z = np.zeros(X.shape[1])
    A, slope, constant = (
        0.0,
        0.0 * x,
        0.0,
    )  # psi = ||x||^2/2 + slope.x + constant + A lam/2 ||x||^2
    L = 1.05 * 2.0 * (L / 2.0)  # with the optimistic estimate L / 2, so that L is the first tried
    while True:
        L /= 1.05 * 2.0
        while True:
            L *= 2.0
            # (a + A)(lam A + 1) + a lam A = L a^2
            a = max(np.roots([-L, 2 * lam * A + 1, A * (lam * A + 1)]))
            after = A + a
            t1, t3 = 1 + lam * A, lam * a * A / after
            t = t1 + t3
            u = (a * t1 * z + (t * A + t3 * a) * x) / (t * after)
            value, gradient = f(u)
            new_slope = slope + a * gradient
            new_constant = constant + a * (value - gradient @ u)
            new_z = -new_slope / (1 + after * lam)
            new = (A * x + a * new_z) / after
            least = new_constant + new_slope @ new_z + (1 + after * lam) / 2 * new_z @ new_z
            if after * J(new) <= least + 1e-12:
                break
        A, slope, constant, z, x = after, new_slope, new_constant, new_z, new
        yield x


def algorithm_4(X, y, lam, mu):
    f, J, L = smoothed_risk(X, y, lam, mu)
    u = np.zeros(X.shape[1])
    value, gradient = f(u)
    while True:
        x = z = (L * u - gradient) / (L + lam)
        level = L / 2 * (x - u) @ (x - u) + lam / 2 * x @ x + value + gradient @ (x - u)
        if J(x) <= level + 1e-12:
            break
        L *= 2.0
    c = L + lam
    yield x
    while True:
        L /= 1.05 * 2.0
        while True:
            L *= 2.0
            a = max(np.roots([L + lam, c - lam, -c]))  # (1 - a)(c + lam a) = L a^2
            t1, t3 = (1 - a) * c, lam * a * (1 - a)
            t = t1 + t3
            u = ((t - t1 * a) * x + t1 * a * z) / t
            value, gradient = f(u)
            new_z = (t1 * z - a * gradient) / (t1 + lam * a)
            new = (1 - a) * x + a * new_z
            new_level = (1 - a) * (level + c / 2 * (new_z - z) @ (new_z - z)) + a * (
                value + gradient @ (new_z - u) + lam / 2 * new_z @ new_z
            )
            if J(new) <= new_level + 1e-12:
                break
        c, level, z, x = (1 - a) * c + lam * a, new_level, new_z, new
        yield x


@pytest.mark.parametrize("memory", ["infinite", "one"])
def test_algorithms_2_and_4_of_estimate_functions(memory, rng, monkeypatch):
    X, y = classes(rng, 60, 10)
    lam, tol, seen = 1e-2, 1e-2, []
    result = agm._Objectives.result

    def keep(self, iterate, n_averaged):
        seen.append(self.coef(iterate.x).copy())
        return result(self, iterate, n_averaged)

    monkeypatch.setattr(agm._Objectives, "result", keep)
    problem = posed(X, y, Hinge(), SquaredL2(), lam)
    options = {} if memory == "infinite" else {"memory": "one"}
    random_state = np.random.RandomState(0)
    solve(problem, "agm", tol=tol, max_iter=1000, random_state=random_state, **options)
    # (57): mu D = epsilon, half the tolerance, with theta^2 / 2 at most D = 1/2
    mu = 0.5 * tol / 0.5
    run = algorithm_2 if memory == "infinite" else algorithm_4
    assert len(seen) >= N
    for found, x, _ in zip(seen, run(X, y, lam, mu), range(N), strict=False):
        assert_allclose(found, x, rtol=1e-6, atol=1e-9)


# Sections 5.1.2 and 5.3: Algorithm 1 on minus the dual of the SVM, in v = theta / sqrt(n)


def algorithm_1_on_the_dual(X, y, lam, mu, L):
    """The dual points v_k, the averaged models w_k of (22), and A_k."""
    n = len(y)
    A, v = X / np.sqrt(n), np.zeros(n)
    x = z = v0 = v
    total, slopes, w_mean = 0.0, np.zeros(n), np.zeros(X.shape[1])
    bounds = np.sort([np.zeros(n), -y / np.sqrt(n)], axis=0)
    while True:
        q = 1 + 2 * mu * total
        a = (q + np.sqrt(q * q + 4 * L * total * (1 + mu * total))) / (2 * L)
        after = total + a
        t1, t3 = 1 + mu * total, mu * a * total / after  # (lambda_1 = 0, lambda_2 = mu)
        u = ((t1 * after + t3 * after - t1 * a) * x + t1 * a * z) / (after * (t1 + t3))
        w = -A.T @ u / lam
        slopes, w_mean = slopes - a * A @ w, w_mean + (a / after) * (w - w_mean)
        # argmin of ||v - v0||^2 / 2 + v.slopes + A_k (y.v / sqrt(n) + mu ||v||^2 / 2) in the box
        z = np.clip((v0 - slopes - after * y / np.sqrt(n)) / (1 + after * mu), *bounds)
        x, total = x + (a / after) * (z - x), after
        yield x, w_mean, total


@pytest.mark.parametrize("smoothing", ["fixed", "none"])
def test_algorithm_1_of_estimate_functions_on_the_dual(smoothing, rng, monkeypatch):
    X, y = classes(rng, 60, 10)
    lam, tol, seen, curvatures = 1e-2, 1e-3, [], set()
    result = excessive_gap.DualObjectives.result

    def keep(self, iterate, n_averaged):
        curvatures.add(iterate.lipschitz)
        seen.append((iterate.x.copy(), iterate.theta.copy()))
        return result(self, iterate, n_averaged)

    monkeypatch.setattr(excessive_gap.DualObjectives, "result", keep)
    problem = posed(X, y, Hinge(), SquaredL2(), lam)
    options = {"variables": "dual", "smoothing": smoothing, "adaptive": False}
    solve(problem, "agm", tol=tol, max_iter=1000, random_state=np.random.RandomState(0), **options)
    (L,) = curvatures
    assert pytest.approx(np.linalg.norm(X, 2) ** 2 / (60 * lam), rel=0.1) == L
    mu = 0.5 * tol / 0.5 if smoothing == "fixed" else 0.0
    assert len(seen) >= N
    by_hand = algorithm_1_on_the_dual(X, y, lam, mu, L)
    for (v, w), (x, w_mean, total), _ in zip(seen, by_hand, range(N), strict=False):
        assert_allclose(v, x, rtol=1e-6, atol=1e-9)
        assert_allclose(w, w_mean, rtol=1e-6, atol=1e-9)
        if smoothing == "none":  # the excessive gap condition, smoothed by ||v||^2 / (2 A_k)
            margins, level = y * (X @ w), 1.0 / total
            slack = np.clip((1 - margins) / level, 0, 1)
            smoothed = np.mean(slack * (1 - margins) - level * slack**2 / 2) + lam / 2 * w @ w
            value = -np.mean(y * np.sqrt(60) * v) - lam / 2 * np.sum((X.T @ v / lam) ** 2) / 60
            assert smoothed <= value + 1e-9


# Coordinate methods on the dual of the SVM (Dünner, Forte, Takáč and Jaggi, 2016; Fercoq and
# Richtárik, 2015): f(v) = ||v||^2 / (2 alpha), g_i(v_i) = l*(v_i) with v_i = -y_i a_i / n


def svm(rng, n=20, d=5, alpha=0.1):
    X, y = classes(rng, n, d)
    return posed(X, y, Hinge(), SquaredL2(), alpha), X * y[:, None], n, alpha


@pytest.mark.parametrize("average", [False, True])
def test_dual_coordinate_ascent_of_the_svm(average, rng):
    """Algorithm 1 of Dünner et al., and the average of its iterates."""
    problem, Z, n, alpha = svm(rng)
    a, draw, kept = np.zeros(n), Draws(0, n), []
    for _ in range(N * n):
        i = draw()
        margin = Z[i] @ (Z.T @ a) / (alpha * n)
        a[i] = np.clip(a[i] + (1 - margin) * alpha * n / (Z[i] @ Z[i]), 0, 1)
        kept.append(a.copy())
    options = {"burn_in": 0.0} if average else {"average": False}
    for t in range(1, N + 1):
        found = last_iterate("cd", problem, t, **options)
        expected = np.mean(kept[: t * n], axis=0) if average else kept[t * n - 1]
        assert_allclose(-problem.y * found.dual_coef, expected, atol=1e-10)
        assert_allclose(found.coef, Z.T @ expected / (alpha * n), atol=1e-10)


def test_approx_on_the_dual_of_the_svm(rng):
    """Algorithm 1 of Fercoq and Richtárik, with full vectors."""
    problem, Z, n, alpha = svm(rng)
    draw, x, theta = Draws(0, n), np.zeros(n), 1 / n
    z = x.copy()
    for t in range(1, N + 1):
        for _ in range(n):
            between = (1 - theta) * x + theta * z
            i = draw()
            step = alpha * n / (n * theta * (Z[i] @ Z[i]))
            after = z.copy()
            slope = 1 - Z[i] @ (Z.T @ between) / (alpha * n)
            after[i] = np.clip(z[i] + step * slope, 0, 1)
            x, z = between + n * theta * (after - z), after
            theta = (np.sqrt(theta**4 + 4 * theta**2) - theta**2) / 2
        found = last_iterate("approx", problem, t)
        assert_allclose(-problem.y * found.dual_coef, np.clip(x, 0, 1), atol=1e-9)


# Primal-dual block Frank-Wolfe (Lei et al., 2019): smoothed hinge over the l1 ball


def l1_projection(v, radius):
    if np.abs(v).sum() <= radius:
        return v
    sizes = np.sort(np.abs(v))[::-1]
    excess = (np.cumsum(sizes) - radius) / np.arange(1, len(v) + 1)
    tau = excess[np.flatnonzero(sizes > excess)[-1]]
    return np.sign(v) * np.maximum(np.abs(v) - tau, 0)


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
        update[largest] = l1_projection(centre[largest], radius)
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


# The robust SVM (Li, Chen and So, 2020), without an intercept


def onto_l1_epigraph(w, s):
    """The point of ||w||_1 <= lam nearest to (w, s)."""
    if np.abs(w).sum() <= s:
        return w, s
    sizes = np.sort(np.abs(w))[::-1]
    tau = (np.cumsum(sizes) - s) / (np.arange(len(w)) + 2)
    kept = np.flatnonzero(sizes > tau)
    if len(kept) == 0 or np.max(np.abs(w)) <= -s:
        return 0.0 * w, 0.0
    tau = tau[kept[-1]]
    return np.sign(w) * np.maximum(np.abs(w) - tau, 0), s + tau


def onto_epigraph(q, w, s):
    if q == 1:
        return onto_l1_epigraph(w, s)
    if q == np.inf:  # Moreau, as in section 2
        other, t = onto_l1_epigraph(-w, -s)
        return w + other, s + t
    norm = np.linalg.norm(w)
    if norm <= s:
        return w, s
    if norm <= -s:
        return 0 * w, 0.0
    return 0.5 * (1 + s / norm) * w, 0.5 * (norm + s)


def steps_of_table_1(q, ridge, alpha, n, k):
    if q == 2:  # of which nothing else is known
        return alpha / np.sqrt(k)
    return alpha / k if ridge > 0 else alpha * 0.98 ** (k - 1)


def robust(rng, q, ridge, n=12):
    X, y = classes(rng, n, 4)
    c = np.full(n, 1 / n)
    parameters = {"epsilon": 0.1, "kappa": 1.0, "ridge": ridge, "norm": q}
    problem = robust_problem(Design(X), y, c, fit_intercept=False, **parameters)
    return problem, X * y[:, None]


def subgradient_steps(q, w, lam, Z, step, ridge, batch=4, epsilon=0.1, kappa=1.0):
    """An epoch of equation (5), in cyclic order."""
    for rows in np.arange(len(Z)).reshape(-1, batch):
        g, slope = ridge * w, epsilon
        for z in Z[rows]:
            m = w @ z
            pieces = [1 - m, 1 + m - lam * kappa, 0.0]
            if np.argmax(pieces) == 0 and pieces[0] > 0:
                g = g - z / batch
            elif np.argmax(pieces) == 1:
                g, slope = g + z / batch, slope - kappa / batch
        w, lam = onto_epigraph(q, w - step * g, lam - step * slope)
    return w, lam


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("q", [1, 2, np.inf])
def test_projected_subgradients(q, ridge, rng):
    """Equation (5) with the step sizes of Table 1."""
    alpha, n = 0.2, 12
    problem, Z = robust(rng, q, ridge)
    scheme = {"first_step": alpha} if q != 2 and ridge == 0 else {"gamma": n * alpha}
    w, lam = np.zeros(4), 0.0
    for k in range(1, N + 1):
        w, lam = subgradient_steps(q, w, lam, Z, steps_of_table_1(q, ridge, alpha, n, k), ridge)
        found = last_iterate("isg", problem, k, **scheme)
        assert_allclose(problem.project(found.coef), w, rtol=1e-8, atol=1e-10)


def proximal_update(q, x, lam, z, step, epsilon, kappa):
    """The minimiser of f_i + (||w - x||^2 + (lam' - lam)^2) / (2 step) on the epigraph.

    It is the projection of (x + step (p - r) z, lam - step (epsilon - kappa r)), with multipliers
    p and r of the pieces 1 - m and 1 + m - kappa lam. The vertices, the edges and the inside of
    the triangle of p and r are looked at, and the point taken that is optimal.
    """

    def at(p, r):
        return onto_epigraph(q, x + step * (p - r) * z, lam - step * (epsilon - kappa * r))

    def pieces(p, r):
        w, radius = at(p, r)
        return np.array([1 - w @ z, 1 + w @ z - kappa * radius])

    def root(f):
        ends = f(0.0), f(1.0)
        return brentq(f, 0.0, 1.0, xtol=1e-16, rtol=1e-15) if ends[0] > 0 > ends[1] else None

    def share(r):  # of 1 - r, at which 1 - m vanishes
        ends = pieces(0.0, r)[0], pieces(1 - r, r)[0]
        between = root(lambda t: pieces(t * (1 - r), r)[0])
        return (1 - r) * (between if between is not None else float(ends[1] >= 0))

    found = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]
    p, r = root(lambda p: pieces(p, 0.0)[0]), root(lambda r: pieces(0.0, r)[1])
    both = root(lambda r: np.subtract(*pieces(1 - r, r)[::-1]))
    found += [(p, 0.0)] if p is not None else []
    found += [(0.0, r)] if r is not None else []
    found += [(1 - both, both)] if both is not None else []
    r = root(lambda r: pieces(share(r), r)[1])
    found += [(share(r), r)] if r is not None else []

    def violation(point):
        one, other = pieces(*point)
        largest, rest = max(one, other, 0.0), 1 - sum(point)
        return point[0] * (largest - one) + point[1] * (largest - other) + rest * largest

    best = min(found, key=violation)
    assert violation(best) <= 1e-10
    return at(*best)


@pytest.mark.parametrize("preset", [None, "table 3, ijcnn1"])
@pytest.mark.parametrize("q", [1, 2, np.inf])
@pytest.mark.parametrize("name", ["ippa", "hybrid"])
def test_proximal_points(name, q, preset, rng):
    """Equation (6), in cyclic order, with the step sizes of Table 1 or of a preset.

    The hybrid method takes steps of (5) before, here all of them or those of at least half the
    first size.
    """
    epsilon, kappa, alpha, rho, n = 0.1, 1.0, 0.2, 0.95, 12
    problem, Z = robust(rng, q, 0.0)
    options = {"first_step": alpha} if q != 2 else {"gamma": n * alpha}
    switch = 0.02
    if preset is not None:
        options, alpha = {"preset": preset}, 1e-3
    if preset is not None and name == "hybrid":
        switch = 0.5
        options |= {"batch_size": 4, "switch": switch}
    w, lam = np.zeros(4), 0.0
    for k in range(1, N + 1):
        step = alpha * rho ** (k - 1) if preset else steps_of_table_1(q, 0.0, alpha, n, k)
        if name == "hybrid" and step >= switch * alpha:
            w, lam = subgradient_steps(q, w, lam, Z, step, 0.0)
        else:
            for z in Z:
                w, lam = proximal_update(q, w, lam, z, step, epsilon, kappa)
        found = last_iterate(name, problem, k, **options)
        assert_allclose(problem.project(found.coef), w, rtol=1e-8, atol=1e-10)

"""Accelerated gradients by estimate functions, as printed (Zhang, Saha and Vishwanathan)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skpd.losses import Hinge
from skpd.penalties import SquaredL2
from skpd.solvers import solve
from skpd.solvers.published import agm, excessive_gap
from tests.solvers.test_published import N, classes, posed

# Hinge loss, smoothed by (57), with a squared norm; sigma = 1, lambda_1 = 0 and
# Delta(x, y) = ||x - y||^2 / 2


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

"""GS-ADMM, the baseline of Li, Chen and So: a search for lambda, with ADMM for every w(lambda).

The framework is that of Li, Huang and So (2019), extended as in the appendix of the paper: golden
section search over lambda in [0, 1 / epsilon], and Algorithm 3 for

    minimise over ||w||_inf <= lambda    (1 / n) sum_i max(1 - y_i, 1 + y_i - lambda kappa, 0),

with y = Z w.
"""

import time

import numpy as np

GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def loss(m, lam, kappa):
    return np.maximum(np.maximum(1.0 - m, 1.0 + m - lam * kappa), 0.0)


def prox(v, step, lam, kappa):
    """argmin over y of step loss(y) + (y - v)^2 / 2."""
    # between 1 and lam kappa - 1 the loss is 0, or it has its least value at lam kappa / 2
    low, high = min(1.0, 0.5 * lam * kappa), max(lam * kappa - 1.0, 0.5 * lam * kappa)
    return np.where(
        v < low, np.minimum(v + step, low), np.where(v > high, np.maximum(v - step, high), v)
    )


def projected_gradients(gram, slope, lam, w, steps=50):
    """Accelerated projected gradients for w' gram w / 2 - slope.w over a box."""
    L, z, t = np.linalg.norm(gram, 2), w, 1.0
    for _ in range(steps):
        after = np.clip(z - (gram @ z - slope) / L, -lam, lam)
        t_next = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        z, w, t = after + (t - 1.0) / t_next * (after - w), after, t_next
    return w


def best_for(Z, lam, kappa, gram, start, iterations=200, penalty=0.01, growth=1.02):
    """Algorithm 3: w with the least loss for a lambda."""
    n = len(Z)
    w, y, g, rho = start, Z @ start, np.zeros(n), penalty / n
    for _ in range(iterations):
        w = projected_gradients(gram, Z.T @ (y - g / rho), lam, w)
        m = Z @ w
        y = prox(m + g / rho, 1.0 / (n * rho), lam, kappa)
        g = g + rho * (m - y)
        rho *= growth
    return w


def gs_admm(Z, epsilon, kappa, searches=25):
    """The least objective found, and the seconds of the processor that it took."""
    start = time.process_time()
    gram, w = Z.T @ Z, np.zeros(Z.shape[1])

    def value(lam):
        nonlocal w
        w = best_for(Z, lam, kappa, gram, np.clip(w, -lam, lam))
        return lam * epsilon + float(np.mean(loss(Z @ w, lam, kappa)))

    low, high = 0.0, 1.0 / epsilon
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = value(left), value(right)
    best = min(at_left, at_right)
    for _ in range(searches):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = value(right)
        best = min(best, at_left, at_right)
    return best, time.process_time() - start

"""Pdexg, the baseline of Yang et al.: the excessive gap technique (Nesterov, 2005).

The hinge loss with the group lasso, over the ball that holds the optimum, as a saddle point:

    min over ||w|| <= R    max over a in [0, 1]^n and ||q_g|| <= lam sqrt(d_g) / s
        (1 / n) sum_i a_i (1 - y_i x_i.w) + s q.w,        s = ||X|| / n,

with squares of norms as prox functions, whose levels mu_1 and mu_2 decrease in turn. The smoothed
objective of w stays below the smoothed dual one of (a, q), the excessive gap condition.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse.linalg as sla


@dataclass
class Saddle:
    """The saddle point problem of signed rows Z = diag(y) X, sizes of groups and lam."""

    Z: object
    sizes: object
    lam: float

    def __post_init__(self):
        self.n, self.d = self.Z.shape
        largest = sla.svds(self.Z.astype(float), k=1, return_singular_vectors=False)[0]
        self.scale = float(largest) / self.n
        self.radius = 1.0 / (self.lam * np.sqrt(np.min(self.sizes)))
        self.limits = self.lam * np.sqrt(self.sizes) / self.scale
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])

    def slope(self, w):
        """The derivative in (a, q) at w."""
        return (1.0 - self.Z @ w) / self.n, self.scale * w

    def gradient(self, a, q):
        """The derivative in w."""
        return self.scale * q - self.Z.T @ a / self.n

    def projected(self, w):
        return w * min(1.0, self.radius / max(float(np.linalg.norm(w)), 1e-300))

    def projected_dual(self, a, q):
        norms = np.sqrt(np.add.reduceat(q * q, self.starts))
        shrink = np.minimum(1.0, self.limits / np.maximum(norms, 1e-300))
        return np.clip(a, 0.0, 1.0), q * np.repeat(shrink, self.sizes)

    def objective(self, w):
        norms = np.sqrt(np.add.reduceat(w * w, self.starts))
        loss = np.mean(np.maximum(1.0 - self.Z @ w, 0.0))
        return float(loss + self.lam * (np.sqrt(self.sizes) @ norms))


@dataclass(frozen=True)
class State:
    """The points w and (a, q), and the levels of smoothing."""

    w: object
    dual: tuple
    mu_1: float
    mu_2: float

    def best_w(self, saddle, dual):
        """The w at the smoothed dual objective, x_mu1 of the paper."""
        return saddle.projected(-saddle.gradient(*dual) / self.mu_1)

    def best_dual(self, saddle, w):
        """The (a, q) at the smoothed objective, u_mu2 of the paper."""
        return saddle.projected_dual(*(part / self.mu_2 for part in saddle.slope(w)))


def between(part, here, there):
    return tuple((1.0 - part) * a + part * b for a, b in zip(here, there, strict=True))


def primal_step(saddle, state, tau):
    """The step that lowers mu_1."""
    low = state.best_w(saddle, state.dual)
    (middle,) = between(tau, (state.w,), (low,))
    dual = state.best_dual(saddle, middle)
    moved = saddle.projected(low - tau / ((1.0 - tau) * state.mu_1) * saddle.gradient(*dual))
    (w,) = between(tau, (state.w,), (moved,))
    return State(w, between(tau, state.dual, dual), (1.0 - tau) * state.mu_1, state.mu_2)


def dual_step(saddle, state, tau):
    """The step that lowers mu_2."""
    high = state.best_dual(saddle, state.w)
    w = state.best_w(saddle, between(tau, state.dual, high))
    step = tau / ((1.0 - tau) * state.mu_2)
    moved = (part + step * slope for part, slope in zip(high, saddle.slope(w), strict=True))
    dual = between(tau, state.dual, saddle.projected_dual(*moved))
    (new,) = between(tau, (state.w,), (w,))
    return replace(state, w=new, dual=dual, mu_2=(1.0 - tau) * state.mu_2)


def excessive_gap(saddle, n_iter):
    """The states of Pdexg, one after each iteration."""
    norm = np.sqrt(2.0) * saddle.scale  # of the matrix of both parts
    # levels whose effects, mu times half the largest square, are equal at first
    squares = saddle.n + float(np.sum(saddle.limits**2))
    mu_2 = norm * saddle.radius / np.sqrt(squares)
    state = State(np.zeros(saddle.d), (), norm**2 / mu_2, mu_2)
    dual = state.best_dual(saddle, state.w)
    state = replace(state, w=state.best_w(saddle, dual), dual=dual)
    for k in range(n_iter):
        step = primal_step if k % 2 == 0 else dual_step
        state = step(saddle, state, 2.0 / (k + 3.0))
        yield state

"""Pdexg, the baseline of Yang et al.: the excessive gap technique (Nesterov, 2005).

The objective of `benchmarks.papers.saddle_points`, over the ball that holds the optimum, as

    min over ||w|| <= R    max over a in [lower, 1]^n and R*(q) <= lam / s
        (1 / n) sum_i (a_i t_i - epsilon |a_i|) + s q.w,        s = ||Z|| / n,

R* the dual norm, with squares of norms as prox functions, whose levels mu_1 and mu_2 decrease in
turn. The smoothed objective of w stays below the smoothed dual one of (a, q), the excessive gap
condition.
"""

from dataclasses import dataclass, replace

import numpy as np

from benchmarks.papers.subgradients import largest_singular_value


class Saddle:
    """The saddle point problem of an objective P."""

    def __init__(self, problem):
        self.problem, self.Z = problem, problem.Z
        self.n = len(problem.offsets)
        self.scale = largest_singular_value(self.Z) / self.n
        # the largest l2 norms of w where lam R(w) is the objective of 0, and of (a, q)
        self.radius = problem.objective(problem.start) * problem.norm.longest / problem.lam
        self.squares = self.n + (problem.norm.longest_dual * problem.lam / self.scale) ** 2

    def slope(self, w):
        """The derivative in (a, q) at w."""
        return self.problem.errors(w) / self.n, self.scale * w

    def gradient(self, a, q):
        """The derivative in w."""
        return self.scale * q + self.Z.T @ a / self.n

    def projected(self, w):
        return w * min(1.0, self.radius / max(float(np.linalg.norm(w)), 1e-300))

    def projected_dual(self, a, q, step):
        """The prox of the dual terms, those of epsilon, times a step."""
        problem, cost = self.problem, step * self.problem.epsilon / self.n
        a = np.sign(a) * np.maximum(np.abs(a) - cost, 0.0)
        return (
            np.clip(a, problem.lower, 1.0),
            problem.norm.projected(q, problem.lam / self.scale),
        )


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
        step = 1.0 / self.mu_2
        return saddle.projected_dual(*(step * part for part in saddle.slope(w)), step)


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
    dual = between(tau, state.dual, saddle.projected_dual(*moved, step))
    (new,) = between(tau, (state.w,), (w,))
    return replace(state, w=new, dual=dual, mu_2=(1.0 - tau) * state.mu_2)


def excessive_gap(saddle, n_iter, ratio=1.0):
    """The states of Pdexg, one after each iteration.

    The product of the first levels of smoothing is the least that is allowed. With a ratio of 1
    their effects, a level times half the largest square, are equal.
    """
    norm = np.sqrt(2.0) * saddle.scale  # of the matrix of both parts
    mu_2 = ratio * norm * saddle.radius / np.sqrt(saddle.squares)
    problem = saddle.problem
    state = State(problem.start, (), norm**2 / mu_2, mu_2)
    dual = state.best_dual(saddle, state.w)
    state = replace(state, w=state.best_w(saddle, dual), dual=dual)
    for k in range(n_iter):
        step = primal_step if k % 2 == 0 else dual_step
        state = step(saddle, state, 2.0 / (k + 3.0))
        yield state

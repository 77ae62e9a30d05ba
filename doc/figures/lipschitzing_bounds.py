"""Lower bounds from the iterates of proximal gradient descent for a lasso."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

ALPHA, STEPS = 1.0, 400


def draw(palette):
    """The gap left by the ball, and by a scaled dual point, in every step."""
    X, y = load_diabetes(return_X_y=True)
    X, y = X / X.std(axis=0), y - y.mean()
    n = len(y)
    w, step = np.zeros(X.shape[1]), n / np.linalg.norm(X, 2) ** 2
    gaps = {"ball": [], "scaling": []}
    for _ in range(STEPS):
        w = w - step * X.T @ (X @ w - y) / n
        w = np.sign(w) * np.maximum(np.abs(w) - step * ALPHA, 0.0)
        theta = X @ w - y
        objective = theta @ theta / (2 * n) + ALPHA * np.abs(w).sum()
        dual_norm = np.abs(X.T @ theta / n).max()

        def losses(t):
            return -(t @ t / 2 + t @ y) / n

        ball = losses(theta) - objective / ALPHA * max(dual_norm - ALPHA, 0.0)
        scaled = losses(theta * min(1.0, ALPHA / dual_norm))
        gaps["ball"].append(objective - ball)
        gaps["scaling"].append(objective - scaled)
    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    steps = np.arange(1, STEPS + 1)
    axes.loglog(steps, gaps["ball"], color=palette.upper, linewidth=2.0,
                label='coefficients in a ball ("lipschitz")')  # fmt: skip
    axes.loglog(steps, gaps["scaling"], color=palette.lower, linewidth=2.0, linestyle="--",
                label='dual point scaled ("scaling")')  # fmt: skip
    axes.set(xlabel="steps of proximal gradient descent", ylabel="duality gap")
    axes.legend()
    return figure

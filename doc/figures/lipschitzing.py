"""The Lipschitzing trick for the l1 norm in one dimension."""

import matplotlib.pyplot as plt
import numpy as np

ALPHA, RADIUS = 1.0, 1.5


def draw(palette):
    """A penalty and its conjugate, without and with a ball that holds the optimum."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.4), layout="constrained")
    w = np.linspace(-2.6, 2.6, 201)
    left.plot(w, ALPHA * np.abs(w), color=palette.lower, linestyle="--", linewidth=2.0)
    inside = np.linspace(-RADIUS, RADIUS, 3)
    left.plot(inside, ALPHA * np.abs(inside), color=palette.upper, linewidth=2.5)
    for side in (-1.0, 1.0):
        left.plot([side * RADIUS] * 2, [ALPHA * RADIUS, 3.0], color=palette.upper, linewidth=2.5)
        left.axvspan(side * RADIUS, side * 2.6, color=palette.muted, alpha=0.15, linewidth=0.0)
    left.set(ylim=(0.0, 3.0), xlim=(-2.6, 2.6), title="penalty", xlabel="coefficient w")
    left.set_xticks([-RADIUS, 0.0, RADIUS], ["$-B$", "0", "$B$"])
    left.set_yticks([0.0])
    left.text(0.0, 2.0, "every optimum\nis in here", ha="center", color=palette.text)

    v = np.linspace(-2.6, 2.6, 521)
    walls = [[-ALPHA, -ALPHA, ALPHA, ALPHA], [3.0, 0.0, 0.0, 3.0]]
    right.plot(*walls, color=palette.lower, linestyle="--", linewidth=2.0,
               label=r"of all w: $\infty$ beyond $\pm\alpha$")  # fmt: skip
    right.plot(v, RADIUS * np.maximum(np.abs(v) - ALPHA, 0.0), color=palette.upper,
               linewidth=2.5, label=r"of $|w| \leq B$: slope $B$, finite")  # fmt: skip
    right.set(ylim=(0.0, 3.0), xlim=(-2.6, 2.6), title="its conjugate", xlabel="slope v")
    right.set_xticks([-ALPHA, 0.0, ALPHA], [r"$-\alpha$", "0", r"$\alpha$"])
    right.set_yticks([0.0])
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22))
    return figure

"""Who holds what, and what is sent, in a fit to rows of a Dask cluster."""

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch


def _box(axes, corner, size, title, text, palette, colour):
    axes.add_patch(
        FancyBboxPatch(corner, *size, boxstyle="round,pad=0.02,rounding_size=0.12",
                       facecolor=colour + "22", edgecolor=colour, linewidth=1.5)
    )  # fmt: skip
    middle = corner[0] + size[0] / 2
    axes.text(middle, corner[1] + size[1] - 0.14, title, ha="center", va="top",
              color=palette.text, weight="bold")  # fmt: skip
    axes.text(middle, corner[1] + size[1] - 0.55, text, ha="center", va="top",
              color=palette.text, fontsize=10, linespacing=1.5)  # fmt: skip


def draw(palette):
    """The driver above, three workers below, arrows in both directions between them."""
    figure, axes = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
    _box(axes, (2.2, 3.3), (5.6, 1.5), "your session",
         "solver and certificate: vectors of length p,\nmatrices of $k^2$ numbers, no rows",
         palette, palette.upper)  # fmt: skip
    for place, name in enumerate(("worker 1", "worker 2", "worker W")):
        left = 0.2 + 3.4 * place
        _box(axes, (left, 0.1), (2.8, 1.5), name, "its rows of X and y,\ntheir dual points",
             palette, palette.lower)  # fmt: skip
        top = 5.0 + 1.7 * (place - 1), 3.24
        foot = left + 1.4, 1.68
        for shift, ends, colour in (
            (-0.13, (top, foot), palette.upper),
            (0.13, (foot, top), palette.lower),
        ):
            (x0, y0), (x1, y1) = ends
            axes.annotate(
                "", (x1 + shift, y1), (x0 + shift, y0),
                arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.6},
            )  # fmt: skip
    axes.text(8.0, 2.75, "down: coefficients", color=palette.upper, va="center")
    axes.text(8.0, 2.35, "up: sums over rows", color=palette.lower, va="center")
    axes.text(6.7, 0.85, "…", ha="center", va="center", fontsize=18, color=palette.muted)
    axes.set(xlim=(0.0, 10.4), ylim=(0.0, 5.0))
    axes.axis("off")
    return figure

"""The largest loss of a row whose label may be wrong, over its margin."""

import matplotlib.pyplot as plt
import numpy as np


def draw(palette):
    """The hinge loss, and what doubt about labels adds to it for two values of kappa."""
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    margins = np.linspace(-1.5, 5.0, 651)
    hinge = np.maximum(1.0 - margins, 0.0)
    for price, color in ((4.0, palette.upper), (1.0, palette.muted)):
        loss = np.maximum(hinge, 1.0 + margins - price)
        axes.plot(margins, loss, color=color, linewidth=2.0)
    axes.plot(margins, hinge, color=palette.lower, linewidth=2.5)
    axes.set(xlim=(-1.5, 5.0), ylim=(-0.08, 3.0), xticks=range(-1, 6), yticks=range(4))
    axes.set(xlabel=r"margin of the row, $m$", ylabel="largest loss of the row")
    labels = {
        (1.75, 2.4): ("$\\kappa\\lambda = 1$: most rows\nare in doubt", palette.muted),
        (3.95, 1.3): (
            "$\\kappa\\lambda = 4$: only rows with\nlarge margins are in doubt",
            palette.upper,
        ),
        (0.32, 0.25): ("hinge loss:\nlabels are certain", palette.lower),
    }
    for place, (text, color) in labels.items():
        axes.text(*place, text, color=color, ha="right", va="center")
    return figure

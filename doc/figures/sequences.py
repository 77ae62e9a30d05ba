"""Weights of transitions that a conditional random field has learned."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap

from skpd import ChainCRF

LABELS = np.array(["determiner", "noun", "verb"])
AFTER = np.array([[0.0, 0.95, 0.05], [0.1, 0.2, 0.7], [0.7, 0.2, 0.1]])


def _sentences(rng, n_sentences=200, length=12):
    """Features of words that tell their kinds badly, and the kinds."""
    X, y = [], []
    for _ in range(n_sentences):
        kinds = [rng.integers(3)]
        while len(kinds) < length:
            kinds.append(rng.choice(3, p=AFTER[kinds[-1]]))
        X.append(np.eye(3)[kinds] + rng.standard_normal((length, 3)))
        y.append(LABELS[kinds])
    return X, y


def _table(axes, values, colours, least, fmt):
    places = np.linspace(0.0, 1.0, len(colours))
    shades = LinearSegmentedColormap.from_list("shades", list(zip(places, colours, strict=True)))
    axes.imshow(values, cmap=shades, vmin=least, vmax=-least or 1.0)
    axes.set_xticks(range(3), LABELS, fontsize=10)
    axes.set_yticks(range(3), LABELS, fontsize=10)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("next word")
    for (i, j), value in np.ndenumerate(values):
        axes.text(j, i, format(value, fmt), ha="center", va="center")


def draw(palette):
    """The shares of the data beside the weights of the model."""
    crf = ChainCRF(alpha=1e-2).fit(*_sentences(np.random.default_rng(0)))
    clear, blue = palette.lower + "00", palette.lower + "b0"
    both = [palette.upper + "b0", palette.upper + "58", palette.upper + "00", clear,
            palette.lower + "58", blue]  # fmt: skip
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.0, 3.0), layout="constrained")
    _table(left, AFTER, [clear, blue], 0.0, ".0%")
    left.set(title="how often in the language", ylabel="word")
    _table(right, crf.transitions_, both, -3.0, ".1f")
    right.set(title="transition weight of the model")
    return figure

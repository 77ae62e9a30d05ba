"""How many times as long the fastest other solver takes, and where it takes less."""

import json
from pathlib import Path

import matplotlib.pyplot as plt

RATIOS = Path(__file__).parents[1] / "benchmarks" / "ratios.json"
LOWEST, HIGHEST = 0.27, 2000.0  # what the axis shows
HEIGHT = 0.68  # of a bar, of the distance between two of them


def bars():
    """(label, mean ratio, least ratio of any data) of each model, from the top to the bottom."""
    content = json.loads(RATIOS.read_text(encoding="utf-8"))
    found = [(one["model"], one["mean"], one["least"]) for one in content["models"]]
    return sorted(found, key=lambda bar: bar[1], reverse=True)


def draw(palette):
    """Bars from 1: to the right where skpd is faster, to the left where it is slower."""
    shown = bars()
    figure, axes = plt.subplots(figsize=(5.2, 0.26 * len(shown) + 0.9))
    shape = {"left": 1.0, "height": HEIGHT, "linewidth": 0.0}
    for place, (_, mean, least) in enumerate(shown):
        for ratio, alpha in ((mean, 0.35), (least, 1.0)):
            color = palette.lower if ratio >= 1.0 else palette.upper
            axes.barh(place, ratio - 1.0, color=color, alpha=alpha, **shape)
        axes.annotate(
            f"{mean:g}", (max(mean, 1.0), place), xytext=(5, 0), textcoords="offset points",
            color=palette.lower if mean >= 1.0 else palette.upper, ha="left",
            va="center_baseline",
        )  # fmt: skip
    axes.axvline(1.0, color=palette.text, linewidth=1.2)
    axes.set_yticks(range(len(shown)), [label for label, *_ in shown])
    axes.set(xscale="log", xlim=(LOWEST, HIGHEST), ylim=(len(shown) - 0.4, -0.6))
    axes.set_xticks([1.0, 10.0, 100.0, 1000.0], ["1", "10", "100", "1,000"])
    axes.minorticks_off()
    axes.tick_params(axis="y", length=0.0, labelcolor=palette.text)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("time of the fastest other solver\nover that of skpd")
    notes = {
        len(shown) - 2.0: ("left of 1: skpd is slower", palette.upper),
        len(shown) - 5.0: ("pale: geometric mean\nsolid: worst data", palette.lower),
    }
    for place, (text, color) in notes.items():
        axes.text(HIGHEST, place, text, color=color, ha="right", va="center", size="small")
    return figure

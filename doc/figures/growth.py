"""Time and memory of five estimators as rows and features grow.

The numbers are those of ``python -m benchmarks scaling --publish doc/benchmarks/scaling.json``.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt

MEASURED = Path(__file__).parents[1] / "benchmarks" / "scaling.json"
MARKERS = "osD^v"


def draw(palette):
    """Logarithmic axes, on which a power is a line, with one of slope 1 beside the times."""
    content = json.loads(MEASURED.read_text(encoding="utf-8"))
    rows, features = content["rows"], content["features"]
    figure, axes = plt.subplots(1, 3, figsize=(9.0, 3.6), layout="constrained")
    panels = [
        (axes[0], rows["sizes"], rows["seconds"]),
        (axes[1], features["sizes"], features["seconds"]),
        (axes[2], rows["sizes"][1:], {k: v[1:] for k, v in rows["vectors"].items()}),
    ]
    colours = (palette.lower, palette.upper, palette.text, palette.muted, palette.muted)
    for axis, sizes, lines in panels:
        for (name, values), marker, colour in zip(lines.items(), MARKERS, colours, strict=True):
            axis.plot(sizes, values, marker=marker, color=colour, linewidth=1.5, markersize=5,
                      label=name)  # fmt: skip
        axis.set(xscale="log")
    for axis, sizes in zip(axes[:2], (rows["sizes"], features["sizes"]), strict=True):
        low = 0.3 * min(min(values) for values in panels[0][2].values())
        axis.plot(sizes, [low * size / sizes[0] for size in sizes], ":", color=palette.muted)
        axis.set(yscale="log", ylabel="processor time (s)")
    axes[2].set(ylim=(0.0, 40.0), ylabel="memory beside X, in vectors\nof one number for each row")
    for axis, label in zip(axes, ("rows", "features", "rows"), strict=True):
        axis.set_xlabel(label)
        axis.minorticks_off()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure

"""The figure of the peers benchmark: the best peer's time over skpd's, a panel per model."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from benchmarks.helpers.results import HIGH, LOW, alpha_text, best_peer, two_digits

FASTER, SLOWER, LIGHT = "#1a6faf", "#c8502b", "#9aa5b1"


def draw(cases, path):
    """Dots on a log axis, one row per case, a line where skpd is as fast as the best peer."""
    models = list(dict.fromkeys(case["model"] for case in cases))
    rows = [[case for case in cases if case["model"] == model] for model in models]
    figure, panels = plt.subplots(
        len(models),
        sharex=True,
        squeeze=False,
        figsize=(7.5, 1.1 + sum(0.55 + 0.24 * len(mine) for mine in rows)),
        gridspec_kw={"height_ratios": [1 + len(mine) for mine in rows]},
        layout="constrained",
    )
    values = [1.0]
    for panel, model, mine in zip(panels[:, 0], models, rows, strict=True):
        values += draw_panel(panel, model, mine)
    last = panels[-1, 0]
    last.set_xscale("log")
    last.set_xlim(min(values) / 2.5, max(values) * 8)
    last.set_xlabel(f"time of the best peer over time of skpd, to accuracy {HIGH:g}")
    figure.legend(handles=legend(), loc="outside upper center", ncols=4, frameon=False, fontsize=8)
    figure.savefig(path, dpi=160)
    plt.close(figure)


def draw_panel(panel, model, cases):
    """One model; returns the ratios shown."""
    values = []
    for row, case in enumerate(cases):
        if low := best_peer(case, LOW):
            panel.plot(low[2], row, "o", mfc="none", mec=LIGHT, ms=4.5, zorder=2)
            values.append(low[2])
        if not (entry := best_peer(case)):
            panel.text(1.0, row, "  no peer, or not skpd", va="center", fontsize=7, color=LIGHT)
            continue
        name, sign, value = entry
        marker = {"": "o", ">": ">", "<": "<"}[sign]
        color = FASTER if value >= 1.0 else SLOWER
        if (sign == ">" and value < 1.0) or (sign == "<" and value > 1.0):
            color = LIGHT  # a bound that decides nothing
        panel.plot(value, row, marker, color=color, ms=6, zorder=3)
        right = max(value, low[2] if low else value)
        text = f"{sign}{two_digits(value)}  {name}"
        panel.annotate(
            text, (right, row), (7, 0), textcoords="offset points", va="center", fontsize=7,
            bbox={"fc": "white", "ec": "none", "pad": 0.8},
        )  # fmt: skip
        values.append(value)
    panel.axvline(1.0, color="black", lw=0.8, zorder=1)
    panel.set_title(model, loc="left", fontsize=9, fontweight="bold", pad=3)
    labels = [f"{case['data']}, {alpha_text(case)}" for case in cases]
    panel.set_yticks(range(len(cases)), labels, fontsize=7.5)
    panel.set_ylim(len(cases) - 0.4, -0.6)
    panel.tick_params(axis="y", length=0)
    panel.tick_params(axis="x", labelsize=8)
    panel.grid(axis="x", color="#e4e7eb", lw=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.spines["bottom"].set_color(LIGHT)
    return values


def legend():
    """Handles that explain the markers."""
    kinds = [
        ("o", FASTER, FASTER, "skpd faster"),
        ("o", SLOWER, SLOWER, "peer faster"),
        (">", FASTER, FASTER, "at least (time limit)"),
        ("o", LIGHT, "none", f"to accuracy {LOW:g}"),
    ]
    return [
        plt.Line2D([], [], marker=marker, ls="none", color=edge, mfc=face, ms=5, label=label)
        for marker, edge, face, label in kinds
    ]

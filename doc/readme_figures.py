"""Figures of README.md and the card of the site: ``python doc/readme_figures.py``.

They are files of `doc/static`, committed, because a README shows nothing that a build makes. A
white plate behind each is what makes them legible on light and on dark pages.
"""

import io
import re
import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

DOC = Path(__file__).parent
STATIC = DOC / "static"
sys.path.insert(0, str(DOC / "extensions"))
from figures import PALETTES, _style  # noqa: E402

LIGHT = PALETTES["light"]
# text stays text, in fonts whose letters are as wide as those that it was laid out with
STYLE = {
    **_style(LIGHT),
    "svg.fonttype": "none",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
}
POINTS = 72.0  # in an inch


def plate(figure, radius=7.0):
    """A white background with round corners, whose radius is in points."""
    width, height = figure.get_size_inches() * POINTS
    figure.patches.append(
        FancyBboxPatch(
            (1.0, 1.0),
            width - 2.0,
            height - 2.0,
            transform=None,
            mutation_scale=1.0,
            boxstyle=f"round,pad=0,rounding_size={radius}",
            facecolor="white",
            edgecolor="#d0d7de",
            linewidth=1.0,
            zorder=-10,
        )
    )


def drawn(name, size, font):
    """The figure of a page at another size, in inches."""
    with matplotlib.rc_context({**STYLE, "font.size": font}):
        figure = runpy.run_path(str(DOC / "figures" / f"{name}.py"))["draw"](LIGHT)
        figure.set_size_inches(*size)
        figure.set_layout_engine("constrained", w_pad=0.11, h_pad=0.1)
        figure.draw_without_rendering()  # which lays it out
        figure.set_layout_engine("none")
        return figure


def shortened(svg):
    """The same picture with coordinates to a hundredth of a point, and nothing about the file."""
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r"-?\d+\.\d{3,}", lambda found: f"{float(found[0]):.2f}", svg)
    return re.sub(r" *\n(?=[A-Za-z])", "", svg)


def save(figure, path):
    """Write the file, the same bytes whenever it is drawn."""
    text = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(text, format="svg")
    path.write_text(shortened(text.getvalue()), encoding="utf-8")
    plt.close(figure)


def main():
    """Write all files."""
    for name, size in {"certificate": (5.0, 2.75), "speed": (5.0, 3.9)}.items():
        figure = drawn(name, size, 10.0)
        plate(figure)
        save(figure, STATIC / f"readme_{name}.svg")


if __name__ == "__main__":
    main()

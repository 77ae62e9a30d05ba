"""Figures of README.md, the logo and the card of the site: ``python doc/readme_figures.py``.

They are files of `doc/static`, committed, because a README shows nothing that a build makes. A
white plate behind each figure is what makes it legible on light and on dark pages.
"""

import io
import re
import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch
from matplotlib.path import Path as Curve
from PIL import Image

DOC = Path(__file__).parent
STATIC = DOC / "static"
sys.path.insert(0, str(DOC / "extensions"))
from figures import PALETTES, _style  # noqa: E402

LIGHT, DARK = PALETTES["light"], PALETTES["dark"]
# text stays text, in fonts whose letters are as wide as those that it was laid out with
STYLE = {
    **_style(LIGHT),
    "svg.fonttype": "none",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
}
POINTS = 72.0  # in an inch

# The logo, an interval that closes: its two cubic curves in a square of 48 units, y downwards
UPPER = ((6.0, 5.0), (10.0, 17.0), (19.0, 21.6), (40.0, 21.6))
LOWER = ((6.0, 43.0), (10.0, 31.0), (19.0, 26.4), (40.0, 26.4))
STROKE, DOT = 4.8, 6.5

CARD = (12.0, 6.3)  # inches, at 100 pixels an inch
TAGLINE = (
    "Regularised linear models for scikit-learn,\nwith a proof of how much can still be gained"
)


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

    def rounded(attribute):
        return re.sub(r"-?\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", attribute[0])

    svg = re.sub(r'"[^"]*"', rounded, svg)  # not the text that is read
    return re.sub(r" *\n(?=[A-Za-z])", "", svg)


def save(figure, path):
    """Write the file, the same bytes whenever it is drawn."""
    text = io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure.savefig(text, format="svg")
    path.write_text(shortened(text.getvalue()), encoding="utf-8")
    plt.close(figure)


def cubic(curve):
    """A curve as SVG writes it."""
    start, *rest = (f"{x:g} {y:g}" for x, y in curve)
    return f"M{start}C{' '.join(rest)}"


def logo(palette, style=""):
    """The logo in the colours of a palette, which ``style`` may replace."""
    shape = f'fill="none" stroke-width="{STROKE}" stroke-linecap="round"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 48 48">{style}'
        f'<path class="lower" d="{cubic(LOWER)}" stroke="{palette.lower}" {shape}/>'
        f'<path class="upper" d="{cubic(UPPER)}" stroke="{palette.upper}" {shape}/>'
        f'<circle class="dot" cx="40" cy="24" r="{DOT}" fill="{palette.text}"/></svg>\n'
    )


def favicon():
    """The logo, in the colours of the browser's theme."""
    rules = f".upper{{stroke:{DARK.upper}}}.lower{{stroke:{DARK.lower}}}.dot{{fill:{DARK.text}}}"
    style = f"<style>@media(prefers-color-scheme:dark){{{rules}}}</style>"
    return logo(LIGHT, style)


def draw_logo(axes, palette):
    """The logo on axes of its own."""
    axes.set(xlim=(0.0, 48.0), ylim=(48.0, 0.0), aspect="equal")
    axes.axis("off")
    width = STROKE / 48.0 * axes.get_window_extent().width * POINTS / axes.figure.dpi
    codes = [Curve.MOVETO, *[Curve.CURVE4] * 3]
    for curve, color in ((LOWER, palette.lower), (UPPER, palette.upper)):
        axes.add_patch(
            PathPatch(
                Curve(curve, codes), fill=False, edgecolor=color, linewidth=width, capstyle="round"
            )
        )
    axes.add_patch(Circle((40.0, 24.0), DOT, color=palette.text))


def card():
    """What other sites show beside a link to the site."""
    figure = drawn("certificate", CARD, 20.0)
    with matplotlib.rc_context(STYLE):
        figure.axes[0].set_position([0.1, 0.15, 0.85, 0.46])
        for line in figure.axes[0].lines:
            line.set_linewidth(4.0)
        figure.set_facecolor("white")
        draw_logo(figure.add_axes([0.03, 0.7, 0.13, 0.25]), LIGHT)
        figure.text(0.17, 0.82, "skpd", fontsize=58.0, weight="bold", va="center")
        figure.text(0.41, 0.825, TAGLINE, fontsize=21.0, va="center", linespacing=1.4)
    figure.savefig(STATIC / "card.png", dpi=100, metadata={"Software": None})
    plt.close(figure)
    with Image.open(STATIC / "card.png") as image:  # 64 colours are enough
        image.convert("RGB").quantize(64).save(STATIC / "card.png", optimize=True)


def main():
    """Write all files."""
    for name, size in {"certificate": (5.0, 2.75), "speed": (5.0, 4.1)}.items():
        figure = drawn(name, size, 10.0)
        plate(figure)
        save(figure, STATIC / f"readme_{name}.svg")
    files = {
        "logo.svg": logo(LIGHT),
        "logo_dark.svg": logo(DARK),
        "favicon.svg": favicon(),
    }
    for name, text in files.items():
        (STATIC / name).write_text(text, encoding="utf-8")
    card()


if __name__ == "__main__":
    main()

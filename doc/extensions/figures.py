"""Figures of the pages, drawn while the site is built: once for light pages, once for dark ones.

Each file of `doc/figures` has a function ``draw(palette)`` that returns a figure of Matplotlib. It
goes to `generated/figures/NAME-light.svg` and `NAME-dark.svg`, which pages show by

    .. skpd-figure:: NAME
       :alt: what it shows
"""

import runpy
from pathlib import Path
from typing import ClassVar, NamedTuple

import matplotlib
import matplotlib.pyplot as plt
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective


class Palette(NamedTuple):
    """Colours that can be told apart on a page, also by the colour-blind."""

    text: str
    muted: str
    upper: str
    lower: str
    band: str


PALETTES = {
    "light": Palette("#222832", "#48566b", "#a9480b", "#0b5fa5", "#0b5fa5"),
    "dark": Palette("#ced6dd", "#9ca4af", "#f5a262", "#6cb8f5", "#6cb8f5"),
}


def _style(palette):
    return {
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
        "svg.fonttype": "path",
        "svg.hashsalt": "skpd",
        "font.size": 11.0,
        "text.color": palette.text,
        "axes.labelcolor": palette.text,
        "axes.edgecolor": palette.muted,
        "xtick.color": palette.muted,
        "ytick.color": palette.muted,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
    }


def draw_all(app):
    """Draw the figures that are missing or older than their files."""
    folder = Path(app.srcdir) / "generated" / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    matplotlib.use("Agg")
    here = Path(__file__)
    for source in sorted((Path(app.srcdir) / "figures").glob("*.py")):
        changed = max(source.stat().st_mtime, here.stat().st_mtime)
        draw = None
        for name, palette in PALETTES.items():
            target = folder / f"{source.stem}-{name}.svg"
            if target.exists() and target.stat().st_mtime > changed:
                continue
            draw = draw or runpy.run_path(str(source))["draw"]
            with matplotlib.rc_context(_style(palette)):
                figure = draw(palette)
                figure.savefig(target, bbox_inches="tight", metadata={"Date": None})
                plt.close(figure)


class SkpdFigure(SphinxDirective):
    """Both versions of a figure, of which the theme shows one."""

    required_arguments = 1
    option_spec: ClassVar[dict] = {"alt": directives.unchanged_required}

    def run(self):
        """Make the nodes of the two images."""
        found = []
        for name in PALETTES:
            uri = f"/generated/figures/{self.arguments[0]}-{name}.svg"
            classes = [f"only-{name}", "skpd-figure"]
            found.append(nodes.image(uri=uri, alt=self.options["alt"], classes=classes))
        return found


def setup(app):
    """Register the directive and draw when a build begins."""
    app.connect("builder-inited", draw_all)
    app.add_directive("skpd-figure", SkpdFigure)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The tables and figures of the papers whose algorithms are here, each number beside ours.

Every module is a paper, and every function in its ``RESULTS`` a table or a figure of it, which
returns a `Table`. What needs data that cannot be had says so in its note. With ``--publish`` each
paper's page of the site is written: the docstring of the module, with a figure of ``doc/figures``
and a list of what of the paper is where, and the tables with the docstrings of their functions.
"""

import importlib
import inspect
import time
import warnings
from pathlib import Path
from typing import NamedTuple

PAPERS = {
    "accelerated": "Zhang, Saha and Vishwanathan: Nesterov's accelerated gradients, 2011",
    "frank_wolfe": "Lei et al.: primal-dual block Frank-Wolfe, 2019",
    "pdprox": "Yang, Mahdavi, Jin and Zhu: primal dual prox method, 2015",
    "rates": "Dünner, Forte, Takáč and Jaggi: primal-dual rates and certificates, 2016",
    "wasserstein": "Li, Chen and So: Wasserstein distributionally robust SVM, 2020",
}


class Table(NamedTuple):
    """Rows below a header: the paper's numbers, those measured here, and what the data are."""

    header: list[str]
    rows: list[list[str]]
    note: str = ""


def fitted(model, X, y):
    """The model after its fit, whether that converges or not, and whatever it leaves at 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y)


def text(value):
    """A number as the tables show it."""
    return value if isinstance(value, str) else "-" if value is None else f"{value:.4g}"


def shown(table):
    """A table in Markdown."""
    lines = [table.header, ["---"] * len(table.header), *table.rows]
    body = "\n".join("| " + " | ".join(map(text, line)) + " |" for line in lines)
    return f"{body}\n\n{table.note}" if table.note else body


def list_table(rows):
    """Rows as a table in reStructuredText, the first of them the header.

    A hyphen alone, of a cell without a value, would be a list there: it is a dash.
    """
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        for place, cell in enumerate(row):
            value = "\N{EN DASH}" if text(cell) == "-" else text(cell)
            lines.append(f"   {'* -' if place == 0 else '  -'} {value}")
    return "\n".join(lines)


def of_page(title, table, about):
    """A section of a page, in reStructuredText."""
    shown = [list_table([table.header, *table.rows]), ""] if table.rows else []
    return "\n".join([title, "-" * len(title), "", about, "", *shown, table.note, ""])


OPTIONS = {
    "names": {"nargs": "*", "choices": [[], *PAPERS], "help": "all by default"},
    "--publish": {"type": Path, "metavar": "FOLDER", "help": "write the pages there"},
}


def main(options):
    for name in options.names or PAPERS:
        module = importlib.import_module(f"benchmarks.papers.{name}")
        heading, _, prose = module.__doc__.partition("\n\n")
        parts = [heading, "=" * len(heading), "", prose.strip(), ""]
        print(f"# {heading}\n", flush=True)
        for title, function in module.RESULTS.items():
            start = time.perf_counter()
            table = function()
            took = f"{time.perf_counter() - start:.0f} s"
            print(f"## {title} ({took})\n\n{shown(table)}\n", flush=True)
            parts.append(of_page(title, table, inspect.getdoc(function)))
        if options.publish:
            (options.publish / f"{name}.rst").write_text("\n".join(parts), encoding="utf-8")

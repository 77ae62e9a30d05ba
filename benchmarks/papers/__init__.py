"""The tables and figures of the papers whose algorithms are here, each number beside ours.

Every module is a paper, and every function in its ``RESULTS`` a table or a figure of it, which
returns a `Table`. What needs data that cannot be had says so in its note. With ``--publish`` each
paper's page of the site is written: the docstring of the module, with a figure of ``doc/figures``
and a list of what of the paper is where, and the docstrings of the functions with links to their
tables, which are CSV files.
"""

import csv
import importlib
import inspect
import re
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


def write_csv(path, table):
    """A table as a CSV file, with empty cells where there is no value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = ([text(cell) for cell in row] for row in [table.header, *table.rows])
        cells = (["" if cell == "-" else cell for cell in row] for row in rows)
        csv.writer(stream, lineterminator="\n").writerows(cells)


def of_page(title, table, about, link):
    """A section of a page, in reStructuredText."""
    download = [f":download:`The numbers as a CSV file <{link}>`", ""] if table.rows else []
    note = [table.note, ""] if table.note else []
    return "\n".join([title, "-" * len(title), "", about, "", *download, *note])


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
            link = f"tables/{name}/{re.sub('[^a-z0-9]+', '-', title.lower()).strip('-')}.csv"
            parts.append(of_page(title, table, inspect.getdoc(function), link))
            if options.publish and table.rows:
                write_csv(options.publish / link, table)
        if options.publish:
            (options.publish / f"{name}.rst").write_text("\n".join(parts), encoding="utf-8")

"""Tables of measured times.

.. benchmark-tables:: benchmarks/peers.json

shows a file that ``python -m benchmarks NAME --publish FILE`` writes, in a section for each model,
and

.. benchmark-ratios:: benchmarks/ratios.json

the file from which the bars of `doc/figures/speed.py` are drawn, and

.. benchmark-rows:: benchmarks/corners.json

a file that holds the rows of one table.
"""

import json
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

NAMES = {
    "l1-hinge": "Hinge loss, l1 norm",
    "l2-hinge": "Hinge loss, squared l2 norm",
    "group-hinge": "Hinge loss, group lasso",
    "l1-logistic": "Logistic loss, l1 norm",
    "l1-pinball": "Pinball loss, l1 norm",
    "lasso": "Lasso",
    "elastic-net": "Elastic net",
    "ridge": "Ridge regression",
    "elastic-net-hinge": "Hinge loss, elastic net",
    "l2-logistic": "Logistic loss, squared l2 norm",
    "multitask": "Multi-task lasso",
    "multinomial-l2": "Softmax, squared l2 norm",
}
CLOCKS = {"perf_counter": "Time", "process_time": "Processor time"}


def described(content):
    """What was measured, and where."""
    machine = content["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    clock = CLOCKS[content["clock"]]
    return (
        f"{clock} of fits, each contender cut off after {content['limit']:g} s at most, "
        f"on {machine['system']} with {machine['cores']} cores ({machine['processor']}), threads: "
        f"{machine['threads']}; Python {machine['python']}, {versions}."
    )


def table(rows, look="benchmark"):
    """A table whose first row is its header; lines of a cell are paragraphs of it."""
    columns = len(rows[0])
    group = nodes.tgroup(cols=columns)
    group += [nodes.colspec(colwidth=1) for _ in range(columns)]
    parts = [nodes.thead(), nodes.tbody()]
    for place, row in enumerate(rows):
        line = nodes.row()
        for text in row:
            line += nodes.entry("", *(nodes.paragraph(text=part) for part in text.splitlines()))
        parts[min(place, 1)] += line
    group += parts
    return nodes.table("", group, classes=[look])


class BenchmarkTables(SphinxDirective):
    """A section for each model of a file of results."""

    required_arguments = 1

    def run(self):
        """Make the sections."""
        relative, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(relative)
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        found = [nodes.paragraph(text=described(content))]
        for one in content["tables"]:
            title = NAMES.get(one["model"], one["model"])
            section = nodes.section(ids=[nodes.make_id(one["model"])])
            section += [nodes.title(text=title), table(one["rows"])]
            found.append(section)
        return found


def of_models(entries):
    """Rows of the models, the first of them the header."""
    rows = [["model\nand the other solvers", "ratio, mean", "least ratio", "cases"]]
    for one in entries:
        bounds = f"\n{one['bounds']} are bounds" if one.get("bounds") else ""
        model = f"{one['model']}\n{one['peers']}"
        rows.append([model, f"{one['mean']:g}", f"{one['least']:g}", f"{one['cases']}{bounds}"])
    return rows


class BenchmarkRatios(SphinxDirective):
    """A table of ratios."""

    required_arguments = 1

    def run(self):
        """Make the table."""
        relative, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(relative)
        models = json.loads(Path(path).read_text(encoding="utf-8"))["models"]
        return [table(of_models(models), "benchmark-models")]


class BenchmarkRows(SphinxDirective):
    """A table as it was measured."""

    required_arguments = 1

    def run(self):
        """Make the table."""
        relative, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(relative)
        rows = json.loads(Path(path).read_text(encoding="utf-8"))["rows"]
        return [table(rows, "benchmark-rows")]


def setup(app):
    """Register the directives."""
    app.add_directive("benchmark-tables", BenchmarkTables)
    app.add_directive("benchmark-ratios", BenchmarkRatios)
    app.add_directive("benchmark-rows", BenchmarkRows)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The table of the parameters that several estimators share.

.. shared-parameters:: parameters.toml

takes names, defaults and estimators from the signatures of `skpd`, and from the file what the
parameters mean and why defaults differ.
"""

import inspect
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import skpd

ALONE = ("BlockScaler",)  # has the parameters of scikit-learn's StandardScaler
HEADER = ("Parameter", "Default", "Meaning, and other defaults")


def estimators():
    """The classes of estimators by name."""
    values = {name: getattr(skpd, name) for name in skpd.__all__ if name not in ALONE}
    return {
        name: kind for name, kind in values.items()
        if inspect.isclass(kind) and hasattr(kind, "fit")
    }  # fmt: skip


def shared_parameters():
    """For each parameter of several estimators their names by its default, the most common first.

    Returns
    -------
    parameters : dict of str to list of (str, list of str)
        Defaults in their ``repr``; "" where there is none.
    """
    names = defaultdict(lambda: defaultdict(list))
    for estimator, kind in estimators().items():
        for parameter in inspect.signature(kind).parameters.values():
            default = parameter.default
            text = "" if default is inspect.Parameter.empty else repr(default)
            names[parameter.name][text].append(estimator)
    counts = Counter({name: sum(map(len, each.values())) for name, each in names.items()})
    return {
        name: sorted(names[name].items(), key=lambda pair: (-len(pair[1]), pair[0]))
        for name in sorted(names) if counts[name] > 1
    }  # fmt: skip


def rows(entries):
    """The rows of the table, whose cells are lists of paragraphs."""
    for name, ((default, _), *others) in shared_parameters().items():
        entry = entries[name]
        yield [
            [name], [default or "none"],
            [entry["meaning"],
             *(f"{text} for {', '.join(users)}: {entry[text]}" for text, users in others)],
        ]  # fmt: skip


class SharedParameters(SphinxDirective):
    """The table of the parameters that a file describes."""

    required_arguments = 1

    def run(self):
        """Make the table."""
        relative, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(relative)
        entries = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        group = nodes.tgroup(cols=len(HEADER))
        group += [nodes.colspec(colwidth=width) for width in (2, 1, 8)]
        head, body = nodes.thead(), nodes.tbody()
        head += nodes.row("", *(nodes.entry("", nodes.paragraph(text=text)) for text in HEADER))
        for name, *cells in rows(entries):
            line = nodes.row(
                "", nodes.entry("", nodes.paragraph("", "", nodes.literal(text=name[0])))
            )
            for texts in cells:
                line += nodes.entry("", *(nodes.paragraph(text=text) for text in texts))
            body += line
        group += [head, body]
        return [nodes.table("", group, classes=["stacked"])]


def setup(app):
    """Register the directive."""
    app.add_directive("shared-parameters", SharedParameters)
    return {"parallel_read_safe": True}

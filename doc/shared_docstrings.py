"""Copy what several docstrings share from ``shared_docstrings.toml`` into the source.

Editors, help pages and type checkers read complete docstrings; the table has each text once.

    python doc/shared_docstrings.py

An entry of the table has a ``text`` in the form of numpydoc, and the ``docstrings`` that share it,
such as "estimators.base.PrimalDualEstimator.fit". Its items, such as a parameter with its
description, replace those of the same name there, in the sections that the text or ``section``
names. With ``item`` the text is the description of this item alone. A text may have lines such as
{names} that stand for other entries. A new docstring is given the name of an item, on a line of
its own, and an entry in the list; the text of an item is edited in the table only.
"""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from pathlib import Path
from textwrap import indent

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".toml")
NAMED = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)


def docstrings(source):
    """The first and the last line of each docstring of a module, by qualified name."""
    found = {}

    def visit(node, name):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.ClassDef, ast.FunctionDef)):
                own = f"{name}.{child.name}" if name else child.name
                first = child.body[0]
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    found[own] = first.lineno - 1, first.end_lineno
                visit(child, own)

    visit(ast.parse(source), "")
    return found


def sections(lines, name=None):
    """The items of each section of a docstring without indentation, as slices of its lines.

    ``name`` is the section of lines before the first heading. Items are known by what stands
    before the colon.
    """
    items, k = {}, 0
    while k < len(lines):
        if k + 1 < len(lines) and lines[k].strip() and re.fullmatch(r"-{3,}", lines[k + 1]):
            name, k = lines[k], k + 2
            continue
        start = k
        while lines[k].endswith("\\"):
            k += 1
        k += 1
        if name is None or not lines[start] or lines[start].startswith(" "):
            continue
        header_end = k
        while k < len(lines) and (lines[k].startswith(" ") or not lines[k]):
            k += 1
        end = k
        while not lines[end - 1]:
            end -= 1
        items[name, lines[start].split(" : ")[0]] = start, header_end, end
    return items


def stripped(entry):
    """The text of an entry without the empty lines at its ends."""
    return entry["text"].strip("\n")


def texts(table):
    """The lines of each shared item, by docstring, section and name.

    The second member of a value is whether they are a description without the first line.
    """

    def filled(text):
        return NAMED.sub(lambda line: indent(filled(stripped(table[line[2]])), line[1]), text)

    found = defaultdict(dict)
    for entry in table.values():
        lines = filled(stripped(entry)).split("\n")
        if "item" in entry:
            parts = {(entry["section"], entry["item"]): (lines, True)}
        else:
            items = sections(lines, entry.get("section")).items()
            parts = {key: (lines[start:end], False) for key, (start, _, end) in items}
        for name in entry.get("docstrings", ()):
            found[name] |= parts
    return found


def updated(source, shared):
    """The source of a module with the shared items in its docstrings.

    Raises
    ------
    ValueError
        If a docstring, or an item in it, is missing.
    """
    lines, where = source.split("\n"), docstrings(source)
    for name in sorted(shared, key=lambda name: where.get(name, (0,)), reverse=True):
        if name not in where:
            raise ValueError(f"{name} has no docstring, which {TABLE.name} lists.")
        first, last = where[name]
        margin = re.match(" *", lines[last - 1])[0]
        inner = [line.removeprefix(margin) for line in lines[first:last]]
        found = sections(inner)
        missing = shared[name].keys() - found.keys()
        if missing:
            raise ValueError(f"{name} has no {sorted(missing)}, which {TABLE.name} lists.")
        for key in sorted(shared[name], key=found.__getitem__, reverse=True):
            (new, is_description), (start, body, end) = shared[name][key], found[key]
            if is_description:
                start, new = body, [f"    {line}" if line else "" for line in new]
            inner[start:end] = new
        lines[first:last] = [margin + line if line else "" for line in inner]
    return "\n".join(lines)


def main(write=True):
    """The files whose docstrings differ from the table; they are then written."""
    shared = texts(tomllib.loads(TABLE.read_text(encoding="utf-8")))
    by_module = defaultdict(dict)
    for path in sorted((ROOT / "skpd").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "skpd").with_suffix("").parts)
        own = [name for name in shared if name.startswith(f"{module}.")]
        by_module[path] = {name.removeprefix(f"{module}."): shared.pop(name) for name in own}
    if shared:
        raise ValueError(f"{TABLE.name} lists docstrings of no module: {sorted(shared)}.")
    changed = []
    for path, items in by_module.items():
        source = path.read_text(encoding="utf-8")
        if items and updated(source, items) != source:
            changed.append(path)
            if write:
                path.write_text(updated(source, items), encoding="utf-8")
    return changed


if __name__ == "__main__":
    for changed_path in main():
        sys.stdout.write(f"{changed_path}\n")

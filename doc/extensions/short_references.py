"""References that Sphinx does not find under the name that a text has for them.

Texts name what they mean as code does: `Lasso` without its module, and in docstrings also
parameters, attributes and modules that have no page. In this order

1. a name without dots is that of a class or function of skpd or scikit-learn, if there is one;
2. a name of the source of skpd that has no page is shown as code, without a link;
3. what a docstring inherited from scikit-learn refers to, as labels of its guide, is text.

Every other name is a mistake, of which a nitpicky build warns.

Pages with source code link to what they document by the module of the source. A function that is
documented under the name of its package has that anchor, too.
"""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

from docutils.utils import get_source_line
from sphinx.addnodes import desc_signature
from sphinx.ext.intersphinx import InventoryAdapter, missing_reference

SOURCES = Path(__file__).parents[2] / "skpd"
OBJECTS = {"class", "function", "exception", "module", "data"}
NAMED = {
    ast.ClassDef: "name", ast.FunctionDef: "name", ast.arg: "arg", ast.Attribute: "attr",
    ast.Name: "id", ast.keyword: "arg",
}  # fmt: skip


@cache
def names_of_the_source():
    """Modules of skpd, and whatever has a name in them."""
    names = set()
    for path in SOURCES.rglob("*.py"):
        names.add(".".join(("skpd", *path.relative_to(SOURCES).with_suffix("").parts)))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if type(node) in NAMED:
                names.add(getattr(node, NAMED[type(node)]))
    return names | {name.removesuffix(".__init__") for name in names if name}


def is_in_the_source(target):
    """Whether all of a dotted name, or its last parts below a module, are of the source."""
    names = names_of_the_source()
    parts = target.split(".")
    if parts[0] == "skpd":
        modules = [k for k in range(1, len(parts) + 1) if ".".join(parts[:k]) in names]
        parts = parts[max(modules, default=0) :]
    return all(part in names for part in parts)


def full_name(env, target):
    """The class or function with this last part, that of the package itself before others."""
    ours = [
        name
        for name, entry in env.domains["py"].objects.items()
        if entry.objtype in OBJECTS and name.rpartition(".")[2] == target
    ]
    if f"skpd.{target}" in ours:
        return f"skpd.{target}"
    theirs = InventoryAdapter(env).named_inventory["sklearn"].values()
    found = ours or [name for names in theirs for name in names if name.endswith(f".{target}")]
    return found[0] if len(found) == 1 else None


def resolve(app, env, node, contnode):
    """Find what a name means, or show it without a link."""
    if "docstring of sklearn" in str(get_source_line(node)[0]):
        return contnode
    if node["refdomain"] != "py":
        return None
    target = node["reftarget"]
    name = full_name(env, target) if "." not in target else None
    if name is not None:
        node["reftarget"] = name
        ours = env.domains["py"].resolve_xref(
            env, node["refdoc"], app.builder, "obj", name, node, contnode
        )
        return ours or missing_reference(app, env, node, contnode)
    return contnode if is_in_the_source(target) else None


def add_anchors(app, doctree):
    """Give each function the anchor of the module in which its source is."""
    for node in doctree.findall(desc_signature):
        name, module = node.get("fullname"), node.get("module")
        function = getattr(import_module(module), name, None) if module else None
        anchor = f"{getattr(function, '__module__', None)}.{name}"
        if anchor not in node["ids"] and node.parent["objtype"] == "function":
            node["ids"].append(anchor)


def setup(app):
    """Come after intersphinx, whose priority is the default of 500."""
    app.connect("missing-reference", resolve, priority=900)
    app.connect("doctree-read", add_anchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

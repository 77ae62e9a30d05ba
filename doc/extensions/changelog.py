"""The page "What's new" is CHANGELOG.md, where there is one."""

from pathlib import Path

INCLUDED = """
.. include:: ../CHANGELOG.md
   :parser: myst_parser.sphinx_
   :start-line: 1
"""
MISSING = "\nNothing has been released yet.\n"


def fill(app, name, source):
    """Add the file below the title."""
    if name == "whats_new":
        there = (Path(app.srcdir).parent / "CHANGELOG.md").exists()
        source[0] += INCLUDED if there else MISSING


def setup(app):
    """Listen to what is read."""
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

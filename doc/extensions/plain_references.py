"""Labels of other sites as plain text, in docstrings.

What an estimator inherits from scikit-learn refers to labels and to a glossary there, and numpydoc
links types to those of Python and NumPy. The inventories of `doc/inventories`, which keep a build
from asking the network, hold objects alone.
"""

import re

REFERENCE = re.compile(r":(?:ref|term):`([^<`]+?)(?:\s*<[^>]*>)?`")


def to_text(app, what, name, obj, options, lines):
    """Replace such references in place, after numpydoc has made its own."""
    lines[:] = [REFERENCE.sub(r"\1", line) for line in lines]


def setup(app):
    """Come after numpydoc, whose priority is the default of 500."""
    app.connect("autodoc-process-docstring", to_text, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

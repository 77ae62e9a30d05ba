"""Entries that the docstrings of several estimators share, from `_docstrings.toml`."""

import re
import tomllib
from pathlib import Path
from textwrap import indent
from typing import TypeVar

ENTRIES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ENTRY_LINE = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)
Documentable = TypeVar("Documentable")


def documented(documentable: Documentable) -> Documentable:
    """Replace the lines of a docstring such as ``{tol}`` by the shared entries that they name.

    Parameters
    ----------
    documentable : class or function
        Without a docstring, as under ``python -OO``, it stays as it is.

    Returns
    -------
    documentable : class or function

    Raises
    ------
    KeyError
        If `_docstrings.toml` has no such entry.
    """
    if documentable.__doc__:
        documentable.__doc__ = _filled(documentable.__doc__)
    return documentable


def _filled(text: str) -> str:
    """A text with entries, which may name others, in place of the lines that name them."""
    return ENTRY_LINE.sub(lambda line: indent(_filled(ENTRIES[line[2]]).rstrip(), line[1]), text)

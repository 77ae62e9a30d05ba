"""Entries that the docstrings of several estimators share, from `_docstrings.toml`."""

import re
import tomllib
from pathlib import Path
from textwrap import indent
from typing import Any

ENTRIES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PLACE = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)  # a line that names an entry


def documented(documentable: Any) -> Any:
    """Put shared entries into a docstring, in the places of lines such as ``{tol}``.

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
    """A text with entries, which may name others, in their places."""
    return PLACE.sub(lambda place: indent(_filled(ENTRIES[place[2]]).rstrip(), place[1]), text)

"""The search for the compiled module, and the error message that explains how to build it.

In a clone, ``python -m skpd`` and ``python -m pytest`` import the sources in the current folder,
which contains no compiled module. In this case the module of the installed package is used.
"""

import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

COMPILED = f"{__package__}._kernels"


def _add_installed() -> None:
    """Look for submodules of the kernels in the installed package as well."""
    if find_spec(COMPILED) is None:
        with suppress(PackageNotFoundError):
            installed = distribution("skpd").locate_file("skpd/kernels")
            sys.modules[__package__].__path__.append(str(installed))


def not_built(error: ImportError) -> ImportError:
    """The error to raise where the compiled module is missing or does not fit the sources."""
    root = Path(__file__).resolve().parents[2]
    return ImportError(
        f"The compiled part of skpd is missing, or older than the sources in {root}: {error}. "
        "Build it with 'python -m pip install .' in that folder, or, to go on working on the "
        "sources, 'python -m pip install --editable .'"
    )


_add_installed()

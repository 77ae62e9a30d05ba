"""The version of the package, and the versions of its dependencies for bug reports."""

import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata, version

from ._compat import _get_threadpool_controller, _openmp_effective_n_threads
from .kernels import _kernels

VERSION = version("skpd")

REQUIRED = "numpy", "scipy", "scikit-learn", "joblib"
OPTIONAL = "matplotlib", "pandas", "pyarrow", "rich", "pip"


@cache
def documentation() -> str:
    """The address of the documentation, from the metadata of the package.

    The address is the entry "Documentation" of ``[project.urls]`` in pyproject.toml; it is empty
    if there is no such entry.
    """
    for entry in metadata("skpd").get_all("Project-URL") or ():
        label, _, address = entry.partition(",")
        if label.strip().lower() == "documentation":
            return address.strip().rstrip("/")
    return ""


def show_versions() -> None:
    """Print the versions of skpd, Python and the dependencies, for a bug report.

    The output also contains the path of the compiled module, the number of threads that it uses
    for products with large data, and the libraries with their own thread pools.

    Examples
    --------
    >>> import skpd
    >>> skpd.show_versions()  # doctest: +ELLIPSIS
    skpd: ...
    kernels: ..._kernels...
    threads of a product: ...
    python: ...
    """
    print(f"skpd: {VERSION}")
    print(f"kernels: {_kernels.__file__}")
    print(f"threads of a product: {_openmp_effective_n_threads()}")
    print(f"python: {' '.join(sys.version.split())}")
    print(f"executable: {sys.executable}")
    print(f"machine: {platform.platform()}")
    for name in (*REQUIRED, *OPTIONAL):
        print(f"{name}: {_installed(name)}")
    for library in _get_threadpool_controller().info():
        print("library: " + ", ".join(f"{key} {value}" for key, value in library.items()))


def _installed(name: str) -> str:
    """The version of a package, or "not installed"."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"

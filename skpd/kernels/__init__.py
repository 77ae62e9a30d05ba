"""The compiled functions: products with the data, passes over the rows and projections."""

from . import _locate_module as _build

try:
    from ._kernels import *  # noqa: F403 (the compiled module says what it exports)
except ImportError as error:
    raise _build.not_built(error) from error

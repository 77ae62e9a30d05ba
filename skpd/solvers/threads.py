"""The limit on BLAS threads, where solvers look for it."""

from .._threads import blas_threads_for

__all__ = ["blas_threads_for"]

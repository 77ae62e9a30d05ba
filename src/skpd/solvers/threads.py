"""One thread for BLAS while small linear systems are solved one after the other."""

from contextlib import nullcontext
from typing import Any

from sklearn.utils.parallel import _get_threadpool_controller

__all__ = ["blas_threads_for", "one_blas_thread"]

LARGEST_ALONE = 100  # systems for which BLAS takes one thread by itself


def one_blas_thread() -> Any:
    """A context in which BLAS has one thread."""
    return _get_threadpool_controller().limit(limits=1, user_api="blas")


def blas_threads_for(size: int) -> Any:
    """A context for linear algebra with matrices of this size.

    In thousands of small factorisations threads mostly wait for each other: a group lasso
    fit of sparse text data took three times as long with two, ten times on busy cores.
    """
    return nullcontext() if size <= LARGEST_ALONE else one_blas_thread()

"""Contexts that limit BLAS to one thread for products too small for several threads."""

from contextlib import AbstractContextManager, ExitStack, nullcontext
from threading import Lock

from .._compat import _get_threadpool_controller

LARGEST_ALONE = 100  # largest system for which BLAS itself uses one thread
TAKEN_ALONE = 1 << 13  # most multiplications of a product for which BLAS itself uses one thread
WORTH_THREADS = 1 << 28  # multiplications, about 10 ms, above which several threads are faster


class _OneThread:
    """A context that limits BLAS to one thread, and that several threads may enter.

    The limit is global to the process. The first thread that enters sets it, and the last one that
    leaves restores the former limit; otherwise a thread could restore the limit of another.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limit = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                limit = _get_threadpool_controller().limit(limits=1, user_api="blas")
                self._limit.enter_context(limit)
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.close()


_ONE_THREAD = _OneThread()


def one_blas_thread() -> AbstractContextManager:
    """A context in which BLAS has one thread, which several threads may enter repeatedly."""
    return _ONE_THREAD


def blas_threads_for(size: int) -> AbstractContextManager:
    """A context for a sequence of factorisations of matrices of this size.

    In thousands of small factorisations the threads of BLAS mostly wait for each other, so that
    one thread is faster.
    """
    return nullcontext() if size <= LARGEST_ALONE else one_blas_thread()


def blas_threads_for_product(multiplications: int) -> AbstractContextManager:
    """A context for a product of matrices with this many multiplications.

    BLAS starts threads for products that are much too small for them, which slows down fits of
    small data, above all on busy cores.
    """
    if multiplications <= TAKEN_ALONE or multiplications >= WORTH_THREADS:
        return nullcontext()
    return one_blas_thread()

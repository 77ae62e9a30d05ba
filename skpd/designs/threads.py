"""One thread for BLAS while others would mostly wait for each other."""

from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any

from sklearn.utils.parallel import _get_threadpool_controller

__all__ = ["blas_threads_for", "blas_threads_for_product", "one_blas_thread"]

LARGEST_ALONE = 100  # systems for which BLAS takes one thread by itself
TAKEN_ALONE = 1 << 13  # multiplications in a product for which it does so too, of whatever shape
WORTH_THREADS = 1 << 28  # multiplications, about 10 ms: less is over before others are awake


class _OneThread:
    """The limit on the threads of BLAS, which is one for the whole process.

    The first of the threads that are inside at once sets it and the last restores what was before:
    if each restored what it found, the last would restore the limit of another.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _get_threadpool_controller().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


_ONE_THREAD = _OneThread()


def one_blas_thread() -> AbstractContextManager:
    """A context in which BLAS has one thread, to enter any number of times from any threads."""
    return _ONE_THREAD


def blas_threads_for(size: int) -> AbstractContextManager:
    """A context for the factorisation of matrices of this size, one after the other.

    In thousands of small factorisations threads mostly wait for each other: a group lasso
    fit of sparse text data took three times as long with two, ten times on busy cores.
    """
    return nullcontext() if size <= LARGEST_ALONE else one_blas_thread()


def blas_threads_for_product(multiplications: int) -> AbstractContextManager:
    """A context for a product of matrices with this many multiplications.

    BLAS starts threads for far less than they are worth: an l1 logistic fit of 1797 x 64 numbers
    took ten times as long with two on busy cores, nearly all of it in products X'X.
    """
    if multiplications <= TAKEN_ALONE or multiplications >= WORTH_THREADS:
        return nullcontext()
    return one_blas_thread()

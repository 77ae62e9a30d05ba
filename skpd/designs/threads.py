"""Contexts that limit BLAS to one thread for products too small for several threads."""

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from threading import Lock, get_ident

from .._compat import _get_threadpool_controller

LARGEST_ALONE = 100  # largest system for which BLAS itself uses one thread
TAKEN_ALONE = 1 << 13  # most multiplications of a product for which BLAS itself uses one thread
WORTH_THREADS = 1 << 28  # multiplications, about 10 ms, above which several threads are faster
SMALL_TABLE = 20_000  # entries of X up to which fits hardly use BLAS


class _OneThread:
    """A context that limits BLAS to one thread, and that several threads may enter.

    The limit is global to the process. The first thread that enters sets it, and the last one that
    leaves restores the former limit; otherwise a thread could restore the limit of another.
    """

    def __init__(self) -> None:
        self._lock, self._limit = Lock(), ExitStack()
        self._depths: Counter[int] = Counter()  # how often each thread has entered

    def __enter__(self) -> None:
        with self._lock:
            if not self._depths:
                self._set()
            self._depths[get_ident()] += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._depths[get_ident()] -= 1
            self._depths += Counter()  # without the threads that have left
            if not self._depths:
                self._limit.close()

    def _set(self) -> None:
        limit = _get_threadpool_controller().limit(limits=1, user_api="blas")
        self._limit.enter_context(limit)

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """A context of the former limit, unless another thread needs the cores."""
        with self._lock:
            alone = list(self._depths) == [get_ident()]
            if alone:
                self._limit.close()
        try:
            yield
        finally:
            if alone:
                with self._lock:
                    self._set()


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
    if multiplications <= TAKEN_ALONE:
        return nullcontext()
    return one_blas_thread() if multiplications < WORTH_THREADS else _ONE_THREAD.lifted()


def blas_threads_for_fit(n_entries: int) -> AbstractContextManager:
    """A context for a fit to a table with this many entries, zeros among them.

    BLAS starts threads for products of a matrix and a vector, and for sums over long vectors. They
    save hardly any time, but wait busily for the next product, so that most fits of 50,000 rows
    took twice the processor time.
    """
    return one_blas_thread() if n_entries > SMALL_TABLE else nullcontext()

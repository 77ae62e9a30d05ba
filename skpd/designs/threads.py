"""The threads of BLAS: one in all of a fit, but for products that are worth more.

BLAS starts threads for products of a small matrix with a vector, and for sums over long vectors.
They save hardly any time, but wait busily for the next product, so that most fits of 50,000 rows
took twice the processor time; in thousands of small factorisations they wait for each other.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from threading import Lock, get_ident
from typing import Any, TypeVar, cast

from .._compat import _get_threadpool_controller

WORTH_THREADS = 1 << 28  # multiplications, about 10 ms, above which several threads are faster


def _set_number(library: Any, n_threads: int) -> None:
    """Set the number of threads of a BLAS library, from whatever thread.

    From version 3.8 on threadpoolctl heeds only the first living thread that has set a number for
    OpenBLAS, and ignores the others silently; the last fit to end may be in any thread.
    """
    is_of_one_thread = hasattr(library, "clear_controlling_thread")
    if is_of_one_thread:
        library.clear_controlling_thread(force=True)
    library.set_num_threads(n_threads)
    if is_of_one_thread:
        library.clear_controlling_thread(force=True)


Function = TypeVar("Function", bound=Callable)


class OneBlasThread:
    """A context that limits BLAS to one thread, which several threads may enter repeatedly.

    It decorates functions as well.

    The limit is global to the process. The first thread that enters sets it, and the last one that
    leaves restores the former numbers; otherwise a thread could restore the limit of another. It
    is set for each library by itself, as the context of threadpoolctl takes 0.1 ms, a tenth of the
    fit of a small table.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._before: list[tuple[Any, int]] = []  # libraries with their numbers, while it is set
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
                self._restore()

    def __call__(self, function: Function) -> Function:
        """The function within the context.

        That of `contextlib.ContextDecorator` would be the place to which warnings point.
        """

        @wraps(function)
        def limited(*values: object, **named: object) -> Any:
            with self:
                return function(*values, **named)

        return cast(Function, limited)

    def _set(self) -> None:
        for library in _get_threadpool_controller().lib_controllers:
            if library.user_api == "blas" and (number := library.get_num_threads()) != 1:
                self._before.append((library, number))
                _set_number(library, 1)

    def _restore(self) -> None:
        while self._before:
            _set_number(*self._before.pop())

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """A context of the former numbers, unless another thread needs the cores."""
        with self._lock:
            alone = bool(self._before) and list(self._depths) == [get_ident()]
            if alone:
                self._restore()
        try:
            yield
        finally:
            if alone:
                with self._lock:
                    self._set()


one_blas_thread = OneBlasThread()


def blas_threads_for_product(multiplications: int) -> AbstractContextManager:
    """A context for a product of matrices with this many multiplications."""
    return one_blas_thread.lifted() if multiplications >= WORTH_THREADS else nullcontext()

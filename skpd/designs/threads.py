"""The threads of BLAS: one in all of a fit, but for products that are worth more.

BLAS starts threads for products of a small matrix with a vector, and for sums over long vectors.
They save hardly any time, but wait busily for the next product, so that most fits of 50,000 rows
took twice the processor time; in thousands of small factorisations they wait for each other.
To set the limit takes 0.1 ms, a tenth of the fit of a small table, which hardly uses BLAS.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from math import prod
from threading import Lock, get_ident
from typing import Any, TypeVar, cast

import numpy as np
import scipy.sparse as sp

from .._compat import _get_threadpool_controller

WORTH_THREADS = 1 << 28  # multiplications, about 10 ms, above which several threads are faster
# Entries of a small table, and its rows or columns: BLAS uses one thread for systems of up to 100
SMALL_TABLE, NARROW = 20_000, 50

Function = TypeVar("Function", bound=Callable)


def _let_any_thread_set_limits() -> None:
    """Let this thread change the limits of BLAS.

    From version 3.8 on threadpoolctl heeds only the first living thread that has set a limit of
    OpenBLAS, and ignores the others silently; the last fit to end may be in any thread.
    """
    for library in _get_threadpool_controller().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


class OneBlasThread:
    """A context that limits BLAS to one thread, which several threads may enter repeatedly.

    The limit is global to the process. The first thread that enters sets it, and the last one that
    leaves restores the former limit; otherwise a thread could restore the limit of another.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._limit: Any = None  # that of threadpoolctl, while it is set
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

    def _set(self) -> None:
        _let_any_thread_set_limits()
        self._limit = _get_threadpool_controller().limit(limits=1, user_api="blas")

    def _restore(self) -> None:
        _let_any_thread_set_limits()
        self._limit.restore_original_limits()
        self._limit = None
        _let_any_thread_set_limits()

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """A context of the former limit, unless another thread needs the cores."""
        with self._lock:
            alone = self._limit is not None and list(self._depths) == [get_ident()]
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


def limits_blas(function: Function) -> Function:
    """Decorate a function whose second argument is X: BLAS has one thread unless X is small."""

    @wraps(function)
    def limited(*values: Any, **named: Any) -> Any:
        X: Any = values[1] if len(values) > 1 else named.get("X")
        shape = X.shape if isinstance(X, np.ndarray) or sp.issparse(X) else ()
        is_small = shape and prod(shape) <= SMALL_TABLE and min(shape) <= NARROW
        with nullcontext() if is_small else one_blas_thread:
            return function(*values, **named)

    return cast(Function, limited)

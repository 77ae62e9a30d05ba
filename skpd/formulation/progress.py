"""What verbose output and callbacks see of a fit."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import ROUND_CEILING, ROUND_FLOOR
from math import ceil, inf, log10
from threading import Event, Lock
from typing import Any

from .._typing import Attributes
from ..certificates.digits import rounded
from ..problems import Solution
from ..solvers import Monitor

DIGITS = 8  # digits of an objective value before the end of a fit

# scikit-learn's callbacks talk to the main process over connections that threads share
CALLBACK_LOCK = Lock()


FitTask = dict[str, Any]  # what callbacks are told of a fit or of a part of one
CallbackContext = Any  # that of a task of a fit, for which scikit-learn has no types


class ProgressLines:
    """Printer of a line for every certificate, or for ever fewer of them.

    Parameters
    ----------
    name : str
        Beginning of each line.
    verbose : int
        Above 1 for all certificates; 1 for those at which the iterations have doubled, or the gap
        has halved, since the last line.
    """

    def __init__(self, name: str, verbose: int) -> None:
        self.name, self.verbose = name, verbose
        self.n_iter, self.gap = 0, inf  # those of the last line

    def __call__(self, monitor: Monitor) -> None:
        """Print the interval of a monitor where a line is due."""
        gap, n_iter = monitor.primal - monitor.dual, monitor.n_iter
        if self.verbose <= 1 and n_iter < 2 * self.n_iter and gap > 0.5 * self.gap:
            return
        self.n_iter, self.gap = n_iter, gap
        upper = rounded(monitor.primal, DIGITS, ROUND_CEILING)
        lower = rounded(monitor.dual, DIGITS, ROUND_FLOOR)
        print(
            f"{self.name} iteration {n_iter}: objective {upper}, lower bound {lower}, "
            f"relative gap {monitor.relative_gap:.2e} (tol {monitor.tol:.2e})",
            flush=True,
        )


def last_line(name: str, solution: Solution) -> None:
    """Print the result of a fit."""
    how = "converged" if solution.converged else "stopped"
    print(f"{name} {how} after {solution.n_iter} iterations, solver {solution.method!r}")
    for line in str(solution.certificate).splitlines():
        print(f"{name} {line}", flush=True)


@contextmanager
def subtask(
    context: CallbackContext, task: FitTask, name: str, number: int, n_parts: int = 0,
    **at_end: object,
) -> Iterator[CallbackContext]:  # fmt: skip
    """Context of a part of a fit, whose begin and end are reported to callbacks.

    Parameters
    ----------
    context : CallbackContext
        That of the whole fit.
    task : dict
        Arguments of scikit-learn's hooks.
    name : str
    number : int
        The number of the part, for parts that do not follow one after the other.
    n_parts : int, default=0
        The number of parts of this part.
    **at_end : dict
        Arguments of the hook for the end alone.
    """
    with CALLBACK_LOCK:
        number_or_none = None if context.sequential_subtasks else number
        part = context.subcontext(task_name=name, task_id=number_or_none, max_subtasks=n_parts)
        part.call_on_fit_task_begin(**task)
    yield part
    with CALLBACK_LOCK:
        part.call_on_fit_task_end(**(task | at_end))


def n_ticks(tol: float) -> int:
    """Ticks of the progress bar: ten for each power of ten of the relative gap."""
    return max(1, ceil(-10.0 * log10(max(tol, 1e-16))))


def reporter(
    name: str, verbose: int, tol: float, context: CallbackContext, task: FitTask,
    attributes: Callable[[Monitor], Attributes] | None, stop: Event | None,
) -> Callable[[Monitor], bool]:  # fmt: skip
    """The function that a solver calls after every check, for verbose output and callbacks.

    Parameters
    ----------
    name : str
        Beginning of the lines of verbose output.
    verbose : int
    tol : float
    context : CallbackContext or None
        The task whose subtasks are steps of the logarithm of the relative gap; None without
        callbacks.
    task : dict
        Arguments of scikit-learn's hooks for the fit.
    attributes : callable or None
        Makes fitted attributes from a monitor, for callbacks that need a fitted estimator.
    stop : threading.Event or None
        Ends this fit when it is set.
    """
    ticks, max_ticks = 0, n_ticks(tol)
    lines = ProgressLines(name, int(verbose))

    def on_check(monitor: Monitor) -> bool:
        nonlocal ticks
        if verbose:
            lines(monitor)
        ended = stop is not None and stop.is_set()
        if context is None:
            return ended
        reached = max_ticks if monitor.done else 0
        if 0.0 < (gap := monitor.relative_gap) < 1.0:
            reached = min(max(reached, int(-10.0 * log10(gap))), max_ticks)
        while ticks < reached:
            ticks += 1
            with CALLBACK_LOCK:
                tick = context.subcontext(task_name="tenth of a power of ten of the relative gap")
                tick.call_on_fit_task_begin(**task)
                now: FitTask = {}
                if ticks == reached and attributes is not None:
                    now["reconstruction_attributes"] = lambda: attributes(monitor)
                ended |= tick.call_on_fit_task_end(**(task | now))
        return ended

    return on_check

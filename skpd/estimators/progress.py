"""Lines that ``verbose`` prints during a fit."""

from decimal import ROUND_CEILING, ROUND_FLOOR
from math import inf

from ..certificates.digits import rounded
from ..problems import Solution
from ..solvers import Monitor

__all__ = ["ProgressLines", "last_line"]

DIGITS = 8  # of an objective value on the way


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
        self.n_iter, self.gap = 0, inf  # of the last line

    def __call__(self, monitor: Monitor) -> None:
        """Print the interval of a monitor where a line is due."""
        gap, n_iter = monitor.relative_gap, monitor.n_iter
        if self.verbose <= 1 and n_iter < 2 * self.n_iter and gap > 0.5 * self.gap:
            return
        self.n_iter, self.gap = n_iter, gap
        upper = rounded(monitor.primal, DIGITS, ROUND_CEILING)
        lower = rounded(monitor.dual, DIGITS, ROUND_FLOOR)
        print(
            f"{self.name} iteration {n_iter}: objective {upper}, lower bound {lower}, "
            f"relative gap {gap:.2e} (tol {monitor.tol:.2e})",
            flush=True,
        )


def last_line(name: str, solution: Solution) -> None:
    """Print the result of a fit."""
    how = "converged" if solution.converged else "stopped"
    print(
        f"{name} {how} after {solution.n_iter} iterations, solver {solution.method!r}: "
        f"{solution.certificate}",
        flush=True,
    )

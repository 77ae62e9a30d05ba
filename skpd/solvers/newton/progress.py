"""The progress of a run: the cost of its steps, and whether it continues."""

import numpy as np

from ..monitor import Monitor
from .settings import SETTINGS


class Progress:
    """Counter of Newton steps and their cost, with the gaps on all rows and features.

    Parameters
    ----------
    monitor : Monitor
        The monitor, with iterations and certificates of earlier methods.
    overhead : float
        The cost of a step in addition to products and factors, in the units of `newton_cost`.

    Attributes
    ----------
    n_iter : int
    budget : float
        The computing limit: the largest total cost of the steps.
    stalled : bool
        Whether the run has to end unfinished.
    """

    def __init__(self, monitor: Monitor, overhead: float) -> None:
        self.overhead = overhead
        self.n_iter = self._checked_at = self._improved_at = monitor.n_iter
        self.budget, self._spent = np.inf, 0.0
        self._checked_gap = monitor.primal - monitor.dual
        self._best_gap = np.inf
        self.stalled = False

    def count_step(self, cost: float) -> None:
        self.n_iter += 1
        self._spent += cost + self.overhead
        self.stalled |= self._spent > self.budget

    def note_gap(self, gap: float) -> None:
        """Record a gap on all rows and features; the run stalls if none improved for long."""
        if gap < SETTINGS.progress * self._best_gap:
            self._best_gap, self._improved_at = gap, self.n_iter
        self.stalled |= self.n_iter > self._improved_at + SETTINGS.patience

    def note_check(self, gap: float) -> None:
        self._checked_gap, self._checked_at = gap, self.n_iter

    def is_check_due(self, gap: float) -> bool:
        """Whether enough steps, and a sufficient decrease of the gap, followed the last one."""
        since = self.n_iter - self._checked_at
        improved = gap < SETTINGS.check_progress * self._checked_gap
        return (since >= SETTINGS.check_every and improved) or since >= SETTINGS.check_at_last

    @property
    def is_checked(self) -> bool:
        """Whether the last step has been certified."""
        return self.n_iter <= self._checked_at

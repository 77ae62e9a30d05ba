"""When a method computes a certificate, and when it ends unfinished."""

from dataclasses import dataclass
from math import inf, nan

from ..certificates import relative_gap
from .monitor import Patience
from .run import Run

# The estimated gap at which a method certifies its iterate, as a share of the requested gap
NEAR = 0.9
# and the factor of that gap after a certificate that was not good enough
FINER = 0.5
# Entries of X in steps between two checks for Ctrl-C, at most a second
PAUSE_ENTRIES = 2e8


@dataclass(frozen=True)
class CadenceSettings:
    """When the iterates of a method are certified, which costs about as much as a few iterations.

    One is certified if its estimated gap is small, as is the last one; others are certified so
    that callbacks are called, and a run that ends early has a result.
    """

    # The estimated gap, in units of the requested one, at which the certified one may suffice
    near: float = NEAR
    # or, as a share of that at the last certificate, at which there is another
    decrease: float = 0.0
    # After a certificate, wait for this share of all iterations even if the gap is small
    wait: float = 0.0
    # Iterations between two certificates otherwise: at least, and as a share of all iterations
    every: int = 10
    share: float = 0.1
    # Iterations without progress of the estimated gap after which the method ends (`Patience`)
    patience: float = inf


# For iterations that are passes over X, or cost as much as certificates
OF_PASSES = CadenceSettings(every=1)


class Cadence:
    """The certificates of a run, and whether it goes on.

    Parameters
    ----------
    run : Run
    settings : CadenceSettings
    most : int, default=None
        The largest number of iterations; by default that of the run.

    Attributes
    ----------
    first : int
        The number of iterations of earlier methods, not counted among "all iterations".
    next : int
        The number of iterations at the next certificate, unless the gap becomes small.
    is_last : bool
        Whether the last iterate that `is_due` was asked for ends the method.
    """

    def __init__(self, run: Run, settings: CadenceSettings, most: int | None = None) -> None:
        self.run, self.settings = run, settings
        self.most = run.max_iter if most is None else most
        self.first = self.checked_at = run.monitor.n_iter
        self.checked_gap, self.is_last = nan, False
        self.next = self.first + settings.every
        self.patience = Patience(settings.patience, self.first)

    def is_due(self, n_iter: int, gap: float = inf) -> bool:
        """Whether to certify an iterate with an estimated gap, as the caller then does."""
        settings, done = self.settings, n_iter - self.first
        gap = relative_gap(self.run.problem, gap)
        if not done:
            self.checked_gap = gap
        is_over = self.patience.is_over(n_iter, gap)
        self.is_last = is_over or n_iter >= self.most
        near = gap <= settings.near * self.run.monitor.tol
        near |= gap < settings.decrease * self.checked_gap
        near &= n_iter - self.checked_at >= settings.wait * done
        due = near or self.is_last or n_iter >= self.next
        if due:
            self.checked_at, self.checked_gap = n_iter, gap
            self.next = n_iter + max(settings.every, int(settings.share * done))
        return due

    @property
    def is_over(self) -> bool:
        """Whether the method ends, after the certificate of the last iterate if one was due."""
        return self.is_last or self.run.monitor.done

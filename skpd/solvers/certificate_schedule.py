"""When a method computes a certificate, and when it ends unfinished."""

from dataclasses import dataclass
from math import inf, nan

from .solver_context import SolverContext

# The estimated gap at which a method certifies its iterate, as a share of the requested gap
CERTIFY_AT = 0.9
# and the factor of that gap after a certificate that was not good enough
FINER = 0.5
# Rounds of a method that solves another problem, each to a smaller gap of that
ROUNDS = 4
# The share of the requested gap below which a smaller estimate is no progress, as the certified
# gap does not follow it
NEGLIGIBLE = 1e-3
# Entries of X in steps between two checks for Ctrl-C, at most a second
PAUSE_ENTRIES = 2e8
# A gap below this share of the least one before counts as progress
SUFFICIENT_DECREASE = 0.9


class StallDetector:
    """How long a method goes on while no gap is noticeably below all earlier ones.

    Parameters
    ----------
    limit : float
        The largest number of iterations without progress.
    first : int, default=0
        The number of iterations before this one.
    share : float, default=0.0
        The detector waits at least for this share of the iterations until the last
        progress, so that slow methods do not end before rounding errors limit the gap.
    """

    def __init__(self, limit: float, first: int = 0, share: float = 0.0) -> None:
        self.limit, self.first, self.share = limit, first, share
        self.min_gap, self.improved_at = inf, first

    def is_over(self, n_iter: int, gap: float) -> bool:
        """Whether there was no progress for too long, with a gap at this iteration."""
        if gap < SUFFICIENT_DECREASE * self.min_gap:
            self.min_gap, self.improved_at = gap, n_iter
        limit = max(self.limit, self.share * (self.improved_at - self.first))
        return n_iter - self.improved_at > limit


@dataclass(frozen=True)
class ScheduleSettings:
    """When the iterates of a method are certified, which costs about as much as a few iterations.

    One is certified if its estimated gap is small, as is the last one; others are certified so
    that callbacks are called, and a run that ends early has a result.
    """

    # The estimated gap, in units of the requested one, at which the certified one may suffice
    certify_at: float = CERTIFY_AT
    # or, as a share of that at the last certificate, at which there is another
    decrease: float = 0.0
    # After a certificate, wait for this share of all iterations even if the gap is small
    wait: float = 0.0
    # Iterations between two certificates otherwise, at least
    every: int = 10
    # Iterations without progress of the estimated gap after which `StallDetector` ends it
    patience: float = inf
    # The least of both numbers as a share of all iterations
    share: float = 0.1


# For iterations that are passes over X, or cost as much as certificates
OF_PASSES = ScheduleSettings(every=1)


class CertificateSchedule:
    """The certificates of a run, and whether it goes on.

    Parameters
    ----------
    context : SolverContext
    settings : ScheduleSettings

    Attributes
    ----------
    first : int
        The number of iterations of earlier methods, not counted among "all iterations".
    next : int
        The number of iterations at the next certificate, unless the gap becomes small.
    is_last : bool
        Whether the last iterate that `is_due` was asked for ends the method.
    """

    def __init__(self, context: SolverContext, settings: ScheduleSettings) -> None:
        self.context, self.settings, self.max_iter = context, settings, context.max_iter
        self.first = self.checked_at = context.monitor.n_iter
        self.checked_gap, self.is_last = nan, self.first >= self.max_iter
        self.next = self.first + settings.every
        self.patience = StallDetector(settings.patience, self.first, settings.share)

    def is_due(self, n_iter: int, gap: float = inf, primal: float = inf) -> bool:
        """Whether to certify an iterate with an estimated gap, as the caller then does.

        With its objective value, the lower bound is estimated as well.
        """
        settings, done, monitor = self.settings, n_iter - self.first, self.context.monitor
        goal = monitor.goal_at(primal, primal - gap if gap < inf > primal else 0.0)
        if not done:
            self.checked_gap = gap
        self.is_last = (
            self.patience.is_over(n_iter, max(gap, NEGLIGIBLE * goal)) or n_iter >= self.max_iter
        )
        is_small = gap <= settings.certify_at * goal
        is_small |= gap < settings.decrease * self.checked_gap
        is_small &= n_iter - self.checked_at >= settings.wait * done
        due = is_small or self.is_last or n_iter >= self.next
        if due:
            self.checked_at, self.checked_gap = n_iter, gap
            self.next = n_iter + max(settings.every, int(settings.share * done))
        return due

    @property
    def is_over(self) -> bool:
        """Whether the method ends, after the certificate of the last iterate if one was due."""
        return self.is_last or self.context.monitor.done

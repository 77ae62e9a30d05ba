"""Shrinking: rows far from a kink of their loss are left out for a while."""

from .envelope import Envelope
from .iterate import Iterate
from .rows import ShrunkRows
from .settings import MultiplierSettings

__all__ = ["Shrinking"]


class Shrinking:
    """Which rows are left out, since when, and how far predictions may move before they bend.

    The loss of such a row is linear as long as its prediction stays on its piece, and its part
    of the gradient a constant. Whether that held is seen when the rows return.

    Parameters
    ----------
    settings : MultiplierSettings
    radius : float or None
        How far predictions may move; None for their spread.

    Attributes
    ----------
    shrunk : ShrunkRows or None
        The rows that stay, if any are left out.
    """

    def __init__(self, settings: MultiplierSettings, radius: float | None) -> None:
        self.settings, self.radius = settings, radius
        self.shrunk: ShrunkRows | None = None
        self._gap, self._n_iter = 0.0, 0  # when they were left

    def shrink(self, iterate: Iterate, envelope: Envelope, n_iter: int) -> None:
        """Go on with the rows whose losses may bend, if they are few."""
        shrunk, self.radius = iterate.all_rows.shrink(
            iterate.w, iterate.gradient, envelope.sigma, self.radius
        )
        if shrunk is not None:
            iterate.rows = self.shrunk = shrunk
            self._gap, self._n_iter = min(iterate.gap, envelope.gap_at_update), n_iter

    def is_due(self, gap: float, n_iter: int) -> bool:
        """Whether to look at the other rows again."""
        settings = self.settings
        return gap < settings.thaw_gap * self._gap or n_iter >= self._n_iter + settings.thaw_after

    def restore(self, iterate: Iterate, sigma: float) -> None:
        """Back to all rows, which are likely to be smoothed by ``sigma`` next."""
        if self.shrunk is None:
            return
        moved = iterate.all_rows.restore(self.shrunk, iterate.w, sigma)
        least = self.settings.least_radius * (self.radius or 0.0)
        self.radius = max(self.settings.radius_factor * moved, least)
        iterate.rows, self.shrunk = iterate.all_rows, None

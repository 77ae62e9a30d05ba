"""Shrinking: rows far from a kink of their loss are left out temporarily."""

from .envelope import Envelope
from .iterate import NewtonIterate
from .rows import ShrunkRows
from .settings import SETTINGS


class Shrinking:
    """The state of shrinking: the remaining rows, and the radius within which others are linear.

    The loss of a row that is left out is linear while its prediction stays on the same piece, and
    its contribution to the gradient is constant. This is verified when the rows return.

    Parameters
    ----------
    radius : float or None
        The largest assumed change of a prediction; None for the spread of the predictions.

    Attributes
    ----------
    shrunk : ShrunkRows or None
        The remaining rows, if any are left out.
    """

    def __init__(self, radius: float | None) -> None:
        self.radius = radius
        self.shrunk: ShrunkRows | None = None
        self._gap, self._n_iter = 0.0, 0  # when rows were left out

    def shrink(self, iterate: NewtonIterate, envelope: Envelope, n_iter: int) -> None:
        """Continue with the rows whose losses may have curvature, if they are few."""
        shrunk, self.radius = iterate.all_rows.shrink(
            iterate.gradient, envelope.sigma, self.radius
        )
        if shrunk is not None:
            iterate.rows = self.shrunk = shrunk
            self._gap, self._n_iter = min(iterate.gap, envelope.gap_at_update), n_iter

    def is_due(self, gap: float, n_iter: int) -> bool:
        """Whether to return to all rows."""
        return (
            gap < SETTINGS.return_gap * self._gap or n_iter >= self._n_iter + SETTINGS.return_after
        )

    def restore(self, iterate: NewtonIterate, sigma: float) -> None:
        """Return to all rows; ``sigma`` is the parameter that is expected next."""
        if self.shrunk is None:
            return
        moved = iterate.all_rows.restore(self.shrunk, iterate.w, sigma)
        min_radius = SETTINGS.least_radius * (self.radius or 0.0)
        self.radius = max(SETTINGS.radius_factor * moved, min_radius)
        iterate.rows, self.shrunk = iterate.all_rows, None

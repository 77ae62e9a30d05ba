"""The multipliers: Moreau envelopes of the losses, and the proximal term beside them."""

import numpy as np

from ... import kernels
from ..._typing import Array, Indices
from ...kernels import dot
from ...problems import Problem
from .iterate import Iterate
from .rows import AllRows
from .settings import MultiplierSettings

__all__ = ["Envelope"]


class Envelope:
    """What the method of multipliers minimises in one round instead of the losses.

    With the multipliers theta_k and the centre w_k, the smoothed problem is

        sum_i c_i max over v of (v z_i - l*(y_i, v) - (v - theta_ki)^2 / (2 sigma))
            + alpha R(w) + delta sum_j D_j (w_j - w_kj)^2 / 2.

    A loss that is smooth already is ``exact``: sigma is infinite, delta is 0 and one round does.
    The multipliers themselves are as long as the rows and stay with them.

    Parameters
    ----------
    problem : Problem
    rows : AllRows
    warm : bool
        Whether the multipliers come from a point near a solution.
    centre : ndarray
        The first w_k.
    settings : MultiplierSettings

    Attributes
    ----------
    exact : bool
    sigma : float
    gap_at_update : float
        The gap when the multipliers were updated last. It rises after that.
    """

    def __init__(
        self,
        problem: Problem,
        rows: AllRows,
        warm: bool,
        centre: Array,
        settings: MultiplierSettings,
    ) -> None:
        self.problem, self.settings = problem, settings
        self.exact = not problem.loss.linear_tails
        self.sigma = np.inf
        self.gap_at_update = np.inf
        if self.exact:
            return
        self.first_sigma = settings.first_sigma * rows.dual_range / problem.prediction_scale
        self.sigma = self.first_sigma * (settings.warm_sigma if warm else 1.0)
        self.scale = problem.squares  # D
        self.far_solutions = rows.far_solutions
        self._set_centre(centre)
        scale = self.scale[: problem.n_features]
        # of proximal gradients, where sigma is 1
        self.unit_steps = problem.penalty.step_sizes(1.0 / np.where(scale > 0.0, scale, 1.0))

    @property
    def proximal_weight(self) -> float:
        """Delta. It fades as sigma grows: on a face of optima it holds w back.

        So it does where classes are separable, and w is far from 0 beside a penalty of little
        weight: there it may fade with the mean square of predictions as well.
        """
        if self.exact:
            return 0.0
        settings = self.settings
        fading = settings.full_weight_until * self.first_sigma / self.sigma
        return settings.proximal_weight * min(1.0, fading) * self._share

    def _set_centre(self, w: Array) -> None:
        self.centre, self._share = w.copy(), 1.0
        if self.far_solutions:
            coef = self.problem.split(w)[0]
            square = dot(self.scale[: len(coef)] * coef, coef)
            self._share = 1.0 / max(1.0, square / self.problem.prediction_scale**2)

    def restart(self, centre: Array, sigma: float) -> None:
        """Go on from a solution on other rows, reached with some sigma."""
        if not self.exact:
            self._set_centre(centre)
            self.sigma = min(sigma, self.settings.warm_sigma * self.first_sigma)

    def gradient(self, iterate: Iterate) -> Array:
        """The gradient of the smoothed problem but for the penalty."""
        if self.exact:
            return iterate.gradient
        pull = self.proximal_weight * self.scale * (iterate.w - self.centre)
        return iterate.gradient + pull

    def pull_along(self, iterate: Iterate, direction: Array) -> tuple[float, float]:
        """The derivatives, first and second, of the proximal term along a direction."""
        if self.exact:
            return 0.0, 0.0
        pull = self.proximal_weight * self.scale * direction
        return dot(pull, iterate.w - self.centre), dot(pull, direction)

    def ridge(self, places: Indices) -> tuple[float, Array | None]:
        """What the curvature of the losses is multiplied by, and what is added to it."""
        if self.exact:
            return 1.0, None
        return self.sigma, self.proximal_weight * self.scale[places]

    def step_sizes(self, w: Array, gradient: Array) -> tuple[float, Array | None]:
        """(t, s): steps t s of the proximal gradients that tell which features violate."""
        if not self.exact:
            return 1.0 / self.sigma, self.unit_steps
        slope = max(kernels.max_abs(gradient), self.problem.alpha)
        size = kernels.max_abs(w)
        return (self.settings.small_step * size / slope if size > 0.0 else 1.0), None

    def needs_update(self, iterate: Iterate, gradient: Array) -> bool:
        """Whether the gap is that of the envelopes, so that only new multipliers reduce it.

        ``gradient`` is that of the smoothed problem. The part of the gap that belongs to the
        penalty, alpha R(w) + g.w + (alpha R)*(-g) and what free directions cost, is the rest.
        """
        if self.exact:
            return False
        problem, penalty, alpha = self.problem, self.problem.penalty, self.problem.alpha
        (w, _), (coef, slope) = problem.split(iterate.w), problem.split(gradient)
        share = iterate.penalty_value + dot(w, coef)
        share += penalty.bounded_conjugate(-coef, alpha, iterate.upper / alpha)
        share += problem.likely_cost_of_free(coef, slope, iterate.upper)
        return share <= self.settings.penalty_share * iterate.gap

    def update_multipliers(self, iterate: Iterate) -> None:
        """Take the derivatives of the envelopes for multipliers, and w for the centre."""
        self.gap_at_update = iterate.gap
        iterate.rows.update_multipliers()
        self._set_centre(iterate.w)

    def adapt(self, steps: int, progress: bool) -> None:
        """A sigma at which a round takes a few Newton steps.

        Where the gap hardly falls, the rows at a kink are not found yet, and it stays.
        """
        settings = self.settings
        if steps <= settings.few_steps and progress:
            self.sigma *= settings.sigma_factor
        elif steps > settings.many_steps:
            self.sigma /= settings.sigma_factor

    def loosen(self) -> None:
        """Smooth more, where Newton steps are stuck between pieces of the losses."""
        self.sigma /= self.settings.stuck_factor
        if self.sigma == 0.0:
            raise np.linalg.LinAlgError("rounding leaves the multipliers nothing to move by")

"""The smoothed problem of the method of multipliers: Moreau envelopes and a proximal term."""

import numpy as np

from ... import kernels
from ..._typing import Array, Indices
from ...kernels import dot
from ...problems import Problem
from .iterate import NewtonIterate
from .rows import AllRows
from .settings import SETTINGS


class Envelope:
    """The smoothed problem that the method of multipliers minimises in one round.

    With the multipliers theta_k and the centre w_k, the smoothed problem is

        sum_i c_i max over v of (v z_i - l*(y_i, v) - (v - theta_ki)^2 / (2 sigma))
            + alpha R(w) + delta sum_j D_j (w_j - w_kj)^2 / 2.

    For a smooth loss the problem is ``exact``: sigma is infinite, delta is 0 and one round
    suffices. The multipliers are vectors over the rows, and stored with these.

    Parameters
    ----------
    problem : Problem
    rows : AllRows
    warm : bool
        Whether the multipliers come from a point near a solution.
    centre : ndarray
        The first w_k.

    Attributes
    ----------
    exact : bool
    sigma : float
    gap_at_update : float
        The gap at the last update of the multipliers, after which the gap increases at first.
    """

    def __init__(self, problem: Problem, rows: AllRows, warm: bool, centre: Array) -> None:
        self.problem = problem
        self.exact = not problem.loss.linear_tails
        self.sigma = np.inf
        self.gap_at_update = np.inf
        if self.exact:
            return
        self.first_sigma = SETTINGS.first_sigma * rows.dual_range / problem.prediction_scale
        self.sigma = self.first_sigma * (SETTINGS.warm_sigma if warm else 1.0)
        self.scale = problem.squares  # D
        self.far_solutions = rows.far_solutions
        self._set_centre(centre)
        scale = self.scale[: problem.n_coefficients]
        # the step sizes of proximal gradients for sigma = 1
        self.unit_steps = problem.penalty.step_sizes(1.0 / np.where(scale > 0.0, scale, 1.0))

    @property
    def proximal_weight(self) -> float:
        """The weight delta of the proximal term, which decreases as sigma grows.

        On a face of optimal solutions, the proximal term would slow down the convergence of w.
        This also occurs for separable classes and a small alpha, when w is far from 0. There delta
        may decrease with the mean square of the predictions as well.
        """
        if self.exact:
            return 0.0
        fading = SETTINGS.full_weight_until * self.first_sigma / self.sigma
        return SETTINGS.proximal_weight * min(1.0, fading) * self._share

    def _set_centre(self, w: Array) -> None:
        self.centre, self._share = w.copy(), 1.0
        if self.far_solutions:
            coef = self.problem.split(w)[0]
            square = dot(self.scale[: len(coef)] * coef, coef)
            self._share = 1.0 / max(1.0, square / self.problem.prediction_scale**2)

    def restart(self, centre: Array, sigma: float) -> None:
        """Continue from a solution on other rows, which was found with the given sigma."""
        if not self.exact:
            self._set_centre(centre)
            self.sigma = min(sigma, SETTINGS.warm_sigma * self.first_sigma)

    def gradient(self, iterate: NewtonIterate) -> Array:
        """The gradient of the smoothed problem without the penalty."""
        if self.exact:
            return iterate.gradient
        pull = self.proximal_weight * self.scale * (iterate.w - self.centre)
        return iterate.gradient + pull

    def pull_along(self, iterate: NewtonIterate, direction: Array) -> tuple[float, float]:
        """The first and the second derivative of the proximal term along a direction."""
        if self.exact:
            return 0.0, 0.0
        pull = self.proximal_weight * self.scale * direction
        return dot(pull, iterate.w - self.centre), dot(pull, direction)

    def ridge(self, indices: Indices) -> tuple[float, Array | None]:
        """The factor of the curvature of the losses, and the ridge that is added to it."""
        if self.exact:
            return 1.0, None
        return self.sigma, self.proximal_weight * self.scale[indices]

    def step_sizes(self, w: Array, gradient: Array) -> tuple[float, Array | None]:
        """Numbers (t, s) for step sizes t s of proximal gradients, which measure violations."""
        if not self.exact:
            return 1.0 / self.sigma, self.unit_steps
        slope = max(kernels.max_abs(gradient), self.problem.alpha)
        size = kernels.max_abs(w)
        return (SETTINGS.small_step * size / slope if size > 0.0 else 1.0), None

    def needs_update(self, iterate: NewtonIterate, gradient: Array) -> bool:
        """Whether most of the gap is due to the envelopes, so that only new multipliers reduce it.

        ``gradient`` is that of the smoothed problem. The rest of the gap is the part of the
        penalty, alpha R(w) + g.w + (alpha R)*(-g), and that of the free directions.
        """
        if self.exact:
            return False
        problem, penalty, alpha = self.problem, self.problem.penalty, self.problem.alpha
        (w, _), (coef, slope) = problem.split(iterate.w), problem.split(gradient)
        share = iterate.penalty_value + dot(w, coef)
        share += penalty.bounded_conjugate(-coef, alpha, iterate.upper / alpha)
        share += problem.free.likely_cost(coef, slope, problem.alpha, iterate.upper)
        return share <= SETTINGS.penalty_share * iterate.gap

    def update_multipliers(self, iterate: NewtonIterate) -> None:
        """Set the multipliers to the derivatives of the envelopes, and the centre to w."""
        self.gap_at_update = iterate.gap
        iterate.rows.update_multipliers()
        self._set_centre(iterate.w)

    def adapt(self, steps: int, progress: bool) -> None:
        """Adapt sigma so that a round takes a few Newton steps.

        While the gap hardly decreases, the rows at a kink are not yet identified, and sigma is
        not increased, unless a single step solves the smoothed problem, as it does once they are.
        """
        if steps == 1 or (steps <= SETTINGS.few_steps and progress):
            self.sigma *= SETTINGS.sigma_factor
        elif steps > SETTINGS.many_steps:
            self.sigma /= SETTINGS.sigma_factor

    def loosen(self) -> None:
        """Decrease sigma for more smoothing when Newton steps alternate between linear pieces."""
        self.sigma /= SETTINGS.stuck_factor
        if self.sigma == 0.0:
            raise np.linalg.LinAlgError("rounding leaves the multipliers nothing to move by")

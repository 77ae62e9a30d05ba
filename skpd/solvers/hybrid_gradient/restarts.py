"""The reflected Halpern iteration of a primal-dual hybrid gradient method, with restarts.

With T a primal-dual step and x_0 the anchor, which is the point of the last restart,

    x <- k / (k + 1) (2 T(x) - x) + 1 / (k + 1) x_0    (Lu and Yang, 2024).

The iteration restarts at T(x) in three cases: the gap of T(x) has decreased enough since the last
restart; it has decreased less and starts to increase; or the iterations since the last restart are
a large share of all iterations. The primal weight then moves half way, on a log scale, to the
ratio of the distances that dual and primal variables have moved (Applegate et al., 2021).
"""

from typing import Protocol

import numpy as np

from ..._typing import Array
from ...problems import Point
from ..accelerated.certified_estimates import within
from ..accelerated.settings import SCHEDULE
from ..certificate_schedule import StallDetector
from ..solver_context import SolverContext
from .settings import SETTINGS


class HybridGradient(Protocol):
    """The variables of a primal-dual hybrid gradient method: primal x and dual theta.

    A step is the proximal step of x, the reflected point 2 prox(x) - x, the proximal step of theta
    along its products, and the combinations of both reflected points with the anchor. Step sizes
    are 1 / w for x and w for theta in the metrics of the variables, with w the primal weight.

    Attributes
    ----------
    x, theta : ndarray
    x_prox, theta_prox : ndarray
        The point T(x, theta).
    """

    x: Array
    theta: Array
    x_prox: Array
    theta_prox: Array
    x_anchor: Array
    theta_anchor: Array

    def __init__(self, x: Array, theta: Array) -> None:
        self.x_prox, self.theta_prox = x, theta
        self.restart()

    def gradient(self, theta: Array) -> Array:
        """The gradient in x at theta."""

    def prox(self, x: Array, gradient: Array, primal_weight: float) -> Array:
        """The proximal step from x along a gradient."""

    def prox_dual(self, theta: Array, x: Array, primal_weight: float) -> Array:
        """The proximal step from theta along the gradient at x."""

    def point(self) -> Point:
        """The point T(x, theta), for a certificate."""

    def norms(self, x: Array, theta: Array) -> tuple[float, float]:
        """The norms of differences of primal and of dual variables in their metrics."""

    def step(self, primal_weight: float, momentum: float) -> None:
        """Compute T(x, theta), and from it the next point; ``momentum`` is k / (k + 1)."""
        self.x_prox = self.prox(self.x, self.gradient(self.theta), primal_weight)
        x = 2.0 * self.x_prox - self.x
        self.theta_prox = self.prox_dual(self.theta, x, primal_weight)
        theta = 2.0 * self.theta_prox - self.theta
        self.x = momentum * x + (1.0 - momentum) * self.x_anchor
        self.theta = momentum * theta + (1.0 - momentum) * self.theta_anchor

    def distances(self) -> tuple[float, float]:
        """The distances of T(x, theta) from the anchor."""
        return self.norms(self.x_prox - self.x_anchor, self.theta_prox - self.theta_anchor)

    def restart(self) -> None:
        """Set x, theta and the anchor to T(x, theta)."""
        self.x = self.x_anchor = self.x_prox
        self.theta = self.theta_anchor = self.theta_prox


def iterate_with_restarts(
    variables: HybridGradient, context: SolverContext, primal_weight: float, budget: float = np.inf
) -> None:
    """Iterate until the tolerance is reached, or without progress, or until a limit is reached.

    Parameters
    ----------
    variables : HybridGradient
    context : SolverContext
    primal_weight : float
        The first primal weight, an estimate of the ratio of the distances that dual and primal
        variables will move.
    budget : float, default=inf
        A limit of multiplications, in addition to that of iterations.
    """
    monitor, most = context.monitor, within(context, budget, SETTINGS.step_overhead).left
    first, next_check = monitor.n_iter, SETTINGS.first_check
    restarted_at, gap_at_restart, last_gap = 0, np.inf, np.inf
    patience = StallDetector(SCHEDULE.patience, first, SCHEDULE.share)
    for t in range(1, most + 1):
        stretch = t - restarted_at
        variables.step(primal_weight, stretch / (stretch + 1.0))
        if t < next_check and t < most:
            continue
        gap = monitor.check(first + t, variables.point())
        if monitor.done or patience.is_over(first + t, gap):
            return
        next_check = t + min(SETTINGS.check_every, t)
        if (
            gap <= SETTINGS.sufficient_decrease * gap_at_restart
            or (gap <= SETTINGS.necessary_decrease * gap_at_restart and gap > last_gap)
            or stretch >= SETTINGS.longest_stretch * t
        ):
            primal_weight = balanced_weight(primal_weight, *variables.distances())
            variables.restart()
            restarted_at, gap_at_restart, last_gap = t, gap, np.inf
        else:
            last_gap = gap


def balanced_weight(primal_weight: float, distance: float, dual_distance: float) -> float:
    """The primal weight moved half way, on a log scale, to the ratio of distances."""
    smaller, larger = min(distance, dual_distance), max(distance, dual_distance)
    if smaller > 1e-10 * larger:  # which may otherwise be a rounding error
        return float(np.sqrt(primal_weight * dual_distance / distance))
    return primal_weight

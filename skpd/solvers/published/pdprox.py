"""Primal-dual prox methods (Yang, Mahdavi, Jin and Zhu, 2015).

With the intercept as one more coefficient, all of them solve

    min over w  max over theta   sum_i c_i (theta_i z_i - l*(y_i, theta_i)) + alpha R(w),
    z = X w,

by proximal steps: theta up along G_theta = diag(c) z, w down along G_w = X' diag(c) theta.
The paper's losses are maxima over a set Q of multipliers of a bilinear function; the
projection onto Q is the proximal operator of l* used here, with H = X' diag(c). For losses that
the paper writes with two multipliers (generalised hinge, epsilon-insensitive and pinball loss),
those are the dual variables of the published methods, and theta is their combination with which
the row enters the gradient (`skpd.losses.maxima_over_multipliers`).
"""

from typing import Any, Literal

import numpy as np

from ..._typing import Array
from ...problems import Problem
from ..certificate_schedule import CertificateSchedule, ScheduleSettings
from ..coordinates.dual import has_square
from ..options import Factor, Flag, OptionalCount, OptionalFactor
from ..solver_context import SolverContext
from .pdprox_spaces import Vectors
from .stochastic_pdprox import blocks_of_rows, stochastic_iterations

Implementation = Literal["double-primal", "double-dual"]


def pdprox_dual(
    context: SolverContext,
    *,
    algorithm: Literal[1, 3] = 1,
    implementation: Implementation = "double-dual",
    average: Flag = True,
    step_scale: Factor = 1.0,
    step_ratio: OptionalFactor = None,
    accelerated: Flag = False,
) -> None:
    """Pdprox-dual, Algorithms 1 and 3.

    Parameters
    ----------
    context : SolverContext
        The start is 0 by default, as in the paper.
    algorithm : {1, 3}, default=1
        1 updates the extra dual variable beta by a second projection, 3 by
        extrapolation.
    implementation : {"double-dual", "double-primal"}, default="double-dual"
        The variable of which two copies are kept (section 4.4); "double-primal" requires
        Algorithm 3.
    average : bool, default=True
        Report the average of the iterates, for which the paper's bounds hold, or the
        last iterate.
    step_scale : float, default=1.0
        The factor of both step sizes; the paper's bounds hold for factors of at most 1.
    step_ratio : float, default=None
        The ratio of the dual to the primal step size, whose product is then the inverse of the
        squared norm of the data (section 4.4). By default both are the paper's gamma, for which
        its bounds (Theorem 6) are proven. Two different step sizes are a heuristic in the paper.
        With ``algorithm=3`` they give the method of Chambolle and Pock (2011), which is proven for
        such a product.
    accelerated : bool, default=False
        Pdprox-ac (section 5.7), the accelerated variant of Chambolle and Pock (2011, Algorithm 2)
        for Algorithm 3 with a squared l2 penalty and without an intercept: the primal step
        decreases, the dual one increases, and the model converges as 1 / t^2.

    Raises
    ------
    ValueError
        If options do not go together, or ``accelerated`` does not apply to the problem.
    """
    if implementation == "double-primal" and algorithm == 1:
        raise ValueError(
            "implementation 'double-primal' of solver 'pdprox-dual' needs algorithm 3, "
            "got algorithm 1."
        )
    space, problem = Vectors(context), context.problem
    convexity = _strong_convexity(problem, algorithm) if accelerated else 0.0
    steps = step_sizes(space.norm(), problem.total_weight, step_scale, step_ratio)
    dual_iterations(space, algorithm, implementation, average, *steps, convexity=convexity)


def _strong_convexity(problem: Problem, algorithm: int) -> float:
    """The modulus of the penalty, which the accelerated variant needs."""
    penalty = problem.penalty
    if algorithm != 3 or problem.fit_intercept or not has_square(penalty):
        raise ValueError(
            "accelerated=True of solver 'pdprox-dual' needs algorithm 3 and a squared l2 penalty "
            f"without an intercept, got algorithm {algorithm} and {penalty!r}, with "
            f"fit_intercept={problem.fit_intercept}."
        )
    return float(problem.alpha * penalty.terms[1])


def dual_iterations(
    space: Any, algorithm: int, implementation: str, average: bool, tau: float, sigma: float,
    convexity: float = 0.0,
) -> None:  # fmt: skip
    """The iterations of Pdprox-dual in a space of primal variables, such as `Vectors`.

    With a ``convexity`` of the penalty, steps and extrapolation are those of the accelerated
    variant.
    """
    context = space.context
    w, side = space.start(), space.side
    a = side.start(context.first_theta)
    beta, z, w_previous = a, space.matvec(w), w
    report, momentum = _Reports(space, average), 1.0
    for t in range(1, context.max_iter + 1):
        if implementation == "double-primal":
            w_extra = w + momentum * (w - w_previous)
            a = side.ascend(a, space.matvec(w_extra), sigma)
        else:
            a = side.ascend(beta, z, sigma)
        theta = side.theta(a)
        w_previous, w = w, space.prox(w, space.gradient(theta), tau)
        if convexity > 0.0:
            momentum = 1.0 / np.sqrt(1.0 + 2.0 * convexity * tau)
            tau, sigma = momentum * tau, sigma / momentum
        if implementation == "double-dual":
            z_previous, z = z, space.matvec(w)
            if algorithm == 1:
                beta = side.ascend(beta, z, sigma)
            else:
                beta = a + sigma * momentum * side.along(z - z_previous)
        if report(t, w, theta):
            break


def pdprox_primal(
    context: SolverContext,
    *,
    implementation: Implementation = "double-primal",
    average: Flag = True,
    step_scale: Factor = 1.0,
    step_ratio: OptionalFactor = None,
    rows_per_step: OptionalCount = None,
) -> None:
    """Pdprox-primal, Algorithm 2.

    The parameters are those of `pdprox_dual`; ``implementation="double-dual"`` keeps the last two
    dual iterates instead of the extra primal variable u. The theorem is proven for one step size;
    there is no guarantee with a ``step_ratio``. With ``rows_per_step``, a step is for one of the
    blocks of as many rows, drawn at random, and an iteration has as many steps as there are blocks
    (`skpd.solvers.published.stochastic_pdprox`, whose guarantee holds for two step sizes too, with
    a ``step_scale`` below 1).
    """
    space = Vectors(context)
    if rows_per_step is not None:
        blocks = blocks_of_rows(space, rows_per_step)
        norm = max(block.norm() for _, block in blocks)
        steps = step_sizes(norm, context.problem.total_weight, step_scale, step_ratio)
        stochastic_iterations(space, blocks, average, *steps, _Reports(space, average))
        return
    side = space.side
    tau, sigma = step_sizes(space.norm(), context.problem.total_weight, step_scale, step_ratio)
    w, a = space.start(), side.start(context.first_theta)
    u, a_previous, gradient = w, a, space.gradient(side.theta(a))
    report = _Reports(space, average)
    for t in range(1, context.max_iter + 1):
        if implementation == "double-dual":
            u, gradient = w, space.gradient(side.theta(2.0 * a - a_previous))
        w = space.prox(u, gradient, tau)
        a_previous, a = a, side.ascend(a, space.matvec(w), sigma)
        theta = side.theta(a)
        if implementation == "double-primal":
            gradient_previous, gradient = gradient, space.gradient(theta)
            u = w + tau * (gradient_previous - gradient)
        if report(t, w, theta):
            break


def step_sizes(
    norm: float, n: float, step_scale: float, step_ratio: float | None
) -> tuple[float, float]:
    """The paper's primal step tau and dual step sigma, the latter in units of a prediction.

    The paper's H is X' diag(c) for n equal weights c_i = 1 / n. A row of weight s_i stands for s_i
    rows with equal dual variables. With n the total weight, the squared norm of the dual variables
    is n sum_i c_i theta_i^2, the spectral norm of H is that of diag(sqrt(c / n)) X, and a dual
    step sigma adds (sigma / n) z_i to theta_i.

    With C = ||H||_2^2, both steps are sqrt(1 / (2 C)), or, with a ``step_ratio`` sigma / tau, two
    different steps with sigma tau = 1 / C (section 4.4). ``step_scale`` is a factor of both; the
    bounds hold for factors of at most 1.
    """
    norm = norm if norm > 0.0 else 1.0
    if step_ratio is None:
        tau = sigma = step_scale / (np.sqrt(2.0) * norm)
    else:
        tau = step_scale / (np.sqrt(step_ratio) * norm)
        sigma = step_scale * np.sqrt(step_ratio) / norm
    return tau, sigma / n


class _Reports:
    """Reports of the (averaged) iterates to a monitor, at iteration numbers 10 % apart."""

    def __init__(self, space: Any, average: bool) -> None:
        self.space, self.context, self.average = space, space.context, average
        self.sums: list[Any] = [0.0, 0.0]
        self.schedule = CertificateSchedule(self.context, ScheduleSettings())
        self.schedule.next = 1

    def __call__(self, t: int, w: Any, theta: Array) -> bool:
        if self.average:
            self.sums = [self.sums[0] + w, self.sums[1] + theta]
        if self.schedule.is_due(t):
            if self.average:
                w, theta = self.sums[0] / t, self.sums[1] / t
            self.context.monitor.check(t, self.space.point(w, theta))
        return self.schedule.is_over

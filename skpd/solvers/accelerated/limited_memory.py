"""L-BFGS for losses without kinks and a squared l2 penalty (Liu and Nocedal, 1989).

    minimise over W, b    sum_i c_i l(y_i, x_i W + b) + ridge |W|^2 / 2

A step costs a product with X, for the predictions along a direction D of W, and one with its
transpose. With it b moves by db, one step of Newton's method for its own equations

    sum_i c_i l'_i = 0,    H_b db = -sums - sum_i h_i (x_i D),    H_b = sum_i h_i,

so that the sums of the dual point l'_i stay near 0, and the gap of W and this dual point is
|gradient|^2 / (2 ridge).
"""

from collections import deque
from contextlib import suppress
from math import inf, log

import numpy as np

from ..._typing import Array, Numbers
from ...problems import Point
from ...problems.workspace import Descent
from ..solver_context import SolverContext
from .certified_estimates import EstimateSchedule, Result, within
from .mean_losses import Losses, losses_of
from .settings import GRADIENTS as STEPS
from .settings import QUASI_NEWTON as SETTINGS


class QuasiNewtonIterate:
    """Coefficients and intercepts with their predictions, gradient and the last steps.

    Parameters
    ----------
    losses : Losses
    coef, intercept : ndarray, float
    ridge : float
    squares : ndarray of shape (n_coefficients,)
        The weighted sums of squares of the columns, for the units of the first Hessian.
    z : ndarray, default=None
        The predictions of the coefficients, if they are known.
    """

    def __init__(
        self, losses: Losses, coef: Array, intercept: Numbers, ridge: float, squares: Array,
        z: Array | None = None,
    ) -> None:  # fmt: skip
        self.losses, self.ridge = losses, ridge
        self.w, self.b = np.array(coef), np.zeros(losses.problem.n_outputs) + intercept
        diagonal = SETTINGS.curvature * squares + ridge
        self.units = 1.0 / np.where((diagonal > 0.0) & (diagonal < inf), diagonal, 1.0)
        self.z = losses.predictions(self.w) if z is None else z
        self._pairs: deque[tuple[Array, Array, float]] = deque(maxlen=SETTINGS.memory)
        self.loss = losses.evaluate(self.z, self.b)
        self._settle(SETTINGS.first_sums)
        self.gradient = losses.gradient() + ridge * self.w

    @property
    def objective(self) -> float:
        return self.loss + 0.5 * self.ridge * float(self.w @ self.w)

    @property
    def _gap_of_coefficients(self) -> float:
        return float(self.gradient @ self.gradient) / (2.0 * self.ridge)

    @property
    def gap(self) -> float:
        """An estimate of the gap: what sums of the dual point cost depends on intervals of b."""
        by_sums = float(np.abs(self.losses.sums).sum() * (1.0 + np.max(np.abs(self.b))))
        return self._gap_of_coefficients + by_sums

    def _settle(self, largest: float) -> None:
        """Newton steps of the intercepts alone, until their sums are small or do not decrease."""
        for _ in range(SETTINGS.steps_of_intercepts):
            before, b = np.abs(self.losses.sums).sum(), self.b
            if before <= largest:
                break
            self.b = b + self.losses.change_of_intercepts()
            self.loss = self.losses.evaluate(self.z, self.b)
            if not np.abs(self.losses.sums).sum() < before:
                self.b, self.loss = b, self.losses.evaluate(self.z, b)
                break

    def _direction(self) -> Array:
        """The direction -H g by two loops over the last steps s and changes y of gradients."""
        d, factors = -self.gradient, []
        for s, y, sy in reversed(self._pairs):
            factors.append(float(s @ d) / sy)
            d -= factors[-1] * y
        d *= self.units
        if self._pairs:
            _, y, sy = self._pairs[-1]
            d *= sy / float(y @ (self.units * y))
        for (s, y, sy), factor in zip(self._pairs, reversed(factors), strict=True):
            d += (factor - float(y @ d) / sy) * s
        return d

    def step(self) -> bool:
        """Take a step, and return whether the objective has decreased."""
        losses, d, before = self.losses, self._direction(), (self.w, self.b, self.z, self.loss)
        along = losses.predictions(d)
        db = losses.change_of_intercepts(along)
        along_both, (w, b, z, _) = losses.moved(along, db), before
        start, gradient = self.objective, self.gradient
        first_slope = losses.slope(along_both) + self.ridge * float(w @ d)
        length = self._first_length(along_both, d, first_slope)
        low, high = (0.0, first_slope), (inf, 0.0)  # lengths between which to search, with slopes
        for _ in range(SETTINGS.searches):
            self.w, self.z = w + length * d, z + (along if length == 1.0 else length * along)
            self.b = b + length * db if len(db) else b
            self.loss = losses.evaluate(self.z, self.b)
            slope = losses.slope(along_both) + self.ridge * float(self.w @ d)
            most = start + SETTINGS.decrease * length * first_slope
            if not self.objective <= most + SETTINGS.rounding * abs(start):
                high = length, slope
            elif slope < SETTINGS.slope_share * first_slope:
                low = length, slope
            else:
                break
            length = _between(low, high)
        if not self.objective < start:
            self.w, self.b, self.z, self.loss = before
            losses.evaluate(z, b)
            return False
        self._settle(SETTINGS.share_of_sums * self._gap_of_coefficients)
        self.gradient = losses.gradient() + self.ridge * self.w
        s, y = self.w - w, self.gradient - gradient
        if (sy := float(s @ y)) > 0.0:
            self._pairs.append((s, y, sy))
        return True

    def _first_length(self, along: Array, d: Array, slope: float) -> float:
        """The length of a step: 1, but for the first that of Newton's method on the line.

        Where curvatures are unknown, the first step is at most 1 in the units of the variables.
        """
        if self._pairs:
            return 1.0
        curvature = self.losses.curvature(along)
        if curvature > 0.0:
            return -slope / (curvature + self.ridge * float(d @ d))
        return min(1.0, 1.0 / float(np.sqrt(d @ (d / self.units))))

    def point(self) -> Point:
        """The point for a certificate, whose sums of dual variables are small."""
        self._settle(SETTINGS.last_sums * self._gap_of_coefficients)
        problem = self.losses.problem
        # in the precision of the data, which that of a model is, as a model is certified
        variables = np.append(self.w, self.b).astype(self.losses.dtype).astype(np.float64)
        coef, intercept = problem.split(variables)
        if problem.has_values:
            return Point(coef, intercept, np.copy(self.losses.theta))
        return Point(coef, intercept, problem.dual_point_of(coef, intercept))


def _between(low: tuple[float, float], high: tuple[float, float]) -> float:
    """The length where the slope vanishes, if it is linear between two, within the middle."""
    (first, slope), (last, last_slope) = low, high
    if last == inf:
        return SETTINGS.longer * first
    share = slope / (slope - last_slope) if last_slope > 0.0 > slope else 0.5
    return first + min(max(share, 0.1), 0.9) * (last - first)


def quasi_newton(
    context: SolverContext, *, budget: float = inf, max_steps: int | None = None
) -> None:
    """L-BFGS for losses of rows without kinks and a squared l2 penalty.

    With many rows, steps on a sample of them come first.

    Parameters
    ----------
    context : SolverContext
        An iteration is a step.
    budget : float, default=inf
        A computing limit: the number of multiplications after which the method ends unfinished.
    max_steps : int, default=None
        The number of steps that may be expected until the end; no limit by default.
    """
    problem, context = context.problem, within(context, budget, STEPS.step_overhead)
    ridge, squares = problem.penalty.without_ridge()[0], problem.squares[: problem.n_coefficients]
    coef, intercept, z = context.first.coef, context.first.intercept, None
    descents = [] if problem.workspace is None else problem.workspace.descents
    if context.start is not None and descents:
        if descents[-1].is_slow:
            return
        if np.allclose(coef, descents[-1].model[0], rtol=SETTINGS.same_coefficient):
            coef, intercept, z = _predicted(descents, log(problem.alpha))
    n_sampled = problem.n_samples // SETTINGS.sample
    least = max(SETTINGS.rows_of_output * problem.n_outputs**2, problem.n_variables)
    if context.start is None and n_sampled >= least:
        sample = problem.of_rows(problem.rows.random_sample(n_sampled))
        at_alpha = sample.alpha * ridge
        first = QuasiNewtonIterate(losses_of(sample), coef, intercept, at_alpha, squares)
        for _ in range(SETTINGS.sample_steps):
            if first.gap <= SETTINGS.sample_gap * problem.objective_unit or not first.step():
                break
        coef, intercept = first.w, first.b
    start = coef, intercept, problem.alpha * ridge, squares, z
    iterate = QuasiNewtonIterate(losses_of(problem), *start)
    minimise(context, iterate, max_steps)
    model, is_slow = (iterate.w, iterate.b, iterate.z), not context.monitor.done
    descents[:] = [*descents[-1:], Descent(log(problem.alpha), model, is_slow)]


def _predicted(descents: list[Descent], log_alpha: float) -> tuple[Array, ...]:
    """The model for an alpha with its predictions, linear in the logarithm of alpha."""
    first, last = descents[0], descents[-1]
    share = 0.0
    if first.log_alpha > last.log_alpha > log_alpha:
        share = min((last.log_alpha - log_alpha) / (first.log_alpha - last.log_alpha), 1.0)
    return tuple(x + share * (x - y) for x, y in zip(last.model, first.model, strict=True))


def minimise(
    context: SolverContext, iterate: QuasiNewtonIterate, max_steps: int | None = None
) -> None:
    """Take steps until the tolerance or a limit is reached, or until they are too slow."""
    schedule, gaps, monitor = EstimateSchedule(context), [], context.monitor
    with suppress(np.linalg.LinAlgError):  # of intercepts, where numbers overflow
        while True:
            value, gap = iterate.objective, iterate.gap
            gaps.append(schedule.report(Result(value, value - gap, iterate.point)))
            is_slow = max_steps is not None and _is_slow(
                gaps, monitor.goal_at(value, value - gap), max_steps
            )
            if schedule.is_over or is_slow or not iterate.step():
                break
            schedule.n_iter += 1
    if not monitor.done:
        monitor.check(schedule.n_iter, iterate.point())


def _is_slow(gaps: list[float], goal: float, max_steps: int) -> bool:
    """Whether the gap decreases too slowly to reach the goal in so many steps."""
    window, n = min(SETTINGS.window, max_steps // 2), len(gaps) - 1
    if n < window:
        return False
    before, now = gaps[-1 - window], gaps[-1]
    if not 0.0 < now < before:
        return now > 0.0
    return n + window * log(max(now / goal, 1.0)) / log(before / now) > max_steps

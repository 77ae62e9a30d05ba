"""The proximal method of multipliers over a proximal Newton method on a working set.

Losses with linear pieces. With the dual point theta_k, the multiplier step replaces every
loss by its Moreau envelope shifted by it,

    max over v of  v z_i - l*(y_i, v) - (v - theta_ki)^2 / (2 sigma),

which is smooth, and whose maximiser at the minimum over w is theta_{k+1} (Rockafellar,
1976). Only rows inside the envelope's quadratic piece have curvature. A small proximal
term delta D_j (w_j - w_kj)^2 / 2, which fades as sigma grows, keeps the systems regular.

A smooth loss that has curvature wherever it has a slope is its own envelope (sigma
infinite) and needs one round.

Each smooth problem is solved by proximal Newton steps: the penalised quadratic model on
the features that are active or violate optimality, then a step along its minimiser.
"""

import numpy as np

from .._typing import Array, Indices
from ..certificates import dual_estimate, relative_gap
from ..problem import Point, Problem
from .monitor import Monitor
from .quadratic import minimise_quadratic

__all__ = ["method_of_multipliers"]

PROXIMAL = 1e-3  # delta
FIRST_SIGMA = 0.1  # in units of the range of the dual variable over that of the predictions
LARGEST_WORKING_SET = 4000  # its Gram matrix takes 128 MB
PATIENCE = 200  # Newton steps without a tenth off the gap


def method_of_multipliers(
    problem: Problem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """The proximal method of multipliers, for a separable or group penalty.

    It ends unfinished where the gap no longer falls or the working set grows too large.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `pdprox_dual`; an iteration is a Newton step, ``random_state`` is not used.
    """
    state = _State(problem, monitor, start)
    while state.n_iter < max_iter and not (monitor.done or state.stalled):
        n_before = state.n_iter
        state.minimise(max_iter)
        steps = state.n_iter - n_before
        if state.smooth:
            break
        state.theta = state.derivative.copy()
        state.centre = state.w.copy()
        if steps <= 3:
            state.sigma *= 2.0
        elif steps > 8:
            state.sigma /= 1.5
    if not monitor.done and state.n_iter > state.checked_at:
        state.check()


class _State:
    """The iterates of a run and what is known about them."""

    def __init__(self, problem: Problem, monitor: Monitor, start: Point | None) -> None:
        self.problem, self.monitor = problem, monitor
        loss, weights = problem.loss, problem.weights
        self.smooth = not loss.linear_tails
        null = problem.null_point
        point = null if start is None else start
        self.w = problem.join(point.coef, point.intercept)
        self.centre = self.w.copy()
        lower, upper = loss.dual_bounds(problem.y)
        if self.smooth:
            self.theta, self.sigma = np.zeros(problem.n_samples), np.inf
        else:
            middle = 0.5 * (lower + upper)
            self.theta = middle if start is None else loss.project_dual(problem.y, start.dual_coef)
            slope = float(weights @ np.abs(null.dual_coef))
            reach = problem.null_objective / slope if slope > 0.0 else 1.0
            self.first_sigma = FIRST_SIGMA * float(np.max(upper - lower)) / reach
            self.sigma = self.first_sigma
        ones = np.ones(1) if problem.fit_intercept else np.ones(0)
        squares = problem.design.column_norms(weights) ** 2
        self.scale = np.append(squares, ones)  # D_j = sum_i c_i x_ij^2
        self.z = problem.matvec(self.w)
        self.derivative = np.empty(problem.n_samples)
        self.row_gradient = np.empty(problem.n_samples)
        self.curvature = np.empty(problem.n_samples)
        self.n_iter = self.checked_at = self.improved_at = 0
        self.stalled = False
        self.checked_gap = monitor.primal - monitor.dual  # of the points it has seen
        self.best_gap = np.inf
        self.upper = problem.null_objective

    # The smoothed problem at (w, z)

    @property
    def proximal(self) -> float:
        """The weight delta, which fades as sigma grows: on a face of optima it holds w back."""
        return 0.0 if self.smooth else PROXIMAL * min(1.0, 100.0 * self.first_sigma / self.sigma)

    def evaluate(self) -> None:
        """Derivatives of the smoothed losses, their gradient and the gap they prove."""
        problem = self.problem
        loss, dual_value = problem.loss.kernel.smoothed_derivatives(
            problem.y, problem.weights, self.theta, self.z, self.sigma,
            self.derivative, self.row_gradient, self.curvature,
        )  # fmt: skip
        self.gradient = problem.rmatvec(self.row_gradient)
        coef, _ = problem.split(self.w)
        self.penalty_value = problem.alpha * problem.penalty.value(coef)
        self.upper = min(self.upper, loss + self.penalty_value)
        coef_gradient, slope = problem.split(self.gradient)
        self.lower = dual_estimate(problem, dual_value, coef_gradient, slope, self.upper)
        self.gap = self.upper - self.lower
        if self.gap < 0.9 * self.best_gap:
            self.best_gap, self.improved_at = self.gap, self.n_iter
        self.stalled |= self.n_iter > self.improved_at + PATIENCE

    def check(self) -> None:
        point = Point(*self.problem.split(self.w), self.derivative)
        self.monitor.check(self.n_iter, point)
        self.checked_gap, self.checked_at = self.gap, self.n_iter

    def minimise(self, max_iter: int) -> None:
        """Newton steps until the penalty's share of the gap is a tenth of it."""
        problem, monitor = self.problem, self.monitor
        penalty, alpha = problem.penalty, problem.alpha
        n_features = problem.n_features
        most = max_iter if self.smooth else min(max_iter, self.n_iter + 30)
        first = self.n_iter
        while True:
            self.evaluate()
            found = relative_gap(problem, self.gap) <= monitor.tol
            if found or self.gap < 0.1 * self.checked_gap or self.n_iter >= self.checked_at + 15:
                self.check()
            if monitor.done or self.stalled:
                return
            g = self.gradient + self.proximal * self.scale * (self.w - self.centre)
            coef, slope = g[:n_features], g[n_features:]
            w = self.w[:n_features]
            radius = self.upper / alpha
            share = self.penalty_value + w @ coef
            share += penalty.bounded_conjugate(-coef, alpha, radius)
            lower, upper = problem.intercept_interval(self.upper)
            if problem.fit_intercept and np.isfinite(upper - lower):
                share += abs(float(slope[0])) * (upper - lower)
            if not self.smooth and self.n_iter > first and share <= 0.1 * self.gap:
                return
            if self.n_iter >= most:
                return
            columns, violation = self.working_set(g)
            if len(columns) > LARGEST_WORKING_SET:
                self.stalled = True
                return
            self.step(g, columns, violation)
            self.n_iter += 1

    def step(self, g: Array, columns: Indices, violation: float) -> None:
        """A proximal Newton step on the working set."""
        problem = self.problem
        n_features, weights = problem.n_features, problem.weights
        inside = np.append(columns, np.arange(n_features, problem.n_variables))
        H = problem.design.gram(self.curvature, columns, problem.fit_intercept)
        ridge = self.proximal * self.scale[inside] + 1e-12 * np.diag(H)
        H[np.diag_indices_from(H)] += ridge
        w = self.w[inside]
        p = minimise_quadratic(
            H, g[inside], w, problem.penalty, problem.alpha, columns, 1e-2 * violation
        )
        direction = np.zeros(problem.n_variables)
        direction[inside] = p - w
        along = problem.matvec(direction)

        # R(w + t d) <= (1 - t) R(w) + t R(w + d): the slope of a convex bound on the line
        after = problem.penalty.value(self.w[:n_features] + direction[:n_features])
        rise = problem.alpha * after - self.penalty_value
        pull = self.proximal * self.scale * direction
        at_start = float(pull @ (self.w - self.centre))
        curve = float(pull @ direction)

        def slope(t: float) -> float:
            smooth = problem.loss.kernel.smoothed_slope(
                problem.y, weights, self.theta, self.z, along, t, self.sigma
            )
            return smooth + rise + at_start + t * curve

        length = 1.0
        noise = 1e-13 * (abs(rise) + self.upper)
        beginning = slope(0.0)
        if slope(1.0) > max(-0.5 * beginning, noise):
            low, high = 0.0, 1.0
            for _ in range(40):
                middle = 0.5 * (low + high)
                value = slope(middle)
                if value > 0.0:
                    high = middle
                else:
                    low = middle
                if low > 0.0 and abs(value) <= 0.1 * abs(beginning):
                    break
            length = low if low > 0.0 else 0.5 * high
        if length == 1.0:
            self.w[inside] = p
        else:
            self.w[inside] = w + length * (p - w)
        self.z = self.z + length * along

    def working_set(self, g: Array) -> tuple[Indices, float]:
        """Features that are active or violate optimality, whole groups; the largest violation."""
        problem, penalty = self.problem, self.problem.penalty
        n_features = problem.n_features
        largest = self.sigma if np.isfinite(self.sigma) else problem.loss.smoothness
        scale = largest * self.scale[:n_features]
        step = penalty.step_sizes(1.0 / np.where(scale > 0.0, scale, 1.0))
        w, coef = self.w[:n_features], g[:n_features]
        violation = np.abs(w - penalty.prox(w - step * coef, step * problem.alpha)) / step
        active = w != 0.0
        chosen = active | (violation > 0.0)
        most = max(2 * int(active.sum()), 50)
        if chosen.sum() > most:
            room = np.where(active, -1.0, violation)
            chosen = active.copy()
            chosen[np.argpartition(-room, most - 1)[:most]] = True
        labels = getattr(penalty, "labels", None)
        if labels is not None:
            chosen = np.isin(labels, labels[chosen])
        total = float(np.max(violation, initial=0.0))
        if problem.fit_intercept:
            total = max(total, abs(float(g[-1])))
        return np.flatnonzero(chosen).astype(np.int64), total

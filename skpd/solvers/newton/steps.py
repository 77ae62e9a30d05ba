"""Proximal Newton steps on a working set."""

from functools import cached_property

import numpy as np

from ..._typing import Array, Indices
from ...kernels import dot
from ...problems import Problem
from ..monitor import Monitor
from .envelope import Envelope
from .iterate import NewtonIterate
from .quadratic import QuadraticModel, quadratic_model
from .rows import RowSide
from .settings import SETTINGS
from .working_set import Chosen


class NewtonSteps:
    """Newton steps: minimisation of the penalised quadratic model, and a line search.

    Parameters
    ----------
    problem : Problem
    envelope : Envelope
    monitor : Monitor
        The monitor of the run, which knows the gap at which it ends.

    Attributes
    ----------
    sample : RowSide or None
        The rows of a sample on which the problem was solved before: the first step has their
        curvature, as it starts where the curvature of all rows is no more accurate.
    """

    def __init__(self, problem: Problem, envelope: Envelope, monitor: Monitor) -> None:
        self.problem, self.envelope, self.monitor = problem, envelope, monitor
        self.sample: RowSide | None = None
        self.damping = 0.0  # the ridge of models, in mean squares of the features
        self.n_short = 0  # the number of short steps

    def take(self, iterate: NewtonIterate, g: Array, chosen: Chosen) -> bool:
        """Take a step from an iterate, where the smoothed problem has the gradient g.

        Returns whether a step of some length decreases the objective.
        """
        problem, rows, envelope = self.problem, iterate.rows, self.envelope
        columns, quadratic = chosen.columns, problem.loss.constant_curvature
        if quadratic and problem.has_incremental_products:  # gradients at 0 may be inexact
            new = columns[iterate.w[columns] == 0.0]
            g[new], _ = rows.gradient(new)
        inside: Indices = np.append(
            columns, np.arange(problem.n_coefficients, problem.n_variables)
        )
        scale, ridge = envelope.ridge(inside)
        if self.damping > 0.0:
            ridge = self.damping * self._mean_squares[inside]
        curved = self.sample if self.sample is not None and envelope.exact else rows
        model = quadratic_model(curved.curvature(columns, scale, ridge))
        self.sample = None
        iterate.near_solution = quadratic
        w = iterate.w[inside]
        tol = self._accuracy(model, chosen, iterate)
        p = model.minimise(g[inside], w, problem.penalty, problem.alpha, columns, tol)
        if quadratic and chosen.complete:  # probably the last step
            iterate.w[inside] = p
            iterate.all_rows.move_to(iterate.w)
            return True
        direction = np.zeros(problem.n_variables)
        direction[inside] = p - w
        rows.go_along(direction)
        length = 1.0
        if not quadratic:
            length = self._step_length(iterate, direction, dot(g[inside], p - w))
        if length < 1.0:
            p = w + length * (p - w)
            rows.go_back(length)
        iterate.w[inside] = p
        return self._damp(length)

    @cached_property
    def _mean_squares(self) -> Array:
        squares: Array = self.problem.design.column_norms(self.problem.weights) ** 2
        return squares

    def _damp(self, length: float) -> bool:
        """Set the damping after a step of this length; whether steps can go on.

        Models of losses of all scores may have directions without curvature, as where a few rows
        of large scores decide: steps along these are endless.
        """
        if not (self.problem.rows.of_scores and self.envelope.exact):
            return length > 0.0
        if length >= SETTINGS.short_step:
            self.damping *= SETTINGS.damping_decrease if length == 1.0 else 1.0
            self.damping *= self.damping >= SETTINGS.least_damping
            return True
        self.damping = max(SETTINGS.damping_increase * self.damping, SETTINGS.least_damping)
        self.n_short += 1
        return self.n_short <= SETTINGS.most_short_steps

    def _accuracy(self, model: QuadraticModel, chosen: Chosen, iterate: NewtonIterate) -> float:
        """The largest change of a gradient at which to stop minimising a model."""
        problem, penalty = self.problem, self.problem.penalty
        if problem.loss.constant_curvature:
            tol = chosen.violation * model.accuracy.quadratic
            # the model is exact: an error of a gradient adds the error times the radius to the gap
            last = chosen.complete and penalty.is_norm
            goal = iterate.goal(self.monitor)
            return min(tol, goal * problem.alpha / iterate.upper) if last else tol
        accuracy = model.accuracy
        if not self.envelope.exact:
            return chosen.violation * accuracy.kinked
        if problem.n_outputs > 1:  # another Newton step costs less than digits of this one
            accuracy = SETTINGS.accuracy_by_products
        return chosen.violation * accuracy.smooth

    def _step_length(self, iterate: NewtonIterate, direction: Array, descent: float) -> float:
        """The step length, from 1 downwards; ``descent`` is g.d.

        As R(w + t d) <= (1 - t) R(w) + t R(w + d), the search minimises a convex upper bound on
        the smoothed objective along the direction, by its slope.
        """
        rows, sigma = iterate.rows, self.envelope.sigma
        rise = iterate.penalty_at(iterate.w + direction)
        rise -= iterate.penalty_value
        pull, pull_rise = self.envelope.pull_along(iterate, direction)
        beginning = abs(descent + rise)

        def of_bound(slope: float, length: float) -> float:
            return slope + rise + pull + length * pull_rise

        noise = SETTINGS.slope_rounding * (abs(rise) + iterate.upper)
        # the slope at the start is negative, up to rounding
        accepted = SETTINGS.full_step_slope * -(descent + rise)
        if of_bound(rows.slope(sigma), 1.0) <= max(accepted, noise):
            return 1.0
        low, high, parts = 0.0, 1.0, 2**rows.halvings_at_once
        for _ in range(-(-SETTINGS.line_search_halvings // rows.halvings_at_once)):
            lengths = [low + (high - low) * (k / parts) for k in range(1, parts)]
            values = list(map(of_bound, rows.slopes(lengths, sigma), lengths))
            falling = sum(value <= 0.0 for value in values)  # slopes are increasing
            ends = values[max(falling - 1, 0) : falling + 1]
            low, high = [low, *lengths, high][falling : falling + 2]
            if low > 0.0 and min(map(abs, ends)) <= SETTINGS.line_search_slope * beginning:
                break
        return low if low > 0.0 or self.envelope.exact else 0.5 * high

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
the features that are active or violate optimality, then a step along its minimiser. Where
the loss is smooth, only their gradients are kept until the gap on them is small beside the
whole one, and a step that needs to gain no more than the last one did takes that one's Gram
matrix (a chord step). So does the first for another alpha of a path: it goes along the tangent
of the path, and then as far to the side as the path left its last tangent. Its features are
those whose gradient is above the new alpha and does not seem to fall below it.
"""

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from ... import kernels
from ..._typing import Array, Indices
from ...certificates import dual_estimate, relative_gap
from ...designs import ColumnCurvature
from ...designs.gram import BLAS
from ...kernels import dot
from ...penalties import Structure
from ...problems import Point, Problem
from ..monitor import Monitor
from .quadratic import minimise_quadratic
from .rows import Frozen, InMemory, RowSide

__all__ = ["method_of_multipliers"]

PROXIMAL = 1e-3  # delta
FIRST_SIGMA = 0.3  # in units of the range of the dual variable over that of the predictions
WARM_SIGMA = 10.0  # times the first, from a dual point that is near a solution
FEWEST = 50  # features that a working set may take in at a time
LARGEST_WORKING_SET = 4000  # on as many rows with curvature
SAMPLE = 60  # rows for each variable, at least
SAMPLE_GAP = 0.1  # relative: so far is a solution on a sample from that on all rows anyway
PENALTY_SHARE = 0.95  # of the gap, at which the multipliers have their turn
LONGEST_SOLVE = 20  # Newton steps with the same multipliers
CHECK_EVERY = 8  # Newton steps, at least: a certificate costs several products
INNER_GAP = 0.6  # of the gap: how far to go on a part of the features
MOST_CHANGE = 4.0  # times the last one, that is expected of the next step along a path
COMING = 0.98  # of alpha: a gradient expected above it may make its feature active
PATIENCE = 200  # Newton steps without a tenth off the gap
GROUPED = 1e6  # what a step with groups costs beside others, its models being solved in rounds


def method_of_multipliers(
    problem: Problem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
    budget: float = np.inf,
) -> None:
    """The proximal method of multipliers, for a separable or group penalty.

    It ends unfinished where the gap no longer falls or the working set grows too large.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `pdprox_dual`; an iteration is a Newton step, ``random_state`` is not used.
    budget : float, default=inf
        The sum of `skpd.designs.newton_cost` of the steps at which it ends unfinished as well.
    """
    state = _State(problem, monitor, start) if start is not None else _begin(problem, monitor)
    state.budget = budget
    state.run(max_iter)
    if not monitor.done and state.n_iter > state.checked_at:
        state.thaw()
        state.evaluate()
        state.check()


def _begin(problem: Problem, monitor: Monitor) -> "_State":
    """From a solution on a sample of the rows, where they are many for each feature."""
    state = _State(problem, monitor, None)
    if problem.loss.constant_curvature:  # one Newton step takes all rows at once
        return state
    weighty = np.flatnonzero(problem.weights > 0.0)
    n = len(weighty)
    size = max(n // 10, SAMPLE * problem.n_variables)
    if 4 * size > n:
        return state
    chosen = np.sort(np.random.RandomState(0).permutation(weighty)[:size])
    weights = problem.weights[chosen]
    sample = Problem(
        design=problem.design.rows(chosen),
        y=problem.y[chosen],
        weights=weights / float(np.sum(weights)),
        loss=problem.loss,
        penalty=problem.penalty,
        alpha=problem.alpha,
        fit_intercept=problem.fit_intercept,
    )
    other = _begin(sample, Monitor(sample, SAMPLE_GAP))
    other.run(100)
    state.start_from(other)
    return state


@dataclass
class _Tracked:
    """The features whose gradient is kept up to date for a while."""

    columns: Indices
    until: float  # the gap at which to look at the others again


@dataclass
class _Solved:
    """The solution for one alpha of a path, and what it tells of the next."""

    alpha: float
    variables: Array
    rows: RowSide
    gradient: Array
    matrix_alpha: float  # where the last Gram matrix was taken
    bend: Array | None  # to here from where a step along the tangent led
    bend_unit: float
    before: "_Solved | None"

    def bend_unit_at(self, alpha: float) -> float:
        """Of second order in the step of log alpha and in the way from the matrix to here."""
        step, way = abs(log(alpha / self.alpha)), abs(log(self.matrix_alpha / self.alpha))
        return step * (0.5 * step + way)

    def bend_at(self, alpha: float) -> Array | None:
        unit = self.bend_unit_at(alpha)
        if self.bend is None or not 0.0 < unit <= MOST_CHANGE * self.bend_unit:
            return None
        return unit / self.bend_unit * self.bend

    def gradient_at(self, alpha: float) -> Array | None:
        """It is linear in alpha as long as the curvature and the support stay the same."""
        if self.before is None or self.before.alpha == self.alpha:
            return None
        share = (alpha - self.alpha) / (self.alpha - self.before.alpha)
        if not 0.0 < share <= MOST_CHANGE:
            return None
        return self.gradient + share * (self.gradient - self.before.gradient)


@dataclass
class _Left:
    """Rows that are left out, since when, and whether the multipliers have changed since."""

    frozen: Frozen
    gap: float
    n_iter: int
    updated: bool = False


class _State:
    """The iterates of a run and what is known about them."""

    def __init__(self, problem: Problem, monitor: Monitor, start: Point | None) -> None:
        problem = problem if problem.workspace else problem.in_workspace()
        self.problem, self.monitor = problem, monitor
        assert problem.workspace is not None
        self.workspace = problem.workspace
        self.smooth = not problem.loss.linear_tails
        point = problem.null_point if start is None else start
        self.w = problem.join(point.coef, point.intercept)
        self.known_gradient: Array | None = None
        self.chord = False  # whether the next step takes the last Gram matrix
        self.settled = False  # whether the working set is near the last one
        self.last_step = False  # whether none is expected to come
        self.matrix_alpha = problem.alpha  # where the last Gram matrix was taken
        self.tangent: Array | None = None  # where a path would be now if it did not bend
        self.bend: Array | None = None  # from there to where it is expected
        self.bend_unit = 0.0
        self.expected: Array | None = None  # the gradient at the solution
        self.solved_before: _Solved | None = None
        last = self.workspace.solved
        follows = start is not None and self.smooth and last is not None
        if follows and kernels.equal(self.w, last.variables):
            self.rows: RowSide = last.rows
            self.follow(last)
        else:
            self.rows = InMemory.of(problem, start, self.workspace.gram)
        self.all_rows = self.rows
        self.left: _Left | None = None
        if start is None and self.smooth:
            slope = dot(problem.weights, point.dual_coef)
            self.known_gradient = problem.join(problem.null_gradient, slope)
        self._set_scales(start)
        self.tracked: _Tracked | None = None
        self.radius = None if start is not None else 1.0  # the spread of the predictions
        self.n_iter = self.checked_at = self.improved_at = monitor.n_iter
        self.stalled = False
        self.budget, self.spent = np.inf, 0.0  # as of `newton_cost`
        grouped = problem.penalty.structure is Structure.GROUPED
        self.overhead = GROUPED if grouped else 0.0
        self.checked_gap = monitor.primal - monitor.dual  # of the points it has seen
        self.best_gap = np.inf
        self.round_gap = np.inf  # when the multipliers were updated last; it rises after that
        self.upper = problem.null_objective

    def _set_scales(self, start: Point | None) -> None:
        """The first sigma, step sizes, and the accuracy of quadratic problems."""
        problem = self.problem
        constant = problem.loss.constant_curvature
        # by a Gram matrix and without one, as shares of the violation
        self.accuracy, self.accuracy_by_columns = 1e-4 if constant else 1e-2, 3e-2
        self.fewest, self.sigma = FEWEST, np.inf
        if constant and problem.design.dense:
            # the Gram matrix of so many takes the time of a gradient
            self.fewest = max(FEWEST, int(np.sqrt(BLAS * problem.n_features)))
        if self.smooth:
            return
        self.accuracy_by_columns = 1e-1  # the rows with curvature change anyway
        if problem.penalty.structure is Structure.SEPARABLE:
            self.accuracy = 3e-2
        self.centre = self.w.copy()
        self.first_sigma = FIRST_SIGMA * self.all_rows.dual_range / problem.prediction_scale
        self.sigma = self.first_sigma * (1.0 if start is None else WARM_SIGMA)
        self.scale = problem.squares  # D
        scale = self.scale[: problem.n_features]
        # of proximal gradients, where sigma is 1
        self.unit_steps = problem.penalty.step_sizes(1.0 / np.where(scale > 0.0, scale, 1.0))

    def start_from(self, other: "_State") -> None:
        """Go on from a solution on other rows."""
        self.known_gradient, self.radius = None, None
        self.w = other.w.copy()
        if not self.smooth:
            self.centre = other.w.copy()
            self.sigma = min(other.sigma, WARM_SIGMA * self.first_sigma)
        self.all_rows.begin_from(self.w, self.sigma)

    def run(self, max_iter: int) -> None:
        """Multiplier steps, with a sigma at which they take a few Newton steps each."""
        while self.n_iter < max_iter and not (self.monitor.done or self.stalled):
            n_before = self.n_iter
            self.minimise(max_iter)
            steps = self.n_iter - n_before
            if self.smooth:
                if self.left is None and self.tracked is None:
                    self.workspace.solved = self.solved()
                break
            if steps >= LONGEST_SOLVE:  # stuck where the envelope is too close to the loss
                self.sigma /= 10.0
                continue
            gap_before = self.round_gap
            self.update_multipliers()
            # where the gap hardly falls, the rows at a kink are not found yet
            if steps <= 3 and self.gap <= 0.7 * gap_before:
                self.sigma *= 3.0
            elif steps > 6:
                self.sigma /= 3.0

    def follow(self, last: _Solved) -> None:
        """Go on from the solution for the alpha before."""
        alpha = self.problem.alpha
        self.known_gradient, self.matrix_alpha = last.gradient, last.matrix_alpha
        self.chord = self.settled = True  # little has changed
        if not self.problem.loss.constant_curvature:  # else a path has corners only
            self.bend, self.bend_unit = last.bend_at(alpha), last.bend_unit_at(alpha)
        self.expected = last.gradient_at(alpha)
        self.solved_before, last.before = last, None  # one is enough

    def solved(self) -> _Solved:
        return _Solved(
            alpha=self.problem.alpha,
            variables=self.w,
            rows=self.rows,
            gradient=self.gradient,
            matrix_alpha=self.matrix_alpha,
            bend=None if self.tangent is None else self.w - self.tangent,
            bend_unit=self.bend_unit,
            before=self.solved_before,
        )

    # The smoothed problem at (w, z)

    @property
    def proximal(self) -> float:
        """The weight delta, which fades as sigma grows: on a face of optima it holds w back."""
        return 0.0 if self.smooth else PROXIMAL * min(1.0, 100.0 * self.first_sigma / self.sigma)

    def evaluate(self) -> None:
        """Derivatives of the smoothed losses, their gradient and the gap they prove."""
        problem = self.problem
        self.loss, self.dual = self.rows.evaluate(self.sigma)
        coef, _ = problem.split(self.w)
        self.penalty_value = problem.alpha * problem.penalty.value(coef[self.part])
        self.assess()

    def assess(self) -> None:
        """The gradient and the gap, which is but an estimate where features are left out."""
        problem, rows = self.problem, self.rows
        loss, dual = self.loss, self.dual
        if self.known_gradient is not None:
            self.gradient, self.known_gradient = self.known_gradient, None
        elif (
            self.tracked is None
            and self.left is None
            and (self.last_step or problem.products.incremental)
        ):
            self.gradient = self.whole_gradient()  # that the certificate to come will want
        elif self.tracked is None:
            self.gradient = problem.join(*rows.gradient())
        else:
            columns = self.tracked.columns
            coef_gradient = np.zeros(problem.n_features)
            coef_gradient[columns], slope = rows.gradient(columns)
            self.gradient = problem.join(coef_gradient, slope)
        if self.left is not None:
            frozen = self.left.frozen
            self.gradient += frozen.gradient
            loss += frozen.loss + dot(frozen.gradient, self.w - frozen.w)
            dual += frozen.dual
            if loss + self.penalty_value < self.monitor.dual:  # no objective is: a row has bent
                self.thaw()
                self.evaluate()
                return
            upper = min(self.upper, loss + self.penalty_value)
        else:
            upper = self.upper = min(self.upper, loss + self.penalty_value)
        coef_gradient, slope = problem.split(self.gradient)
        some = coef_gradient[self.part]
        lower = dual_estimate(problem, dual, some, problem.free.sums(some, slope), upper)
        self.gap = upper - lower
        if self.left is None and self.tracked is None:
            if self.gap < 0.9 * self.best_gap:
                self.best_gap, self.improved_at = self.gap, self.n_iter
            self.stalled |= self.n_iter > self.improved_at + PATIENCE

    def whole_gradient(self) -> Array:
        """As exact as the certificate wants it, and where w is not 0."""
        problem = self.problem
        coef, _ = problem.split(self.w)
        return problem.join(*self.rows.certified_gradient(problem, coef))

    def within_tol(self) -> bool:
        return relative_gap(self.problem, self.gap) <= self.monitor.tol

    def check(self) -> None:
        point = Point(*self.problem.split(self.w), self.rows.dual_point())
        self.monitor.check(self.n_iter, point)
        self.checked_gap, self.checked_at = self.gap, self.n_iter

    def update_multipliers(self) -> None:
        self.round_gap = self.gap
        self.rows.update_multipliers()
        if self.left is not None:
            self.left.updated = True
        self.centre = self.w.copy()

    def share_of_penalty(self, g: Array) -> float:
        """Of the gap; the rest is the distance of the losses from their envelopes."""
        problem, penalty, alpha = self.problem, self.problem.penalty, self.problem.alpha
        (w, _), (coef, slope) = problem.split(self.w), problem.split(g)
        share = self.penalty_value + dot(w, coef)
        share += penalty.bounded_conjugate(-coef, alpha, self.upper / alpha)
        lower, upper = problem.intercept_interval(self.upper)
        if problem.fit_intercept and np.isfinite(upper - lower):
            share += abs(slope) * (upper - lower)
        return share

    # Features that violate nothing are left out for a while

    @property
    def part(self) -> Indices | slice:
        """Of the features, those that need to be looked at: the others have w_j = 0."""
        separable = self.problem.penalty.structure is Structure.SEPARABLE
        return self.tracked.columns if self.tracked is not None and separable else slice(None)

    def track(self, columns: Indices, whole: bool) -> None:
        """Go on with the gradients of some features, if that is less work."""
        problem = self.problem
        if whole and problem.loss.constant_curvature and problem.products.incremental:
            return  # one step solves for them, and the others cost little
        # one step solves for the features of a quadratic problem, several for others
        most = 0.2 if problem.loss.constant_curvature else 0.5
        if self.left is None and problem.design.work_on(columns) <= most:
            target = self.monitor.tol * problem.objective_unit
            settled = whole and self.settled
            until = target if settled else max(INNER_GAP * self.gap, target)
            self.tracked = _Tracked(columns, until)

    def track_all(self) -> None:
        """Back to all features."""
        gap, self.tracked = self.gap, None
        self.last_step = self.within_tol()
        self.assess()
        self.settled = self.gap <= 2.0 * gap

    # Rows far from a kink are left out for a while: shrinking

    def freeze(self) -> None:
        """Go on with the rows whose losses may bend, if they are few."""
        found = self.all_rows.freeze(self.w, self.gradient, self.sigma, self.radius)
        if isinstance(found, Frozen):
            self.rows, self.radius = found.rows, found.radius
            self.left = _Left(found, min(self.gap, self.round_gap), self.n_iter)
        elif found is not None:
            self.radius = found

    def thaw(self) -> None:
        """Back to all rows."""
        if self.left is None:
            return
        frozen = self.left.frozen
        moved = self.all_rows.thaw(frozen, self.w, self.left.updated)
        self.radius = max(2.0 * moved, 0.3 * frozen.radius)
        self.rows, self.left = self.all_rows, None

    def minimise(self, max_iter: int) -> None:
        """Newton steps until the gap is no longer the penalty's alone."""
        problem, monitor = self.problem, self.monitor
        most = max_iter if self.smooth else min(max_iter, self.n_iter + LONGEST_SOLVE)
        first, gap_before = self.n_iter, np.inf
        while True:
            self.evaluate()
            if self.tracked is not None and self.gap <= self.tracked.until:
                self.track_all()
            found = self.within_tol()
            # if it shrinks the gap as the last step did, that is enough
            target = 0.3 * monitor.tol * problem.objective_unit
            self.chord |= self.smooth and self.gap * self.gap <= target * gap_before < np.inf
            gap_before = self.gap
            if self.left is not None:
                left = self.left
                if found or self.gap < 0.1 * left.gap or self.n_iter >= left.n_iter + 20:
                    self.thaw()
                    self.evaluate()
                    found = self.within_tol()
            since = self.n_iter - self.checked_at
            progress = since >= CHECK_EVERY and self.gap < 0.05 * self.checked_gap
            if self.left is None and (found or progress or since >= 30):
                self.check()
            if monitor.done or self.stalled:
                return
            g = self.gradient
            if not self.smooth:
                g = g + self.proximal * self.scale * (self.w - self.centre)
                if self.n_iter > first and self.share_of_penalty(g) <= PENALTY_SHARE * self.gap:
                    return
            if self.n_iter >= most:
                return
            columns, violation, whole = self.working_set(g)
            if len(columns) > LARGEST_WORKING_SET < self.rows.n_curved:
                self.stalled = True
                return
            bends = not problem.loss.constant_curvature
            if bends and self.left is None and self.tracked is None:
                self.freeze()
            if self.smooth and self.tracked is None:
                self.track(columns, whole)
            self.step(g, columns, violation, whole)
            self.n_iter += 1
            self.spent += self.rows.cost(len(columns)) + self.overhead
            self.stalled |= self.spent > self.budget

    def step(self, g: Array, columns: Indices, violation: float, whole: bool) -> None:
        """A proximal Newton step on the working set."""
        problem, rows = self.problem, self.rows
        inside = np.full(len(columns) + problem.fit_intercept, problem.n_features)
        inside[: len(columns)] = columns
        scale, ridge = 1.0, None
        if not self.smooth:
            scale, ridge = self.sigma, self.proximal * self.scale[inside]
        H, again = rows.curvature(columns, scale, ridge, self.chord)
        if not again:
            self.matrix_alpha = problem.alpha
        self.last_step = self.smooth and (self.chord or problem.loss.constant_curvature)
        self.chord = False
        by_columns = isinstance(H, ColumnCurvature)
        tol = violation * (self.accuracy_by_columns if by_columns else self.accuracy)
        if problem.loss.constant_curvature and self.settled and problem.penalty.is_norm:
            # the model is the problem: an error of a gradient costs the gap that times the radius
            tol = min(tol, self.monitor.tol * problem.objective_unit * problem.alpha / self.upper)
        w = self.w[inside]
        p = minimise_quadratic(
            H, g[inside], w, problem.penalty, problem.alpha, columns, tol, system=rows.system
        )
        quadratic = problem.loss.constant_curvature
        if self.bend_unit > 0.0 and self.tangent is None:
            p = self.beside_tangent(inside, p)
        if quadratic and whole:  # it is likely to be the last
            self.w[inside] = p
            rows.move_to(self.w, problem)  # the certificate's as well
            return
        direction = np.zeros(problem.n_variables)
        direction[inside] = p - w
        rows.go_along(direction)
        length = 1.0
        if not quadratic:
            length = self.step_length(direction, dot(g[inside], p - w))
        if length < 1.0:
            p = w + length * (p - w)
            rows.go_back(length)
        self.w[inside] = p

    def beside_tangent(self, inside: Indices, p: Array) -> Array:
        """A point p on the tangent of a path, moved to where the path is expected."""
        self.tangent = self.w.copy()
        self.tangent[inside] = p
        if self.bend is None:
            return p
        moved = p + self.bend[inside]
        return np.where((moved * p > 0.0) | (inside >= self.problem.n_features), moved, p)

    def step_length(self, direction: Array, descent: float) -> float:
        """How far to go, at 1 now, as the smoothed objective falls; ``descent`` is g.d."""
        problem, rows = self.problem, self.rows
        # R(w + t d) <= (1 - t) R(w) + t R(w + d): the slope of a convex bound on the line
        coef, _ = problem.split(self.w + direction)
        rise = problem.alpha * problem.penalty.value(coef[self.part]) - self.penalty_value
        at_start = curve = 0.0
        if not self.smooth:
            pull = self.proximal * self.scale * direction
            at_start, curve = dot(pull, self.w - self.centre), dot(pull, direction)
        if self.left is not None:
            at_start += dot(self.left.frozen.gradient, direction)
        noise = 1e-13 * (abs(rise) + self.upper)
        beginning = descent + rise
        at_end = rows.slope(1.0, self.sigma) + rise + at_start + curve
        if at_end <= max(-0.5 * beginning, noise):
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            value = rows.slope(middle, self.sigma) + rise + at_start + middle * curve
            if value > 0.0:
                high = middle
            else:
                low = middle
            if low > 0.0 and abs(value) <= 0.1 * abs(beginning):
                break
        return low if low > 0.0 else 0.5 * high

    def working_set(self, g: Array) -> tuple[Indices, float, bool]:
        """Features that are active or violate optimality, whole groups.

        Beside them the largest violation, and whether they are all there are.
        """
        problem, alpha = self.problem, self.problem.alpha
        penalty: Any = problem.penalty
        w, coef = self.w[: problem.n_features], g[: problem.n_features]
        if self.smooth:  # small beside w, so that nearly all of it stays on its side of its kinks
            slope = max(kernels.max_abs(coef), alpha)
            size = kernels.max_abs(w)
            step, steps = 1e-2 * size / slope if size > 0.0 else 1.0, None
        else:
            step, steps = 1.0 / self.sigma, self.unit_steps
        # of those that violate it now, they will relieve most which are not expected to in the end
        expected, self.expected = self.expected, None
        if expected is not None:
            expected = expected[: problem.n_features] / COMING
        if penalty.structure is Structure.SEPARABLE:
            l1, l2, lower, upper = penalty.terms
            columns, violation, total = kernels.active_or_violating(
                w, coef, alpha * l1, alpha * l2, lower, upper, step, steps, expected
            )
        else:
            columns, violation, total = self._violating(w, coef, step, steps, expected)
        active = w[columns] != 0.0
        n_active = int(np.count_nonzero(active))
        most = n_active + max(n_active, self.fewest)
        whole = len(columns) <= most
        if not whole:
            others, room = np.flatnonzero(~active), most - n_active
            active[others[np.argpartition(-violation[others], room - 1)[:room]]] = True
            columns = columns[active]
        if penalty.structure is Structure.GROUPED:
            labels = penalty.labels
            groups = np.zeros(len(w), dtype=bool)
            groups[labels[columns]] = True
            columns = np.flatnonzero(groups[labels])
        if problem.fit_intercept:
            total = max(total, abs(float(g[-1])))
        return columns, total, whole

    def _violating(
        self, w: Array, coef: Array, step: float, steps: Array | None, expected: Array | None
    ) -> tuple[Indices, Array, float]:
        """`kernels.active_or_violating` of a penalty of groups."""
        penalty, alpha = self.problem.penalty, self.problem.alpha
        t = step if steps is None else step * steps
        violation = np.abs(w - penalty.prox(w - t * coef, t * alpha)) / t
        chosen = (w != 0.0) | (violation > 0.0)
        if expected is not None:
            chosen &= (w != 0.0) | (penalty.prox(w - t * expected, t * alpha) != 0.0)
        columns = np.flatnonzero(chosen)
        return columns, violation[columns], kernels.max_abs(violation)

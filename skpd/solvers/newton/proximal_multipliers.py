"""The proximal method of multipliers over a proximal Newton method on a working set.

For losses with linear pieces, the multiplier step at the dual point theta_k replaces every loss by
its Moreau envelope shifted by theta_k (`skpd.solvers.newton.envelope`),

    max over v of  v z_i - l*(y_i, v) - (v - theta_ki)^2 / (2 sigma),

which is smooth, and whose maximiser at the minimum over w is theta_{k+1} (Rockafellar,
1976). Only rows inside the envelope's quadratic piece have curvature. A smooth loss that has
curvature wherever it has a slope is its own envelope (sigma infinite) and needs one round.

Each smooth problem is solved by proximal Newton steps (`skpd.solvers.newton.steps`) on the
features that are active or violate optimality (`skpd.solvers.newton.working_set`). Rows whose
losses stay linear are left out for a while (`skpd.solvers.newton.shrinking`); along a path the
next features are predicted (`skpd.solvers.newton.path_prediction`).
"""

import numpy as np

from ...problems import Point, Problem
from ...problems.interfaces import Gram
from ..certificate_schedule import CertificateSchedule
from ..monitor import Monitor
from ..solver_context import SolverContext
from .envelope import Envelope
from .in_memory import InMemory
from .iterate import NewtonIterate
from .output_rows import CoupledRows, OutputRows
from .path_prediction import PathSolution
from .rows import AllRows
from .settings import SCHEDULE, SETTINGS
from .sharded_rows import ShardedRows
from .shrinking import Shrinking
from .steps import NewtonSteps
from .structured_rows import ScoreRows
from .working_set import Chosen, WorkingSet


def proximal_multipliers(context: SolverContext, *, budget: float = np.inf) -> None:
    """The proximal method of multipliers, for a separable or group penalty.

    The method ends unfinished if the gap no longer decreases or the working set becomes too large.

    Parameters
    ----------
    context : SolverContext
        An iteration is a Newton step.
    budget : float, default=inf
        A computing limit: the sum of `skpd.designs.newton_cost` of the steps at which the method
        ends unfinished, or before a step that would exceed it, unless it is the first.
    """
    run = _begin(context)
    run.budget = budget
    try:
        run.rounds()
        run.certify_the_last()
    except KeyboardInterrupt:  # the last iterate is certified, as it may be the best
        context.monitor.consider(run.iterate.point())
        raise


def _begin(context: SolverContext) -> "_Rounds":
    """The run at its start: from a model of larger alphas, or of a sample of the rows.

    Without the first, small alphas of wide tables take up to 15 times as long; without the second,
    kinked losses of 200,000 rows up to 5 times.
    """
    problem, run = context.problem, _Rounds(context)
    if context.start is not None:
        return run
    is_wide = problem.rows.in_memory and problem.n_samples < problem.n_coefficients
    if is_wide and run.envelope.exact and run.working_set.selects:
        last = _model_of_larger_alphas(context)
        if last is not None:
            run.go_on_from(last)
        return run
    if problem.loss.constant_curvature:  # one Newton step takes all rows at once
        return run
    n = problem.rows.n_weighty
    size = max(int(SETTINGS.sample_share * n), SETTINGS.sample_rows * problem.n_variables)
    size = int(min(size, problem.design.most_copied_rows))
    if SETTINGS.sample_worth * size > n:
        return run
    sample = problem.of_rows(problem.rows.random_sample(size))
    monitor = Monitor(sample, SETTINGS.sample_gap)
    sample_run = _begin(
        context._replace(problem=sample, monitor=monitor, max_iter=SETTINGS.sample_steps)
    )
    sample_run.is_sample = True
    sample_run.rounds()
    run.go_on_from(sample_run)
    return run


def _model_of_larger_alphas(context: SolverContext) -> "_Rounds | None":
    """A model for an alpha somewhat larger, by a few steps for each of a sequence of alphas.

    A small alpha with fewer rows than features has a small loss, whose curvature is far from that
    at the constant. Newton steps from there take working sets of many times the final support.
    """
    problem, last = context.problem, None
    largest = problem.largest_alpha
    if not problem.alpha < largest < np.inf:
        return None
    # the curvature of a quadratic loss is the same: only the working set changes
    if problem.loss.constant_curvature and problem.alpha > SETTINGS.small_alpha * largest:
        return None
    n_larger = int(np.log(largest / problem.alpha) / np.log(SETTINGS.alpha_ratio))
    for power in range(n_larger, 0, -1):
        at_alpha = problem.with_alpha(problem.alpha * SETTINGS.alpha_ratio**power)
        tol = min(SETTINGS.largest_gap, SETTINGS.gap_per_alpha * at_alpha.alpha / largest)
        monitor, max_iter = Monitor(at_alpha, tol), SETTINGS.alpha_steps
        run = _Rounds(context._replace(problem=at_alpha, monitor=monitor, max_iter=max_iter))
        if last is not None:
            run.go_on_from(last)
        run.rounds()
        last = run
    return last


def _rows_of(problem: Problem, start: Point | None, gram: Gram) -> AllRows:
    """All rows of a problem, at a start or at the best constant prediction."""
    if not problem.rows.in_memory:
        return ShardedRows.of(problem, start)
    kind: type[InMemory] = ScoreRows if problem.rows.of_scores else InMemory
    if problem.rows.of_outputs:
        kind = CoupledRows if problem.loss.couples_outputs else OutputRows
    return kind.of(problem, start, gram)


class _Rounds:
    """One run of the method: its parts, and the order in which they are executed.

    Attributes
    ----------
    n_iter : int
    budget : float
        The largest cost of the steps that are left. The first step of a run may exceed it.
    stalled : bool
        Whether the run has to end unfinished.
    is_sample : bool
        Whether the rows are a sample of those of another run.
    last : PathSolution or None
        The solution for another alpha, if the run starts from it.
    expected : ndarray or None
        The gradient at the solution that it predicts, until the first step.
    """

    def __init__(self, context: SolverContext) -> None:
        problem, monitor, start = context.problem, context.monitor, context.start
        problem = problem if problem.workspace else problem.in_workspace()
        assert problem.workspace is not None
        self.problem, self.monitor, self.workspace = problem, monitor, problem.workspace
        point = problem.rows.null_point if start is None else start
        w = problem.join(point.coef, point.intercept)
        last = self._solved_before(w, start)
        rows = _rows_of(problem, start, self.workspace.gram) if last is None else last.rows
        self.iterate = NewtonIterate(problem, rows, w)
        self.envelope = Envelope(problem, rows, start is not None, w)
        self.working_set = WorkingSet(problem)
        self.shrinking = Shrinking(None if start is not None else 1.0)
        self.steps = NewtonSteps(problem, self.envelope, monitor)
        self.schedule = CertificateSchedule(context._replace(problem=problem), SCHEDULE)
        self.n_iter = self.began_at = monitor.n_iter
        self.budget, self.stalled, self.is_sample = np.inf, False, False
        self.last = last
        self.expected: np.ndarray | None = None
        if last is not None:
            self.expected = last.gradient_at(problem.alpha)
            last.before = None  # only one earlier solution is needed
            self.iterate.known_gradient = last.gradient
        elif start is None and self.envelope.exact:
            known = problem.join(problem.rows.null_gradient, problem.rows.null_slope)
            self.iterate.known_gradient = known

    def _solved_before(self, w: np.ndarray, start: Point | None) -> PathSolution | None:
        """The solution for another alpha from which this run starts, None for other starts."""
        last: PathSolution | None = self.workspace.solved
        if start is None or last is None or self.problem.loss.linear_tails:
            return None
        return last if np.array_equal(w, last.variables) else None

    def go_on_from(self, other: "_Rounds") -> None:
        """Start from a solution on other rows."""
        iterate, w = self.iterate, other.iterate.w.copy()
        iterate.known_gradient, self.shrinking.radius = None, None
        iterate.w = w
        self.envelope.restart(w, other.envelope.sigma)
        iterate.all_rows.begin_from_solution(w, self.envelope.sigma)
        self.steps.sample = other.iterate.all_rows

    @property
    def is_over(self) -> bool:
        return self.stalled or self.schedule.is_over

    def rounds(self) -> None:
        """NewtonIterate multiplier steps, with sigma such that each takes a few Newton steps."""
        iterate, envelope = self.iterate, self.envelope
        while self.n_iter < self.schedule.max_iter and not self.is_over:
            before = self.n_iter
            self.minimise()
            steps = self.n_iter - before
            if envelope.exact:
                if self.is_on_all:
                    self.workspace.solved = PathSolution(
                        self.problem.alpha, iterate.w, iterate.all_rows, iterate.gradient,
                        before=self.last,
                    )  # fmt: skip
                break
            if steps >= SETTINGS.longest_round:
                envelope.loosen()
                continue
            gap, last_gap = iterate.gap, envelope.gap_at_update
            envelope.update_multipliers(iterate)
            envelope.adapt(steps, gap <= SETTINGS.round_progress * last_gap)

    def minimise(self) -> None:
        """Take Newton steps on the smoothed problem until only new multipliers reduce the gap."""
        iterate, envelope = self.iterate, self.envelope
        first, last = self.n_iter, self.schedule.max_iter
        if not envelope.exact:
            last = min(last, first + SETTINGS.longest_round)
        while True:
            self.evaluate()
            self.return_to_all()
            self.certify_if_due()
            if self.is_over:
                return
            g = envelope.gradient(iterate)
            if self.n_iter > first and envelope.needs_update(iterate, g):
                return
            if self.n_iter >= last:
                return
            chosen = self.choose(g)
            cost = iterate.rows.cost(len(chosen.columns))
            is_too_costly = self.n_iter > self.began_at and cost > self.budget
            if is_too_costly or not iterate.rows.may_hold(len(chosen.columns)):
                self.stalled = True
                return
            self.leave_out()
            self.stalled |= not self.steps.take(iterate, g, chosen)
            self.n_iter += 1
            self.budget -= cost
            self.stalled |= self.budget < 0.0

    def choose(self, g: np.ndarray) -> Chosen:
        """The features whose coefficients the next step changes."""
        coef, slopes = self.problem.split(self.iterate.w)[0], self.problem.split(g)[0]
        expected, self.expected = self.expected, None
        step_sizes = self.envelope.step_sizes(coef, slopes)
        return self.working_set.choose(self.iterate.w, g, step_sizes, expected)

    # Rows that are left out temporarily

    @property
    def is_on_all(self) -> bool:
        """Whether no rows are left out."""
        return self.shrinking.shrunk is None

    def evaluate(self) -> None:
        """Compute the smoothed problem and the gap at the iterate."""
        iterate, sigma = self.iterate, self.envelope.sigma
        iterate.evaluate(sigma)
        if not self.is_on_all and iterate.objective < self.monitor.dual:  # a row is not linear
            self.shrinking.restore(iterate, sigma)
            iterate.evaluate(sigma)
        iterate.differentiate()

    def leave_out(self) -> None:
        """Restrict the run to few rows, if that saves work."""
        if self.is_on_all and not self.problem.loss.constant_curvature:
            self.shrinking.shrink(self.iterate, self.envelope, self.n_iter)

    def return_to_all(self) -> None:
        """Return to all rows, once the restricted problem is solved well enough."""
        iterate = self.iterate
        if not self.is_on_all and (
            iterate.gap <= iterate.goal(self.monitor)
            or self.shrinking.is_due(iterate.gap, self.n_iter)
        ):
            self.shrinking.restore(iterate, self.envelope.sigma)
            self.evaluate()

    # Certificates

    def certify_if_due(self) -> None:
        """Compute a certificate if it may end the run, and from time to time.

        For a sample, whose model is only a start, the estimate of the gap suffices.
        """
        if self.is_sample:
            gap, primal = self.iterate.bounds
            self.stalled |= gap <= self.monitor.goal_at(primal, primal - gap)
        elif self.is_on_all and self.schedule.is_due(self.n_iter, *self.iterate.bounds):
            self.monitor.check(self.n_iter, self.iterate.point())

    def certify_the_last(self) -> None:
        """Certify the last iterate, unless the run has ended with a certificate."""
        if self.monitor.done or self.n_iter <= self.schedule.checked_at:
            return
        self.shrinking.restore(self.iterate, self.envelope.sigma)
        self.evaluate()
        self.monitor.check(self.n_iter, self.iterate.point())

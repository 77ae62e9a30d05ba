"""The monitor of a solver, which certifies its points and decides when it has converged."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from math import inf
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .._typing import Array
from ..certificates import (
    Certificate,
    bound_below,
    certificate_of,
    certify_point,
    dual_bound,
    largest_gap,
    primal_objective,
    relative_gap,
)
from ..problems import Point, Problem, Solution

# n_iter, seconds, the best interval so far with its length, and the bounds of the iterate
HISTORY_FIELDS = "seconds", "primal", "dual", "gap", "iterate_primal", "iterate_dual"
SHARES = (1.0, 1.0 - 1e-7, 1.0 - 1e-6, 1.0 - 1e-5)  # factors that restore feasibility in float32
STEPS = 10.0 ** np.arange(0.0, -9.0, -1.0)  # lengths, in the size of w over that of its slopes
HISTORY_DTYPE = np.dtype([("n_iter", np.int64), *((name, float) for name in HISTORY_FIELDS)])


class Monitor:
    """The best primal and the best dual point of a run, with the interval between their bounds.

    Primal and dual progress are independent of each other: every objective value is an upper bound
    on the optimal value and every dual bound a lower one. The best of each, from any iterations,
    form the certified interval. For the output of an algorithm as published they are the last
    ones instead.

    Parameters
    ----------
    problem : Problem
    tol : float
        The relative gap at which the run has converged.
    on_check : callable, default=None
        Called after every check with the monitor; a true return value ends the run.
    precision : dtype, default=numpy.float64
        The precision of the model of `solution`. For float32 the run continues to half the
        tolerance, to allow for the rounding of the model.
    accuracy : float, default=0.0
        A gap at which the run has converged as well, for parts of another problem.
    keeps_best : bool, default=True
        Whether to keep the best points, or the last ones whose objective value is finite.
    brief : bool, default=False
        Whether the certificate is without bounds on predictions and decisions of rows.
    """

    def __init__(
        self, problem: Problem, tol: float,
        on_check: Callable[["Monitor"], bool | None] | None = None,
        precision: DTypeLike = np.float64, accuracy: float = 0.0, keeps_best: bool = True,
        brief: bool = False,
    ) -> None:  # fmt: skip
        self.problem, self.accuracy, self.keeps_best = problem, accuracy, keeps_best
        self.brief = brief
        self.precision = np.dtype(precision)
        self._asked = tol
        self.tol = tol if self.precision == np.float64 else 0.5 * tol
        self.on_check = on_check
        self.done = False
        self.stopped = False
        self.n_iter = 0
        self.method = "null-model"  # the name of the method that reports
        self.primal, self.dual = np.inf, 0.0
        self._coef: Any = None
        self._intercept: Any = 0.0
        self._theta: Any = None
        self._bound: Any = None
        self._bound_given = np.nan  # the objective value that the bound assumes
        self._certificate: Certificate | None = None  # of both points, where it came with them
        self._history: list[tuple[Any, ...]] = []
        self._start = time.perf_counter()

    @property
    def relative_gap(self) -> float:
        return relative_gap(self.problem, self.primal, self.dual)

    @property
    def goal(self) -> float:
        """The largest gap that meets the tolerance, by the best bounds so far."""
        return self.goal_at(self.primal, self.dual)

    def goal_at(self, primal: float, dual: float) -> float:
        """The largest gap that meets the tolerance, by estimates of the bounds or better ones."""
        primal, dual = min(primal, self.primal), max(dual, self.dual)
        return max(largest_gap(self.problem, self.tol, primal, dual), self.accuracy)

    def gap_with(self, primal: float, dual: float) -> float:
        """The gap once these bounds are recorded."""
        if not self.keeps_best:
            return primal - dual
        return min(primal, self.primal) - max(dual, self.dual)

    @property
    def _accuracy(self) -> float:
        """The part of an objective value that rounding errors of products may take."""
        return 0.05 * self.goal

    @property
    def best(self) -> Point:
        """The best primal point with the best dual point."""
        return Point(self._coef, self._intercept, self._theta)

    def begin(self, has_start: bool = False) -> None:
        """Record the best constant prediction.

        If there is no start and alpha is so large that the constant may be optimal, its dual point
        is certified. Otherwise, and for an algorithm as published, the first lower bound is 0.
        """
        problem, null = self.problem, self.problem.null_point
        may_end = self.keeps_best and not has_start
        if may_end and problem.null_may_be_optimal:
            self.check(0, null)
            return
        self.primal = primal_objective(problem, null.coef, null.intercept)
        self._coef, self._intercept = null.coef.copy(), null.intercept
        self._theta = problem.zero_dual(null.dual_coef)  # proves P >= 0
        self._record(0, self.primal, 0.0)

    def check(self, n_iter: int, point: Point) -> float:
        """Record a primal and a dual point.

        Returns
        -------
        gap : float
            The gap between the two points. `done` is whether to stop.
        """
        primal, dual = self._interval(point)
        self._record(n_iter, primal, dual)
        return primal - dual

    def _record(self, n_iter: int, primal: float, dual: float) -> None:
        """Add the best interval and the bounds of the iterate to the history, and set `done`."""
        self.n_iter = n_iter
        seconds = time.perf_counter() - self._start
        interval = self.primal, self.dual, self.primal - self.dual
        self._history.append((n_iter, seconds, *interval, primal, dual))
        self.done = self.primal - self.dual <= self.goal
        if self.on_check is not None and self.on_check(self):
            self.stopped = not self.done
            self.done = True

    @contextmanager
    def aiming_at(self, tol: float) -> Iterator[None]:
        """Take another tolerance for a part of a run."""
        asked, self.tol = self.tol, tol
        try:
            yield
        finally:
            self.tol = asked
            self.done = self.stopped or self.primal - self.dual <= self.goal

    def restore_lost_rows(self) -> Point:
        """The best point, with a dual point that has values for rows that were lost.

        The interval does not change, as it was certified before.
        """
        if self._theta is not None:
            self._theta = self.problem.rows.repaired(self._theta)
        if self._bound is not None:
            self._bound = self._bound._replace(theta=self._theta)
        self._bound_given = np.nan
        return self.best

    def accept(self, n_iter: int, point: Point, certificate: Certificate) -> None:
        """Record a point with its certificate, which ends the run."""
        self._coef, self._intercept, self._theta = point.coef, point.intercept, point.dual_coef
        self.primal, self.dual = certificate.primal, certificate.dual
        self._certificate = certificate
        self._record(n_iter, self.primal, self.dual)

    def consider(self, point: Point) -> None:
        """Keep a primal and a dual point if they are better, without an entry in the history."""
        self._interval(point)

    def _interval(self, point: Point) -> tuple[float, float]:
        """The bounds of a primal and a dual point, which are kept as `keeps_best` says."""
        if not np.isfinite(point.coef).all():  # numbers have overflowed
            return np.inf, 0.0
        coef, intercept = self.problem.feasible_model(point.coef, point.intercept)
        self.problem.rows.expect(self.problem, Point(coef, intercept, point.dual_coef))
        accuracy = self._accuracy
        primal = primal_objective(self.problem, coef, intercept, accuracy)
        is_output = not self.keeps_best and bool(np.isfinite(primal))
        upper = primal if is_output else min(primal, self.primal)
        bound = dual_bound(self.problem, point.dual_coef, upper, accuracy)
        if is_output or self._theta is None or (self.keeps_best and bound.value > self.dual):
            self.dual = bound.value
            self._theta = copy(point.dual_coef)
            self._bound, self._bound_given = bound, upper
        # among points with the same rounded value the last one is kept
        if is_output or self._coef is None or (self.keeps_best and primal <= self.primal):
            self.primal = primal
            self._coef, self._intercept = np.array(coef), intercept
        self.dual = bound_below(self.problem, self.dual, self.primal)
        return primal, bound.value

    def _round(self) -> None:
        """Round the best model to the requested precision, and compute its objective value.

        If rounding makes the model infeasible, for example outside of a ball, it is scaled towards
        0. If that fails, because numbers overflow, the model is not rounded.
        """
        for share in SHARES:
            coef: Array = np.asarray(share * self._coef, dtype=self.precision)
            intercept = self.precision.type(self._intercept)
            if np.array_equal(coef, self._coef) and np.array_equal(intercept, self._intercept):
                primal = self.primal
            else:
                accuracy = self._accuracy
                primal = primal_objective(self.problem, coef, np.float64(intercept), accuracy)
            if np.isfinite(primal):
                self._coef, self._intercept, self.primal = coef, intercept, primal
                return

    def _take_least_norm(self) -> None:
        """Of the models with the predictions of the best one, keep that of least norm."""
        coef, intercept = self.problem.free.of_least_norm(self._coef, self._intercept)
        if coef is self._coef or self.problem.constraints is not None:
            return
        primal = primal_objective(self.problem, coef, intercept)
        if primal - self.dual <= max(self.goal, self.primal - self.dual):
            self._coef, self._intercept, self.primal = coef, intercept, primal

    def _take_structure(self) -> None:
        """Of the models near the best one, keep one with the structure of optimal ones.

        A step of the proximal gradient method with the slopes v of the dual point leads from an
        optimal w to itself, whatever its length, and sets equal what is equal there. The longest
        step is taken whose gap stays below the tolerance.
        """
        problem, penalty, w = self.problem, self.problem.penalty, self._coef
        has_ties = penalty.has_ties and problem.constraints is None  # these have multipliers too
        if not (has_ties and self.done and self._bound is not None):
            return
        point = problem.feasible_point(self._bound.theta)
        v = np.zeros_like(w) if point is None else -point.products(precise=False)[0]
        size = float(np.max(np.abs(v), initial=0.0)) or np.inf
        for step in STEPS * float(np.max(np.abs(w), initial=0.0)) / size:
            coef = penalty.prox(w + step * v, step * problem.alpha)
            coef, intercept = problem.feasible_model(coef, self._intercept)
            primal = primal_objective(problem, coef, intercept)
            if primal - self.dual <= max(0.99 * self.goal, self.primal - self.dual):
                self._coef, self._intercept, self.primal = coef, intercept, primal
                return

    def solution(self, interrupted: bool = False) -> Solution:
        """The solution with the best points and their joint certificate."""
        if self.keeps_best:
            self._take_structure()
            self._take_least_norm()
        unrounded, is_rounded = inf, self.precision != np.float64
        if is_rounded:
            unrounded = self.relative_gap
            self._round()
        certificate, theta = self._certified(is_rounded)
        if is_rounded:
            self.primal, self.dual, self.on_check = certificate.primal, certificate.dual, None
            self._record(self.n_iter, self.primal, self.dual)
        return Solution(
            coef=self._coef,
            intercept=self._intercept,
            dual_coef=theta if self.keeps_best else self.problem.plain_dual(self._theta),
            certificate=certificate,
            n_iter=self.n_iter,
            converged=certificate.gap <= self._largest_gap(certificate),
            history=np.array(self._history, dtype=HISTORY_DTYPE),
            interrupted=interrupted,
            stopped=self.stopped,
            method=self.method,
            before_rounding=unrounded,
        )

    def _certified(self, is_rounded: bool) -> tuple[Certificate, Any]:
        """The certificate of the best points, and its dual point.

        That of the last bound is computed again if it assumed another objective value, except for
        a model that was rounded.
        """
        accepted = self._certificate
        if accepted is not None and (accepted.primal, accepted.dual) == (self.primal, self.dual):
            return accepted, self._theta
        coef: Any = np.float64(self._coef)
        intercept: Any = np.float64(self._intercept)
        assumes_this = is_rounded or self.brief or self._bound_given == self.primal
        if self._bound is None or not assumes_this:
            accuracy = self._accuracy
            again = certify_point(self.problem, coef, intercept, self._theta, accuracy=accuracy)
            if again[0].dual >= self.dual:  # otherwise the bound is of other coefficients
                return again
        model = None if self.brief else (coef, intercept)
        return certificate_of(self.problem, self.primal, self._bound, model)

    def _largest_gap(self, certificate: Certificate) -> float:
        """The largest gap that meets the tolerance which the caller asked for."""
        bounds = certificate.primal, certificate.dual
        return max(largest_gap(self.problem, self._asked, *bounds), self.accuracy)


def interrupted(monitor: Monitor) -> bool:
    """Whether the callback of the caller ends the run, called during a subproblem."""
    return bool(monitor.on_check is not None and monitor.on_check(monitor))

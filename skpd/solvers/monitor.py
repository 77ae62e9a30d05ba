"""Certified progress: what a solver reports to, and what decides when it is done."""

import time
from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from ..certificates import (
    bound_below,
    certificate_of,
    certify_point,
    dual_bound,
    primal_objective,
    relative_gap,
)
from ..problems import Point, Solution
from ..problems.base import BaseProblem

__all__ = ["HISTORY_DTYPE", "Monitor"]

# n_iter, seconds, the best interval so far with its length, and the recorded iterate's own
HISTORY_FIELDS = "seconds", "primal", "dual", "gap", "iterate_primal", "iterate_dual"
SHARES = (1.0, 1.0 - 1e-7, 1.0 - 1e-6, 1.0 - 1e-5)  # that rounding to float32 leaves
HISTORY_DTYPE = np.dtype([("n_iter", np.int64), *((name, float) for name in HISTORY_FIELDS)])

PROGRESS = 0.9  # A gap at most this share of the least before it has fallen noticeably


class Monitor:
    """Keeps the best primal and the best dual point of a run and the interval between them.

    Primal and dual progress are independent of each other: every objective value seen
    is an upper bound on the optimum and every dual bound a lower one, so the best of
    each, from whichever iterations, form the certified interval.

    Parameters
    ----------
    problem : BaseProblem
    tol : float
        The run is done once the relative gap is at most this.
    on_check : callable, default=None
        Called after every check with the monitor; a true return value ends the run.
    precision : dtype, default=numpy.float64
        That of the model of `solution`. For float32 the run goes on to half the tolerance, so
        that rounding may have the other half.
    """

    def __init__(
        self,
        problem: BaseProblem,
        tol: float,
        on_check: Callable[["Monitor"], bool | None] | None = None,
        precision: Any = np.float64,
    ) -> None:
        self.problem = problem
        self.precision = np.dtype(precision)
        self._asked = tol
        self.tol = tol if self.precision == np.float64 else 0.5 * tol
        self.on_check = on_check
        self.done = False
        self.stopped = False
        self.n_iter = 0
        self.method = "null-model"  # that reports now
        self.primal, self.dual = np.inf, 0.0
        self._coef: Any = None
        self._intercept: Any = 0.0
        self._theta: Any = None
        self._bound: Any = None
        self._bound_given = np.nan  # the objective value that the bound presupposes
        self._history: list[tuple] = []
        self.watch(inf)
        self._start = time.perf_counter()

    def watch(self, patience: float) -> None:
        """Begin to see whether the gaps of the iterates fall: the one notion of stagnation.

        ``stalled`` says that none fell noticeably below all before in more than ``patience``
        iterations, nor in as many as it took to the last that did: slow methods do that where
        rounding allows no smaller gap, and not on the way. It ends nothing by itself, as another
        method may do better.
        """
        self._patience, self.stalled = patience, False
        self._least_gap, self._first, self._improved_at = inf, self.n_iter, self.n_iter

    @property
    def relative_gap(self) -> float:
        return relative_gap(self.problem, self.primal - self.dual)

    @property
    def best(self) -> Point:
        """The best primal point beside the best dual point."""
        return Point(self._coef, self._intercept, self._theta)

    def begin(self, has_start: bool = False) -> None:
        """Record the best constant prediction.

        Its own dual point is certified where it may prove the model good enough, which it may
        where alpha is large, if there is no start to go on from; the bound to
        begin with is 0 otherwise.
        """
        problem, null = self.problem, self.problem.null_point
        if problem.null_may_be_optimal and not has_start and self._seems_good_enough(null):
            self.check(0, null)
            return
        self.primal = primal_objective(problem, null.coef, null.intercept)
        self._coef, self._intercept = null.coef.copy(), null.intercept
        self._theta = problem.zero_dual(null.dual_coef)  # which proves that P >= 0
        self._record(0, self.primal, 0.0)

    def begin_at(self, start: Point) -> None:
        """Record a start where it may be optimal."""
        if self._seems_good_enough(start):
            self.check(0, start)

    def _seems_good_enough(self, point: Point) -> bool:
        """Whether plain sums say that a point may be good enough."""
        gap = self.problem.estimated_gap(point)
        return relative_gap(self.problem, gap) <= 10.0 * self.tol

    def check(self, n_iter: int, point: Point) -> float:
        """Record a primal and a dual point.

        Returns
        -------
        gap : float
            The gap between the two points themselves. `done` says whether to stop.
        """
        primal, dual = self._interval(point)
        self._record(n_iter, primal, dual)
        return primal - dual

    def _record(self, n_iter: int, primal: float, dual: float) -> None:
        """Add the interval to the history, and that of the iterate; see whether to stop."""
        self.n_iter = n_iter
        seconds = time.perf_counter() - self._start
        interval = self.primal, self.dual, self.primal - self.dual
        self._history.append((n_iter, seconds, *interval, primal, dual))
        self.done = self.relative_gap <= self.tol
        if primal - dual < PROGRESS * self._least_gap:
            self._least_gap, self._improved_at = primal - dual, n_iter
        waited = n_iter - self._improved_at
        self.stalled = waited > max(self._patience, self._improved_at - self._first)
        if self.on_check is not None and self.on_check(self):
            self.stopped = not self.done
            self.done = True

    def repair_dual(self) -> Point:
        """The best point, its dual point such as it is after rows have been lost.

        The interval stays: it was certified before.
        """
        if self._theta is not None:
            self._theta = self.problem.repaired(self._theta)
        if self._bound is not None:
            self._bound = self._bound._replace(theta=self._theta)
        self._bound_given = np.nan
        return self.best

    def consider(self, point: Point) -> None:
        """Keep a primal and a dual point where they are better, unrecorded."""
        self._interval(point)

    def _interval(self, point: Point) -> tuple[float, float]:
        """The interval of two points by themselves; they are kept where they are better."""
        coef, intercept = self.problem.feasible_model(point.coef, point.intercept)
        self.problem.expect(Point(coef, intercept, point.dual_coef))
        accuracy = 0.05 * self.tol * self.problem.objective_unit
        primal = primal_objective(self.problem, coef, intercept, accuracy)
        upper = min(primal, self.primal)
        bound = dual_bound(self.problem, point.dual_coef, upper, accuracy, coef=coef)
        if self._theta is None or bound.value > self.dual:
            self.dual = bound.value
            self._theta = self.problem.copied_dual(point.dual_coef)
            self._bound, self._bound_given = bound, upper
        # of two points with the same rounded value the later is the better one
        if self._coef is None or primal <= self.primal:
            self.primal = primal
            self._coef, self._intercept = np.array(coef), intercept
        self.dual = bound_below(self.problem, self.dual, self.primal)
        return primal, bound.value

    def _round(self) -> None:
        """Take the best model in the precision that is asked for, and its objective value.

        Numbers that rounding has moved out of what the penalty allows, such as a ball, are moved
        towards 0. Where that does not do, as they overflow, the model stays as it is.
        """
        for share in SHARES:
            coef = self.precision.type(share * self._coef)
            intercept = self.precision.type(self._intercept)
            primal = primal_objective(self.problem, coef, np.float64(intercept))
            if np.isfinite(primal):
                self._coef, self._intercept, self.primal = coef, intercept, primal
                return

    def solution(self, interrupted: bool = False) -> Solution:
        """The best points, certified together."""
        unrounded, rounds = inf, self.precision != np.float64
        if rounds:
            unrounded = self.relative_gap
            self._round()
        if self._bound_given == self.primal:  # as they were
            certificate, theta = certificate_of(self.problem, self.primal, self._bound)
        else:
            coef: Any = np.float64(self._coef)
            intercept: Any = np.float64(self._intercept)
            certificate, theta = certify_point(self.problem, coef, intercept, self._theta)
            if certificate.dual < self.dual:  # theta went with other coefficients
                certificate, theta = certificate_of(self.problem, self.primal, self._bound)
        if rounds:
            self.primal, self.dual, self.on_check = certificate.primal, certificate.dual, None
            self._record(self.n_iter, self.primal, self.dual)
        return Solution(
            coef=self._coef,
            intercept=self._intercept,
            dual_coef=theta,
            certificate=certificate,
            n_iter=self.n_iter,
            converged=certificate.relative_gap <= self._asked,
            history=np.array(self._history, dtype=HISTORY_DTYPE),
            interrupted=interrupted,
            stopped=self.stopped,
            method=self.method,
            before_rounding=unrounded,
        )

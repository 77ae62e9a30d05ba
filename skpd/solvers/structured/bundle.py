"""Cutting planes for structured losses, which are maxima of a loss over labelings.

A labeling y' that attains the maximum at a model defines a plane below L that touches L at this
model. The next model minimises the maximum of the planes found so far plus the penalty (Joachims,
2006, Training linear SVMs in linear time; Teo, Vishwanathan, Smola and Le, 2010, Bundle methods
for regularized risk minimization). The multipliers of the planes define a convex combination of
labelings. This is the dual point, whose bound is the least value of planes and penalty.

The minimiser of the planes may be far from the best model, where planes are inaccurate. Therefore
a line search towards it determines the best model, and the next planes touch L at this model and
beyond it (Franc and Sonnenburg, 2008, Optimized cutting plane algorithm for support vector
machines).
"""

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError
from scipy.optimize import minimize_scalar

from ..._typing import Array
from ...problems import Point, Problem
from ...problems.structured_rows import RowsOfScores
from ..certificate_schedule import CertificateSchedule
from ..solver_context import SolverContext
from .cuts import Cuts
from .master import minimised
from .settings import SCHEDULE, SETTINGS


def bundle(context: SolverContext) -> None:
    """Cutting planes, with an interior-point method for the problem of the planes.

    Parameters
    ----------
    context : SolverContext
        An iteration is a solution of the problem of the planes, and two labelings.
    """
    _Bundle(context).minimise()


class _Bundle:
    """The best model and the planes."""

    def __init__(self, context: SolverContext) -> None:
        first, self.context = context.first, context
        self.problem: Problem = context.problem
        problem = self.problem
        self.cuts = Cuts(problem)
        self.cuts.add(problem.null_point.dual_coef)
        self.best = self.cuts.join(first.coef, first.intercept)
        self.rows = problem.rows.as_kind(RowsOfScores)
        self.scores = self.rows.scores(first.coef, float(first.intercept))
        value, combination = self.rows.loss.loss_augmented(self.scores, 0.0)
        self.value = value + self._penalty(self.best)
        self.cuts.add(combination)
        self.lower = 0.0

    def _penalty(self, variables: Array) -> float:
        return self.problem.alpha * self.problem.penalty.value(self.problem.split(variables)[0])

    def minimise(self) -> None:
        problem, monitor, cuts = self.problem, self.context.monitor, self.cuts
        max_iter = self.context.max_iter
        schedule = CertificateSchedule(self.context, SCHEDULE)
        gap, rho, failures = problem.objective_unit, self._first_rho(), 0
        for n_iter in range(monitor.n_iter + 1, max_iter + 1):
            accuracy = SETTINGS.master_share * max(gap, self.context.monitor.goal)
            try:
                variables, shares = minimised(cuts, accuracy, self.best, rho)
            except LinAlgError:
                # the problem with another weight of the distance may be solvable
                failures, rho = failures + 1, SETTINGS.nearer * rho
                if rho > 0.0 and failures <= SETTINGS.failures:
                    continue
                monitor.check(n_iter, Point(*cuts.split(self.best), cuts.duals[-1]))
                return
            below = float(np.max(cuts.losses + cuts.slopes @ variables))
            below += self._penalty(variables)
            lower = cuts.bound(shares, self.value)
            expected, before = self.value - below, self.value
            self.search(variables)
            self.lower = max(self.lower, lower)
            gap = max(self.value - self.lower, 0.0)
            if rho > 0.0:
                rho = self._next_rho(rho, expected, before - self.value, gap)
            if schedule.is_due(n_iter, self.value - lower, self.value):
                monitor.check(n_iter, Point(*cuts.split(self.best), cuts.combined(shares)))
            if schedule.is_over:
                return
            cuts.forget(shares, SETTINGS.patience)

    def _first_rho(self) -> float:
        """The weight for which a step along the first plane would decrease the loss to 0."""
        if self.problem.penalty.is_ridge:
            return 0.0
        slope = self.cuts.slopes[-1]
        return float(float(slope @ slope) / max(2.0 * self.value, 1e-300))

    @staticmethod
    def _next_rho(rho: float, expected: float, actual: float, gap: float) -> float:
        """The next weight of the distance from the best model.

        It decreases if the objective decreased about as predicted by the planes, and increases if
        the planes were inaccurate. It decreases much if the distance prevents the model from
        reaching the minimum of the planes.
        """
        if expected <= SETTINGS.little * gap:
            return SETTINGS.release * rho
        if actual >= SETTINGS.right * expected:
            return SETTINGS.farther * rho
        if actual <= SETTINGS.little * expected:
            return SETTINGS.nearer * rho
        return rho

    def search(self, variables: Array) -> None:
        """Search for a better model on the line to some variables, and add planes there."""
        step = variables - self.best
        along = self.rows.scores(*self.cuts.split(variables)) - self.scores
        # the objective at shares of the step, with labelings that attain the maximum
        by_share: dict[float, tuple[float, Any]] = {}

        def objective(share: float) -> float:
            value, combination = self.rows.loss.loss_augmented(self.scores + share * along, 0.0)
            by_share[share] = value + self._penalty(self.best + share * step), combination
            return by_share[share][0]

        objective(1.0)
        options = {"maxiter": SETTINGS.search}
        minimize_scalar(objective, bounds=(0.0, 1.0), method="bounded", options=options)
        length = float(min(by_share, key=lambda share: by_share[share][0]))
        beyond = length + SETTINGS.beyond * (1.0 - length)
        if beyond not in by_share:
            objective(beyond)
        for share in {1.0, beyond}:
            self.cuts.add(by_share[share][1])
        value = by_share[length][0]
        if value < self.value:
            self.value, self.best = value, self.best + length * step
            self.scores = self.scores + length * along

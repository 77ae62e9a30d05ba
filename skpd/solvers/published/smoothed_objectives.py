"""Minimisation of a smoothed objective, at a fixed or at decreasing levels of the smoothing."""

from abc import ABC, abstractmethod
from functools import partial

import numpy as np

from ..._typing import Array
from ...problems import Point
from ..accelerated.certified_estimates import EstimateSchedule, Result
from ..accelerated.estimate_functions import (
    AcceleratedIterate,
    Composite,
    infinite_memory,
    one_memory,
)
from ..accelerated.settings import PUBLISHED, SETTINGS
from ..solver_context import SolverContext


class SmoothedObjectives(ABC):
    """The smoothed objectives of a run, which are minimised with reports to the monitor.

    Parameters
    ----------
    context : SolverContext
    memory : {"infinite", "one"}
        The method of `skpd.solvers.accelerated.estimate_functions`.
    adaptive : bool
        Whether L is found by a search.
    """

    def __init__(self, context: SolverContext, memory: str, adaptive: bool) -> None:
        self.context, self.problem, self.adaptive = context, context.problem, adaptive
        self.method = infinite_memory if memory == "infinite" else one_memory
        self.schedule = EstimateSchedule(context, PUBLISHED)

    @abstractmethod
    def composite(self, w: Array, mu: float) -> Composite:
        """The objective at a level mu; the search for L starts at w."""

    @abstractmethod
    def result(self, iterate: AcceleratedIterate, n_averaged: int) -> Result:
        """The objective values of an iterate, with ``n_averaged`` iterates before it."""

    def variables(self, w: Array) -> Array:
        """The variables of the prox for w."""
        return w

    def coef(self, x: Array) -> Array:
        """The w of variables of the prox."""
        return x

    def minimise_by_levels(self, w: Array, largest: float, smoothing: str) -> None:
        """Minimise until the tolerance is reached, at the last level or at decreasing ones.

        ``largest`` is the largest effect of a level of 1 on the loss.
        """
        problem, monitor = self.problem, self.context.monitor
        goal = max(monitor.goal, SETTINGS.least_tol * problem.objective_unit)
        last = SETTINGS.last_level * goal / largest
        gap = monitor.primal - monitor.dual
        mu = max(last, SETTINGS.first_level * gap / largest) if smoothing == "homotopy" else last
        while not self.schedule.is_over:
            final = mu <= last
            w = self.minimise(w, mu, 0.0 if final else SETTINGS.level_gap * mu * largest)
            mu = mu / SETTINGS.level_factor if final else max(mu / SETTINGS.level_factor, last)

    def minimise(self, w: Array, mu: float, error: float) -> Array:
        """Iterate until the gap of the unsmoothed loss is at most ``error``, or the run ends."""
        schedule, composite = self.schedule, self.composite(w, mu)
        before = schedule.n_iter
        for n_averaged, iterate in enumerate(self.method(composite, self.variables(w))):
            schedule.n_iter = before + composite.n_gradients
            gap = schedule.report(self.result(iterate, n_averaged), error)
            if schedule.is_over or gap <= error != 0.0:
                break
        return self.coef(iterate.x)


class PrimalObjectives(SmoothedObjectives):
    """Smoothed objectives of coefficients, the primal problem."""

    @abstractmethod
    def objective(self, iterate: AcceleratedIterate) -> float:
        """The objective value of an iterate, without smoothing."""

    @abstractmethod
    def bound(self, theta: Array, slope: Array, primal: float) -> float:
        """The estimated lower bound of a dual point and its slope."""

    @abstractmethod
    def point(self, iterate: AcceleratedIterate, theta: Array, n_averaged: int) -> Point:
        """The point for a certificate; ``n_averaged`` is the number of iterates before."""

    def result(self, iterate: AcceleratedIterate, n_averaged: int) -> Result:
        """An iterate with its dual point, or the better one of two where the best is kept.

        The averaged dual points of the theory always prove a gap. For strongly convex problems the
        latest dual point often proves a smaller one.
        """
        primal = self.objective(iterate)
        duals = [(iterate.theta, iterate.slope)]
        if self.context.monitor.keeps_best:
            duals.append(iterate.latest)
        bounds = [self.bound(*dual, primal) for dual in duals]
        theta = duals[int(np.argmax(bounds))][0]
        point = partial(self.point, iterate, theta, n_averaged)
        return Result(primal, max(bounds), point)

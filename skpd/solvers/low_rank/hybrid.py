"""The primal-dual prox method for matrix completion, with any loss.

The methods are those of `skpd.solvers.proximal.pdprox`. M is stored as factors, as the prox of the
trace norm returns a matrix of low rank, and all other large objects are vectors over the rows.
"""

from math import sqrt
from typing import Annotated, Any

import numpy as np

from ..._typing import Array
from ...problems import Point, Problem
from ..accelerated.progress import Progress, Result
from ..options import POSITIVE, Factor, Flag, OneOf, OrNone
from ..proximal.settings import REPORTS
from ..run import Run
from .factors import Sum, compressed
from .models import EntriesModel
from .settings import SETTINGS


class _Primal:
    """The primal variables: M and the free numbers, with their predictions."""

    def __init__(self, run: Run) -> None:
        self.problem, self.model = run.problem, EntriesModel(run)
        self.M, self.free = self.model.start(run.first), run.first.intercept
        self._predict()

    def _predict(self) -> None:
        self.z = self.model.image(self.M) + self.problem.rows.spread(self.free)

    def step(self, theta: Array, step: float) -> None:
        """Take a proximal step along -X' diag(c) theta; the step size is in units of weights."""
        problem = self.problem
        if problem.rows.groups is not None:
            self.free = self.free - step * self.model.free_step(theta)
        tau = step / problem.rows.largest_weight
        towards = Sum(self.M, -tau, self.model.gradient(theta))
        self.M = self.model.threshold(towards, tau * problem.alpha)
        self._predict()

    def result(self, theta: Array) -> Result:
        return self.model.result_of(self.M, self.free, self.model.mean_loss(self.z), theta)

    def point(self, theta: Array) -> Point:
        return Point(self.M.coef, self.free, theta)


def pdprox_adaptive(run: Run) -> None:
    """The method of Chambolle and Pock (2011), with an adaptive ratio of its step sizes."""
    problem, primal = run.problem, _Primal(run)
    theta = problem.loss.project_dual(problem.y, run.first.dual_coef)
    progress = Progress(run)
    ratio, next_balance = first_ratio(problem), progress.n_iter + SETTINGS.first_balance
    anchor = theta, primal.z
    try:
        while not progress.ended:
            before = primal.z
            primal.step(theta, 1.0 / (primal.model.square_of_map * ratio))
            z = 2.0 * primal.z - before
            theta = problem.loss.prox_conjugate(problem.y, theta + ratio * z, ratio)
            progress.n_iter += 1
            if progress.n_iter == next_balance:
                ratio = _balanced(problem, ratio, theta - anchor[0], primal.z - anchor[1])
                anchor, next_balance = (theta, primal.z), 2 * next_balance
            if progress.is_due:
                progress.report(primal.result(theta))
    except KeyboardInterrupt:
        run.monitor.check(progress.n_iter, primal.point(theta))
        raise


def first_ratio(problem: Problem) -> float:
    """An estimate of the ratio of the sizes of dual variables and predictions."""
    null = problem.null_point
    z = problem.rows.spread(null.intercept) * np.ones(problem.n_samples)
    slope = sqrt(float(problem.weights @ null.dual_coef**2))
    scale = sqrt(float(problem.weights @ (problem.y - z) ** 2))
    return slope / scale if slope > 0.0 and scale > 0.0 else 1.0


def _balanced(problem: Problem, ratio: float, dual: Array, primal: Array) -> float:
    """The ratio moved half way, on a log scale, to that of dual and primal distances."""
    moved = [sqrt(float(problem.weights @ x**2)) for x in (dual, primal)]
    if not min(moved) > 0.0:
        return ratio
    change = sqrt(moved[0] / moved[1] / ratio)
    return ratio * min(max(change, 1.0 / SETTINGS.most_balance), SETTINGS.most_balance)


def pdprox_dual_of_entries(
    run: Run,
    *,
    algorithm: Annotated[int, OneOf(1, 3)] = 1,
    average: Flag = True,
    step_scale: Factor = 1.0,
    step_ratio: Annotated[float | None, OrNone(POSITIVE)] = None,
) -> None:
    """Pdprox-dual, Algorithms 1 and 3, in the double-dual implementation.

    The parameters are those of `skpd.solvers.proximal.pdprox.pdprox_dual`. Averages of matrices
    are also stored as factors, whose rank grows.
    """
    problem, primal, theta = run.problem, _Primal(run), run.first_theta
    # the dual step of a row is in units of its prediction, and the step of M in units of the
    # inverse of the largest weight
    balance = 2.0 if step_ratio is None else step_ratio
    size = sqrt(problem.rows.largest_weight * problem.n_samples)
    tau = step_scale * size / sqrt(balance * primal.model.square_of_map)
    sigma = step_scale / (size * sqrt(primal.model.square_of_map))
    sigma *= sqrt(0.5) if step_ratio is None else sqrt(step_ratio)
    prox_conjugate, y, beta = problem.loss.prox_conjugate, problem.y, theta
    sums = _Averages(primal) if average else None
    next_report = 1
    for t in range(1, run.max_iter + 1):
        theta = prox_conjugate(y, beta + sigma * primal.z, sigma)
        before = primal.z
        primal.step(theta, tau)
        if algorithm == 1:
            beta = prox_conjugate(y, beta + sigma * primal.z, sigma)
        else:
            beta = theta + sigma * (primal.z - before)
        if sums is not None:
            sums.add(primal, theta)
        if t >= next_report or t == run.max_iter:
            next_report = max(t + REPORTS.report_every, int(REPORTS.report_factor * t))
            point = primal.point(theta) if sums is None else sums.point()
            run.monitor.check(t, point)
            if run.monitor.done:
                return


class _Averages:
    """The averages of all iterates."""

    def __init__(self, primal: _Primal) -> None:
        self.n, self._M = 0, 0.0 * primal.M
        self._free: Any = 0.0
        self._theta: Any = 0.0

    def add(self, primal: _Primal, theta: Array) -> None:
        self.n += 1
        self._M = self._M + primal.M
        self._free, self._theta = self._free + primal.free, self._theta + theta
        if self._M.U.shape[1] > min(len(self._M.U), len(self._M.V)):
            self._M = compressed(self._M)

    def point(self) -> Point:
        self._M = compressed(self._M)
        root = 1.0 / sqrt(self.n)
        return Point(root * self._M.coef, self._free / self.n, self._theta / self.n)

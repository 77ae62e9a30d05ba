"""Accelerated proximal gradients with singular value thresholding, for matrices of low rank.

    M <- prox of (alpha / L) ||.||_* at  Y - (gradient at Y) / L

at extrapolated points Y (Beck and Teboulle, 2009), with a restart when the objective increases
(O'Donoghue and Candes, 2015). L follows the curvature along the moves. For matrix completion this
is soft-impute (Mazumder, Hastie and Tibshirani, 2010, Spectral regularization algorithms) with
acceleration. The free numbers are optimised for every Y, which does not increase the curvature.
"""

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from ...problems import Point
from ..run import Run
from .factors import SingularThreshold, Sum
from .models import EntriesModel, LowRankModel, OutputsModel
from .progress import Progress, Result
from .settings import SETTINGS


def _gradients(model_of: Callable[[Any], LowRankModel], run: Run) -> None:
    """Solve a problem with a smooth loss and the trace norm by accelerated soft-impute.

    Parameters
    ----------
    model_of : callable
        The subclass of `LowRankModel` for the problem.
    run : Run
    """
    model = model_of(run.problem)
    iterate = _Iterate(model, run.first, run.random_state)
    progress = Progress(model, run, SETTINGS.estimate_every)
    try:
        while not progress.ended:
            iterate.step()
            progress.n_iter += 1
            if progress.is_due:
                progress.report(iterate.result())
    except KeyboardInterrupt:
        run.monitor.check(progress.n_iter, iterate.result().point())
        raise


soft_impute = partial(_gradients, EntriesModel)  # for entries of a matrix
singular_gradients = partial(_gradients, OutputsModel)  # for outputs with the trace norm


class _Iterate:
    """The matrix M, the extrapolated point Y, their predictions and the free numbers."""

    def __init__(
        self, model: LowRankModel, start: Point, random_state: np.random.RandomState
    ) -> None:
        self.model, self.alpha = model, model.problem.alpha
        self.threshold = SingularThreshold(random_state)
        self.curvature = model.curvature(random_state)
        self.M = self.Y = model.start(start)
        self.of_M = self.of_Y = model.predictions(self.M)
        self.free, self.momentum, self.objective = start.intercept, 1.0, np.inf
        # the second-order term of the last move; if it is near the rounding error, the curvature
        # is not updated
        self.bend = np.inf

    def step(self) -> None:
        """Take a proximal gradient step from Y, and compute the next Y."""
        model, before = self.model, self.M
        theta, self.free = model.fitted(self.of_Y, self.free)
        gradient, slopes = model.gradient(theta), model.problem.weights * theta
        z = model.shifted(self.of_Y, self.free)
        loss = model.mean_loss_at(z)
        noise = SETTINGS.rounding * abs(loss)
        if self.bend > SETTINGS.measurable * noise:
            self.curvature *= SETTINGS.curvature_decrease
        while True:
            towards = Sum(self.Y, -1.0 / self.curvature, gradient)
            M = self.threshold.truncated(towards, self.alpha / self.curvature)
            of_M = model.predictions(M)
            move = of_M - self.of_Y
            tangent = loss + float(slopes @ move)
            above = model.above_tangent(z, tangent, move)
            self.bend = 0.5 * self.curvature * self.Y.plus(M.times(-1.0)).square()
            if above <= self.bend + noise or not np.isfinite(self.curvature):
                break
            self.curvature *= SETTINGS.curvature_increase
        objective = tangent + above + self.alpha * M.trace_norm
        if objective > self.objective:
            self.momentum = 1.0
        self.objective = objective
        momentum = 0.5 * (1.0 + sqrt(1.0 + 4.0 * self.momentum**2))
        ahead = (self.momentum - 1.0) / momentum
        self.Y = M.times(1.0 + ahead).plus(before.times(-ahead)) if ahead else M
        self.of_Y = of_M + ahead * (of_M - self.of_M)
        self.M, self.of_M, self.momentum = M, of_M, momentum

    def result(self) -> Result:
        """The iterate M with its objective and the derivatives of the losses as dual point."""
        model = self.model
        theta, free = model.fitted(self.of_M, self.free)
        primal = model.mean_loss_at(model.shifted(self.of_M, free))
        primal += self.alpha * self.M.trace_norm
        return Result(
            primal, theta, self.threshold.vectors, partial(model.point, self.M, free, theta)
        )

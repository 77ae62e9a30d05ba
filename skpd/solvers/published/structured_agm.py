"""Accelerated gradients on a smoothed maximum over labelings (Zhang, Saha and Vishwanathan).

The objective is J(w) = L(A w + b) + alpha R(w), where L is the maximum of a loss over labelings.
The maximum over convex combinations of labelings, with mu times their entropy (minus its largest
value), has a gradient, given by the marginals (section 5.4). It is below L by at most mu D, with D
the logarithm of the number of labelings. The estimate functions of `skpd.solvers.accelerated`
minimise the smoothed objective. The average of the combinations at the gradients proves a gap,
(22) and (35).
"""

from typing import Any, Literal

import numpy as np

from ..._floats import EPSILON
from ..._typing import Array
from ...certificates import dual_estimate
from ...certificates.dual_corrections import least_linear
from ...losses.structured import StructuredDual
from ...problems import Point
from ...problems.structured_rows import RowsOfScores
from ..accelerated.estimate_functions import AcceleratedIterate, Composite
from ..accelerated.geometry import Euclidean
from ..options import Flag
from ..solver_context import SolverContext
from .smoothed_objectives import PrimalObjectives


def structured_agm(
    context: SolverContext,
    *,
    memory: Literal["infinite", "one"] = "infinite",
    adaptive: Flag = True,
    smoothing: Literal["homotopy", "fixed"] = "fixed",
) -> None:
    """Nesterov's accelerated gradients by estimate functions (AGM-EF).

    A soft maximum, as that of a random field (45), is smooth: it has the level 1.

    Parameters
    ----------
    context : SolverContext
        An iteration is a gradient.
    memory : {"infinite", "one"}, default="infinite"
        "infinite" for Algorithms 1 and 2, "one" for Algorithms 3 and 4.
    adaptive : bool, default=True
        Whether L is found by a search (Algorithms 2 and 4), or fixed at (a bound on)
        max ||A' diag(c) theta||^2 / mu over labelings.
    smoothing : {"fixed", "homotopy"}, default="fixed"
        For a maximum: the level that follows from the tolerance, (57), or decreasing levels with
        warm starts.

    Raises
    ------
    ValueError
        If there are too many samples for the recursions that smooth a maximum.
    """
    problem = context.problem
    x = problem.join(
        problem.penalty.feasible(np.asarray(context.first.coef)), context.first.intercept
    )
    objectives = _Objectives(context, memory, adaptive)
    loss = objectives.rows.loss
    if loss.is_smooth:
        objectives.minimise(x, 0.0, 0.0)
    else:
        objectives.minimise_by_levels(x, loss.entropy_range, smoothing)


class _Objectives(PrimalObjectives):
    """The smoothed objectives of a run.

    The variables are the coefficients, followed by the intercept if there is one. Convex
    combinations of labelings are vectors of numbers that are averaged.
    """

    def __init__(self, context: SolverContext, memory: str, adaptive: bool) -> None:
        super().__init__(context, memory, adaptive)
        self.rows = context.problem.rows.as_kind(RowsOfScores)
        self.errors: Any = 0.0  # the largest errors of combinations so far

    def matvec(self, x: Array) -> Array:
        coef, intercept = self.problem.split(x)
        return self.rows.scores(coef, float(intercept))

    def composite(self, x: Array, mu: float) -> Composite:
        problem = self.problem
        loss, penalty, alpha = self.rows.loss, problem.penalty, problem.alpha

        def smooth(z: Array) -> tuple[float, Array, Array]:
            value, dual = loss.loss_augmented(z, mu)
            self.errors = np.maximum(self.errors, dual.errors)
            return value, loss.weights * dual.theta, dual.averages

        def psi(x: Array) -> float:
            return alpha * penalty.value(penalty.feasible(problem.split(x)[0]))

        # with a free intercept the penalty is not strongly convex in all variables
        ridge = 0.0 if problem.fit_intercept else alpha * penalty.without_ridge()[0]
        return Composite(
            smooth, self.matvec, problem.rmatvec, psi, Euclidean(problem.prox),
            lipschitz=max(self.lipschitz(x, smooth, mu), 1e-300), in_penalty=ridge,
            adaptive=self.adaptive, n_gradients=2 * self.adaptive,
        )  # fmt: skip

    def lipschitz(self, x: Array, smooth: Any, mu: float) -> float:
        """The start of the search for L, or a bound on it."""
        problem, level = self.problem, mu or 1.0
        if not self.adaptive:
            squares = problem.design.row_norms() ** 2 + float(problem.fit_intercept)
            return self.rows.loss.largest_square(np.sqrt(squares)) / level
        z = self.matvec(x)
        rows = smooth(z)[1]
        direction = problem.rmatvec(rows)
        along = self.matvec(direction)
        size, largest = float(direction @ direction), float(np.max(np.abs(along), initial=0.0))
        if size == 0.0 or largest == 0.0:
            return 1.0
        # The curvature along the first gradient, over a change of the scores by the level at
        # which labelings begin to mix
        step = level / (float(np.max(problem.weights)) * largest)
        change = float(along @ (rows - smooth(z - step * along)[1]))
        return max(change, 0.0) / (step * size)

    def objective(self, iterate: AcceleratedIterate) -> float:
        problem = self.problem
        loss = self.rows.loss
        coef = problem.penalty.feasible(problem.split(iterate.x)[0])
        return loss.value(iterate.z)[0] + problem.alpha * problem.penalty.value(coef)

    def bound(self, theta: Array, slope: Array, primal: float) -> float:
        coef_slope, total = self.problem.split(slope)
        value = self.average(theta, 0).value(1.0)[0]
        if self.problem.fit_intercept:
            value += least_linear((float(total), 0.0), self.problem.free_intervals(primal)[0])
        return dual_estimate(self.problem, value, coef_slope, primal)

    def point(self, iterate: AcceleratedIterate, theta: Array, n_averaged: int) -> Point:
        coef, intercept = self.problem.split(iterate.x)
        coef = self.problem.penalty.feasible(coef)
        return Point(coef, intercept, self.average(theta, n_averaged))

    def average(self, theta: Array, n_averaged: int) -> StructuredDual:
        """The average of ``n_averaged`` convex combinations, with bounds on its errors.

        Every step of the average adds three rounding errors to the errors of the combinations.
        """
        return self.rows.loss.dual_of(theta, self.errors, 3.0 * (n_averaged + 2) * EPSILON)

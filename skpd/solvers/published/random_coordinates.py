"""Random coordinate methods for a smooth function f and a separable g, on either side.

The methods minimise f(A v) + sum_j g_j(v_j), problem (A) of Dünner, Forte, Takáč and Jaggi (2016).
For a smooth loss and a separable penalty, v are the coefficients, A v = X w the predictions, f the
loss and g the penalty:

    sum_i c_i l(y_i, z_i) + alpha sum_j R_j(w_j),    z = X w.

The dual point of an iterate is theta_i = l'(y_i, z_i), the paper's grad f(A v). For the squared
loss, a free intercept is optimised after every step, as if columns and targets were centred.
Otherwise it is an additional coordinate without a penalty.

For other losses and a squared l2 penalty, as for the SVM, v_i = c_i theta_i are the dual variables
of the rows, and A v = X'v is -alpha times the coefficients:

    ||X'v||^2 / (2 alpha) + sum_i c_i l*(y_i, v_i / c_i).

An iteration is an epoch of as many steps as there are coordinates, each along a coordinate drawn
uniformly at random.
"""

from collections import deque
from collections.abc import Callable
from numbers import Real
from typing import Annotated, Any, cast

import numpy as np
from sklearn.utils._param_validation import Interval

from ... import kernels
from ..._typing import Array
from ...penalties import Structure
from ...problems import Point, Problem
from ..certificate_schedule import OF_PASSES, PAUSE_ENTRIES, CertificateSchedule
from ..coordinates.dual import has_square
from ..methods import has_single_values
from ..options import Flag
from ..solver_context import SolverContext

BurnIn = Annotated[float, Interval(Real, 0, 1, closed="left")]


def coordinate_descent(
    context: SolverContext,
    *,
    average: Flag = False,
    burn_in: BurnIn = 0.5,
) -> None:
    """Random coordinate descent, Algorithm 1 of Dünner et al. (2016).

    A step minimises the objective along its coordinate, or, for losses other than the squared one,
    a quadratic upper bound on it.

    Parameters
    ----------
    context : SolverContext
        An iteration is an epoch. The start is the best constant prediction by default.
    average : bool, default=False
        Report the average of the last T - T_0 iterates, as in the paper's theorem for non-smooth
        penalties, or the last iterate.
    burn_in : float, default=0.5
        T_0 / T, in [0, 1): the share of the iterates before the average begins, with the
        first report after that.
    """
    side = _side(context, kernels.random_coordinate_descent, kernels.row_coordinate_descent)
    descent = side.descent
    totals = deque([(0, np.zeros_like(descent.variables()))])  # sums of the first t iterates

    def averaged(t: int) -> Array:
        now = descent.sums()
        while len(totals) > 1 and totals[0][0] < burn_in * t:
            totals.popleft()
        before, sums = totals[0]
        totals.append((t, now))
        return cast(Array, (now - sums) / ((t - before) * steps))

    steps = descent.n_coordinates
    _iterate(context, side, averaged if average else None)


def approx(context: SolverContext) -> None:
    """APPROX, accelerated coordinate descent (Fercoq and Richtárik, 2015), serial.

    The method is Algorithm 2 of the paper with one coordinate in a step, whose cost does not
    depend on the length of the vectors. The objective converges as 1 / t^2 at the last iterate.
    Its coefficients are combinations of all earlier ones, and so are not exactly 0.

    Parameters
    ----------
    context : SolverContext
        See `coordinate_descent`.

    References
    ----------
    Fercoq, Richtárik: Accelerated, parallel, and proximal coordinate descent. SIAM
    Journal on Optimization 25, 2015.
    """
    _iterate(context, _side(context, kernels.approx, kernels.row_approx))


def _has_primal_coordinates(problem: Problem) -> bool:
    """Whether the methods apply to the coefficients: a smooth loss and a separable penalty."""
    separable = problem.penalty.structure is Structure.SEPARABLE
    return problem.loss.is_compiled and bool(np.isfinite(problem.loss.smoothness)) and separable


def has_coordinates(problem: Problem) -> bool:
    """Whether the methods apply to the coefficients, or to the dual variables.

    The latter need a squared l2 penalty, and no intercept.
    """
    if not has_single_values(problem) or _has_primal_coordinates(problem):
        return has_single_values(problem)
    penalty = problem.penalty
    own = problem.loss.is_compiled and not problem.fit_intercept and has_square(penalty)
    return own and penalty.terms[0] == 0.0


class _Columns:
    """The iterates of coefficients."""

    def __init__(self, context: SolverContext, method: Callable[..., Any]) -> None:
        problem = self.problem = context.problem
        penalty = problem.penalty
        self.descent = method(
            problem.design.transposed.by_rows.matrix, problem.loss.evaluator,
            problem.loss.smoothness, problem.y, problem.weights,
            penalty.kernel_terms(1.0, problem.n_coefficients), problem.alpha,
            problem.fit_intercept, problem.join(context.first.coef, context.first.intercept),
            context.seed(),
        )  # fmt: skip

    def point(self, variables: Array) -> Point:
        problem = self.problem
        theta = problem.loss.gradient(problem.y, problem.matvec(variables))
        coef, intercept = problem.split(variables)
        return Point(coef, intercept, theta)


class _Rows:
    """The iterates of dual variables v_i = c_i theta_i."""

    def __init__(self, context: SolverContext, method: Callable[..., Any]) -> None:
        problem = self.problem = context.problem
        penalty = problem.penalty
        self.ridge = problem.alpha * penalty.terms[1]
        self.descent = method(
            problem.design.by_rows.matrix, problem.loss.evaluator, problem.y, problem.weights,
            self.ridge, problem.weights * context.first_theta, context.seed(),
        )  # fmt: skip

    def point(self, variables: Array) -> Point:
        weights = self.problem.weights
        theta = np.divide(variables, weights, out=np.zeros_like(variables), where=weights > 0.0)
        theta = self.problem.loss.project_dual(self.problem.y, theta)  # rid of rounding errors
        return Point(-self.problem.products(theta)[0] / self.ridge, 0.0, theta)


def _side(
    context: SolverContext, of_columns: Callable[..., Any], of_rows: Callable[..., Any]
) -> "_Columns | _Rows":
    """The side on which the methods apply, the coefficients if both."""
    if _has_primal_coordinates(context.problem):
        return _Columns(context, of_columns)
    return _Rows(context, of_rows)


def _iterate(
    context: SolverContext,
    side: "_Columns | _Rows",
    averaged: Callable[[int], Array] | None = None,
) -> None:
    """Run epochs, with certificates at some of them."""
    problem, descent = context.problem, side.descent
    monitor, steps = context.monitor, descent.n_coordinates
    entries = problem.design.n_entries + problem.n_samples
    pause = max(1, int(PAUSE_ENTRIES / max(entries, 1) * steps))
    schedule, n_iter = CertificateSchedule(context, OF_PASSES), monitor.n_iter
    while not context.is_over(n_iter):
        report = min(schedule.next, context.max_iter)
        left = (report - n_iter) * steps
        while left > 0:
            descent.run(min(left, pause))
            left -= pause
        n_iter = report
        variables = descent.variables() if averaged is None else averaged(n_iter - schedule.first)
        if schedule.is_due(n_iter):
            monitor.check(n_iter, side.point(variables))
        descent.refresh()

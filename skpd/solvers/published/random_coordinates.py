"""Random coordinate methods for a smooth function f and a separable g, on either side.

The methods minimise f(A v) + sum_j g_j(v_j), problem (A) of Dünner, Forte, Takáč and Jaggi (2016).
For a smooth loss and a separable penalty, v are the coefficients, A v = X w the predictions, f the
loss and g the penalty:

    sum_i c_i l(y_i, z_i) + alpha sum_j R_j(w_j),    z = X w.

The dual point of an iterate is theta_i = l'(y_i, z_i), the paper's grad f(A v). For the squared
loss, a free intercept is optimised after every step, as if columns and targets were centred.
Otherwise it is an additional coordinate without a penalty.

For any loss and a penalty with a squared l2 norm, as for the SVM and the elastic net, the dual
variables of the rows are v_i = c_i theta_i, A v = X'v, f is the conjugate of the penalty, and g
that of the loss:

    sum_j (alpha R_j)*(-x^j . v) + sum_i c_i l*(y_i, v_i / c_i),    x^j the columns of X.

The coefficients of v are the gradient of (alpha R)* at -X'v, which for alpha (l1 ||w||_1 + l2
||w||_2^2 / 2) is -X'v, soft-thresholded by alpha l1, over alpha l2.

An iteration is an epoch, in which as many coordinates are drawn as there are, uniformly at random.
"""

from collections import deque
from collections.abc import Callable
from numbers import Real
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval

from ... import kernels
from ..._typing import Array
from ...penalties import Structure
from ...penalties.separable import soft_threshold
from ...problems import Point, Problem
from ..certificate_schedule import OF_PASSES, PAUSE_ENTRIES, CertificateSchedule
from ..options import Count, Flag
from ..solver_context import SolverContext

BurnIn = Annotated[float, Interval(Real, 0, 1, closed="left")]
Variables = Literal["auto", "primal", "dual"]


def coordinate_descent(
    context: SolverContext,
    *,
    variables: Variables = "auto",
    average: Flag = True,
    burn_in: BurnIn = 0.5,
) -> None:
    """Random coordinate descent, Algorithm 1 of Dünner et al. (2016).

    A step minimises the objective along its coordinate, by safeguarded Newton steps to the
    accuracy of floats where there is no formula. On the dual, this is SDCA.

    Parameters
    ----------
    context : SolverContext
        An iteration is an epoch. The start is the best constant prediction by default.
    variables : {"auto", "primal", "dual"}, default="auto"
        The coefficients, for a smooth loss, or the dual variables, for a squared l2 norm and no
        intercept: a free intercept is the equation sum(v) = 0 there, which steps along single
        coordinates cannot keep. "auto" is "primal" if possible.
    average : bool, default=True
        Report the average of the last T - T_0 iterates, which Algorithm 1 returns, or the last
        iterate, some of whose coefficients are exactly 0.
    burn_in : float, default=0.5
        T_0 / T, in [0, 1): the share of the iterates before the average begins, with the
        first report after that.
    """
    methods = kernels.random_coordinate_descent, kernels.row_coordinate_descent
    side = _side(context, "cd", variables, methods)
    descent = side.descent
    totals = deque([(0, np.zeros_like(descent.variables()))])  # sums of the first t iterates

    def averaged(t: int) -> Array:
        now = descent.sums()
        while len(totals) > 1 and totals[0][0] < burn_in * t:
            totals.popleft()
        before, sums = totals[0]
        totals.append((t, now))
        return (now - sums) / ((t - before) * steps)

    steps = descent.n_coordinates
    _iterate(context, side, averaged=averaged if average else None)


def approx(
    context: SolverContext, *, variables: Variables = "auto", coordinates_per_step: Count = 1
) -> None:
    """APPROX, accelerated coordinate descent (Fercoq and Richtárik, 2015), computed serially.

    The method is Algorithm 2 of the paper, the cost of whose steps does not depend on the length
    of the vectors. The objective converges as 1 / t^2 at the last iterate. Its coefficients are
    combinations of all earlier ones, and so are not exactly 0.

    Parameters
    ----------
    context, variables
        See `coordinate_descent`.
    coordinates_per_step : int, default=1
        The number tau of coordinates that a step draws and changes, which could be computed in
        parallel; an epoch of n coordinates has n / tau steps, rounded up. Where no row has more
        than omega coordinates, steps are shorter by 1 + (omega - 1) (tau - 1) / max(1, n - 1).

    Raises
    ------
    ValueError
        If there are fewer coordinates.

    References
    ----------
    Fercoq, Richtárik: Accelerated, parallel, and proximal coordinate descent. SIAM
    Journal on Optimization 25, 2015.
    """
    methods = kernels.approx, kernels.row_approx
    side = _side(context, "approx", variables, methods, coordinates_per_step)
    if coordinates_per_step > side.descent.n_coordinates:
        raise ValueError(
            "coordinates_per_step of solver 'approx' must be at most the number of coordinates, "
            f"{side.descent.n_coordinates}, got {coordinates_per_step}."
        )
    _iterate(context, side, coordinates_per_step)


def _has_primal_coordinates(problem: Problem) -> bool:
    """Whether the methods apply to the coefficients: a smooth loss and a separable penalty."""
    separable = problem.penalty.structure is Structure.SEPARABLE
    return problem.loss.is_compiled and bool(np.isfinite(problem.loss.smoothness)) and separable


def _has_dual_coordinates(problem: Problem) -> bool:
    """Whether the methods apply to the dual variables: l2 > 0, the same terms, no intercept."""
    penalty = problem.penalty
    if problem.fit_intercept or penalty.structure is not Structure.SEPARABLE:
        return False
    alike = all(np.min(term) == np.max(term) for term in penalty.terms)
    return problem.loss.is_compiled and alike and bool(np.min(penalty.terms[1]) > 0.0)


def has_coordinates(problem: Problem) -> bool:
    """Whether the methods apply to the coefficients or to the dual variables."""
    if not problem.has_single_values:
        return False
    return _has_primal_coordinates(problem) or _has_dual_coordinates(problem)


class _Side(NamedTuple):
    """A method on columns or rows, and the point of its variables."""

    descent: Any
    point: Callable[[Array], Point]


def _columns(context: SolverContext, method: Callable[..., Any], per_step: int) -> _Side:
    """The iterates of coefficients."""
    problem, loss = context.problem, context.problem.loss

    def point(variables: Array) -> Point:
        theta = loss.gradient(problem.y, problem.matvec(variables))
        return Point(*problem.split(variables), theta)

    return _Side(method(
        problem.design.transposed.by_rows.matrix, loss.evaluator, loss.smoothness, problem.y,
        problem.weights, problem.penalty.kernel_terms(1.0, problem.n_coefficients), problem.alpha,
        problem.fit_intercept, problem.join(context.first.coef, context.first.intercept),
        context.seed(), per_step,
    ), point)  # fmt: skip


def _rows(context: SolverContext, method: Callable[..., Any], per_step: int) -> _Side:
    """The iterates of dual variables v_i = c_i theta_i."""
    problem, weights = context.problem, context.problem.weights
    l1, l2, lower, upper = (float(np.min(term)) for term in problem.penalty.terms)
    ridge, threshold = problem.alpha * l2, problem.alpha * l1

    def point(variables: Array) -> Point:
        theta = np.divide(variables, weights, out=np.zeros_like(variables), where=weights > 0.0)
        theta = problem.loss.project_dual(problem.y, theta)  # rid of rounding errors
        slopes = soft_threshold(-problem.products(theta)[0], threshold)
        return Point((slopes / ridge).clip(lower, upper), 0.0, theta)

    conjugate = kernels.ResidualLoss(-ridge * upper, -ridge * lower, threshold, 1.0)
    return _Side(method(
        problem.design.by_rows.matrix, problem.loss.evaluator, problem.y, weights, conjugate,
        ridge, weights * context.first_theta, context.seed(), per_step,
    ), point)  # fmt: skip


def _side(
    context: SolverContext, solver: str, variables: str,
    methods: tuple[Callable[..., Any], Callable[..., Any]], per_step: int = 1,
) -> _Side:  # fmt: skip
    """The variables of a method for columns or for rows.

    Raises
    ------
    ValueError
        If the method does not apply to the chosen variables.
    """
    problem = context.problem
    problem_text = f"got {problem.loss!r} with {problem.penalty!r}"
    if variables == "primal" and not _has_primal_coordinates(problem):
        raise ValueError(
            f"variables='primal' of solver {solver!r} needs a smooth loss, {problem_text}: "
            "pass variables='dual'."
        )
    if variables == "dual" and not _has_dual_coordinates(problem):
        raise ValueError(
            f"variables='dual' of solver {solver!r} needs a squared l2 norm of all coefficients "
            f"alike and fit_intercept=False, {problem_text} and fit_intercept="
            f"{problem.fit_intercept}: pass variables='primal'."
        )
    of_columns, of_rows = methods
    if variables == "dual" or not _has_primal_coordinates(problem):
        return _rows(context, of_rows, per_step)
    return _columns(context, of_columns, per_step)


def _iterate(
    context: SolverContext,
    side: _Side,
    per_step: int = 1,
    averaged: Callable[[int], Array] | None = None,
) -> None:
    """Run epochs, with certificates at some of them."""
    problem, descent = context.problem, side.descent
    monitor, steps = context.monitor, -(-descent.n_coordinates // per_step)
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

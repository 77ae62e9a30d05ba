"""Random coordinate methods on the primal, for a smooth loss and a separable penalty.

The methods minimise

    sum_i c_i l(y_i, z_i) + alpha sum_j R_j(w_j),    z = X w,

which is problem (A) of Dünner, Forte, Takáč and Jaggi (2016), where l is f and alpha R is g. For
the squared loss, a free intercept is optimised after every step, as if columns and targets were
centred. Otherwise it is an additional coordinate without a penalty. An iteration is an epoch of as
many steps as there are coordinates, each along a coordinate drawn uniformly at random. The dual
point of an iterate is theta_i = l'(y_i, z_i), the paper's w(alpha) = grad f(A alpha).
"""

from collections import deque
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from ... import kernels
from ..._typing import Array
from ...penalties import Structure
from ...problems import Point, Problem
from ..cadence import OF_PASSES, PAUSE_ENTRIES, Cadence
from ..options import Flag, Number, require_compiled
from ..run import Run


def coordinate_descent(
    run: Run, *, average: Flag = False, burn_in: Annotated[float, Number(0, 1, "[)")] = 0.5
) -> None:
    """Random coordinate descent, Algorithm 1 of Dünner et al. (2016).

    A step minimises the objective along its coordinate, or, for losses other than the squared one,
    a quadratic upper bound on it.

    Parameters
    ----------
    run : Run
        An iteration is an epoch. The start is the best constant prediction by default.
    average : bool, default=False
        Report the average of the last T - T_0 iterates, as in the paper's theorem for non-smooth
        penalties, or the last iterate.
    burn_in : float, default=0.5
        T_0 / T, in [0, 1): the share of the iterates before the average begins, with the
        first report after that.

    Raises
    ------
    ValueError
        If the loss is not smooth or the penalty not separable.
    """
    descent = _method(run, kernels.random_coordinate_descent)
    totals = deque([(0, np.zeros(run.problem.n_variables))])  # sums of the first t iterates

    def averaged(t: int) -> Array:
        now = descent.sums()
        while len(totals) > 1 and totals[0][0] < burn_in * t:
            totals.popleft()
        before, sums = totals[0]
        totals.append((t, now))
        return (now - sums) / ((t - before) * steps)

    steps = descent.n_coordinates
    _iterate(run, descent, averaged if average else None)


def approx(run: Run) -> None:
    """APPROX, accelerated coordinate descent (Fercoq and Richtárik, 2015), serial.

    The method is Algorithm 2 of the paper with one coordinate in a step, whose cost does not
    depend on the length of the vectors. The objective converges as 1 / t^2 at the last iterate.
    Its coefficients are combinations of all earlier ones, and so are not exactly 0.

    Parameters
    ----------
    run : Run
        See `coordinate_descent`.

    Raises
    ------
    ValueError
        If the loss is not smooth or the penalty not separable.

    References
    ----------
    Fercoq, Richtárik: Accelerated, parallel, and proximal coordinate descent. SIAM
    Journal on Optimization 25, 2015.
    """
    _iterate(run, _method(run, kernels.approx))


def _method(run: Run, make):
    problem, loss = run.problem, run.problem.loss
    penalty: Any = problem.penalty
    require_compiled(loss, "cd", "approx")
    if not np.isfinite(loss.smoothness):
        raise ValueError(
            "The solvers 'cd' and 'approx' need a smooth loss (squared, Huber, logistic, "
            f"squared or smoothed hinge), got {loss!r}."
        )
    if penalty.structure is not Structure.SEPARABLE:
        raise ValueError(
            "The solvers 'cd' and 'approx' need a separable penalty (L1, NonNegativeL1, "
            f"ElasticNet, SquaredL2, Box), got {penalty!r}."
        )
    return make(
        problem.design.transposed.by_rows.matrix, loss.evaluator, loss.smoothness, problem.y,
        problem.weights, penalty.kernel_terms(1.0, problem.n_coefficients), problem.alpha,
        problem.fit_intercept, problem.join(run.first.coef, run.first.intercept), run.seed(),
    )  # fmt: skip


def _iterate(run: Run, descent, averaged: Callable[[int], Array] | None = None) -> None:
    """Run epochs, with certificates at some of them."""
    problem: Problem = run.problem
    monitor, steps = run.monitor, descent.n_coordinates
    entries = problem.design.n_entries + problem.n_samples
    pause = max(1, int(PAUSE_ENTRIES / max(entries, 1) * steps))
    cadence, n_iter = Cadence(run, OF_PASSES), monitor.n_iter
    while not run.is_over(n_iter):
        report = min(cadence.next, run.max_iter)
        left = (report - n_iter) * steps
        while left > 0:
            descent.run(min(left, pause))
            left -= pause
        n_iter = report
        variables = descent.variables() if averaged is None else averaged(n_iter - cadence.first)
        z = problem.matvec(variables)
        theta = problem.loss.gradient(problem.y, z)
        if cadence.is_due(n_iter):
            monitor.check(n_iter, Point(*problem.split(variables), theta))
        descent.refresh()

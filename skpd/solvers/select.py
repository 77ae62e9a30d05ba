"""The default: which method for which problem."""

from functools import partial
from math import inf
from typing import Any

import numpy as np

from ..designs import newton_cost
from ..penalties import LInf, Structure
from ..problems import Point, Problem
from .centring import centred
from .coordinates.dual import dual_descent
from .interior import expected_cost, faces_of_ball, interior_point
from .monitor import Monitor
from .newton.multipliers import LARGEST_WORKING_SET, method_of_multipliers
from .proximal.pdprox import pdprox_restarted

__all__ = ["auto", "last_budget", "methods_for"]

MANY_ROWS = 2000  # for each variable
SMALL = 4e5  # a Newton step on all rows and features, in the units of `newton_cost`: 0.5 ms
LONG = 1e10  # the same of a run of Newton steps that gradients may save: 10 s
# Of the cost of the interior-point method: what methods that may stall can spend, without a start
# and with one, from which they have less far to go.
TRIAL, WARM_TRIAL = 0.5, 1.0
# What it leaves unsolved is too hard for rounding in most cases. The last resort has this many
# times its cost to try, and a second, in which it may still solve small problems.
LAST, A_SECOND = 4.0, 1e9


def auto(
    problem: Problem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """The fastest methods known here for a problem, one after the other until it is solved.

    See `methods_for` for which they are.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `skpd.solvers.proximal.pdprox.pdprox_dual`.
    """
    if problem.centred is not None:
        problem, monitor, start = centred(problem, monitor, start)
    key = "methods", type(problem.penalty), start is not None
    if key not in problem.last:  # alpha makes no difference
        problem.last[key] = methods_for(problem, start is not None)
    for method in problem.last[key]:
        if monitor.done or monitor.n_iter >= max_iter:
            return
        method(problem, monitor, start, max_iter=max_iter, random_state=random_state)
        start = monitor.best


def methods_for(problem: Problem, warm: bool = False) -> list[Any]:
    """The methods that `auto` tries, in this order; ``warm`` says whether it has a start.

    1. Squared l2 penalty: dual coordinate descent, if the loss has linear pieces (Newton
       steps need no help with the others) and the rows are not thousands for each feature;
       or if the features are more than a Newton step can hold.
    2. Any penalty that is separable or by groups: the method of multipliers over proximal
       Newton steps. It gives up where the gap no longer falls or where thousands of features
       stay active.
    3. Penalties with a cone: the interior-point method, whose iterations hardly depend on the
       data. It is the first where it takes milliseconds and 2. would have kinks to find from
       nothing or features far from 0 without an intercept, and where 2. does not apply. Else the
       others have a part of its time before it.
       For the l-infinity norm of many features it takes those that are free as a working set.
    4. What is left: 2. without a limit, and the restarted primal-dual hybrid gradient, after 3.
       for a few times its cost.
    """
    penalty, design = problem.penalty, problem.design
    few_features = problem.n_features <= LARGEST_WORKING_SET
    by_newton = penalty.structure is not Structure.WHOLE
    by_newton &= few_features or not penalty.is_quadratic
    cost = expected_cost(problem)
    # small data with which Newton steps of other methods are known to have trouble
    at_once = newton_cost(design, *design.shape) <= SMALL and not warm
    at_once &= problem.loss.linear_tails or _is_far_without_intercept(problem)
    trials: list[Any] = []
    if penalty.is_quadratic:
        few_rows = problem.n_samples < MANY_ROWS * problem.n_variables
        if not few_features or (problem.loss.linear_tails and few_rows):
            trials.append(dual_descent)
    if by_newton and not at_once:
        trials.append(method_of_multipliers)
    if not by_newton and LONG < cost < inf:
        trials.append(pdprox_restarted)
    if cost == inf and isinstance(penalty, LInf):
        trials.append(faces_of_ball)
    if cost == inf:
        return [*trials, pdprox_restarted]
    budget = (WARM_TRIAL if warm else TRIAL) * cost
    methods: list[Any] = [partial(trial, budget=budget) for trial in trials]
    methods.append(interior_point)
    last = partial(pdprox_restarted, budget=last_budget(cost))
    return [*methods, *([method_of_multipliers] if by_newton else []), last]


def last_budget(cost: float) -> float:
    """What may be spent after an interior-point method of some cost, in the same units."""
    return LAST * cost + A_SECOND


def _is_far_without_intercept(problem: Problem) -> bool:
    """Whether features are far from 0 and there is no intercept to take that up."""
    return not problem.fit_intercept and (
        problem.design.shift_of_columns(problem.weights) is not None
    )

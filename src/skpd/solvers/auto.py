"""The default: which method for which problem."""

import numpy as np

from ..penalties import SquaredL2
from ..problem import Point, Problem
from .dual_descent import dual_descent
from .monitor import Monitor
from .multipliers import LARGEST_WORKING_SET, method_of_multipliers
from .pdprox import pdprox_restarted

__all__ = ["auto"]

MANY_ROWS = 2000  # for each variable


def auto(
    problem: Problem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """The fastest methods known here for a problem, one after the other until it is solved.

    1. Squared l2 penalty: dual coordinate descent, if the loss has linear pieces (Newton
       steps need no help with the others) and the rows are not thousands for each feature;
       or if the features are more than a Newton step can hold.
    2. Any penalty that is separable or by groups: the method of multipliers over proximal
       Newton steps. It gives up where the gap no longer falls (features scaled apart by
       many orders of magnitude) or where thousands of features stay active.
    3. What is left: the restarted primal-dual hybrid gradient.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `skpd.solvers.pdprox.pdprox_dual`.
    """
    penalty = problem.penalty
    methods = []
    few_features = problem.n_features <= LARGEST_WORKING_SET
    if isinstance(penalty, SquaredL2):
        few_rows = problem.n_samples < MANY_ROWS * problem.n_variables
        if not few_features or (problem.loss.linear_tails and few_rows):
            methods.append(dual_descent)
        if few_features:
            methods.append(method_of_multipliers)
    elif hasattr(penalty, "terms") or hasattr(penalty, "group_terms"):
        methods.append(method_of_multipliers)
    for method in [*methods, pdprox_restarted]:
        if monitor.done or monitor.n_iter >= max_iter:
            return
        method(problem, monitor, start, max_iter=max_iter, random_state=random_state)
        start = monitor.best

"""The restarted hybrid gradient for several outputs: X W and X' Theta for all of them at once."""

import numpy as np

from ...problems import Point, Problem
from ..monitor import Monitor
from .pdprox import Variables
from .restarts import iterate_with_restarts, iterations_within

__all__ = ["pdprox_restarted_for_outputs"]


def pdprox_restarted_for_outputs(
    problem: Problem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
    budget: float = np.inf,
) -> None:
    """Primal-dual hybrid gradient with restarts, for any loss and penalty of several outputs.

    See `skpd.solvers.proximal.pdprox.pdprox_restarted`.
    """
    variables = Variables(problem, problem.null_point if start is None else start)
    most = iterations_within(problem.design, budget, max_iter - monitor.n_iter)
    iterate_with_restarts(variables, monitor, variables.first_weight, most)

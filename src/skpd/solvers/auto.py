"""The default: which method for which problem."""

import numpy as np

from ..problem import Point, Problem
from .monitor import Monitor
from .multipliers import method_of_multipliers
from .pdprox import pdprox_restarted

__all__ = ["auto"]


def auto(
    problem: Problem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """The fastest method known here for a problem.

    - A penalty that is separable or by groups: the proximal method of multipliers over
      proximal Newton steps. Should it stall (features scaled apart by many orders of
      magnitude, or a working set of thousands), the next method goes on from its best
      points.
    - Any other penalty: the restarted primal-dual hybrid gradient.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        As for `skpd.solvers.pdprox.pdprox_dual`.
    """
    if hasattr(problem.penalty, "terms") or hasattr(problem.penalty, "group_terms"):
        method_of_multipliers(
            problem, monitor, start, max_iter=max_iter, random_state=random_state
        )
        if monitor.done or monitor.n_iter >= max_iter:
            return
        start = monitor.best
    pdprox_restarted(problem, monitor, start, max_iter=max_iter, random_state=random_state)

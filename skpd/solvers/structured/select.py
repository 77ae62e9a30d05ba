"""The default solver for structured losses."""

import numpy as np

from ...problems import Point
from ...problems.structured import StructuredProblem
from ..monitor import Monitor
from .bundle import bundle
from .smooth import smooth

__all__ = ["structured_auto"]


def structured_auto(
    problem: StructuredProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """Run the fastest available method for a structured loss and a penalty.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        See `skpd.solvers.proximal.pdprox.pdprox_dual`.
    """
    if problem.loss.is_smooth:
        smooth(problem, monitor, start, max_iter=max_iter, random_state=random_state)
        return
    monitor.method = "cutting-planes"
    bundle(problem, monitor, start, max_iter=max_iter, random_state=random_state)

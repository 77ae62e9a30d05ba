"""The restarted hybrid gradient for several outputs: X W and X' Theta for all of them at once."""

import numpy as np

from ..run import Run
from .pdprox import Variables
from .restarts import iterate_with_restarts

__all__ = ["pdprox_restarted_for_outputs"]


def pdprox_restarted_for_outputs(run: Run, *, budget: float = np.inf) -> None:
    """Primal-dual hybrid gradient with restarts, for any loss and penalty of several outputs.

    See `skpd.solvers.proximal.pdprox.pdprox_restarted`.
    """
    variables = Variables(run._replace(start=run.first))
    iterate_with_restarts(variables, run, variables.first_weight, budget)

"""Methods for matrices of low rank, whose iterates are stored as factors."""

from math import inf

from ...penalties import Structure
from ...problems import Problem
from .gradients import singular_gradients, soft_impute
from .hybrid import pdprox_adaptive, pdprox_dual_of_entries
from .restarted import pdprox_restarted_for_completion
from .settings import SETTINGS

__all__ = [
    "has_trace_norm", "pdprox_adaptive", "pdprox_dual_of_entries",
    "pdprox_restarted_for_completion", "singular_gradients", "soft_impute",
]  # fmt: skip


def has_trace_norm(problem: Problem) -> bool:
    """Whether partial singular value decompositions are used: trace norm and a large common X."""
    penalty, design = problem.penalty, problem.design
    if penalty.structure is not Structure.SPECTRAL or not penalty.of_reduced.is_norm:
        return False
    smooth = problem.loss.smoothness < inf and design.shares_data
    return smooth and min(design.n_inputs, design.n_outputs) >= SETTINGS.least_side

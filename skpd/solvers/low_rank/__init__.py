"""Methods for matrices of low rank, whose iterates are stored as factors."""

from math import inf

from ...penalties import Structure
from ...problems.completion import CompletionProblem
from ...problems.outputs import OutputsProblem
from ..select import GRADIENTS, Choice, select
from .gradients import singular_gradients, soft_impute
from .hybrid import pdprox_adaptive, pdprox_dual_of_entries
from .restarted import pdprox_restarted_for_completion
from .settings import SETTINGS

__all__ = [
    "has_trace_norm", "pdprox_adaptive", "pdprox_dual_of_entries", "select_for_completion",
    "singular_gradients", "soft_impute",
]  # fmt: skip

SOFT_IMPUTE = "soft-impute", "a smooth loss, and the trace norm has a prox"


def has_trace_norm(problem: OutputsProblem) -> bool:
    """Whether partial singular value decompositions are used: trace norm and a large common X."""
    penalty, design = problem.penalty, problem.design
    if penalty.structure is not Structure.SPECTRAL or not penalty.of_reduced.is_norm:
        return False
    smooth = problem.loss.smoothness < inf and design.shares_data
    return smooth and min(design.n_inputs, design.n_outputs) >= SETTINGS.least_side


@select.register
def select_for_completion(problem: CompletionProblem, warm: bool = False) -> list[Choice]:
    """The method for matrix completion: accelerated gradients, or hybrid gradient for kinks."""
    if problem.loss.smoothness < inf:
        return [Choice(*SOFT_IMPUTE, soft_impute)]
    if problem.design.n_left * problem.design.n_right <= SETTINGS.dense_entries:
        return [Choice(*GRADIENTS, pdprox_restarted_for_completion)]
    return [Choice(*GRADIENTS, pdprox_adaptive)]

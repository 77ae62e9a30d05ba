"""Methods for matrices of low rank of which some entries are seen: iterates are factors."""

from math import inf

from ...problems.completion import CompletionProblem
from ..select import GRADIENTS, Choice, select
from .accelerated import soft_impute
from .hybrid import pdprox_adaptive, pdprox_dual_of_entries
from .restarted import pdprox_restarted_for_completion
from .settings import SETTINGS

__all__ = ["pdprox_adaptive", "pdprox_dual_of_entries", "select_for_completion", "soft_impute"]

SOFT_IMPUTE = "soft-impute", "a smooth loss, and the trace norm has a prox"


@select.register
def select_for_completion(problem: CompletionProblem, warm: bool = False) -> list[Choice]:
    """Accelerated gradients for smooth losses, the hybrid gradient for the others."""
    if problem.loss.smoothness < inf:
        return [Choice(*SOFT_IMPUTE, soft_impute)]
    if problem.design.n_left * problem.design.n_right <= SETTINGS.dense_entries:
        return [Choice(*GRADIENTS, pdprox_restarted_for_completion)]
    return [Choice(*GRADIENTS, pdprox_adaptive)]

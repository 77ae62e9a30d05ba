"""The default for several outputs: which method for which problem."""

from ..penalties import Structure
from ..problems.outputs import OutputsProblem
from .newton import output_rows  # noqa: F401 (which registers its rows)
from .newton.multipliers import method_of_multipliers
from .proximal.outputs import pdprox_restarted_for_outputs
from .select import LAST_RESORT, MULTIPLIERS, Choice, select

__all__ = ["select_for_outputs"]


@select.register
def select_for_outputs(problem: OutputsProblem, warm: bool = False) -> list[Choice]:
    """The method of multipliers where the penalty is in parts, then the hybrid gradient."""
    choices = [Choice(*LAST_RESORT, pdprox_restarted_for_outputs)]
    if problem.penalty.structure in (Structure.SEPARABLE, Structure.GROUPED):
        choices.insert(0, Choice(*MULTIPLIERS, method_of_multipliers))
    return choices

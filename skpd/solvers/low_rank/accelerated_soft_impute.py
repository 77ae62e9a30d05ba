"""Accelerated proximal gradients with singular value thresholding, for several outputs."""

from math import inf

from ...penalties import Structure
from ...problems import Problem
from ..accelerated.proximal_gradient import proximal_gradients
from ..solver_context import SolverContext
from .models import OutputsModel
from .settings import SETTINGS


def singular_gradients(context: SolverContext) -> None:
    """Accelerated gradients for outputs with a smooth loss and the trace norm."""
    proximal_gradients(OutputsModel(context), context)


def has_trace_norm(problem: Problem) -> bool:
    """Whether partial singular value decompositions are used: trace norm and a large common X."""
    penalty, design = problem.penalty, problem.design
    if penalty.structure is not Structure.SPECTRAL or not penalty.of_conjugate_arguments.is_norm:
        return False
    smooth = problem.loss.smoothness < inf and design.shares_data
    return smooth and min(design.n_inputs, design.n_outputs) >= SETTINGS.least_side

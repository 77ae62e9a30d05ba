"""Accelerated proximal gradients with singular value thresholding, for matrices of low rank.

For matrix completion this is soft-impute (Mazumder, Hastie and Tibshirani, 2010, Spectral
regularization algorithms) with acceleration.
"""

from math import inf

from ...penalties import Structure
from ...problems import Problem
from ..accelerated.proximal_gradient import proximal_gradients
from ..solver_context import SolverContext
from .models import EntriesModel, OutputsModel
from .settings import SETTINGS


def soft_impute(context: SolverContext) -> None:
    """Accelerated soft-impute for entries of a matrix, with a smooth loss."""
    proximal_gradients(EntriesModel(context), context)


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

"""Accelerated proximal gradients with singular value thresholding, for matrices of low rank.

For matrix completion this is soft-impute (Mazumder, Hastie and Tibshirani, 2010, Spectral
regularization algorithms) with acceleration.
"""

from ..accelerated.proximal_gradient import proximal_gradients
from ..run import Run
from .models import EntriesModel, OutputsModel


def soft_impute(run: Run) -> None:
    """Accelerated soft-impute for entries of a matrix, with a smooth loss."""
    proximal_gradients(EntriesModel(run), run)


def singular_gradients(run: Run) -> None:
    """Accelerated gradients for outputs with a smooth loss and the trace norm."""
    proximal_gradients(OutputsModel(run), run)

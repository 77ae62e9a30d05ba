"""Data matrices: products, Gram matrices and their rounding errors."""

from .design import Design
from .dual_products import DualProducts, DualProductsOfPath
from .gram import WeightedGram, newton_cost
from .outputs import newton_cost_of_outputs
from .row_blocks import RowBlocks
from .spectral_norm import spectral_norm_bound
from .subspace_iteration import SubspaceIteration

__all__ = [
    "Design",
    "DualProducts",
    "DualProductsOfPath",
    "RowBlocks",
    "SubspaceIteration",
    "WeightedGram",
    "newton_cost",
    "newton_cost_of_outputs",
    "spectral_norm_bound",
]

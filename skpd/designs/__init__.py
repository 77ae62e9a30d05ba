"""Data matrices: products, Gram matrices and their rounding errors."""

from .design import Design, spectral_norm_bound
from .dual_products import DualProducts, DualProductsOfPath
from .gram import ColumnCurvature, WeightedGram, newton_cost

__all__ = [
    "ColumnCurvature",
    "Design",
    "DualProducts",
    "DualProductsOfPath",
    "WeightedGram",
    "newton_cost",
    "spectral_norm_bound",
]

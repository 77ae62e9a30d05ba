"""Penalties: convex functions of the coefficients, their prox and their conjugates.

A penalty R enters a model as alpha R(w). A class gives the value and the proximal
operator of R and the conjugate of alpha R; a norm gives its dual norm instead of the
conjugate. An object of your own with the methods of `Penalty` works wherever an
estimator takes a penalty; subclass `Norm` (value, prox, dual_norm),
`SeparablePenalty` (terms) or `Penalty` (value, prox, conjugate, support), and all else is
inherited. `check_penalty` tests it.
"""

from typing import TYPE_CHECKING, Any

from .balls import Box, ElasticNetBall, L1Ball, SquaredL2OnL1Ball
from .base import FreeFeatures, Norm, Penalty, Structure
from .declaration_checks import check_penalty
from .functions_of_norms import FunctionOfNorm
from .further_group_penalties import GroupElasticNet, GroupL1Squared, GroupLInf, SquaredGroupL2
from .group_lasso import GroupL2, NonNegativeGroupL2, SparseGroup
from .increasing_functions import IncreasingFunction as IncreasingFunction
from .norms import L1, ElasticNet, L2Norm, LInf, NonNegativeL1, SquaredL2
from .separable import SeparablePenalty
from .spectral import Spectral
from .total_variation import FusedLasso, TotalVariation
from .weighted import Separable, WeightedL1, for_features

if TYPE_CHECKING:
    from ..models.completion.factored_trace_norm import FactoredTraceNorm
    from ..models.robust.norm_epigraph import NormEpigraph

__all__ = [
    "L1",
    "Box",
    "ElasticNet",
    "ElasticNetBall",
    "FactoredTraceNorm",
    "FreeFeatures",
    "FunctionOfNorm",
    "FusedLasso",
    "GroupElasticNet",
    "GroupL1Squared",
    "GroupL2",
    "GroupLInf",
    "L1Ball",
    "L2Norm",
    "LInf",
    "NonNegativeGroupL2",
    "NonNegativeL1",
    "Norm",
    "NormEpigraph",
    "Penalty",
    "Separable",
    "SeparablePenalty",
    "SparseGroup",
    "Spectral",
    "SquaredGroupL2",
    "SquaredL2",
    "SquaredL2OnL1Ball",
    "Structure",
    "TotalVariation",
    "WeightedL1",
    "check_penalty",
    "for_features",
]


def __getattr__(name: str) -> Any:
    """The penalties of one family of models each, from its folder."""
    if name == "NormEpigraph":
        from ..models.robust.norm_epigraph import NormEpigraph

        return NormEpigraph
    if name == "FactoredTraceNorm":
        from ..models.completion.factored_trace_norm import FactoredTraceNorm

        return FactoredTraceNorm
    raise AttributeError(f"module 'skpd.penalties' has no attribute {name!r}.")

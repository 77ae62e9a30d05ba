"""Losses: convex functions of targets and predictions, and their conjugates.

There are two kinds. A `Loss` is a loss l(y, z) of each row by itself, and the objective has the
weighted mean. A `skpd.losses.structured.StructuredLoss` is one loss of all scores together, as F1,
chains and partial likelihoods are. `LossProperties` lists what both declare of their structure.

Most losses of rows are a convex function ``phi`` of one number ``t``:

================  =================  ==================  ==================
kind              t                  l(y, z)             l*(y, theta)
================  =================  ==================  ==================
`MarginLoss`      margin m = y z     phi(m)              phi*(y theta)
`ResidualLoss`    residual r = z-y   phi(r)              phi*(theta) + y theta
================  =================  ==================  ==================

with z = x.w + b the prediction and, for margin losses, y in {-1, +1}. Losses of counts and costs
whose mean is exp(z) are half unit deviances (`skpd.losses.deviances`). A loss gives
``phi``, its conjugate ``phi*`` with the interval on which that is finite, and a
subgradient; the base class turns these into functions of y and z. The proximal operators of the
conjugates are compiled (``skpd/kernels/maths/losses.hpp``), or, for a class of your own, found
numerically (`skpd.losses.numerical`); `check_loss` tests such a class. Losses of several
predictions at once are in `skpd.losses.coupled_outputs`, `skpd.losses.classes` and
`skpd.losses.quantiles`, those of all scores in the folders of `skpd.models`.
"""

from typing import TYPE_CHECKING, Any

from .base import Loss
from .classes import CrammerSinger, LabelLoss, Softmax
from .coupled_outputs import CoupledLoss, L2Norm
from .declaration_checks import check_loss
from .deviances import Gamma, NegativeBinomial, Poisson, Tweedie
from .further_residuals import EpsilonInsensitive, PiecewiseLinear, SquaredEpsilonInsensitive
from .margin import (
    GeneralizedHinge,
    Hinge,
    Logistic,
    MarginLoss,
    ModifiedHuber,
    SmoothedHinge,
    SquaredHinge,
)
from .properties import LossProperties
from .quantiles import NonCrossingPinball
from .residual import Absolute, Huber, Pinball, ResidualLoss, Squared

if TYPE_CHECKING:
    from ..models.metric.losses import FBeta, PrecisionAtK, RecallAtK, RocAuc

__all__ = [
    "Absolute",
    "CoupledLoss",
    "CrammerSinger",
    "EpsilonInsensitive",
    "FBeta",
    "Gamma",
    "GeneralizedHinge",
    "Hinge",
    "Huber",
    "L2Norm",
    "LabelLoss",
    "Logistic",
    "Loss",
    "LossProperties",
    "MarginLoss",
    "ModifiedHuber",
    "NegativeBinomial",
    "NonCrossingPinball",
    "PiecewiseLinear",
    "Pinball",
    "Poisson",
    "PrecisionAtK",
    "RecallAtK",
    "ResidualLoss",
    "RocAuc",
    "SmoothedHinge",
    "Softmax",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Tweedie",
    "check_loss",
]


def __getattr__(name: str) -> Any:
    """The losses that are rates and areas, from the folder of the models that minimise them."""
    if name not in ("FBeta", "PrecisionAtK", "RecallAtK", "RocAuc"):
        raise AttributeError(f"module 'skpd.losses' has no attribute {name!r}.")
    from ..models.metric import losses

    return getattr(losses, name)

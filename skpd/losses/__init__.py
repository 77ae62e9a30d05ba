"""Losses: convex functions of a target and a prediction, and their conjugates.

Every loss here is a convex function ``phi`` of one number ``t``:

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
predictions at once are in `skpd.losses.coupled`, `skpd.losses.classes` and
`skpd.losses.quantiles`, those of all samples at once in `skpd.losses.multivariate`.
"""

from .base import Loss
from .breakpoints import PiecewiseLinear
from .checks import check_loss
from .classes import CrammerSinger, LabelLoss, Softmax
from .coupled import CoupledLoss, L2Norm
from .deviances import Gamma, NegativeBinomial, Poisson, Tweedie
from .margin import (
    GeneralizedHinge,
    Hinge,
    Logistic,
    MarginLoss,
    ModifiedHuber,
    SmoothedHinge,
    SquaredHinge,
)
from .multivariate import FBeta, PrecisionAtK, RecallAtK, RocAuc
from .quantiles import NonCrossingPinball
from .residual import Absolute, Huber, Pinball, ResidualLoss, Squared
from .tubes import EpsilonInsensitive, SquaredEpsilonInsensitive

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

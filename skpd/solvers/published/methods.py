"""The algorithms as published, and the problems that they support."""

from functools import partial
from math import isfinite

import numpy as np

from ...problems import Problem
from ...problems.plan import Method
from ..equivalent import in_model
from ..frank_wolfe.settings import BALL as SETTINGS
from ..methods import (
    BALL,
    VALUES,
    Supported,
    has_trace_norm_ball,
)
from .agm import agm
from .pdbfw import pdbfw
from .pdprox import pdprox_dual, pdprox_primal
from .random_coordinates import approx, coordinate_descent, has_coordinates
from .structured_agm import structured_agm
from .trace_norm_frank_wolfe import block_frank_wolfe


def _is_smooth_over_trace_norm(problem: Problem) -> bool:
    loss = problem.loss
    smooth_loss = isfinite(loss.smoothness) and loss.piecewise_quadratic
    centred = loss.constant_curvature or not problem.fit_intercept
    return smooth_loss and not loss.couples_outputs and centred and has_trace_norm_ball(problem)


def _has_smoothed_loss(problem: Problem) -> bool:
    """Whether losses of single predictions are smooth, or dual variables are bounded."""
    loss = problem.loss
    if not problem.has_values or loss.couples_outputs:
        return False
    return isfinite(loss.smoothness) or bool(np.isfinite(loss.dual_bounds(problem.y)).all())


_SINGLE_VALUES: Supported = (lambda p: p.has_single_values), "X in memory and a single output"
_COORDINATES: Supported = (
    has_coordinates,
    "a smooth loss of skpd.losses (squared, Huber, logistic, squared or smoothed hinge) with a "
    "penalty of single coefficients (an l1 or squared l2 norm, bounds), or without an intercept "
    "any loss of skpd.losses with a squared l2 norm in it",
)

_METHODS = {
    "pdprox-dual": Method("pdprox-dual", in_model(pdprox_dual), *VALUES),
    "pdprox-primal": Method("pdprox-primal", in_model(pdprox_primal), *VALUES),
    "cd": Method("cd", coordinate_descent, *_COORDINATES),
    "approx": Method("approx", approx, *_COORDINATES),
    "agm": Method(
        "agm", agm, _has_smoothed_loss,
        "X in memory, and a loss of single predictions that is smooth or whose slopes are bounded",
    ),
    "agm of scores": Method(
        "agm", structured_agm, lambda p: p.rows.of_scores and p.loss.averages_duals,
        "a (soft) maximum over labelings",
    ),
    "frank-wolfe": Method(
        "frank-wolfe", block_frank_wolfe, _is_smooth_over_trace_norm,
        "a radius with a squared Frobenius norm, and a loss that is smooth and strongly convex "
        "wherever it is not linear: the squared loss, or a smoothed hinge without an intercept",
    ),
    "pdbfw": Method("pdbfw", pdbfw, *_SINGLE_VALUES),
    # the one that "auto" tries: over well-conditioned balls it is the fastest
    "block-frank-wolfe": Method(
        "block-frank-wolfe",
        partial(pdbfw, step_size="line-search", patience=SETTINGS.block_passes), *BALL,
    ),
}  # fmt: skip
PUBLISHED = {key: method._replace(is_published=True) for key, method in _METHODS.items()}

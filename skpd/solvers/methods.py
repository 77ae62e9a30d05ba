"""The methods, each with its name and the problems that it supports."""

from collections.abc import Callable
from functools import partial
from math import inf, isfinite
from typing import NamedTuple

from ..penalties import Structure
from ..problems import Problem
from .accelerated.agm import agm
from .accelerated.outputs import accelerated_gradients
from .coordinates.classes import class_descent, has_class_descent
from .coordinates.dual import dual_descent, has_square
from .coordinates.pairs import pair_descent
from .coordinates.random import (
    approx,
    coordinate_descent,
    has_dual_coordinates,
    has_primal_coordinates,
)
from .equivalent import in_model
from .frank_wolfe.pdbfw import pdbfw
from .frank_wolfe.settings import BALL
from .frank_wolfe.trace_norm import block_frank_wolfe, line_search_over_trace_norm
from .interior import expected_cost, faces_of_ball, interior_point, interior_point_to_the_zeros
from .low_rank.alternating import alternating_multipliers
from .low_rank.gradients import has_trace_norm, singular_gradients, soft_impute
from .low_rank.hybrid import pdprox_dual_of_entries
from .low_rank.restarted import pdprox_restarted_for_completion
from .newton.multipliers import method_of_multipliers
from .proximal.pdprox import pdprox_dual, pdprox_primal, pdprox_restarted
from .proximal.robust_saddle import hybrid_gradient
from .robust.certain_labels import certain_labels
from .robust.incremental import hybrid, ippa, isg
from .robust.multipliers import method_of_multipliers as robust_multipliers
from .structured.agm import structured_agm
from .structured.bundle import bundle
from .structured.smooth import quasi_newton, smooth


class Method(NamedTuple):
    """A method that solves some problems.

    Attributes
    ----------
    name : str
        The name by which `solve` knows the method, and the value of ``solver_``.
    run : callable
        The method, with the argument `skpd.solvers.run.Run` and with options of its own.
    supports : callable
        Whether the method can solve a problem.
    requires : str
        What a problem that it supports has, such as "an l1 ball".
    """

    name: str
    run: Callable[..., None]
    supports: Callable[[Problem], bool]
    requires: str


def has_values(problem: Problem) -> bool:
    """Whether X is in memory and each row has predictions of its own."""
    rows = problem.rows
    return rows.in_memory and not (rows.of_entries or rows.of_scores or problem.loss.has_radius)


def has_single_values(problem: Problem) -> bool:
    """Whether X is in memory and each row has one prediction."""
    return has_values(problem) and not problem.rows.of_outputs


def _has_coordinates(problem: Problem) -> bool:
    if not has_single_values(problem):
        return False
    return has_primal_coordinates(problem) or has_dual_coordinates(problem)


def _has_trace_norm_ball(problem: Problem) -> bool:
    penalty, rows = problem.penalty, problem.rows
    if penalty.structure is not Structure.SPECTRAL or not rows.of_outputs:
        return False
    return rows.design.shares_data and penalty.of_reduced.structure is Structure.BALL


def _is_smooth_over_trace_norm(problem: Problem) -> bool:
    loss = problem.loss
    smooth_loss = isfinite(loss.smoothness) and loss.piecewise_quadratic
    centred = loss.constant_curvature or not problem.fit_intercept
    return smooth_loss and not loss.couples_outputs and centred and _has_trace_norm_ball(problem)


_VALUES = "X in memory, with a prediction for each y"
_SINGLE_VALUES = "X in memory and a single output"
_CONES = "a loss and a penalty with cones"
_COORDINATES = (
    "a smooth loss of skpd.losses (squared, Huber, logistic, squared or smoothed hinge) with a "
    "penalty of single coefficients (an l1 or squared l2 norm, bounds), or penalty='l2' without "
    "an intercept"
)

# What "auto" tries. Several methods may have the same name, each for problems of its own.
ENGINES: dict[str, Method] = {
    "multipliers": Method(
        "multipliers", method_of_multipliers, lambda p: p.penalty.structure.in_parts,
        "a penalty of single features or of groups",
    ),
    "dual-descent": Method(
        "dual-descent", dual_descent, lambda p: p.loss.is_compiled and has_square(p.penalty),
        "a squared l2 penalty and a compiled loss",
    ),
    "interior-point": Method(
        "interior-point", interior_point, lambda p: expected_cost(p) < inf, _CONES
    ),
    "interior-point to the zeros": Method(
        "interior-point", interior_point_to_the_zeros, lambda p: expected_cost(p) < inf, _CONES
    ),
    "interior-point-faces": Method(
        "interior-point-faces", faces_of_ball,
        lambda p: p.penalty.structure is Structure.MAXIMUM and p.loss.has_cones,
        "the l-infinity norm and a loss with cones",
    ),
    "hybrid-gradient": Method("hybrid-gradient", pdprox_restarted, has_values, _VALUES),
    "block-frank-wolfe": Method(
        "block-frank-wolfe",
        partial(pdbfw, step_size="line-search", patience=BALL.block_passes),
        lambda p: p.penalty.structure is Structure.BALL, "an l1 ball",
    ),
    "dual-descent of classes": Method(
        "dual-descent", class_descent, has_class_descent, "the loss of Crammer and Singer"
    ),
    "accelerated-gradient": Method(
        "accelerated-gradient", accelerated_gradients, lambda p: p.loss.smoothness < inf,
        "a smooth loss",
    ),
    "singular-gradient": Method(
        "singular-gradient", singular_gradients, has_trace_norm,
        "the trace norm and a smooth loss",
    ),
    "soft-impute": Method(
        "soft-impute", soft_impute, lambda p: p.rows.of_entries, "entries of a matrix"
    ),
    "alternating-multipliers": Method(
        "alternating-multipliers", alternating_multipliers, lambda p: p.rows.of_entries,
        "entries of a matrix",
    ),
    "hybrid-gradient of a matrix": Method(
        "hybrid-gradient", pdprox_restarted_for_completion, lambda p: p.rows.of_entries,
        "entries of a matrix",
    ),
    "certain-labels": Method(
        "certain-labels", certain_labels,
        lambda p: p.loss.has_radius and p.penalty.q == 1 and not len(p.free_columns),
        "a robust SVM with norm 1 of all features",
    ),
    # the robust SVM with epsilon = 0 is an ordinary problem of labels
    "multipliers of the robust SVM": Method(
        "multipliers", robust_multipliers, lambda p: p.loss.of_labels, "a robust SVM"
    ),
    "hybrid-gradient of the robust SVM": Method(
        "hybrid-gradient", hybrid_gradient, lambda p: p.loss.of_labels, "a robust SVM"
    ),
    "pair-descent": Method(
        "pair-descent", pair_descent, lambda p: p.penalty.structure is Structure.OF_ROWS,
        "weights of the rows of a kernel matrix",
    ),
    "line-search-frank-wolfe": Method(
        "line-search-frank-wolfe", line_search_over_trace_norm,
        lambda p: p.loss.constant_curvature and _has_trace_norm_ball(p),
        "least squares over a ball of the trace norm",
    ),
    "cutting-planes": Method(
        "cutting-planes", bundle, lambda p: p.rows.of_scores, "a loss of all scores"
    ),
    "l-bfgs": Method(
        "l-bfgs", quasi_newton,
        lambda p: has_values(p) and not p.loss.has_kinks and p.penalty.is_ridge,
        "a loss without kinks and a squared l2 penalty",
    ),
    "smooth": Method("smooth", smooth, lambda p: p.rows.of_scores, "a loss of all scores"),
}  # fmt: skip

# Algorithms as published
PUBLISHED: dict[str, Method] = {
    "pdprox-dual": Method("pdprox-dual", in_model(pdprox_dual), has_values, _VALUES),
    "pdprox-dual of entries": Method(
        "pdprox-dual", pdprox_dual_of_entries, lambda p: p.rows.of_entries, "entries of a matrix"
    ),
    "pdprox-primal": Method("pdprox-primal", in_model(pdprox_primal), has_values, _VALUES),
    "cd": Method("cd", coordinate_descent, _has_coordinates, _COORDINATES),
    "approx": Method("approx", approx, _has_coordinates, _COORDINATES),
    "agm": Method("agm", agm, has_single_values, _SINGLE_VALUES),
    "agm of scores": Method(
        "agm", structured_agm, lambda p: p.rows.of_scores, "a loss of all scores"
    ),
    "frank-wolfe": Method(
        "frank-wolfe", block_frank_wolfe, _is_smooth_over_trace_norm,
        "a radius, and a loss that is smooth and strongly convex wherever it is not linear: the "
        "squared loss, or a smoothed hinge without an intercept",
    ),
    "pdbfw": Method("pdbfw", pdbfw, has_single_values, _SINGLE_VALUES),
    "isg": Method("isg", isg, lambda p: p.loss.of_labels, "a robust SVM"),
    "ippa": Method("ippa", ippa, lambda p: p.loss.of_labels, "a robust SVM"),
    "hybrid": Method("hybrid", hybrid, lambda p: p.loss.of_labels, "a robust SVM"),
}  # fmt: skip

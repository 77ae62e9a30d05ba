"""What methods need of a problem: functions that return what is missing, or an empty string."""

from collections.abc import Callable
from math import inf, isfinite

from ..penalties import Structure
from ..problems import Problem
from .coordinates.classes import has_class_descent
from .coordinates.dual import has_square
from .coordinates.random import has_dual_coordinates, has_primal_coordinates
from .interior import expected_cost
from .low_rank.gradients import has_trace_norm
from .structured.settings import ROWS

Requirement = Callable[[Problem], str]


def _needs(what: str, has: Callable[[Problem], bool]) -> Requirement:
    """A function that returns the reason why a problem has not got it, or an empty string."""
    return lambda problem: "" if has(problem) else f"needs {what}"


def _has_values(problem: Problem) -> bool:
    rows = problem.rows
    return rows.in_memory and not (rows.of_entries or rows.of_scores or problem.loss.has_radius)


def _is_trace_norm_ball(problem: Problem) -> bool:
    penalty, rows = problem.penalty, problem.rows
    if penalty.structure is not Structure.SPECTRAL or not rows.of_outputs:
        return False
    return rows.design.shares_data and penalty.of_reduced.structure is Structure.BALL


def _is_least_squares_over_trace_norm(problem: Problem) -> bool:
    return problem.loss.constant_curvature and _is_trace_norm_ball(problem)


def _is_smooth_over_trace_norm(problem: Problem) -> bool:
    loss = problem.loss
    smooth = isfinite(loss.smoothness) and loss.piecewise_quadratic and not loss.couples_outputs
    centred = loss.constant_curvature or not problem.fit_intercept
    return smooth and centred and _is_trace_norm_ball(problem)


def _has_separate_outputs(problem: Problem) -> bool:
    coupled = problem.loss.couples_outputs and not problem.loss.of_quantiles
    return problem.penalty.structure is Structure.SEPARABLE and not coupled


def _has_thresholds(problem: Problem) -> bool:
    loss, penalty = problem.loss, problem.penalty
    if not (problem.rows.of_scores and loss.has_thresholds):
        return False
    if problem.design.n_entries * loss.n_thresholds > ROWS.most_entries:
        return False
    separable = penalty.structure is Structure.SEPARABLE
    return separable or penalty.with_coefficient(problem.n_coefficients, 0.0) is not None


needs_in_parts = _needs(
    "a penalty of single features or of groups", lambda p: p.penalty.structure.in_parts
)
needs_values = _needs("X in memory, with a prediction for each y", _has_values)
needs_single_values = _needs(
    "X in memory and a single output", lambda p: _has_values(p) and not p.rows.of_outputs
)
needs_square = _needs(
    "a squared l2 penalty and a compiled loss",
    lambda p: p.loss.is_compiled and has_square(p.penalty),
)
needs_smooth_ridge = _needs(
    "a loss without kinks and a squared l2 penalty",
    lambda p: _has_values(p) and not p.loss.has_kinks and p.penalty.is_ridge,
)
needs_random_coordinates = _needs(
    "a smooth loss of skpd.losses (squared, Huber, logistic, squared or smoothed hinge) with a "
    "penalty of single coefficients (an l1 or squared l2 norm, bounds), or penalty='l2' without "
    "an intercept",
    lambda p: (
        not needs_single_values(p) and (has_primal_coordinates(p) or has_dual_coordinates(p))
    ),
)
needs_cones = _needs("a loss and a penalty with cones", lambda p: expected_cost(p) < inf)
needs_largest_size = _needs(
    "the l-infinity norm and a loss with cones",
    lambda p: p.penalty.structure is Structure.MAXIMUM and p.loss.has_cones,
)
needs_ball = _needs("an l1 ball", lambda p: p.penalty.structure is Structure.BALL)
needs_function_of_norm = _needs(
    "a function of a norm", lambda p: p.penalty.structure is Structure.OF_NORM
)
needs_separate_outputs = _needs("a loss and a penalty of single outputs", _has_separate_outputs)
needs_classes = _needs("the loss of Crammer and Singer", has_class_descent)
needs_singular_values = _needs("the trace norm and a smooth loss", has_trace_norm)
needs_smooth_outputs = _needs("a smooth loss", lambda p: p.loss.smoothness < inf)
needs_entries = _needs("entries of a matrix", lambda p: p.rows.of_entries)
needs_scores = _needs("a loss of all scores", lambda p: p.rows.of_scores)
needs_thresholds = _needs(
    "ordered classes, a penalty that extends to free coefficients and memory for a copy of X for "
    "each threshold",
    _has_thresholds,
)
needs_trace_norm_ball = _needs(
    "least squares over a ball of the trace norm", _is_least_squares_over_trace_norm
)
needs_smooth_trace_norm_ball = _needs(
    "a radius, and a loss that is smooth and strongly convex wherever it is not linear: the "
    "squared loss, or a smoothed hinge without an intercept",
    _is_smooth_over_trace_norm,
)
# the robust SVM with epsilon = 0 is an ordinary problem of labels
needs_robust = _needs("a robust SVM", lambda p: p.loss.of_labels)
needs_robust_norm_1 = _needs(
    "a robust SVM with norm 1 of all features",
    lambda p: p.loss.has_radius and p.penalty.q == 1 and not len(p.free_columns),
)
needs_kernel_matrix = _needs(
    "weights of the rows of a kernel matrix",
    lambda p: p.penalty.structure is Structure.OF_ROWS,
)

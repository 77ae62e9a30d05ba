"""The methods, each with its name and the problems that it supports."""

from collections.abc import Callable
from functools import partial
from math import inf

import numpy as np

from ..penalties import Structure
from ..problems import Problem
from ..problems.plan import Method
from .accelerated.limited_memory import quasi_newton
from .accelerated.outputs import accelerated_gradients
from .coordinates.classes import class_descent, has_class_descent
from .coordinates.dual import dual_descent, has_square
from .frank_wolfe.trace_norm import line_search_over_trace_norm
from .hybrid_gradient.restarted import hybrid_gradient
from .interior import expected_cost, interior_point, interior_point_to_the_zeros
from .low_rank.accelerated_soft_impute import has_trace_norm, singular_gradients
from .newton.by_moments import by_moments, is_tall_table
from .newton.on_small_table import is_small_table, newton_on_small_table
from .newton.proximal_multipliers import proximal_multipliers
from .row_space import has_cones_in_row_space, has_smooth_row_space, in_row_space
from .separate_outputs import has_separate_outputs
from .structured.bundle import bundle
from .structured.smooth import smooth


def has_trace_norm_ball(problem: Problem) -> bool:
    """Whether all outputs have one X, and the penalty is a ridge on a ball of the trace norm."""
    penalty, rows = problem.penalty, problem.rows
    if penalty.structure is not Structure.SPECTRAL:
        return False
    of_values = penalty.of_conjugate_arguments
    is_ball = of_values.structure is Structure.BALL and of_values.without_ridge()[0] > 0.0
    # with one output, the rows of X are matrices themselves
    n_outputs = penalty.n_outputs
    fits = penalty.has_cones_of_outputs and problem.n_outputs in (1, n_outputs)
    return is_ball and fits and rows.design.shares_data


def has_blocks(problem: Problem) -> bool:
    """Whether the penalty is a sum over coefficients or groups, of several outputs over rows."""
    penalty, K = problem.penalty, problem.n_outputs
    if K == 1 or penalty.structure is not Structure.GROUPED:
        return bool(penalty.structure.is_block_separable)
    labels, (_, weights) = penalty.labels, penalty.group_terms
    is_by_rows = np.array_equal(labels, np.repeat(labels[::K], K))
    return is_by_rows and len(weights) == len(labels) // K


# What several methods support, and the words for it
Supported = tuple[Callable[[Problem], bool], str]
VALUES: Supported = (lambda p: p.has_values), "X in memory, with a prediction for each y"
BALL: Supported = (lambda p: p.penalty.structure is Structure.BALL), "an l1 ball"
CONES: Supported = (lambda p: expected_cost(p) < inf), "a loss and a penalty with cones"
SCORES: Supported = (lambda p: p.rows.of_scores), "a loss of all scores"
NORMS: Supported = (lambda p: p.penalty.structure is Structure.OF_NORM), "a function of a norm"
SEPARATE_OUTPUTS: Supported = has_separate_outputs, "a loss and a penalty of single outputs"
WIDE: Supported = has_smooth_row_space, "a squared l2 penalty and a wide dense table"

# The methods that "auto" tries, but for those of `skpd.solvers.published` and those that solve
# other problems by it. Several methods may have the same name, each for problems of its own.
ENGINES: dict[str, Method] = {
    "multipliers": Method(
        "multipliers", proximal_multipliers, has_blocks,
        "a penalty of single features or of groups",
    ),
    "moments": Method(
        "moments", by_moments, is_tall_table, "least squares, and many rows for each feature"
    ),
    "multipliers on a small table": Method(
        "multipliers", newton_on_small_table,
        lambda p: p.has_single_values and is_small_table(p),
        "a small table, a smooth loss and a penalty of single features",
    ),
    "dual-descent": Method(
        "dual-descent", dual_descent, lambda p: p.loss.is_compiled and has_square(p.penalty),
        "a squared l2 penalty and a compiled loss",
    ),
    "interior-point": Method("interior-point", interior_point, *CONES),
    "interior-point to the zeros": Method(
        "interior-point", interior_point_to_the_zeros, *CONES
    ),
    "interior-point in the row space": Method(
        "interior-point", partial(in_row_space, method=interior_point), has_cones_in_row_space,
        "several outputs, a squared l2 penalty and fewer rows than features",
    ),
    "hybrid-gradient": Method("hybrid-gradient", hybrid_gradient, *VALUES),
    "dual-descent of classes": Method(
        "dual-descent", class_descent, has_class_descent, "the loss of Crammer and Singer"
    ),
    "accelerated-gradient": Method(
        "accelerated-gradient", accelerated_gradients, lambda p: p.loss.smoothness < inf,
        "a smooth loss",
    ),
    "singular-gradient": Method(
        "singular-gradient", singular_gradients, has_trace_norm, "the trace norm and a smooth loss"
    ),
    "line-search-frank-wolfe": Method(
        "line-search-frank-wolfe", line_search_over_trace_norm,
        lambda p: p.loss.constant_curvature and has_trace_norm_ball(p),
        "least squares over a ball of the trace norm",
    ),
    "cutting-planes": Method("cutting-planes", bundle, *SCORES),
    "l-bfgs": Method(
        "l-bfgs", quasi_newton,
        lambda p: p.has_values and not p.loss.has_kinks and p.penalty.is_ridge,
        "a loss without kinks and a squared l2 penalty",
    ),
    "smooth": Method("smooth", smooth, *SCORES),
}  # fmt: skip

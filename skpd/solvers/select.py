"""The table of all methods, and those that are tried for a problem (`select`, `auto`)."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import numpy as np

from ..problems import Problem
from . import needs as need
from .accelerated.agm import agm
from .accelerated.outputs import accelerated_gradients
from .coordinates.classes import class_descent
from .coordinates.dual import dual_descent
from .coordinates.pairs import pair_descent
from .coordinates.random import approx, coordinate_descent
from .equivalent import centred, centred_problem, in_model
from .frank_wolfe.l1_ball import search_for_multiplier
from .frank_wolfe.pdbfw import pdbfw
from .frank_wolfe.settings import BALL
from .frank_wolfe.trace_norm import block_frank_wolfe, line_search_over_trace_norm
from .interior import faces_of_ball, interior_point, interior_point_to_the_zeros
from .low_rank.alternating import alternating_multipliers
from .low_rank.gradients import singular_gradients, soft_impute
from .low_rank.hybrid import pdprox_dual_of_entries
from .low_rank.restarted import pdprox_restarted_for_completion
from .newton.multipliers import method_of_multipliers
from .norms import by_slopes
from .orders import order_of
from .outputs import output_by_output
from .proximal.pdprox import pdprox_dual, pdprox_primal, pdprox_restarted
from .proximal.robust_saddle import hybrid_gradient
from .robust.certain_labels import certain_labels
from .robust.incremental import hybrid, ippa, isg
from .robust.multipliers import method_of_multipliers as robust_multipliers
from .run import Run
from .structured.agm import structured_agm
from .structured.bundle import bundle
from .structured.smooth import quasi_newton, smooth
from .structured.thresholds import by_threshold_rows


class Choice(NamedTuple):
    """A method that `auto` tries.

    Attributes
    ----------
    name : str
        The value of the fitted attribute ``solver_`` if the method finishes.
    reason : str
        The reason for trying the method at its place in the order.
    run : callable
        The method.
    """

    name: str
    reason: str
    run: Callable[..., None]


class Method(NamedTuple):
    """A row of the table of methods.

    Attributes
    ----------
    name : str
        The name by which `solve` knows the method, and the value of ``solver_``.
    run : callable
        The method, with the argument `skpd.solvers.run.Run` and with options of its own.
    requires : callable
        Returns the reason why the method cannot solve a problem, such as "needs an l1 ball"; an
        empty string if it can.
    use : str
        The problems for which it is worth trying, the reason of a `Choice`.
    """

    name: str
    run: Callable[..., None]
    requires: Callable[[Problem], str]
    use: str = "an algorithm as published"


def auto(run: Run) -> None:
    """Run the methods that `select` returns one after the other until the problem is solved."""
    own, found = run.monitor, centred_problem(run.problem)
    if found is not None:
        run = centred(run, *found)
    monitor = run.monitor
    choices = _selected(run.problem, run.start is not None)
    for after, choice in zip(range(len(choices) - 1, -1, -1), choices, strict=True):
        if run.is_over(monitor.n_iter):
            return
        own.method = choice.name
        # a trial may have many cheap iterations: half of them are left to later methods
        most = monitor.n_iter + (run.left + 1) // 2 if after else run.max_iter
        with suppress(np.linalg.LinAlgError):  # the next method is tried
            choice.run(run._replace(max_iter=most))
        run = run._replace(start=monitor.best)


_BLOCKS = partial(pdbfw, step_size="line-search", patience=BALL.block_passes)

# The methods by key. Several methods may have the same name: the first that can solve a problem
# is the one of that name.
METHODS: dict[str, Method] = {
    # methods that "auto" tries, in the orders of `skpd.solvers.orders`
    "multipliers": Method("multipliers", method_of_multipliers, need.needs_in_parts,
                          "a penalty of single features or of groups"),
    "dual-descent": Method("dual-descent", dual_descent, need.needs_square,
                           "a squared l2 penalty, and not thousands of rows for each feature"),
    "interior-point": Method("interior-point", interior_point, need.needs_cones,
                             "a penalty with a cone: iterations hardly depend on the data"),
    "interior-point to the zeros": Method(
        "interior-point", interior_point_to_the_zeros, need.needs_cones,
        "constraints are additional terms",
    ),
    "interior-point-faces": Method(
        "interior-point-faces", faces_of_ball, need.needs_largest_size,
        "the l-infinity norm of many features: those that are free are a working set",
    ),
    "hybrid-gradient": Method("hybrid-gradient", pdprox_restarted, need.needs_values,
                              "Newton steps would take long"),
    "block-frank-wolfe": Method("block-frank-wolfe", _BLOCKS, need.needs_ball,
                                "a squared l2 penalty that is not small beside the rows"),
    "multiplier-search": Method(
        "multiplier-search", partial(search_for_multiplier, method=auto), need.needs_ball,
        "a few penalised problems, each from the one before",
    ),
    "slopes-of-norm": Method(
        "slopes-of-norm", partial(by_slopes, method=auto), need.needs_function_of_norm,
        "a function of a norm: models with the norm are faster to find",
    ),
    "output by output": Method(
        "output by output", partial(output_by_output, method=auto), need.needs_separate_outputs,
        "neither the loss nor the penalty ties outputs together",
    ),
    "dual-descent of classes": Method("dual-descent", class_descent, need.needs_classes,
                                      "the loss of Crammer and Singer and a squared l2 penalty"),
    "accelerated-gradient": Method(
        "accelerated-gradient", accelerated_gradients, need.needs_smooth_outputs,
        "a smooth loss, and a penalty with a prox alone",
    ),
    "singular-gradient": Method(
        "singular-gradient", singular_gradients, need.needs_singular_values,
        "a smooth loss and the trace norm: few singular vectors at a time",
    ),
    "soft-impute": Method("soft-impute", soft_impute, need.needs_entries,
                          "a smooth loss, and the trace norm has a prox"),
    "alternating-multipliers": Method(
        "alternating-multipliers", alternating_multipliers, need.needs_entries,
        "a loss with kinks, and the trace norm has a prox",
    ),
    "hybrid-gradient of a matrix": Method(
        "hybrid-gradient", pdprox_restarted_for_completion, need.needs_entries,
        "a matrix that fits in memory",
    ),
    "certain-labels": Method("certain-labels", certain_labels, need.needs_robust_norm_1,
                             "norm 1, with which most models are the same for certain labels"),
    "multipliers of the robust SVM": Method(
        "multipliers", robust_multipliers, need.needs_robust,
        "many rows, or norm 2 and sparse ones, few of which have a loss that bends",
    ),
    "hybrid-gradient of the robust SVM": Method(
        "hybrid-gradient", hybrid_gradient, need.needs_robust, "what is left"
    ),
    "pair-descent": Method("pair-descent", pair_descent, need.needs_kernel_matrix,
                           "one kernel and a squared norm"),
    "line-search-frank-wolfe": Method(
        "line-search-frank-wolfe", line_search_over_trace_norm, need.needs_trace_norm_ball,
        "least squares over a ball of the trace norm",
    ),
    "threshold-rows": Method(
        "threshold-rows", partial(by_threshold_rows, method=auto),
        need.needs_thresholds, "a sum of margin losses, once the thresholds are unknowns",
    ),
    "cutting-planes": Method("cutting-planes", bundle, need.needs_scores,
                             "a maximum over labelings"),
    "l-bfgs": Method("l-bfgs", quasi_newton, need.needs_smooth_ridge,
                     "a squared l2 penalty of more features than a Newton step can handle"),
    "smooth": Method("smooth", smooth, need.needs_scores, "a soft maximum over labelings"),
    # the default, and algorithms as published
    "auto": Method("auto", auto, lambda problem: "", "the fastest method known for a problem"),
    "pdprox-dual": Method("pdprox-dual", in_model(pdprox_dual), need.needs_values),
    "pdprox-dual of entries": Method("pdprox-dual", pdprox_dual_of_entries, need.needs_entries),
    "pdprox-primal": Method("pdprox-primal", in_model(pdprox_primal), need.needs_values),
    "cd": Method("cd", coordinate_descent, need.needs_random_coordinates),
    "approx": Method("approx", approx, need.needs_random_coordinates),
    "agm": Method("agm", agm, need.needs_single_values),
    "agm of scores": Method("agm", structured_agm, need.needs_scores),
    "frank-wolfe": Method("frank-wolfe", block_frank_wolfe, need.needs_smooth_trace_norm_ball),
    "pdbfw": Method("pdbfw", pdbfw, need.needs_single_values),
    "isg": Method("isg", isg, need.needs_robust),
    "ippa": Method("ippa", ippa, need.needs_robust),
    "hybrid": Method("hybrid", hybrid, need.needs_robust),
}  # fmt: skip


def method_named(name: str, problem: Problem) -> Method:
    """The method of a name that can solve a problem.

    Raises
    ------
    ValueError
        If there is no such method, or if it cannot solve the problem.
    """
    named = [method for method in METHODS.values() if method.name == name]
    reasons = [method.requires(problem) for method in named]
    if "" in reasons:
        return named[reasons.index("")]
    if not named:
        names = ", ".join(sorted({repr(method.name) for method in METHODS.values()}))
        raise ValueError(f"solver must be one of {names}, got {name!r}.")
    raise ValueError(
        f"solver {name!r} {reasons[0]}, got {problem.loss!r} with {problem.penalty!r}."
    )


def select(problem: Problem, warm: bool = False) -> list[Choice]:
    """The methods that `auto` tries, in this order; ``warm`` is whether there is a start."""
    choices = []
    for key, budget, use, options in order_of(problem, warm):
        method, given = METHODS[key], dict(options)
        if budget is not None:
            given["budget"] = budget
        run = partial(method.run, **given) if given else method.run
        choices.append(Choice(method.name, use or method.use, run))
    return choices


def _selected(problem: Problem, warm: bool) -> list[Choice]:
    """The result of `select`, cached along a path."""
    if problem.workspace is None:
        return select(problem, warm)
    key, known = (problem.penalty.__class__, warm), problem.workspace.choices
    if key not in known:
        known[key] = select(problem, warm)
    return known[key]

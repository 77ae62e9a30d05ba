"""The choice of a method, and the method that tries several (`select`, `auto`).

`METHODS` holds those of `skpd.solvers.methods`, the published ones, and methods that solve other
problems by `auto`.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from math import inf

import numpy as np

from ..problems import Problem
from ..problems.plan import Attempt, Method
from .equivalent import centred, centred_problem, in_units, orthogonal
from .frank_wolfe.multiplier_search import search_for_multiplier
from .methods import BALL, ENGINES, NORMS, SEPARATE_OUTPUTS, WIDE
from .norms import by_slopes
from .published.methods import PUBLISHED
from .row_space import in_row_space
from .rules import by_rules
from .separate_outputs import output_by_output
from .solver_context import SolverContext


def select(problem: Problem, warm: bool = False) -> list[Attempt]:
    """The methods that `auto` tries, in this order: those of the problem's plan or of the rules.

    ``warm`` is whether there is a start.
    """
    attempts = by_rules if problem.plan is None else problem.plan.attempts
    return attempts(problem, warm)


def methods_of(problem: Problem) -> Mapping[str, Method]:
    """The methods by key: those for all problems, and those of the problem's plan."""
    return METHODS if problem.plan is None else {**METHODS, **problem.plan.methods}


def auto(context: SolverContext) -> None:
    """Run the methods that `select` returns one after the other until the problem is solved."""
    context = orthogonal(in_units(context))
    equivalent = centred_problem(context.problem)
    if equivalent is not None:
        context = centred(context, *equivalent)
    monitor, attempts = context.monitor, select(context.problem, context.start is not None)
    methods = methods_of(context.problem)
    for n_later, attempt in zip(range(len(attempts) - 1, -1, -1), attempts, strict=True):
        if context.is_over(monitor.n_iter):
            return
        method = methods[attempt.key]
        monitor.method = method.name
        limits = {"budget": attempt.budget} if attempt.budget < inf else {}
        # a trial may have many cheap iterations: half of them are left to later methods
        max_iter = monitor.n_iter + (context.left + 1) // 2 if n_later else context.max_iter
        n_before = monitor.n_iter
        with suppress(np.linalg.LinAlgError):  # the next method is tried
            method.run(context._replace(max_iter=max_iter), **limits, **attempt.options)
        if monitor.n_iter > n_before:  # otherwise the start is that of the next method
            context = context._replace(start=monitor.best)


# Methods that solve other problems by `auto`, with the problems that they support
REDUCTIONS = {
    name: Method(name, partial(method, method=auto), *supported)
    for name, method, supported in (
        ("multiplier-search", search_for_multiplier, BALL),
        ("slopes-of-norm", by_slopes, NORMS),
        ("output-by-output", output_by_output, SEPARATE_OUTPUTS),
        ("row-space", in_row_space, WIDE),
    )
}
METHODS = ENGINES | REDUCTIONS | PUBLISHED
METHODS["auto"] = Method("auto", auto, lambda problem: True, "any problem")

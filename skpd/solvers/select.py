"""The selection of methods for a problem (`auto`, `select`)."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial, singledispatch
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ..designs import newton_cost
from ..penalties import Structure
from ..problems import Point, Problem
from .centring import centred
from .coordinates.dual import dual_descent, has_square
from .interior import (
    expected_cost,
    faces_of_ball,
    has_decompositions,
    interior_point,
)
from .monitor import Monitor
from .newton.multipliers import method_of_multipliers
from .newton.settings import SETTINGS as NEWTON
from .proximal.pdprox import pdprox_restarted

__all__ = [
    "AGAIN", "INTERIOR_POINT", "LAST_RESORT", "SETTINGS", "TRIALS", "Choice",
    "SelectionSettings", "auto", "is_far_without_intercept", "last_budget", "select",
]  # fmt: skip


@dataclass(frozen=True)
class SelectionSettings:
    """Settings of the selection, with costs in the units of `skpd.designs.newton_cost`."""

    # Rows for each variable above which a Newton step costs less than passes of dual descent
    many_rows: int = 2000
    # The cost of a Newton step on all rows and features up to which data count as small, 0.5 ms
    small_step: float = 4e5
    # The cost of a run of Newton steps above which gradient methods are tried first, 10 s
    long_run: float = 1e10
    # The largest cost of methods that may stall, as a share of that of the interior-point method:
    # without a start, and with one, from which they usually need less
    trial_share: float = 0.5
    warm_trial_share: float = 1.0
    # Dual descent takes either few passes or hundreds. It may take the time of this many Newton
    # steps on all rows and features, about that of the method of multipliers, so that both
    # together take at most twice as long.
    descent_steps: float = 6.0
    # With an l1 norm, dual descent is tried if the mean square of a row is at most this times n
    # times the weight of the squared l2 norm, as the number of its passes grows with this ratio.
    descent_condition: float = 1.0
    # Problems that the interior-point method leaves unsolved are mostly limited by rounding
    # errors. The last method may take this many times its cost, plus a second for small problems.
    last_share: float = 4.0
    last_cost: float = 1e9


SETTINGS = SelectionSettings()


def auto(
    problem: Problem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
) -> None:
    """Run the methods that `select` returns one after the other until the problem is solved.

    Parameters
    ----------
    problem, monitor, start, max_iter, random_state
        See `skpd.solvers.proximal.pdprox.pdprox_dual`.
    """
    own = monitor
    found = problem.centred
    if found is not None:
        problem, monitor, start = centred(*found, monitor, start)
    choices = _selected(problem, start is not None)
    for after, choice in zip(range(len(choices) - 1, -1, -1), choices, strict=True):
        left = max_iter - monitor.n_iter
        if monitor.done or left <= 0:
            return
        own.method = choice.name
        # a trial may have many cheap iterations: half of them are left to later methods
        most = monitor.n_iter + (left + 1) // 2 if after else max_iter
        with suppress(np.linalg.LinAlgError):  # the next method is tried
            choice.run(problem, monitor, start, max_iter=most, random_state=random_state)
        start = monitor.best


def _selected(problem: Problem, warm: bool) -> "list[Choice]":
    """The result of `select`, cached along a path."""
    if problem.workspace is None:
        return select(problem, warm)
    key, known = (type(problem.penalty), warm), problem.workspace.choices
    if key not in known:
        known[key] = select(problem, warm)
    return known[key]


class Choice(NamedTuple):
    """A method that `auto` tries.

    Attributes
    ----------
    name : str
        The value of the fitted attribute ``solver_`` if the method finishes.
    reason : str
        The reason for trying the method at its place in the order.
    run : callable
        The method, with the signature of those in `skpd.solvers.SOLVERS`.
    """

    name: str
    reason: str
    run: Callable[..., None]


DUAL_DESCENT = "dual-descent", "a squared l2 penalty, and not thousands of rows for each feature"
MULTIPLIERS = "multipliers", "a penalty of single features or of groups"
INTERIOR_POINT = "interior-point", "a penalty with a cone: iterations hardly depend on the data"
PRECISE = "interior-point", "with Newton systems that keep digits which rounding took before"
FACES = (
    "interior-point-faces",
    "the l-infinity norm of many features: those that are free are a working set",
)
GRADIENTS = "hybrid-gradient", "Newton steps would take long"
AGAIN = "multipliers", "without a limit, as the interior-point method did not finish"
LAST_RESORT = "hybrid-gradient", "what is left"


# methods to try before the interior-point method, which may be slow, by structure of the penalty
TRIALS: dict[Structure, Callable[[Problem, bool], list[Choice]]] = {}


@singledispatch
def select(problem: Any, warm: bool = False) -> list[Choice]:
    """The methods that `auto` tries, in this order; ``warm`` is whether there is a start.

    1. For a squared l2 penalty, with or without an l1 norm: dual coordinate descent, if the loss
       has linear pieces and there are not thousands of rows for each feature. Without an l1 norm
       it is also tried if there are more features than a Newton step can handle.
    2. For penalties that are separable or sums over groups: the method of multipliers over
       proximal Newton steps. It ends unfinished if the gap no longer decreases or thousands of
       features stay active.
    3. For penalties with a representation by cones: the interior-point method, whose number of
       iterations hardly depends on the data. It comes first where it takes milliseconds and 2.
       would have to identify kinks without a start, or has features far from 0 without an
       intercept, and where 2. does not apply. Otherwise the other methods may first take a share
       of its time. For the l-infinity norm of many features it uses a working set of free
       coefficients. Where it would be slow, other methods come before it: for an l1 ball those of
       `skpd.solvers.frank_wolfe.l1_ball`, which come first for some losses anyway, otherwise
       gradient methods. If it ends unfinished on small data, a second, more precise run follows.
    4. For the rest: 2. without a limit, and the restarted primal-dual hybrid gradient, which may
       take a few times the cost of 3. after it.

    A loss that is not compiled is solved by 2. and 4., which use only its prox and derivatives.
    """
    penalty, design = problem.penalty, problem.design
    few_features = problem.n_features <= NEWTON.largest_working_set
    by_newton = penalty.structure.in_parts
    by_newton &= few_features or not penalty.is_quadratic
    cost = expected_cost(problem)
    # small data on which the Newton steps of other methods may converge slowly
    at_once = newton_cost(design, *design.shape) <= SETTINGS.small_step and not warm
    at_once &= cost < inf
    at_once &= problem.loss.linear_tails or is_far_without_intercept(problem)
    trials: list[Choice] = []
    if has_square(penalty) and problem.loss.is_compiled:
        few_rows = problem.n_samples < SETTINGS.many_rows * problem.n_variables
        promising = problem.loss.linear_tails and few_rows
        if not penalty.is_quadratic:
            promising = promising and not at_once and _descends_soon(problem)
        if promising or (penalty.is_quadratic and not few_features):
            trials.append(Choice(*DUAL_DESCENT, dual_descent))
    if by_newton and not at_once:
        trials.append(Choice(*MULTIPLIERS, method_of_multipliers))
    long = cost > SETTINGS.long_run
    own = TRIALS[penalty.structure](problem, long) if penalty.structure in TRIALS else []
    if not (by_newton or own) and long and cost < inf:
        trials.append(Choice(*GRADIENTS, pdprox_restarted))
    by_faces = penalty.structure is Structure.MAXIMUM and problem.loss.has_cones
    if cost == inf and by_faces:
        trials.append(Choice(*FACES, faces_of_ball))
    if cost == inf:
        return [*own, *trials, Choice(*LAST_RESORT, pdprox_restarted)]
    budget = (SETTINGS.warm_trial_share if warm else SETTINGS.trial_share) * cost
    methods = [trial._replace(run=partial(trial.run, budget=budget)) for trial in trials]
    if len(methods) > 1 and methods[0].name == DUAL_DESCENT[0]:
        few_steps = SETTINGS.descent_steps * newton_cost(design, *design.shape)
        descent = partial(dual_descent, budget=min(few_steps, budget))
        methods[0] = methods[0]._replace(run=descent)
    methods.append(Choice(*INTERIOR_POINT, interior_point))
    if has_decompositions(problem):
        methods.append(Choice(*PRECISE, partial(interior_point, precise=True)))
    if by_newton:
        methods.append(Choice(*AGAIN, method_of_multipliers))
    last = partial(pdprox_restarted, budget=last_budget(cost))
    return [*own, *methods, Choice(*LAST_RESORT, last)]


def _descends_soon(problem: Problem) -> bool:
    """Whether dual descent is likely to need few passes, as the squared l2 norm is not small.

    With a free intercept it would run several times, and Newton's method is faster.
    """
    if problem.fit_intercept:
        return False
    penalty: Any = problem.penalty
    square_of_rows = float(np.sum(problem.squares[: problem.n_features]))
    ridge = problem.alpha * penalty.terms[1]
    return square_of_rows <= SETTINGS.descent_condition * ridge * problem.n_samples


def last_budget(cost: float) -> float:
    """The largest cost of the last method after an interior-point method of the given cost."""
    return SETTINGS.last_share * cost + SETTINGS.last_cost


def is_far_without_intercept(problem: Problem) -> bool:
    """Whether features are far from 0 and there is no intercept to compensate for a shift."""
    return not problem.fit_intercept and (problem.shift_of_features() is not None)

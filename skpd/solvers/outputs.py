"""The selection of methods for several outputs."""

from functools import partial
from math import inf

import numpy as np

from ..penalties import Structure
from ..problems import Point, Problem
from ..problems.outputs import OutputsProblem
from ..problems.quantiles import NonCrossingProblem
from .accelerated.outputs import accelerated_gradients
from .coordinates.classes import class_descent, has_class_descent
from .interior import expected_cost_of_outputs, interior_point
from .low_rank import has_trace_norm, singular_gradients
from .monitor import Monitor
from .newton import output_rows  # noqa: F401 (which registers its rows)
from .newton.multipliers import method_of_multipliers
from .proximal.outputs import pdprox_restarted_for_outputs
from .select import (
    AGAIN,
    GRADIENTS,
    INTERIOR_POINT,
    LAST_RESORT,
    MULTIPLIERS,
    SETTINGS,
    Choice,
    auto,
    is_far_without_intercept,
    select,
)

__all__ = ["select_for_outputs", "select_for_quantiles"]

ACCELERATED = "accelerated-gradient", "a smooth loss, and a penalty with a prox alone"
SINGULAR = "singular-gradient", "a smooth loss and the trace norm: few singular vectors at a time"
OUTPUT_BY_OUTPUT = "output by output", "neither the loss nor the penalty ties outputs together"
BY_QUANTILE = "output by output", "quantiles alone: where they do not cross, they are optimal"
CLASS_DESCENT = "dual-descent", "the loss of Crammer and Singer and a squared l2 penalty"
# The largest cost of the method of multipliers, in runs of the interior-point method. Its usual
# cost is that of one or two runs, unless it stalls.
MOST_RUNS = 2.0
SHARE = 0.5  # share of the allowed gap for the separate problems of the outputs
FINER, ROUNDS = 0.1, 4  # factor of the tolerance in another round, and the number of rounds


@select.register
def select_for_outputs(problem: OutputsProblem, warm: bool = False) -> list[Choice]:
    """The methods for several outputs, in the order in which they are tried.

    If neither loss nor penalty couples the outputs, each of them is solved separately. Otherwise:

    - Dual descent is tried for the loss of Crammer and Singer with a squared l2 norm and without
      intercepts. It leaves ill-conditioned problems to the next method.
    - The method of multipliers is tried for penalties that are sums over coefficients or groups,
      and accelerated gradients for other penalties with a smooth loss.
    - The interior-point method solves the rest, and losses with kinks. If it would take long or
      too much memory, or does not support the problem, the hybrid gradient comes before it.

    With features far from 0 and no intercept, the interior-point method comes before the method of
    multipliers, whose Newton steps would be expensive.
    """
    structure, cost = problem.penalty.structure, expected_cost_of_outputs(problem)
    last = [Choice(*LAST_RESORT, pdprox_restarted_for_outputs)]
    if cost < inf:
        last.insert(0, Choice(*INTERIOR_POINT, interior_point))
    if structure is Structure.SEPARABLE and not problem.loss.couples_outputs:
        return [Choice(*OUTPUT_BY_OUTPUT, output_by_output), *last]
    if structure.in_parts:
        first = partial(method_of_multipliers, budget=MOST_RUNS * cost)
        methods = [Choice(*MULTIPLIERS, first), *last]
        if cost < inf:
            methods.insert(2, Choice(*AGAIN, method_of_multipliers))
        if cost <= SETTINGS.long_run and not warm and is_far_without_intercept(problem):
            methods = [methods[1], methods[0], *methods[2:]]
        if has_class_descent(problem):
            return [Choice(*CLASS_DESCENT, class_descent), *methods]
        return methods
    if has_trace_norm(problem):
        return [Choice(*SINGULAR, singular_gradients), *last]
    if problem.loss.smoothness < inf:
        trial = partial(accelerated_gradients, budget=_trial_budget(cost, warm))
        return [Choice(*ACCELERATED, trial), *last]
    return _gradients_before_long_runs(cost, warm)


@select.register
def select_for_quantiles(problem: NonCrossingProblem, warm: bool = False) -> list[Choice]:
    """The methods for several quantiles: separate problems if possible, then the joint problem.

    Separate problems take a fraction of the time, and often suffice: if their solutions do not
    cross, they are optimal for the joint problem.
    """
    methods = _gradients_before_long_runs(expected_cost_of_outputs(problem), warm)
    if problem.penalty.structure is not Structure.SEPARABLE:
        return methods
    return [Choice(*BY_QUANTILE, partial(output_by_output, rounds=1)), *methods]


def _gradients_before_long_runs(cost: float, warm: bool) -> list[Choice]:
    """The interior-point method, with a trial of the hybrid gradient before it if it is costly."""
    trial = partial(pdprox_restarted_for_outputs, budget=_trial_budget(cost, warm))
    gradients, last = Choice(*GRADIENTS, trial), Choice(*LAST_RESORT, pdprox_restarted_for_outputs)
    if cost == inf:
        return [gradients]
    trials = [gradients] if cost > SETTINGS.long_run else []
    return [*trials, Choice(*INTERIOR_POINT, interior_point), last]


def _trial_budget(cost: float, warm: bool) -> float:
    """The largest cost of a trial before an interior-point method of the given cost."""
    return (SETTINGS.warm_trial_share if warm else SETTINGS.trial_share) * cost


def output_by_output(
    problem: OutputsProblem,
    monitor: Monitor,
    start: Point | None,
    *,
    max_iter: int,
    random_state: np.random.RandomState,
    rounds: int = ROUNDS,
) -> None:
    """Solve the separate problems of the outputs, the sum of whose gaps is the gap of all.

    If the sum is too large, the problems are solved more accurately, in at most ``rounds`` rounds.
    No further round follows if a problem has not reached its tolerance.
    """
    K = problem.n_outputs
    alone = [problem.of_output(k) for k in range(K)]
    totals = [float(np.sum(problem.weights[rows])) for rows in problem.places]
    allowed = SHARE * monitor.tol * problem.objective_unit / K
    for _ in range(rounds):
        coef, intercept = np.zeros((problem.n_features // K, K)), np.zeros(K)
        theta, n_iter, reached = np.zeros(problem.n_samples), monitor.n_iter, True
        for k, (one, total) in enumerate(zip(alone, totals, strict=True)):
            rows, own = problem.places[k], None
            if start is not None:
                w, b = start.coef.reshape(-1, K)[:, k], float(np.atleast_1d(start.intercept)[k])
                own = Point(
                    np.ascontiguousarray(w), b, np.ascontiguousarray(start.dual_coef[rows])
                )
            found = _solve_alone(one, allowed / total, own, max_iter, random_state)
            coef[:, k], theta[rows] = found.best.coef, found.best.dual_coef
            intercept[k] = float(found.best.intercept)
            n_iter = max(n_iter, monitor.n_iter + found.n_iter)
            reached &= found.done
        start = Point(np.ravel(coef), intercept, theta)
        monitor.check(n_iter, start)
        if monitor.done or not reached or monitor.n_iter >= max_iter:
            return
        allowed *= FINER


def _solve_alone(
    problem: Problem, gap: float, start: Point | None, max_iter: int,
    random_state: np.random.RandomState,
) -> Monitor:  # fmt: skip
    """The monitor with the solution of a problem up to a given gap."""
    problem = problem.in_workspace()
    unit = problem.objective_unit
    monitor = Monitor(problem, gap / unit if unit > 0.0 else np.inf)
    monitor.begin(has_start=start is not None)
    if not monitor.done:
        auto(problem, monitor, start, max_iter=max_iter, random_state=random_state)
    return monitor

"""The order in which methods are tried for each form of problems."""

from collections.abc import Callable, Mapping
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..designs import newton_cost
from ..penalties import Structure
from ..problems import Problem
from . import needs as need
from .frank_wolfe.l1_ball import is_well_conditioned
from .interior import cost_of_run, expected_cost, has_decompositions
from .interior.settings import SETTINGS as INTERIOR
from .low_rank.settings import SETTINGS as LOW_RANK
from .newton.settings import SETTINGS as NEWTON
from .robust.settings import SELECTION as ROBUST
from .settings import SETTINGS
from .structured.settings import GRADIENTS


class Try(NamedTuple):
    """A method of the table by its key, as it is tried at a place in the order.

    Attributes
    ----------
    key : str
    budget : float or None
        The largest cost that the method may have.
    use : str
        The reason for trying it there; that of the table by default.
    options : dict
        Options of the method.
    """

    key: str
    budget: float | None = None
    use: str = ""
    options: Mapping[str, Any] = MappingProxyType({})


AGAIN = "without a limit, as the interior-point method did not finish"
LAST = "what is left"
TRIAL = "for as long as Newton steps take, which correlated features need"
PRECISE: dict[str, Any] = {
    "use": "with Newton systems that keep digits which rounding took before",
    "options": {"precise": True},
}


# The order in which methods are tried


def _order_of_values(problem: Problem, warm: bool) -> list[Try]:
    """The order for a loss of one prediction for each row, in memory.

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
       `_trials_over_ball`, which come first for some losses anyway, otherwise gradient methods. If
       it ends unfinished on small data, a second, more precise run follows.
    4. For the rest: 2. without a limit, and the restarted primal-dual hybrid gradient, which may
       take a few times the cost of 3. after it.

    A loss that is not compiled is solved by 2. and 4., which use only its prox and derivatives,
    or by L-BFGS, for a squared l2 penalty of more features than a Newton step can handle.
    """
    penalty, design = problem.penalty, problem.design
    few_features = problem.n_coefficients <= NEWTON.largest_working_set
    by_newton = not need.needs_in_parts(problem)
    by_newton &= few_features or not penalty.is_quadratic
    cost = expected_cost(problem)
    # small data on which the Newton steps of other methods may converge slowly
    at_once = newton_cost(design, *design.shape) <= SETTINGS.small_step and not warm
    at_once &= cost < inf
    at_once &= problem.loss.linear_tails or _is_far_without_intercept(problem)
    trials: list[Try] = []
    if not need.needs_square(problem):
        few_rows = problem.n_samples < SETTINGS.many_rows * problem.n_variables
        promising = problem.loss.linear_tails and few_rows
        if not penalty.is_quadratic:
            promising = promising and not at_once and _descends_soon(problem)
        if promising or (penalty.is_quadratic and not few_features):
            trials.append(Try("dual-descent"))
    if by_newton and not at_once:
        trials.append(Try("multipliers"))
    if need.needs_square(problem) and not (few_features or need.needs_smooth_ridge(problem)):
        trials.append(Try("l-bfgs"))
    long = cost > SETTINGS.long_run
    own = _trials_over_ball(problem, long) if not need.needs_ball(problem) else []
    if not need.needs_function_of_norm(problem):
        own = [Try("slopes-of-norm")]
    if not (by_newton or own) and long and cost < inf:
        trials.append(Try("hybrid-gradient"))
    if cost == inf and not need.needs_largest_size(problem):
        trials.append(Try("interior-point-faces"))
    if cost == inf:
        return [*own, *trials, Try("hybrid-gradient", use=LAST)]
    budget = SETTINGS.trial_budget(cost, warm)
    methods = [trial._replace(budget=budget) for trial in trials]
    if len(methods) > 1 and methods[0].key == "dual-descent":
        few_steps = SETTINGS.descent_steps * newton_cost(design, *design.shape)
        methods[0] = Try("dual-descent", budget=min(few_steps, budget))
    methods.append(Try("interior-point"))
    if has_decompositions(problem):
        methods.append(Try("interior-point", **PRECISE))
    if by_newton:
        methods.append(Try("multipliers", use=AGAIN))
    return [*own, *methods, Try("hybrid-gradient", SETTINGS.last_budget(cost), LAST)]


def _trials_over_ball(problem: Problem, long: bool) -> list[Try]:
    """The methods for an l1 ball that come before those for every penalty.

    ``long`` is whether the latter are expected to be slow.

    1. Primal-dual block Frank-Wolfe with line search, if the squared l2 penalty is not small in
       comparison with the squared norms of the rows: the number of passes over the data grows with
       this ratio. For losses whose conjugate is a parabola it is fast on data of any size.
    2. The penalised problem at the multiplier lambda of the constraint, solved by `auto`. The norm
       of its solution decreases with lambda, and the root is found with a few warm-started
       solutions. For the squared loss a solution is one Newton step. For other losses this method
       is used if the methods for every penalty would be slow.
    """
    loss, trials = problem.loss, []
    if is_well_conditioned(problem) and (long or loss.piecewise_quadratic):
        trials.append(Try("block-frank-wolfe"))
    large = newton_cost(problem.design, *problem.design.shape) > SETTINGS.small_step
    if long or (loss.constant_curvature and large):
        trials.append(Try("multiplier-search"))
    return trials


def _descends_soon(problem: Problem) -> bool:
    """Whether dual descent is likely to need few passes, as the squared l2 norm is not small.

    The number of passes grows with the ratio of the mean square of a row to n times its weight.
    With a free intercept it would run several times, and Newton's method is faster.
    """
    if problem.fit_intercept:
        return False
    penalty: Any = problem.penalty
    square_of_rows = float(np.sum(problem.squares[: problem.n_coefficients]))
    ridge = problem.alpha * penalty.terms[1]
    return square_of_rows <= ridge * problem.n_samples


def _is_far_without_intercept(problem: Problem) -> bool:
    """Whether features are far from 0 and there is no intercept to compensate for a shift."""
    return (
        not problem.fit_intercept and problem.rows.shift_of_features(problem.penalty) is not None
    )


def _order_of_constraints(problem: Problem, warm: bool) -> list[Try]:
    """The interior-point method, in which a constraint is an additional term.

    Raises
    ------
    ValueError
        If the method does not support the loss, the penalty or the size of the data.
    """
    n, d = problem.design.shape
    constraints: Any = problem.constraints
    if not problem.loss.has_cones:
        raise ValueError(f"constraints need a loss of skpd.losses, got {problem.loss!r}.")
    if not problem.penalty.has_cones:
        raise ValueError(f"constraints need a penalty of skpd.penalties, got {problem.penalty!r}.")
    most, unknowns = INTERIOR.largest_system, len(constraints)
    if need.needs_cones(problem) or unknowns > most:
        raise ValueError(
            f"constraints need at most {most} rows, and data of at most {most} samples or "
            f"features (features, with this penalty), got {unknowns} rows, {n} samples and {d} "
            "features."
        )
    precise = Try("interior-point to the zeros", **PRECISE)
    if n < d <= most:  # systems of the rows are too inexact to detect zeros
        return [precise]
    first = Try("interior-point to the zeros")
    return [first, precise] if has_decompositions(problem) else [first]


def _order_of_shards(problem: Problem, warm: bool) -> list[Try]:
    """The method of multipliers, which needs few passes over the rows and uses only their sums.

    For an l1 ball, it solves a sequence of penalised problems.

    Raises
    ------
    ValueError
        If the penalty is not a sum over features or groups, or if it does not set features to 0
        and there are too many features for Newton steps.
    """
    if not need.needs_ball(problem):
        return [Try("multiplier-search")]
    few_features = problem.n_coefficients <= NEWTON.largest_working_set
    if not need.needs_in_parts(problem) and (few_features or not problem.penalty.is_quadratic):
        return [Try("multipliers")]
    raise ValueError(
        "X in blocks or chunks needs a penalty of single features or of groups, and at most "
        f"{NEWTON.largest_working_set} features if it leaves none of them at 0, got "
        f"{problem.penalty!r} and {problem.n_coefficients} features: other methods would read all "
        "rows thousands of times."
    )


def _order_of_outputs(problem: Problem, warm: bool) -> list[Try]:
    """The order for several outputs.

    If neither loss nor penalty couples the outputs, each of them is solved separately. Otherwise:

    - Dual descent is tried for the loss of Crammer and Singer with a squared l2 norm, unless there
      are intercepts, which take several rounds, and few features. It leaves ill-conditioned
      problems to the next method.
    - The method of multipliers is tried for penalties that are sums over coefficients or groups,
      and accelerated gradients for other penalties with a smooth loss.
    - The interior-point method solves the rest, and losses with kinks. If it would take long or
      too much memory, or does not support the problem, the hybrid gradient comes before it.

    With features far from 0 and no intercept, the interior-point method comes before the method of
    multipliers, whose Newton steps would be expensive.
    """
    cost, last = expected_cost(problem), [Try("hybrid-gradient", use=LAST)]
    if problem.loss.of_quantiles:
        methods = _gradients_before_long_runs(cost, warm)
        # separate problems take a fraction of the time, and often suffice
        use = "quantiles that do not cross by themselves are optimal"
        alone = [Try("output by output", use=use, options={"rounds": 1})]
        alone = [] if need.needs_separate_outputs(problem) else alone
        if problem.n_outputs <= SETTINGS.few_quantiles and not need.needs_in_parts(problem):
            alone.append(Try("multipliers", budget=SETTINGS.most_runs * cost))
        return [*alone, *methods]
    if cost < inf:
        last.insert(0, Try("interior-point"))
    if not need.needs_trace_norm_ball(problem):
        return [Try("line-search-frank-wolfe"), *last]
    if not need.needs_separate_outputs(problem):
        return [Try("output by output"), *last]
    if not need.needs_in_parts(problem):
        methods = [Try("multipliers", budget=SETTINGS.most_runs * cost), *last]
        if cost < inf:
            methods.insert(2, Try("multipliers", use=AGAIN))
        if cost <= SETTINGS.long_run and not warm and _is_far_without_intercept(problem):
            methods = [methods[1], methods[0], *methods[2:]]
        few_features = problem.n_coefficients <= NEWTON.largest_working_set
        if need.needs_classes(problem) or (problem.fit_intercept and few_features):
            return methods
        return [Try("dual-descent of classes"), *methods]
    if not need.needs_singular_values(problem):
        return [Try("singular-gradient"), *last]
    if not need.needs_smooth_outputs(problem):
        return [Try("accelerated-gradient", budget=SETTINGS.trial_budget(cost, warm)), *last]
    return _gradients_before_long_runs(cost, warm)


def _gradients_before_long_runs(cost: float, warm: bool) -> list[Try]:
    """The interior-point method, with a trial of the hybrid gradient before it if it is costly."""
    trial = Try("hybrid-gradient", budget=SETTINGS.trial_budget(cost, warm))
    if cost == inf:
        return [trial]
    trials = [trial] if cost > SETTINGS.long_run else []
    return [*trials, Try("interior-point"), Try("hybrid-gradient", use=LAST)]


def _order_of_entries(problem: Problem, warm: bool) -> list[Try]:
    """Accelerated gradients for smooth losses, or alternating multipliers, unless data are few."""
    if problem.loss.smoothness < inf:
        return [Try("soft-impute")]
    sides = problem.design.n_left, problem.design.n_right
    small = sides[0] * sides[1] <= LOW_RANK.dense_entries
    last = [Try("hybrid-gradient of a matrix")] if small else []
    patience = LOW_RANK.patience if small else inf
    first = Try("alternating-multipliers", options={"patience": patience})
    return last if small and min(sides) < LOW_RANK.least_side else [first, *last]


def _order_of_soft_maxima(problem: Any, warm: bool) -> list[Try]:
    """Newton steps for losses with a bound on the Hessian, gradient methods for the rest."""
    loss, n_features, last = problem.loss, problem.n_coefficients, [Try("smooth")]
    if not loss.has_curvature or need.needs_in_parts(problem):
        return last
    newton = [Try("multipliers"), *last]
    if not problem.penalty.is_quadratic:
        return newton
    n_entries = n_features * loss.n_scores if loss.hessian_by_table else 0
    if n_features > NEWTON.score_features or n_entries > NEWTON.largest_score_table:
        return last
    trial = Try("smooth", use=TRIAL, options={"most": GRADIENTS.trial})
    return [trial, *newton] if loss.hessian_by_table else newton


def _order_of_maxima(problem: Problem, warm: bool) -> list[Try]:
    """Cutting planes, unless the loss is a sum of margin losses."""
    last = [Try("cutting-planes")]
    return last if need.needs_thresholds(problem) else [Try("threshold-rows"), *last]


def _order_of_robust(problem: Any, warm: bool) -> list[Try]:
    """The order for the robust SVM.

    1. For norm 1, unless data are small: the ordinary problem for certain labels, for a share of
       the cost of 3.
    2. For many rows, or norm 2 and sparse ones, for which 3. and 4. take 4 to 20 times as long:
       the method of multipliers, for a share of the cost of 3., unless features are far from 0.
    3. The interior-point method, if a system of the smaller side of X fits in memory.
    4. For the rest: a restarted primal-dual hybrid gradient, which may take a few times the cost
       of 3. after it.
    """
    if len(problem.free_columns):
        return [Try("interior-point")]
    few = min(problem.design.shape) <= INTERIOR.largest_system
    cost = cost_of_run(problem.design)
    budget = SETTINGS.last_budget(cost) if few else inf
    last = Try("hybrid-gradient of the robust SVM", budget=budget)
    trials, trial_budget = [], SETTINGS.trial_share * cost if few else inf
    if problem.penalty.q == 1 and cost > ROBUST.least_cost:
        trials.append(Try("certain-labels", budget=trial_budget))
    tall = problem.n_samples >= ROBUST.many_rows * (problem.n_variables - 1)
    suits = tall or (problem.penalty.q == 2 and not problem.design.dense)
    large = suits and cost > ROBUST.least_cost
    if large and problem.rows.shift_of_features(problem.penalty) is None:
        trials.append(Try("multipliers of the robust SVM", budget=trial_budget))
    return [*trials, Try("interior-point"), last] if few else [*trials, last]


Order = Callable[[Any, bool], list[Try]]


def _only(key: str) -> Order:
    return lambda problem, warm: [Try(key)]


# the first form that a problem has decides; other problems are those of `_order_of_values`
ORDERS: list[tuple[Callable[[Any], bool], Order]] = [
    (lambda problem: problem.loss.has_radius, _order_of_robust),
    (lambda problem: problem.penalty.structure is Structure.OF_ROWS, _only("pair-descent")),
    (lambda problem: problem.constraints is not None, _order_of_constraints),
    (lambda problem: not problem.rows.in_memory, _order_of_shards),
    (lambda problem: problem.rows.of_entries, _order_of_entries),
    (lambda problem: problem.rows.of_scores and problem.loss.is_smooth, _order_of_soft_maxima),
    (lambda problem: problem.rows.of_scores, _order_of_maxima),
    (lambda problem: problem.rows.of_outputs, _order_of_outputs),
]


def order_of(problem: Problem, warm: bool) -> list[Try]:
    """The methods that are tried for a problem; ``warm`` is whether there is a start."""
    for has_form, order in ORDERS:
        if has_form(problem):
            return order(problem, warm)
    return _order_of_values(problem, warm)

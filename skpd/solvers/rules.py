"""Which methods are tried for a problem, in which order and with which budgets (`by_rules`)."""

from math import inf

from ..designs import newton_cost
from ..designs.gram import BLAS
from ..penalties import Structure
from ..problems import Problem
from ..problems.plan import Attempt
from ..problems.structured_rows import RowsOfScores
from .coordinates.dual import takes_few_passes
from .frank_wolfe.multiplier_search import is_well_conditioned
from .interior import expected_cost, has_row_systems
from .interior.settings import SETTINGS as INTERIOR
from .methods import ENGINES
from .newton.settings import SETTINGS as NEWTON
from .row_space import has_smooth_row_space
from .selection_settings import SETTINGS
from .separate_outputs import has_separate_outputs
from .structured.settings import GRADIENTS

BY_PARTS = "a penalty of single features or of groups"
BY_CONES = "iterations hardly depend on the data"
FEW_MODELS = "a few penalised problems, each from the one before"
UNLIMITED = "without a limit, as the interior-point method did not finish"
LAST = "what is left"


def _parts(problem: Problem, warm: bool) -> list[Attempt]:
    """Penalties of single coefficients or groups, of which some tables need few calls."""
    if ENGINES["moments"].supports(problem):
        return [Attempt("moments", "one pass over the rows"), *_in_steps(problem, warm)]
    if ENGINES["multipliers on a small table"].supports(problem):
        first = Attempt("multipliers on a small table", "all Newton steps in one call")
        return [first, *_in_steps(problem, True)]
    return _in_steps(problem, warm)


def _in_steps(problem: Problem, warm: bool) -> list[Attempt]:
    """Dual descent, Newton steps, then cones.

    Others first take a share of the cost of the interior-point method. It comes first where it
    takes milliseconds and Newton steps would have to identify kinks without a start, or where
    features are far from 0 without an intercept.
    """
    cost, step = expected_cost(problem), newton_cost(problem.design, *problem.design.shape)
    cones_first = step <= SETTINGS.small_step and not warm and cost < inf
    if cones_first and not problem.loss.linear_tails:
        cones_first = _is_far_without_intercept(problem)
    budget = SETTINGS.trial_budget(cost, warm)
    few_features = problem.n_coefficients <= NEWTON.largest_working_set
    by_newton = few_features or not problem.penalty.is_quadratic
    if by_newton:
        trials = [] if cones_first else [Attempt("multipliers", BY_PARTS, budget)]
        before_last = [Attempt("multipliers", UNLIMITED)]
    else:
        trials, before_last = _gradients_before_cones(problem, cost, warm), []
    if _has_descent(problem, by_newton, cones_first):
        if trials and cost < inf:
            budget = min(SETTINGS.descent_steps * step, budget)
        trials = [Attempt("dual-descent", "a squared l2 penalty", budget), *trials]
    return [*_gradients(problem, warm), *trials, *_cones(problem, cost, before_last)]


def _has_descent(problem: Problem, by_newton: bool, cones_first: bool) -> bool:
    """Whether dual descent is tried: in place of Newton steps, or where it takes few passes."""
    if not ENGINES["dual-descent"].supports(problem):
        return False
    is_late = cones_first and not problem.penalty.is_quadratic
    return not by_newton or (not is_late and takes_few_passes(problem))


def _gradients(problem: Problem, warm: bool) -> list[Attempt]:
    """L-BFGS from a solution for another alpha, for sparse tables, and for many features."""
    if problem.loss.piecewise_quadratic or not ENGINES["l-bfgs"].supports(problem):
        return []
    rows, entries = problem.n_samples / problem.n_variables, problem.design.n_entries
    from_near = rows >= SETTINGS.rows_of_gradients and entries >= SETTINGS.entries_of_gradients
    if warm and from_near:
        few = {"max_steps": SETTINGS.gradients_from_near}
        return [Attempt("l-bfgs", "few gradients from a near solution", options=few)]
    by_newton = problem.design.dense or rows > SETTINGS.rows_of_gradients
    if by_newton and problem.n_coefficients <= NEWTON.largest_working_set:
        return []
    many = {"max_steps": SETTINGS.gradients}
    return [Attempt("l-bfgs", "a step costs two products", options=many)]


def _row_space(problem: Problem, warm: bool) -> list[Attempt]:
    """Squared l2 penalties on wide tables: few passes of dual descent, then the row space."""
    (n, d), outputs = problem.design.shape, problem.rows.of_outputs
    trials = []
    if not (outputs or warm) and ENGINES["dual-descent"].supports(problem):
        budget = n * n * d / BLAS  # the cost of the Gram matrix of the rows
        trials.append(Attempt("dual-descent", "a few passes may suffice", budget))
    usual = (_several_outputs if outputs else _parts)(problem, warm)
    return [*trials, Attempt("row-space", "an n x n table in place of X"), *usual]


def _whole_penalty(problem: Problem, warm: bool) -> list[Attempt]:
    """Other penalties: what is faster for one of them, then cones or the hybrid gradient."""
    structure, cost = problem.penalty.structure, expected_cost(problem)
    last = _cones(problem, cost)
    if structure is Structure.OF_NORM:
        reason = "models with the norm itself are faster to find"
        return [Attempt("slopes-of-norm", reason), *last]
    trials = _l1_ball(problem, cost) if structure is Structure.BALL else []
    return [*(trials or _gradients_before_cones(problem, cost, warm)), *last]


def _l1_ball(problem: Problem, cost: float) -> list[Attempt]:
    """An l1 ball, or half a squared norm on it: what is faster than methods for every penalty.

    The passes of block Frank-Wolfe grow with the ratio of the norms of rows to the squared l2
    penalty. The norm of the penalised model decreases with the multiplier of the constraint, whose
    value is found with a few of them. For the squared loss each is one Newton step.
    """
    loss, design, trials = problem.loss, problem.design, []
    is_long = cost > SETTINGS.long_run
    if is_well_conditioned(problem) and (is_long or loss.piecewise_quadratic):
        trials.append(Attempt("block-frank-wolfe", "the squared l2 norm is not small"))
    is_large = newton_cost(design, *design.shape) > SETTINGS.small_step
    if is_long or (loss.constant_curvature and is_large):
        trials.append(Attempt("multiplier-search", FEW_MODELS))
    return trials


def _cones(
    problem: Problem, cost: float, before_last: list[Attempt] | None = None
) -> list[Attempt]:
    """The methods that end the list: an interior-point method if the problem has cones."""
    if cost == inf:
        return [Attempt("hybrid-gradient", LAST)]
    to_ties = " to the zeros" if problem.penalty.has_ties else ""
    last = Attempt("hybrid-gradient", LAST, SETTINGS.last_budget(cost))
    return [Attempt(f"interior-point{to_ties}", BY_CONES), *(before_last or []), last]


def _gradients_before_cones(problem: Problem, cost: float, warm: bool) -> list[Attempt]:
    is_spectral = problem.penalty.structure is Structure.SPECTRAL
    long = SETTINGS.long_singular_run if is_spectral else SETTINGS.long_run
    budget = SETTINGS.trial_budget(cost, warm)
    trial = Attempt("hybrid-gradient", "Newton steps would take long", budget)
    return [trial] if long < cost < inf else []


def _is_far_without_intercept(problem: Problem) -> bool:
    """Whether features are far from 0 and there is no intercept to compensate for a shift."""
    rows = problem.rows
    return not problem.fit_intercept and rows.shift_of_features(problem.penalty) is not None


def _several_outputs(problem: Problem, warm: bool) -> list[Attempt]:
    """Several outputs: by the penalty that couples them, then cones and the hybrid gradient."""
    cost = expected_cost(problem)
    last = [Attempt("hybrid-gradient", LAST)]
    if cost < inf:
        last.insert(0, Attempt("interior-point", BY_CONES))
    if problem.loss.of_quantiles:
        return [*_quantiles(problem, cost), *last]
    if ENGINES["line-search-frank-wolfe"].supports(problem):
        budget = SETTINGS.trial_budget(cost, warm)
        return [Attempt("line-search-frank-wolfe", "least squares over a ball", budget), *last]
    if has_separate_outputs(problem):
        trials = [Attempt("output-by-output", "nothing ties outputs together"), *last]
        if ENGINES["moments"].supports(problem):
            trials.insert(0, Attempt("moments", "one system for all outputs"))
        return trials
    if ENGINES["multipliers"].supports(problem):
        usual = _outputs_in_parts(problem, cost, warm, last)
        if ENGINES["l-bfgs"].supports(problem):
            reason = "gradients of all outputs in one product"
            options = {"max_steps": SETTINGS.gradients}
            return [Attempt("l-bfgs", reason, options=options), *usual]
        return usual
    if ENGINES["singular-gradient"].supports(problem):
        return [Attempt("singular-gradient", "few singular vectors at a time"), *last]
    if problem.loss.smoothness < inf:
        budget = SETTINGS.trial_budget(cost, warm)
        return [Attempt("accelerated-gradient", "the loss is smooth", budget), *last]
    return [*_gradients_before_cones(problem, cost, warm), *last]


def _outputs_in_parts(
    problem: Problem, cost: float, warm: bool, last: list[Attempt]
) -> list[Attempt]:
    """Sums over coefficients or groups: Newton steps, and dual descent for classes before them.

    With features far from 0 and no intercept, Newton steps are expensive. Intercepts cost dual
    descent several rounds, and it leaves ill-conditioned problems to the next method.
    """
    runs = SETTINGS.most_runs
    has_few_rows = problem.n_samples <= SETTINGS.rows_of_kinks * problem.n_variables
    if problem.loss.has_kinks and has_few_rows:
        runs = SETTINGS.runs_of_kinks
    if has_row_systems(problem):
        is_smooth = problem.loss.smoothness < inf
        runs = SETTINGS.row_runs_of_smooth if is_smooth else SETTINGS.row_runs_of_kinks
        runs = max(runs, SETTINGS.warm_trial_share) if warm else runs
    newton, *others = [Attempt("multipliers", BY_PARTS, runs * cost), *last]
    if cost < inf:
        others.insert(len(others) - 1, Attempt("multipliers", UNLIMITED))
    attempts = [newton, *others]
    if cost <= SETTINGS.long_run and not warm and _is_far_without_intercept(problem):
        attempts[:2] = others[0], newton
    n_entries = problem.design.n_entries * problem.n_outputs
    is_small = problem.fit_intercept and n_entries <= SETTINGS.small_classes
    if ENGINES["dual-descent of classes"].supports(problem) and not is_small:
        options = {}
        if ENGINES["interior-point in the row space"].supports(problem):
            attempts.insert(0, Attempt("interior-point in the row space", BY_CONES))
            # passes that take as long as a system of this method
            options["most_passes"] = problem.n_samples**3 / n_entries
        attempts.insert(
            0, Attempt("dual-descent of classes", "its own dual steps", options=options)
        )
    return attempts


def _quantiles(problem: Problem, cost: float) -> list[Attempt]:
    """Quantiles that do not cross: separate problems take a fraction of the time."""
    trials = []
    if has_separate_outputs(problem):
        trials.append(
            Attempt("output-by-output", "they may not cross anyway", options={"rounds": 1})
        )
    fewest, most = (share * problem.n_variables for share in SETTINGS.rows_of_cones)
    by_cones = cost < inf and fewest < problem.n_samples < most
    if not by_cones and ENGINES["multipliers"].supports(problem):
        trials.append(Attempt("multipliers", BY_PARTS, SETTINGS.most_runs * cost))
    return trials


def _linear_constraints(problem: Problem) -> list[Attempt]:
    """The interior-point method, in which a constraint is an additional term, or a ValueError."""
    n, d = problem.design.shape
    if not problem.loss.has_cones:
        raise ValueError(f"constraints need a loss of skpd.losses, got {problem.loss!r}.")
    if not problem.penalty.has_cones:
        raise ValueError(f"constraints need a penalty of skpd.penalties, got {problem.penalty!r}.")
    most, n_constraints = INTERIOR.largest_system, len(problem.constraints or ())
    if expected_cost(problem) == inf or n_constraints > most:
        raise ValueError(
            f"constraints need at most {most} rows, and data of at most {most} samples or "
            f"features (features, with this penalty), got {n_constraints} rows, {n} samples and "
            f"{d} features."
        )
    return [Attempt("interior-point to the zeros", "constraints are additional terms")]


def _shards(problem: Problem) -> list[Attempt]:
    """X in blocks or with workers: methods of few passes that use only sums, or a ValueError."""
    structure = problem.penalty.structure
    if structure is Structure.BALL:
        return [Attempt("multiplier-search", FEW_MODELS)]
    few_features = problem.n_coefficients <= NEWTON.largest_working_set
    if structure.is_block_separable and (few_features or not problem.penalty.is_quadratic):
        return [Attempt("multipliers", "few passes over the rows, for their sums alone")]
    raise ValueError(
        "X in blocks or chunks needs a penalty of single features or of groups, and at most "
        f"{NEWTON.largest_working_set} features if it leaves none of them at 0, got "
        f"{problem.penalty!r} and {problem.n_coefficients} features: other methods would read all "
        "rows thousands of times."
    )


def _scores(problem: Problem) -> list[Attempt]:
    """Losses of all scores: cutting planes, or for smooth ones gradients and Newton steps."""
    loss, n_features = problem.rows.as_kind(RowsOfScores).loss, problem.n_coefficients
    if not loss.is_smooth:
        return [Attempt("cutting-planes", "a maximum over labelings")]
    last = [Attempt("smooth", "a soft maximum over labelings")]
    if not (loss.has_curvature and problem.penalty.structure.is_block_separable):
        return last
    newton = [Attempt("multipliers", BY_PARTS), *last]
    if not problem.penalty.is_quadratic:
        return newton
    n_entries = n_features * loss.n_scores if loss.hessian_by_table else 0
    if n_features > NEWTON.score_features or n_entries > NEWTON.largest_score_table:
        return last
    options = {"max_steps": GRADIENTS.trial}
    trial = Attempt("smooth", "as long as Newton steps take", options=options)
    return [trial, *newton] if loss.hessian_by_table else newton


def by_rules(problem: Problem, warm: bool) -> list[Attempt]:
    """The attempts for the form of a problem: those of the first rule that applies."""
    rows = problem.rows
    if problem.constraints is not None:
        return _linear_constraints(problem)  # one method has such terms
    if not rows.in_memory:
        return _shards(problem)  # passes over the rows cost most
    if rows.of_scores:
        return _scores(problem)  # a loss of all rows together
    if has_smooth_row_space(problem):
        return _row_space(problem, warm)  # an n x n table is much smaller than X
    if rows.of_outputs:
        return _several_outputs(problem, warm)  # Newton steps couple the outputs
    if problem.penalty.structure.is_block_separable:
        return _parts(problem, warm)  # a working set of features
    return _whole_penalty(problem, warm)  # a penalty of all features together

"""Problems that are solved as equivalent ones: with centred features, or in other variables."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, cast

import numpy as np
from scipy.linalg import solve_triangular

from .._typing import Array, Indices
from ..certificates import Certificate
from ..problems import Point, Problem
from ..problems.lifts import IN_COEFFICIENTS
from .monitor import Monitor
from .solver_context import SolverContext

P = ParamSpec("P")
Map = Callable[[Point], Point]


def _forwarded(name: str) -> Any:
    """A property that reads and writes an attribute of the monitor of the original problem."""
    return property(
        lambda view: getattr(view.original, name),
        lambda view, value: setattr(view.original, name, value),
    )


class EquivalentMonitor:
    """A monitor for methods of an equivalent problem, which reports to that of the original one.

    Points are certified for the original problem and data.

    Parameters
    ----------
    original : Monitor
    problem : Problem
        The equivalent problem.
    there, back : callable
        Maps of points of the original problem to those of the equivalent one, and back.
    """

    tol, done, stopped, method = map(_forwarded, ("tol", "done", "stopped", "method"))
    n_iter, primal, dual = map(_forwarded, ("n_iter", "primal", "dual"))
    relative_gap, goal, goal_at = map(_forwarded, ("relative_gap", "goal", "goal_at"))
    keeps_best, gap_with, aiming_at = map(_forwarded, ("keeps_best", "gap_with", "aiming_at"))

    def __init__(self, original: Monitor, problem: Problem, there: Map, back: Map) -> None:
        self.original, self.problem, self.there, self.back = original, problem, there, back

    @property
    def on_check(self) -> Callable[[Monitor], bool | None] | None:
        """The callback of the caller, which is given the original monitor."""
        on_check = self.original.on_check
        return None if on_check is None else lambda _: on_check(self.original)

    @property
    def best(self) -> Point:
        return self.there(self.original.best)

    def check(self, n_iter: int, point: Point) -> float:
        return self.original.check(n_iter, self.back(point))

    def accept(self, n_iter: int, point: Point, _: Certificate) -> None:
        """Check a point, whose certificate is that of the equivalent problem."""
        self.check(n_iter, point)

    def consider(self, point: Point) -> None:
        self.original.consider(self.back(point))


def equivalent_context(
    context: SolverContext, problem: Problem, there: Map, back: Map
) -> SolverContext:
    """The run of a method on an equivalent problem."""
    start = None if context.start is None else there(context.start)
    view = EquivalentMonitor(context.monitor, problem, there, back)
    return context._replace(problem=problem, monitor=cast(Monitor, view), start=start)


def centred_problem(problem: Problem) -> tuple[Problem, Array] | None:
    """The problem with features far from 0 shifted to mean 0, and the shift.

    With an intercept b, predictions x.w + b are (x - shift).w + b' for b' = b + shift.w. So the
    problems are equivalent, but the shifted one is better conditioned. None where no feature is
    far from 0, or where rows do not absorb shifts.
    """
    if not problem.rows.absorbs_shifts:
        return None
    workspace, base = problem.workspace, None
    if workspace is not None and workspace.centred is not None:
        base, shift = workspace.centred
    else:
        shift = problem.rows.shift_of_features(problem.penalty)
        if shift is not None:
            base = _shifted(problem, shift)
        if workspace is not None:
            workspace.centred = base, shift
    return None if base is None else (base.with_penalty(problem.penalty, problem.alpha), shift)


def _shifted(problem: Problem, shift: Array) -> Problem:
    workspace = problem.workspace
    other = replace(problem, rows=problem.rows.shifted(shift), lift=IN_COEFFICIENTS)
    return other.in_workspace(workspace is not None and workspace.of_path)


def centred_beyond(context: SolverContext, far: float, most_entries: float) -> SolverContext:
    """The run with features centred whose mean is above ``far`` standard deviations.

    X is copied, unless it has more than ``most_entries``.
    """
    problem = context.problem
    if not problem.rows.absorbs_shifts or problem.design.n_entries > most_entries:
        return context
    shift = problem.design.shift_of_columns(problem.weights, far)
    return context if shift is None else centred(context, _shifted(problem, shift), shift)


def centred(context: SolverContext, other: Problem, shift: Array) -> SolverContext:
    """The run on the centred problem; see `centred_problem` for ``other`` and ``shift``."""

    def there(point: Point) -> Point:
        intercept = other.rows.shifted_intercept(point.intercept, shift, point.coef)
        return Point(point.coef, intercept, point.dual_coef)

    def back(point: Point) -> Point:
        # the intercept is computed for the feasible coefficients, which are certified
        coef, intercept = other.feasible_model(point.coef, point.intercept)
        intercept = other.rows.shifted_intercept(intercept, -shift, coef)
        return Point(coef, intercept, point.dual_coef)

    return equivalent_context(context, other, there, back)


def in_units(context: SolverContext) -> SolverContext:
    """The run with extreme unpenalised features in units of powers of two.

    Their squares would over- or underflow. Coefficients beyond the largest number are that one.
    """
    problem, exponents = context.problem, context.problem.free.units
    if exponents is None:
        return context
    design, d = problem.design.in_units(exponents), len(exponents)
    other = problem.of_rows(problem.rows.with_design(design)).in_workspace()

    def scaled(point: Point, exponents: Indices) -> Point:
        coef = np.array(point.coef)
        coef[:d] = np.nan_to_num(np.ldexp(coef[:d], exponents), nan=np.nan)
        return replace(point, coef=coef)

    return equivalent_context(
        context,
        other,
        lambda point: scaled(point, exponents),
        lambda point: scaled(point, -exponents),
    )


def orthogonal(context: SolverContext) -> SolverContext:
    """The run in R w, for nearly dependent features X = Q R that are all without a penalty."""
    problem, free = context.problem, context.problem.free
    if not free.all_nearly_dependent:
        return context
    Q, R = np.linalg.qr(free.table)
    other = problem.of_rows(problem.rows.with_design(problem.design.with_table(Q)))

    def mapped(function: Callable[[Array], Array]) -> Map:
        return lambda point: replace(
            point, coef=np.ravel(function(np.reshape(point.coef, (len(R), -1))))
        )

    maps = mapped(lambda w: R @ w), mapped(lambda v: solve_triangular(R, v))
    return equivalent_context(context, other.in_workspace(), *maps)


def in_model(
    method: Callable[Concatenate[SolverContext, P], None],
) -> Callable[Concatenate[SolverContext, P], None]:
    """A published method, in the variables of the model where a problem has a form in these."""

    @wraps(method)
    def published(context: SolverContext, /, *args: P.args, **options: P.kwargs) -> None:
        problem, lift = context.problem, context.problem.lift
        in_model = cast(Problem | None, lift.problem_of_model(problem))
        if in_model is not None:
            context = equivalent_context(
                context, in_model,
                lambda point: replace(point, coef=lift.project(point.coef)),
                lambda point: replace(
                    point, coef=lift.extend(problem, point.coef, point.intercept)
                ),
            )  # fmt: skip
        method(context, *args, **options)

    return published

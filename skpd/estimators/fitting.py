"""From the problems of a fit to the fitted attributes of an estimator."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import count
from threading import Event
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from .._compat import CallbackSupportMixin, StrOptions
from .._typing import Array, Attributes, PerRow, SolverOptions
from .._warn import warn
from ..certificates import Certificate, Certificates
from ..formulation import messages, progress
from ..formulation.constraints import multipliers_of
from ..formulation.following import follow
from ..formulation.formulate import FormulatedProblems
from ..formulation.offsets import without_none
from ..formulation.overlapping import Copies
from ..formulation.separation import CHECKS, separation
from ..formulation.solve_problems import (
    SolverCall,
    dual_coef_of,
    map_in_threads,
    points_of_model,
    solve_problem,
    with_bound_of_limit,
)
from ..problems import Point, Problem, Solution
from ..solvers import Monitor, check_solver_options, method_named
from .coefficients import LinearCoefficients
from .parameters import ParameterValidation


class SolvedModel(LinearCoefficients, CallbackSupportMixin, ParameterValidation):
    """Base class that solves the problems of a fit and sets the attributes from the solutions."""

    certificate_: Certificate
    duality_gap_: float
    relative_gap_: float
    gap_history_: np.ndarray | list[np.ndarray]
    solver_: str | list[str]
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray
    converged_: bool
    constraint_multipliers_: Array

    # the values of these parameters for estimators without them
    solver: Any = "auto"  # one of the names that an estimator has
    solver_options: SolverOptions | None = None
    fit_intercept: bool = True
    warm_start: bool = False
    n_jobs: int | None = None
    tol: float
    max_iter: int
    verbose: int
    random_state: int | np.random.RandomState | None

    _path_parameter: ClassVar[str] = "alpha"  # the parameter that a path varies
    _wording: ClassVar[messages.Wording] = messages.Wording()
    _precision: type[np.floating] = np.float64  # that of coefficients
    _weights_attribute: ClassVar[str] = "coef_"  # it is 0 in a constant model

    def _fit(self, fit: FormulatedProblems, sample_weight: PerRow = None) -> Self:
        """Solve the problems of a fit in threads, and set the fitted attributes.

        ``sample_weight`` is the one given to `fit`, which callbacks see.
        """
        problems, names = fit.problems, fit.names or []
        several = len(problems) > 1
        n_threads = min(effective_n_jobs(self.n_jobs), len(problems))
        starts: list[Point | None] = [None] * len(problems)
        if self.warm_start and self.__sklearn_is_fitted__():
            starts = [*(self._last_points(fit) or starts)]
        metadata = without_none(sample_weight=sample_weight) or None
        task: progress.FitTask = {"estimator": self, "X": fit.X, "y": fit.y, "metadata": metadata}
        ticks, stop = progress.n_ticks(self.tol), Event()
        context = self._init_callback_context(
            max_subtasks=len(problems) if several else ticks, sequential_subtasks=n_threads == 1
        ).call_on_fit_task_begin(**task)

        def attributes(monitor: Monitor) -> Attributes:
            return self._model([self._best_point(monitor)], fit)

        def fit_one(k: int, seed: int | None) -> Solution:
            label = f" {names[k]}" if several else ""
            part: AbstractContextManager[progress.CallbackContext] = nullcontext(context)
            if several:
                part = progress.subtask(context, {"estimator": self}, names[k], k, ticks)
            checks = count(1)

            def on_check(monitor: Monitor) -> bool:
                ends = report(monitor)
                if next(checks) == CHECKS:
                    ends |= bool(separation(problems[k], monitor.best, monitor.dual).sets)
                return ends

            with part as inner:
                report = self._reporter(inner, task, label, None if several else attributes, stop)
                # a generator takes 0.08 ms to make
                numbers = check_random_state(seed) if several else random_state
                solution = self._solve(
                    problems[k], start=starts[k], random_state=numbers, on_check=on_check
                )
                if solution.interrupted:
                    stop.set()
            return solution

        random_state = check_random_state(self.random_state)
        solutions, interrupted = map_in_threads(
            fit_one, len(problems), random_state, n_threads, stop
        )
        if interrupted:
            solutions[0] = replace(solutions[0], interrupted=True)
        self._set_solutions(solutions, fit)
        context.call_on_fit_task_end(**task, reconstruction_attributes={})
        return self

    def _reporter(
        self, context: progress.CallbackContext, task: progress.FitTask, label: str = "",
        attributes: Callable[[Monitor], Attributes] | None = None, stop: Event | None = None,
    ) -> Callable[[Monitor], bool]:  # fmt: skip
        """The function that a solver calls after every check, for output and callbacks."""
        name = f"[{type(self).__name__}]{label}"
        context = context if hasattr(self, "_skl_callbacks") else None
        return progress.reporter(name, self.verbose, self.tol, context, task, attributes, stop)

    # Solution

    def _copies(self) -> Copies | None:
        """Copies of the features that are in several groups; None where groups do not overlap."""
        return None

    def _solver(self) -> str:
        """The name of the solver among those of `skpd.solvers`."""
        return self.solver

    def _checked_options(self, problem: Problem) -> SolverOptions:
        """The options of the solver, after a check that it takes them."""
        options = self.solver_options
        return (
            check_solver_options(method_named(self._solver(), problem), options) if options else {}
        )

    def _last_points(self, fit: FormulatedProblems) -> list[Point] | None:
        """The last model as points of problems; None if the shapes differ."""
        if not hasattr(self, "dual_coef_"):
            return None
        coef, intercepts = self._dense_coef, np.ravel(self.intercept_)
        if not self.fit_intercept:
            intercepts = np.zeros(len(np.atleast_2d(coef)))
        return points_of_model(fit, coef, intercepts, self.dual_coef_, self._copies())

    def _solver_call(self, problem: Problem) -> SolverCall:
        """How a problem is to be solved."""
        named = self._solver(), self._checked_options(problem)
        return SolverCall(*named, self.tol, self.max_iter, self._precision, self._copies())

    def _solve(self, problem, *, start, random_state, on_check=None, brief=False) -> Solution:
        """Solve and certify a problem."""
        call = replace(self._solver_call(problem), brief=brief)
        return solve_problem(problem, call, start, random_state, on_check)

    def _follow(
        self, problem: Problem, alphas: Array, seed: int | None, stop: Event, brief: bool = False
    ) -> Iterator[Solution]:
        """The solutions for decreasing alphas, until ``stop`` is set."""
        exact = self._precision == np.float64 and self._copies() is None
        tol, named = self.tol if exact else None, self._solver() != "auto"
        solve = partial(self._solve, brief=True) if brief else self._solve
        return follow(solve, problem, alphas, seed, stop, tol, named_solver=named)

    def _follow_all(
        self, problems: Sequence[Problem], alphas: Array
    ) -> tuple[list[list[Solution]], bool]:
        """The solutions of several problems for decreasing alphas, in threads.

        The second result is whether Ctrl-C has ended them; what was finished is kept.
        """
        solutions: list[list[Solution]] = [[] for _ in problems]
        stop = Event()

        def follow_one(k: int, seed: int | None) -> None:
            solutions[k].extend(self._follow(problems[k], alphas, seed, stop))

        random_state = check_random_state(self.random_state)
        n_threads = min(effective_n_jobs(self.n_jobs), len(problems))
        try:
            map_in_threads(follow_one, len(problems), random_state, n_threads, stop)
        except KeyboardInterrupt:
            stop.set()
        missed = [each for path in solutions for each in path if not each.converged]
        if not stop.is_set():
            n_fits, name = sum(map(len, solutions)), type(self).__name__
            messages.warn_of_missed_fits(name, missed, n_fits, self.tol, self.max_iter)
        return solutions, stop.is_set()

    # Fitted attributes

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model; an interrupted fit may have set other attributes."""
        return hasattr(self, self._model_attribute)

    def _set_solutions(self, solutions: Sequence[Solution], fit: FormulatedProblems) -> None:
        """Set the fitted attributes: the model, dual points, certificates, how the fits ended.

        Raises
        ------
        KeyboardInterrupt
            If Ctrl-C has ended a fit, after the attributes are set.

        Warns
        -----
        ConvergenceWarning, UserWarning
            If a fit has not converged, or if all coefficients are 0.
        """
        self._set_attributes(solutions, fit)  # before the search, which Ctrl-C may end
        separated = [
            separation(problem, solution, solution.certificate.dual)
            for problem, solution in zip(fit.problems, solutions, strict=True)
        ]
        if any(each.levels for each in separated):
            parts = zip(fit.problems, solutions, separated, strict=True)
            solutions = [
                with_bound_of_limit(problem, solution, each.levels, self._solver_call(problem))
                for problem, solution, each in parts
            ]
            self._set_attributes(solutions, fit)
        if not np.any(getattr(self, self._weights_attribute)):
            warn(messages.constant_model_message(self._description(), fit.problems, solutions))
        labels = fit.names if len(solutions) > 1 else None
        messages.warn_of_separation(self._description(), separated, labels)
        if not self.converged_ and not any(each.sets for each in separated):
            messages.warn_of_gap(self._description(), solutions, labels)

    def _set_attributes(self, solutions: Sequence[Solution], fit: FormulatedProblems) -> None:
        """Set the fitted attributes of solutions; a KeyboardInterrupt follows Ctrl-C."""
        attributes = {**self._model(solutions, fit), **self._other_attributes(solutions, fit)}
        for name, value in attributes.items():
            setattr(self, name, value)
        labels = fit.names if len(solutions) > 1 else None

        def one_or_all(values: list[Any]) -> Any:
            return values[0] if labels is None else values

        self.__dict__.pop("constraint_multipliers_", None)  # that of an earlier fit
        if fit.problems[0].constraints is not None:
            multipliers = multipliers_of(fit.problems, solutions, self.max_iter)
            self.constraint_multipliers_ = multipliers if len(multipliers) > 1 else multipliers[0]
        if self.verbose:
            for label, solution in zip(labels or [""], solutions, strict=True):
                ending = label and f" {label}"
                progress.last_line(f"[{type(self).__name__}]{ending}", solution)
        self.gap_history_ = one_or_all([solution.history for solution in solutions])
        self.solver_ = one_or_all([solution.method for solution in solutions])
        self._set_certificates(solutions)
        if any(solution.interrupted for solution in solutions):
            raise KeyboardInterrupt

    def _set_certificates(self, solutions: Sequence[Solution]) -> None:
        """Set the attributes that say how far solutions may be from their optima."""
        certificates = [solution.certificate for solution in solutions]
        self.certificate_ = Certificates.of(certificates)
        self.duality_gap_ = max(certificate.gap for certificate in certificates)
        self.relative_gap_ = max(certificate.relative_gap for certificate in certificates)
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.converged_ = all(solution.converged for solution in solutions)

    def _description(self) -> messages.Description:
        """What messages say of the estimator."""
        options = self._parameter_constraints.get("loss", [])
        names = {name for each in options if isinstance(each, StrOptions) for name in each.options}
        return messages.Description(
            type(self).__name__, self.get_params(deep=False), self._wording, self._path_parameter,
            frozenset(names), getattr(self, "feature_names_in_", None),
        )  # fmt: skip

    def _best_point(self, monitor: Monitor) -> Point:
        """The best point of a solver so far, for `_model`."""
        return monitor.best

    @abstractmethod
    def _model(self, points: Sequence[Point | Solution], fit: FormulatedProblems) -> Attributes:
        """The fitted attributes that make predictions, from a point for each of the problems."""

    def _other_attributes(
        self, solutions: Sequence[Solution], fit: FormulatedProblems
    ) -> Attributes:
        """The dual solution, and attributes that belong to a fit but make no predictions."""
        return {"dual_coef_": dual_coef_of(solutions, fit)}

    def _with_model(
        self, alpha: float, points: Sequence[Point | Solution], fit: FormulatedProblems
    ) -> Self:
        """Copy the estimator with another alpha and its model, for predictions only.

        The estimator must have validated the data by `_problems`, whose result is ``fit``.
        """
        other = copy(self)
        for name, value in {self._path_parameter: alpha, **self._model(points, fit)}.items():
            setattr(other, name, value)
        return other

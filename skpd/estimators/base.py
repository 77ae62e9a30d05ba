"""The base class of estimators: parts that they declare, validation, and fitted attributes."""

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import replace
from threading import Event
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from .._compat import CallbackSupportMixin, StrOptions, _fit_context, with_callbacks
from .._typing import Array, ArrayLike
from .._warn import warn
from ..certificates import Certificate
from ..designs import Design, RowBlocks
from ..losses import Loss
from ..penalties import Penalty
from ..problems import Point, Problem, Solution
from ..solvers import Monitor, check_solver_options, method_named
from .coefficients import LinearCoefficients
from .constraints import multipliers_of
from .docstrings import documented
from .fits import (
    Description,
    SolverCall,
    constant_model_message,
    dual_coef_of,
    map_in_threads,
    points_of_model,
    solve_problem,
    warn_of_gap,
)
from .groups import groups_by_place, required_sources
from .names import PENALTIES, chosen
from .offsets import given
from .overlapping import Copies
from .parameters import ParameterValidation, penalty_by_feature
from .posing import FitProblems, Specification, formulate
from .progress import last_line, n_ticks, reporter, subtask
from .validation import _DATA, validated

MAPPED = 1 << 30  # bytes from which on an array mapped from a file is taken in blocks: 1 GB
LARGE = 1 << 20  # entries of an array that are not read once more to see that they are finite


def fit_method(method: Any) -> Any:
    """Decorate a method that fits: it then validates parameters and informs callbacks."""
    return documented(_fit_context(prefer_skip_nested_validation=True)(with_callbacks(method)))


class PrimalDualEstimator(LinearCoefficients, CallbackSupportMixin, ParameterValidation):
    """Base class of linear models that a solver fits to a `Problem`, with a certificate.

    An estimator declares the parts of its problems: a loss, a penalty, and parameters for other
    parts, which have a default here. `fit` turns them into a `Specification`, from which problems
    are formulated; it solves these and sets the attributes from their solutions.
    """

    groups_: Array
    certificate_: Certificate | list[Certificate]
    duality_gap_: float
    relative_gap_: float
    gap_history_: Any
    n_iter_: int
    converged_: bool

    # parameters, as they are for the estimators that do not have them
    solver: str = "auto"
    solver_options: dict[str, Any] | None = None
    fit_intercept: bool = True
    warm_start: bool = False
    n_jobs: int | None = None
    groups: Any = None
    penalty_weights: Any = None
    bounds: Any = None
    constraints: Any = None
    noise_budget: float | None = None

    _path_parameter: ClassVar[str] = "alpha"  # whose values a path follows
    _no_path: str = ""  # why there is no path, and what to do instead
    _named_penalties: ClassVar[dict] = PENALTIES  # those that have a name
    _takes_blocks: ClassVar[bool] = False  # whether X may be `RowBlocks`
    _takes_offset: ClassVar[bool] = True  # whether the predictions of rows may have offsets
    _predicts_means: ClassVar[bool] = False  # exp(x.w + b), with a score of its own
    _needs_groups: ClassVar[bool] = False  # whether a fit without groups warns
    _columns_of_groups: tuple[str, ...] = ()  # those of `sourced`, also without a feature
    _advice: ClassVar[str] = "bring the features to a common scale"  # where a fit fails
    _precision: Any = np.float64  # of the coefficients: that of the last X of `_problems`
    _weights_attribute: ClassVar[str] = "coef_"  # which is 0 in a constant model
    _constant_model: ClassVar[str] = "ignores all features"  # what such a model does

    # Parts of the problems

    @fit_method
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Fit the model and certify it.

        {X_of_fit}
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; in two dimensions only for models of several targets. For classifiers labels
            of classes, at least two of which need samples of positive weight.
        {sample_weight_of_fit}
        {offset_of_fit}

        {results_of_fit}
        """
        return self._fit(
            self._problems(X, y, sample_weight, **self._offset(offset)), sample_weight
        )

    def _fit(self, fit: FitProblems, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the problems of a fit in threads, and set the fitted attributes.

        ``sample_weight`` is the one given to `fit`, which callbacks see.
        """
        problems, names = fit.problems, fit.names or []
        several = len(problems) > 1
        n_threads = min(effective_n_jobs(self.n_jobs), len(problems))
        starts: list[Point | None] = [None] * len(problems)
        if self.warm_start and self.__sklearn_is_fitted__():
            starts = [*(self._last_points(fit) or starts)]
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        task = {"estimator": self, "X": fit.X, "y": fit.y, "metadata": metadata}
        ticks, stop = n_ticks(self.tol), Event()
        context = self._init_callback_context(
            max_subtasks=len(problems) if several else ticks, sequential_subtasks=n_threads == 1
        ).call_on_fit_task_begin(**task)

        def attributes(monitor: Monitor) -> dict[str, Any]:
            return self._model([self._best_point(monitor)], fit)

        def fit_one(k: int, seed: int) -> Solution:
            label, report = "", {"attributes": attributes}
            part: AbstractContextManager[Any] = nullcontext(context)
            if several:
                label, report = f" {names[k]}", {}
                part = subtask(context, {"estimator": self}, names[k], k, ticks)
            with part as inner:
                solution = self._solve(
                    problems[k],
                    start=starts[k],
                    random_state=np.random.RandomState(seed),
                    on_check=self._reporter(inner, task, label, stop=stop, **report),
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
        self, context: Any, task: dict[str, Any], label: str = "", **options: Any
    ) -> Any:
        """The function that a solver calls after every check, for output and callbacks."""
        name = f"[{type(self).__name__}]{label}"
        context = context if hasattr(self, "_skl_callbacks") else None
        return reporter(name, self.verbose, self.tol, context, task, **options)

    def _get_penalty(self) -> Penalty:
        """The Penalty object of this model."""
        given = {"l1_ratio": self.l1_ratio, "groups": self._places_of(self.groups)}
        penalty = chosen("penalty", self.penalty, self._named_penalties, **given)
        return penalty_by_feature(penalty, self.penalty_weights, self.bounds)

    def _copies(self) -> Copies | None:
        """Copies of the features that are in several groups; None where groups do not overlap."""
        return None

    def _places_of(self, groups: Any) -> Any:
        """Groups with the indices of their features in place of the names of columns."""
        if isinstance(groups, str):
            return self.groups_
        return groups_by_place(groups, getattr(self, "feature_names_in_", None))

    def _offset(self, offset: ArrayLike | None) -> dict[str, ArrayLike]:
        """The offset as a keyword argument, or none; an error if the model takes none."""
        if offset is not None and not self._takes_offset:
            raise ValueError(
                f"{type(self).__name__} takes no offset: offsets are for linear models with one "
                "prediction for each row, or one for each class against the others."
            )
        return given(offset)

    # Problems

    def _specification(self, penalty: Penalty | None = None) -> Specification:
        """What the parameters say of the problem; the penalty is theirs unless one is passed."""
        budget = self.noise_budget
        return Specification(
            type(self).__name__,
            self._get_penalty() if penalty is None else penalty,
            float(self.alpha),
            bool(self.fit_intercept),
            self._solver(),
            self.constraints,
            self._copies(),
            None if budget is None else float(budget),
        )

    @abstractmethod
    def _problems(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, offset: Any = None
    ) -> FitProblems:
        """The validated data and the problems of a fit; those with ``_takes_offset`` take one."""

    def _problems_of(
        self, X: Any, targets: Sequence[tuple[Array, Loss]], sample_weight: Array
    ) -> list[Any]:
        """A problem for each pair of targets and their loss, or one of all of them."""
        design = Design(X, n_parallel=min(effective_n_jobs(self.n_jobs), len(targets)))
        return [self._problem(design, *target, sample_weight) for target in targets]

    def _problem(self, design: Design, y: Array, loss: Loss, sample_weight: Array) -> Problem:
        """The problem of one target."""
        return formulate(self._specification(), design, y, loss, sample_weight)

    def _fitted_problems(self, X, y, sample_weight, offset=None) -> list[Problem]:
        """The problems that the fitted model solves on some data."""
        fitted = self._with_groups_found()
        return fitted._problems(X, y, sample_weight, **self._offset(offset)).problems

    def _with_groups_found(self) -> Self:
        """The model, or a copy whose groups are those of the data that it was fitted to."""
        if not hasattr(self, "groups_"):
            return self
        fitted = copy(self)
        fitted.groups = self.groups_
        return fitted

    # Validation

    def _find_groups(self, X: Any) -> None:
        """Set ``groups_`` to the columns that the features come from, for ``groups="auto"``."""
        if hasattr(self, "groups_"):
            del self.groups_
        if isinstance(self.groups, str):
            sources = required_sources(X)
            self.groups_, self._columns_of_groups = sources.labels(), sources.columns

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is a model; an interrupted fit may have set other attributes."""
        return hasattr(self, self._model_attribute)

    def _validated(self, X, y, **options):
        """Validated X and y, and whether `require_finite` must check X later."""
        if self._needs_groups and self.groups is None:
            warn(
                f"{type(self).__name__} has groups=None: each feature is a group of its own, "
                "which makes it the lasso. Pass groups, or groups=1 for this model.",
            )
        self._find_groups(X)
        if isinstance(X, np.memmap) and X.ndim == 2 and X.nbytes >= MAPPED and self._reads_blocks:
            X = RowBlocks([X])
        known = isinstance(X, np.ndarray) and X.dtype in _DATA["dtype"]
        unchecked = isinstance(X, RowBlocks) or (known and X.size >= LARGE)
        if y is None and isinstance(X, RowBlocks):
            y = X.target
        X, y = validated(self, X, y, ensure_all_finite=not unchecked, **_DATA, **options)
        if isinstance(X, RowBlocks):
            X = X.gathered_if_small()
        return X, y, unchecked

    @property
    def _reads_blocks(self) -> bool:
        """Whether the solver "auto" fits this model from `RowBlocks`."""
        by_engine = self._takes_blocks and self._solver() == "auto"
        return by_engine and self._get_penalty().structure.in_parts

    # Solution

    def _solver(self) -> str:
        """The name of the solver among those of `skpd.solvers`."""
        return self.solver

    def _checked_options(self, problem: Problem) -> dict[str, Any]:
        """The options of the solver, after a check that it takes them."""
        return check_solver_options(method_named(self._solver(), problem), self.solver_options)

    def _last_points(self, fit: FitProblems) -> list[Point] | None:
        """The last model as points of problems; None if the shapes differ."""
        if not hasattr(self, "dual_coef_"):
            return None
        coef, intercepts = self._dense_coef, np.ravel(self.intercept_)
        if not self.fit_intercept:
            intercepts = np.zeros(len(np.atleast_2d(coef)))
        return points_of_model(fit, coef, intercepts, self.dual_coef_, self._copies())

    def _solver_call(self, problem: Problem) -> SolverCall:
        """How a problem is to be solved."""
        options = self._checked_options(problem)
        return SolverCall(
            self._solver(), options, self.tol, self.max_iter, self._precision, self._copies()
        )

    def _solve(self, problem, *, start, random_state, on_check=None) -> Solution:
        """Solve and certify a problem."""
        return solve_problem(problem, self._solver_call(problem), start, random_state, on_check)

    # Fitted attributes

    def _set_solutions(self, solutions: Sequence[Solution], fit: FitProblems) -> None:
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
        attributes = {**self._model(solutions, fit), **self._other_attributes(solutions, fit)}
        for name, value in attributes.items():
            setattr(self, name, value)
        labels = fit.names if len(solutions) > 1 else None

        def one_or_all(values: Any) -> Any:
            return values[0] if labels is None else values

        self.__dict__.pop("constraint_multipliers_", None)  # of a fit before this one
        if fit.problems[0].constraints is not None:
            self.constraint_multipliers_ = one_or_all(multipliers_of(fit.problems, solutions))
        if self.verbose:
            endings = [""] if labels is None else [f" {label}" for label in labels]
            for ending, solution in zip(endings, solutions, strict=True):
                last_line(f"[{type(self).__name__}]{ending}", solution)
        certificates = [solution.certificate for solution in solutions]
        self.certificate_ = one_or_all(certificates)
        self.gap_history_ = one_or_all([solution.history for solution in solutions])
        self.solver_ = one_or_all([solution.method for solution in solutions])
        self.duality_gap_ = max(certificate.gap for certificate in certificates)
        self.relative_gap_ = max(certificate.relative_gap for certificate in certificates)
        self.n_iter_ = max(solution.n_iter for solution in solutions)
        self.converged_ = all(solution.converged for solution in solutions)
        if any(solution.interrupted for solution in solutions):
            raise KeyboardInterrupt
        if not np.any(getattr(self, self._weights_attribute)):
            warn(constant_model_message(self._description(), fit.problems, solutions))
        if not self.converged_:
            warn_of_gap(self._description(), solutions, labels)

    def _description(self) -> Description:
        """What messages say of the estimator."""
        options = self._parameter_constraints.get("loss", [])
        names = {name for each in options if isinstance(each, StrOptions) for name in each.options}
        return Description(
            type(self).__name__,
            self.get_params(deep=False),
            self._advice,
            self._path_parameter,
            self._constant_model,
            frozenset(names),
        )

    def _best_point(self, monitor: Monitor) -> Any:
        """The best point of a solver so far, for `_model`."""
        return monitor.best

    @abstractmethod
    def _model(self, points: Sequence[Point | Solution], fit: FitProblems) -> dict[str, Any]:
        """The fitted attributes that make predictions, from a point for each of the problems."""

    def _other_attributes(self, solutions: Sequence[Solution], fit: FitProblems) -> dict[str, Any]:
        """The dual solution, and attributes that belong to a fit but make no predictions."""
        return {"dual_coef_": dual_coef_of(solutions, fit)}

    def _with_model(
        self, alpha: float, points: Sequence[Point | Solution], fit: FitProblems
    ) -> Self:
        """Copy the estimator with another alpha and its model, for predictions only.

        The estimator must have validated the data by `_problems`, whose result is ``fit``.
        """
        other = copy(self)
        for name, value in {self._path_parameter: alpha, **self._model(points, fit)}.items():
            setattr(other, name, value)
        return other

"""The base class of estimators: validation, fits, callbacks and fitted attributes."""

from abc import abstractmethod
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from copy import copy
from math import ceil, log10
from numbers import Integral, Real
from threading import Lock
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import assert_all_finite

from .._compat import CallbackSupportMixin, HasMethods, Interval, StrOptions
from .._typing import Array, ArrayLike
from .._warn import warn
from ..certificates import Certificate
from ..designs import RowBlocks
from ..designs.threads import one_blas_thread
from ..losses import Loss
from ..penalties import Penalty
from ..problems import Point, Problem, Solution, linear_problem
from ..problems.shards.build import problem_of_shards
from ..problems.shards.shards import Shards
from ..solvers import check_solver_options, method_named, solve
from .constant_model import constant_model_message
from .groups import groups_by_place, required_sources
from .names import PENALTIES
from .parameters import ParameterValidation
from .progress import ProgressLines, last_line
from .sparse_coefficients import SparseCoefficients
from .validation import validated

PENALTY_METHODS = [
    "bind", "value", "prox", "conjugate", "support", "bounded_conjugate", "feasible",
    "widest", "step_sizes",
]  # fmt: skip

# scikit-learn's callbacks talk to the main process over connections that threads share
_CALLBACK_LOCK = Lock()

_DATA = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32]}
MAPPED = 1 << 30  # bytes from which on an array mapped from a file is taken in blocks: 1 GB
LARGE = 1 << 20  # entries of an array that are not read once more to see that they are finite


class PrimalDualEstimator(CallbackSupportMixin, SparseCoefficients, ParameterValidation):
    """Base class of linear models that a solver fits to a `Problem`, with a certificate."""

    coef_: Array
    intercept_: Any
    dual_coef_: Array
    groups_: Array
    certificate_: Certificate | list[Certificate]
    duality_gap_: float
    relative_gap_: float
    gap_history_: Any
    n_iter_: int
    converged_: bool

    _parameter_constraints: ClassVar[dict] = {
        "alpha": [Interval(Real, 0, np.inf, closed="neither")],
        "solver": [StrOptions({"auto", "pdprox-dual", "pdprox-primal"})],
        "solver_options": [dict, None],
        "tol": [Interval(Real, 0, np.inf, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _path_parameter: ClassVar[str] = "alpha"  # whose values a path follows
    _no_path: str = ""  # why there is no path, and what to do instead
    _takes_blocks: ClassVar[bool] = False  # whether X may be `RowBlocks`
    _columns_of_groups: tuple[str, ...] = ()  # those of `sourced`, also without a feature
    _advice: ClassVar[str] = "bring the features to a common scale"  # where a fit fails
    _precision: Any = np.float64  # of the coefficients: that of the last X of `_problems`
    _model_attribute: ClassVar[str] = "coef_"  # which there is if, and only if, it is fitted
    _weights_attribute: ClassVar[str] = "coef_"  # which is 0 in a constant model
    _constant_model: ClassVar[str] = "ignores all features"  # what such a model does
    _penalty_constraint: ClassVar[list] = [StrOptions(set(PENALTIES)), HasMethods(PENALTY_METHODS)]

    @abstractmethod
    def _problems(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, Any, list[Problem], Any]: ...

    def _fitted_problems(self, X, y, sample_weight) -> list[Problem]:
        """The problems that the fitted model solves on some data."""
        fitted = self
        if hasattr(self, "groups_"):  # of the data that it was fitted to
            fitted = copy(self)
            fitted.groups = self.groups_  # type: ignore[attr-defined]
        return fitted._problems(X, y, sample_weight)[2]

    @abstractmethod
    def _model(self, points: Sequence[Point | Solution], y: Any, classes: Any) -> dict[str, Any]:
        """The fitted attributes that make predictions.

        Parameters
        ----------
        points : sequence of Point or Solution
            One for each of the problems that `_problems` returned.
        y, classes
            The targets and the classes that `_problems` returned beside the problems.
        """

    def _with_model(
        self, alpha: float, points: Sequence[Point | Solution], y: Any, classes: Any
    ) -> Self:
        """Copy the estimator with another alpha and its model, for predictions only.

        The estimator must have validated the data by `_problems`; ``points``, ``y`` and
        ``classes`` are those of `_model`.
        """
        other = copy(self)
        for name, value in {
            self._path_parameter: alpha,
            **self._model(points, y, classes),
        }.items():
            setattr(other, name, value)
        return other

    @abstractmethod
    def _get_loss(self) -> Loss:
        """The Loss object of this model."""

    @abstractmethod
    def _get_penalty(self) -> Penalty:
        """The Penalty object of this model."""

    def _places_of(self, groups: Any) -> Any:
        """Groups with the indices of their features in place of the names of columns."""
        if isinstance(groups, str):
            return self.groups_
        return groups_by_place(groups, getattr(self, "feature_names_in_", None))

    def _find_groups(self, X: Any) -> None:
        """Set ``groups_`` to the columns that the features come from, for ``groups="auto"``."""
        if hasattr(self, "groups_"):
            del self.groups_
        if isinstance(getattr(self, "groups", None), str):
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
        """Validated X and y, and whether `_require_finite` must check X later."""
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

    def _require_finite(self, problem, X):
        """Raise scikit-learn's error for an array that is not finite.

        Solvers need the gradient of the null model anyway; it is finite only if X is.
        """
        row_weights = problem.weights * problem.null_point.dual_coef
        if not (row_weights.all() and np.isfinite(problem.null_gradient).all()):
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")

    @staticmethod
    def _normalised(sample_weight):
        """Weights divided by their sum, and their sum."""
        with np.errstate(over="ignore"):
            total_weight = float(sample_weight.sum())
        if not np.isfinite(total_weight):
            raise ValueError(
                "sample_weight (times class_weight) must have a finite sum, got "
                f"{total_weight} from weights up to {sample_weight.max():.3g}."
            )
        return sample_weight / total_weight, total_weight

    def _problem(self, design, y, sample_weight):
        weights, total_weight = self._normalised(sample_weight)
        alpha = float(self.alpha) or 1.0  # with 0 it is the penalty that has no weights
        problem = linear_problem(
            design, y, weights, self._get_loss(), self._get_penalty(), alpha,
            bool(self.fit_intercept), total_weight,
        )  # fmt: skip
        self._require_unit(problem)
        return problem

    def _problem_of_shards(self, shards: Shards, loss: Loss) -> Problem:
        """The problem of rows in blocks or chunks, which solvers read as sums over the rows.

        Raises
        ------
        ValueError
            If a published algorithm is to be used, or if numbers of the data are not finite.
        """
        if self._solver() != "auto":
            raise ValueError(
                f"solver must be 'auto' for X in blocks or chunks, got {self._solver()!r}: the "
                "others are algorithms as published, for data in memory."
            )
        penalty, name = self._get_penalty(), type(self).__name__
        alpha, intercept = float(self.alpha) or 1.0, bool(self.fit_intercept)
        problem = problem_of_shards(shards, loss, penalty, alpha, intercept, name)
        self._require_unit(problem)
        _ = problem.rows.survey  # which says so if numbers are not finite
        return problem

    @staticmethod
    def _require_unit(problem):
        """Raise a ValueError if the loss of the best constant prediction overflows."""
        with np.errstate(over="ignore"):
            unit = problem.objective_unit
        if not np.isfinite(unit):
            raise ValueError(
                "The loss of the best constant prediction overflows: y must be on a smaller "
                f"scale, got values up to {problem.largest_target:.3g}."
            )

    def _solver(self) -> str:
        """The name of the solver among those of `skpd.solvers`."""
        return self.solver

    def _checked_options(self, problem: Problem) -> dict[str, Any]:
        return check_solver_options(method_named(self._solver(), problem), self.solver_options)

    def _solve(self, problem, *, start, random_state, on_check=None):
        options = self._checked_options(problem)
        return solve(
            problem,
            self._solver(),
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=random_state,
            start=start,
            on_check=on_check,
            precision=self._precision,
            **options,
        )

    def _start(self, k, shape, n_outputs):
        """The point at which a warm start of output k begins, or None if the shapes differ."""
        if not (self.warm_start and hasattr(self, "dual_coef_")):
            return None
        coef, dual_coef = np.atleast_2d(self._dense_coef), np.atleast_2d(self.dual_coef_)
        dual_shape = (dual_coef.shape[0], dual_coef.shape[-1])
        if coef.shape != (n_outputs, shape[1]) or dual_shape != (n_outputs, shape[0]):
            return None
        intercept = float(np.ravel(self.intercept_)[k]) if self.fit_intercept else 0.0
        return Point(coef[k], intercept, dual_coef[k])

    # Progress

    @property
    def _n_ticks(self):
        """Ticks of the progress bar: ten for each power of ten of the relative gap."""
        return max(1, ceil(-10.0 * log10(max(self.tol, 1e-16))))

    def _reporter(self, context, task, *, attributes=None, label="", stop=None):
        """The function that a solver calls after every check, for verbose output and callbacks.

        Parameters
        ----------
        context : CallbackContext
            The task whose subtasks are steps of the logarithm of the relative gap.
        task : dict
            Arguments of scikit-learn's hooks for the fit.
        attributes : callable, default=None
            Makes fitted attributes from a monitor, for callbacks that need a fitted estimator.
        label : str, default=""
            Name of one of several fits in the verbose output.
        stop : threading.Event, default=None
            Ends this fit when it is set.
        """
        context = context if hasattr(self, "_skl_callbacks") else None
        ticks, lines = 0, ProgressLines(f"[{type(self).__name__}]{label}", int(self.verbose))

        def on_check(monitor):
            nonlocal ticks
            if self.verbose:
                lines(monitor)
            ended = stop is not None and stop.is_set()
            if context is None:
                return ended
            gap = monitor.relative_gap
            reached = self._n_ticks if monitor.done else 0
            if 0.0 < gap < 1.0:
                reached = max(reached, int(-10.0 * log10(gap)))
            reached = min(reached, self._n_ticks)
            while ticks < reached:
                ticks += 1
                with _CALLBACK_LOCK:
                    tick = context.subcontext(
                        task_name="tenth of a power of ten of the relative gap"
                    )
                    tick.call_on_fit_task_begin(**task)
                    now = {}
                    if ticks == reached and attributes is not None:
                        now["reconstruction_attributes"] = lambda: attributes(monitor)
                    ended |= tick.call_on_fit_task_end(**task, **now)
            return ended

        return on_check

    # Fitted attributes

    def _stacked(self, dual_coefs: Sequence[Any]) -> Any:
        """The dual points of all outputs, one in each row."""
        return np.stack(dual_coefs)

    def _set_solutions(self, solutions, problems, labels=None):
        """Set the fitted attributes from one or several solutions, labelled as in "class 3".

        ``problems`` is the list of their problems.
        """
        found = [solutions] if labels is None else solutions
        if self.verbose:
            names = [""] if labels is None else [f" {label}" for label in labels]
            for name, solution in zip(names, found, strict=True):
                last_line(f"[{type(self).__name__}]{name}", solution)
        certificates = [solution.certificate for solution in found]
        histories = [solution.history for solution in found]
        self.certificate_ = certificates[0] if labels is None else certificates
        self.gap_history_ = histories[0] if labels is None else histories
        methods = [solution.method for solution in found]
        self.solver_ = methods[0] if labels is None else methods
        self.duality_gap_ = max(certificate.gap for certificate in certificates)
        self.relative_gap_ = max(certificate.relative_gap for certificate in certificates)
        self.n_iter_ = max(solution.n_iter for solution in found)
        self.converged_ = all(solution.converged for solution in found)
        if any(solution.interrupted for solution in found):
            raise KeyboardInterrupt
        if not np.any(getattr(self, self._weights_attribute)):
            warn(constant_model_message(self, problems))
        if self.converged_:
            return
        k = int(np.argmax([certificate.relative_gap for certificate in certificates]))
        worst, n_iter = certificates[k], found[k].n_iter
        which = "" if labels is None else f" for {labels[k]}"
        if found[k].stopped:
            what, advice = "was stopped by a callback", "Remove the callback or increase tol"
        elif found[k].before_rounding <= self.tol:
            what = "is less precise in float32 than asked for"
            advice = "Pass X in float64, bring the features to a common scale or increase tol"
        else:
            what = "did not converge"
            advice = "Rounding of numbers of this size may allow no smaller gap. Increase tol"
            if n_iter >= self.max_iter:
                advice = f"Increase max_iter (now {self.max_iter}) or tol"
            advice += f", or {self._advice}"
        warn(
            f"{type(self).__name__} {what}{which}: after {n_iter} iterations its relative gap is "
            f"{worst.relative_gap:.2e}, above tol={self.tol:.2e}. Its objective, "
            f"{worst.primal:.6g}, is certified to be at most {worst.gap:.2e} above the optimum. "
            f"{advice}.",
            ConvergenceWarning,
        )


def finite_targets(y, estimator):
    """Targets in float64, checked to be finite after None has become NaN."""
    y = np.require(y, np.float64, "CA")
    assert_all_finite(y, estimator_name=type(estimator).__name__, input_name="y")
    return y


def map_in_threads(function, seeds, n_threads, stop):
    """Call a function with each index and seed, in threads.

    Ctrl-C sets ``stop``, upon which each call returns what it has, and no thread outlives this
    function. Returns the results and whether Ctrl-C was pressed.
    """
    if n_threads == 1:
        return [function(k, seed) for k, seed in enumerate(seeds)], False
    interrupted = False
    # limited out here, where one thread sets it and restores it
    with one_blas_thread(), ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(function, k, seed) for k, seed in enumerate(seeds)]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        except KeyboardInterrupt:
            interrupted = True
        finally:
            if interrupted or any(f.done() and f.exception() is not None for f in futures):
                stop.set()
    return [future.result() for future in futures], interrupted

"""What all estimators share: validation, one-vs-rest, callbacks, fitted attributes."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from math import ceil, log10
from numbers import Integral, Real
from threading import Event, Lock
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    assert_all_finite,
    check_is_fitted,
)

from ._parameters import ParameterValidation
from ._typing import Array
from ._validation import validated
from .certificates import Certificate
from .designs import Design
from .designs.threads import one_blas_thread
from .losses import Loss
from .penalties import L1, L2, LInf, Penalty, SquaredL2
from .problems import Point, Problem
from .solvers import SOLVERS, check_solver_options, solve

PENALTIES: dict[str, Callable[[], Penalty]] = {
    "l1": L1,
    "l2_norm": L2,
    "linf": LInf,
    "squared_l2": SquaredL2,
}
PENALTY_METHODS = [
    "bind", "value", "prox", "conjugate", "support", "bounded_conjugate", "feasible",
    "widest", "step_sizes",
]  # fmt: skip

# scikit-learn's callbacks talk to the main process over connections that threads share
_CALLBACK_LOCK = Lock()

_DATA = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32]}
LARGE = 1 << 20  # entries of an array that are not read once more to see that they are finite


class PrimalDualEstimator(CallbackSupportMixin, ParameterValidation):
    """A linear model fitted by a solver of `Problem`, with its certificate."""

    coef_: Array
    intercept_: Any
    dual_coef_: Array
    certificate_: Certificate | list[Certificate]
    duality_gap_: float
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
    _solvers: ClassVar[dict[str, Callable[..., None]]] = SOLVERS
    _penalty_constraint: ClassVar[list] = [StrOptions(set(PENALTIES)), HasMethods(PENALTY_METHODS)]

    @abstractmethod
    def _problems(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Any, Any, list[Problem], Any]: ...

    def _fitted_problems(self, X, y, sample_weight) -> list[Problem]:
        """The problems that the fitted model solves on some data."""
        return self._problems(X, y, sample_weight)[2]

    @abstractmethod
    def _get_loss(self) -> Loss:
        """The Loss object of this model."""

    def _get_penalty(self) -> Penalty:
        if isinstance(self.penalty, type):
            raise ValueError(
                f"The 'penalty' parameter of {type(self).__name__} must be an object, got the "
                f"class {self.penalty.__name__}: pass {self.penalty.__name__}()."
            )
        return PENALTIES[self.penalty]() if isinstance(self.penalty, str) else self.penalty

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """A fit that an error or Ctrl-C has ended may have left attributes, but no model."""
        return hasattr(self, "coef_")

    def _validated(self, X, y, **options):
        """X and y as scikit-learn takes them, and whether `_require_finite` is to follow."""
        known = isinstance(X, np.ndarray) and X.dtype in _DATA["dtype"]
        unchecked = known and X.size >= LARGE
        X, y = validated(self, X, y, ensure_all_finite=not unchecked, **_DATA, **options)
        return X, y, unchecked

    def _require_finite(self, problem, X):
        """scikit-learn's error for an array that is not finite.

        Its product with numbers that are not 0, which solvers want anyway, shows where it is.
        """
        row_weights = problem.weights * problem.null_point.dual_coef
        if not (row_weights.all() and np.isfinite(problem.null_gradient).all()):
            assert_all_finite(X, estimator_name=type(self).__name__, input_name="X")

    @staticmethod
    def _normalised(sample_weight):
        """Weights that sum to 1, and the sum they had."""
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
        problem = Problem(
            design=design,
            y=y,
            weights=weights,
            total_weight=total_weight,
            loss=self._get_loss(),
            penalty=self._get_penalty(),
            alpha=float(self.alpha),
            fit_intercept=bool(self.fit_intercept),
        )
        with np.errstate(over="ignore"):
            unit = problem.objective_unit
        if not np.isfinite(unit):
            raise ValueError(
                "The loss of the best constant prediction overflows: y must be on a smaller "
                f"scale, got values up to {np.max(np.abs(y)):.3g}."
            )
        return problem

    def _solver(self) -> str:
        """The name of the solver among those of `skpd.solvers`."""
        return self.solver

    def _checked_options(self) -> dict[str, Any]:
        return check_solver_options(self._solver(), self.solver_options, self._solvers)

    def _solve(self, problem, *, start, random_state, on_check=None):
        options = self._checked_options()
        return solve(
            problem,
            self._solver(),
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=random_state,
            start=start,
            on_check=on_check,
            **options,
        )

    def _start(self, k, shape, n_outputs):
        """Where a warm start resumes output k, if the last fit had the same shape."""
        if not (self.warm_start and hasattr(self, "dual_coef_")):
            return None
        coef, dual_coef = np.atleast_2d(self.coef_), np.atleast_2d(self.dual_coef_)
        dual_shape = (dual_coef.shape[0], dual_coef.shape[-1])
        if coef.shape != (n_outputs, shape[1]) or dual_shape != (n_outputs, shape[0]):
            return None
        intercept = float(np.ravel(self.intercept_)[k]) if self.fit_intercept else 0.0
        return Point(coef[k], intercept, dual_coef[k])

    # Progress

    @property
    def _n_ticks(self):
        """Ticks of the progress bar: one for each decibel of the relative gap."""
        return max(1, ceil(-10.0 * log10(max(self.tol, 1e-16))))

    def _reporter(self, context, task, *, attributes=None, label="", stop=None):
        """What a solver calls after every check: verbose output, callbacks, a shared stop.

        Parameters
        ----------
        context : CallbackContext
            The task whose subtasks are the decibels of the relative gap.
        task : dict
            What scikit-learn's hooks are told of the fit.
        attributes : callable, default=None
            Fitted attributes from a monitor, for callbacks that want a fitted estimator.
        label : str, default=""
            Names one of several fits in the verbose output.
        stop : threading.Event, default=None
            Ends this fit when set.
        """
        context = context if hasattr(self, "_skl_callbacks") else None
        ticks = 0

        def on_check(monitor):
            nonlocal ticks
            if self.verbose:
                print(
                    f"[{type(self).__name__}]{label} iteration {monitor.n_iter}: "
                    f"objective {monitor.primal:.8g}, lower bound {monitor.dual:.8g}, "
                    f"relative gap {monitor.relative_gap:.2e} (tol {self.tol:.2e})",
                    flush=True,
                )
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
                    tick = context.subcontext(task_name="decibel of the relative gap")
                    tick.call_on_fit_task_begin(**task)
                    now = {}
                    if ticks == reached and attributes is not None:
                        now["reconstruction_attributes"] = lambda: attributes(monitor)
                    ended |= tick.call_on_fit_task_end(**task, **now)
            return ended

        return on_check

    # Fitted attributes

    def _set_solutions(self, solutions, labels=None):
        """Store one solution, or a list of them and their labels for one-vs-rest."""
        found = [solutions] if labels is None else solutions
        certificates = [solution.certificate for solution in found]
        histories = [solution.history for solution in found]
        self.certificate_ = certificates[0] if labels is None else certificates
        self.gap_history_ = histories[0] if labels is None else histories
        self.duality_gap_ = max(certificate.gap for certificate in certificates)
        self.n_iter_ = max(solution.n_iter for solution in found)
        self.converged_ = all(solution.converged for solution in found)
        if any(solution.interrupted for solution in found):
            raise KeyboardInterrupt
        if self.converged_:
            return
        k = int(np.argmax([certificate.relative_gap for certificate in certificates]))
        worst, n_iter = certificates[k], found[k].n_iter
        which = "" if labels is None else f" for class {labels[k]}"
        if found[k].stopped:
            what, advice = "was stopped by a callback", "Remove the callback or increase tol"
        else:
            what = "did not converge"
            more = f"max_iter (now {self.max_iter}) or " if n_iter >= self.max_iter else ""
            advice = f"Increase {more}tol, or bring the features to a common scale"
        warnings.warn(
            f"{type(self).__name__} {what}{which}: after {n_iter} iterations its relative gap is "
            f"{worst.relative_gap:.2e}, above tol={self.tol:.2e}. Its objective, "
            f"{worst.primal:.6g}, is certified to be at most {worst.gap:.2e} above the optimum. "
            f"{advice}.",
            ConvergenceWarning,
            stacklevel=5,  # the caller of fit, past its two decorators
        )


def _linear_predictions(X, coef, intercept):
    """X coef' + intercept for coef of shape (n_outputs, n_features), X never copied."""
    if X.dtype == np.float64:
        return safe_sparse_dot(X, coef.T, dense_output=True) + intercept
    design = Design(X)
    return np.column_stack([design.matvec(w) for w in coef]) + intercept


def finite_targets(y, estimator):
    """Targets in float64; of a list with None scikit-learn makes NaN only after its check."""
    y = np.require(y, np.float64, "CA")
    assert_all_finite(y, estimator_name=type(estimator).__name__, input_name="y")
    return y


def _checked_classes(y):
    """The classes of targets; two whole numbers are seen to be classes without their types."""
    if y.dtype.kind in "biuf":
        ends = np.array([np.min(y), np.max(y)])
        if ends[0] < ends[1] and np.all(ends == np.trunc(ends)) and np.isin(y, ends).all():
            return ends
    check_classification_targets(y)
    return np.unique(y)


def map_in_threads(function, seeds, n_threads, stop):
    """[function(k, seed)] over the seeds, in threads that share the data and one stop.

    Ctrl-C sets ``stop``, upon which each call ends with what it has, and no thread
    outlives this function. Returns the results and whether that happened.
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


class PrimalDualClassifier(ClassifierMixin, PrimalDualEstimator):
    """Binary, and one-vs-rest for more classes."""

    _parameter_constraints: ClassVar[dict] = {
        **PrimalDualEstimator._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "n_jobs": [Integral, None],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model and certify it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. Dense arrays, CSR and CSC in float64 or float32 are used as
            they are, without a copy.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, non-negative and not all zero; 1 by default. A weight
            of 2 equals a repeated row.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter, the data or the weights are invalid, or if fewer than two
            classes have samples of positive weight.
        KeyboardInterrupt
            After Ctrl-C; the fitted attributes then hold the best model so far and its
            certificate.
        """
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        X, y, problems, classes = self._problems(X, y, sample_weight)
        several, n_outputs = len(problems) > 1, len(problems)
        n_threads = min(effective_n_jobs(self.n_jobs), n_outputs)
        task = {"estimator": self, "X": X, "y": y, "metadata": metadata}
        context = self._init_callback_context(
            max_subtasks=n_outputs if several else self._n_ticks,
            sequential_subtasks=n_threads == 1,
        ).call_on_fit_task_begin(**task)
        stop = Event()

        def attributes(monitor):
            return {
                "coef_": monitor.best.coef[np.newaxis],
                "intercept_": np.array([monitor.best.intercept]),
                "classes_": classes,
            }

        def fit_class(k, seed):
            report = {"attributes": attributes, "stop": stop}
            own = context
            if several:
                report = {"label": f" class {classes[k]}", "stop": stop}
                with _CALLBACK_LOCK:
                    own = context.subcontext(
                        task_name=f"class {classes[k]}",
                        task_id=None if n_threads == 1 else k,
                        max_subtasks=self._n_ticks,
                    ).call_on_fit_task_begin(estimator=self)
            solution = self._solve(
                problems[k],
                start=self._start(k, X.shape, n_outputs),
                random_state=np.random.RandomState(seed),
                on_check=self._reporter(own, task, **report),
            )
            if solution.interrupted:
                stop.set()
            if several:
                with _CALLBACK_LOCK:
                    own.call_on_fit_task_end(estimator=self)
            return solution

        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=n_outputs
        )
        solutions, interrupted = map_in_threads(fit_class, seeds, n_threads, stop)

        self.classes_ = classes
        self.coef_ = np.vstack([solution.coef for solution in solutions])
        self.intercept_ = np.array([solution.intercept for solution in solutions])
        self.dual_coef_ = np.stack([solution.dual_coef for solution in solutions])
        if interrupted:
            solutions[0] = replace(solutions[0], interrupted=True)
        self._set_solutions(solutions if several else solutions[0], classes if several else None)
        context.call_on_fit_task_end(**task, reconstruction_attributes={})
        return self

    def _problems(self, X, y, sample_weight):
        """The validated data, a problem for each output and the classes."""
        X, y, unchecked = self._validated(X, y)
        classes = _checked_classes(y)
        sample_weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        labels = np.searchsorted(classes, y)
        weights = sample_weight * self._class_weights(classes, y, sample_weight)[labels]
        n_present = np.count_nonzero(np.bincount(labels, weights > 0))
        if n_present < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes whose sample_weight "
                f"and class_weight are positive, got {n_present} of the {len(classes)} "
                f"class(es) in y."
            )
        self._checked_options()
        positives = range(len(classes)) if len(classes) > 2 else [1]
        design = Design(X, n_parallel=min(effective_n_jobs(self.n_jobs), len(positives)))
        problems = [
            self._problem(design, np.where(labels == k, 1.0, -1.0), weights) for k in positives
        ]
        if unchecked:
            self._require_finite(problems[0], X)
        return X, y, problems, classes

    def _class_weights(self, classes, y, sample_weight):
        """The weight of each class; 1 for a class without samples of positive weight."""
        if self.class_weight is None:
            return np.ones(len(classes))
        with np.errstate(divide="ignore", invalid="ignore"):
            class_weight = compute_class_weight(
                self.class_weight, classes=classes, y=y, sample_weight=sample_weight
            )
        if self.class_weight == "balanced":
            class_weight = np.where(np.isfinite(class_weight), class_weight, 1.0)
        if not (np.isfinite(class_weight).all() and (class_weight >= 0).all()):
            raise ValueError(
                "The 'class_weight' parameter must hold finite weights of at least 0, got "
                f"{self.class_weight!r}."
            )
        return class_weight

    def decision_function(self, X: Any) -> Array:
        """Signed distances to the hyperplanes, up to the norm of the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes positive where ``classes_[1]`` is predicted.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, **_DATA)
        scores = _linear_predictions(X, self.coef_, self.intercept_)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]


class PrimalDualRegressor(RegressorMixin, PrimalDualEstimator):
    """One target."""

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model and certify it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. Dense arrays, CSR and CSC in float64 or float32 are used as
            they are, without a copy.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, non-negative and not all zero; 1 by default. A weight
            of 2 equals a repeated row.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter, the data or the weights are invalid.
        KeyboardInterrupt
            After Ctrl-C; the fitted attributes then hold the best model so far and its
            certificate.
        """
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        X, y, (problem,), _ = self._problems(X, y, sample_weight)
        task = {"estimator": self, "X": X, "y": y, "metadata": metadata}
        context = self._init_callback_context(max_subtasks=self._n_ticks)
        context.call_on_fit_task_begin(**task)

        def attributes(monitor):
            return {"coef_": monitor.best.coef, "intercept_": monitor.best.intercept}

        solution = self._solve(
            problem,
            start=self._start(0, X.shape, 1),
            random_state=check_random_state(self.random_state),
            on_check=self._reporter(context, task, attributes=attributes),
        )
        self.coef_ = solution.coef
        self.intercept_ = solution.intercept
        self.dual_coef_ = solution.dual_coef
        self._set_solutions(solution)
        context.call_on_fit_task_end(**task, reconstruction_attributes={})
        return self

    def _problems(self, X, y, sample_weight):
        """The validated data, the one problem in a list, and no classes."""
        X, y, unchecked = self._validated(X, y, y_numeric=True)
        y = finite_targets(y, self)
        sample_weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        self._checked_options()
        problem = self._problem(Design(X), y, sample_weight)
        if unchecked:
            self._require_finite(problem, X)
        return X, y, [problem], None

    def predict(self, X: Any) -> np.ndarray:
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, **_DATA)
        return _linear_predictions(X, self.coef_[np.newaxis], self.intercept_)[:, 0]

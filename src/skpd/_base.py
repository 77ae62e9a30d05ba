"""What all estimators share: validation, one-vs-rest, callbacks, fitted attributes."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from math import ceil, log10
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, _fit_context
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._typing import Array
from .certificates import Certificate
from .design import Design
from .losses import Loss
from .penalties import L1, L2, LInf, Penalty, SquaredL2
from .problem import Point, Problem
from .solvers import SOLVERS, check_solver_options, solve

PENALTIES: dict[str, Callable[[], Penalty]] = {
    "l1": L1,
    "l2_norm": L2,
    "linf": LInf,
    "squared_l2": SquaredL2,
}
PENALTY_METHODS = [
    "bind", "value", "prox", "conjugate", "support", "bounded_conjugate", "step_sizes",
]  # fmt: skip

_DATA = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32]}


class PrimalDualEstimator(CallbackSupportMixin, BaseEstimator):
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
        "solver": [StrOptions(set(SOLVERS))],
        "solver_options": [dict, None],
        "tol": [Interval(Real, 0, np.inf, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "fit_intercept": ["boolean"],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    _penalty_constraint: ClassVar[list] = [StrOptions(set(PENALTIES)), HasMethods(PENALTY_METHODS)]

    @abstractmethod
    def _get_loss(self) -> Loss:
        """The Loss object of this model."""

    def _get_penalty(self) -> Penalty:
        return PENALTIES[self.penalty]() if isinstance(self.penalty, str) else self.penalty

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _problem(self, design, y, sample_weight):
        total_weight = float(sample_weight.sum())
        return Problem(
            design=design,
            y=y,
            weights=sample_weight / total_weight,
            total_weight=total_weight,
            loss=self._get_loss(),
            penalty=self._get_penalty(),
            alpha=float(self.alpha),
            fit_intercept=bool(self.fit_intercept),
        )

    def _solve(self, problem, *, start, random_state, on_check=None):
        options = check_solver_options(self.solver, self.solver_options)
        return solve(
            problem,
            self.solver,
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
        if coef.shape != (n_outputs, shape[1]) or dual_coef.shape != (n_outputs, shape[0]):
            return None
        return Point(coef[k], float(np.ravel(self.intercept_)[k]), dual_coef[k])

    # Progress

    @property
    def _n_ticks(self):
        """Ticks of the progress bar: one for each decibel of the relative gap."""
        return max(1, ceil(-10.0 * log10(max(self.tol, 1e-16))))

    def _reporter(self, context, X, y, metadata, attributes=None, label=""):
        """What a solver calls after every check: verbose output and callbacks."""
        context = context if hasattr(self, "_skl_callbacks") else None
        if context is None and not self.verbose:
            return None
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
            if context is None:
                return False
            stop = False
            gap = max(monitor.relative_gap, 1e-300)
            reached = self._n_ticks if monitor.done else int(-10.0 * log10(gap))
            while ticks < min(reached, self._n_ticks):
                ticks += 1
                current = ticks == min(reached, self._n_ticks) and attributes is not None
                task = {"estimator": self, "X": X, "y": y, "metadata": metadata}
                tick = context.subcontext(task_name="decibel of the relative gap")
                tick.call_on_fit_task_begin(**task)
                if current:
                    task["reconstruction_attributes"] = lambda: attributes(monitor)
                stop |= tick.call_on_fit_task_end(**task)
            return stop

        return on_check

    # Fitted attributes

    def _set_solutions(self, solutions):
        """Store one solution, or a list of them for one-vs-rest."""
        several = isinstance(solutions, list)
        found = solutions if several else [solutions]
        certificates = [solution.certificate for solution in found]
        histories = [solution.history for solution in found]
        self.certificate_ = certificates if several else certificates[0]
        self.gap_history_ = histories if several else histories[0]
        self.duality_gap_ = max(certificate.gap for certificate in certificates)
        self.n_iter_ = max(solution.n_iter for solution in found)
        self.converged_ = all(solution.converged for solution in found)
        if any(solution.interrupted for solution in found):
            raise KeyboardInterrupt
        if not self.converged_:
            worst = max(certificates, key=lambda certificate: certificate.relative_gap)
            warnings.warn(
                f"{type(self).__name__} did not converge: after {self.n_iter_} iterations its "
                f"relative gap is {worst.relative_gap:.2e}, above tol={self.tol:.2e}. Its "
                f"objective, {worst.primal:.6g}, is certified to be at most {worst.gap:.2e} "
                f"above the optimum. Increase max_iter (now {self.max_iter}) or tol, or bring "
                "the features to a common scale.",
                ConvergenceWarning,
                stacklevel=5,  # the caller of fit, past its two decorators
            )


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
        """
        X, y = validate_data(self, X, y, **_DATA)
        check_classification_targets(y)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        sample_weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        classes, labels = np.unique(y, return_inverse=True)
        class_weight = compute_class_weight(
            self.class_weight, classes=classes, y=y, sample_weight=sample_weight
        )
        weights = sample_weight * class_weight[labels]
        n_present = len(np.unique(labels[weights > 0]))
        if len(classes) < 2 or n_present < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes with positive "
                f"weight, but y has {n_present} class(es) of these: {classes!r}."
            )
        check_solver_options(self.solver, self.solver_options)

        design = Design(X)
        n_outputs = 1 if len(classes) == 2 else len(classes)
        random_state = check_random_state(self.random_state)
        sequential = effective_n_jobs(self.n_jobs) == 1
        context = self._init_callback_context(
            max_subtasks=self._n_ticks if n_outputs == 1 else n_outputs,
            sequential_subtasks=n_outputs == 1 or sequential,
        ).call_on_fit_task_begin(estimator=self, X=X, y=y, metadata=metadata)

        def fit_class(k, seed):
            own_context, attributes, label = context, None, ""
            if n_outputs == 1:

                def attributes(monitor):
                    point = monitor.best
                    return {
                        "coef_": point.coef[np.newaxis],
                        "intercept_": np.array([point.intercept]),
                        "classes_": classes,
                    }
            else:
                label = f" class {classes[k]!r}"
                own_context = context.subcontext(
                    task_name=f"class {classes[k]!r}",
                    task_id=None if sequential else k,
                    max_subtasks=self._n_ticks,
                ).call_on_fit_task_begin(estimator=self)
            positive = labels == (1 if n_outputs == 1 else k)
            solution = self._solve(
                self._problem(design, np.where(positive, 1.0, -1.0), weights),
                start=self._start(k, X.shape, n_outputs),
                random_state=np.random.RandomState(seed),
                on_check=self._reporter(own_context, X, y, metadata, attributes, label),
            )
            if n_outputs > 1:
                if solution.interrupted:
                    raise KeyboardInterrupt
                own_context.call_on_fit_task_end(estimator=self)
            return solution

        seeds = random_state.randint(np.iinfo(np.int32).max, size=n_outputs)
        # threads: the kernels release the GIL, and X is shared instead of copied
        solutions = Parallel(
            n_jobs=self.n_jobs if n_outputs > 1 else 1, prefer="threads", require="sharedmem"
        )(delayed(fit_class)(k, seed) for k, seed in enumerate(seeds))

        self.classes_ = classes
        self.coef_ = np.vstack([solution.coef for solution in solutions])
        self.intercept_ = np.array([solution.intercept for solution in solutions])
        self.dual_coef_ = np.vstack([solution.dual_coef for solution in solutions])
        self._set_solutions(solutions if n_outputs > 1 else solutions[0])
        context.call_on_fit_task_end(
            estimator=self, X=X, y=y, metadata=metadata, reconstruction_attributes={}
        )
        return self

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
        X = validate_data(self, X, reset=False, **_DATA)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
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
        """
        X, y = validate_data(self, X, y, y_numeric=True, **_DATA)
        y = np.ascontiguousarray(y, dtype=np.float64)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        sample_weight = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        check_solver_options(self.solver, self.solver_options)
        context = self._init_callback_context(max_subtasks=self._n_ticks).call_on_fit_task_begin(
            estimator=self, X=X, y=y, metadata=metadata
        )

        def attributes(monitor):
            return {"coef_": monitor.best.coef, "intercept_": monitor.best.intercept}

        solution = self._solve(
            self._problem(Design(X), y, sample_weight),
            start=self._start(0, X.shape, 1),
            random_state=check_random_state(self.random_state),
            on_check=self._reporter(context, X, y, metadata, attributes),
        )
        self.coef_ = solution.coef
        self.intercept_ = solution.intercept
        self.dual_coef_ = solution.dual_coef
        self._set_solutions(solution)
        context.call_on_fit_task_end(
            estimator=self, X=X, y=y, metadata=metadata, reconstruction_attributes={}
        )
        return self

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
        X = validate_data(self, X, reset=False, **_DATA)
        return safe_sparse_dot(X, self.coef_, dense_output=True) + self.intercept_

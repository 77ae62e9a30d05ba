"""The lasso, as scikit-learn has it, with a certificate; alone and cross-validated."""

import warnings
from numbers import Integral, Real
from threading import Event
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import _check_sample_weight

from ._base import _CALLBACK_LOCK, PrimalDualRegressor, map_in_threads
from ._typing import Array
from .design import Design
from .losses import Squared
from .penalties import L1, NonNegativeL1, Penalty
from .regularization import alpha_values, follow

__all__ = ["LassoPDCertified", "LassoPDCertifiedCV"]


class _Lasso(PrimalDualRegressor):
    positive: bool

    _parameter_constraints: ClassVar[dict] = {
        **PrimalDualRegressor._parameter_constraints,
        "solver": [StrOptions({"auto", "cd", "approx"})],
        "positive": ["boolean"],
    }

    def _get_loss(self) -> Squared:
        return Squared()

    def _get_penalty(self) -> Penalty:
        return NonNegativeL1() if self.positive else L1()


class LassoPDCertified(_Lasso):
    """The lasso with a certificate: least squares with an l1 penalty.

    Minimises scikit-learn's objective ::

        1 / (2 n_samples) ||y - X w - b||_2^2 + alpha ||w||_1

    and, with sample weights s, the same with ``sum_i s_i (y_i - x_i.w - b)^2 / (2 sum_i s_i)``
    as its first term.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty (the papers' lambda), greater than 0, as in scikit-learn's
        `Lasso`.
    positive : bool, default=False
        Whether the coefficients must not be negative.
    solver : {"auto", "cd", "approx"}, default="auto"
        "auto" is the fastest method known for the problem, see `skpd.solvers.auto.auto`.
        "cd" is random coordinate descent, Algorithm 1 of Dünner et al. (2016), "approx"
        the accelerated one of Fercoq and Richtárik (2015), whose coefficients are small
        where those of the others are 0; both copy X once unless it is stored by columns
        (CSC, Fortran order). See `skpd.solvers.coordinates`.
    solver_options : dict, default=None
        Options of "cd": ``average`` (bool), whether the average of the last iterates is
        taken instead of the last one, and ``burn_in`` (float in [0, 1)), the share of the
        iterates before the average begins.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the objective is then at
        most ``tol`` times that of the best constant prediction above the optimum.
    max_iter : int, default=50_000
        Iterations at most: Newton steps for "auto"; for the others epochs, each of as many
        steps along one coordinate as there are coordinates.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised. "cd" and "approx" minimise over
        it after every step, as if columns and targets were centred.
    warm_start : bool, default=False
        Start from the last fit's primal and dual solution where the shapes agree.
    random_state : int, RandomState instance or None, default=None
        The coordinates that "cd" and "approx" draw.
    verbose : int, default=0
        Print a line for every certificate computed on the way.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Coefficients, in float64.
    intercept_ : float
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual solution theta: up to the tolerance, the residuals ``X w + b - y``.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    gap_history_ : structured ndarray
        The interval over time, with fields n_iter, seconds, primal, dual, gap.
    converged_ : bool
        Whether the relative gap reached ``tol``.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.

    See Also
    --------
    LassoPDCertifiedCV : The same with ``alpha`` chosen by cross-validation.
    skpd.path : The same for many values of ``alpha``.
    PdproxRegressor : Other losses and penalties.

    References
    ----------
    Dünner, Forte, Takáč, Jaggi: Primal-dual rates and certificates. ICML 2016.

    Fercoq, Richtárik: Accelerated, parallel, and proximal coordinate descent. SIAM
    Journal on Optimization 25, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skpd import LassoPDCertified
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoPDCertified(alpha=0.5).fit(X, y)
    >>> print((model.coef_ != 0).sum(), f"{model.score(X, y):.3f}")
    4 0.455
    >>> model.certificate_.relative_gap <= model.tol
    True
    """

    _parameter_constraints: ClassVar[dict] = _Lasso._parameter_constraints

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        positive: bool = False,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 50_000,
        fit_intercept: bool = True,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.positive = positive
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose


class LassoPDCertifiedCV(_Lasso):
    """The lasso with a certificate, its alpha chosen by cross-validation.

    In every fold a model is fitted for each alpha, each from the one before; the alpha
    whose models have the least mean squared error, averaged over the folds, is then used
    to fit all data. Values and conventions are those of scikit-learn's `LassoCV`.

    Parameters
    ----------
    eps : float, default=1e-3
        Ratio of the smallest to the largest alpha, in (0, 1), where ``alphas`` is a number.
    alphas : int or array-like of shape (n_alphas,), default=100
        Values of alpha, greater than 0, in any order; or their number: then they are at
        equal ratios, from the smallest alpha at which all coefficients are 0.
    positive : bool, default=False
        Whether the coefficients must not be negative.
    solver : {"auto", "cd", "approx"}, default="auto"
        As for `LassoPDCertified`.
    solver_options : dict, default=None
        As for `LassoPDCertified`.
    tol : float, default=1e-4
        Relative gap at which each fit stops.
    max_iter : int, default=50_000
        Iterations at most of each fit.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    cv : int, cross-validation generator or iterable, default=None
        The folds: their number (5 by default) for `KFold`, a splitter, or an iterable of
        (train, test) index arrays.
    n_jobs : int, default=None
        Threads over the folds.
    random_state : int, RandomState instance or None, default=None
        The coordinates that "cd" and "approx" draw.
    verbose : int, default=0
        Print a line for every certificate computed in the fit on all data.

    Attributes
    ----------
    alpha_ : float
        The alpha chosen.
    alphas_ : ndarray of shape (n_alphas,)
        All alphas, decreasing.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared error on each test fold.
    coef_ : ndarray of shape (n_features,)
        Coefficients of the fit on all data, in float64.
    intercept_ : float
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual solution theta: up to the tolerance, the residuals ``X w + b - y``.
    certificate_ : Certificate
        The interval that holds the optimal objective value for ``alpha_`` on all data.
    duality_gap_ : float
        Length of that interval.
    gap_history_ : structured ndarray
        The interval over time, with fields n_iter, seconds, primal, dual, gap.
    converged_ : bool
        Whether the relative gap reached ``tol`` in the fit on all data.
    n_iter_ : int
        Iterations of that fit.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Warns
    -----
    ConvergenceWarning
        If a relative gap is still above ``tol`` after ``max_iter`` iterations.

    See Also
    --------
    LassoPDCertified : The same for one ``alpha``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skpd import LassoPDCertifiedCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoPDCertifiedCV(alphas=20).fit(X, y)
    >>> print(f"{model.alpha_:.4f}", model.mse_path_.shape)
    0.0031 (20, 5)
    >>> model.certificate_.relative_gap <= model.tol
    True
    """

    alpha: ClassVar[float] = 1.0  # of the problem that those of the path are made of
    warm_start: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict] = {
        **{
            name: constraint
            for name, constraint in _Lasso._parameter_constraints.items()
            if name not in ("alpha", "warm_start")
        },
        "eps": [Interval(Real, 0, 1, closed="neither")],
        "alphas": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: int | ArrayLike = 100,
        positive: bool = False,
        solver: str = "auto",
        solver_options: dict[str, Any] | None = None,
        tol: float = 1e-4,
        max_iter: int = 50_000,
        fit_intercept: bool = True,
        cv: Any = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.positive = positive
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Choose alpha by cross-validation, fit the model on all data and certify it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the fits and in the mean squared error of each fold;
            the average over the folds is not weighted, as in `LassoCV`.
        **params : dict
            Parameters of the splitter, with scikit-learn's metadata routing.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter, the data or the weights are invalid, or if a fold has no sample
            of positive weight to train or to test on.
        KeyboardInterrupt
            After Ctrl-C.
        """
        _raise_for_params(params, self, "fit")
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        X, y, (problem,), _ = self._problems(X, y, sample_weight)
        targets = problem.y
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        split = {}
        if _routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            split = routed.splitter.split
        folds = list(check_cv(self.cv).split(X, y, **split))
        for k, fold in enumerate(folds):
            for rows, name in zip(fold, ("train", "test"), strict=True):
                if not np.any(weights[rows] > 0.0):
                    raise ValueError(
                        f"sample_weight must be positive somewhere in every fold, but is 0 in all "
                        f"{name} samples of fold {k}."
                    )
        n_threads = min(effective_n_jobs(self.n_jobs), len(folds))
        task = {"estimator": self, "X": X, "y": y, "metadata": metadata}
        context = self._init_callback_context(
            max_subtasks=len(folds) + 1, sequential_subtasks=n_threads == 1
        ).call_on_fit_task_begin(**task)
        if isinstance(self.alphas, Integral) and problem.largest_alpha == 0.0:
            self.alphas_ = np.full(self.alphas, np.finfo(np.float64).resolution)  # as LassoCV
        else:
            self.alphas_ = alpha_values([problem], self.alphas, self.eps)
        stop = Event()

        def subtask(name, k):
            return context.subcontext(task_name=name, task_id=None if n_threads == 1 else k)

        def errors_of(k: int, seed: int) -> tuple[Array, int]:
            train, test = folds[k]
            with _CALLBACK_LOCK:
                own = subtask(f"fold {k}", k).call_on_fit_task_begin(estimator=self)
            fold = self._problem(Design(X[train]), targets[train], weights[train])
            held_out = Design(X[test])
            mse, unfinished = np.full(len(self.alphas_), np.nan), 0
            for a, solution in enumerate(follow(self, fold, self.alphas_, seed, stop)):
                residuals = held_out.matvec(solution.coef) + solution.intercept - targets[test]
                mse[a] = np.average(residuals**2, weights=weights[test])
                unfinished += not solution.converged
            with _CALLBACK_LOCK:
                own.call_on_fit_task_end(estimator=self)
            return mse, unfinished

        random_state = check_random_state(self.random_state)
        seeds = random_state.randint(np.iinfo(np.int32).max, size=len(folds))
        found, interrupted = map_in_threads(errors_of, seeds, n_threads, stop)
        if interrupted or stop.is_set():
            raise KeyboardInterrupt
        self.mse_path_ = np.column_stack([mse for mse, _ in found])
        self.alpha_ = float(self.alphas_[np.argmin(self.mse_path_.mean(axis=1))])
        unfinished = sum(n for _, n in found)
        if unfinished:
            warnings.warn(
                f"{type(self).__name__} did not converge to tol={self.tol:.2e} in {unfinished} of "
                f"{self.mse_path_.size} fits of the cross-validation. Increase max_iter (now "
                f"{self.max_iter}) or tol, or eps, which leaves out the smallest alphas.",
                ConvergenceWarning,
                stacklevel=4,  # the caller of fit, past its two decorators
            )
        own = subtask("fit on all data", len(folds)).call_on_fit_task_begin(**task)
        solution = self._solve(
            problem.with_alpha(self.alpha_),
            start=None,
            random_state=random_state,
            on_check=self._reporter(None, task),
        )
        self.coef_ = solution.coef
        self.intercept_ = solution.intercept
        self.dual_coef_ = solution.dual_coef
        self._set_solutions(solution)
        own.call_on_fit_task_end(**task, reconstruction_attributes={})
        context.call_on_fit_task_end(**task, reconstruction_attributes={})
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """The metadata that `fit` takes and hands on to the splitter.

        Returns
        -------
        routing : MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=check_cv(self.cv),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )

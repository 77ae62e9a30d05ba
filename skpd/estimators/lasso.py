"""The lasso, as scikit-learn has it, with a certificate; alone and cross-validated."""

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from .._typing import ArrayLike
from ..losses import Squared
from ..penalties import L1, NonNegativeL1, Penalty
from .cross_validation import PathCrossValidation
from .lasso_attributes import LassoAttributes, LassoLike
from .parameters import BY_FEATURE, penalty_by_feature

__all__ = ["LassoPDCertified", "LassoPDCertifiedCV"]


SOLVERS = [StrOptions({"auto", "cd", "approx"})]


class LassoPDCertified(LassoLike):
    """The lasso with a certificate: least squares with an l1 penalty.

    Minimises scikit-learn's objective ::

        1 / (2 n_samples) ||y - X w - b||_2^2 + alpha ||w||_1

    and, with sample weights s, the same with ``sum_i s_i (y_i - x_i.w - b)^2 / (2 sum_i s_i)``
    as its first term.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty (the papers' lambda), at least 0, as in scikit-learn's `Lasso`.
        With 0 it is least squares.
    positive : bool, default=False
        Whether the coefficients must not be negative.
    penalty_weights : array-like of shape (n_features,), default=None
        A weight of at least 0 for each feature, by which its part of the penalty is multiplied:
        for a penalty of single coefficients. Features with a weight of 0 are not penalised.
    bounds : pair (lower, upper) or scipy.optimize.Bounds, default=None
        Bounds of the coefficients, with lower <= 0 <= upper: numbers or arrays of shape
        (n_features,), -inf and inf for none. For a penalty of single coefficients.
    solver : {"auto", "cd", "approx"}, default="auto"
        "auto" is the fastest method known for the problem, see `skpd.solvers.select.auto`.
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
        1 prints ever fewer lines on the way, where the iterations have doubled or the gap has
        halved, and the last certificate; 2 a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients, in the precision of X.
    intercept_ : float, or ndarray of shape (n_targets,)
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Dual solution theta: up to the tolerance, the residuals ``X w + b - y``.
    certificate_ : Certificate, or list of them for several targets
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval; the largest for several targets.
    dual_gap_ : float, or ndarray of shape (n_targets,)
        The same, for each target: its name in scikit-learn.
    sparse_coef_ : sparse array of shape (1, n_features) or (n_targets, n_features)
        ``coef_`` in sparse format.
    relative_gap_ : float
        The same over the objective of the best constant prediction: what ``tol`` bounds.
    gap_history_ : structured ndarray
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that of
        the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str
        The method that finished: a name of ``solver``, or with "auto" one of "dual-descent",
        "multipliers", "interior-point", "interior-point-faces", "hybrid-gradient", or
        "null-model" where the best constant prediction is good enough (`skpd.solvers.select`).
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
    UserWarning
        If all coefficients are 0; it says why, and what to try.

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

    _takes_blocks: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict] = {
        **LassoLike._parameter_constraints,
        "solver": SOLVERS,
        **BY_FEATURE,
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        positive: bool = False,
        penalty_weights: ArrayLike | None = None,
        bounds: Any = None,
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
        self.penalty_weights = penalty_weights
        self.bounds = bounds
        self.solver = solver
        self.solver_options = solver_options
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _get_loss(self) -> Squared:
        return Squared()

    def _get_penalty(self) -> Penalty:
        penalty = NonNegativeL1() if self.positive else L1()
        return penalty_by_feature(penalty, self.penalty_weights, self.bounds, self.alpha)


class LassoPDCertifiedCV(LassoAttributes, PathCrossValidation):
    """The lasso with a certificate, its alpha chosen by cross-validation.

    In every fold a model is fitted for each alpha, each from the one before; the alpha
    whose models have the least mean squared error, averaged over the folds, is then used
    to fit all data. Values and conventions are those of scikit-learn's `LassoCV`.

    Parameters
    ----------
    eps : float, default=1e-3
        Ratio of the smallest to the largest alpha, in (0, 1], where ``alphas`` is a number.
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
        1 prints ever fewer lines of the fit on all data, where the iterations have doubled or the
        gap has halved, and its last certificate; 2 a line for every certificate.

    Attributes
    ----------
    alpha_ : float
        The alpha chosen; after Ctrl-C of those tried on every fold, if there are any.
    alphas_ : ndarray of shape (n_alphas,)
        All alphas, decreasing.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared error on each test fold; nan for what Ctrl-C has prevented.
    certificates_ : list
        Those of all models of the cross-validation: one list of folds, of one list each.
    coef_ : ndarray of shape (n_features,)
        Coefficients of the fit on all data, in the precision of X.
    intercept_ : float
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual solution theta: up to the tolerance, the residuals ``X w + b - y``.
    certificate_ : Certificate
        The interval that holds the optimal objective value for ``alpha_`` on all data.
    duality_gap_ : float
        Length of that interval.
    relative_gap_ : float
        The same over the objective of the best constant prediction: what ``tol`` bounds.
    gap_history_ : structured ndarray
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that of
        the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str
        The method that finished: a name of ``solver``, or with "auto" one of "dual-descent",
        "multipliers", "interior-point", "interior-point-faces", "hybrid-gradient", or
        "null-model" where the best constant prediction is good enough (`skpd.solvers.select`).
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
    UserWarning
        If all coefficients are 0; it says why, and what to try. Also if the choice is at an end
        of the alphas and the errors still change there; the largest alpha is no such end where
        ``alphas`` is a number.

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

    positive: bool
    path = LassoPDCertified.path

    _parameter_constraints: ClassVar[dict] = {
        **PathCrossValidation._parameter_constraints,
        "solver": SOLVERS,
        "positive": ["boolean"],
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

    def _get_penalty(self) -> Penalty:
        return NonNegativeL1() if self.positive else L1()

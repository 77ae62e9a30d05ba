"""The lasso and the elastic net with alpha and l1_ratio chosen by cross-validation."""

from dataclasses import KW_ONLY
from typing import ClassVar, Literal

from .._typing import ArrayLike
from ..estimators.lasso import LassoAttributes
from ..estimators.names import elastic_net
from ..estimators.parameters import declared
from ..penalties import L1, NonNegativeL1, Penalty
from .cross_validation import CrossValidationParameters, PathCrossValidation


@declared
class LassoPDCertifiedCV(LassoAttributes, CrossValidationParameters, PathCrossValidation):
    """The lasso with a certificate, its alpha chosen by cross-validation.

    In every fold a model is fitted for each alpha, each from the one before; the alpha
    whose models have the least mean squared error, averaged over the folds, is then used
    to fit all data. The model, such as ``coef_``, and its certificate are those of this last
    fit. Values and conventions are those of scikit-learn's `LassoCV`.

    Parameters
    ----------
    positive : bool, default=False
        Whether the coefficients must not be negative.
    eps : float, default=1e-3
        Ratio of the smallest to the largest alpha, in (0, 1], where ``alphas`` is a number.
    alphas : int or array-like of shape (n_alphas,), default=100
        Values of alpha in any order, 0 for no penalty; or their number: then they are at
        equal ratios, from the smallest alpha at which all coefficients are 0.
    cv : int, cross-validation generator or iterable, default=None
        The folds: their number (5 by default) for `KFold`, a splitter, or an iterable of
        (train, test) index arrays.
    solver : {"auto", "cd", "approx"}, default="auto"
        "auto" is the fastest method known for the problem, see `skpd.solvers.select`.
        "cd" is random coordinate descent, Algorithm 1 of Dünner et al. (2016), "approx"
        the accelerated one of Fercoq and Richtárik (2015), whose coefficients are small
        where those of the others are 0. Both copy X once unless it is stored by columns
        (CSC, Fortran order), and minimise over the intercept after every step, as if columns
        and targets were centred. See
        `skpd.solvers.published.random_coordinates`.
    solver_options : dict, default=None
        Options of "cd": ``average`` (bool), whether the average of the last iterates is
        taken instead of the last one, and ``burn_in`` (float in [0, 1)), the share of the
        iterates before the average begins; of "approx": ``coordinates_per_step`` (int). Both
        take ``output``: "algorithm", the default, is what the paper's algorithm returns, with
        its certificate, and "best" the best point of the run.
    tol : float, default=1e-4
        Relative gap at which each fit stops.
    max_iter : int, default=50_000
        Iterations at most of each fit.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    n_jobs : int, default=None
        Threads over the paths of the folds.
    random_state : int, RandomState instance or None, default=None
        The random numbers that the solvers draw.
    verbose : int, default=0
        For the fit to all data, 1 prints a line whenever the iterations have doubled or the
        gap has halved, and the last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    alpha_ : float
        The alpha chosen; after Ctrl-C of those tried on every fold, if there are any.
    alphas_ : ndarray of shape (n_alphas,)
        All alphas, decreasing.
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared error on each test fold; nan for what Ctrl-C has prevented.
    certificates_ : list
        The certificates of all models of the cross-validation, in a list of one element: the
        list of folds, which holds for each fold the list of certificates of its alphas.
    coef_ : ndarray of shape (n_features,)
        Coefficients, in the precision of X.
    intercept_ : float
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual solution theta: up to the tolerance, the residuals ``X w + b - y``.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    relative_gap_ : float
        That length as a share of what could be improved on the best constant prediction,
        compared with ``tol``: 0 is optimal, and 1 means that nothing was learnt.
    gap_history_ : structured ndarray
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that
        of the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str, or list of them for one-vs-rest or several targets
        The method that finished: the value of ``solver``, or with "auto" the method that was
        chosen, such as "multipliers" or "interior-point", or "null-model" where the best
        constant prediction is good enough. The :ref:`reference <solvers>` lists all names.
    converged_ : bool
        Whether the gap is as small as ``tol`` asks for.
    n_iter_ : int
        Iterations; the most of any class or target.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Warns
    -----
    ConvergenceWarning
        If a relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try. Also if the choice is
        at an end of the alphas and the errors still change there; the largest alpha is no such
        end where ``alphas`` is a number.

    See Also
    --------
    LassoPDCertified : The lasso for one value of ``alpha``.
    PathCV : Any estimator with alpha chosen by the scores on folds.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skpd import LassoPDCertifiedCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoPDCertifiedCV(alphas=20).fit(X, y)
    >>> print(f"{model.alpha_:.4f}", model.mse_path_.shape)
    0.0031 (20, 5)
    >>> print(f"{model.certificate_.primal:.4f}, no model below {model.certificate_.dual:.4f}")
    1439.5791, no model below 1439.5791
    """

    _fits_alpha_0: ClassVar[bool] = True
    _chosen_parameters: ClassVar[tuple[str, ...]] = ("alpha",)

    _: KW_ONLY
    positive: bool = False
    solver: Literal["auto", "cd", "approx"] = "auto"

    def _penalty_of(self, l1_ratio: float, n_features: int, n_outputs: int) -> Penalty:
        return NonNegativeL1() if self.positive else L1()


@declared
class ElasticNetPDCV(LassoAttributes, CrossValidationParameters, PathCrossValidation):
    """`ElasticNetPD` with alpha and l1_ratio chosen by cross-validation along paths.

    For every l1_ratio and fold a path of models is fitted, each started from the one before; the
    pair with the least mean squared error, averaged over the folds, is then used to fit all data.
    The model, such as ``coef_``, and its certificate are those of this last fit. Values and
    conventions are those of `sklearn.linear_model.ElasticNetCV`.

    Parameters
    ----------
    l1_ratio : float or array-like of float, default=0.5
        Shares of the l1 norm to try, in [0, 1].
    positive : bool, default=False
        Whether the coefficients must not be negative.
    eps : float, default=1e-3
        Ratio of the smallest alpha to the largest, where ``alphas`` is a number.
    alphas : int or array-like of shape (n_alphas,), default=100
        Values of alpha to try, 0 for no penalty, or their number: then they are at equal ratios
        below the
        smallest at which all coefficients are 0, for each l1_ratio. With an l1_ratio of 0 there
        is no such alpha; the values then begin as those of
        `regularization_path`, and ``eps`` should be 1e-7.
    cv : int, cross-validation generator or iterable, default=None
        The folds: their number (5 by default) for `KFold`, a splitter, or an iterable of
        (train, test) index arrays.
    solver : {"auto", "agm", "cd", "approx"}, default="auto"
        "auto" is the fastest method known for the problem, see `skpd.solvers.select`; "agm" the
        accelerated gradient method of `ElasticNetPD`; "cd" and "approx" are the coordinate
        methods of `LassoPDCertified`.
    solver_options : dict, default=None
        Options of a named solver.
    tol : float, default=1e-4
        Relative gap at which each fit stops.
    max_iter : int, default=50_000
        Iterations at most of each fit.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised.
    n_jobs : int, default=None
        Threads over the paths of the folds.
    random_state : int, RandomState instance or None, default=None
        The random numbers that the solvers draw.
    verbose : int, default=0
        For the fit to all data, 1 prints a line whenever the iterations have doubled or the
        gap has halved, and the last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    alpha_ : float
        The alpha chosen; after Ctrl-C of those tried on every fold, if there are any.
    l1_ratio_ : float
        The l1_ratio chosen, likewise.
    coef_ : ndarray of shape (n_features,)
        Coefficients, in the precision of X.
    intercept_ : float
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual solution theta: up to the tolerance, the residuals ``X w + b - y``.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    relative_gap_ : float
        That length as a share of what could be improved on the best constant prediction,
        compared with ``tol``: 0 is optimal, and 1 means that nothing was learnt.
    gap_history_ : structured ndarray
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that
        of the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str, or list of them for one-vs-rest or several targets
        The method that finished: the value of ``solver``, or with "auto" the method that was
        chosen, such as "multipliers" or "interior-point", or "null-model" where the best
        constant prediction is good enough. The :ref:`reference <solvers>` lists all names.
    converged_ : bool
        Whether the gap is as small as ``tol`` asks for.
    n_iter_ : int
        Iterations; the most of any class or target.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.
    mse_path_ : ndarray of shape (n_l1_ratios, n_alphas, n_folds), or without its first axis \
            for a single l1_ratio
        Mean squared error of each fold; nan for what Ctrl-C has prevented.
    alphas_ : ndarray of shape (n_l1_ratios, n_alphas), or without its first axis where \
            ``alphas`` holds values
        The values tried, decreasing.
    certificates_ : list
        The certificates of all paths: for every l1_ratio and fold those of its alphas.

    Warns
    -----
    ConvergenceWarning
        If a relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try. Also if the choice is
        at an end of the alphas and the errors still change there; the largest alpha is no such
        end where ``alphas`` is a number.

    See Also
    --------
    ElasticNetPD : The elastic net for one alpha and one l1_ratio.
    PathCV : Any estimator with alpha chosen by the scores on folds.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skpd import ElasticNetPDCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNetPDCV(l1_ratio=[0.5, 0.9], alphas=20).fit(X, y)
    >>> model.l1_ratio_
    0.9
    """

    _fits_alpha_0: ClassVar[bool] = True

    _: KW_ONLY
    l1_ratio: float | ArrayLike = 0.5
    positive: bool = False
    solver: Literal["auto", "agm", "cd", "approx"] = "auto"

    def _penalty_of(self, l1_ratio: float, n_features: int, n_outputs: int) -> Penalty:
        return elastic_net(l1_ratio, self.positive)

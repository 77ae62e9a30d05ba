"""The lasso with the objective of scikit-learn, for one alpha and with cross-validation."""

from dataclasses import KW_ONLY
from typing import Any, ClassVar

from .._compat import StrOptions
from .._typing import ArrayLike
from ..penalties import L1, NonNegativeL1, Penalty
from .cross_validation import PathCrossValidation
from .lasso_attributes import LassoAttributes, LassoLike
from .parameters import declared, penalty_by_feature
from .shared_parameters import CrossValidationParameters, SolverParameters

SOLVERS = [StrOptions({"auto", "cd", "approx"})]


@declared
class LassoPDCertified(SolverParameters, LassoLike):
    """The lasso with a certificate: least squares with an l1 penalty.

    Minimises scikit-learn's objective ::

        1 / (2 n_samples) ||y - X w - b||_2^2 + alpha ||w||_1

    with the first term ``sum_i s_i (y_i - x_i.w - b)^2 / (2 sum_i s_i)`` for sample weights s.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty (the papers' lambda), at least 0, as in scikit-learn's `Lasso`.
        With 0 the model is least squares.
    positive : bool, default=False
        Whether the coefficients must not be negative.
    {penalty_weights_and_bounds}
    {solver_and_solver_options_of_lasso}
    {tol_max_iter_and_fit_intercept}
    {warm_start_random_state_and_verbose}

    Attributes
    ----------
    {linear_model_and_certificates_of_targets}
    {solver_and_convergence}

    {warns}

    See Also
    --------
    LassoPDCertifiedCV : The lasso with ``alpha`` chosen by cross-validation.
    skpd.path : Models for many values of ``alpha``.
    PdproxRegressor : Regression with any loss of the residual and any penalty.

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
    _own_constraints: ClassVar[dict] = {"solver": SOLVERS}

    alpha: float = 1.0
    _: KW_ONLY
    positive: bool = False
    penalty_weights: ArrayLike | None = None
    bounds: Any = None

    def _get_penalty(self) -> Penalty:
        penalty = NonNegativeL1() if self.positive else L1()
        return penalty_by_feature(penalty, self.penalty_weights, self.bounds, self.alpha)


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
        Values of alpha, greater than 0, in any order; or their number: then they are at
        equal ratios, from the smallest alpha at which all coefficients are 0.
    cv : int, cross-validation generator or iterable, default=None
        The folds: their number (5 by default) for `KFold`, a splitter, or an iterable of
        (train, test) index arrays.
    {solver_and_solver_options_of_lasso}
    {tol_max_iter_and_fit_intercept_of_cross_validation}
    {n_jobs_random_state_and_verbose_of_cross_validation}

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
    {linear_model_of_least_squares}
    {certificate}
    {solver_and_convergence}

    {warns_of_cross_validation}

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
    >>> model.certificate_.relative_gap <= model.tol
    True
    """

    path = LassoPDCertified.path

    _own_constraints: ClassVar[dict] = {"solver": SOLVERS}

    _: KW_ONLY
    positive: bool = False

    def _get_penalty(self) -> Penalty:
        return NonNegativeL1() if self.positive else L1()

"""The lasso with the objective of scikit-learn, for one alpha and with cross-validation."""

from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp

from .._compat import Interval, StrOptions
from .._docstrings import documented
from .._typing import Array, ArrayLike, FeatureBounds, MatrixLike, Numbers, PerRow, SolverOptions
from ..certificates import Certificate
from ..formulation.alphas import alpha_values
from ..losses import Squared
from ..penalties import L1, NonNegativeL1, Penalty
from .base import PrimalDualEstimator
from .parameters import FitParameters, declared, penalty_by_feature
from .regressor import PrimalDualRegressor

SOLVERS = [StrOptions({"auto", "cd", "approx"})]


class LassoAttributes(PrimalDualEstimator):
    """Mixin with fitted attributes and paths under their names in scikit-learn."""

    certificate_: Certificate

    @property
    def dual_gap_(self) -> Numbers:
        """Alias of ``duality_gap_``; with several targets an array of shape (n_targets,)."""
        gaps = [certificate.gap for certificate in self.certificate_.each]
        return np.array(gaps) if len(gaps) > 1 else gaps[0]

    @property
    def sparse_coef_(self) -> sp.csr_array:
        """Sparse array of ``coef_``, of shape (1, n_features) or (n_targets, n_features)."""
        return sp.csr_array(self._coef_rows)

    @classmethod
    def path(
        cls, X: MatrixLike, y: ArrayLike, *, eps: float = 1e-3, alphas: int | ArrayLike = 100,
        return_n_iter: bool = False, check_input: bool = True, **params: Any,
    ) -> tuple[Array, ...]:  # fmt: skip
        """Coefficients for many alphas, as by scikit-learn's `lasso_path`.

        Models have no intercept unless ``fit_intercept=True`` is passed. The function
        `skpd.regularization_path` returns models, with their intercepts and certificates.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Targets.
        eps : float, default=1e-3
            Ratio of the smallest to the largest alpha, where ``alphas`` is a number.
        alphas : int or array-like of shape (n_alphas,), default=100
            Values of alpha, or their number; 0 is no penalty (not for `MultiTaskPD`).
        return_n_iter : bool, default=False
            Whether to return the numbers of iterations as well.
        check_input : bool, default=True
            Ignored, there for compatibility with scikit-learn.
        **params : dict
            Other parameters of the estimator, such as ``positive`` or ``tol``; ``fit_intercept``
            is False by default.

        Returns
        -------
        alphas : ndarray of shape (n_alphas,)
            Decreasing.
        coefs : ndarray of shape (n_features, n_alphas), or (n_targets, n_features, n_alphas)
        dual_gaps : ndarray of shape (n_alphas,), or (n_targets, n_alphas)
            The lengths of the certified intervals.
        n_iters : ndarray of int, of the same shape
            Only with ``return_n_iter``.

        Raises
        ------
        ValueError
            If a parameter is unknown or invalid.
        KeyboardInterrupt
            After Ctrl-C; its attribute ``path`` has these arrays for the alphas that are finished.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from skpd import LassoPDCertified
        >>> alphas, coefs, dual_gaps = LassoPDCertified.path(*load_diabetes(return_X_y=True))
        >>> coefs.shape
        (10, 100)
        """
        unknown = sorted(params.keys() - {*cls._get_param_names()} | params.keys() & {"alpha"})
        if unknown:
            raise ValueError(
                f"path must be passed parameters of {cls.__name__}, got {', '.join(unknown)}. It "
                "takes alphas in place of alpha."
            )
        model = cls(**{"fit_intercept": False, **params, "alpha": 1.0})
        model._validate_params()
        fit = model._problems(X, y, None)
        values = alpha_values(fit.problems, alphas, eps, cls._fits_alpha_0)
        paths, interrupted = model._follow_all(fit.problems, values)
        n_alphas = min(map(len, paths))  # alphas that are finished for all targets
        tables = [
            [problem.coef_table(solution.coef) for solution in path[:n_alphas]]
            for problem, path in zip(fit.problems, paths, strict=True)
        ]
        coefs = np.moveaxis(np.array(tables), 1, -1)
        gaps = np.array([[s.certificate.gap for s in path[:n_alphas]] for path in paths])
        n_iters = np.array([[s.n_iter for s in path[:n_alphas]] for path in paths])
        if fit.names is None:
            coefs, gaps, n_iters = coefs[0], gaps[0], n_iters[0]
        arrays = (values[:n_alphas], coefs, gaps, n_iters)[: 4 if return_n_iter else 3]
        if interrupted:
            interrupt: Any = KeyboardInterrupt(
                f"{n_alphas} of {len(values)} alphas are finished: the attribute path of this "
                "exception holds their arrays."
            )
            interrupt.path = arrays
            raise interrupt
        return arrays


class LassoLike(LassoAttributes, PrimalDualRegressor):
    """Base class of least squares with penalised coefficients, for each of several targets."""

    _takes_outputs: ClassVar[bool] = True
    _fits_alpha_0: ClassVar[bool] = True
    _own_constraints: ClassVar[dict] = {"alpha": [Interval(Real, 0, np.inf, closed="left")]}

    @documented
    def fit(  # type: ignore[override]
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, check_input: bool = True,
        offset: PerRow = None,
    ) -> Self:  # fmt: skip
        """Fit the model and certify it.

        {X_of_fit}
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; with a column for each of several.
        {sample_weight_of_fit}
        check_input : bool, default=True
            Ignored, there for compatibility with scikit-learn: the data are always checked.
        {offset_of_fit}

        {results_of_fit}
        """
        return super().fit(X, y, sample_weight, offset)

    def _get_loss(self) -> Squared:
        return Squared()


@declared
class LassoPDCertified(FitParameters, LassoLike):
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
    skpd.regularization_path : Models for many values of ``alpha``.
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
    bounds: FeatureBounds = None
    solver: Literal["auto", "cd", "approx"] = "auto"
    solver_options: SolverOptions | None = None

    def _get_penalty(self) -> Penalty:
        penalty = NonNegativeL1() if self.positive else L1()
        return penalty_by_feature(penalty, self.penalty_weights, self.bounds, self.alpha)

"""The lasso with the objective of scikit-learn, for one alpha and along paths."""

from dataclasses import KW_ONLY
from typing import ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp

from .._typing import ArrayLike, MatrixLike, Numbers, PerFeature, PerRow
from ..certificates import Certificate
from ..losses import Squared
from ..penalties import L1, NonNegativeL1, Penalty
from .base import PrimalDualEstimator
from .parameters import FitParameters, FitsWithoutPenalty, declared
from .regressor import PrimalDualRegressor


class LassoAttributes(PrimalDualEstimator):
    """Mixin with fitted attributes under their names in scikit-learn."""

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


class LassoLike(FitsWithoutPenalty, LassoAttributes, PrimalDualRegressor):
    """Base class of least squares with penalised coefficients, for each of several targets."""

    _takes_outputs: ClassVar[bool] = True

    def fit(  # type: ignore[override]
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, check_input: bool = True,
        offset: PerRow = None,
    ) -> Self:  # fmt: skip
        """Fit the model and certify it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. Dense arrays, CSR and CSC in float64 or float32 are used as
            they are, without a copy.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; with a column for each of several.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, non-negative and not all zero; 1 by default. A weight
            of 2 equals a repeated row. With negative ones the objective is not convex, so
            that nothing could be proven of it.
        check_input : bool, default=True
            Ignored, there for compatibility with scikit-learn: the data are always checked.
        offset : float or array-like of shape (n_samples,), default=None
            Numbers that are added to the predictions x.w + b, such as the logarithm of an exposure
            for a model of counts; one number is that of all rows. For more than two classes, each
            against the others, the shape is (n_samples, n_classes); `LogisticPD` takes offsets for
            two classes only. Models of several outputs, of kernels and of robust losses take none.
            Predictions for rows that have an offset must be given it too.

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
    penalty_weights : array-like of shape (n_features,), dict or callable, default=None
        A weight of at least 0 for each feature, by which its part of the penalty is
        multiplied, for penalties of single coefficients. Features with a weight of 0 are not
        penalised; with an infinite weight they are left out, with a coefficient of 0. A dict
        has the weights of some features, the others have 1: by the names of the columns of X,
        a data frame or what `track_columns` has made, or by patterns such as ``"region_*"``.
        Names go before patterns, and later patterns before earlier ones. A callable is called
        by `fit` with the array of all names, and returns an array or such a dict.
    bounds : pair (lower, upper), scipy.optimize.Bounds, dict or callable, default=None
        Bounds of the coefficients, for penalties of single coefficients: numbers or arrays of
        shape (n_features,); None, -inf and inf for none. Bounds that exclude 0 are constraints,
        of estimators that take these; others refuse them. A dict has a pair of numbers for names
        or patterns, and a callable of the names returns any of these, as for
        ``penalty_weights``.
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
        Stop when the certified relative gap is at most this: the model then leaves at most the
        share ``tol`` of what any model could improve on the best constant prediction. Where
        the objective is small, a fit also goes on until the gap is at most 100 ``tol`` of it.
    max_iter : int, default=50_000
        Iterations at most. An iteration is a Newton step, a pass over the rows or the
        coordinates, or, in a method of gradients, about one product with X and one with its
        transpose.
    fit_intercept : bool, default=True
        Whether to fit an intercept (for each output or class), which is not penalised.
    warm_start : bool, default=False
        Start from the last fit's primal and dual solution where the shapes agree.
    random_state : int, RandomState instance or None, default=None
        The random numbers that a solver draws: for the order of rows or coordinates, and for
        the start vectors of norms and of singular vectors.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Coefficients, in the precision of X.
    intercept_ : float, or ndarray of shape (n_targets,)
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,) or (n_targets, n_samples)
        Dual solution theta: up to the tolerance, the residuals ``X w + b - y``.
    certificate_ : Certificate
        The interval that holds the optimal objective value. For several targets a
        `Certificates`: a sequence with one for each target and the attributes, such as
        ``gap``, of the worst.
    duality_gap_ : float
        Length of that interval; the largest for several targets.
    dual_gap_ : float, or ndarray of shape (n_targets,)
        Length of the interval of each target, under its name in scikit-learn.
    sparse_coef_ : sparse array of shape (1, n_features) or (n_targets, n_features)
        ``coef_`` in sparse format.
    relative_gap_ : float
        The largest length of an interval as a share of what could be improved on the best
        constant prediction, compared with ``tol``: 0 is optimal, and 1 means that nothing was
        learnt.
    gap_history_ : structured ndarray, or list of them for several targets
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
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try.

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
    >>> print(f"{model.certificate_.primal:.4f}, no model below {model.certificate_.dual:.4f}")
    2152.1230, no model below 2152.1230
    """

    _takes_blocks: ClassVar[bool] = True

    alpha: float = 1.0
    _: KW_ONLY
    positive: bool = False
    penalty_weights: PerFeature = None
    bounds: PerFeature = None
    solver: Literal["auto", "cd", "approx"] = "auto"

    def _get_penalty(self) -> Penalty:
        return self._by_feature(NonNegativeL1() if self.positive else L1())

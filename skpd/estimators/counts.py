"""Regression of counts and costs: the logarithm of the mean is linear in the features."""

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.metrics import d2_tweedie_score

from .._typing import Array, ArrayLike, MatrixLike, PerRow
from .._warn import warn
from ..designs import Design, RowBlocks
from ..formulation import validation
from ..formulation.offsets import offset_columns
from ..formulation.validation import _DATA
from ..losses import Poisson
from ..losses.deviances import NegativeBinomial, PowerDeviance
from ..penalties import Penalty
from ..problems.free_features import dependence
from .base import fit_method
from .names import PenaltyName
from .parameters import NOT_NEGATIVE, AnyPenaltyParameters, declared, shared
from .regressor import PrimalDualRegressor

ROUNDED = 1e-12  # a relative difference of rates that are equal up to rounding


@shared
class MeanRegressor(AnyPenaltyParameters, PrimalDualRegressor):
    """Base class of regressors whose predictions are exp(x.w + b), the mean of y."""

    _takes_blocks: ClassVar[bool] = True
    _predicts_means: ClassVar[bool] = True

    penalty: PenaltyName | Penalty = "l2"

    @abstractmethod
    def _get_loss(self) -> PowerDeviance | NegativeBinomial:
        """The Loss object of this model."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    @fit_method
    def fit(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, offset: PerRow = None,
        exposure: PerRow = None,
    ) -> Self:  # fmt: skip
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
            of 2 equals a repeated row. With negative ones the objective is not convex, so
            that nothing could be proven of it.
        offset : float or array-like of shape (n_samples,), default=None
            Numbers that are added to x.w + b, the logarithms of the means; one number is that of
            all rows. Predictions for rows that have an offset must be given it too.
        exposure : float or array-like of shape (n_samples,), default=None
            Positive numbers by which the means are multiplied, such as the part of a year that was
            insured; 1 by default. Their logarithms are added to ``offset``.

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
        offset = self._total_offset(X, offset, exposure)
        self._has_offset = offset is not None
        return self._fit(self._problems(X, y, sample_weight, offset), sample_weight)

    def predict(self, X: MatrixLike, offset: PerRow = None, exposure: PerRow = None) -> Array:
        """Predict the means of the targets, exposure exp(x.w + b + offset).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.
        exposure : float or array-like of shape (n_samples,), default=None
            Positive numbers by which the means are multiplied, such as the part of a year that was
            insured; 1 by default. Their logarithms are added to ``offset``.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        with np.errstate(over="ignore"):
            return np.exp(super().predict(X, self._total_offset(X, offset, exposure)))

    def score(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, offset: PerRow = None,
        exposure: PerRow = None,
    ) -> float:  # fmt: skip
        """The share of the deviance that the model explains, D^2.

        It is 0 for the model of a constant times the exposure, exp(b + offset), with the best b
        for these rows, and 1 for perfect predictions. Without offsets and exposures it is
        `sklearn.metrics.d2_tweedie_score`; with them, that of the rates y / exposure with the
        weights sample_weight exposure^(2 - power), which is the same number. With a negative
        binomial distribution it is that of the Poisson deviance.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; 1 by default.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.
        exposure : float or array-like of shape (n_samples,), default=None
            Positive numbers by which the means are multiplied, such as the part of a year that was
            insured; 1 by default. Their logarithms are added to ``offset``.

        Returns
        -------
        score : float
            At most 1.
        """
        offset = self._total_offset(X, offset, exposure)
        if offset is None and getattr(self, "_has_offset", False):
            warn(
                f"{type(self).__name__} was fitted with an exposure or offset and is scored "
                "without, so that its means are those of an exposure of 1. Searches pass them to "
                "scores only with sklearn.set_config(enable_metadata_routing=True) and "
                "set_score_request(exposure=True); PathCV passes them."
            )
        return super().score(X, y, sample_weight, offset)

    def residuals(
        self, X: MatrixLike, y: ArrayLike, offset: PerRow = None, exposure: PerRow = None,
        *, kind: Literal["deviance", "pearson"] = "deviance",
    ) -> Array:  # fmt: skip
        """The residuals of targets, which are positive above the predicted mean.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Targets.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.
        exposure : float or array-like of shape (n_samples,), default=None
            Positive numbers by which the means are multiplied, such as the part of a year that was
            insured; 1 by default. Their logarithms are added to ``offset``.
        kind : {"deviance", "pearson"}, default="deviance"
            "deviance" are the roots of the unit deviances, with the sign of y - mean; "pearson"
            are the differences y - mean over the root of the variance that belongs to the mean.

        Returns
        -------
        residuals : ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            If y has targets that the model does not take, a mean is 0 or infinite, or ``kind`` is
            none of these.

        Examples
        --------
        The squares of the first kind add up to the deviance:

        >>> import numpy as np
        >>> from sklearn.metrics import mean_poisson_deviance
        >>> from skpd import PoissonPD
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(500, 3))
        >>> y = rng.poisson(np.exp(X[:, 0] - 0.5))
        >>> model = PoissonPD(alpha=0.02, penalty="l1").fit(X, y)
        >>> mean_square = np.mean(model.residuals(X, y) ** 2)
        >>> bool(np.isclose(mean_square, mean_poisson_deviance(y, model.predict(X))))
        True
        """
        if kind not in ("deviance", "pearson"):
            raise ValueError(f"kind must be 'deviance' or 'pearson', got {kind!r}.")
        mean = np.asarray(self.predict(X, offset, exposure), dtype=np.float64)
        y, loss = np.ravel(validation.finite_targets(y, type(self).__name__)), self._get_loss()
        validation.require_lengths(X=mean, y=y)
        loss.require_targets(float(np.min(y)))
        _require_means(mean)
        if kind == "pearson":
            return (y - mean) / np.sqrt(loss.unit_variance(mean))
        return np.sign(y - mean) * np.sqrt(2.0 * loss.value(y, np.log(mean)))

    def estimate_scale(
        self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None, offset: PerRow = None,
        exposure: PerRow = None, *, kind: Literal["deviance", "pearson"] = "pearson",
    ) -> float:  # fmt: skip
        """Estimate the dispersion of the targets, which is called scale in statsmodels.

        It is the factor by which their variance is larger than that of the distribution: 1 for
        counts of the Poisson distribution, and unknown for costs. The estimate is the sum of the
        squared residuals over the residual degrees of freedom, the number of rows less the rank of
        the features whose coefficients are not 0 and the intercept. These are the degrees of
        freedom of a model without a penalty or with the l1 norm; a ridge penalty leaves more.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data of the fit.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; 1 by default. A weight of 2 equals a repeated row.
        offset : float or array-like of shape (n_samples,), default=None
            Offsets of the rows, as in `fit`; 0 by default.
        exposure : float or array-like of shape (n_samples,), default=None
            Positive numbers by which the means are multiplied, such as the part of a year that was
            insured; 1 by default. Their logarithms are added to ``offset``.
        kind : {"deviance", "pearson"}, default="pearson"
            The residuals, as in `residuals`.

        Returns
        -------
        scale : float
            NaN where no degrees of freedom are left.

        Examples
        --------
        Targets of the gamma distribution with shape 2 have a dispersion of 1 / 2:

        >>> import numpy as np
        >>> from skpd import GammaPD
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(500, 3))
        >>> y = rng.gamma(2.0, np.exp(X[:, 0]))
        >>> print(f"{GammaPD(alpha=0).fit(X, y).estimate_scale(X, y):.2f}")
        0.52
        """
        squares = self.residuals(X, y, offset, exposure, kind=kind) ** 2
        weights = validation.checked_weights(sample_weight, squares)
        X, ones = validation.validated(self, X, reset=False, **_DATA), bool(self.fit_intercept)
        used = np.flatnonzero(self._dense_coef)
        blocks = [X.block(k) for k in range(X.n_blocks)] if isinstance(X, RowBlocks) else [X]
        table = np.vstack([Design(block).table(used) for block in blocks])[weights > 0.0]
        precision = float(np.finfo(X.dtype).eps)
        freedom = np.sum(weights) - len(dependence(table, ones, precision).kept) - ones
        return float(weights @ squares) / freedom if freedom > 0.0 else np.nan

    def _score(self, y: Any, predicted: Array, weights: PerRow, offset: PerRow) -> float:
        power = float(self._get_loss().power)
        validation.require_lengths(X=predicted, y=y, sample_weight=weights)
        y, weights = np.ravel(np.asarray(y, float)), validation.checked_weights(weights, predicted)
        (offset,) = offset_columns(0.0 if offset is None else offset, len(y), 1)
        y, mean, weights = (x[weights > 0.0] for x in rates(y, predicted, weights, offset, power))
        if len(y) > 1 and np.allclose(y, y[0], ROUNDED, 0.0):  # as in a fold without claims
            return float(np.allclose(y, mean, ROUNDED, 0.0))  # as for `r2_score`
        _require_means(mean)
        return d2_tweedie_score(y, mean, sample_weight=weights, power=power)


def _require_means(mean: Array) -> None:
    if np.any((mean == 0.0) | np.isinf(mean)):
        raise ValueError("X must be on a smaller scale: a mean exp(x.w + b) is 0 or infinite.")


def rates(y: Any, mean: Any, weights: Any, offset: Any, power: float) -> tuple[Any, Any, Any]:
    """Targets and means per exposure, and the weights for which they have the same deviances.

    The unit deviance of y / f and m / f is that of y and m over f^(2 - power). The unit of
    exposures is their geometric mean. Arrays may be those of Dask.
    """
    exposure, weights = np.exp(offset - offset.mean()), 1.0 if weights is None else weights
    return y / exposure, mean / exposure, weights * exposure ** (2.0 - power)


@declared
class PoissonPD(MeanRegressor):
    """Regression of counts, or of counts per exposure, with any penalty and a certificate.

    The mean of y is exp(x.w + b). Minimises the weighted mean of half the Poisson deviance, or of
    that of the negative binomial distribution, plus ``alpha`` times the penalty.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty beside the *mean* loss, at least 0; with 0 no feature is penalised.
        Objective and default are those of `sklearn.linear_model.PoissonRegressor`.
    dispersion : float, default=0.0
        The excess of the variance of y over its mean, over the square of the mean: 0 for the
        Poisson distribution, greater than 0 for the negative binomial distribution.
    penalty : str or Penalty, default="l2"
        The penalty on the coefficients; an object of `skpd.penalties` or a name, as for
        `PdproxSVC`.
    l1_ratio : float, default=None
        Share of the l1 norm, for the names of penalties that have one (`PdproxSVC`).
    groups : "auto", int, array-like, list, dict or callable, default=None
        The partition of the features for penalties of groups, in a format of `GroupLassoSVC`.
    penalty_weights : array-like of shape (n_features,), dict or callable, default=None
        A weight of at least 0 for each feature, by which its part of the penalty is
        multiplied, for penalties of single coefficients. Features with a weight of 0 are not
        penalised; with an infinite weight they are left out, with a coefficient of 0. A dict
        has the weights of some features, the others have 1: by the names of the columns of X,
        a data frame or what `track_columns` has made, or by patterns such as ``"region_*"``.
        Names go before patterns, and later patterns before earlier ones. A callable is called
        by `fit` with the array of all names, and returns an array or such a dict.
    bounds : pair (lower, upper), scipy.optimize.Bounds, dict or callable, default=None
        Bounds of the coefficients, with lower <= 0 <= upper, for penalties of single
        coefficients: numbers or arrays of shape (n_features,); None, -inf and inf for none.
        A dict has a pair of numbers for names or patterns, and a callable of the names
        returns any of these, as for ``penalty_weights``.
    constraints : scipy.optimize.LinearConstraint or list of them, default=None
        Linear constraints ``lb <= A @ coef <= ub`` on the coefficients (of each class), for A
        of shape (n_constraints, n_features), an array or sparse: for monotone effects, a given
        sum of coefficients, or effects of groups that must not differ. The constraints hold up
        to the rounding errors of ``A @ coef``. With them ``solver`` must be "auto", there may
        be a few thousand constraints, and a few thousand samples or features; features that
        occur in a constraint must be penalised.
    solver : {"auto", "pdprox-dual", "pdprox-primal", "agm", "cd", "approx"}, default="auto"
        "auto" is the fastest method known for the problem, see `skpd.solvers.select`. The
        "pdprox" are Algorithms 1 and 3 and Algorithm 2 of Yang et al. (2015), with their step
        sizes; "agm" the accelerated gradients of Zhang et al. (2011), for a loss of single
        predictions that is smooth or has bounded slopes; "cd" and "approx" the coordinate
        methods of Dünner et al. (2016) and of Fercoq and Richtárik (2015), for a smooth loss
        with a penalty of single coefficients, or without an intercept for any loss with a
        squared l2 norm in the penalty. `fit` raises a ValueError for a solver that does not
        apply.
    solver_options : dict, default=None
        Options of a named solver. "pdprox-dual": ``algorithm`` (1 or 3) and ``accelerated``
        (bool); "pdprox-primal": ``rows_per_step`` (int), the rows of a random block in each step;
        both "pdprox": ``implementation`` ("double-primal", "double-dual"), ``average`` (bool),
        ``step_scale`` and ``step_ratio`` (float), see `skpd.solvers.published.pdprox`; "agm":
        those of `skpd.solvers.published.agm.agm`; "cd": ``variables``, ``average`` and
        ``burn_in``, and "approx": ``variables`` and ``coordinates_per_step``, see
        `skpd.solvers.published.random_coordinates`. All take ``output``: "algorithm", the
        default, is what the paper's algorithm returns, with its certificate, and "best" the
        best point of the run.
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
    coef_ : ndarray of shape (n_features,)
        Coefficients, in the precision of X.
    intercept_ : float
        Intercept; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (n_samples,)
        Dual solution theta: up to the tolerance, the derivative of each sample's loss
        with respect to its prediction.
    constraint_multipliers_ : ndarray of shape (n_constraints,) or (n_classes, n_constraints)
        Only with ``constraints``: their multipliers, at least 0 at ``ub`` and at most 0 at
        ``lb``. Raising a bound by a small t lowers the optimal objective by t times this.
    groups_ : ndarray of str, of shape (n_features,)
        Only with ``groups="auto"``: the names of the columns that each feature comes from.
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
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try.

    See Also
    --------
    GammaPD : Regression of positive costs.
    TweediePD : Regression of costs that may be 0.
    PdproxRegressor : Regression with a loss of the residual.

    References
    ----------
    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import PoissonPD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = rng.poisson(np.exp(X[:, 0] - 0.5))
    >>> PoissonPD(alpha=0.02, penalty="l1").fit(X, y).coef_.round(1)
    array([0.9, 0. , 0. ])
    """

    _own_constraints: ClassVar[dict] = {"dispersion": [NOT_NEGATIVE]}

    alpha: float = 1.0
    _: KW_ONLY
    dispersion: float = 0.0

    def _get_loss(self) -> PowerDeviance | NegativeBinomial:
        return NegativeBinomial(float(self.dispersion)) if self.dispersion else Poisson()

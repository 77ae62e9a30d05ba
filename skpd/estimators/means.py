"""The base class of regressors of means whose logarithm is linear in the features."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.metrics import d2_tweedie_score

from .._typing import Array, ArrayLike, MatrixLike, PerRow
from .._warn import warn
from ..designs import Design, RowBlocks
from ..formulation import validation
from ..formulation.offsets import offset_columns
from ..formulation.validation import _DATA
from ..losses.deviances import NegativeBinomial, PowerDeviance
from ..penalties import Penalty
from ..problems.free_features import dependence
from .base import fit_method
from .names import PenaltyName
from .parameters import AnyPenaltyParameters, shared
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

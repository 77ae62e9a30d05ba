"""Regression of counts and costs: the logarithm of the mean is linear in the features."""

from abc import abstractmethod
from dataclasses import KW_ONLY
from numbers import Real
from typing import ClassVar

import numpy as np
from sklearn.metrics import d2_tweedie_score

from .._compat import Interval
from .._docstrings import documented
from .._typing import ArrayLike, Constraints, FeatureBounds, Groups, MatrixLike, PerRow
from ..formulation.validation import checked_weights, require_lengths
from ..losses import Gamma, Poisson, Tweedie
from ..losses.deviances import NegativeBinomial, PowerDeviance
from ..penalties import Penalty
from .names import PenaltyName
from .parameters import SolverParameters, declared, shared
from .regressor import PrimalDualRegressor


@shared
class MeanRegressor(SolverParameters, PrimalDualRegressor):
    """Base class of regressors whose predictions are exp(x.w + b), the mean of y."""

    _takes_blocks: ClassVar[bool] = True
    _predicts_means: ClassVar[bool] = True

    penalty: PenaltyName | Penalty = "l2"
    l1_ratio: float | None = None
    groups: Groups = None
    penalty_weights: ArrayLike | None = None
    bounds: FeatureBounds = None
    constraints: Constraints = None

    @abstractmethod
    def _get_loss(self) -> PowerDeviance | NegativeBinomial:
        """The Loss object of this model."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    @documented
    def predict(self, X: MatrixLike, offset: PerRow = None) -> np.ndarray:
        """Predict the means of the targets, exp(x.w + b + offset).

        {X_of_rows}
        {offset_of_rows}

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        with np.errstate(over="ignore"):
            return np.exp(super().predict(X, offset))

    def _score(self, y: ArrayLike, predicted: np.ndarray, sample_weight: PerRow) -> float:
        loss = self._get_loss()
        require_lengths(X=predicted, y=y, sample_weight=sample_weight)
        weights = checked_weights(sample_weight, predicted)
        y, predicted, weights = (x[weights > 0.0] for x in (np.asarray(y), predicted, weights))
        if len(y) > 1 and np.all(y == y[0]):  # as in a fold without claims
            return float(np.array_equal(y, predicted))  # as for `r2_score`
        if np.any((predicted == 0.0) | np.isinf(predicted)):
            raise ValueError("X must be on a smaller scale: a mean exp(x.w + b) is 0 or infinite.")
        return d2_tweedie_score(y, predicted, sample_weight=weights, power=float(loss.power))


@declared
class PoissonPD(MeanRegressor):
    """Regression of counts, or of counts per exposure, with any penalty and a certificate.

    The mean of y is exp(x.w + b). Minimises the weighted mean of half the Poisson deviance, or of
    that of the negative binomial distribution, plus ``alpha`` times the penalty.

    Parameters
    ----------
    {parameters_of_means_before_own}
    dispersion : float, default=0.0
        The excess of the variance of y over its mean, over the square of the mean: 0 for the
        Poisson distribution, greater than 0 for the negative binomial distribution.
    {parameters_of_means}

    Attributes
    ----------
    {attributes_of_means}

    {warns}

    See Also
    --------
    GammaPD : Regression of positive costs.
    TweediePD : Regression of costs that may be 0.
    PdproxRegressor : Regression with a loss of the residual.

    References
    ----------
    {pdprox_paper}

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

    _own_constraints: ClassVar[dict] = {"dispersion": [Interval(Real, 0, np.inf, closed="left")]}

    alpha: float = 1.0
    _: KW_ONLY
    dispersion: float = 0.0

    def _get_loss(self) -> PowerDeviance | NegativeBinomial:
        return NegativeBinomial(float(self.dispersion)) if self.dispersion else Poisson()


@declared
class GammaPD(MeanRegressor):
    """Regression of positive costs or times, with any penalty and a certificate.

    The mean of y is exp(x.w + b), and its standard deviation is proportional to the mean.
    Minimises the weighted mean of half the gamma deviance plus ``alpha`` times the penalty.

    Parameters
    ----------
    {parameters_of_means_before_own}
    {parameters_of_means}

    Attributes
    ----------
    {attributes_of_means}

    {warns}

    See Also
    --------
    PoissonPD : Regression of counts.
    TweediePD : Regression of costs that may be 0.
    PdproxRegressor : Regression with a loss of the residual.

    References
    ----------
    {pdprox_paper}

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import GammaPD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = rng.gamma(2.0, np.exp(X[:, 0]))
    >>> GammaPD(alpha=0.05, penalty="l1").fit(X, y).coef_.round(1)
    array([1., 0., 0.])
    """

    alpha: float = 1.0

    def _get_loss(self) -> PowerDeviance | NegativeBinomial:
        return Gamma()


@declared
class TweediePD(MeanRegressor):
    """Regression of costs that may be 0, with any penalty and a certificate.

    The mean of y is exp(x.w + b), and its variance is proportional to a power of the mean.
    Minimises the weighted mean of half the Tweedie deviance plus ``alpha`` times the penalty.

    Parameters
    ----------
    {parameters_of_means_before_own}
    power : float, default=1.5
        The power, from 1 (counts, `PoissonPD`) to 2 (positive costs, `GammaPD`). Between them y is
        distributed as the sum of a random number of costs. For other powers the deviance is not
        convex.
    {parameters_of_means}

    Attributes
    ----------
    {attributes_of_means}

    {warns}

    See Also
    --------
    PoissonPD : Regression of counts.
    GammaPD : Regression of positive costs.
    PdproxRegressor : Regression with a loss of the residual.

    References
    ----------
    {pdprox_paper}

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import TweediePD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = rng.poisson(1.0, 500) * rng.gamma(2.0, np.exp(X[:, 0]))
    >>> TweediePD(alpha=0.1, power=1.5, penalty="l1").fit(X, y).coef_.round(1)
    array([1., 0., 0.])
    """

    _own_constraints: ClassVar[dict] = {"power": [Interval(Real, 1, 2, closed="both")]}

    alpha: float = 1.0
    _: KW_ONLY
    power: float = 1.5

    def _get_loss(self) -> PowerDeviance | NegativeBinomial:
        return Tweedie(float(self.power))

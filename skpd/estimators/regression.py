"""Linear regression with any convex loss of the residual and any penalty."""

from dataclasses import KW_ONLY
from typing import ClassVar

from .._compat import StrOptions
from .._typing import ArrayLike, Constraints, FeatureBounds, Groups
from ..losses import ResidualLoss
from ..penalties import Penalty
from .names import RESIDUAL_LOSSES, PenaltyName, ResidualLossName, chosen
from .parameters import SolverParameters, declared, shared
from .regressor import PrimalDualRegressor


@shared
class ResidualLossParameters:
    """The parameters of the losses that have a name."""

    quantile: float | None = None
    epsilon: float | None = None
    delta: float | None = None


class WithResidualLoss(PrimalDualRegressor):
    """Base class of regressors with a loss, by its name and parameters or an object."""

    _own_constraints: ClassVar[dict] = {"loss": [StrOptions(set(RESIDUAL_LOSSES)), ResidualLoss]}

    loss: ResidualLossName | ResidualLoss
    quantile: float | None
    epsilon: float | None
    delta: float | None

    def _get_loss(self) -> ResidualLoss:
        parameters = {"quantile": self.quantile, "epsilon": self.epsilon, "delta": self.delta}
        return chosen("loss", self.loss, RESIDUAL_LOSSES, **parameters)


@declared
class PdproxRegressor(ResidualLossParameters, SolverParameters, WithResidualLoss):
    """Robust, quantile or least-squares regression with any penalty and a certificate.

    Minimises the weighted mean of the loss plus ``alpha`` times the penalty.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty (the papers' lambda), greater than 0. As in `Lasso` it
        multiplies the penalty beside the *mean* loss.
    penalty : str or Penalty, default="l1"
        The penalty on the coefficients; an object of `skpd.penalties` or a name, as for
        `PdproxSVC`.
    l1_ratio : float, default=None
        Share of the l1 norm, for the names of penalties that have one (`PdproxSVC`).
    {groups_of_names}
    {penalty_weights_and_bounds}
    {constraints}
    {loss_of_residual}
    {parameters_of_residual_losses}
    {solver_and_solver_options}
    {tol_max_iter_and_fit_intercept}
    {warm_start_random_state_and_verbose}

    Attributes
    ----------
    {linear_model}
    {constraint_multipliers}
    {groups_found}
    {certificate}
    {solver_and_convergence}

    {warns}

    See Also
    --------
    PdproxSVC : Classifier with any margin loss and any penalty.
    GroupLassoPD : Regression with a group lasso penalty.
    QuantilePD : Several quantiles that do not cross.

    References
    ----------
    {pdprox_paper}

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import PdproxRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> model = PdproxRegressor(alpha=0.1, loss="pinball", quantile=0.9).fit(X, y)
    >>> print(f"{(y <= model.predict(X)).mean():.2f}")
    0.90
    """

    _takes_blocks: ClassVar[bool] = True

    alpha: float = 1e-3
    _: KW_ONLY
    penalty: PenaltyName | Penalty = "l1"
    l1_ratio: float | None = None
    groups: Groups = None
    penalty_weights: ArrayLike | None = None
    bounds: FeatureBounds = None
    constraints: Constraints = None
    loss: ResidualLossName | ResidualLoss = "absolute"

"""Linear classifiers with any margin loss and any convex penalty."""

from dataclasses import KW_ONLY
from numbers import Real
from typing import ClassVar

import numpy as np

from .._compat import Interval, StrOptions
from .._typing import ArrayLike, Constraints, FeatureBounds, Groups
from ..losses import MarginLoss
from ..penalties import Penalty
from .classifier import PrimalDualClassifier
from .names import MARGIN_LOSSES, MarginLossName, PenaltyName, chosen
from .parameters import ClassifierParameters, WithSolver, declared, shared


@shared
class MarginClassifier(PrimalDualClassifier):
    """Base class of classifiers with a loss of margins, by its name or an object."""

    _takes_blocks: ClassVar[bool] = True
    _own_constraints: ClassVar[dict] = {"loss": [StrOptions(set(MARGIN_LOSSES)), MarginLoss]}

    loss: MarginLossName | MarginLoss = "hinge"

    def _get_loss(self) -> MarginLoss:
        return chosen("loss", self.loss, MARGIN_LOSSES)


@declared
class PdproxSVC(ClassifierParameters, WithSolver, MarginClassifier):
    """Linear classifier with any margin loss and any penalty, fitted with a certificate.

    Minimises the weighted mean of the loss plus ``alpha`` times the penalty. More than
    two classes are handled one-vs-rest.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty (the papers' lambda), greater than 0. As in
        `SGDClassifier` it multiplies the penalty beside the *mean* loss.
    penalty : str or Penalty, default="l1"
        The penalty on the coefficients; an object of `skpd.penalties` or a name: "l1", "l2" (half
        the squared Euclidean norm, as in scikit-learn), "elasticnet", "group" (group lasso),
        "sparse_group", "l2_norm" (the norm itself), "linf", "total_variation", "fused_lasso",
        "nonnegative_l1", "l1inf", "exclusive", "squared_groups", or the constraints "box",
        "l1_ball" and "elastic_net_ball" with their defaults.
    l1_ratio : float, default=None
        Share of the l1 norm for the names "elasticnet" (0.5 by default), "sparse_group",
        "fused_lasso" and "elastic_net_ball".
    {groups_of_names}
    {penalty_weights_and_bounds}
    {constraints}
    noise_budget : float, default=None
        For labels of which some are wrong: an upper bound on the sum of the multipliers of the
        hinge losses, which are at most 1 for each sample (the m of Yang et al., (19), in samples
        or in their weight). Only that many samples, those with the largest losses, then count.
        With a small noise budget the optimum is often the model 0; the user guide explains when.
        Needs ``loss="hinge"`` and a penalty of single coefficients, "l2_norm" or "group".
    {loss_of_margin}
    {solver_and_solver_options}
    {tol_max_iter_and_fit_intercept}
    {class_weight}
    {warm_start}
    {n_jobs}
    {random_state_and_verbose}

    Attributes
    ----------
    {linear_model_of_classes}
    {constraint_multipliers}
    {groups_found}
    {classes_and_certificates}
    {solver_and_convergence}

    {warns}

    See Also
    --------
    GroupLassoSVC : Classifier with a group lasso penalty.
    LogisticPD : Logistic regression, of more than two classes by the softmax.
    PdproxRegressor : Regression with any loss of the residual and any penalty.

    Notes
    -----
    Callbacks (``set_callbacks``) see ten tasks for every power of ten of the relative gap, so
    that a `ProgressBar` moves with its logarithm towards ``tol``. A `ScoringMonitor`
    scores the current model; with more than two classes it scores only the model at the end,
    as the models of the other classes do not exist before.

    References
    ----------
    {pdprox_paper}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import PdproxSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> clf = PdproxSVC(alpha=0.01).fit(X, y)
    >>> print(f"{clf.score(X, y):.2f}")
    0.98
    >>> clf.certificate_.relative_gap <= clf.tol
    True
    """

    _own_constraints: ClassVar[dict] = {
        "noise_budget": [Interval(Real, 0, np.inf, closed="neither"), None],
    }

    alpha: float = 1e-3
    _: KW_ONLY
    penalty: PenaltyName | Penalty = "l1"
    l1_ratio: float | None = None
    groups: Groups = None
    penalty_weights: ArrayLike | None = None
    bounds: FeatureBounds = None
    constraints: Constraints = None
    noise_budget: float | None = None

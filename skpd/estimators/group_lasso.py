"""The group lasso for classification and regression."""

from dataclasses import KW_ONLY
from typing import ClassVar

from .._typing import Array, ArrayLike, Groups
from ..formulation.overlapping import Copies, copies_of
from ..losses import ResidualLoss
from ..penalties import GroupL2, NonNegativeGroupL2, Penalty
from ..preprocessing.groups import weights_of_groups
from .base import PrimalDualEstimator
from .names import ResidualLossName
from .parameters import ClassifierParameters, SolverParameters, WithSolver, declared
from .regression import ResidualLossParameters, WithResidualLoss
from .svm import MarginClassifier


class WithGroups(PrimalDualEstimator):
    """Base class of estimators with a group lasso penalty, whose groups may overlap."""

    _takes_blocks: ClassVar[bool] = True
    _needs_groups: ClassVar[bool] = True
    _own_constraints: ClassVar[dict] = {"group_weights": ["array-like", dict, None]}

    group_weights: ArrayLike | None
    positive: bool = False
    latent_coef_: Array

    @property
    def _groups(self) -> Groups:
        return 1 if self.groups is None else self._indexed_groups(self.groups)

    def _copies(self) -> Copies | None:
        """Copies of the features that are in several groups; None where groups do not overlap."""
        n_features = getattr(self, "n_features_in_", None)
        return None if n_features is None else copies_of(self._groups, n_features)

    def _get_penalty(self) -> Penalty:
        copies = self._copies()
        groups = self._groups if copies is None else copies.groups
        named = self.groups if isinstance(self.groups, dict) else groups
        weights = weights_of_groups(self.group_weights, named, self._columns_of_groups)
        return (NonNegativeGroupL2 if self.positive else GroupL2)(groups, weights)


@declared
class GroupLassoSVC(ClassifierParameters, WithSolver, WithGroups, MarginClassifier):
    """Linear classifier with a group lasso penalty, fitted with a certificate.

    Minimises the weighted mean of the loss plus ``alpha`` times
    ``sum_g weight_g ||w_g||_2``, which selects whole groups of features.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty (the papers' lambda), greater than 0.
    {groups_and_group_weights}
    {loss_of_margin}
    {solver_and_solver_options}
    {tol_max_iter_and_fit_intercept}
    {class_weight}
    warm_start : bool, default=False
        Start from the last fit's primal and dual solution where the shapes agree.
    {n_jobs}
    {random_state_and_verbose}

    Attributes
    ----------
    {linear_model_of_classes}
    {latent_coef}
    {groups_found}
    {classes_and_certificates}
    {solver_and_convergence}

    {warns}
    {warns_without_groups}

    See Also
    --------
    GroupLassoPD : Regression with groups of features.
    LogisticPD : Logistic regression, also with groups of features.
    PdproxSVC : Classifier with any penalty.

    References
    ----------
    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015, section 5.1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import GroupLassoSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> groups = [[j, j + 10, j + 20] for j in range(10)]  # mean, error, worst
    >>> clf = GroupLassoSVC(alpha=0.03, groups=groups).fit(X, y)
    >>> sum(bool(clf.coef_[0, group].any()) for group in groups)
    6
    """

    alpha: float = 1e-3
    _: KW_ONLY
    groups: Groups = None
    group_weights: ArrayLike | None = None


@declared
class GroupLassoPD(ResidualLossParameters, SolverParameters, WithGroups, WithResidualLoss):
    """Linear regression with a group lasso penalty, fitted with a certificate.

    Minimises the weighted mean of the loss plus ``alpha`` times
    ``sum_g weight_g ||w_g||_2``, which selects whole groups of features. The squared loss carries
    the factor 1/2, as in `Lasso`.

    Parameters
    ----------
    alpha : float, default=1.0
        Weight of the penalty (the papers' lambda), greater than 0. As in `Lasso` it
        multiplies the penalty beside the *mean* loss.
    {groups_and_group_weights}
    positive : bool, default=False
        Whether the coefficients must not be negative. Such models are fitted without working
        sets of groups, and take longer for many features.
    loss : str or ResidualLoss, default="squared"
        {names_of_residual_losses}
    {parameters_of_residual_losses}
    {solver_and_solver_options}
    {tol_max_iter_and_fit_intercept}
    {warm_start}
    {random_state_and_verbose}

    Attributes
    ----------
    {linear_model}
    {latent_coef}
    {groups_found}
    {certificate}
    {solver_and_convergence}

    {warns}
    {warns_without_groups}

    See Also
    --------
    GroupLassoSVC : Classifier with groups of features.
    PdproxRegressor : Regression with any penalty.

    References
    ----------
    {pdprox_paper}

    Yuan, Lin: Model selection and estimation in regression with grouped variables. JRSS B 68,
    2006.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import GroupLassoPD
    >>> X, y = load_diabetes(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> groups = {"person": [0, 1], "body": [2, 3], "blood": [4, 5, 6, 7, 8, 9]}
    >>> model = GroupLassoPD(alpha=9.0, groups=groups).fit(X, y)
    >>> {name: bool(model.coef_[members].any()) for name, members in groups.items()}
    {'person': False, 'body': True, 'blood': True}
    """

    alpha: float = 1.0
    _: KW_ONLY
    groups: Groups = None
    group_weights: ArrayLike | None = None
    positive: bool = False
    loss: ResidualLossName | ResidualLoss = "squared"

"""Logistic regression of two classes or more."""

from dataclasses import KW_ONLY
from typing import ClassVar, Literal

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from .._compat import StrOptions
from .._typing import (
    Array,
    ArrayLike,
    ClassWeight,
    Constraints,
    FeatureBounds,
    Groups,
    MatrixLike,
    PerRow,
)
from ..formulation.formulate import formulate_classes
from ..losses import Logistic, Softmax
from ..penalties import Penalty
from .classifier import PrimalDualClassifier
from .names import PENALTIES
from .parameters import SolverParameters, declared, penalty_by_feature

NAMES = {name: PENALTIES[name] for name in ("elasticnet", "group", "l1", "l2", "sparse_group")}


@declared
class LogisticPD(SolverParameters, PrimalDualClassifier):
    """Logistic regression of two classes or more, fitted with a certificate.

    Minimises the weighted mean of the negative log likelihood of the classes plus ``alpha`` times
    the penalty. Two classes have one vector of coefficients; more classes have a vector each and
    the softmax of their scores. With ``penalty="l2"`` this is the objective of
    `LogisticRegression` divided by C times the sum of the weights, for its C of
    ``1 / (alpha * n_samples)``.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty, greater than 0.
    penalty : {"l2", "l1", "elasticnet", "group", "sparse_group"} or Penalty, default="l2"
        Half the squared l2 norm of the coefficients, their l1 norm, both, the group lasso, whose
        groups hold the coefficients of their features for all classes, or the l1 norm and the
        group lasso. An object of `skpd.penalties` is, for more than two classes, one of the
        coefficients of all classes for the first feature, then for the next.
    l1_ratio : float, default=None
        Share of the l1 norm for "elasticnet" and "sparse_group", in [0, 1]; 0.5 by default.
    {groups_of_names}
    {penalty_weights_and_bounds}
    {constraints}
    {class_weight}
    {solver_and_solver_options}
    {tol_max_iter_and_fit_intercept}
    {warm_start_random_state_and_verbose}

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Coefficients, in the precision of X; for two classes those of the score of
        ``classes_[1]``.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts; 0 without ``fit_intercept``.
    dual_coef_ : ndarray of shape (1, n_samples) or (n_samples, n_classes)
        Dual solution theta: up to the tolerance, the derivative of each sample's loss with respect
        to its scores.
    {constraint_multipliers}
    {groups_found}
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    {certificate}
    {solver_and_convergence}

    Raises
    ------
    ValueError
        In `fit`, if a class has no samples of positive weight, or if more than two classes are
        given in blocks.

    {warns}

    See Also
    --------
    MultinomialPD : Classifier with more penalties of the matrix of coefficients.
    PdproxSVC : Classifier with any penalty, bounds and constraints, one-vs-rest.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skpd import LogisticPD
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticPD(alpha=0.01)).fit(X, y)
    >>> model.predict_proba(X[60:61]).round(2)
    array([[0.01, 0.96, 0.04]])
    >>> model[-1].certificate_.relative_gap <= model[-1].tol
    True
    """

    _named_penalties: ClassVar[dict] = NAMES
    _takes_blocks: ClassVar[bool] = True
    _own_constraints: ClassVar[dict] = {
        "penalty": [StrOptions(set(NAMES)), Penalty],
    }

    alpha: float = 1e-3
    _: KW_ONLY
    penalty: Literal["elasticnet", "group", "l1", "l2", "sparse_group"] | Penalty = "l2"
    l1_ratio: float | None = None
    groups: Groups = None
    penalty_weights: ArrayLike | None = None
    bounds: FeatureBounds = None
    constraints: Constraints = None
    class_weight: ClassWeight = None

    def _get_loss(self) -> Logistic:
        """The loss of two classes; more classes have the softmax."""
        return Logistic()

    def _problems_of_classes(self, X, labels, weights, classes, offsets):
        K = len(classes)
        if K == 2:
            return super()._problems_of_classes(X, labels, weights, classes, offsets)
        self._require_none(offsets)
        specification = self._specification(self._penalty_of_all_classes(X.shape[1], K))
        return [formulate_classes(specification, X, labels, weights, classes, Softmax(K))]

    def _penalty_of_all_classes(self, n_features: int, n_classes: int) -> Penalty:
        """The penalty of the coefficients of all classes for the first feature, then the next.

        Groups, weights and bounds of a feature are those of its coefficient for each class.
        """
        penalty = self._unweighted_penalty()
        if self.penalty in ("group", "sparse_group"):
            labels = penalty.for_n_features(n_features).labels
            penalty = penalty.with_params(groups=np.repeat(labels, n_classes))
        weights, bounds = self.penalty_weights, self.bounds
        return penalty_by_feature(penalty, weights, bounds, n_outputs=n_classes)

    @staticmethod
    def _require_none(offsets):
        if offsets[0] is not None:
            raise ValueError(
                "LogisticPD takes an offset for two classes only: fit "
                "PdproxSVC(loss='logistic'), one class against the others."
            )

    def _problems_of_blocks(self, X, y, classes, sample_weight, offsets):
        if len(classes) > 2:
            raise ValueError(
                f"LogisticPD needs X in memory for more than two classes, got {len(classes)} in "
                "blocks: fit PdproxSVC(loss='logistic'), one class against the others."
            )
        return super()._problems_of_blocks(X, y, classes, sample_weight, offsets)

    def _log_probabilities(self, X: MatrixLike, offset: PerRow = None) -> Array:
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return super()._log_probabilities(X, offset)
        return log_softmax(self.decision_function(X), axis=1)

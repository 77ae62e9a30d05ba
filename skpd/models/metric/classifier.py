"""A classifier that optimises a score of all labels, such as F1."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, field
from numbers import Integral
from typing import ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import fbeta_score, roc_auc_score
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..._compat import Interval, RealNotInt
from ..._typing import Array, ArrayLike, Attributes, Groups, Mask, MatrixLike
from ...designs import Design
from ...estimators.base import _DATA, PrimalDualEstimator, fit_method
from ...estimators.classifier import checked_classes
from ...estimators.names import PenaltyName
from ...estimators.parameters import COUNT, POSITIVE, WarmStartParameters, WithOptions, declared
from ...estimators.predictions import linear_predictions
from ...formulation.formulate import FormulatedProblems
from ...formulation.validation import validated
from ...losses import FBeta, PrecisionAtK, RecallAtK, RocAuc
from ...penalties import Penalty
from ...problems import Point, Solution
from ...problems.structured_rows import RowsOfScores, scores_problem
from ...solvers.structured.master import require_master

OF_LABELS, AT_K = ("f1", "fbeta"), ("precision_at_k", "recall_at_k")


@declared
class MetricSVC(WarmStartParameters, WithOptions, ClassifierMixin, PrimalDualEstimator):
    """Linear classifier that optimises F1, or another metric of all predictions, certified.

    This is the SVMperf of Joachims (2005). Minimises, over the coefficients w and the n training
    samples::

        max over y' of [1 - score(y', y) + 1/n sum_i x_i.w (y'_i - y_i)] + alpha penalty(w)

    with labels in {-1, 1}. The maximum is a convex upper bound on one minus the score of the
    predictions. Errors count as they do in the score: where one sample in a hundred is positive,
    F1 is 0 without a true positive, although the accuracy may be 0.99.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty, greater than 0.
    metric : {"f1", "fbeta", "precision_at_k", "recall_at_k", "roc_auc"}, default="f1"
        The score, by the names of scikit-learn. The positive class is ``classes_[1]``. For
        "precision_at_k" and "recall_at_k" the maximum is over the labelings with k positive
        labels, and the true one. The score of "roc_auc" is the share of pairs in the right order;
        the maximum is then the mean of max(1 - (z_i - z_j), 0) over all pairs of a positive
        sample i and a negative sample j.
    beta : float, default=None
        For "fbeta": the weight of recall relative to precision; greater than 0, 1 by default.
    k : int or float, default=None
        For "precision_at_k" and "recall_at_k": the number of samples that are labelled positive,
        or as a float in (0, 1) their share, rounded up; by default the number of positive samples.
    penalty : str or Penalty, default="l2"
        The penalty on the coefficients; an object of `skpd.penalties` or a name, as for
        `PdproxSVC`, that leaves no coefficient free.
    l1_ratio : float, default=None
        Share of the l1 norm, for the names of penalties that have one (`PdproxSVC`).
    groups : "auto", int, array-like, list, dict or callable, default=None
        The groups of features for penalties of groups: one size of consecutive groups, or a list
        of sizes; a label for each feature; a list or dict of lists of names, patterns or indices;
        "auto" for the features that come from one column, after `track_columns`; or a callable of
        the names that returns one of these.
    solver : {"auto", "agm"}, default="auto"
        "auto" is the method of cutting planes. "agm" is that of Zhang et al.: accelerated
        gradients on a maximum that is smoothed by dynamic programming, for a few thousand samples.
    solver_options : dict, default=None
        Options of "agm": ``memory`` ("infinite", "one"), ``adaptive`` (bool) and ``smoothing``
        ("fixed", "homotopy"); see `skpd.solvers.published.structured_agm`.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most the
        share ``tol`` of what any model could improve on the best constant prediction. Where
        the objective is small, a fit also goes on until the gap is at most 100 ``tol`` of it.
    max_iter : int, default=10_000
        Iterations at most: problems of cutting planes, or gradients.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not penalised. Only "f1" and "fbeta" have one: the
        other metrics depend on the order of the samples, which an intercept does not change.
    warm_start : bool, default=False
        Start from the last fit's coefficients where the shapes agree.
    random_state : int, RandomState instance or None, default=None
        Not used.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients, in the precision of X.
    intercept_ : ndarray of shape (1,)
        Intercept; 0 without ``fit_intercept``.
    threshold_ : float
        The value above which ``X @ coef_`` is of the positive class; `decision_function`
        subtracts it. 0 for "f1" and "fbeta"; for the other scores such that ``k`` training
        samples are above it, or as many as are positive.
    dual_coef_ : ndarray of shape (n_samples,)
        The mean of y' - y over a convex combination of labelings, the dual solution. For
        "roc_auc" the share of the samples of the other class with which a sample makes a pair
        that counts, negative for positive samples.
    groups_ : ndarray of str, of shape (n_features,)
        Only with ``groups="auto"``: the names of the columns that each feature comes from.
    classes_ : ndarray of shape (2,)
        Class labels.
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
    PdproxSVC : Classifier with the mean of a loss over the samples.

    Notes
    -----
    Sample weights are not supported, as a score of all labels is no mean over the samples.

    References
    ----------
    Joachims: A support vector method for multivariate performance measures. ICML 2005.

    Zhang, Saha, Vishwanathan: Regularized risk minimization by Nesterov's accelerated gradient
    methods: Algorithmic extensions and empirical studies. Example 3 and section 5.4; Delta in (43)
    is 1 - F1 here, as the loss of a labeling, where the paper prints the formula of F1.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from skpd import MetricSVC
    >>> X, y = make_classification(500, weights=[0.9], class_sep=1.5, random_state=0)
    >>> clf = MetricSVC(alpha=1e-4).fit(X, y)
    >>> clf.score(X, y) > 0.85
    True
    >>> print(f"{clf.certificate_.primal:.3f}, no model below {clf.certificate_.dual:.3f}")
    0.361, no model below 0.361
    """

    classes_: np.ndarray = field(init=False)
    threshold_: float = field(init=False)

    _takes_offset: ClassVar[bool] = False
    _own_constraints: ClassVar[dict] = {
        "beta": [POSITIVE, None],
        "k": [COUNT, Interval(RealNotInt, 0, 1, closed="neither"), None],
    }

    alpha: float = 1e-3
    _: KW_ONLY
    metric: Literal["f1", "fbeta", "precision_at_k", "recall_at_k", "roc_auc"] = "f1"
    beta: float | None = None
    k: float | None = None
    penalty: PenaltyName | Penalty = "l2"
    l1_ratio: float | None = None
    groups: Groups = None
    solver: Literal["auto", "agm"] = "auto"
    max_iter: int = 10_000
    fit_intercept: bool = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @fit_method
    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Fit the classifier and certify it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. Dense arrays, CSR and CSC in float64 or float32 are used as
            they are, without a copy.
        y : array-like of shape (n_samples,)
            Class labels, of two classes.

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
        return self._fit(self._problems(X, y, None))

    def _last_points(self, fit: FormulatedProblems) -> list[Point] | None:
        (problem,), coef = fit.problems, np.ravel(self._dense_coef)
        if coef.shape != problem.rows.coef_shape:
            return None
        return [Point(coef, float(self.intercept_[0]) if self._has_intercept else 0.0, None)]

    def _model(self, points: Sequence[Point | Solution], fit: FormulatedProblems) -> Attributes:
        (point,), classes = points, fit.labels
        threshold = 0.0
        if self.metric not in OF_LABELS:
            rows = fit.problems[0].rows.as_kind(RowsOfScores)
            scores = rows.scores(point.coef, float(point.intercept))
            threshold = _threshold(scores, self._cut(fit.y == classes[1]))
        return {
            "classes_": classes,
            "coef_": point.coef[np.newaxis],
            "intercept_": np.array([point.intercept]),
            "threshold_": threshold,
        }

    def _problems(self, X, y, sample_weight, offset=None) -> FormulatedProblems:
        """The validated data, the one problem, and the classes."""
        if sample_weight is not None:
            raise ValueError(
                "sample_weight must be None: the score of all labels is no mean over the samples."
            )
        owners = {"beta": ("fbeta",), "k": AT_K}
        for name, metrics in owners.items():
            if getattr(self, name) is not None and self.metric not in metrics:
                raise ValueError(
                    f"{name} belongs to metric={' or '.join(map(repr, metrics))}, got "
                    f"{name}={getattr(self, name)!r} with metric={self.metric!r}."
                )
        self._read_sources(X)
        X, y = validated(self, X, y, **_DATA)
        classes = checked_classes(y)
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"MetricSVC got {len(classes)} classes."
            )
        if len(classes) < 2:
            raise ValueError("MetricSVC needs samples of 2 classes, got 1 class.")
        signs = np.where(y == classes[1], 1.0, -1.0)
        problem = scores_problem(
            Design(X), self._loss_of(signs), self._get_penalty(), float(self.alpha),
            self._has_intercept,
        )  # fmt: skip
        if self.solver == "auto":
            require_master(problem, "solver='agm'")
        return FormulatedProblems(X, y, [problem], classes)

    @property
    def _has_intercept(self) -> bool:
        return self.fit_intercept and self.metric in OF_LABELS

    def _cut(self, positive: Mask) -> int:
        """The number of samples that are to be labelled positive."""
        if self.k is None:
            return int(np.sum(positive))
        return int(self.k if isinstance(self.k, Integral) else np.ceil(self.k * len(positive)))

    def _loss_of(self, signs: Array) -> FBeta | PrecisionAtK | RecallAtK | RocAuc:
        if self.metric in OF_LABELS:
            return FBeta(signs, 1.0 if self.beta is None else float(self.beta))
        if self.metric == "roc_auc":
            return RocAuc(signs)
        kind = PrecisionAtK if self.metric == "precision_at_k" else RecallAtK
        return kind(signs, self._cut(signs > 0.0))

    def decision_function(self, X: MatrixLike) -> Array:
        """Signed distances to the hyperplane, up to the norm of the coefficients.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Positive where ``classes_[1]`` is predicted.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, **_DATA)
        return linear_predictions(X, self._coef_rows, self.intercept_ - self.threshold_)[:, 0]

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        positive = (self.decision_function(X) > 0.0).astype(np.intp)
        return self.classes_[positive]

    def score(self, X: MatrixLike, y: ArrayLike) -> float:
        """The score that the classifier optimises, for given data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            True labels.

        Returns
        -------
        score : float
            F1 or F-beta of `predict`; the area under the ROC curve of `decision_function`; or the
            precision or recall of the k samples with the largest values of `decision_function`.
        """
        scores, positive = self.decision_function(X), column_or_1d(y) == self.classes_[1]
        if self.metric == "roc_auc":
            return float(roc_auc_score(positive, scores))
        if self.metric in OF_LABELS:
            beta = 1.0 if self.beta is None else self.beta
            return float(fbeta_score(positive, scores > 0.0, beta=beta, zero_division=0.0))
        k = self._cut(positive)
        n_true = int(np.sum(positive[np.argsort(-scores, kind="stable")[:k]]))
        max_true = k if self.metric == "precision_at_k" else int(np.sum(positive))
        return n_true / max_true if max_true else 0.0


def _threshold(scores: Array, n_positive: int) -> float:
    """A threshold with the wanted number of scores above it."""
    scores = np.sort(scores)[::-1]
    if n_positive == len(scores):
        return float(np.nextafter(scores[-1], -np.inf))
    return float(0.5 * (scores[n_positive - 1] + scores[n_positive]))

"""Boosting of the soft margin by linear programming, with a certificate over all stumps."""

from dataclasses import KW_ONLY, field
from numbers import Real
from typing import ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..._compat import HasMethods, Interval, _fit_context
from ..._floats import EPSILON
from ..._typing import Array, ArrayLike, Indices, MatrixLike, PerRow
from ..._warn import warn_of_convergence
from ...certificates.interface import Sum
from ...estimators.parameters import (
    NOT_NEGATIVE,
    ParameterValidation,
    StoppingParameters,
    declared,
)
from ...formulation.validation import checked_weights, validated
from .column_generation import Boosted, generate_columns, method_for
from .hypotheses import AllStumps, Hypotheses
from .problem import BoostingProblem

# Errors of margins over this number are relative errors of w: less would leave gaps above 1e-8.
LEAST_ENTROPY = 1e-8
SEEDS = 2**31 - 1  # the bound of the seeds of weak learners, as in scikit-learn's ensembles


@declared
class LPBoostClassifier(StoppingParameters, ParameterValidation, ClassifierMixin, BaseEstimator):
    """Boosting of decision stumps for the best soft margin, with a certificate over all of them.

    Chooses a mixture a of hypotheses h with the values -1 and 1, and maximises the mean of the
    share ``nu`` of the smallest margins ``m_i = y_i sum_h a_h h(x_i)``, ::

        max over rho of  rho - sum_i c_i max(0, rho - m_i) / nu,      c_i the normalised weights

    The dual of this linear programme is over distributions w of the rows with ``w_i <= c_i / nu``:
    for each of them, the largest edge ``sum_i w_i y_i h(x_i)`` of any hypothesis is an upper bound
    on every soft margin. In each round the weak learner is fitted to a w for which the hypotheses
    found so far have small edges (column generation). With ``entropy`` the relative entropy of w
    to the c_i is added, so that w is no vertex of the dual.

    Parameters
    ----------
    estimator : classifier, default=None
        The weak learner, whose `fit` takes ``sample_weight``. By default decision stumps; each
        round finds the one with the largest edge of all, so that the certificate is over every
        mixture of stumps. For other weak learners it is over mixtures of the hypotheses found.
    nu : float, default=0.1
        The share of the weight of the rows, in (0, 1], whose margins count: at most this share of
        the rows has a margin below rho. In the notation of the papers the cap of a row is
        ``1 / (nu * n_samples)``.
    entropy : float, default=0.0
        The weight lambda of the relative entropy: 0, or at least 1e-8.
    solver : {"auto", "interior-point", "highs", "agm"}, default="auto"
        Solver of the problems over the hypotheses found so far. "interior-point", the default,
        solves them as far as the next hypotheses need; "highs" is the linear programming of SciPy,
        for ``entropy=0``, whose mixtures have few hypotheses; "agm" are accelerated
        gradients with the entropic prox, which smooth the problem where ``entropy=0``.
    tol : float, default=1e-4
        Stop when the gap between the two sides is at most this. Margins are at most 1.
    max_iter : int, default=1000
        Rounds, with a call of the weak learner each, at most.
    random_state : int, RandomState instance or None, default=None
        Passed to the weak learner, if it has such a parameter.
    verbose : int, default=0
        1 prints the bounds of every round.

    Attributes
    ----------
    estimators_ : list
        The hypotheses with a positive weight: fitted weak learners, or
        `skpd.models.boosting.hypotheses.DecisionStump`. At the end as many of the smallest weights
        become 0 as a gap of ``tol`` allows, except with ``solver="highs"``.
    estimator_weights_ : ndarray of shape (n_estimators,)
        Their weights, which sum to 1.
    classes_ : ndarray of shape (2,)
        Class labels.
    dual_coef_ : ndarray of shape (n_samples,)
        The distribution w of the upper bound.
    certificate_ : Certificate
        The interval that holds the best soft margin, plus the entropy: ``dual`` is the value of
        the model, after its smallest weights became 0, ``primal`` an upper bound. With stumps it
        is over all of them, and with another weak learner over the hypotheses found.
    restricted_certificate_ : Certificate
        The interval of the best soft margin over the hypotheses found, for every weak learner.
    certified_over_ : {"all stumps", "hypotheses found"}
        The hypotheses for whose mixtures ``certificate_`` holds.
    duality_gap_ : float
        The length of that interval.
    relative_gap_ : float
        Equal to ``duality_gap_``: edges are at most 1, so that the gap has no unit.
    gap_history_ : structured ndarray
        For each round the best interval so far, of mixtures with all weights, in the fields
        n_iter, seconds, primal, dual and gap; the bounds of the round in iterate_primal and
        iterate_dual; and in restricted_primal the upper bound over the hypotheses found, to which
        iterate_dual is the lower one.
    solver_ : str
        "interior-point", "highs" or "agm".
    converged_ : bool
        Whether the gap is at most ``tol``; for other weak learners than stumps, whether the gap
        over the hypotheses found is, and the learner has found none with an edge larger by
        ``tol``.
    n_iter_ : int
        Rounds.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had string names.

    Raises
    ------
    ValueError
        In `fit`, for other than two classes: `sklearn.multiclass.OneVsRestClassifier` takes more.

    Warns
    -----
    ConvergenceWarning
        If the gap is still above ``tol`` at the end.

    See Also
    --------
    PdproxSVC : A linear classifier with the hinge loss.

    References
    ----------
    Demiriz, Bennett, Shawe-Taylor: Linear programming boosting via column generation. Machine
    Learning 46, 2002.

    Warmuth, Glocer, Vishwanathan: Entropy regularized LPBoost. Algorithmic Learning Theory, 2008.

    Zhang, Saha, Vishwanathan: Regularized risk minimization by Nesterov's accelerated gradient
    methods: algorithmic extensions and empirical studies. 2011, equation 51.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skpd import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = LPBoostClassifier(nu=0.2).fit(X, y)
    >>> clf.certified_over_
    'all stumps'
    >>> clf.certificate_.gap <= clf.tol
    True
    """

    n_features_in_: int = field(init=False)
    feature_names_in_: np.ndarray = field(init=False)

    _own_constraints: ClassVar[dict] = {
        "estimator": [HasMethods(["fit", "predict"]), None],
        "nu": [Interval(Real, 0, 1, closed="right")],
        "entropy": [NOT_NEGATIVE],
    }

    estimator: BaseEstimator | None = None
    _: KW_ONLY
    nu: float = 0.1
    entropy: float = 0.0
    solver: Literal["auto", "interior-point", "highs", "agm"] = "auto"
    max_iter: int = 1000

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: PerRow = None) -> Self:
        """Fit the mixture and certify it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training data, taken in float64.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, non-negative and not all zero; 1 by default. A weight
            of 2 equals a repeated row. With negative ones the objective is not convex, so
            that nothing could be proven of it.

        Returns
        -------
        self : object
            The fitted classifier.

        Raises
        ------
        ValueError
            If a parameter, the data or the weights are invalid, if there are not two classes with
            samples of positive weight, or if the weak learner takes no weights.
        """
        X, y = validated(self, X, y, dtype=np.float64)
        method = method_for(self.solver, self.entropy)
        if 0.0 < self.entropy < LEAST_ENTROPY:
            raise ValueError(f"entropy must be 0 or at least {LEAST_ENTROPY}, got {self.entropy}.")
        row_weights: Array = checked_weights(sample_weight, X)
        X, signs, weights, row_of = _distinct(X, self._signs(y, row_weights), row_weights)
        problem = BoostingProblem(weights, nu=float(self.nu), entropy=float(self.entropy))
        boosted = generate_columns(
            problem, signs, self._learner(X, signs), solver=method, tol=float(self.tol),
            max_iter=int(self.max_iter), on_round=self._print if self.verbose else None,
        )  # fmt: skip
        totals = np.bincount(row_of, row_weights, minlength=len(weights))
        self.dual_coef_ = row_weights / totals[row_of] * boosted.w[row_of]
        self.solver_ = method
        self._set_boosted(boosted)
        return self

    def _signs(self, y: ArrayLike, sample_weight: Array) -> Array:
        """Labels as -1 for the first class and 1 for the second."""
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. LPBoostClassifier got "
                f"{len(classes)} classes: wrap it in sklearn.multiclass.OneVsRestClassifier."
            )
        n_present = np.count_nonzero(np.bincount(labels, sample_weight > 0.0))
        if n_present < 2:
            raise ValueError(
                "LPBoostClassifier needs samples of 2 classes whose sample_weight is positive, "
                f"got {n_present} of the {len(classes)} class(es) in y."
            )
        self.classes_ = classes
        return np.where(labels == 1, 1.0, -1.0)

    def _learner(self, X: Array, signs: Array) -> Hypotheses:
        if self.estimator is None:
            return AllStumps(X)
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                "estimator must take sample_weight in fit, which is how a round differs from "
                f"another; {type(self.estimator).__name__} does not."
            )
        return _FittedClassifiers(self.estimator, X, signs, check_random_state(self.random_state))

    def _set_boosted(self, boosted: Boosted) -> None:
        used = np.flatnonzero(boosted.mixture > 0.0)
        self.estimators_ = [boosted.hypotheses[k] for k in used]
        self.estimator_weights_ = boosted.mixture[used]
        self.certificate_, self.restricted_certificate_ = boosted.certificate, boosted.restricted
        self.certified_over_ = "all stumps" if self.estimator is None else "hypotheses found"
        self.duality_gap_ = boosted.certificate.gap
        self.relative_gap_ = boosted.certificate.relative_gap
        self.gap_history_, self.n_iter_ = boosted.history, boosted.n_iter
        self.converged_ = boosted.converged
        if not boosted.converged:
            warn_of_convergence(
                f"LPBoostClassifier did not converge: after {boosted.n_iter} rounds its gap is "
                f"{boosted.certificate.gap:.2e}, with tol={self.tol:.2e}. Increase max_iter (now "
                f"{self.max_iter}) or tol."
            )

    def _print(self, row: tuple) -> None:
        n_iter, seconds, primal, dual = row[:4]
        print(
            f"[LPBoostClassifier] round {n_iter}, {seconds:.1f} s: in [{dual:.6g}, {primal:.6g}]"
        )

    def decision_function(self, X: MatrixLike) -> Array:
        """The mean vote of the hypotheses, in [-1, 1].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Positive where ``classes_[1]`` is predicted.
        """
        check_is_fitted(self)
        X = validated(self, X, reset=False, dtype=np.float64)
        scores = np.zeros(len(X))
        for weight, hypothesis in zip(self.estimator_weights_, self.estimators_, strict=True):
            scores += weight * hypothesis.predict(X)
        return scores

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict class labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(np.intp)]


def _distinct(X: Array, signs: Array, sample_weight: Array) -> tuple[Array, Array, Array, Indices]:
    """Merge equal rows of the same label, whose margins are equal for every mixture.

    Returns the distinct rows, their signs, their weights, which sum to 1, and the index of the
    distinct row of each given row. The rows are sorted by their values, so that a weight of 2 and
    a repeated row lead to the same mixture also where several are optimal. Rows of weight 0 have
    the index 0.

    Raises
    ------
    ValueError
        If the sum of the weights is not finite.
    """
    with np.errstate(over="ignore"):
        total = float(np.sum(sample_weight))
    if not np.isfinite(total):
        raise ValueError(f"sample_weight must have a finite sum, got {total}.")
    kept = np.flatnonzero(sample_weight > 0.0)
    table = np.column_stack([X[kept], signs[kept]])
    rows, inverse = np.unique(table, axis=0, return_inverse=True)
    row_of = np.zeros(len(X), dtype=np.intp)
    row_of[kept] = np.ravel(inverse)
    sums = np.bincount(row_of[kept], sample_weight[kept] / total)
    weights = np.maximum(sums, np.finfo(np.float64).tiny)
    return np.ascontiguousarray(rows[:, :-1]), rows[:, -1], weights, row_of


class _FittedClassifiers(Hypotheses):
    """Clones of a classifier, each fitted to labels -1 and 1 with weights of a distribution."""

    def __init__(
        self, estimator: BaseEstimator, X: Array, signs: Array, random_state: np.random.RandomState
    ) -> None:
        self.estimator, self.X, self.signs = estimator, X, signs
        self.random_state = random_state

    def best(self, signed: Array, count: int = 1) -> tuple[list[tuple[BaseEstimator, Array]], Sum]:
        """A classifier fitted to w; other classifiers may have larger edges."""
        hypothesis = clone(self.estimator)
        names = sorted(hypothesis.get_params())
        names = [name for name in names if name.rpartition("__")[2] == "random_state"]
        hypothesis.set_params(**{name: self.random_state.randint(SEEDS) for name in names})
        w = signed * self.signs
        inside = w > 0.0
        hypothesis.fit(self.X[inside], self.signs[inside], sample_weight=w[inside])
        predicted = np.asarray(hypothesis.predict(self.X), dtype=np.float64)
        values = np.where(predicted > 0.0, 1.0, -1.0)
        rounding = (len(w) + 4) * EPSILON * float(np.sum(np.abs(signed)))
        return [(hypothesis, values)], (float(signed @ values), rounding)

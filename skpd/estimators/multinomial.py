"""Classifiers with a vector of coefficients for every class, fitted together."""

from dataclasses import KW_ONLY
from numbers import Real
from typing import ClassVar, Literal

from scipy.special import log_softmax

from .._compat import Interval, StrOptions
from .._docstrings import documented
from .._typing import Array, ClassWeight, MatrixLike, PerRow
from ..formulation.formulate import formulate_classes
from ..losses import CrammerSinger, LabelLoss, Softmax
from ..penalties import Penalty
from .classifier import PrimalDualClassifier
from .output_parameters import OUTPUT_PENALTIES, OutputPenaltyName, output_penalty
from .parameters import SolverParameters, declared

LOSSES: dict[str, type[LabelLoss]] = {"softmax": Softmax, "crammer_singer": CrammerSinger}


@declared
class MultinomialPD(SolverParameters, PrimalDualClassifier):
    """Multinomial logistic regression or the multi-class SVM of Crammer and Singer, certified.

    Minimises over W and b the weighted mean of the loss plus ``alpha`` times the penalty of W,
    whose columns belong to the classes. With the softmax this is the objective of
    `LogisticRegression` divided by C times the sum of the weights, for its C of
    ``1 / (alpha * n_samples)``; with the loss of Crammer and Singer it is that of `LinearSVC`,
    where the intercepts are penalised or absent.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty, greater than 0.
    loss : {"softmax", "crammer_singer"}, default="softmax"
        The negative log likelihood of the class; or the largest excess of another class's score
        plus 1 over the score of the class, at least 0.
    penalty : {"l21", "l1inf", "exclusive", "trace", "squared_groups", "l1", "l2"} or \
            Penalty, default="l2"
        {matrix_penalties}
    {l1_ratio_of_matrix_penalties}
    {class_weight}
    {solver_and_solver_options}
    {tol_max_iter_and_fit_intercept}
    {warm_start_random_state_and_verbose}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (n_classes, n_features)
        Coefficients, in the precision of X, with a row for each class, also for two classes.
    intercept_ : ndarray of shape (n_classes,)
        Intercepts, whose sum is 0: a number added to all scores changes no prediction.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        Dual solution theta: for the softmax, up to the tolerance, the probabilities of the
        classes, less 1 for the true class.
    {certificate}
    {solver_and_convergence}

    {warns}

    See Also
    --------
    LogisticPD : Logistic regression with the usual penalties of vectors.
    MultiTaskPD : Models of several outputs, such as binary labels.
    PdproxSVC : Classifier with any margin loss, one-vs-rest for more than two classes.

    References
    ----------
    Crammer, Singer: On the algorithmic implementation of multiclass kernel-based vector
    machines. JMLR 2, 2001.

    Dünner, Forte, Takáč, Jaggi: Primal-dual rates and certificates. ICML 2016.

    {pdprox_paper}

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skpd import MultinomialPD
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MultinomialPD(alpha=0.01, penalty="l21").fit(X / 16, y)
    >>> (model.coef_.any(axis=0).sum(), model.certificate_.relative_gap < 1e-4)
    (np.int64(28), True)
    """

    _own_constraints: ClassVar[dict] = {
        "loss": [StrOptions(set(LOSSES))],
        "penalty": [StrOptions(set(OUTPUT_PENALTIES)), Penalty],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    }

    alpha: float = 1e-3
    _: KW_ONLY
    loss: Literal["softmax", "crammer_singer"] = "softmax"
    penalty: OutputPenaltyName | Penalty = "l2"
    l1_ratio: float = 1.0
    class_weight: ClassWeight = None

    _takes_offset: ClassVar[bool] = False

    def _get_loss(self) -> LabelLoss:
        return LOSSES[self.loss](len(self.classes_))

    def _problems_of_classes(self, X, labels, weights, classes, offsets):
        K = len(classes)
        penalty = output_penalty(self.penalty, float(self.l1_ratio), X.shape[1], K)
        specification = self._specification(penalty)
        return [
            formulate_classes(specification, X, labels, weights, classes, LOSSES[self.loss](K))
        ]

    @documented
    def decision_function(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """The scores of the classes.

        {X_of_rows}
        offset : None
            There is none.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            For two classes the score of ``classes_[1]`` minus that of the other.
        """
        scores = self._scores(X, offset)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _gives_probabilities(self) -> bool:
        return LOSSES[self.loss].is_log_likelihood

    def _log_probabilities(self, X: MatrixLike, offset: PerRow = None) -> Array:
        return log_softmax(self._scores(X, offset), axis=1)

"""Classifiers with a vector of coefficients for every class, fitted together."""

from dataclasses import KW_ONLY
from typing import ClassVar, Literal

from scipy.special import log_softmax

from .._typing import Array, ClassWeight, MatrixLike, PerRow
from ..formulation.formulate import formulate_classes
from ..losses import CrammerSinger, LabelLoss, Softmax
from ..penalties import Penalty
from .classifier import PrimalDualClassifier
from .output_parameters import OutputPenaltyName, output_penalty
from .parameters import SHARE, FitsWithoutPenalty, SolverParameters, declared

LOSSES: dict[str, type[LabelLoss]] = {"softmax": Softmax, "crammer_singer": CrammerSinger}


@declared
class MultinomialPD(FitsWithoutPenalty, SolverParameters, PrimalDualClassifier):
    """Multinomial logistic regression or the multi-class SVM of Crammer and Singer, certified.

    Minimises over W and b the weighted mean of the loss plus ``alpha`` times the penalty of W,
    whose columns belong to the classes. With the softmax this is the objective of
    `LogisticRegression` divided by C times the sum of the weights, for its C of
    ``1 / (alpha * n_samples)``; with the loss of Crammer and Singer it is that of `LinearSVC`,
    where the intercepts are penalised or absent.

    Parameters
    ----------
    alpha : float, default=1e-3
        Weight of the penalty, at least 0; with 0 there is no penalty.
    loss : {"softmax", "crammer_singer"}, default="softmax"
        The negative log likelihood of the class; or the largest excess of another class's score
        plus 1 over the score of the class, at least 0.
    penalty : {"l21", "l1inf", "exclusive", "trace", "squared_groups", \
            "squared_outputs", "l1", "l2"} or Penalty, default="l2"
        For the matrix W of coefficients with a row w^j for each feature: the sum of the Euclidean
        norms of the rows ("l21", which selects the same features for all outputs or classes), of
        their largest sizes ("l1inf"), or of their squared l1 norms ("exclusive", by which outputs
        compete for features); the sum of the singular values ("trace", for a low rank); the square
        of the l2,1 norm ("squared_groups"), or of the sum of the Euclidean norms of the columns
        ("squared_outputs", which selects outputs); for all entries of W the l1 norm ("l1") or half
        the sum of the squares ("l2"). A `Penalty` is one of the rows of W, one after the other.
    l1_ratio : float, default=1.0
        Share of the penalty "l21" or "l1", in [0, 1]; the rest is half the squared Frobenius
        norm.
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
        share ``tol`` of what any model could improve on the best constant prediction.
    max_iter : int, default=50_000
        Iterations at most. An iteration is a Newton step, a pass over the rows or the
        coordinates, or, in a method of gradients, about one product with X and one with its
        transpose.
    fit_intercept : bool, default=True
        Whether to fit an intercept (for each output or class), which is not penalised.
    class_weight : dict or "balanced", default=None
        Weights of the classes, which multiply ``sample_weight``.
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
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    coef_ : ndarray of shape (n_classes, n_features)
        Coefficients, in the precision of X, with a row for each class, also for two classes.
    intercept_ : ndarray of shape (n_classes,)
        Intercepts, whose sum is 0: a number added to all scores changes no prediction.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        Dual solution theta: for the softmax, up to the tolerance, the probabilities of the
        classes, less 1 for the true class.
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
    LogisticPD : Logistic regression with the usual penalties of vectors.
    MultiTaskPD : Models of several outputs, such as binary labels.
    PdproxSVC : Classifier with any margin loss, one-vs-rest for more than two classes.

    References
    ----------
    Crammer, Singer: On the algorithmic implementation of multiclass kernel-based vector
    machines. JMLR 2, 2001.

    Dünner, Forte, Takáč, Jaggi: Primal-dual rates and certificates. ICML 2016.

    Yang, Mahdavi, Jin, Zhu: An efficient primal dual prox method for non-smooth
    optimization. Machine Learning 98, 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skpd import MultinomialPD
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MultinomialPD(alpha=0.01, penalty="l21").fit(X / 16, y)
    >>> (model.coef_.any(axis=0).sum(), model.certificate_.relative_gap < 1e-4)
    (np.int64(28), True)
    """

    _own_constraints: ClassVar[dict] = {"l1_ratio": [SHARE]}

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
        ratio, alpha = float(self.l1_ratio), float(self.alpha)
        penalty = output_penalty(self.penalty, ratio, X.shape[1], K, alpha)
        specification = self._specification(penalty)
        loss = LOSSES[self.loss](K)
        return [formulate_classes(specification, X, labels, weights, classes, loss)]

    def decision_function(self, X: MatrixLike, offset: PerRow = None) -> Array:
        """The scores of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
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

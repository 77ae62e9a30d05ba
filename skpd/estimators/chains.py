"""Estimators of the labels of sequences: random fields and max-margin networks on chains."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._compat import StrOptions, _fit_context, with_callbacks
from .._typing import Array, ArrayLike
from ..designs import Design
from ..designs.chains import ChainsDesign
from ..losses.chain_recursions import Beliefs, Chains, best_labels, sum_product
from ..losses.chains import ChainLogLoss, ChainLoss
from ..penalties import L1, GroupL2, Penalty, SquaredL2
from ..problems import Point, Solution
from ..problems.structured import StructuredProblem
from ..solvers import STRUCTURED_SOLVERS
from .base import _DATA, PrimalDualEstimator
from .fits import fit_problems
from .sequences import encoded, split_at, stacked
from .validation import validated

__all__ = ["ChainCRF", "ChainM3N"]


class _ChainEstimator(PrimalDualEstimator, BaseEstimator):
    """What both models share."""

    _parameter_constraints: ClassVar[dict] = {
        **PrimalDualEstimator._parameter_constraints,
        "penalty": [StrOptions({"l2", "l1", "group"})],
    }
    del _parameter_constraints["solver"], _parameter_constraints["solver_options"]
    del _parameter_constraints["fit_intercept"]
    _solvers = STRUCTURED_SOLVERS
    # what the base class asks of every estimator, and is no parameter of these
    fit_intercept: ClassVar[bool] = False
    solver: ClassVar[str] = "auto"
    solver_options: ClassVar[None] = None

    def __init__(
        self,
        alpha: float = 1e-2,
        *,
        penalty: str = "l2",
        tol: float = 1e-4,
        max_iter: int = 10_000,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.penalty = penalty
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _loss_of(self, labels: Any, lengths: Any, n_labels: int) -> ChainLogLoss | ChainLoss: ...

    def _get_loss(self) -> Any:
        raise TypeError("The loss of chains is one of all labels, which are not known yet.")

    def _get_penalty(self) -> Penalty:
        if self.penalty == "group":
            return GroupL2(self._group_size)
        penalty: Penalty = L1() if self.penalty == "l1" else SquaredL2()
        return penalty

    @_fit_context(prefer_skip_nested_validation=True)
    @with_callbacks
    def fit(self, X: Any, y: Sequence[ArrayLike]) -> Self:
        """Fit the model and certify it.

        Parameters
        ----------
        X : list of {array-like, sparse matrix} of shape (n_tokens_i, n_features)
            The sequences: for each the features of its tokens.
        y : list of array-like of shape (n_tokens_i,)
            The labels of the tokens of each sequence; anything hashable.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If a parameter or the data is invalid, or if there are fewer than two labels.
        KeyboardInterrupt
            After Ctrl-C; the fitted attributes then hold the best model so far and its
            certificate.
        """
        X, y, problems, classes = self._problems(X, y, None)
        task = {"estimator": self, "X": X, "y": y, "metadata": None}
        fit_problems(self, problems, task, classes, [self._start_of(problems[0], classes)])
        return self

    def _problems(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, list, Any]:
        """The validated data, the one problem in a list, and the classes."""
        X, lengths = stacked(X)
        X = validated(self, X, **_DATA)
        classes, labels = encoded(y, lengths)
        self._group_size = len(classes)
        design = ChainsDesign(Design(X), len(classes))
        loss = self._loss_of(labels, lengths, len(classes))
        penalty, alpha = self._get_penalty(), float(self.alpha)
        problem = StructuredProblem(design, loss, penalty, alpha, n_labels=len(labels))
        return X, labels, [problem], classes

    def _start_of(self, problem: StructuredProblem, classes: np.ndarray) -> Point | None:
        """Where a warm start resumes, if the last fit had the same shape."""
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        coef = np.append(np.ravel(self._dense_coef.T), np.ravel(self.transitions_))
        if coef.shape != problem.coef_shape or len(self.classes_) != len(classes):
            return None
        return Point(coef, 0.0, problem.dual_point_of(coef, 0.0))

    def _model(self, points: Sequence[Point | Solution], y: Any, classes: Any) -> dict[str, Any]:
        (point,), K = points, len(classes)
        return {
            "classes_": classes,
            "coef_": point.coef[: -K * K].reshape(-1, K).T.copy(),
            "transitions_": point.coef[-K * K :].reshape(K, K).copy(),
            "intercept_": np.zeros(K, point.coef.dtype),
        }

    def _scores(self, X: Any) -> tuple[Chains, Array]:
        """The chains and the scores of their tokens."""
        check_is_fitted(self)
        tokens, lengths = stacked(X)
        tokens = validated(self, tokens, reset=False, **_DATA)
        chains = Chains(lengths, len(self.classes_))
        scores: Array = np.asarray(tokens @ self._dense_coef.T, dtype=np.float64)
        return chains, np.ascontiguousarray(scores)

    def predict(self, X: Any) -> list[np.ndarray]:
        """Predict the labeling with the largest score of every sequence (Viterbi).

        Parameters
        ----------
        X : list of {array-like, sparse matrix} of shape (n_tokens_i, n_features)

        Returns
        -------
        labels : list of ndarray of shape (n_tokens_i,)
        """
        chains, scores = self._scores(X)
        _, labels = best_labels(chains, scores, self.transitions_)
        return split_at(self.classes_[labels], chains.lengths)

    def score(self, X: Any, y: Any) -> float:
        """The share of tokens whose labels are predicted.

        Parameters
        ----------
        X : list of {array-like, sparse matrix} of shape (n_tokens_i, n_features)
        y : list of array-like of shape (n_tokens_i,)
            True labels.

        Returns
        -------
        score : float
        """
        predicted = self.predict(X)
        if list(map(len, y)) != list(map(len, predicted)):
            raise ValueError("y must have a label for each token of X.")
        right = [a == b for ours, true in zip(predicted, y, strict=True)
                 for a, b in zip(ours, true, strict=True)]  # fmt: skip
        return float(np.mean(right))


PARAMETERS = """Parameters
    ----------
    alpha : float, default=1e-2
        Weight of the penalty, greater than 0.
    penalty : {"l2", "l1", "group"}, default="l2"
        Half the squared norm of all weights, those of the transitions too; the sum of their sizes;
        or the sum of the Euclidean norms of groups, times the square root of the number of labels:
        the weights of a feature for all labels, and the transitions from a label.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the objective is then at most ``tol``
        times that of the model 0 above the optimum.
    max_iter : int, default=10_000
        Iterations at most.
    warm_start : bool, default=False
        Start from the last fit's coefficients where the shapes agree.
    random_state : int, RandomState instance or None, default=None
        Not used.
    verbose : int, default=0
        1 prints ever fewer lines on the way, where the iterations have doubled or the gap has
        halved, and the last certificate; 2 a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        The weights of the features for each label, in the precision of X.
    transitions_ : ndarray of shape (n_labels, n_labels)
        The weights of a label, by rows, before another.
    intercept_ : ndarray of shape (n_labels,)
        0: there are no weights that are not penalised. A constant feature adds penalised ones.
    classes_ : ndarray of shape (n_labels,)
        The labels.
    dual_coef_ : ndarray of shape (n_tokens * n_labels + n_labels ** 2,)
        The dual solution: for each token and label the probability that it has this label in a
        mixture of labelings, less 1 for the true one; and the same for the transitions, as means
        over all neighbours.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    relative_gap_ : float
        The same over the objective of the model 0.
    gap_history_ : structured ndarray
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that of
        the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str
        The method that finished.
    converged_ : bool
        Whether the relative gap reached ``tol``.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Number of features seen in `fit`.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; it says why, and what to try."""


class ChainCRF(_ChainEstimator):
    __doc__ = f"""Conditional random field for sequences, with a certificate.

    Minimises, over weights W of features and T of transitions, the mean over the n sequences of
    minus the log-likelihood of their labels (Lafferty, McCallum and Pereira, 2001)::

        1/n sum_i [log sum over y' of exp(score(x_i, y')) - score(x_i, y_i)] + alpha penalty(W, T)

    with the score sum_t x[t].W[:, y[t]] + sum_t T[y[t], y[t + 1]] of a labeling.

    {PARAMETERS}

    See Also
    --------
    ChainM3N : The largest number of wrong labels and score in place of the soft maximum.

    Notes
    -----
    The dual value of a mixture of labelings is the mean entropy of the sequences. L-BFGS finds the
    model for half the squared norm, accelerated proximal gradients for the other penalties.

    References
    ----------
    Lafferty, McCallum, Pereira: Conditional random fields. ICML 2001.

    Zhang, Saha, Vishwanathan: Regularized risk minimization by Nesterov's accelerated gradient
    methods: Algorithmic extensions and empirical studies. Example 4, (45).

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import ChainCRF
    >>> X = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 1]], np.eye(3)[[0, 0, 1]]]
    >>> y = [["noun", "verb", "noun"], ["noun", "verb"], ["noun", "noun", "verb"]]
    >>> crf = ChainCRF(alpha=1e-3).fit(X, y)
    >>> crf.predict([np.eye(3)[[2, 1]]])
    [array(['noun', 'verb'], dtype='<U4')]
    >>> crf.certificate_.relative_gap <= crf.tol
    True
    """

    def _loss_of(self, labels: Any, lengths: Any, n_labels: int) -> ChainLogLoss:
        return ChainLogLoss(labels, lengths, n_labels)

    def predict_marginals(self, X: Any) -> list[Array]:
        """The probabilities of the labels of each token.

        Parameters
        ----------
        X : list of {array-like, sparse matrix} of shape (n_tokens_i, n_features)

        Returns
        -------
        probabilities : list of ndarray of shape (n_tokens_i, n_labels)
        """
        chains, scores = self._scores(X)
        beliefs: Beliefs = sum_product(chains, scores, self.transitions_)
        return split_at(beliefs.nodes, chains.lengths)


class ChainM3N(_ChainEstimator):
    __doc__ = f"""Max-margin Markov network for sequences, with a certificate.

    Minimises, over weights W of features and T of transitions, a convex bound on the mean number
    of wrong labels of the n sequences (Taskar, Guestrin and Koller, 2004)::

        1/n sum_i max over y' of [h(y', y_i) + score(x_i, y') - score(x_i, y_i)]
            + alpha penalty(W, T)

    with the score sum_t x[t].W[:, y[t]] + sum_t T[y[t], y[t + 1]] of a labeling and h the number
    of tokens with another label, which is not divided by the length of the sequence.

    {PARAMETERS}

    See Also
    --------
    ChainCRF : A soft maximum, with probabilities.

    Notes
    -----
    Cutting planes find the model: see ``solver_``.

    References
    ----------
    Taskar, Guestrin, Koller: Max-margin Markov networks. NIPS 2004.

    Zhang, Saha, Vishwanathan: Regularized risk minimization by Nesterov's accelerated gradient
    methods: Algorithmic extensions and empirical studies. Example 4, (46).

    Examples
    --------
    >>> import numpy as np
    >>> from skpd import ChainM3N
    >>> X = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 1]], np.eye(3)[[0, 0, 1]]]
    >>> y = [["noun", "verb", "noun"], ["noun", "verb"], ["noun", "noun", "verb"]]
    >>> m3n = ChainM3N(alpha=1e-2).fit(X, y)
    >>> m3n.predict([np.eye(3)[[2, 1]]])
    [array(['noun', 'verb'], dtype='<U4')]
    >>> m3n.certificate_.relative_gap <= m3n.tol
    True
    """

    def _loss_of(self, labels: Any, lengths: Any, n_labels: int) -> ChainLoss:
        return ChainLoss(labels, lengths, n_labels)

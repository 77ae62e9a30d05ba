"""Classifiers of the tokens of sequences: random fields and max-margin networks on chains."""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from typing import Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from .._typing import Array, ArrayLike, Attributes, Indices, Matrix
from ..designs import Design
from ..designs.chains import ChainsDesign
from ..formulation.formulate import FormulatedProblems
from ..formulation.validation import validated, validated_array
from ..losses.chain_recursions import Beliefs, Chains, best_labels, sum_product
from ..losses.chains import ChainLogLoss, ChainLoss
from ..losses.structured import StructuredLoss
from ..penalties import L1, GroupL2, Penalty, SquaredL2
from ..problems import Point, Solution
from ..problems.structured_rows import scores_problem
from .base import _DATA, PrimalDualEstimator, fit_method
from .labeled_sequences import encoded, split_at, stacked
from .parameters import WarmStartParameters, WithOptions, declared, shared


class ChainAttributes:
    """The fitted attributes of chain models, which would be parameters in their class."""

    classes_: np.ndarray
    feature_names_in_: np.ndarray
    transitions_: Array
    alpha: float


@shared
class _ChainEstimator(ChainAttributes, WithOptions, WarmStartParameters, PrimalDualEstimator):
    """Base class of models of chains of labels."""

    fit_intercept = False

    penalty: Literal["l2", "l1", "group"] = "l2"
    solver: Literal["auto", "agm"] = "auto"
    max_iter: int = 10_000

    @abstractmethod
    def _loss_of(self, labels: Indices, lengths: Indices, n_labels: int) -> StructuredLoss:
        """The loss of labels from 0 on, chain by chain."""

    def _get_penalty(self) -> Penalty:
        if self.penalty == "group":
            return GroupL2(self._group_size)
        return L1() if self.penalty == "l1" else SquaredL2()

    @fit_method
    def fit(self, X: Sequence[Matrix], y: Sequence[ArrayLike]) -> Self:  # type: ignore[override]
        """Fit the model and certify it.

        Parameters
        ----------
        X : list of {array-like, sparse matrix} of shape (n_tokens_i, n_features)
            The sequences: for each the features of its tokens.
        y : list of array-like of shape (n_tokens_i,)
            The labels of the tokens of each sequence, at least two different ones, of any type
            that can be hashed.

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

    def _problems(self, X, y, sample_weight, offset=None) -> FormulatedProblems:
        """The validated data, the one problem, and the classes."""
        tokens, lengths = stacked(X)
        tokens = validated(self, tokens, **_DATA)
        validate_data(self, next(iter(X)), skip_check_array=True)  # names of columns
        classes, labels = encoded(y, lengths)
        self._group_size = len(classes)
        design = ChainsDesign(Design(tokens), len(classes))
        loss = self._loss_of(labels, lengths, len(classes))
        penalty, alpha = self._get_penalty(), float(self.alpha)
        problem = scores_problem(design, loss, penalty, alpha, n_labels=len(labels))
        return FormulatedProblems(tokens, labels, [problem], classes)

    def _last_points(self, fit: FormulatedProblems) -> list[Point] | None:
        (problem,) = fit.problems
        coef = np.append(np.ravel(self._dense_coef.T), np.ravel(self.transitions_))
        if coef.shape != problem.rows.coef_shape or len(self.classes_) != len(fit.labels):
            return None
        return [Point(coef, 0.0, None)]

    def _model(self, points: Sequence[Point | Solution], fit: FormulatedProblems) -> Attributes:
        (point,), classes, K = points, fit.labels, len(fit.labels)
        return {
            "classes_": classes,
            "coef_": point.coef[: -K * K].reshape(-1, K).T.copy(),
            "transitions_": point.coef[-K * K :].reshape(K, K).copy(),
            "intercept_": np.zeros(K, point.coef.dtype),
        }

    def _chains_and_scores(self, X: Sequence[Matrix]) -> tuple[Chains, Array]:
        """The chains and the scores of their tokens."""
        check_is_fitted(self)
        tokens, lengths = stacked(X)
        validate_data(self, next(iter(X)), reset=False, skip_check_array=True)
        tokens = validated_array(tokens, input_name="X", **_DATA)
        chains = Chains(lengths, len(self.classes_))
        scores: Array = np.asarray(tokens @ self._dense_coef.T, dtype=np.float64)
        return chains, np.ascontiguousarray(scores)

    def predict(self, X: Sequence[Matrix]) -> list[np.ndarray]:
        """Predict the labeling of every sequence with the largest score, by the Viterbi algorithm.

        Parameters
        ----------
        X : list of {array-like, sparse matrix} of shape (n_tokens_i, n_features)

        Returns
        -------
        labels : list of ndarray of shape (n_tokens_i,)
        """
        chains, scores = self._chains_and_scores(X)
        _, labels = best_labels(chains, scores, self.transitions_)
        return split_at(self.classes_[labels], chains.lengths)

    def score(self, X: Sequence[Matrix], y: Sequence[Sequence[Hashable]]) -> float:
        """The share of tokens whose labels are predicted correctly.

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


@declared
class ChainCRF(_ChainEstimator):
    """Conditional random field for sequences, with a certificate.

    Minimises, over weights W of features and T of transitions, the mean over the n sequences of
    minus the log-likelihood of their labels (Lafferty, McCallum and Pereira, 2001)::

        1/n sum_i [log sum over y' of exp(score(x_i, y')) - score(x_i, y_i)] + alpha penalty(W, T)

    with the score sum_t x[t].W[:, y[t]] + sum_t T[y[t], y[t + 1]] of a labeling.

    Parameters
    ----------
    alpha : float, default=1e-2
        Weight of the penalty, greater than 0.
    cost : {"hamming"}, default=None
        What is added to the scores of labelings in the exponent: "hamming", the number of tokens
        with a wrong label, so that labelings with many errors need lower scores (the softmax
        margin of Gimpel and Smith, 2010). With it `predict_marginals` gives no estimates of
        probabilities.
    penalty : {"l2", "l1", "group"}, default="l2"
        Half the squared norm of all weights, including those of the transitions; the sum of
        their sizes; or the sum of the Euclidean norms of groups, times the square root of the
        number of labels: the weights of a feature for all labels, and the transitions from a
        label.
    solver : {"auto", "agm"}, default="auto"
        "agm" is the method of Zhang et al.: accelerated gradients on the soft maximum over
        labelings, (45), or on the maximum that the sum-product algorithm smooths, (46).
    solver_options : dict, default=None
        Options of "agm": ``memory`` ("infinite", "one"), ``adaptive`` (bool) and, for a maximum,
        ``smoothing`` ("fixed", "homotopy"); see `skpd.solvers.published.structured_agm`; and
        ``output``: "algorithm", the default, is what the paper's algorithm returns, with its
        certificate, and "best" the best point of the run.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most
        the share ``tol`` of what any model could improve on the model 0.
    max_iter : int, default=10_000
        Iterations at most.
    warm_start : bool, default=False
        Start from the last fit's coefficients where the shapes agree.
    random_state : int, RandomState instance or None, default=None
        Not used.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        The weights of the features for each label, in the precision of X.
    transitions_ : ndarray of shape (n_labels, n_labels)
        The weights of a label, by rows, before another.
    intercept_ : ndarray of shape (n_labels,)
        0: all weights are penalised. A constant feature adds intercepts that are penalised.
    classes_ : ndarray of shape (n_labels,)
        The labels.
    dual_coef_ : ndarray of shape (n_tokens * n_labels + n_labels ** 2,)
        The dual solution: for each token and label the probability of this label in a mixture
        of labelings, less 1 for the true label; and such differences for the transitions, as
        means over all neighbours.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    relative_gap_ : float
        That length as a share of what could be improved on the model 0, compared with ``tol``.
    gap_history_ : structured ndarray
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that
        of the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str
        The method that finished. The :ref:`reference <solvers>` lists all names.
    converged_ : bool
        Whether the gap is as small as ``tol`` asks for.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the sequences had string names.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try.

    See Also
    --------
    ChainM3N : Max-margin Markov network for sequences.

    Notes
    -----
    The dual value of a distribution over labelings is the mean entropy of the sequences. L-BFGS
    finds the model for half the squared norm, accelerated proximal gradients for the other
    penalties.

    References
    ----------
    Lafferty, McCallum, Pereira: Conditional random fields. ICML 2001.

    Gimpel, Smith: Softmax-margin CRFs: training log-linear models with cost functions. NAACL 2010.

    Zhang, Saha, Vishwanathan: Regularized risk minimization by Nesterov's accelerated gradient
    methods: Algorithmic extensions and empirical studies. Example 4; ``cost="hamming"`` is (45).

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

    alpha: float = 1e-2
    _: KW_ONLY
    cost: Literal["hamming"] | None = None

    def _loss_of(self, labels: Indices, lengths: Indices, n_labels: int) -> ChainLogLoss:
        return ChainLogLoss(labels, lengths, n_labels, has_cost=self.cost is not None)

    def predict_marginals(self, X: Sequence[Matrix]) -> list[Array]:
        """The probabilities of the labels of each token.

        Parameters
        ----------
        X : list of {array-like, sparse matrix} of shape (n_tokens_i, n_features)

        Returns
        -------
        probabilities : list of ndarray of shape (n_tokens_i, n_labels)
        """
        chains, scores = self._chains_and_scores(X)
        beliefs: Beliefs = sum_product(chains, scores, self.transitions_)
        return split_at(beliefs.nodes, chains.lengths)


@declared
class ChainM3N(_ChainEstimator):
    """Max-margin Markov network for sequences, with a certificate.

    Minimises, over weights W of features and T of transitions, a convex bound on the mean number
    of wrong labels of the n sequences (Taskar, Guestrin and Koller, 2004)::

        1/n sum_i max over y' of [h(y', y_i) + score(x_i, y') - score(x_i, y_i)]
            + alpha penalty(W, T)

    with the score sum_t x[t].W[:, y[t]] + sum_t T[y[t], y[t + 1]] of a labeling and h the number
    of tokens with another label, which is not divided by the length of the sequence.

    Parameters
    ----------
    alpha : float, default=1e-2
        Weight of the penalty, greater than 0.
    penalty : {"l2", "l1", "group"}, default="l2"
        Half the squared norm of all weights, including those of the transitions; the sum of
        their sizes; or the sum of the Euclidean norms of groups, times the square root of the
        number of labels: the weights of a feature for all labels, and the transitions from a
        label.
    solver : {"auto", "agm"}, default="auto"
        "agm" is the method of Zhang et al.: accelerated gradients on the soft maximum over
        labelings, (45), or on the maximum that the sum-product algorithm smooths, (46).
    solver_options : dict, default=None
        Options of "agm": ``memory`` ("infinite", "one"), ``adaptive`` (bool) and, for a maximum,
        ``smoothing`` ("fixed", "homotopy"); see `skpd.solvers.published.structured_agm`; and
        ``output``: "algorithm", the default, is what the paper's algorithm returns, with its
        certificate, and "best" the best point of the run.
    tol : float, default=1e-4
        Stop when the certified relative gap is at most this: the model then leaves at most
        the share ``tol`` of what any model could improve on the model 0.
    max_iter : int, default=10_000
        Iterations at most.
    warm_start : bool, default=False
        Start from the last fit's coefficients where the shapes agree.
    random_state : int, RandomState instance or None, default=None
        Not used.
    verbose : int, default=0
        1 prints a line whenever the iterations have doubled or the gap has halved, and the
        last certificate; 2 prints a line for every certificate.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        The weights of the features for each label, in the precision of X.
    transitions_ : ndarray of shape (n_labels, n_labels)
        The weights of a label, by rows, before another.
    intercept_ : ndarray of shape (n_labels,)
        0: all weights are penalised. A constant feature adds intercepts that are penalised.
    classes_ : ndarray of shape (n_labels,)
        The labels.
    dual_coef_ : ndarray of shape (n_tokens * n_labels + n_labels ** 2,)
        The dual solution: for each token and label the probability of this label in a mixture
        of labelings, less 1 for the true label; and such differences for the transitions, as
        means over all neighbours.
    certificate_ : Certificate
        The interval that holds the optimal objective value.
    duality_gap_ : float
        Length of that interval.
    relative_gap_ : float
        That length as a share of what could be improved on the model 0, compared with ``tol``.
    gap_history_ : structured ndarray
        The best interval over time, with fields n_iter, seconds, primal, dual, gap, and that
        of the recorded iterate itself, with fields iterate_primal and iterate_dual.
    solver_ : str
        The method that finished. The :ref:`reference <solvers>` lists all names.
    converged_ : bool
        Whether the gap is as small as ``tol`` asks for.
    n_iter_ : int
        Iterations.
    n_features_in_ : int
        Number of features seen in `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where the sequences had string names.

    Warns
    -----
    ConvergenceWarning
        If the relative gap is still above ``tol`` after ``max_iter`` iterations.
    UserWarning
        If all coefficients are 0; the message says why, and what to try.

    See Also
    --------
    ChainCRF : Conditional random field for sequences, with probabilities.

    Notes
    -----
    "auto" is the method of cutting planes.

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

    alpha: float = 1e-2

    def _loss_of(self, labels: Indices, lengths: Indices, n_labels: int) -> ChainLoss:
        return ChainLoss(labels, lengths, n_labels)

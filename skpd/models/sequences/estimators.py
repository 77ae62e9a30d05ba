"""Classifiers of the tokens of sequences: random fields and max-margin networks on chains."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Literal

from ..._typing import Array, Indices, Matrix
from ...estimators.parameters import declared
from .chain_estimator import ChainEstimator
from .labeled_sequences import split_at
from .losses import ChainLogLoss, ChainLoss
from .recursions import sum_product


@declared
class ChainCRF(ChainEstimator):
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
    >>> print(f"{crf.certificate_.primal:.3f}, no model below {crf.certificate_.dual:.3f}")
    0.024, no model below 0.024
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
        return split_at(sum_product(chains, scores, self.transitions_).nodes, chains.lengths)


@declared
class ChainM3N(ChainEstimator):
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
    >>> print(f"{m3n.certificate_.primal:.4f}, no model below {m3n.certificate_.dual:.4f}")
    0.0075, no model below 0.0075
    """

    alpha: float = 1e-2

    def _loss_of(self, labels: Indices, lengths: Indices, n_labels: int) -> ChainLoss:
        return ChainLoss(labels, lengths, n_labels)

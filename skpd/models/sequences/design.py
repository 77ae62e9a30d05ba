"""The linear map of labelled sequences: weights of tokens and of transitions to scores.

The coefficients are the rows of W, of shape (n_features, n_labels), one after the other, followed
by those of the transitions T, of shape (n_labels, n_labels). The scores are X W, token by token,
followed by T itself.
"""

from collections.abc import Callable

import numpy as np

from ..._typing import Array
from ...designs.design import Design
from ...designs.outputs import SharedDesign


class ChainsDesign:
    """The map from (W, T) to the scores of all tokens and of the transitions.

    Parameters
    ----------
    tokens : Design
        The features X of the tokens of all sequences, of shape (n_tokens, n_features).
    n_labels : int
    """

    def __init__(self, tokens: Design, n_labels: int) -> None:
        self.tokens = SharedDesign(tokens, n_labels)
        self.n_labels, self.n_transitions = n_labels, n_labels**2
        n_scores, n_weights = self.tokens.shape
        self.shape = n_scores + self.n_transitions, n_weights + self.n_transitions

    @property
    def n_entries(self) -> int:
        """The number of entries of the data that a product reads."""
        return self.tokens.n_entries

    def shared_by(self, n_parallel: int) -> "ChainsDesign":
        """The map with the threads of products divided among ``n_parallel`` users."""
        return ChainsDesign(self.tokens.base.shared_by(n_parallel), self.n_labels)

    def _split(self, vector: Array) -> tuple[Array, Array]:
        """The part of a vector that belongs to the tokens, and that of the transitions."""
        return vector[: -self.n_transitions], vector[-self.n_transitions :]

    def matvec(self, coef: Array) -> Array:
        """The scores, of shape (n_scores,)."""
        weights, transitions = self._split(coef)
        return np.append(self.tokens.matvec(weights), transitions)

    def rmatvec(self, scores: Array) -> Array:
        """The transpose of `matvec`."""
        tokens, transitions = self._split(scores)
        return np.append(self.tokens.rmatvec(tokens), transitions)

    def matvec_bounded(self, coef: Array, intercept: float) -> tuple[Array, Array]:
        """The scores, and a bound on their rounding errors.

        The intercept is added to the scores of the tokens only; no loss of chains depends on it.
        """
        weights, transitions = self._split(coef)
        z, error = self.tokens.matvec_bounded(weights, intercept)
        return np.append(z, transitions), np.append(error, np.zeros(self.n_transitions))

    def matvec_compensated(self, coef: Array, intercept: float) -> tuple[Array, Array, Array]:
        """The scores as sums (high, low), and a bound on their errors."""
        weights, transitions = self._split(coef)
        high, low, error = self.tokens.matvec_compensated(weights, intercept)
        none = np.zeros(self.n_transitions)
        return np.append(high, transitions), np.append(low, none), np.append(error, none)

    def rmatvec_bounded(self, weights: Array, scores: Array) -> tuple[Array, Array]:
        """The transpose of `matvec` on weights * scores, and a bound on its rounding error."""
        return self._rmatvec(self.tokens.rmatvec_bounded, weights, scores)

    def rmatvec_compensated(self, weights: Array, scores: Array) -> tuple[Array, Array]:
        """The product of `rmatvec_bounded` in twice the working precision."""
        return self._rmatvec(self.tokens.rmatvec_compensated, weights, scores)

    def _rmatvec(self, product: Callable, weights: Array, scores: Array) -> tuple[Array, Array]:
        (tokens, transitions), (c, c_of_transitions) = self._split(scores), self._split(weights)
        of_tokens, error = product(c, tokens)
        last = c_of_transitions * transitions
        rounding = np.finfo(float).eps * np.abs(last) + np.finfo(float).tiny
        return np.append(of_tokens, last), np.append(error, rounding)

    def column_norms(self, weights: Array) -> Array:
        """The norms sqrt(sum_i c_i a_ij^2) of the columns, one for each coefficient."""
        tokens, transitions = self._split(weights)
        return np.append(self.tokens.column_norms(tokens), np.sqrt(transitions))

    def row_norms(self) -> Array:
        """The norms of the rows, one for each score."""
        of_tokens = np.repeat(self.tokens.base.row_norms(), self.n_labels)
        return np.append(of_tokens, np.ones(self.n_transitions))

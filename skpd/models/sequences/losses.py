"""Losses of sequences: max-margin Markov networks and conditional random fields on chains.

With the scores of tokens and transitions in one vector z (`skpd.models.sequences.design`), the
loss is a mean over the n chains of ::

    max over y' of     h(y', y) + score(y') - score(y)      (Taskar, Guestrin and Koller, 2004)
    log sum over y' of        exp(score(y') - score(y))     (Lafferty, McCallum and Pereira, 2001)

with the Hamming loss h, the number of tokens whose label differs, which may be in the exponent too
(the softmax margin of Gimpel and Smith, 2010). These are equations (46) and, with h in the
exponent, (45) of Zhang, Saha and Vishwanathan, Regularized risk minimization by Nesterov's
accelerated gradient methods.
"""

from dataclasses import dataclass, field, replace
from math import log
from typing import ClassVar, cast

import numpy as np
from scipy.special import xlogy

from ..._floats import EPSILON
from ..._typing import Array, Indices, Sum
from ...losses.structured import StructuredDual, StructuredLoss
from .recursions import NEGLIGIBLE, Beliefs, Chains, best_labels, log_partition, sum_product

PAIRWISE = 64.0 * EPSILON  # above the relative error of NumPy's sums of numbers of one sign


class _LossOfChains(StructuredLoss):
    """The base class of the two losses of chains.

    Parameters
    ----------
    labels : ndarray of int of shape (n_tokens,)
        The true labels, chain by chain, from 0 on.
    lengths : ndarray of int of shape (n_chains,)
    n_labels : int
    has_cost : bool, default=True
        Whether a labeling has its Hamming loss as a cost.
    """

    def __init__(
        self, labels: Indices, lengths: Indices, n_labels: int, has_cost: bool = True
    ) -> None:
        self.chains = chains = Chains(lengths, n_labels)
        self.labels, K = np.asarray(labels, dtype=np.int64), n_labels
        # means over all edges in place of sums, so that no theta is larger than 1
        self.n_edges = max(chains.n_edges, 1)
        of_tokens = np.full(chains.n_tokens * K, 1.0 / chains.n_chains)
        of_transitions = np.full(K * K, self.n_edges / chains.n_chains)
        self.weights = np.append(of_tokens, of_transitions)
        self.largest_theta = np.ones(len(self.weights))
        self.entropy_range = chains.n_tokens / chains.n_chains * log(K)
        self.true_nodes = np.zeros((chains.n_tokens, K))
        self.true_nodes[np.arange(chains.n_tokens), self.labels] = 1.0
        self.costs = has_cost * (1.0 - self.true_nodes)  # of the labels of tokens
        self.true_counts = self._counts_of(self.labels)

    def _counts_of(self, labels: Indices) -> Array:
        """The number of occurrences of each transition, of shape (n_labels, n_labels)."""
        K, first = self.chains.n_labels, self.chains.edges
        counts = np.bincount(labels[first] * K + labels[first + 1], minlength=K * K)
        return counts.reshape(K, K).astype(np.float64)

    def _relative(self, z: Array) -> tuple[Array, Array]:
        """The scores of tokens less those of true labels, with costs, and those of transitions."""
        nodes, transitions = self.chains.split(z)
        true_scores = np.take_along_axis(nodes, self.labels[:, None], axis=1)
        return nodes - true_scores + self.costs, transitions

    def _mean(self, total: float, transitions: Array) -> float:
        """The mean loss, from the sum over chains of (soft) maxima of the scores."""
        return (total - float(np.sum(self.true_counts * transitions))) / self.chains.n_chains

    def _mean_cost(self, beliefs: Beliefs) -> Sum:
        """The mean cost of a chain, and a bound on its rounding error."""
        mean_cost = float(np.sum(beliefs.nodes * self.costs)) / self.chains.n_chains
        largest = self.chains.n_tokens / self.chains.n_chains * float(np.max(self.costs))
        error = (beliefs.relative_error + PAIRWISE) * mean_cost + NEGLIGIBLE * largest
        return mean_cost, error

    def largest_square(self, norms: Array) -> float:
        """The mean over the chains, as the entropies are means."""
        chains = self.chains
        of_tokens = norms[: -(chains.n_labels**2) : chains.n_labels]
        sums = np.add.reduceat(of_tokens, chains.starts[:-1]) + norms[-1] * (chains.lengths - 1)
        return 2.0 * float(np.mean(sums**2))  # a true label and another one for each token

    def _rounding(self, nodes: Array, transitions: Array) -> float:
        """A bound on the rounding error of the mean loss.

        The loss of a chain is a sum of a few numbers for each token, whose sizes are those of
        the scores, differences of scores and logarithms of sums of n_labels potentials.
        """
        chains = self.chains
        additions = 6.0 * chains.longest + chains.n_labels**2 + 64.0
        sizes = 3.0 * float(np.sum(np.max(np.abs(nodes), axis=1)))
        sizes += 5.0 * chains.n_edges * float(np.max(np.abs(transitions)))
        sizes += chains.n_tokens * (log(chains.n_labels) + chains.n_labels + 10.0)
        return additions * EPSILON * sizes / chains.n_chains

    def _theta(self, nodes: Array, counts: Array) -> Array:
        transitions = (counts - self.true_counts) / self.n_edges
        return np.append(nodes - self.true_nodes, transitions)

    def _theta_error(self, beliefs: Beliefs) -> float:
        """A bound on the errors of theta: of probabilities and their sums over the tokens."""
        sums = self.chains.n_chains + self.chains.longest + 16.0
        return beliefs.relative_error + sums * EPSILON + NEGLIGIBLE


class ChainLoss(_LossOfChains):
    """The mean over chains of the largest Hamming loss plus score over that of the true labels.

    The Hamming loss is a number of tokens: it is not divided by the length of the chain.

    Parameters
    ----------
    labels : ndarray of int of shape (n_tokens,)
    lengths : ndarray of int of shape (n_chains,)
    n_labels : int
    """

    def value(self, z: Array) -> Sum:
        nodes, transitions = self._relative(z)
        total, _ = best_labels(self.chains, nodes, transitions)
        return self._mean(total, transitions), self._rounding(nodes, transitions)

    def loss_augmented(self, z: Array, smoothing: float) -> tuple[float, StructuredDual]:
        nodes, transitions = self._relative(z)
        if smoothing > 0.0:
            beliefs = sum_product(self.chains, nodes / smoothing, transitions / smoothing)
            mean_loss, error = self._mean_cost(beliefs)
            theta = self._theta(beliefs.nodes, beliefs.counts)
            dual = StructuredDual(theta, mean_loss, self._theta_error(beliefs), error)
            value = self._mean(smoothing * beliefs.log_partition, transitions)
            return value - smoothing * self.entropy_range, dual
        total, labels = best_labels(self.chains, nodes, transitions)
        probabilities = np.zeros_like(nodes)
        probabilities[np.arange(len(probabilities)), labels] = 1.0
        theta = self._theta(probabilities, self._counts_of(labels))
        # a sum of whole numbers, whose quotient alone is rounded
        mean_loss = float(np.sum(probabilities * self.costs)) / self.chains.n_chains
        dual = StructuredDual(theta, mean_loss, EPSILON, EPSILON * mean_loss)
        return self._mean(total, transitions), dual


@dataclass(frozen=True, eq=False)
class ChainDual(StructuredDual):
    """A distribution over labelings of chains, with the marginals that determine its entropy.

    Among all distributions with the given marginals of pairs of neighbours it is the one with the
    largest entropy, which is a concave function of the marginals ::

        sum over edges of H(edge) - sum over tokens of (number of neighbours - 1) H(token)

    Attributes
    ----------
    loss : ChainLogLoss
    nodes : ndarray of shape (n_tokens, n_labels)
    edges : ndarray of shape (n_edges, n_labels, n_labels)
    relative_error : float
        The largest relative error of these probabilities, up to absolute errors of `NEGLIGIBLE`.
    """

    loss: "ChainLogLoss" = field(default=cast("ChainLogLoss", None))
    nodes: Array = field(default=cast(Array, None))
    edges: Array = field(default=cast(Array, None))
    relative_error: float = 0.0

    is_linear: ClassVar[bool] = False

    @property
    def averages(self) -> Array:
        return np.concatenate([super().averages, np.ravel(self.nodes), np.ravel(self.edges)])

    @property
    def errors(self) -> Array:
        return np.append(super().errors, self.relative_error)

    def _with_true_labeling(self, scale: float) -> tuple[Array, Array]:
        """The marginals of the convex combination with the true labeling."""
        nodes = scale * self.nodes + (1.0 - scale) * self.loss.true_nodes
        edges = scale * self.edges
        edges[self.loss.true_edges] += 1.0 - scale
        return nodes, edges

    def value(self, scale: float) -> Sum:
        """The mean entropy of the chains plus their mean cost, and a bound on its rounding error.

        This distribution has the probability ``scale``, the true labeling the remaining one.
        """
        chains, (nodes, edges) = self.loss.chains, self._with_true_labeling(scale)
        of_tokens = np.sum(xlogy(nodes, nodes), axis=1)
        of_edges = float(np.sum(xlogy(edges, edges)))
        entropy = -of_edges + float(np.sum((chains.n_neighbours - 1.0) * of_tokens))
        # d(p log p) is at most (1 + abs(log p)) p times the relative error of p
        sizes = -of_edges - float(np.sum(of_tokens)) + chains.n_edges + chains.n_tokens
        relative = self.relative_error + PAIRWISE + chains.n_labels * EPSILON
        count = edges.size + nodes.size
        error = 1.1 * relative * sizes + 1e3 * count * NEGLIGIBLE
        cost, rounding = super().value(scale)
        return entropy / chains.n_chains + cost, error / chains.n_chains + rounding

    def __rmul__(self, scale: float) -> "ChainDual":
        nodes, edges = self._with_true_labeling(scale)
        relative = self.relative_error + 4.0 * EPSILON
        shrunk = super().__rmul__(scale)
        return replace(shrunk, nodes=nodes, edges=edges, relative_error=relative)


class ChainLogLoss(_LossOfChains):
    """The mean over chains of minus the log-likelihood of a conditional random field.

    Parameters
    ----------
    labels : ndarray of int of shape (n_tokens,)
    lengths : ndarray of int of shape (n_chains,)
    n_labels : int
    has_cost : bool, default=False
        Whether the Hamming loss of a labeling is in its exponent.
    """

    is_smooth = True

    def __init__(
        self, labels: Indices, lengths: Indices, n_labels: int, has_cost: bool = False
    ) -> None:
        super().__init__(labels, lengths, n_labels, has_cost)
        first = self.chains.edges
        self.true_edges = np.arange(len(first)), self.labels[first], self.labels[first + 1]

    def dual_of_marginals(
        self, plain: StructuredDual, nodes: Array, edges: Array, relative_error: float = 0.0
    ) -> ChainDual:
        """The dual point with these means and marginals."""
        means = plain.theta, plain.mean_loss, plain.theta_error, plain.mean_loss_error
        return ChainDual(*means, self, nodes, edges, relative_error)

    def dual_of(self, averages: Array, errors: Array, rounding: float) -> ChainDual:
        plain, K = super().dual_of(averages, errors, rounding), self.chains.n_labels
        nodes, edges = np.split(averages[self.n_scores + 1 :], [self.true_nodes.size])
        marginals = nodes.reshape(-1, K), edges.reshape(-1, K, K)
        return self.dual_of_marginals(plain, *marginals, float(errors[3]) + rounding)

    def value(self, z: Array) -> Sum:
        nodes, transitions = self._relative(z)
        total = log_partition(self.chains, nodes, transitions)
        return self._mean(total, transitions), self._rounding(nodes, transitions)

    def value_and_theta(self, z: Array) -> tuple[float, Array]:
        nodes, transitions = self._relative(z)
        beliefs = sum_product(self.chains, nodes, transitions)
        theta = self._theta(beliefs.nodes, beliefs.counts)
        return self._mean(beliefs.log_partition, transitions), theta

    def loss_augmented(self, z: Array, smoothing: float) -> tuple[float, ChainDual]:
        """The loss at z and the probabilities there.

        Raises
        ------
        ValueError
            If ``smoothing`` is not 0: this is a soft maximum already.
        """
        if smoothing > 0.0:
            raise ValueError(f"smoothing must be 0 for a soft maximum, got {smoothing!r}.")
        nodes, transitions = self._relative(z)
        beliefs = sum_product(self.chains, nodes, transitions)
        theta = self._theta(beliefs.nodes, beliefs.counts)
        mean_cost, error = self._mean_cost(beliefs)
        plain = StructuredDual(theta, mean_cost, self._theta_error(beliefs), error)
        dual = self.dual_of_marginals(
            plain, beliefs.nodes, beliefs.edges(), beliefs.relative_error
        )
        return self._mean(beliefs.log_partition, transitions), dual

    @property
    def true_labeling(self) -> ChainDual:
        """The true labeling."""
        edges = np.zeros((self.chains.n_edges, self.chains.n_labels, self.chains.n_labels))
        edges[self.true_edges] = 1.0
        return self.dual_of_marginals(super().true_labeling, self.true_nodes, edges)

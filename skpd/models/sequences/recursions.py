"""Sums and maxima over all labelings of chains, by recursions along them.

The score of a labeling y of a chain is sum_t z[t, y_t] + sum_t T[y_t, y_t+1] (Rabiner, 1989, A
tutorial on hidden Markov models; Lafferty, McCallum and Pereira, 2001, Conditional random fields).
The recursions are compiled, `skpd/kernels/maths/chains.hpp`, but for those of logarithms of
messages, which scores that are far apart need.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp, softmax

from ... import kernels
from ..._typing import Array, Indices

# The largest spread of scores for which products of potentials do not underflow by more than
# NEGLIGIBLE in any probability. Recursions of logarithms take scores that are farther apart.
RANGE = 150.0
NEGLIGIBLE = 1e-100


class Chains:
    """Chains of tokens, one after the other.

    Parameters
    ----------
    lengths : ndarray of int of shape (n_chains,)
        The number of tokens of each chain, at least 1.
    n_labels : int

    Attributes
    ----------
    starts : ndarray of shape (n_chains + 1,)
        The index of the first token of each chain, followed by the number of tokens.
    """

    def __init__(self, lengths: Indices, n_labels: int) -> None:
        self.lengths, self.n_labels = np.asarray(lengths, dtype=np.int64), n_labels
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)])
        self.n_chains, self.n_tokens = len(self.lengths), int(self.starts[-1])
        self.n_edges, self.longest = self.n_tokens - self.n_chains, int(np.max(self.lengths))

    @cached_property
    def edges(self) -> Indices:
        """The first token of each pair of neighbours."""
        is_last = np.zeros(self.n_tokens, dtype=bool)
        is_last[self.starts[1:] - 1] = True
        return np.flatnonzero(~is_last)

    @cached_property
    def n_neighbours(self) -> Indices:
        """The number of neighbours of each token in its chain, of shape (n_tokens,)."""
        ends = np.concatenate([self.edges, self.edges + 1])
        return np.bincount(ends, minlength=self.n_tokens)

    def split(self, z: Array) -> tuple[Array, Array]:
        """The scores of the tokens, of shape (n_tokens, n_labels), and of the transitions."""
        K = self.n_labels
        return z[: -K * K].reshape(-1, K), z[-K * K :].reshape(K, K)


@dataclass(frozen=True)
class Beliefs:
    """Marginal probabilities of the labelings of chains, with weights exp(score) / sum.

    A forward and a backward pass (`sum_product`) compute them.

    Attributes
    ----------
    log_partition : float
        The sum over chains of log sum over labelings of exp(score).
    nodes : ndarray of shape (n_tokens, n_labels)
        The probabilities of the labels of the tokens.
    counts : ndarray of shape (n_labels, n_labels)
        The expected numbers of the transitions in all chains.
    """

    chains: Chains
    log_partition: float
    nodes: Array
    counts: Array
    forward: Array
    backward: Array
    potentials: Array

    @property
    def relative_error(self) -> float:
        """A bound on the relative rounding error of all probabilities, for the rounded potentials.

        The recursions are sums and products of positive numbers: for each token and direction
        there is a sum of n_labels terms and a few further operations.
        """
        steps = self.chains.longest * (self.chains.n_labels + 8.0)
        return 4.0 * steps * float(np.finfo(float).eps)

    def edges(self) -> Array:
        """The probabilities of pairs of labels, of shape (n_edges, n_labels, n_labels)."""
        first = self.chains.edges
        edges = self.forward[first][:, :, np.newaxis] * self.potentials
        edges *= self.backward[first + 1][:, np.newaxis, :]
        edges /= np.sum(edges, axis=(1, 2), keepdims=True)
        return edges


@dataclass(frozen=True)
class LogBeliefs(Beliefs):
    """Marginal probabilities for scores of any spread: messages and potentials are logarithms."""

    @property
    def relative_error(self) -> float:
        """A bound on the relative rounding error of all probabilities.

        Each message adds to its logarithm the rounding errors of a few numbers of this size.
        """
        size = sum(float(np.max(np.abs(part), initial=0.0))
                   for part in (self.forward, self.backward, self.potentials))  # fmt: skip
        steps = self.chains.longest * (self.chains.n_labels + 16.0)
        return 4.0 * steps * float(np.finfo(float).eps) * (1.0 + size)

    def edges(self) -> Array:
        return self.edges_from(self.chains.edges)

    def edges_from(self, first: Indices) -> Array:
        """The probabilities of pairs of labels of the given tokens and their successors."""
        edges = self.forward[first][:, :, np.newaxis] + self.potentials
        edges += self.backward[first + 1][:, np.newaxis, :]
        edges -= np.max(edges, axis=(1, 2), keepdims=True, initial=-np.inf)
        np.exp(edges, out=edges)
        edges /= np.sum(edges, axis=(1, 2), keepdims=True)
        return edges


def _forward(chains: Chains, nodes: Array, transitions: Array) -> tuple[float, Array, Array]:
    """The partition function, the pass forward and the potentials of the transitions."""
    partitions, forward = np.empty(chains.n_chains), np.empty(nodes.shape)
    potentials = np.empty(transitions.shape)
    kernels.chain_forward(
        chains.starts, nodes, transitions, RANGE, partitions, forward, potentials
    )
    return float(np.sum(partitions)), forward, potentials


def _spread(nodes: Array, transitions: Array) -> float:
    """The largest difference between scores of a token, or between scores of transitions."""
    return max(float(np.max(np.ptp(nodes, axis=1))), float(np.ptp(transitions)))


def log_partition(chains: Chains, nodes: Array, transitions: Array) -> float:
    """The sum over chains of log sum over labelings of exp(score), at any scale of the scores."""
    if _spread(nodes, transitions) <= RANGE:
        return _forward(chains, nodes, transitions)[0]
    partitions = np.empty(chains.n_chains)
    kernels.chain_log_sums(chains.starts, nodes, transitions, partitions)
    return float(np.sum(partitions))


def sum_product(chains: Chains, nodes: Array, transitions: Array) -> Beliefs:
    """Probabilities of labels and transitions, by scaled recursions (Rabiner, 1989).

    Parameters
    ----------
    chains : Chains
    nodes : ndarray of shape (n_tokens, n_labels)
        Scores of the tokens.
    transitions : ndarray of shape (n_labels, n_labels)
    """
    if _spread(nodes, transitions) > RANGE:
        return _log_sum_product(chains, nodes, transitions)
    partition, forward, potentials = _forward(chains, nodes, transitions)
    backward, probabilities = np.empty(nodes.shape), np.empty(nodes.shape)
    counts = np.empty(transitions.shape)
    kernels.chain_backward(
        chains.starts, nodes, RANGE, forward, potentials, backward, probabilities, counts
    )
    return Beliefs(chains, partition, probabilities, counts, forward, backward, potentials)


def _log_sum_product(chains: Chains, nodes: Array, transitions: Array) -> Beliefs:
    """The probabilities by logarithms, for all chains at once, token by token.

    Messages are kept with their largest entry at 0, so that their rounding errors are those of
    the spread of the scores, not of their sum along a chain.
    """
    partition = log_partition(chains, nodes, transitions)
    nodes = nodes - np.max(nodes, axis=1, keepdims=True)
    forward, backward = nodes.copy(), nodes.copy()
    for t in range(1, chains.longest):
        long = chains.lengths > t
        here, last = chains.starts[:-1][long] + t, chains.starts[1:][long] - 1 - t
        before = forward[here - 1][:, :, np.newaxis] + transitions
        forward[here] += logsumexp(before, axis=1)
        forward[here] -= np.max(forward[here], axis=1, keepdims=True)
        after = transitions + backward[last + 1][:, np.newaxis, :]
        backward[last] += logsumexp(after, axis=2)
        backward[last] -= np.max(backward[last], axis=1, keepdims=True)
    # forward and backward sums both include the score of the token
    probabilities = softmax(forward + backward - nodes, axis=1)
    counts = np.zeros(transitions.shape)
    beliefs = LogBeliefs(chains, partition, probabilities, counts, forward, backward, transitions)
    for t in range(1, chains.longest):  # not all pairs of tokens at once, which may not fit
        counts += np.sum(
            beliefs.edges_from(chains.starts[:-1][chains.lengths > t] + t - 1), axis=0
        )
    return beliefs


def best_labels(chains: Chains, nodes: Array, transitions: Array) -> tuple[float, Indices]:
    """The sum over chains of the largest score, and a labeling that attains it (Viterbi)."""
    values, labels = np.empty(chains.n_chains), np.empty(chains.n_tokens, dtype=np.int64)
    kernels.chain_best_labels(chains.starts, nodes, transitions, values, labels)
    return float(np.sum(values)), labels

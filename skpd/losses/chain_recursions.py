"""Sums and maxima over all labelings of chains, by recursions along them.

The score of a labeling y of a chain is sum_t z[t, y_t] + sum_t T[y_t, y_t+1]. The recursions go
through all chains at once, position by position; chains are sorted by length, so that those that
have a position are the first ones (Rabiner, 1989, A tutorial on hidden Markov models; Lafferty,
McCallum and Pereira, 2001, Conditional random fields).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from .._typing import Array, Indices

__all__ = ["Beliefs", "Chains", "best_labels", "log_partition", "sum_product"]

# Potentials are at least exp(-RANGE) of the largest one: what the products of the recursions lose
# to underflow is then below NEGLIGIBLE of a probability.
RANGE = 150.0
NEGLIGIBLE = 1e-100


class Chains:
    """Chains of tokens, sorted for the recursions: position by position, longest chains first.

    Parameters
    ----------
    lengths : ndarray of int of shape (n_chains,)
        At least 1 each.
    n_labels : int

    Attributes
    ----------
    tokens : ndarray of shape (n_tokens,)
        The places of the sorted tokens among those that are given chain by chain.
    starts : ndarray of shape (longest + 1,)
        Where the tokens of each position start.
    """

    def __init__(self, lengths: Indices, n_labels: int) -> None:
        self.lengths, self.n_labels = np.asarray(lengths), n_labels
        self.n_chains, self.n_tokens = len(self.lengths), int(np.sum(self.lengths))
        self.n_edges, self.longest = self.n_tokens - self.n_chains, int(np.max(self.lengths))
        order = np.argsort(-self.lengths, kind="stable")
        first = (np.cumsum(self.lengths) - self.lengths)[order]
        decreasing = self.lengths[order]
        counts = [int(np.sum(decreasing > t)) for t in range(self.longest)]
        self.tokens = np.concatenate([first[:count] + t for t, count in enumerate(counts)])
        self.starts = np.concatenate([[0], np.cumsum(counts)])

    @cached_property
    def places(self) -> Indices:
        """The inverse of ``tokens``: sorted[places] is chain by chain."""
        places = np.empty(self.n_tokens, dtype=np.int64)
        places[self.tokens] = np.arange(self.n_tokens)
        return places

    @cached_property
    def n_neighbours(self) -> Indices:
        """Of each sorted token, the number of its neighbours in the chain."""
        count = np.zeros(self.n_tokens, dtype=np.int64)
        for before, here in self.steps:
            count[before] += 1
            count[here] += 1
        return count

    @cached_property
    def positions(self) -> list[slice]:
        """The sorted tokens of each position."""
        return [slice(*ends) for ends in zip(self.starts[:-1], self.starts[1:], strict=True)]

    @cached_property
    def steps(self) -> list[tuple[slice, slice]]:
        """The tokens of each position but the first, and those before them."""
        return [
            (slice(before.start, before.start + here.stop - here.start), here)
            for before, here in zip(self.positions, self.positions[1:], strict=False)
        ]

    def split(self, z: Array) -> tuple[Array, Array]:
        """The scores of the sorted tokens, of shape (n_tokens, n_labels), and the transitions."""
        K = self.n_labels
        return z[: -K * K].reshape(-1, K)[self.tokens], z[-K * K :].reshape(K, K)

    def joined(self, nodes: Array, transitions: Array) -> Array:
        """The inverse of `split`."""
        return np.append(nodes[self.places], transitions)


def log_partition(chains: Chains, nodes: Array, transitions: Array) -> float:
    """The sum over chains of log sum over labelings of exp(score), at any scale of the scores."""
    spread = max(float(np.max(np.ptp(nodes, axis=1))), float(np.ptp(transitions)))
    if spread <= RANGE:
        return sum_product(chains, nodes, transitions, backward=False).log_partition
    forward = nodes.copy()
    for before, here in chains.steps:
        sums = forward[before][:, :, np.newaxis] + transitions
        forward[here] += logsumexp(sums, axis=1)
    last = np.ones(chains.n_tokens, dtype=bool)
    for before, _ in chains.steps:
        last[before] = False
    return float(np.sum(logsumexp(forward[last], axis=1)))


@dataclass(frozen=True)
class Beliefs:
    """What a pass forward and one backward know of the distribution exp(score) / sum.

    Attributes
    ----------
    log_partition : float
        The sum over chains.
    nodes : ndarray of shape (n_tokens, n_labels)
        The probabilities of the labels of the sorted tokens.
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
        """A bound on the relative rounding error of all probabilities.

        They are those of the potentials, which are rounded themselves: sums and products of
        positive numbers, one of n_labels of them and a few more for each position and direction.
        """
        steps = self.chains.longest * (self.chains.n_labels + 8.0)
        return 4.0 * steps * float(np.finfo(float).eps)

    def edges(self) -> Array:
        """The probabilities of pairs of labels, of shape (n_edges, n_labels, n_labels)."""
        chains, K, at = self.chains, self.chains.n_labels, 0
        edges = np.empty((chains.n_edges, K, K))
        for before, here in chains.steps:
            count = here.stop - here.start
            own = edges[at : at + count]
            np.multiply(self.forward[before][:, :, np.newaxis], self.potentials, out=own)
            own *= self.backward[here][:, np.newaxis, :]
            own /= np.sum(own, axis=(1, 2), keepdims=True)
            at += count
        return edges


def sum_product(
    chains: Chains, nodes: Array, transitions: Array, backward: bool = True
) -> Beliefs:
    """Probabilities of labels and transitions, by scaled recursions (Rabiner, 1989).

    Scores that are more than 150 below the best of their token, or transition, are raised: the
    probabilities are still those of a distribution, and hardly others.

    Parameters
    ----------
    chains : Chains
    nodes : ndarray of shape (n_tokens, n_labels)
        Scores of the sorted tokens.
    transitions : ndarray of shape (n_labels, n_labels)
    backward : bool, default=True
        Whether probabilities are wanted, beside the partition function.
    """
    top, highest = np.max(nodes, axis=1), float(np.max(transitions))
    here_alone = np.exp(np.maximum(nodes - top[:, np.newaxis], -RANGE))
    potentials = np.exp(np.maximum(transitions - highest, -RANGE))
    forward, scales = here_alone.copy(), np.empty(chains.n_tokens)
    first = chains.positions[0]
    scales[first] = np.sum(forward[first], axis=1)
    forward[first] /= scales[first][:, np.newaxis]
    for before, here in chains.steps:
        own = forward[here]
        own *= forward[before] @ potentials
        scales[here] = np.sum(own, axis=1)
        own /= scales[here][:, np.newaxis]
    partition = float(np.sum(np.log(scales)) + np.sum(top) + chains.n_edges * highest)
    counts = np.zeros_like(potentials)
    if not backward:
        return Beliefs(chains, partition, forward, counts, forward, here_alone, potentials)
    # a token's own potential times all that follows it, and what follows alone
    from_here, after = here_alone, np.ones_like(nodes)
    for before, here in reversed(chains.steps):
        own = from_here[here]
        own *= after[here]
        own /= np.sum(own, axis=1, keepdims=True)
        after[before] = own @ potentials.T
        norms = np.sum(forward[before] * after[before], axis=1, keepdims=True)
        counts += (forward[before] / norms).T @ own
    counts *= potentials
    nodes = forward * after
    nodes /= np.sum(nodes, axis=1, keepdims=True)
    return Beliefs(chains, partition, nodes, counts, forward, from_here, potentials)


def best_labels(chains: Chains, nodes: Array, transitions: Array) -> tuple[float, Indices]:
    """The sum over chains of the largest score, and the sorted tokens' labels (Viterbi)."""
    best = nodes.copy()
    for before, here in chains.steps:
        arriving = best[before][:, :1] + transitions[0]
        for k in range(1, chains.n_labels):
            np.maximum(arriving, best[before][:, k : k + 1] + transitions[k], out=arriving)
        best[here] += arriving
    labels, last = np.argmax(best, axis=1), np.ones(chains.n_tokens, dtype=bool)
    for before, _ in chains.steps:
        last[before] = False
    value = float(np.sum(np.max(best[last], axis=1)))
    incoming = np.ascontiguousarray(transitions.T)
    for before, here in reversed(chains.steps):
        labels[before] = np.argmax(best[before] + incoming[labels[here]], axis=1)
    return value, labels

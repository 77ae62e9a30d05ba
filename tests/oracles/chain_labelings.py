"""Random chains of tokens, and all their labelings."""

import itertools

import numpy as np

K = 3
LENGTHS = np.array([2, 5, 1, 4])


def labelings(length):
    return [np.array(q) for q in itertools.product(range(K), repeat=length)]


def features(labeling):
    """The indicators of a labeling: of tokens, and the numbers of transitions."""
    counts = np.zeros((K, K))
    np.add.at(counts, (labeling[:-1], labeling[1:]), 1.0)
    return np.eye(K)[labeling], counts


def scores_of(nodes, T):
    """The scores of all labelings of a chain, and these."""
    found = labelings(len(nodes))
    return np.array([
        np.sum(f * nodes) + np.sum(c * T) for f, c in map(features, found)
    ]), found  # fmt: skip


def generated(seed=0, scale=1.0, d=4, lengths=LENGTHS):
    rng = np.random.default_rng(seed)
    X = [rng.standard_normal((n, d)) for n in lengths]
    y = [rng.integers(0, K, size=n) for n in lengths]
    n_tokens = int(np.sum(lengths))
    z = scale * rng.standard_normal(n_tokens * K + K * K)
    return X, y, z


def chain_by_chain(z, lengths=LENGTHS):
    nodes, T = z[: -K * K].reshape(-1, K), z[-K * K :].reshape(K, K)
    return np.split(nodes, np.cumsum(lengths)[:-1]), T

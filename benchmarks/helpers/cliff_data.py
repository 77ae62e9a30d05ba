"""Data of several kinds, most with more features than rows, with targets for every model."""

import numpy as np
import scipy.sparse as sp

N_INFORMATIVE = 12


def text(rng, n=500, n_words=4000, n_topics=6):
    """Logarithms of counts of words in documents of a few topics, with rows of norm 1."""
    frequencies = np.arange(1, n_words + 1) ** -1.05
    topics = rng.choice(n_topics, n)
    counts = np.empty((n, n_words))
    for topic in range(n_topics):
        of_topic = frequencies.copy()
        of_topic[rng.choice(n_words // 4, 50, replace=False)] *= rng.uniform(1.5, 6.0, 50)
        rows = np.flatnonzero(topics == topic)
        counts[rows] = rng.multinomial(80, of_topic / of_topic.sum(), size=len(rows))
    counts = np.log1p(counts[:, counts.any(axis=0)])
    return sp.csr_matrix(counts / np.linalg.norm(counts, axis=1, keepdims=True))


def correlated(rng, n=400, d=1500, correlation=0.95):
    """An autoregression along the features."""
    X = rng.normal(size=(n, d))
    for j in range(1, d):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1.0 - correlation**2) * X[:, j]
    return X


def independent(rng, n=300, d=600):
    return rng.normal(size=(n, d))


def one_hot(rng, n=2000, n_columns=8, n_levels=60):
    """Indicators of the levels of categorical columns, whose frequencies fall as 1 / rank."""
    shares = 1.0 / np.arange(1, n_levels + 1)
    levels = rng.choice(n_levels, (n, n_columns), p=shares / shares.sum())
    places = levels + n_levels * np.arange(n_columns)
    indices = np.arange(0, n * n_columns + 1, n_columns)
    data = np.ones(n * n_columns), np.ravel(places), indices
    return sp.csr_matrix(data, shape=(n, n_columns * n_levels))


def heavy_tails(rng, n=600, d=60):
    """Student's t with two degrees of freedom, on scales from 1 to 1,000."""
    return rng.standard_t(2.0, size=(n, d)) * np.logspace(0.0, 3.0, d)


def genes(rng, n=120, d=3000, n_factors=30):
    """Few rows of many features, which 30 factors explain."""
    factors = rng.normal(size=(n, n_factors)) @ rng.normal(size=(n_factors, d))
    return factors + 0.5 * rng.normal(size=(n, d))


KINDS = {
    "text": text,
    "correlated": correlated,
    "independent": independent,
    "one-hot": one_hot,
    "heavy-tails": heavy_tails,
    "genes": genes,
}
NOISE = {"independent": 0.01}  # standard deviation; .7 for other kinds


def targets(kind, seed):
    """(X, targets): the targets of models by name, which depend on a few features."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    X = KINDS[kind](rng)
    used = rng.choice(X.shape[1], N_INFORMATIVE, replace=False)
    table = X[:, used].toarray() if sp.issparse(X) else X[:, used]
    deviation = table.std(axis=0)
    signal = (table - table.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    signal = signal @ rng.normal(size=N_INFORMATIVE)
    signal = signal / signal.std() + NOISE.get(kind, 0.7) * rng.normal(size=X.shape[0])
    n, bounded = len(signal), np.clip(signal, -4.0, 3.0)
    positive = np.exp(bounded)
    others = signal + 0.5 * rng.normal(size=n), rng.normal(size=n)
    return X, {
        "binary": (signal > np.median(signal)).astype(int),
        "classes": np.digitize(signal, np.quantile(signal, [0.2, 0.5, 0.8])),
        "numbers": signal,
        "positive": positive,
        "costs": np.where(rng.random(n) < 0.3, 0.0, positive),
        "counts": rng.poisson(positive),
        "times": np.column_stack([rng.exponential(size=n) / positive, rng.random(n) < 0.7]),
        "outputs": np.column_stack([signal, *others]),
    }

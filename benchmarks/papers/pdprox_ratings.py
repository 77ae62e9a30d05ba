"""The tables of Yang et al. on matrix completion, on generated ratings."""

import time

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from benchmarks.papers import Table, fitted
from benchmarks.papers.pdprox_excess import AFTER, HEADER, PDPROX, cells, excesses
from benchmarks.papers.saddle_points import SaddlePoint, TraceNorm
from benchmarks.papers.subgradients import tuned
from skpd import MatrixCompletionPD

SIZES = (236, 420, 6_250)  # users, films and ratings: those of MovieLens 100K by 4, 4 and 16
LABEL = "like MovieLens"
EXPONENTS = range(3, 19, 3)  # of 2 in the first steps


def ratings(n_users=943, n_films=1682, n_ratings=100_000, rank=5):
    """Pairs and ratings from 1 to 5, as many as in MovieLens 100K, more of popular films."""
    rng = np.random.default_rng(0)
    share = np.outer(np.arange(1, n_users + 1) ** -0.5, np.arange(1, n_films + 1) ** -0.7).ravel()
    places = rng.choice(share.size, size=n_ratings, replace=False, p=share / share.sum())
    i, j = np.divmod(places, n_films)
    U, V = rng.normal(size=(n_users, rank)), rng.normal(size=(n_films, rank))
    z = 3.5 + 0.3 * np.sum(U[i] * V[j], axis=1) + 0.4 * rng.normal(size=n_users)[i]
    z += 0.5 * rng.normal(size=n_films)[j] + 0.7 * rng.normal(size=n_ratings)
    return np.column_stack([i, j]), np.clip(np.round(z), 1.0, 5.0)


def completion(pairs, y, lam, shape=SIZES[:2]):
    """The absolute loss of a matrix with a trace norm, for first-order methods."""
    entries, n = np.ravel_multi_index(pairs.T, shape), len(y)
    sampled = sp.csr_array((np.ones(n), entries, np.arange(n + 1)), shape=(n, np.prod(shape)))
    return SaddlePoint(sampled, -y, TraceNorm(*shape), lam)


def completions():
    """Pairs, ratings and the model for both lambdas of the paper, with the optimum."""
    pairs, y = ratings(*SIZES)
    for lam in (1e-3, 1e-5):
        model = MatrixCompletionPD(lam, loss="absolute", biases=False)
        best = clone(model).set_params(tol=1e-5, max_iter=1000)
        yield pairs, y, lam, model, fitted(best, pairs, y).certificate_.dual


def figure_4():
    """The trace norm and the absolute loss on 6,250 generated ratings of 236 by 420.

    The ratings are those of MovieLens in number for each entry, of a quarter of its users and
    films. The paper, with lambda = 1e-3, needs 1e3 seconds to an accuracy of 1e-3 with Pdprox and
    3.2e4 with accelerated gradients. The baselines have the best of 6 first steps after 150
    iterations; Pdprox has its own steps.
    """
    rows = []
    for pairs, y, lam, model, best in completions():
        unit, found = float(np.mean(np.abs(y))), {}
        for method in ("Algorithm 1", "Algorithm 3, last iterate", "auto"):
            start = time.perf_counter()
            values = excesses(best, model, pairs, y, *PDPROX[method], AFTER[:2])
            seconds = time.perf_counter() - start
            found[method] = values, seconds * AFTER[1] / sum(AFTER[:2])
        problem = completion(pairs, y, lam)
        for method in ("FOBOS", "RDA", "accelerated gradients"):
            start = time.perf_counter()
            objectives = tuned(problem, method, AFTER[1], AFTER[1], EXPONENTS)
            seconds = (time.perf_counter() - start) / (len(EXPONENTS) + 1)
            found[method] = [(objectives[n - 1] - best) / unit for n in AFTER[:2]], seconds
        for method, (values, seconds) in found.items():
            rows.append([LABEL, f"{lam:g}", method, *cells(values), f"{seconds:.1f}"])
    return Table([*HEADER[:-1], "seconds of 150"], rows)

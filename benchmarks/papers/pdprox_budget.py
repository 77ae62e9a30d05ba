"""The tables of Yang et al. on (19), a budget of multipliers."""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from benchmarks.helpers.data import load
from benchmarks.papers import Table, text
from benchmarks.papers.data import is_at_hand, named
from skpd import PdproxSVC
from skpd.kernels import project_box_hyperplane


def averages(X, y, m):
    """The averages of Algorithm 1 for (19), each with its objective value and gap."""
    n, d = X.shape
    size = np.linalg.norm((X.T @ X).toarray(), 2) ** 0.5 / n
    step, lam, zeros, ones = 1.0 / (np.sqrt(2.0) * size), 1.0 / n, np.zeros(n), np.ones(n)

    def projected(p):
        clipped = np.clip(p, 0.0, 1.0)
        return clipped if clipped.sum() <= m else project_box_hyperplane(
            p, zeros, ones, ones, ones, float(m)
        )  # fmt: skip

    w, beta, sums = np.zeros(d), zeros, [np.zeros(d), zeros]
    for t in range(1, 10_000):
        p = projected(beta + step * (1.0 - y * (X @ w)) / n)
        w = (w + step * (X.T @ (y * p)) / n) / (1.0 + step * lam)
        beta = projected(beta + step * (1.0 - y * (X @ w)) / n)
        sums = [sums[0] + w, sums[1] + p]
        mean, multipliers = sums[0] / t, sums[1] / t
        worst = np.sort(1.0 - y * (X @ mean))[-m:]
        primal = np.maximum(worst, 0.0).sum() / n + 0.5 * lam * mean @ mean
        v = X.T @ (y * multipliers) / n
        yield mean, primal, primal - (multipliers.sum() / n - v @ v / (2.0 * lam))


def figure_6():
    """Algorithm 1 for (19) with a budget of m multipliers: the first iteration below a gap."""
    rows, gaps = [], (1e-1, 1e-2, 1e-3)
    for name in ("a1a", "a9a"):
        label, X, y = named(name)
        for m in (100, 200, 400):
            first = {}
            for t, (_, _, gap) in enumerate(averages(X, y, m), 1):
                first |= {level: t for level in gaps if gap < level and level not in first}
                if len(first) == len(gaps):
                    break
            rows.append([label, str(m), *(text(first.get(level)) for level in gaps)])
    note = (
        "The iterations are the benchmark's own, and not those of an estimator. "
        "The paper, with these m on a9a, rcv1 and covtype, finds convergence faster with smaller "
        "m in its curves, as its bound says. A dash: not within 9,999 iterations."
    )
    return Table(["data", "m", *(f"gap {level:g}" for level in gaps)], rows, note)


def iterate_at_gap(X, y, m, gap):
    """The average of the iterates of Algorithm 1, at the first gap below the one given."""
    for mean, _, found in averages(X, y, m):
        if found < gap:
            return mean
    raise SystemExit("the iterates did not reach the gap")


def table_1(n_draws=3, m=200):
    """(19), a budget of m multipliers, on a9a with a fifth of the labels flipped: accuracy."""
    header = ["method", "accuracy, paper", "here", "seconds, paper", "here"]
    if not is_at_hand():
        return Table(header, [], "The a9a data is not at hand.")
    warnings.simplefilter("ignore", ConvergenceWarning)
    (X, y), (X_test, y_test), rows = load("a9a"), load("a9a.t"), {}
    n = len(y)

    def add(name, accuracy, seconds):
        rows.setdefault(name, []).append((accuracy, seconds))

    for seed in range(n_draws):
        noisy = np.where(np.random.default_rng(seed).random(n) < 0.2, -y, y)
        start = time.perf_counter()
        w = iterate_at_gap(X, noisy, m, 1e-3)
        accuracy = np.mean((X_test @ w > 0.0) == (y_test > 0.0))
        add("Algorithm 1 to a gap of 1e-3", accuracy, time.perf_counter() - start)
        svc = LinearSVC(loss="hinge", random_state=0)
        for name, model in {
            "its optimum": PdproxSVC(1.0 / n, penalty="l2", noise_budget=m),
            "optimum without a budget": PdproxSVC(1.0 / n, penalty="l2"),
            "LinearSVC, C = 1": svc,
            "LinearSVC, C by cross-validation": GridSearchCV(
                svc, {"C": np.logspace(-5, 0, 6)}, cv=3
            ),
        }.items():
            start = time.perf_counter()
            model.fit(X, noisy)
            add(name, model.score(X_test, y_test), time.perf_counter() - start)
    paper = {"Algorithm 1 to a gap of 1e-3": ("0.8344", "0.82"),
             "LinearSVC, C = 1": ("0.7890", "1.15")}  # fmt: skip
    found = []
    for name, values in rows.items():
        accuracy, seconds = np.mean(values, axis=0)
        theirs = paper.get(name, (None, None))
        found.append([name, theirs[0], f"{accuracy:.4f}", theirs[1], f"{seconds:.2f}"])
    note = (
        f"Means of {n_draws} draws, of 5 in the paper. The first row is computed by the benchmark "
        "itself, which stops Algorithm 1 at that gap, and not by an estimator; PdproxSVC with a "
        "noise_budget of m is in the second. The gain is that of stopping early: at the optimum "
        "with the budget all coefficients are 0, with an intercept and without."
    )
    return Table(header, found, note)

"""Matrix completion and trace norms: certified beside Clarabel, SCS and FISTA, in little memory.

    python -m benchmarks completion --problems 100    random small problems, beside Clarabel
    python -m benchmarks completion --large           10,000 x 10,000 with 5,000,000 ratings
    python -m benchmarks completion --outputs         the trace norm of 800 x 600 coefficients

FISTA is written from its definition, with PROPACK's partial decompositions and with those of the
package, and stops at a gap of 1e-6; the time to see that is not counted.
"""

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from benchmarks.helpers.corner import gigabytes
from benchmarks.helpers.worker import in_own_process
from skpd import MatrixCompletionPD, TraceNormPD
from skpd.solvers.low_rank.factors import Factors, SingularThreshold
from tests.oracles.optima import NotSolved, optimal_value

TOL = 1e-8
ALLOWED = 1e-10  # of lower bounds above the optimum, relative to the best constant's objective
CLOSE = 1e-7  # of objectives to the optimum
ACCURACY = 1e-6


def ratings(n_rows, n_columns, n_ratings, rank, seed=0, noise=0.5):
    """Pairs, some rows and columns much more often than others, and ratings from 1 to 5."""
    rng = np.random.default_rng(seed)
    of_rows = rng.exponential(size=n_rows) + 0.05
    of_columns = rng.exponential(size=n_columns) ** 2 + 0.02
    found = np.empty(0, dtype=np.int64)
    while len(found) < n_ratings:
        i = rng.choice(n_rows, size=2 * n_ratings, p=of_rows / of_rows.sum())
        j = rng.choice(n_columns, size=2 * n_ratings, p=of_columns / of_columns.sum())
        found = np.unique(np.append(found, i * n_columns + j))
    found = np.sort(rng.choice(found, n_ratings, replace=False))
    i, j = found // n_columns, found % n_columns
    U = rng.normal(size=(n_rows, rank)) / np.sqrt(rank)
    V = rng.normal(size=(n_columns, rank))
    z = np.sum(U[i] * V[j], axis=1) + noise * rng.normal(size=n_ratings)
    return np.column_stack([i, j]), np.clip(np.round(3.5 + z), 1, 5)


# Beside Clarabel


def drawn(seed):
    """A small problem: parameters of the estimator, pairs, ratings and weights."""
    rng = np.random.default_rng(seed)
    n_rows, n_columns = rng.integers(2, 9, size=2)
    n = int(rng.integers(3, 3 * n_rows * n_columns // 2 + 4))
    pairs = np.column_stack([rng.integers(n_rows, size=n), rng.integers(n_columns, size=n)])
    y = rng.normal(size=n) * 10.0 ** rng.integers(-2, 3)
    loss = str(rng.choice(["squared", "absolute", "huber", "hinge"]))
    if loss == "hinge":
        y = rng.integers(1, rng.integers(3, 6), size=n).astype(float)
        y[:2] = 1.0, 2.0
    weights = None
    if rng.random() < 0.5:
        weights = rng.exponential(size=n) * (rng.random(n) < 0.8)
        weights[:2] = 1.0
    parameters = {"loss": loss, "biases": bool(rng.random() < 0.6)}
    return parameters, 10.0 ** rng.uniform(-3, -0.3), pairs, y, weights


def of_a_constant(loss, y, weights):
    """About the objective of the best constant prediction."""
    if loss == "hinge":
        return 0.0
    if loss == "absolute":
        return np.average(np.abs(y - np.median(y)), weights=weights)
    return 0.5 * np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)


def optimum(parameters, alpha, pairs, y, weights):
    """The least objective, by Clarabel, from the definition."""
    import cvxpy as cp

    _, i = np.unique(pairs[:, 0], return_inverse=True)
    _, j = np.unique(pairs[:, 1], return_inverse=True)
    n_rows, n_columns = i.max() + 1, j.max() + 1
    c = np.ones(len(y)) if weights is None else weights
    c = c / c.sum()
    M = cp.Variable((n_rows, n_columns))
    z = M[i, j]
    loss = parameters["loss"]
    if loss == "hinge":
        levels = np.unique(y)
        value = 0.0
        shared = cp.Variable(len(levels) - 1)
        own, columns = cp.Variable((n_rows, len(levels) - 1)), cp.Variable(n_columns)
        for k, level in enumerate(levels[:-1]):
            sign = np.where(y > level, 1.0, -1.0)
            added = own[:, k][i] + columns[j] if parameters["biases"] else shared[k]
            value += c @ cp.pos(1.0 - cp.multiply(sign, z + added))
    else:
        if parameters["biases"]:
            z = z + cp.Variable(n_rows)[i] + cp.Variable(n_columns)[j]
        of = {
            "squared": lambda r: 0.5 * cp.square(r),
            "absolute": cp.abs,
            "huber": lambda r: 0.5 * cp.huber(r, 1.35),
        }
        value = c @ of[loss](z - y)
    return optimal_value(cp.Problem(cp.Minimize(value + alpha * cp.normNuc(M))))


def beside_clarabel(n_problems, first):
    false, far, unsolved, uncertified = [], [], 0, 0
    begin = time.perf_counter()
    warnings.simplefilter("ignore", UserWarning)
    for seed in range(first, first + n_problems):
        parameters, share, pairs, y, weights = drawn(seed)
        null = MatrixCompletionPD(1e6, **parameters, max_iter=1).fit(pairs, y, weights)
        unit = max(null.certificate_.primal, of_a_constant(parameters["loss"], y, weights))
        alpha = share * max(unit, 1e-3)
        model = MatrixCompletionPD(alpha, **parameters, tol=TOL, max_iter=3_000)
        found = model.fit(pairs, y, weights).certificate_
        uncertified += not model.converged_
        try:
            value = optimum(parameters, alpha, pairs, y, weights)
        except NotSolved:
            unsolved += 1
            continue
        above, away = (found.dual - value) / unit, (found.primal - value) / unit
        false += [(seed, parameters, above)] if above > ALLOWED else []
        far += [(seed, parameters, away)] if away > CLOSE else []
    seconds = time.perf_counter() - begin
    for what, cases in (("FALSE BOUND", false), ("FAR", far)):
        for case in cases:
            print(what, *case)
    print(
        f"{n_problems} problems, {seconds:.0f} s, {unsolved} not solved by Clarabel, "
        f"{uncertified} not certified to {TOL:g}; {len(false)} false bounds, {len(far)} far"
    )
    return bool(false or far)


def fitted(model, X, y):
    """The seconds of a fit, and what is said of it."""
    begin = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - begin
    return seconds, (
        f"skpd {seconds:.2f} s, {model.n_iter_} iterations, rank {model.rank_}, relative gap "
        f"{model.certificate_.relative_gap:.1e}"
    )


def beside(name, peer, n_iter, seconds):
    """What is said of a peer."""
    return f"; {name} {peer:.2f} s, {n_iter} iterations: {peer / seconds:.1f} x"


# In little memory


def large(tol):
    """The fit has a process of its own: making the ratings takes more memory than fitting them."""
    with tempfile.TemporaryDirectory() as folder:
        for work in (make_large, fit_large):
            in_own_process(work, Path(folder) / "ratings.npz", tol)


def make_large(file, tol):
    pairs, y = ratings(10_000, 10_000, 5_000_000, 20)
    y = y - np.mean(y)
    matrix = sp.csr_array((y / len(y), pairs.T), shape=(10_000, 10_000))
    largest = svds(matrix, k=1, return_singular_vectors=False)[0]
    np.savez(file, pairs=pairs, y=y, largest=largest)


def fit_large(file, tol):
    loaded = np.load(file)
    pairs, y = loaded["pairs"], loaded["y"]
    before = gigabytes()
    model = MatrixCompletionPD(float(loaded["largest"]) / 3, biases=False, tol=tol)
    begin = time.perf_counter()
    _, line = fitted(model, pairs, y)
    peak, given = gigabytes(), (pairs.nbytes + y.nbytes) / 1e9
    print(
        f"{line}; {time.perf_counter() - begin:.0f} s in all, peak memory {peak:.2f} GB "
        f"({before:.2f} GB before the fit), {peak / given:.1f} times the {given:.2f} GB of the "
        "ratings",
        flush=True,
    )


# The trace norm of many outputs


class LanczosThreshold:
    """Singular value thresholding by PROPACK, as Mazumder, Hastie and Tibshirani do it.

    The rank is that of the last call and a bit more, and doubles until it is enough.
    """

    def __init__(self):
        self.rank, self.random_state = 4, np.random.RandomState(0)

    def __call__(self, M, threshold):
        while True:
            found = svds(M, k=self.rank, solver="propack", random_state=self.random_state)
            U, sigma, right = found[0][:, ::-1], found[1][::-1], found[2][::-1]
            kept = int(np.sum(sigma > threshold))
            if kept < self.rank:
                break
            self.rank = min(2 * self.rank, min(M.shape) - 1)
        self.rank = kept + 3
        roots = np.sqrt(sigma[:kept] - threshold)
        return Factors(U[:, :kept] * roots, right[:kept].T * roots)


THRESHOLDS = {
    "with PROPACK": LanczosThreshold,
    "with skpd's decompositions": lambda: SingularThreshold(np.random.RandomState(0)),
}


def outputs():
    """Section 5.1 of Lei et al. (2019), with the trace norm as a penalty and with noise."""
    rng = np.random.default_rng(0)
    n, d, n_outputs = 1000, 800, 600
    X = rng.normal(size=(n, d))
    for rank in (10, 20, 100):
        Y = X @ rng.normal(size=(d, rank)) @ rng.normal(size=(rank, n_outputs))
        Y += rng.normal(size=Y.shape)
        alpha = np.linalg.norm(X.T @ Y / n, 2) / 30
        model = TraceNormPD(alpha, radius=None, fit_intercept=False, tol=ACCURACY)
        seconds, line = fitted(model, X, Y)
        for name, make in THRESHOLDS.items():
            line += beside(f"FISTA {name}", *fista(make(), X, Y, alpha), seconds)
        print(f"rank {rank}: {line}", flush=True)


def fista(threshold, X, Y, alpha, most=2000):
    """FISTA from its definition, with partial decompositions, to a gap of 1e-6 as well.

    The time to see how large the gap is does not count.
    """
    n, (d, n_outputs) = len(X), (X.shape[1], Y.shape[1])
    begin = time.process_time()
    curvature = np.linalg.norm(X, 2) ** 2 / n
    W = ahead = np.zeros((d, n_outputs))
    momentum, best, seconds = 1.0, 0.0, time.process_time() - begin
    for k in range(1, most + 1):
        begin = time.process_time()
        gradient = X.T @ (X @ ahead - Y) / n
        found = threshold(ahead - gradient / curvature, alpha / curvature)
        last, W = W, found.U @ found.V.T
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead, momentum = W + (momentum - 1.0) / after * (W - last), after
        seconds += time.process_time() - begin
        if k % 5:
            continue
        R = X @ W - Y
        primal = 0.5 * np.sum(R * R) / n + 0.5 * alpha * np.sum(found.coef**2)
        scale = min(1.0, alpha / np.linalg.norm(X.T @ R / n, 2))
        best = max(best, -scale * np.sum(R * (Y + 0.5 * scale * R)) / n)
        if primal - best <= ACCURACY * 0.5 * np.sum(Y * Y) / n:
            return seconds, k
    return np.inf, most


def digits():
    """The trace norm of 64 x 10 coefficients beside SCS, whose modelling does not count."""
    import cvxpy as cp

    X, labels = load_digits(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    Y = np.eye(10)[labels] - np.mean(np.eye(10)[labels], axis=0)
    n, unit = len(X), 0.5 * np.sum(Y * Y) / len(X)
    for share in (10, 100):
        alpha = np.linalg.norm(X.T @ Y / n, 2) / share
        model = TraceNormPD(alpha, radius=None, fit_intercept=False, tol=ACCURACY)
        seconds, line = fitted(model, X, Y)
        best = model.set_params(tol=1e-9).fit(X, Y).certificate_.primal
        for accuracy in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
            W = cp.Variable((X.shape[1], 10))
            loss = 0.5 * cp.sum_squares(X @ W - Y) / n
            programme = cp.Problem(cp.Minimize(loss + alpha * cp.normNuc(W)))
            programme.solve(solver=cp.SCS, eps_abs=accuracy, eps_rel=accuracy)
            R = X @ W.value - Y
            found = 0.5 * np.sum(R * R) / n + alpha * np.linalg.norm(W.value, "nuc")
            if found - best <= ACCURACY * unit:
                break
        line += beside(
            "SCS", programme.solver_stats.solve_time, programme.solver_stats.num_iters, seconds
        )
        print(f"digits, max/{share}: {line}", flush=True)


OPTIONS = {
    "--problems": 0, "--seed": 0, "--large": False, "--outputs": False,
    "--tol": (1e-3, "of --large"),
}  # fmt: skip


def main(options):
    failed = options.problems and beside_clarabel(options.problems, options.seed)
    if options.large:
        large(options.tol)
    if options.outputs:
        digits()
        outputs()
    raise SystemExit(1 if failed else 0)

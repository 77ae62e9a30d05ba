"""What asynchronous updates would cost: gradients of tau iterations ago, simulated.

Yang et al. and Li, Chen and So leave asynchronous methods to the future. In one, a worker takes a
step from where the iterate is along a gradient of where it was when the worker began. Here every
gradient is that of tau iterations ago. The step sizes are those of the paper, and those times the
power of 1/2 that is best at the end.
"""

from collections import deque

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from benchmarks.papers import Table
from benchmarks.papers.data import named
from skpd import LassoPDCertified, PdproxSVC

DELAYS = (0, 1, 4, 16, 64)  # tau
SCALES = tuple(2.0**-k for k in range(9))
AFTER = (100, 1000)  # iterations of Pdprox
EXCESSES = (1e-2, 1e-4, 1e-6)
EPOCHS = 300  # of coordinate descent


def fraction(factor):
    """A power of 1/2 as the tables show it."""
    return "1" if factor == 1.0 else f"1/{1.0 / factor:g}"


def shrunk(w, limit):
    return np.sign(w) * np.maximum(np.abs(w) - limit, 0.0)


def pdprox_averages(X, y, lam, delay, step_scale, n_iter):
    """The averages w of Algorithm 1 of Pdprox with stale gradients, for the hinge loss and l1.

    The gradients are G_w = H alpha and G_alpha = 1 / n + H'w, with H = -X' diag(y) / n.
    """
    n, d = X.shape
    H = -(X * y[:, None]).T / n
    gamma = step_scale / (np.sqrt(2.0) * np.linalg.norm(H, 2))
    w, beta, total = np.zeros(d), np.zeros(n), np.zeros(d)
    ups, downs = deque([np.full(n, 1.0 / n)] * (delay + 1)), deque([np.zeros(d)] * delay)
    for t in range(1, n_iter + 1):
        alpha = np.clip(beta + gamma * ups[0], 0.0, 1.0)
        downs.append(H @ alpha)
        w = shrunk(w - gamma * downs.popleft(), gamma * lam)
        ups.popleft()
        ups.append(1.0 / n + H.T @ w)
        beta = np.clip(beta + gamma * ups[0], 0.0, 1.0)
        total += w
        yield total / t


def stale_pdprox():
    """Pdprox (Algorithm 1) with gradients of tau iterations ago: the excess of the objective of
    averages, as a share of that at w = 0, for the hinge loss and lambda ||w||_1, lambda = 1e-3.

    Before the best factor are the paper's steps, with which averages diverge from a delay of one
    iteration on. With the best shorter steps the excess after 1,000 iterations is more than 5
    times that without a delay for tau = 1, and more than 30 times for tau = 16.
    """
    label, X, y = named("a1a")
    X, lam = X.toarray(), 1e-3
    best = PdproxSVC(lam, penalty="l1", fit_intercept=False, tol=1e-8).fit(X, y).certificate_.dual
    rows = []
    for delay in DELAYS:
        found = {}
        for step_scale in SCALES:
            averages = enumerate(pdprox_averages(X, y, lam, delay, step_scale, AFTER[-1]), 1)
            ws = [w for t, w in averages if t in AFTER]
            found[step_scale] = [
                np.mean(np.maximum(1.0 - y * (X @ w), 0.0)) + lam * np.abs(w).sum() - best
                for w in ws
            ]
        factor = min(SCALES, key=lambda some, table=found: table[some][-1])
        cells = [f"{excess:.1e}" for excess in (*found[1.0], *found[factor])]
        rows.append([label, str(delay), *cells[:2], fraction(factor), *cells[2:]])
    header = ["data", "tau", *(f"after {n}" for n in AFTER), "best factor",
              *(f"after {n}" for n in AFTER)]  # fmt: skip
    return Table(header, rows)


def coordinate_descent(X, y, lam, delay, step_scale, n_epochs):
    """The lasso's objective after each epoch of coordinate steps with stale residuals."""
    n, d = X.shape
    columns, curvatures = np.ascontiguousarray(X.T), np.sum(X * X, axis=0) / n
    random, w = np.random.default_rng(0), np.zeros(d)
    seen, pending = -y, deque()  # the residual that gradients see, and the changes that it lacks
    for _ in range(n_epochs):
        for j in random.integers(d, size=d):
            if curvatures[j] > 0.0:
                step = step_scale / curvatures[j]
                slope = columns[j] @ seen / n
                change = shrunk(w[j] - step * slope, step * lam) - w[j]
                w[j] += change
                pending.append((j, change))
            if len(pending) > delay:
                i, change = pending.popleft()
                if change:
                    seen = seen + change * columns[i]
        residual = X @ w - y
        yield 0.5 * float(residual @ residual) / n + lam * float(np.abs(w).sum())


def first_epochs(objectives, best, unit):
    """The epochs until the excess stays below each of EXCESSES, and the last excess."""
    found, last = dict.fromkeys(EXCESSES), np.inf
    for epoch, objective in enumerate(objectives, 1):
        last = (objective - best) / unit
        if not last < 1e3:  # it diverges
            return dict.fromkeys(EXCESSES), np.inf
        for excess in EXCESSES:
            found[excess] = (found[excess] or epoch) if last <= excess else None
        if last <= EXCESSES[-1]:
            break
    return found, last


def stale_coordinates():
    """Coordinate descent on the lasso with residuals of tau coordinate steps ago, alpha a tenth of
    the largest of interest: epochs until the excess of the objective, as a share of that at w = 0,
    is below 1e-2, 1e-4 and 1e-6.

    Empty: not within 300 epochs. The breast cancer data have 30 features, a1a 123: 64 steps are
    two epochs of the first, and half of one of the second. A delay of one step costs nothing that
    shows, and one of 16 at most three times the epochs to 1e-6, with shorter steps; full steps
    diverge then.
    """
    features, classes = load_breast_cancer(return_X_y=True)
    label, sparse, labels = named("a1a")
    rows = []
    for name, X, y in (
        ("breast cancer", scale(features), 2.0 * classes - 1.0),
        (label, sparse.toarray(), labels),
    ):
        lam, unit = 0.1 * float(np.max(np.abs(X.T @ y))) / len(y), 0.5 * float(np.mean(y * y))
        model = LassoPDCertified(lam, fit_intercept=False, tol=1e-10).fit(X, y)
        best = model.certificate_.dual
        for delay in DELAYS:
            fits = {
                factor: first_epochs(
                    coordinate_descent(X, y, lam, delay, factor, EPOCHS), best, unit
                )
                for factor in SCALES
            }

            def order(factor, fits=fits):
                found, last = fits[factor]
                return found[EXCESSES[-1]] or np.inf, last

            factor = min(SCALES, key=order)
            full = fits[1.0][0][EXCESSES[-1]]
            ends = "diverges" if np.isinf(fits[1.0][1]) else None
            epochs = [str(found) if found else None for found in fits[factor][0].values()]
            rows.append([name, str(delay), str(full) if full else ends, fraction(factor),
                         *epochs])  # fmt: skip
    header = ["data", "tau", "1e-6, full steps", "best factor", "1e-2", "1e-4", "1e-6"]
    return Table(header, rows)

"""Random small fits of any loss, penalty and scale, of which each must converge."""

import numpy as np

from benchmarks.certificates import LOSSES, PENALTIES
from benchmarks.helpers.fuzz_families import Case, layout
from skpd import DRSVMClassifier, PdproxRegressor, PdproxSVC
from skpd.designs import Design
from skpd.losses import MarginLoss
from skpd.penalties import GroupL2, SparseGroup, TotalVariation
from skpd.problems import linear_problem

TOLERANCES = (1e-2, 1e-4, 1e-6, 1e-8)


def data(rng):
    """Features of some kind."""
    n, d = int(rng.integers(2, 61)), int(rng.integers(1, 13))
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < rng.choice([0.3, 1.0, 1.0]))
    if rng.random() < 0.2:
        X = np.sinh(2.0 * X)  # heavy tails
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = X[:, rng.integers(d)]
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = X @ rng.standard_normal(d)
    if rng.random() < 0.2:
        X[rng.integers(n)] = X[rng.integers(n)]
    if rng.random() < 0.3:
        X *= 10.0 ** rng.integers(-8, 9)
    elif rng.random() < 0.3:
        X *= 10.0 ** rng.integers(-4, 5, size=d)
    if rng.random() < 0.3:
        X += rng.choice([1.0, 100.0, 1e4, 1e6]) * np.abs(X).max() * rng.choice([-1.0, 1.0])
    if rng.random() < 0.1:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0])
    return X


def targets(rng, X, loss):
    n = len(X)
    signal = X @ rng.standard_normal(X.shape[1])
    signal = signal - np.median(signal)
    spread = np.std(signal)
    signal = signal / spread if spread > 0.0 else signal
    noise = rng.choice([0.0, 0.5, 5.0]) * rng.standard_normal(n)
    if isinstance(loss, MarginLoss):
        y = np.where(signal + noise > rng.choice([-1.5, 0.0, 0.0, 1.5]), 1.0, -1.0)
        y[rng.choice(n, 2, replace=False)] = [1.0, -1.0]
        return y
    y = (signal + noise) * 10.0 ** rng.choice([-8, -2, 0, 0, 0, 3, 8])
    return y + rng.choice([0.0, 0.0, 1.0, 1e3]) * np.abs(y).max()


def converging(rng):
    """A fit that must converge without a warning."""
    X = data(rng)
    known = [loss for loss in LOSSES if not loss.has_log_link]  # others are in `fuzz --newer`
    loss = known[rng.integers(len(known))]
    penalties = [*PENALTIES, TotalVariation()]
    penalty = penalties[rng.integers(len(penalties))]
    if isinstance(penalty, GroupL2 | SparseGroup) and X.shape[1] % 2:
        X = np.column_stack([X, X[:, :1]])
    y = targets(rng, X, loss)
    weights = None if rng.random() < 0.6 else rng.choice([0.0, 1.0, 1.0, 3.0, 0.01], size=len(y))
    options = {
        "tol": float(rng.choice(TOLERANCES)),
        "fit_intercept": bool(rng.random() < 0.6),
    }
    if weights is not None:
        weights[[np.argmax(y), np.argmin(y)]] = 1.0
    c = np.ones(len(y)) if weights is None else weights
    problem = linear_problem(
        Design(X), y, c / c.sum(), loss, penalty, 1.0, options["fit_intercept"]
    )
    largest = problem.largest_alpha
    if not 0.0 < largest < np.inf:
        largest = float(np.max(np.abs(problem.null_gradient))) or 1.0
    alpha = largest * 10.0 ** rng.uniform(-6.0, 0.5)
    X = layout(rng, X, 0.2)
    if isinstance(loss, MarginLoss) and rng.random() < 0.1:
        estimator = DRSVMClassifier(
            epsilon=alpha, kappa=float(rng.choice([0.1, 1.0, np.inf])),
            norm=rng.choice([1, 2, np.inf]), **options,
        )  # fmt: skip
    else:
        kind = PdproxSVC if isinstance(loss, MarginLoss) else PdproxRegressor
        estimator = kind(alpha, loss=loss, penalty=penalty, **options)
    return Case(estimator, X, y, weights)

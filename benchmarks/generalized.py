"""Counts and costs beside scikit-learn, glum and skglm, on one core.

motor    A generated table of 680,000 policies: six categories as 60 columns of 0 and 1, sparse
         and dense; claim counts with an exposure (Poisson), and costs (gamma).
sparse   100,000 rows of 20,000 sparse features, without an exposure.

All to within 1e-6 of the optimum, relative to the best constant prediction, which skpd certifies:
peers at the loosest of their tolerances that gets there. Seconds of the processor, the least of
three fits. scikit-learn takes the exposure as weights of rates, which is the same objective.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
import scipy.sparse as sp

from skpd import GammaPD, PoissonPD, certify

ACCURACY = 1e-6
TOLERANCES = tuple(10.0**-k for k in range(2, 11))
LEVELS = (6, 12, 22, 7, 2, 11)
LIMIT = 60.0  # seconds after which a peer is not asked for a tighter tolerance


def motor(n=680_000):
    """One-hot columns, exposures, counts and costs."""
    rng = np.random.default_rng(0)
    first = np.cumsum([0, *LEVELS[:-1]])
    places = [
        rng.choice(k, n, p=rng.dirichlet(2.0 * np.ones(k))) + start
        for k, start in zip(LEVELS, first, strict=True)
    ]
    table = np.stack(places, axis=1)
    ends = np.arange(0, table.size + 1, len(LEVELS))
    shape = n, sum(LEVELS)
    X = sp.csr_matrix((np.ones(table.size), table.ravel(), ends), shape=shape)
    exposure = rng.uniform(0.05, 1.0, n)
    effects = 0.3 * rng.normal(size=(2, shape[1]))
    counts = rng.poisson(exposure * np.exp(X @ effects[0] - 2.4)).astype(float)
    costs = rng.gamma(1.5, np.exp(X @ effects[1] + 6.0))
    return X, exposure, counts, costs


def sparse(n=100_000, d=20_000, per_row=50):
    """Rows with features whose frequencies are those of words, and counts."""
    rng = np.random.default_rng(0)
    frequency = 1.0 / np.arange(1, d + 1) ** 0.8
    columns = rng.choice(d, n * per_row, p=frequency / frequency.sum())
    ends = np.arange(0, n * per_row + 1, per_row)
    X = sp.csr_matrix((rng.exponential(0.3, n * per_row), columns, ends), shape=(n, d))
    X.sum_duplicates()
    effects = rng.normal(size=d) * (rng.random(d) < 0.02)
    mean = np.exp(np.clip(X @ effects - 0.5, -4.0, 3.0))
    return X, rng.poisson(mean).astype(float), rng.gamma(1.5, mean)


# Peers: functions of X, y, an exposure or None, alpha and a tolerance that return a fitted model


def _scikit_learn(kind, solver):
    def fit(X, y, exposure, alpha, tol):
        from sklearn import linear_model

        power = 1.0 if kind == "PoissonRegressor" else 0.0
        weights = None if exposure is None else exposure**power
        rates = y if exposure is None else y / exposure
        total = 1.0 if weights is None else weights.mean()
        model = getattr(linear_model, kind)(
            alpha=alpha / total, solver=solver, tol=tol, max_iter=10_000
        )
        return model.fit(X, rates, sample_weight=weights)

    return fit


def _glum(family, ratio):
    def fit(X, y, exposure, alpha, tol):
        from glum import GeneralizedLinearRegressor

        model = GeneralizedLinearRegressor(
            alpha=alpha, l1_ratio=ratio, family=family, gradient_tol=tol, max_iter=10_000
        )
        return model.fit(X, y, offset=None if exposure is None else np.log(exposure))

    return fit


def _skglm(family):
    def fit(X, y, exposure, alpha, tol):
        import skglm

        solver = skglm.solvers.ProxNewton(fit_intercept=True, tol=tol, max_iter=100)
        datafit, penalty = getattr(skglm.datafits, family)(), skglm.penalties.L1(alpha)
        return skglm.GeneralizedLinearEstimator(datafit, penalty, solver).fit(X, y)

    return fit


def peers(family, penalty, wide, exposed):
    solver = "lbfgs" if wide else "newton-cholesky"
    if penalty == "l2":
        yield f"scikit-learn {solver}", _scikit_learn(f"{family}Regressor", solver)
    yield "glum", _glum(family.lower(), 0.0 if penalty == "l2" else 1.0)
    if penalty == "l1" and not exposed:
        yield "skglm", _skglm(family)


def seconds_of(fit):
    """The least of three fits, or of one that takes long, and the last model."""
    seconds = []
    while len(seconds) < 3 and sum(seconds) < 20.0:
        start = time.process_time()
        model = fit()
        seconds.append(time.process_time() - start)
    return min(seconds), model


def compare(name, X, y, exposure, family, penalty, alpha):
    kind = {"Poisson": PoissonPD, "Gamma": GammaPD}[family]
    offset = None if exposure is None else np.log(exposure)
    rows = X[:500], y[:500], None if offset is None else offset[:500]
    ours = kind(alpha, penalty=penalty, tol=ACCURACY).fit(rows[0], rows[1], offset=rows[2])
    own, ours = seconds_of(lambda: ours.fit(X, y, offset=offset))
    tight = kind(alpha, penalty=penalty, tol=1e-9).fit(X, y, offset=offset).certificate_
    unit = tight.gap / max(tight.relative_gap, 1e-300)
    found = {}
    for peer, fit in peers(family, penalty, X.shape[1] > 5000, exposure is not None):
        for tol in TOLERANCES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    seconds, model = seconds_of(partial(fit, X, y, exposure, alpha, tol))
                    arguments = {"loss": ours._get_loss(), "penalty": penalty, "alpha": alpha}
                    value = certify(
                        model, X, y, tol=np.inf, offset=offset, fit_intercept=True, **arguments
                    ).primal
                except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
                    found[peer] = f"fails: {type(error).__name__}"
                    break
            far = (value - tight.dual) / unit
            found[peer] = seconds, far
            if far <= ACCURACY or seconds > LIMIT:
                break
    parts, best = [], np.inf
    for peer, result in found.items():
        if isinstance(result, str):
            parts.append(f"{peer} {result}")
            continue
        seconds, far = result
        parts.append(f"{peer} {seconds:.2f} s ({far:.0e})")
        best = min(best, seconds if far <= ACCURACY else np.inf)
    print(
        f"{name:7} {family:8} {penalty}: skpd {own:.2f} s ({ours.relative_gap_:.0e}); "
        f"{'; '.join(parts)}; best peer over skpd {best / own:.1f}",
        flush=True,
    )
    return best / own


def of_motor():
    X, exposure, counts, costs = motor()
    for penalty, alpha in (("l2", 1e-4), ("l1", 1e-4)):
        for name, table in (("motor", X), ("dense", X.toarray())):
            yield compare(name, table, counts, exposure, "Poisson", penalty, alpha)
        yield compare("motor", X, costs, None, "Gamma", penalty, alpha)


def of_sparse():
    X, counts, costs = sparse()
    for penalty, alpha in (("l2", 1e-3), ("l1", 1e-3)):
        yield compare("sparse", X, counts, None, "Poisson", penalty, alpha)
        yield compare("sparse", X, costs, None, "Gamma", penalty, alpha)


TABLES = {"motor": of_motor, "sparse": of_sparse}


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks generalized", description=__doc__)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    options = parser.parse_args(arguments)
    ratios = [ratio for name in options.tables for ratio in TABLES[name]()]
    known = [ratio for ratio in ratios if np.isfinite(ratio)]
    mean = np.exp(np.mean(np.log(known)))
    print(f"least {min(known):.1f}, geometric mean {mean:.1f}, of {len(known)}")

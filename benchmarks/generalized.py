"""Counts, costs, times and orders beside other packages, on one core.

motor    A generated table of 680,000 policies: six categories as 60 columns of 0 and 1, sparse
         and dense; claim counts with an exposure (Poisson), and costs (gamma).
sparse   100,000 rows of 20,000 sparse features, without an exposure.
cox      Censored times of 5,000 rows with 2,000 features, l1.
ordinal  Ordered classes with a squared l2 penalty: normal and skewed features.

All to within 1e-6 of the optimum, relative to the best constant prediction, which skpd certifies:
peers at the loosest of their tolerances that gets there. Seconds of the processor, the least of
three fits. Peers run in processes of their own with 12 GB of memory and ten minutes. scikit-learn
takes the exposure as weights of rates, which is the same objective.
"""

import argparse
import multiprocessing
import resource
import time
import warnings
from functools import partial
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp

from skpd import CoxPD, GammaPD, OrdinalPD, PoissonPD, certify

ACCURACY = 1e-6
TOLERANCES = tuple(10.0**-k for k in range(2, 11))
LEVELS = (6, 12, 22, 7, 2, 11)
LIMIT = 60.0  # seconds after which a peer is not asked for a tighter tolerance
MOST_SECONDS, MOST_BYTES = 600.0, 12 * 2**30  # of a peer's process


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


def censored(n=5_000, d=2_000):
    """Times with a hazard of 20 of the features, half of them censored."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    hazard = np.exp(X[:, :20] @ (0.3 * rng.normal(size=20)))
    time, last = rng.exponential(1.0 / hazard), rng.exponential(1.4, n)
    return X, np.minimum(time, last), time <= last


def ordered(n, d, n_classes, skewed=False):
    """Ordered classes of equal size; skewed features have scales from 0.01 to 1,000."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    z = X @ rng.normal(size=d) * 0.5 + rng.logistic(size=n)
    X = np.exp(X) * 10.0 ** rng.integers(-2, 4, d) if skewed else X
    return X, np.digitize(z, np.quantile(z, np.arange(1, n_classes) / n_classes))


# Peers: functions of a tolerance that return a fitted model, with X, y, an exposure or None and
# alpha before it


def _scikit_learn(kind, solver, X, y, exposure, alpha, tol):
    from sklearn import linear_model

    power = 1.0 if kind == "PoissonRegressor" else 0.0
    weights = None if exposure is None else exposure**power
    rates = y if exposure is None else y / exposure
    total = 1.0 if weights is None else weights.mean()
    model = getattr(linear_model, kind)(
        alpha=alpha / total, solver=solver, tol=tol, max_iter=10_000
    )
    return model.fit(X, rates, sample_weight=weights)


def _glum(family, ratio, X, y, exposure, alpha, tol):
    from glum import GeneralizedLinearRegressor

    model = GeneralizedLinearRegressor(
        alpha=alpha, l1_ratio=ratio, family=family, gradient_tol=tol, max_iter=10_000
    )
    return model.fit(X, y, offset=None if exposure is None else np.log(exposure))


def _skglm(family, X, y, exposure, alpha, tol):
    import skglm

    solver = skglm.solvers.ProxNewton(fit_intercept=True, tol=tol, max_iter=100)
    datafit, penalty = getattr(skglm.datafits, family)(), skglm.penalties.L1(alpha)
    return skglm.GeneralizedLinearEstimator(datafit, penalty, solver).fit(X, y)


def _skglm_cox(X, time, event, alpha, tol):
    import skglm

    model = skglm.CoxEstimator(alpha=alpha, l1_ratio=1.0, method="efron", tol=tol)
    return model.fit(X, np.column_stack([time, event]))


def _coxnet(X, time, event, alpha, tol):
    from sksurv.linear_model import CoxnetSurvivalAnalysis

    y = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
    model = CoxnetSurvivalAnalysis(
        alphas=[alpha], l1_ratio=1.0, tol=0.1 * tol, normalize=False, max_iter=100_000
    ).fit(X, y)
    model.coef_ = model.coef_[:, 0]
    return model


def _mord(X, y, alpha, tol):
    import mord  # which has no tolerance

    return mord.LogisticAT(alpha=alpha * len(y), max_iter=10_000).fit(X, y)


def peers(family, penalty, wide, exposed):
    solver = "lbfgs" if wide else "newton-cholesky"
    if penalty == "l2":
        yield f"scikit-learn {solver}", partial(_scikit_learn, f"{family}Regressor", solver)
    yield "glum", partial(_glum, family.lower(), 0.0 if penalty == "l2" else 1.0)
    if penalty == "l1" and not exposed:
        yield "skglm", partial(_skglm, family)


# Races


def seconds_of(fit):
    """The least of three fits, or of one that takes long, and the last model."""
    seconds = []
    while len(seconds) < 3 and sum(seconds) < 20.0:
        start = time.process_time()
        model = fit()
        seconds.append(time.process_time() - start)
    return min(seconds), model


def _fit_in_child(pipe, fit):
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    warnings.simplefilter("ignore")
    try:
        fit()  # which compiles what has to be compiled
        seconds, model = seconds_of(fit)
        names = ("coef_", "intercept_", "theta_", "classes_")
        pipe.send(
            (seconds, {name: getattr(model, name) for name in names if hasattr(model, name)})
        )
    except (ValueError, ArithmeticError, np.linalg.LinAlgError, MemoryError) as error:
        pipe.send(f"fails: {type(error).__name__}")


def in_child(fit):
    """The seconds and the attributes of a peer's fit in a process of its own, or why not."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=_fit_in_child, args=(there, fit))
    child.start()
    there.close()
    try:
        return here.recv() if here.poll(MOST_SECONDS) else "takes more than ten minutes"
    except EOFError:
        return "ends without a model"
    finally:
        child.kill()
        child.join()


def race(name, model, fit, rivals, objective):
    """Print the seconds of a model and its rivals; returns those of the best rival over its own.

    ``fit`` fits a model, ``rivals`` are functions of a tolerance by name, and ``objective`` is the
    objective value of the attributes of a rival's model.
    """
    fit(model)
    own, model = seconds_of(partial(fit, model))
    gap = model.relative_gap_
    tight = fit(model.__class__(**{**model.get_params(), "tol": 1e-9})).certificate_
    unit = tight.dual + tight.gap / max(tight.relative_gap, 1e-300)
    parts, best = [], np.inf
    for rival, rival_fit in rivals:
        for tol in TOLERANCES:
            found = in_child(partial(rival_fit, tol))
            if isinstance(found, str):
                parts.append(f"{rival} {found}")
                break
            seconds, attributes = found
            far = (objective(SimpleNamespace(**attributes)) - tight.dual) / unit
            if far <= ACCURACY or seconds > LIMIT or tol == TOLERANCES[-1]:
                parts.append(f"{rival} {seconds:.2f} s ({far:.0e})")
                best = min(best, seconds if far <= ACCURACY else np.inf)
                break
    print(
        f"{name}: skpd {own:.3f} s ({gap:.0e}); {'; '.join(parts)}; best peer over skpd "
        f"{best / own:.1f}",
        flush=True,
    )
    return best / own


def of_means(name, X, y, exposure, family, penalty, alpha):
    kind = {"Poisson": PoissonPD, "Gamma": GammaPD}[family]
    offset = None if exposure is None else np.log(exposure)
    model = kind(alpha, penalty=penalty, tol=ACCURACY)

    def objective(found):
        other = kind(alpha, penalty=penalty, tol=0.1).fit(X[:500], y[:500])
        other.coef_, other.intercept_ = np.ravel(found.coef_), float(found.intercept_)
        return certify(other, X, y, tol=np.inf, offset=offset).primal

    given = [
        (rival, partial(fit, X, y, exposure, alpha))
        for rival, fit in peers(family, penalty, X.shape[1] > 5000, exposure is not None)
    ]
    title = f"{name:7} {family:8} {penalty}"
    return race(title, model, lambda m: m.fit(X, y, offset=offset), given, objective)


def of_motor():
    X, exposure, counts, costs = motor()
    for penalty, alpha in (("l2", 1e-4), ("l1", 1e-4)):
        for name, table in (("motor", X), ("dense", X.toarray())):
            yield of_means(name, table, counts, exposure, "Poisson", penalty, alpha)
        yield of_means("motor", X, costs, None, "Gamma", penalty, alpha)


def of_sparse():
    X, counts, costs = sparse()
    for penalty, alpha in (("l2", 1e-3), ("l1", 1e-3)):
        yield of_means("sparse", X, counts, None, "Poisson", penalty, alpha)
        yield of_means("sparse", X, costs, None, "Gamma", penalty, alpha)


def of_cox():
    X, time, event = censored()
    y = np.column_stack([time, event])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = CoxPD(alpha=10.0).fit(X, y)  # all coefficients are 0
    largest = np.max(np.abs(X.T @ fitted.dual_coef_)) / len(X)
    for share in (0.3, 0.2, 0.1):
        model = CoxPD(share * largest, tol=ACCURACY)

        def objective(found, alpha=model.alpha):
            other = CoxPD(alpha, tol=0.1).fit(X, y)
            other.coef_ = found.coef_
            return certify(other, X, y, tol=np.inf).primal

        rivals = [
            (name, partial(fit, X, time, event, model.alpha))
            for name, fit in (("skglm", _skglm_cox), ("scikit-survival coxnet", _coxnet))
        ]
        title = f"cox     alpha {share} of the largest"
        yield race(title, model, lambda m: m.fit(X, y), rivals, objective)


def of_ordinal():
    alpha = 1e-3
    for n, d, n_classes, skewed in (
        (20_000, 50, 5, False), (100_000, 100, 7, False), (20_000, 10, 5, False),
        (20_000, 30, 5, True),
    ):  # fmt: skip
        X, y = ordered(n, d, n_classes, skewed)

        def objective(found, X=X, y=y):
            import mord

            model = mord.LogisticAT(alpha=alpha * len(y))
            vars(model).update(vars(found))
            return certify(model, X, y, tol=np.inf).primal

        title = f"ordinal {n} x {d}, {n_classes} classes{', skewed' if skewed else ''}"
        model = OrdinalPD(alpha, tol=ACCURACY)
        rivals = [("mord", partial(_mord, X, y, alpha))]
        yield race(title, model, lambda m, X=X, y=y: m.fit(X, y), rivals, objective)


TABLES = {"motor": of_motor, "sparse": of_sparse, "cox": of_cox, "ordinal": of_ordinal}


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks generalized", description=__doc__)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    options = parser.parse_args(arguments)
    for name in options.tables:
        ratios = list(TABLES[name]())
        known = [ratio for ratio in ratios if np.isfinite(ratio)]
        mean = np.exp(np.mean(np.log(known))) if known else np.inf
        print(f"{name}: geometric mean {mean:.1f}, of {len(known)} of {len(ratios)}", flush=True)

"""`certify` over random models: never above the optimum, and close to it.

Every model draws an estimator of scikit-learn, or one of two of this package whose objectives are
no mean loss of single rows, and its parameters, small awkward data (sparse, float32,
duplicate, constant and badly scaled columns, weights, weights of classes, two classes or
more) and how it was fitted: to the end, half, or not at all, with random coefficients. Its
objective is written down here once more, from scikit-learn's documentation, in
scikit-learn's own units, and minimised by Clarabel through CVXPY (by HiGHS where it is a
linear programme). The certified lower bound must stay below that and come within 1e-6.
"""

import time
import warnings
from collections import Counter

import numpy as np
import scipy.sparse as sp
from sklearn import linear_model as lm
from sklearn import svm

from benchmarks.helpers.campaigns import solved, unit_of
from benchmarks.helpers.stated_objectives import stated
from skpd import DRSVMClassifier, TraceNormPD, certify
from tests.oracles.scikit_learn import logistic_regression

FITS = ("fitted", "half", "random")


# Estimators with random parameters; `exact` ones are to be fitted to the end


def _strength(rng):
    return float(10.0 ** rng.uniform(-2, 0.7))


def _lasso(rng, exact):
    options = {"tol": 1e-12, "max_iter": 100_000} if exact else {"max_iter": 1}
    if rng.random() < 0.5:
        return lm.Lasso(_strength(rng) / 5, **options)
    return lm.ElasticNet(
        _strength(rng) / 5, l1_ratio=float(rng.choice([0.1, 0.7, 1.0])), **options
    )


def _ridge(rng, exact, kind=lm.Ridge):
    options = {"solver": "cholesky"} if exact else {"solver": "sag", "max_iter": 1}
    return kind(_strength(rng) * 5, **options)


def _ridge_classifier(rng, exact):
    return _ridge(rng, exact, lm.RidgeClassifier)


def _liblinear_options(rng, exact):
    scaling = float(rng.choice([0.3, 1.0, 5.0]))
    limits = {"tol": 1e-10, "max_iter": 20_000} if exact else {"tol": 0.1, "max_iter": 2}
    return {"C": 0.3 / _strength(rng), "intercept_scaling": scaling, "random_state": 0, **limits}


def _linear_svc(rng, exact):
    pairs = [("hinge", "l2", True), ("squared_hinge", "l2", True), ("squared_hinge", "l2", False),
             ("squared_hinge", "l1", False)]  # fmt: skip
    loss, penalty, dual = pairs[rng.integers(4)]
    return svm.LinearSVC(loss=loss, penalty=penalty, dual=dual, **_liblinear_options(rng, exact))


def _linear_svr(rng, exact):
    loss = ("epsilon_insensitive", "squared_epsilon_insensitive")[rng.integers(2)]
    epsilon = float(rng.choice([0.0, 0.2]))
    return svm.LinearSVR(loss=loss, epsilon=epsilon, dual=True, **_liblinear_options(rng, exact))


def _liblinear_logistic(rng, exact):
    ratio = float(rng.integers(2))
    return logistic_regression(ratio, solver="liblinear", **_liblinear_options(rng, exact))


def _logistic(rng, exact):
    limits = {"tol": 1e-10, "max_iter": 10_000} if exact else {"max_iter": 2}
    options = {"C": 0.3 / _strength(rng), **limits}
    ratio = float(rng.choice([0.0, 0.5, 1.0]))
    if ratio == 0.0:
        solver = str(rng.choice(["lbfgs", "newton-cholesky"]))
        return lm.LogisticRegression(solver=solver, **options)
    return logistic_regression(ratio, solver="saga", random_state=0, **options)


def _sgd_options(rng, exact):
    return {
        "penalty": str(rng.choice(["l1", "l2", "elasticnet"])), "alpha": _strength(rng) / 5,
        "l1_ratio": 0.4, "epsilon": 0.3, "random_state": 0, "tol": None,
        "max_iter": 500 if exact else 2,
    }  # fmt: skip


def _sgd_classifier(rng, exact):
    names = ["hinge", "log_loss", "modified_huber", "squared_hinge", "squared_error", "huber",
             "epsilon_insensitive", "squared_epsilon_insensitive"]  # fmt: skip
    return lm.SGDClassifier(str(rng.choice(names)), **_sgd_options(rng, exact))


def _sgd_regressor(rng, exact):
    names = ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]
    return lm.SGDRegressor(str(rng.choice(names)), **_sgd_options(rng, exact))


def _quantile(rng, exact):
    return lm.QuantileRegressor(quantile=float(rng.choice([0.2, 0.5])), alpha=_strength(rng) / 5)


def _deviance(rng, exact):
    options = {"tol": 1e-10, "max_iter": 10_000} if exact else {"max_iter": 1}
    options["alpha"] = _strength(rng) / 5
    kind = rng.integers(3)
    if kind == 2:
        return lm.TweedieRegressor(
            power=float(rng.uniform(1.1, 1.9)), link="log", solver="newton-cholesky", **options
        )
    regressor = (lm.PoissonRegressor, lm.GammaRegressor)[kind]
    return regressor(solver="newton-cholesky", **options)


def _trace_norm(rng, exact):
    options = {"tol": 1e-9, "max_iter": 3000} if exact else {"tol": 0.0, "max_iter": 2}
    return TraceNormPD(_strength(rng) / 5, radius=2.0 * _strength(rng), random_state=0, **options)


def _robust(rng, exact):
    options = {"tol": 1e-9} if exact else {"solver": "isg", "tol": 0.0, "max_iter": 2}
    return DRSVMClassifier(
        _strength(rng) / 5, kappa=float(rng.choice([0.3, 1.0, np.inf])), random_state=0,
        norm=float(rng.choice([1, 2, np.inf])), alpha=float(rng.choice([0.0, 0.1])), **options
    )  # fmt: skip


REGRESSORS = [
    _lasso, _ridge, _linear_svr, _sgd_regressor, _quantile, _trace_norm, _deviance,
]  # fmt: skip
CLASSIFIERS = [
    _linear_svc, _liblinear_logistic, _logistic, _ridge_classifier, _sgd_classifier, _robust,
]  # fmt: skip
BUILDERS = REGRESSORS + CLASSIFIERS


def random_model(rng, build, fit):
    """(estimator, X, y, sample_weight), the estimator fitted in the given way; or None."""
    n, d = int(rng.integers(8, 30)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.4, 1.0]))
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = X[:, rng.integers(d)]
    if rng.random() < 0.2:
        X[:, rng.integers(d)] = rng.choice([0.0, 1.0])
    if rng.random() < 0.2:
        X[:, rng.integers(d)] *= 10.0 ** rng.integers(-2, 3)
    if build in REGRESSORS:
        y = X @ rng.normal(size=d) + rng.normal(size=n) + rng.integers(-2, 3)
        if build is _deviance:
            y = np.ceil(4.0 * rng.gamma(2.0, np.exp(0.3 * np.clip(y, -6.0, 6.0))))
        if build is _trace_norm:
            y = np.outer(y, rng.normal(size=3)) + rng.normal(size=(n, 3))
    else:
        K = 2 if build is _liblinear_logistic else int(rng.integers(2, 5))
        y = rng.integers(K, size=n)
        y[:K] = np.arange(K)
        y = np.array(["a", "b", "c", "d"])[y]
    weights = None
    if rng.random() < 0.4:
        weights = rng.random(n) * 3 + 0.1
        weights[rng.integers(n // 2, n)] = 0.0
        if build in CLASSIFIERS:
            weights[: len(np.unique(y))] = 1.0
    X = X.astype(np.float32) if rng.random() < 0.2 else X
    layouts = [np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array]
    X = layouts[rng.integers(4)](X)
    estimator = build(rng, fit == "fitted")
    if sp.issparse(X) and build in (_ridge, _ridge_classifier) and fit == "fitted":
        estimator.set_params(solver="sparse_cg", tol=1e-14)
    if hasattr(estimator, "class_weight"):
        options = [None, "balanced", dict.fromkeys(np.unique(y), 0.7) | {"a": 2.5}]
        estimator.set_params(class_weight=options[rng.integers(3)])
    estimator.set_params(fit_intercept=bool(rng.random() < 0.6))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator.fit(X, y, sample_weight=weights)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError):  # some solvers give up
            return None
    if fit == "random":
        scale = 10.0 ** rng.uniform(-3, 3)
        estimator.coef_ = scale * rng.normal(size=np.shape(estimator.coef_))
        if estimator.fit_intercept:
            estimator.intercept_ = scale * rng.normal(size=np.shape(estimator.intercept_))
    if not np.isfinite(estimator.coef_).all():
        return None
    return estimator, X, y, weights


def excesses(estimator, X, y, sample_weight, optimum=None, **options):
    """(above, short, gap) of every certificate.

    By how much the lower bound is above the optimum and below it, relative to the objective
    of the best constant prediction, and the relative gap.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        certificates = certify(estimator, X, y, sample_weight, **options)
    found = []
    for certificate, (programme, arguments, rows) in zip(
        certificates.each, stated(estimator, X, y, sample_weight), strict=True
    ):
        value = (optimum or _optimum)(programme, arguments) / rows.sum()  # not in their units
        known = 0.0 < certificate.relative_gap < np.inf
        unit = unit_of(certificate) if known else max(1.0, abs(value))
        above = (certificate.dual - value) / unit
        found.append((above, -above, certificate.relative_gap))
    return found


def _optimum(programme, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return programme(*arguments)


OPTIONS = {
    "--models": 10_000,
    "--seed": 0,
    "--tolerance": (1e-9, "of the independent solver"),
    "--rigorous": False,
}


def main(options):
    rng, start = np.random.default_rng(options.seed), time.perf_counter()
    done, wrong, short, drawn = 0, 0, 0, 0
    worst, furthest, gaps, kinds = -np.inf, 0.0, {fit: [] for fit in FITS}, Counter()

    def draw(number):
        nonlocal drawn
        drawn += 1
        build, fit = BUILDERS[rng.integers(len(BUILDERS))], FITS[rng.integers(len(FITS))]
        model = random_model(rng, build, fit)
        return model and (fit, model, excesses(*model, rigorous=options.rigorous))

    for done, (fit, model, found) in enumerate(solved(options.models, draw), start=1):
        kinds[type(model[0]).__name__] += 1
        for above, below, gap in found:
            worst, furthest = max(worst, above), max(furthest, below)
            gaps[fit].append(gap)
            wrong += above > options.tolerance
            short += below > 1e-6
            if above > options.tolerance or below > 1e-6:
                what = f"ABOVE by {above:.2e}" if above > 0 else f"SHORT by {below:.2e}"
                print(f"{what}: {fit} {model[0]} {model[1].shape}", flush=True)
        if done % 1000 == 0 or done == options.models:
            medians = ", ".join(f"{f} {np.median(g):.0e}" for f, g in gaps.items() if g)
            print(
                f"{done} models, {time.perf_counter() - start:.0f} s: {wrong} lower bounds above "
                f"the optimum by more than {options.tolerance:g} (largest excess {worst:.1e}), "
                f"{short} below it by more than 1e-6 (furthest {furthest:.1e}); median relative "
                f"gap: {medians}; {drawn - done} models left out, which the independent solver or "
                "scikit-learn gave up",
                flush=True,
            )
    print(", ".join(f"{name} {count}" for name, count in sorted(kinds.items())))
    raise SystemExit(1 if wrong or short else 0)

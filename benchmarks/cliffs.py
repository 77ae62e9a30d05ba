"""Fits that suddenly take long: 42 models on data of several kinds, along alphas.

Each row is a model on one kind of data, with alphas from a half of the largest of interest to a
five-thousandth of it. A fit falls off if it is unfinished, takes more than a limit, or more than a
multiple of the median of its row and a second. Times are those of the processor, of all threads.
Most kinds have more features than rows, where small alphas are difficult. The exit status is 1 if
a fit falls off.
"""

import contextlib
import time
import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import skpd
from benchmarks.helpers.cliff_data import KINDS, targets
from benchmarks.helpers.limits import GivenUp, limited

SHARES = (0.5, 0.1, 0.02, 0.004, 8e-4, 2e-4)
TIMES = 20.0  # a fit falls off above this multiple of the median of its row ...
AT_LEAST = 1.0  # ... if it takes this many seconds as well
SHORT = 0.02  # seconds; a median below counts as this
QUANTILES = [0.1, 0.5, 0.9]
DENSE = {"boosting"}  # models that take no sparse features

# The estimators by the targets they are fitted to
MODELS = {
    "binary": {
        "svc-l1": skpd.PdproxSVC(),
        "svc-l2": skpd.PdproxSVC(penalty="l2"),
        "svc-squared-l2": skpd.PdproxSVC(loss="squared_hinge", penalty="l2"),
        "svc-linf": skpd.PdproxSVC(penalty="linf"),
        "svc-elastic-net": skpd.ElasticNetPDClassifier(),
        "svc-fused": skpd.PdproxSVC(penalty="fused_lasso"),
        "svc-groups": skpd.GroupLassoSVC(groups=2),
        "logistic-l1": skpd.LogisticPD(penalty="l1"),
        "logistic-l2": skpd.LogisticPD(),
        "robust-1": skpd.DRSVMClassifier(norm=1),
        "robust-2": skpd.DRSVMClassifier(norm=2),
        "robust-inf": skpd.DRSVMClassifier(norm=np.inf),
        "kernel": skpd.KernelPdproxSVC(),
        "metric": skpd.MetricSVC(),
        "boosting": skpd.LPBoostClassifier(),
    },
    "classes": {
        "svc-classes": skpd.PdproxSVC(),
        "softmax-l1": skpd.LogisticPD(penalty="l1"),
        "softmax-l2": skpd.LogisticPD(),
        "softmax-l21": skpd.MultinomialPD(penalty="l21"),
        "crammer-singer": skpd.MultinomialPD(loss="crammer_singer", penalty="l2"),
        "crammer-singer-l21": skpd.MultinomialPD(loss="crammer_singer", penalty="l21"),
        "crammer-singer-l1inf": skpd.MultinomialPD(loss="crammer_singer", penalty="l1inf"),
        "ordinal": skpd.OrdinalPD(),
        "ordinal-hinge": skpd.OrdinalPD(loss="hinge"),
    },
    "numbers": {
        "lasso": skpd.LassoPDCertified(),
        "elastic-net": skpd.ElasticNetPD(),
        "groups": skpd.GroupLassoPD(groups=2),
        "absolute": skpd.PdproxRegressor(loss="absolute"),
        "huber": skpd.PdproxRegressor(loss="huber"),
        "total-variation": skpd.PdproxRegressor(loss="squared", penalty="total_variation"),
        "quantiles": skpd.QuantilePD(quantiles=QUANTILES),
    },
    "positive": {"gamma": skpd.GammaPD()},
    "costs": {"tweedie": skpd.TweediePD()},
    "counts": {"poisson": skpd.PoissonPD(), "poisson-l2": skpd.PoissonPD(penalty="l2")},
    "times": {"cox": skpd.CoxPD()},
    "outputs": {
        "tasks-l21": skpd.MultiTaskPD(),
        "tasks-l1inf": skpd.MultiTaskPD(penalty="l1inf"),
        "tasks-trace": skpd.MultiTaskPD(penalty="trace"),
        "tasks-trace-ball": skpd.TraceNormPD(),
        "tasks-exclusive": skpd.MultiTaskPD(penalty="exclusive"),
        "tasks-absolute": skpd.MultiTaskPD(loss="absolute"),
        "tasks-absolute-l1inf": skpd.MultiTaskPD(loss="absolute", penalty="l1inf"),
    },
}


class Fit(NamedTuple):
    """A fit of a row, with its seconds of processor time."""

    share: float
    seconds: float
    converged: bool
    solver: str


def fit(model, X, y, limit):
    """The seconds of a fit, whether it converged, and the name of its solver."""
    start, converged = time.process_time(), False
    with contextlib.suppress(GivenUp), limited(limit):
        converged = bool(np.all(model.fit(X, y).converged_))
    return time.process_time() - start, converged, str(getattr(model, "solver_", "-"))


def largest(model, X, y, limit):
    """An alpha of at most twice the largest that leaves a coefficient."""
    alpha = 1.0
    for _ in range(12):
        fit(model.set_params(alpha=alpha), X, y, limit)
        if np.any(getattr(model, "coef_", 1.0)):
            break
        alpha /= 4.0
    return 2.0 * alpha


def row(model, X, y, limit):
    """The fits of a model along its alphas, or epsilons."""
    parameters = model.get_params()
    if "alpha" not in parameters and "epsilon" not in parameters:
        return [Fit(1.0, *fit(model, X, y, limit))]
    robust = "alpha" not in parameters
    name, start = ("epsilon", 0.5) if robust else ("alpha", largest(model, X, y, limit))
    return [
        Fit(share, *fit(model.set_params(**{name: start * share}), X, y, limit))
        for share in SHARES
    ]


def fallen(fits, limit):
    """The fits of a row that fall off, with the median of the row."""
    median = max(float(np.median([each.seconds for each in fits])), SHORT)
    most = min(limit, max(AT_LEAST, TIMES * median))
    return median, [each for each in fits if not each.converged or each.seconds > most]


OPTIONS = {
    "--seeds": {"type": int, "nargs": "+", "default": [0]},
    "--kinds": {"choices": KINDS, "nargs": "+", "default": list(KINDS)},
    "--models": {"nargs": "+", "help": "names of models; all by default"},
    "--limit": (10.0, "seconds for a fit"),
}


def main(options):
    warnings.simplefilter("ignore")
    n_fits = n_fallen = 0
    for seed in options.seeds:
        for kind in options.kinds:
            X, by_target = targets(kind, seed)
            for target, models in MODELS.items():
                for name, model in models.items():
                    if options.models and name not in options.models:
                        continue
                    table = X.toarray() if name in DENSE and sp.issparse(X) else X
                    fits = row(clone(model), table, by_target[target], options.limit)
                    median, off = fallen(fits, options.limit)
                    n_fits, n_fallen = n_fits + len(fits), n_fallen + len(off)
                    for each in off:
                        print(
                            f"{seed} {kind:12} {name:16} largest * {each.share:<6g} "
                            f"{each.seconds:6.1f} s (median {median:.2f} s), "
                            f"{'converged' if each.converged else 'unfinished'}, {each.solver}",
                            flush=True,
                        )
    print(f"{n_fallen} of {n_fits} fits fall off")
    raise SystemExit(n_fallen > 0)

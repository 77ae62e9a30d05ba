"""Random fits of counts, costs, censored times and ordered classes, beside Clarabel.

Every fit draws weights, offsets, an intercept or none, and an l1 norm, groups, an elastic net, a
squared norm or linear constraints; Cox models ties, strata and a share of censored times from 0 to
95 %. The objective must agree with the optimum of Clarabel's exponential cones to 1e-7, and the
lower bound must not be above it. Problems that Clarabel does not solve to eight digits are drawn
anew.
"""

import time
import warnings

import numpy as np
from scipy.optimize import LinearConstraint

from benchmarks.helpers.campaigns import solved
from skpd import CoxPD, GammaPD, OrdinalPD, PoissonPD, TweediePD
from skpd.losses.shifted import with_offset
from skpd.models.survival.partial_likelihood import PartialLikelihood
from tests.oracles.reference import conic_programme, cox_programme, ordinal_programme

AGREE = 1e-7
ABOVE = 1e-8  # by how much a bound may be above Clarabel's optimum, the rounding of the latter
KINDS = ("poisson", "gamma", "tweedie", "negative binomial", "cox", "logistic", "hinge")


def features(rng):
    n, d = int(rng.integers(12, 60)), 2 * int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.choice([0.4, 1.0]))
    X[:, rng.integers(d)] += rng.choice([0.0, 2.0])
    weights = rng.uniform(0.2, 2.0, n) if rng.random() < 0.5 else np.ones(n)
    offset = 0.5 * rng.normal(size=n) if rng.random() < 0.5 else None
    return X, weights, offset, np.exp(np.clip(X @ rng.normal(size=d) * 0.4, -3.0, 3.0))


def penalty_of(rng, constrained=False):
    kind = str(rng.choice(["l1", "group", "elasticnet", "l2"]))
    options = {"penalty": kind, "alpha": float(10.0 ** rng.uniform(-2.0, 0.0)), "tol": 1e-9}
    if kind == "group":
        options["groups"] = 2
    if constrained and kind != "group" and rng.random() < 0.2:
        options["constraints"] = "sum"
    return options


def mean_model(rng, kind):
    """The primal value and the bound of a fit, and the optimum."""
    X, weights, offset, mean = features(rng)
    options = penalty_of(rng, constrained=True)
    constraint = None
    if options.pop("constraints", None):
        constraint = LinearConstraint(np.ones((1, X.shape[1])), -0.1, 0.1)
        options["constraints"] = constraint
    free = bool(rng.random() < 0.6)
    y = rng.poisson(mean).astype(float)
    if kind == "poisson":
        model = PoissonPD(**options)
    elif kind == "negative binomial":
        model = PoissonPD(dispersion=float(rng.choice([0.1, 1.0])), **options)
    elif kind == "tweedie":
        model = TweediePD(power=float(rng.uniform(1.05, 1.95)), **options)
        y = y * rng.gamma(2.0, size=len(y))
    else:
        model, y = GammaPD(**options), rng.gamma(2.0, mean)
    y[0] = y[0] or 1.0
    model.set_params(fit_intercept=free).fit(X, y, weights, offset)
    loss = model._get_loss()
    table, posed = with_offset(loss, y, offset)
    arguments = X, table, weights / weights.sum(), posed
    best = conic_programme(*arguments, model._get_penalty(), options["alpha"], free, constraint)
    return model.certificate_, best


def cox_model(rng, kind):
    X, weights, offset, mean = features(rng)
    time, end = rng.exponential(1.0 / mean), np.inf
    share = rng.choice([0.0, 0.3, 0.7, 0.95])
    if share:
        end = np.quantile(time, 1.0 - share) * rng.uniform(0.5, 1.5, len(time))
    event = time <= end
    time = np.minimum(time, end)
    event[np.argmin(time)] = True
    if rng.random() < 0.5:
        time = np.ceil(6.0 * time) / 6.0
    strata = rng.integers(0, int(rng.integers(1, 4)), len(time))
    ties = str(rng.choice(["efron", "breslow"]))
    options = penalty_of(rng)
    model = CoxPD(ties=ties, **options)
    model.fit(X, np.column_stack([time, event]), weights, offset, strata)
    loss = PartialLikelihood(time, event, weights, strata, offset, efron=ties == "efron")
    return model.certificate_, cox_programme(X, loss, model._get_penalty(), options["alpha"])


def ordinal_model(rng, kind):
    X, weights, offset, mean = features(rng)
    K = int(rng.integers(2, 5))
    y = np.digitize(np.log(mean) + rng.logistic(size=len(mean)), np.linspace(-1.0, 1.0, K - 1))
    y[:K] = np.arange(K)
    options = penalty_of(rng) | {"tol": 1e-8}
    model = OrdinalPD(loss=kind, **options).fit(X, y, weights, offset)
    shares = weights / weights.sum()
    own = np.zeros(len(y)) if offset is None else offset
    penalty = model._get_penalty()
    best = ordinal_programme(X, y, shares, own, kind, penalty, options["alpha"])
    return model.certificate_, best


OPTIONS = {"--problems": (500, "of each loss"), "--seed": 0}


def main(options):
    rng, wrong = np.random.default_rng(options.seed), 0
    warnings.simplefilter("ignore")
    models = {"cox": cox_model, "logistic": ordinal_model, "hinge": ordinal_model}
    for kind in KINDS:
        start, drawn, worst, above, far = time.perf_counter(), 0, 0.0, 0, 0

        def draw(number, kind=kind):
            nonlocal drawn
            drawn += 1
            return models.get(kind, mean_model)(rng, kind)

        for found, best in solved(options.problems, draw):
            distance = abs(found.primal - best) / max(abs(best), 1e-3)
            worst, far = max(worst, distance), far + (distance > AGREE)
            above += found.dual > best + ABOVE * max(abs(best), 1e-3)
        wrong += far + above
        print(
            f"{kind:17} {options.problems} problems, largest distance {worst:.0e}, {far} further "
            f"than {AGREE:g}, {above} bounds above the optimum, "
            f"{drawn - options.problems} drawn anew, {time.perf_counter() - start:.0f} s",
            flush=True,
        )
    raise SystemExit(1 if wrong else 0)

"""Fits whose free coefficients separate, by construction, and fits where they nearly do.

A level without events is a column of 0 and 1 on whose rows nothing happens: no event, a count of
0, one class alone. A perfect predictor is a feature in whose order the classes or the times are.
That they separate, and that the other columns do not, is checked by HiGHS; so is it that nothing
separates in problems of which one or two rows are changed, or that are drawn without either.
"""

import re
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import skpd
from benchmarks.helpers import separations
from benchmarks.helpers.campaigns import counts, heading
from benchmarks.helpers.unpenalised_cases import MODELS

NAMES = (
    "age", "sex", "stage", "region", "income", "height", "weight", "tenure", "brand", "fuel",
    "power", "density",
)  # fmt: skip
UNSEPARATED = (
    "PdproxSVC", "LogisticPD, 2 classes", "LogisticPD, 3 or 4", "MultinomialPD", "PoissonPD",
    "GammaPD", "TweediePD", "OrdinalPD, logistic", "CoxPD, Breslow", "CoxPD, Efron",
)  # fmt: skip
WORD = "separat"


@dataclass(frozen=True, eq=False)
class Fit:
    """A fit, and the name of the feature that separates, or None where none does."""

    estimator: Any
    X: Any
    y: Any
    named: str | None
    more: dict


def table(rng):
    """Features with names, a weight of the penalty for each, and the places of two free ones."""
    n, d = int(rng.integers(40, 150)), int(rng.integers(3, 9))
    X = rng.normal(size=(n, d))
    place, other = rng.choice(d, 2, replace=False)
    if rng.random() < 0.5:
        X[:, other] = rng.random(n) < 0.5
    names = [str(name) for name in rng.choice(NAMES, d, replace=False)]
    factors = rng.uniform(0.5, 2.0, d)
    factors[[place, other]] = 0.0
    return X, names, factors, place


def penalty_of(rng, factors):
    """Parameters with weights of 0, or without a penalty."""
    tol = float(rng.choice([1e-4, 1e-6]))
    if rng.random() < 0.3:
        return {"alpha": 0.0, "tol": tol}, np.ones(len(factors), bool)
    options = {"alpha": float(10.0 ** rng.uniform(-3.0, -1.0)), "tol": tol, "penalty": "l1"}
    return options | {"penalty_weights": factors}, factors == 0.0


def changed(rng, y, rows, values):
    """y with other values in one or two of the rows, which are then not separated."""
    y = y.copy()
    count = min(int(rng.integers(1, 3)), len(rows))
    chosen = rng.choice(rows, count, replace=False)
    y[chosen] = rng.permutation(np.resize(values, count))
    return y


def of_classes(rng, kind, separated):
    """Two classes, classes without an order, or ordered classes."""
    X, names, factors, place = table(rng)
    n, K = len(X), 2 if kind == "logistic" else int(rng.integers(3, 5))
    if rng.random() < 0.5:  # a level on which there is one class
        y = rng.integers(0, K, n)
        X[:, place] = rng.random(n) < 0.2
        rows = np.flatnonzero(X[:, place])
        own = 0 if kind == "ordinal" else int(rng.integers(K))
        y[rows] = own
    else:  # a feature in the order of the classes, of which some rows may be equal
        y = rng.integers(0, K, n)
        rows = np.arange(n)
        own = None
        X[:, place] = y + rng.uniform(0.0, 0.9, n)
        if kind == "softmax":
            X[:, place] = np.where(y == K - 1, 1.0, -1.0) * rng.uniform(0.1, 2.0, n)
    if not separated and len(rows):
        others = [k for k in range(K) if k != own]
        y = changed(rng, y, rows, others)
    options, free = penalty_of(rng, factors)
    if kind == "logistic":
        estimator = (skpd.LogisticPD if rng.random() < 0.5 else skpd.PdproxSVC)(**options)
        if isinstance(estimator, skpd.PdproxSVC):
            estimator.set_params(loss="logistic")
    else:
        estimator = (skpd.OrdinalPD if kind == "ordinal" else skpd.LogisticPD)(**options)

    def directions(columns):
        A = X[:, columns]
        if kind == "ordinal":
            return separations.of_order(A, y, K)
        A = np.column_stack([A, np.ones(n)])
        if kind == "logistic":
            return separations.of_labels(A, np.where(y > 0, 1.0, -1.0))
        return separations.of_softmax(A, y, K)

    return checked(Fit(estimator, X, y, names[place], {}), names, free, place, directions)


def of_means(rng, kind, separated):
    """Counts or costs that are 0 on a level, or wherever a feature is not 0."""
    X, names, factors, place = table(rng)
    n = len(X)
    y = rng.poisson(np.exp(0.3 * X[:, 0])).astype(float)
    level = rng.random(n) < 0.2
    y[level] = 0.0
    X[:, place] = level * (1.0 if rng.random() < 0.5 else rng.uniform(0.5, 2.0, n))
    rows = np.flatnonzero(level)
    if kind == "tweedie":
        y *= rng.gamma(2.0, size=n)
    if not separated and len(rows):
        y = changed(rng, y, rows, [1.0, 2.0])
    options, free = penalty_of(rng, factors)
    estimator = (skpd.PoissonPD if kind == "poisson" else skpd.TweediePD)(**options)

    def directions(columns):
        return separations.of_counts(np.column_stack([X[:, columns], np.ones(n)]), y)

    return checked(Fit(estimator, X, y, names[place], {}), names, free, place, directions)


def of_times(rng, separated):
    """Times censored on a level, or in the order of a feature."""
    X, names, factors, place = table(rng)
    n = len(X)
    time, event = rng.exponential(size=n), rng.random(n) < 0.6
    if rng.random() < 0.3:
        time = np.ceil(4.0 * time)
    if rng.random() < 0.6:
        X[:, place] = rng.random(n) < 0.2
        rows = np.flatnonzero(X[:, place])
        event[rows] = False
    else:
        X[:, place] = -time
        rows = np.flatnonzero(event)
    if not separated and len(rows):
        if event[rows].any():
            chosen = rng.choice(rows, 2, replace=False)
            X[chosen, place] = X[chosen[::-1], place]
        else:
            event = changed(rng, event, rows, [True])
    strata = rng.integers(0, 2, n) if rng.random() < 0.3 else None
    options, free = penalty_of(rng, factors)
    estimator = skpd.CoxPD(ties=str(rng.choice(["efron", "breslow"])), **options)
    stratum = np.zeros(n, int) if strata is None else strata

    def directions(columns):
        entry = np.full(n, -np.inf)
        return separations.of_risk_sets(X[:, columns], entry, time, event, stratum)

    fit = Fit(estimator, X, np.column_stack([time, event]), names[place], {"strata": strata})
    return checked(fit, names, free, place, directions)


def checked(fit, names, free, place, directions):
    """The fit with the name that separates, or None where other columns do too."""
    columns = np.flatnonzero(free)
    separates = directions(columns).separate()
    if separates and directions(columns[columns != place]).separate():
        return None
    X = pd.DataFrame(fit.X, columns=names)
    return Fit(fit.estimator, X, fit.y, fit.named if separates else None, fit.more)


KINDS = {
    "logistic": lambda rng, separated: of_classes(rng, "logistic", separated),
    "softmax": lambda rng, separated: of_classes(rng, "softmax", separated),
    "ordinal": lambda rng, separated: of_classes(rng, "ordinal", separated),
    "poisson": lambda rng, separated: of_means(rng, "poisson", separated),
    "tweedie": lambda rng, separated: of_means(rng, "tweedie", separated),
    "cox": of_times,
}


def other_fit(rng, name):
    """A problem of the campaign that nothing separates, or None."""
    case = MODELS[name](rng)
    if case.directions is not None and case.directions.separate():
        return None
    arguments = dict(case.arguments)
    X, y = arguments.pop("X"), arguments.pop("y")
    return Fit(case.estimator, X, y, None, arguments)


def drawn(kind, separated, seed, number):
    """A fit of a kind, drawn until it separates, or does not.

    Half of those that do not separate are of the other campaign.
    """
    for attempt in range(100):
        rng = np.random.default_rng([seed, number, attempt, int(separated)])
        own, step = separated or number % 2, number // 2
        name = UNSEPARATED[step % len(UNSEPARATED)]
        fit = KINDS[kind](rng, separated) if own else other_fit(rng, name)
        if fit is not None and (fit.named is not None) == separated:
            return fit
    raise RuntimeError(f"no problem of {kind} was found")


def outcome(fit):
    """What a fit says: "silent", "named", "misnamed" or "refused", and the words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fit.estimator.fit(fit.X, fit.y, **fit.more)
        except ValueError as error:
            return "refused", str(error)
        except Exception as error:  # counted as such
            return "error", repr(error)
    said = [str(w.message) for w in caught if WORD in str(w.message).lower()]
    if not said:
        return "silent", "; ".join(str(w.message).splitlines()[0] for w in caught)
    known = getattr(fit.X, "columns", ())
    names = {name for name in known if re.search(rf"\b{name}\b", said[0])}
    return "named" if names == {fit.named} else "misnamed", said[0]


SAID = ("named", "misnamed", "silent", "refused", "error")


def campaign(count, seed, shown=3):
    """Print what fits say of separation; returns 1 where one says something wrong."""
    wrong = 0
    for separated, total in ((True, count), (False, 5 * count)):
        print(heading("separated" if separated else "not separated", SAID))
        for which, kind in enumerate(KINDS):
            tally, left, expected = Counter(), shown, "named" if separated else "silent"
            for number in range(total // len(KINDS) + (which < total % len(KINDS))):
                fit = drawn(kind, separated, seed + which, number)
                what, words = outcome(fit)
                tally[what] += 1
                if what not in (expected, "refused") and left:
                    left -= 1
                    print(f"   {kind} {number}, {fit.named}: {what}: {words}", flush=True)
            print(counts(kind, tally, SAID), flush=True)
            wrong += tally.total() - tally[expected]
    return 1 if wrong else 0

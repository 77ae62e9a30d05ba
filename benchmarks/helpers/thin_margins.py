"""Fits whose classes, counts or times are separated by a tiny margin, or overlap by as little.

Rows lie on a line, x < 0 on one side and x > 0 on the other, the nearest at -margin and margin.
With these two exchanged nothing separates. Another feature has each of its values for two rows
that are alike otherwise, with both signs: it can neither help nor hinder, as the mean over both
signs of any direction that separates does too. So the answer is known exactly.
"""

import warnings
from collections import Counter

import numpy as np

import skpd
from benchmarks.helpers.campaigns import counts, heading
from benchmarks.helpers.separated_cases import WORD

UNDECIDED = "could not be decided"
EXPONENTS = range(20, 61)
DECIDED_ABOVE = 40  # exponents of margins up to this one must be decided
SHARE = 0.1  # of the problems that may be undecided


def line(rng, margin, overlaps):
    """The places on the line, in halves of increasing x, and which are on the upper side."""
    n = int(rng.integers(4, 20))
    x = np.sort(rng.integers(1, 120, 2 * n)) / rng.choice([16.0, 64.0])
    x[:n] = -x[:n]
    x = np.concatenate([x[:n], [-margin, margin], x[n:]])
    upper = x > 0.0
    if overlaps:
        near = np.abs(x) == margin
        upper[near] = ~upper[near]
    return x, upper


def table(rng, x):
    """The line, a multiple of it or a column of zeros, and a feature of both signs."""
    z = rng.normal(size=len(x))
    rows, places = np.concatenate([x, x]), np.concatenate([z, -z])
    other = rng.choice([0.0, 1.0, 2.0, 0.5])
    return np.column_stack([rows, other * rows, places])[:, rng.permutation(3)]


def drawn(kind, rng, margin, overlaps):
    """An estimator without a penalty, X and y."""
    x, upper = line(rng, margin, overlaps)
    tol = float(rng.choice([1e-4, 1e-6]))
    if kind == "cox":  # the later an event, the smaller x; all are events
        time = np.argsort(np.argsort(-x)) + 1.0
        if overlaps:
            pair = np.flatnonzero(np.abs(x) == margin)
            time[pair] = time[pair[::-1]]
        y = np.column_stack([time, np.ones(len(x))])
        if rng.random() < 0.4:  # late entries, before all events
            y = np.column_stack([0.5 * rng.random(len(x)), y])
        return skpd.CoxPD(alpha=0.0, tol=tol), table(rng, x), np.vstack([y, y])
    if kind == "poisson":  # counts of 0 on one side, all others at x = 0
        counts = np.where(upper | (x > 0.0), rng.poisson(2.0, len(x)) + 1.0, 0.0)
        x = np.where(counts > 0.0, 0.0, x)
        if overlaps:  # a count of 0 on the other side as well
            x, counts = np.append(x, margin), np.append(counts, 0.0)
        X = table(rng, x)
        return skpd.PoissonPD(alpha=0.0, tol=tol), X, np.tile(counts, 2)
    y = upper.astype(int)
    if kind == "ordinal":  # a third class far above
        y[x > np.sort(x)[-3]] = 2
    if kind == "softmax":  # a third class that takes turns with the second one
        y[np.flatnonzero(x > margin)[::2]] = 2
    models = {
        "logistic": skpd.LogisticPD(alpha=0.0, tol=tol),
        "svc": skpd.PdproxSVC(alpha=0.0, loss="logistic", tol=tol),
        "softmax": skpd.MultinomialPD(alpha=0.0, tol=tol),
        "ordinal": skpd.OrdinalPD(alpha=0.0, tol=tol),
    }
    return models[kind], table(rng, x), np.tile(y, 2)


KINDS = "logistic", "svc", "softmax", "ordinal", "poisson", "cox"


def outcome(model, X, y):
    """ "alarm", "undecided" or "silent"."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    words = " ".join(str(w.message).lower() for w in caught)
    return "alarm" if WORD in words else "undecided" if UNDECIDED in words else "silent"


COLUMNS = ("problems", "false alarms", "false silence", "undecided", "above 2^-40")


def margins(count, seed):
    """Print what fits say of tiny margins and overlaps; returns the number of faults."""
    print(heading("kind", COLUMNS))
    faults = 0
    for which, kind in enumerate(KINDS):
        tally = Counter()
        for number in range(count // len(KINDS)):
            rng = np.random.default_rng([seed, which, number])
            exponent = EXPONENTS[number // 2 % len(EXPONENTS)]
            overlaps = bool(number % 2)
            said = outcome(*drawn(kind, rng, 2.0**-exponent, overlaps))
            tally["problems"] += 1
            tally["false alarms"] += said == "alarm" and overlaps
            tally["false silence"] += said == "silent" and not overlaps
            tally["undecided"] += said == "undecided"
            tally["above 2^-40"] += said == "undecided" and exponent <= DECIDED_ABOVE
            if said != ("silent" if overlaps else "alarm"):
                print(f"   {kind} {number}, 2^-{exponent}, overlaps {overlaps}: {said}")
        print(counts(kind, tally, COLUMNS))
        faults += tally["false alarms"] + tally["false silence"] + tally["above 2^-40"]
        faults += tally["undecided"] > SHARE * tally["problems"]
    return faults

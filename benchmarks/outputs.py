"""Several outputs, tasks and classes: certified, and never above an independent optimum.

Every problem draws a loss and a penalty of MultiTaskPD, with one X or tasks, or of MultinomialPD,
and awkward data. Clarabel solves it as `tests.oracles.output_models` writes it. As every value of
the objective is above the optimum, no certified lower bound may be above the value at Clarabel's
solution. Fits at tol = 1e-9 must come within 1e-7 of that.
"""

import time
import warnings
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from skpd import MultinomialPD, MultiTaskPD, certify
from tests.oracles.optima import NotSolved
from tests.oracles.output_models import (
    CLASSES,
    MARGINS,
    PENALTIES,
    RESIDUALS,
    Model,
    about_largest_alpha,
    best_constants,
    optimum,
)

TOL = 1e-9
ALLOWED = 1e-10  # of lower bounds above the optimum, relative to the best constant's objective
CLOSE = 1e-7  # of objectives to the optimum
WORST = 5  # fits listed of each method
DRAWN_PENALTIES = [*((name, 1.0) for name in PENALTIES), ("l21", 0.5), ("l1", 0.5)]
CLASS_TIMES = 3  # the models of classes are few
LAYOUTS = [np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array]


@dataclass
class Drawn:
    """A problem as an estimator takes it."""

    model: Model
    X: object
    y: np.ndarray
    sample_weight: np.ndarray | None
    what: str

    def estimator(self, max_iter):
        model = self.model
        options = {
            "alpha": model.alpha, "loss": model.loss, "penalty": model.penalty,
            "l1_ratio": model.l1_ratio, "fit_intercept": model.fit_intercept, "tol": TOL,
            "max_iter": max_iter, "random_state": 0,
        }  # fmt: skip
        if model.loss in CLASSES:
            return MultinomialPD(**options)
        return MultiTaskPD(tasks=None if model.tasks is None else self.X.shape[1] - 1, **options)


def combinations():
    """(loss, penalty and l1_ratio, whether there are tasks), each as often as it is drawn."""
    found = []
    for penalty in DRAWN_PENALTIES:
        found += [(loss, penalty, False) for loss in (*RESIDUALS, *MARGINS)]
        found += [(loss, penalty, True) for loss in (*RESIDUALS, *MARGINS) if loss != "l2_norm"]
        found += [(loss, penalty, False) for loss in CLASSES] * CLASS_TIMES
    return found


def random_features(rng, n, d):
    """Features of which some are absent, scaled or far from 0, and what they are like."""
    X, like = rng.normal(size=(n, d)), ["plain"]
    if rng.random() < 0.25:
        X *= rng.random((n, d)) < 0.4
        like.append("zeros")
    if rng.random() < 0.3:
        X *= 10.0 ** rng.uniform(-3, 3, d)
        like.append("scaled")
    if rng.random() < 0.2:
        X += rng.choice([1.0, 30.0, 1000.0]) * rng.normal(size=d)
        like.append("shifted")
    if d > 2 and rng.random() < 0.1:
        X[:, 0] = X[:, 1]
        like.append("twins")
    return X, " ".join(like)


def random_weights(rng, n):
    kind = rng.integers(3)
    if kind == 0:
        return None
    weights = rng.uniform(0.05, 2.0, n)
    if kind == 2:
        weights[rng.random(n) < 0.2] = 0.0
    return weights


def labels_of_rows(rng, n, K):
    """Numbers of tasks or classes, each at least twice."""
    return rng.permutation(np.append(np.repeat(np.arange(K), 2), rng.integers(K, size=n - 2 * K)))


def random_problem(rng, loss, penalty, with_tasks):
    n, d, K = int(rng.integers(12, 41)), int(rng.integers(2, 11)), int(rng.integers(2, 6))
    X, like = random_features(rng, n, d)
    if rng.random() < 0.3:
        X, like = X.astype(np.float32), like + " float32"
    stored = X
    X = X.astype(np.float64)
    spread = X.std(axis=0)
    noise = rng.choice([0.02, 1.0, 5.0])  # labels are all but separable with the least
    signal = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0) @ rng.normal(size=(d, K))
    signal += noise * rng.standard_t(3, size=(n, K)) + 2.0 * rng.normal(size=K)
    tasks, weights = labels_of_rows(rng, n, K) if with_tasks else None, random_weights(rng, n)
    if loss in CLASSES:
        labels = np.argmax(signal, axis=1)
        labels[:K] = np.arange(K)
        target, y = (labels[:, None] == np.arange(K)).astype(float), labels
    else:
        if loss in MARGINS:
            y = np.where(signal > 0, 1.0, -1.0)
        else:
            y = signal * rng.choice([0.1, 1.0, 1.0, 10.0])
        if with_tasks:
            y = y[np.arange(n), tasks]
        target = y
    if weights is not None:
        of_each = tasks if with_tasks else labels if loss in CLASSES else None
        if of_each is not None:  # every task and every class has samples of positive weight
            weights[np.unique(of_each, return_index=True)[1]] = 1.0
    if with_tasks:
        stored = np.column_stack([stored, tasks.astype(stored.dtype)])
    layout = LAYOUTS[rng.integers(len(LAYOUTS))]
    shares = np.ones(n) if weights is None else weights
    model = Model(
        X, target, shares / shares.sum(), tasks, K, loss, *penalty, bool(rng.random() < 0.6)
    )
    what = f"n={n} d={d} K={K} {like} noise={noise} {layout.__name__}"
    return Drawn(model, layout(stored), y, weights, what)


def with_alpha(rng, drawn):
    """The unit of the objective, once alpha is drawn; None where constants fit perfectly."""
    b, unit = best_constants(drawn.model)
    if not unit > 1e-6:
        return None
    largest = about_largest_alpha(drawn.model, b, unit)
    if not largest > 0.0:
        return None
    drawn.model.alpha = float(largest * 10.0 ** rng.uniform(-3, -1))
    return unit


class Tally:
    """What was found, and the lines that say so."""

    def __init__(self):
        self.fits = defaultdict(list)
        self.violations = defaultdict(int)
        self.excess = self.definitions = self.reference = -np.inf
        self.rigorous = self.unsolved = self.unfinished = 0

    def report(self, kind, line):
        self.violations[kind] += 1
        print(f"{kind}: {line}", flush=True)

    def summary(self):
        for method, fits in sorted(self.fits.items()):
            gaps, seconds = (np.array([fit[i] for fit in fits]) for i in (0, 1))
            print(
                f"\n{method}: {len(fits)} fits, {np.sum(gaps > TOL)} not certified to {TOL:g}, "
                f"largest gap {gaps.max():.1e}, seconds: median {np.median(seconds):.3f}, "
                f"longest {seconds.max():.2f}"
            )
            order = sorted(fits, key=lambda fit: (-max(fit[0], TOL), -fit[1]))
            for gap, time_of, n_iter, line in order[:WORST]:
                print(f"  gap {gap:.1e}, {time_of:.2f} s, {n_iter} iterations: {line}")


def check(drawn, unit, index, options, tally):
    """Fit a problem and compare the model and its certificate with the reference."""
    try:
        reference = optimum(drawn.model, unit)
    except NotSolved:
        tally.unsolved += 1
        return
    estimator, model, start = drawn.estimator(options.max_iter), drawn.model, time.perf_counter()
    line = (
        f"problem {index} of seed {options.seed}: {model.loss} {model.penalty} "
        f"l1_ratio={model.l1_ratio} tasks={model.tasks is not None} "
        f"fit_intercept={model.fit_intercept} alpha={model.alpha:.3g} {drawn.what}"
    )
    try:
        estimator.fit(drawn.X, drawn.y, sample_weight=drawn.sample_weight)
    except Exception as error:
        tally.report("RAISED", f"{type(error).__name__}: {error}, {line}")
        return
    seconds = time.perf_counter() - start
    certificate = estimator.certificate_
    primal = float(model.objective(estimator.coef_.T, estimator.intercept_))
    upper = min(primal, reference[0])
    excess, behind = (certificate.dual - upper) / unit, (primal - reference[0]) / unit
    tally.excess = max(tally.excess, excess)
    tally.definitions = max(tally.definitions, abs(reference[0] - reference[1]) / unit)
    tally.reference = max(tally.reference, -behind)
    if excess > ALLOWED:
        tally.report("ABOVE", f"a lower bound by {excess:.1e} above the optimum, {line}")
    if abs(certificate.primal - primal) > 1e-9 * unit + 1e-12 * abs(primal):
        tally.report("PRIMAL", f"{certificate.primal!r} for an objective of {primal!r}, {line}")
    if behind > CLOSE:
        tally.report("FAR", f"{behind:.1e} above the optimum, {line}")
    gap = certificate.relative_gap
    tally.unfinished += not estimator.converged_
    if gap > 0.0 and abs(certificate.gap / gap / unit - 1.0) > 1e-6:
        tally.report("UNIT", f"{certificate.gap / gap!r} in place of {unit!r}, {line}")
    tally.fits[estimator.solver_].append((gap, seconds, estimator.n_iter_, line))
    if index % options.rigorous_every == 0 and model.tasks is None:
        _check_rigorous(drawn, estimator, upper, unit, line, tally)


def _check_rigorous(drawn, estimator, upper, unit, line, tally):
    try:
        found = certify(estimator, drawn.X, drawn.y, drawn.sample_weight, rigorous=True)
    except Exception as error:
        tally.report("RAISED", f"certify: {type(error).__name__}: {error}, {line}")
        return
    tally.rigorous += 1
    excess = (found.dual - upper) / unit
    if excess > ALLOWED / 100:
        tally.report("ABOVE", f"a rigorous bound by {excess:.1e} above the optimum, {line}")


OPTIONS = {
    "--problems": 300,
    "--seed": 0,
    "--max-iter": 6_000,
    "--rigorous-every": (4, "problems, without tasks"),
    "--only": {"type": int, "help": "the number of one problem"},
}


def main(options):
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", message="Solution may be inaccurate")
    all_of_them, start, tally = combinations(), time.perf_counter(), Tally()
    order = np.random.default_rng(options.seed).permutation(len(all_of_them))
    numbers = range(options.problems) if options.only is None else [options.only]
    for index in numbers:
        rng = np.random.default_rng((options.seed, index))
        chosen = all_of_them[order[index % len(order)]]
        unit = None
        while unit is None:
            drawn = random_problem(rng, *chosen)
            unit = with_alpha(rng, drawn)
        check(drawn, unit, index, options, tally)
    tally.summary()
    counts = ", ".join(f"{count} {kind}" for kind, count in tally.violations.items()) or "none"
    print(
        f"\n{len(numbers)} problems, {time.perf_counter() - start:.0f} s, {tally.unsolved} not "
        f"solved, {tally.unfinished} not certified to {TOL:g}, {tally.rigorous} "
        f"certified rigorously; violations: {counts}; lower bounds are at most "
        f"{tally.excess:.1e} above the least objective found, Clarabel's points at most "
        f"{tally.reference:.1e} above skpd's and {tally.definitions:.1e} off CVXPY's own value"
    )
    raise SystemExit(1 if tally.violations else 0)

"""An efficient primal dual prox method for non-smooth optimization

Tianbao Yang, Mehrdad Mahdavi, Rong Jin and Shenghuo Zhu, Machine Learning 98, 2015. MEMset Donar,
webspam, covtype, rcv1 and MovieLens are not at hand. ``sequences`` are generated as the first of
them is described: 7 letters, and all their combinations of up to three places, 2,604 features of
norm 1 in 63 groups. The curves of figures are replaced by what they show after a number of
iterations: the excess of the objective over the certified optimum, as a share of the objective at
w = 0.

**What was claimed.** Pdprox is faster than gradient descent, FOBOS, RDA and accelerated gradients
and, with groups, than the excessive gap technique; two step sizes gain a factor of twenty after
150 iterations; few multipliers make it faster, and robust to labels that are wrong. **What we
saw.** It is ahead of the excessive gap technique at each number of iterations. Two steps gain a
factor of 2 to 55 after 150 iterations, the more the larger lambda is. Few multipliers make the gap
fall faster. FOBOS and RDA are compared with averages of Pdprox in figure 2. With lambda = 1e-3
they are ahead, but for FOBOS with the absolute loss after 1,000 iterations. With 1e-5 and the
hinge loss they are behind after 30 iterations, ahead after 150, and about level after 1,000; with
the absolute loss they are ahead after 30 only, and then 2 to 5 times as far from the optimum.
Accelerated gradients on a loss whose smoothing decreases are ahead of all of these.
**Why they differ.** The best ratio of steps depends on the data and on lambda. With few
multipliers the accuracy on wrong labels is that of stopping early: at the optimum of that model
all coefficients are 0. The first steps of FOBOS and RDA are tuned, as in the paper, and the steps
of Pdprox, which the paper tunes too, are not tuned here.
"""

import time
import warnings
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from benchmarks.helpers.data import dataset, load
from benchmarks.papers import Table, text
from benchmarks.papers.data import is_at_hand, named
from benchmarks.papers.excessive_gap import Saddle, excessive_gap
from benchmarks.papers.subgradients import METHODS, Composite, tuned
from skpd import MatrixCompletionPD, MultiTaskPD, PdproxRegressor, PdproxSVC
from skpd.designs import Design
from skpd.kernels import project_box_hyperplane
from skpd.losses import Absolute, Hinge
from skpd.penalties import GroupL2
from skpd.problems import linear_problem
from skpd.solvers import solve

FIGURE = (
    "The excess of the objective over iterations, on logarithmic axes, for the breast cancer "
    "data. With the group lasso and with a squared l2 norm averages fall as one over the "
    "iterations, last iterates are below them, and two step sizes are below one."
)
CONTENTS = (
    ("Algorithm 1", "``solver='pdprox-dual'`` of `~skpd.PdproxSVC` and its relatives"),
    ("Algorithm 2", "``solver='pdprox-primal'``"),
    ("Algorithm 3", "``solver='pdprox-dual'``, ``solver_options={'algorithm': 3}``"),
    (
        "Section 4.4, two step sizes; double-primal and double-dual",
        "the options ``step_ratio`` and ``implementation``",
    ),
    (
        "(18), nonlinear models",
        "``solver='pdprox-dual'`` of `~skpd.KernelPdproxSVC` and `~skpd.MKLClassifier`",
    ),
    ("(19), few multipliers", "``PdproxSVC(noise_budget=m)``"),
    ("Pdprox-ac", "the option ``accelerated``"),
    ("Lemma 3 and Appendix A, the constant c", "not here: the norm itself is computed"),
    ("Figure 1", "the losses of `skpd.losses`"),
    ("Figure 2", "below, on generated data"),
    ("Figure 3", "below, as errors"),
    ("Figure 4, MovieLens", "below, on generated data, with the absolute loss"),
    (
        "Figure 5 (a, b), the excessive gap technique",
        "below, on generated data; (c) to (f) not here: the baseline is written for groups",
    ),
    ("Figure 6, convergence for several m", "below, as iterations to a gap"),
    ("Figure 7", "not here: ``implementation`` changes what is kept, and not the iterates"),
    ("Figure 8", "below"),
    ("Table 1", "below, for a9a"),
)

AFTER = (30, 150, 1000)  # iterations
HEADER = ["data", "lambda", "method", *(f"after {n}" for n in AFTER)]
RATIOS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 0.001)  # of the dual to the primal step


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def excess(X, y, optimum, n_iter, model=None, **parameters):
    """The share of the objective of w = 0 by which that of an iterate is above the optimum."""
    model = (model or PdproxSVC(fit_intercept=False)).set_params(**parameters)
    found = fitted(model.set_params(tol=0.0, max_iter=n_iter), X, y)
    history = found.gap_history_
    return (history["iterate_primal"][-1] - optimum) / history["primal"][0]


def sequences(n=4000, letters=4, places=7):
    """Sequences with the indicators of the letters at up to three places, and their groups."""
    rng = np.random.default_rng(0)
    code = rng.integers(letters, size=(n, places))
    groups = [some for k in (1, 2, 3) for some in combinations(range(places), k)]
    columns, sizes, first = [], [], 0
    for some in groups:
        columns.append(first + code[:, some] @ letters ** np.arange(len(some)))
        sizes.append(letters ** len(some))
        first += sizes[-1]
    ones = np.full(n * len(groups), 1.0 / np.sqrt(len(groups)))
    rows = np.repeat(np.arange(n), len(groups))
    X = sp.csr_array((ones, (rows, np.stack(columns, axis=1).ravel())), shape=(n, first))
    score = np.isin(code[:, 2], (0, 1)) * 1.0 + (code[:, 3] == code[:, 4])
    score += 0.8 * rng.normal(size=n)
    return X, np.where(score > np.median(score), 1.0, -1.0), sizes


def group_lassos():
    """X, y, the sizes of groups, lambda with the parameters of the fit, and the optimum."""
    X, y, sizes = sequences()
    for lam in (1e-3, 1e-5):
        shared = {"alpha": lam, "penalty": GroupL2(sizes)}
        best = PdproxSVC(fit_intercept=False, tol=1e-7, **shared).fit(X, y).certificate_.dual
        yield X, y, sizes, lam, shared, best


def grouped(Z, sizes, lam, loss):
    """The group lasso of signed rows Z = diag(y) X for first-order methods; 1 is the objective
    at w = 0 for both losses, as |y - z| = |1 - y z| for labels."""
    n, starts = Z.shape[0], np.concatenate([[0], np.cumsum(sizes)[:-1]])
    limits, transposed = lam * np.sqrt(sizes), Z.T.tocsr()

    def norms(w):
        return np.maximum(np.sqrt(np.add.reduceat(w * w, starts)), 1e-300)

    def errors(w):
        t = 1.0 - Z @ w
        return np.maximum(t, 0.0) if loss == "hinge" else t

    return Composite(
        np.zeros(Z.shape[1]),
        lambda w: np.mean(np.abs(errors(w))),
        lambda w: -transposed @ np.sign(errors(w)) / n,
        lambda w: limits @ norms(w),
        lambda w, step: w * np.repeat(np.maximum(1.0 - step * limits / norms(w), 0.0), sizes),
        lambda w: w * np.repeat(limits / norms(w), sizes),
    )


PDPROX = {
    "Algorithm 1": ("pdprox-dual", {}),
    "Algorithm 3": ("pdprox-dual", {"algorithm": 3}),
    "Algorithm 2": ("pdprox-primal", {}),
    "Algorithm 3, last iterate": ("pdprox-dual", {"algorithm": 3, "average": False}),
    "auto": ("auto", None),
}


def accelerated(X, y, loss, shared, best):
    """The excess after AFTER gradients of accelerated gradients on smoothed losses."""
    weights = np.full(len(y), 1.0 / len(y))
    problem = linear_problem(
        Design(X), y, weights, loss, shared["penalty"], shared["alpha"], False
    )
    found = []
    for n in AFTER:
        random_state = np.random.RandomState(0)
        options = {"tol": 0.0, "max_iter": n, "smoothing": "homotopy"}
        primal = solve(problem, "agm", random_state=random_state, **options).certificate.primal
        found.append((primal - best) / problem.objective_unit)
    return found


def figure_2():
    """The group lasso with the hinge loss, and with the absolute loss of the labels."""
    rows = []
    losses = {"hinge": (PdproxSVC, Hinge()), "absolute": (PdproxRegressor, Absolute())}
    for X, y, sizes, lam, shared, _ in group_lassos():
        Z = X.multiply(y[:, None]).tocsr()
        for loss, (estimator, function) in losses.items():
            model = estimator(loss=loss, fit_intercept=False, **shared)
            best = clone(model).set_params(tol=1e-7).fit(X, y).certificate_.dual
            found = {
                method: [
                    excess(X, y, best, n, clone(model), solver=solver, solver_options=options)
                    for n in AFTER
                ]
                for method, (solver, options) in PDPROX.items()
            }
            for method in METHODS:
                objectives = tuned(grouped(Z, sizes, lam, loss), method, AFTER[-1], AFTER[1])
                found[method] = [objectives[n - 1] - best for n in AFTER]
            found["accelerated gradients"] = accelerated(X, y, function, shared, best)
            for method, values in found.items():
                cells = [f"{value:.1e}" for value in values]
                rows.append([f"sequences, {loss}", f"{lam:g}", method, *cells])
    note = (
        "An iteration of auto is a Newton step. Gradient descent, FOBOS and RDA have the best of "
        "21 first steps after 150 iterations, and their best iterate counts; the steps of Pdprox "
        "are not tuned, those of the paper are. Accelerated gradients are those of agm, with a "
        "smoothing that decreases."
    )
    return Table(HEADER, rows, note)


def pegasos(X, y, lam, epochs, rng):
    """Stochastic subgradients with steps 1 / (lam t), and the projection of the paper."""
    n, d = X.shape
    dense, w, t = X.toarray() * y[:, None], np.zeros(d), 0
    for _ in range(epochs):
        for i in rng.integers(n, size=n):
            t += 1
            w *= 1.0 - 1.0 / t
            if dense[i] @ w < 1.0:
                w += dense[i] / (lam * t)
            w *= min(1.0, 1.0 / (np.sqrt(lam) * max(np.linalg.norm(w), 1e-300)))
        yield w


def figure_8():
    """The SVM with a squared l2 norm: one step size, two, the accelerated variant, and Pegasos."""
    label, X, y = named("a1a")
    n, rows = len(y), []
    for power in (0.5, 0.8, 1.0):
        lam = n**-power
        shared = {"alpha": lam, "penalty": "l2"}
        best = PdproxSVC(fit_intercept=False, tol=1e-9, **shared).fit(X, y).certificate_.dual

        def after(options, best=best, shared=shared):
            return [
                excess(X, y, best, k, solver="pdprox-dual", solver_options=options, **shared)
                for k in AFTER
            ]

        plain = {"algorithm": 3, "average": False}
        found = {"one step": after(plain)}
        by_ratio = {ratio: after({**plain, "step_ratio": ratio}) for ratio in RATIOS}
        ratio = min(by_ratio, key=lambda r, table=by_ratio: table[r][1])
        found[f"two steps, sigma / tau = {ratio:g}"] = by_ratio[ratio]
        accelerated = {**plain, "accelerated": True, "step_ratio": ratio}
        found["accelerated, the same steps"] = after(accelerated)
        seen = []
        for epoch, w in enumerate(pegasos(X, y, lam, AFTER[1], np.random.default_rng(0)), 1):
            if epoch in AFTER:
                loss = np.mean(np.maximum(1.0 - y * (X @ w), 0.0))
                seen.append(loss + 0.5 * lam * float(w @ w) - best)
        found["Pegasos, epochs"] = seen
        for method, values in found.items():
            cells = [f"{value:.1e}" for value in values]
            rows.append([label, f"n^-{power:g}", method, *cells, *["-"] * (3 - len(cells))])
    note = (
        "The paper, on covtype, reads 7e-2 to 1e-1 after 150 iterations with one step and 4e-3 to "
        "5e-3 with two. The two steps are the best after 150 iterations of the ratios that the "
        "paper tried; the product of the one step with itself is half of the largest allowed."
    )
    return Table(HEADER, rows, note)


def figure_3(n_splits=5):
    """The linf norm over the tasks and the absolute loss, on 139 schools: errors on 25 %."""
    header = ["lambda", "RMSE, paper", "here", "objective at 0, paper", "here", "relative gap"]
    if not is_at_hand():
        return Table(header, [], "The School data is not at hand.")
    data, rows = dataset("school"), []
    Z, y = data.X, data.response
    for lam in (1e-3, 1e-5):
        found = []
        for seed in range(n_splits):
            rng, train = np.random.default_rng(seed), np.zeros(len(y), dtype=bool)
            for school in np.unique(Z[:, 0]):
                some = rng.permutation(np.flatnonzero(Z[:, 0] == school))
                train[some[: round(0.75 * len(some))]] = True
            model = MultiTaskPD(
                lam, tasks=0, loss="absolute", penalty="l1inf", fit_intercept=False, tol=1e-3,
                max_iter=3000,
            )  # fmt: skip
            fitted(model, Z[train], y[train])
            error = np.sqrt(np.mean((model.predict(Z[~train]) - y[~train]) ** 2))
            gap = model.certificate_.relative_gap
            found.append([error, np.mean(np.abs(y[train])), gap])
        (error, zero, _), spread = np.mean(found, axis=0), np.std(found, axis=0)[0]
        gap = f"{np.max(found, axis=0)[2]:.0e}"
        errors = f"{error:.2f} +- {spread:.2f}"
        rows.append([f"{lam:g}", "10.34", errors, "20.52", f"{zero:.2f}", gap])
    note = (
        f"Means and standard deviations of {n_splits} splits of the students, the largest gap; "
        "the paper does not say which split is its."
    )
    return Table(header, rows, note)


def ratings(n_users=943, n_films=1682, n_ratings=100_000, rank=5):
    """Pairs and ratings from 1 to 5, as many as in MovieLens 100K, more of popular films."""
    rng = np.random.default_rng(0)
    share = np.outer(np.arange(1, n_users + 1) ** -0.5, np.arange(1, n_films + 1) ** -0.7).ravel()
    places = rng.choice(share.size, size=n_ratings, replace=False, p=share / share.sum())
    i, j = np.divmod(places, n_films)
    U, V = rng.normal(size=(n_users, rank)), rng.normal(size=(n_films, rank))
    z = 3.5 + 0.3 * np.sum(U[i] * V[j], axis=1) + 0.4 * rng.normal(size=n_users)[i]
    z += 0.5 * rng.normal(size=n_films)[j] + 0.7 * rng.normal(size=n_ratings)
    return np.column_stack([i, j]), np.clip(np.round(z), 1.0, 5.0)


def completion(pairs, y, lam, shape=(943, 1682)):
    """The absolute loss of a matrix with a trace norm, for first-order methods."""
    i, j = pairs.T

    def residual_signs(W):
        signs = np.zeros(shape)
        signs[i, j] = np.sign(W[i, j] - y) / len(y)
        return signs

    def shrunk(W, step):
        squares, vectors = np.linalg.eigh(W @ W.T)
        values = np.sqrt(np.maximum(squares, 0.0))
        scale = np.maximum(1.0 - step * lam / np.maximum(values, 1e-300), 0.0)
        return (vectors * scale) @ (vectors.T @ W)

    return Composite(
        np.zeros(shape),
        lambda W: np.mean(np.abs(W[i, j] - y)),
        residual_signs,
        lambda W: lam * np.sum(np.sqrt(np.maximum(np.linalg.eigvalsh(W @ W.T), 0.0))),
        shrunk,
    )


def figure_4():
    """The trace norm and the absolute loss on 100,000 generated ratings of 943 by 1,682."""
    rows, (pairs, y) = [], ratings()
    for lam in (1e-3, 1e-5):
        model = MatrixCompletionPD(lam, loss="absolute", biases=False)
        best = fitted(clone(model).set_params(tol=1e-5, max_iter=1000), pairs, y).certificate_
        unit, found = best.dual + best.gap / best.relative_gap, {}
        for method in ("Algorithm 1", "Algorithm 3, last iterate", "auto"):
            solver, options = PDPROX[method]
            some, start = clone(model).set_params(solver=solver), time.perf_counter()
            some.set_params(solver_options=options, tol=0.0, max_iter=AFTER[1])
            history = fitted(some, pairs, y).gap_history_
            values = [
                (history["iterate_primal"][history["n_iter"] <= n][-1] - best.dual) / unit
                for n in AFTER[:2]
            ]
            found[method] = values, time.perf_counter() - start
        problem = completion(pairs, y, lam)
        for method in ("FOBOS", "RDA"):
            objectives = tuned(problem, method, AFTER[1], AFTER[0], exponents=range(9, 19, 3))
            start = time.perf_counter()
            problem.prox(problem.start - problem.loss_slope(problem.start), 1.0)
            seconds = AFTER[1] * (time.perf_counter() - start)
            found[method] = [(objectives[n - 1] - best.dual) / unit for n in AFTER[:2]], seconds
        for method, (values, seconds) in found.items():
            cells = [f"{value:.1e}" for value in values]
            rows.append(["like MovieLens", f"{lam:g}", method, *cells, f"{seconds:.0f}"])
    note = (
        "The paper, with lambda = 1e-3, needs 1e3 seconds to an accuracy of 1e-3 with Pdprox and "
        "3.2e4 with accelerated gradients. FOBOS and RDA have the best of four first steps after "
        "30 iterations, and their seconds are those of 150 such steps. Max-margin factorisation "
        "with the thresholds (0, 3, 6, 9) is not here: thresholds are fitted."
    )
    return Table([*HEADER[:-1], "seconds of 150"], rows, note)


def figure_5():
    """Pdprox-dual against the excessive gap technique (Pdexg): the group lasso of figure 2."""
    rows = []
    for X, y, sizes, lam, shared, best in group_lassos():
        saddle = Saddle(sp.csr_array(X.multiply(y[:, None])), np.array(sizes), lam)
        states = enumerate(excessive_gap(saddle, AFTER[-1]), 1)
        found = {
            "Pdexg": [saddle.objective(state.w) - best for k, state in states if k in AFTER],
            "Pdprox-dual": [excess(X, y, best, n, solver="pdprox-dual", **shared) for n in AFTER],
        }
        for method, values in found.items():
            rows.append(["sequences", f"{lam:g}", method, *(f"{e:.1e}" for e in values)])
    note = (
        "An iteration of Pdprox-dual takes two products with X or its transpose, beside those of "
        "certificates, one of Pdexg three. Pdexg starts with levels of smoothing of the same "
        "effect."
    )
    return Table(HEADER, rows, note)


def averages(X, y, m):
    """The averages of Algorithm 1 for (19), each with its objective value and gap."""
    n, d = X.shape
    size = np.linalg.norm((X.T @ X).toarray(), 2) ** 0.5 / n
    step, lam, zeros, ones = 1.0 / (np.sqrt(2.0) * size), 1.0 / n, np.zeros(n), np.ones(n)

    def projected(p):
        clipped = np.clip(p, 0.0, 1.0)
        return clipped if clipped.sum() <= m else project_box_hyperplane(
            p, zeros, ones, ones, ones, float(m)
        )  # fmt: skip

    w, beta, sums = np.zeros(d), zeros, [np.zeros(d), zeros]
    for t in range(1, 10_000):
        p = projected(beta + step * (1.0 - y * (X @ w)) / n)
        w = (w + step * (X.T @ (y * p)) / n) / (1.0 + step * lam)
        beta = projected(beta + step * (1.0 - y * (X @ w)) / n)
        sums = [sums[0] + w, sums[1] + p]
        mean, multipliers = sums[0] / t, sums[1] / t
        worst = np.sort(1.0 - y * (X @ mean))[-m:]
        primal = np.maximum(worst, 0.0).sum() / n + 0.5 * lam * mean @ mean
        v = X.T @ (y * multipliers) / n
        yield mean, primal, primal - (multipliers.sum() / n - v @ v / (2.0 * lam))


def figure_6():
    """Algorithm 1 for (19) with a budget of m multipliers: the first iteration below a gap."""
    rows, gaps = [], (1e-1, 1e-2, 1e-3)
    for name in ("a1a", "a9a"):
        label, X, y = named(name)
        for m in (100, 200, 400):
            first = {}
            for t, (_, _, gap) in enumerate(averages(X, y, m), 1):
                first |= {level: t for level in gaps if gap < level and level not in first}
                if len(first) == len(gaps):
                    break
            rows.append([label, str(m), *(text(first.get(level)) for level in gaps)])
    note = (
        "The iterations are the benchmark's own, and not those of an estimator. "
        "The paper, with these m on a9a, rcv1 and covtype, finds convergence faster with smaller "
        "m in its curves, as its bound says. A dash: not within 9,999 iterations."
    )
    return Table(["data", "m", *(f"gap {level:g}" for level in gaps)], rows, note)


def iterate_at_gap(X, y, m, gap):
    """The average of the iterates of Algorithm 1, at the first gap below the one given."""
    for mean, _, found in averages(X, y, m):
        if found < gap:
            return mean
    raise SystemExit("the iterates did not reach the gap")


def table_1(n_draws=3, m=200):
    """(19), a budget of m multipliers, on a9a with a fifth of the labels flipped: accuracy."""
    header = ["method", "accuracy, paper", "here", "seconds, paper", "here"]
    if not is_at_hand():
        return Table(header, [], "The a9a data is not at hand.")
    warnings.simplefilter("ignore", ConvergenceWarning)
    (X, y), (X_test, y_test), rows = load("a9a"), load("a9a.t"), {}
    n = len(y)

    def add(name, accuracy, seconds):
        rows.setdefault(name, []).append((accuracy, seconds))

    for seed in range(n_draws):
        noisy = np.where(np.random.default_rng(seed).random(n) < 0.2, -y, y)
        start = time.perf_counter()
        w = iterate_at_gap(X, noisy, m, 1e-3)
        accuracy = np.mean((X_test @ w > 0.0) == (y_test > 0.0))
        add("Algorithm 1 to a gap of 1e-3", accuracy, time.perf_counter() - start)
        svc = LinearSVC(loss="hinge", random_state=0)
        for name, model in {
            "its optimum": PdproxSVC(1.0 / n, penalty="l2", noise_budget=m),
            "optimum without a budget": PdproxSVC(1.0 / n, penalty="l2"),
            "LinearSVC, C = 1": svc,
            "LinearSVC, C by cross-validation": GridSearchCV(
                svc, {"C": np.logspace(-5, 0, 6)}, cv=3
            ),
        }.items():
            start = time.perf_counter()
            model.fit(X, noisy)
            add(name, model.score(X_test, y_test), time.perf_counter() - start)
    paper = {"Algorithm 1 to a gap of 1e-3": ("0.8344", "0.82"),
             "LinearSVC, C = 1": ("0.7890", "1.15")}  # fmt: skip
    found = []
    for name, values in rows.items():
        accuracy, seconds = np.mean(values, axis=0)
        theirs = paper.get(name, (None, None))
        found.append([name, theirs[0], f"{accuracy:.4f}", theirs[1], f"{seconds:.2f}"])
    note = (
        f"Means of {n_draws} draws, of 5 in the paper. The first row is computed by the benchmark "
        "itself, which stops Algorithm 1 at that gap, and not by an estimator; PdproxSVC with a "
        "noise_budget of m is in the second. The gain is that of stopping early: at the optimum "
        "with the budget all coefficients are 0, with an intercept and without."
    )
    return Table(header, found, note)


RESULTS = {
    "Figure 2": figure_2, "Figure 3": figure_3, "Figure 4": figure_4, "Figure 5": figure_5,
    "Figure 6": figure_6, "Figure 8": figure_8, "Table 1": table_1,
}  # fmt: skip

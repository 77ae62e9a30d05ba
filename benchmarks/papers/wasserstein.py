"""Fast epigraphical projection-based incremental algorithms for the Wasserstein robust SVM

Jiajin Li, Caihua Chen and Anthony Man-Cho So, NeurIPS 2020. The paper has times of MATLAB on a
Core i7-8700; those here are of one core, with certificates every 10 % of the epochs. A time counts
from the start of the fit to the first recorded iterate whose objective is at most the paper's for
that method, or 2e-6 above the optimum if that is more: the paper's numbers have six to seven
digits.

The step sizes are alpha_0 rho^k. The paper tunes both for each experiment, and its repository has
those of Figure 1 (a) and (e) alone; the presets of `skpd.solvers.published.incremental` are these
and the others used here.
The data sets a2a to a8a and ijcnn1 are not at hand, so that their rows are left out; ``like
ijcnn1`` is generated, with as many rows and features, and so is ``like a1a`` where a1a is not at
hand, beside which the paper's numbers are left out.

**What was claimed.** The hybrid method is faster than the proximal one (IPPA) in Tables 2, 7 and
8, and in Table 4 its overall performance dominates that of GS-ADMM; for a9a that table has the
same time for both. **What we saw.** The hybrid method is faster than IPPA on a1a and a9a in all of
Tables 2, 7 and 8. On a1a it is twice as fast as GS-ADMM, on a9a three times slower, to an accuracy
that GS-ADMM does not reach. **Why they differ.** The paper tuned the steps for each experiment;
here one preset serves both data. With c = 1 and the steps of this preset, projected subgradients
end above the optimum on a1a.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.papers import Table
from benchmarks.papers.admm import gs_admm
from benchmarks.papers.data import is_at_hand, named
from skpd import DRSVMClassifier
from skpd.solvers.published.incremental import PRESETS

FIGURE = (
    "The excess of the objective over epochs, on logarithmic axes, for generated data with the "
    "norms l1 and linf. The three incremental methods fall alike; the curve of the hybrid one "
    "has a small jump where it changes its method."
)
CONTENTS = (
    ("ISG, (5)", "``DRSVMClassifier(solver='isg')``"),
    ("IPPA, (6), with Propositions 3.1 and 6.2 to 6.4", "``solver='ippa'``"),
    ("The hybrid method, section 5.1", "``solver='hybrid'``"),
    (
        "Algorithm 1, the modified secant method",
        "in the proximal update of a row, for the norms l1 and linf",
    ),
    ("Algorithms for the l1 epigraph, and Moreau's identity for linf", "the projection of a step"),
    ("Algorithm 3, GS-ADMM", "the baseline of Table 4 here"),
    ("Table 1, step sizes", "the option ``scheme``"),
    ("Tables 2, 3, 4, 7 and 8", "below, for a1a and a9a"),
    ("Tables 5 and 6", "summaries of cases, all of which are in the proximal update"),
    ("Figure 1 (a), (e), (f)", "below; (f) with the steps of (e), as its own are not published"),
    ("Figure 1 (b) to (d)", "not here, because their steps are not published"),
)

EPSILON, KAPPA = 0.1, 1.0
ACCURACY = 2e-6
M_ISG, IPPA = "figure 1e, batch size 32", "table 2, ippa"
SHOWN = ["data", "method", "objective, paper", "here", "seconds, paper", "here", "epochs"]
# The paper's objectives and seconds: M-ISG, IPPA, Hybrid
TABLE_2 = {
    "a1a": ((0.651090, 0.706), (0.651091, 6.1242), (0.651090, 1.560)),
    "a9a": ((0.642186, 2.285), (0.642186, 35.554), (0.642185, 3.063)),
}
TABLE_7 = {
    "a1a": ((0.7871456, 1.233), (0.7871450, 2.169), (0.7871445, 1.545)),
    "a9a": ((0.7767114, 3.018), (0.7767099, 9.295), (0.7767113, 6.203)),
}
TABLE_8 = {
    "a1a": ((0.7853266, 0.510), (0.7853265, 0.707), (0.7853265, 0.687)),
    "a9a": ((0.7750633, 3.368), (0.7750633, 6.706), (0.7750633, 4.371)),
}
TABLE_3 = {"a1a": (0.6339472, 5.517), "a9a": (0.6389162, 13.129)}
TABLE_4 = {"a1a": (4.789, 5.939), "a9a": (5.717, 5.717)}


def fitted(X, y, norm, ridge, **parameters):
    model = DRSVMClassifier(
        EPSILON, kappa=KAPPA, norm=norm, alpha=ridge, fit_intercept=False, random_state=0,
        **parameters,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def row(name, data, method, paper, optimum, norm, ridge, accuracy=ACCURACY, **parameters):
    """The time to the paper's objective or an accuracy; ``parameters`` are those of the fit."""
    model = fitted(*data, norm, ridge, **parameters)
    history = model.gap_history_
    objective, seconds = paper if is_at_hand() else (None, None)  # which are of other data
    target = max(objective or 0.0, optimum + accuracy)
    there = np.flatnonzero(history["iterate_primal"] <= target)
    reached = len(there) > 0
    found = history[there[0]] if reached else history[-1]
    return [
        name, method, f"{objective:.7f}" if objective else None,
        f"{history['iterate_primal'][there[0] if reached else -1]:.7f}", seconds,
        f"{found['seconds']:.2f}" if reached else f"ends after {found['seconds']:.2f}",
        str(int(found["n_iter"])),
    ]  # fmt: skip


def cells(table, norm, ridge, steps=None):
    """Rows for all methods of a table, with steps by default those of Table 2."""
    m_isg, ippa = steps or (M_ISG, IPPA)
    methods = (("isg", m_isg), ("ippa", ippa), ("hybrid", m_isg))
    rows = []
    for name, papers in table.items():
        name, *data = named(name)
        best = fitted(*data, norm, ridge, tol=1e-8).certificate_
        for (method, preset), paper in zip(methods, papers, strict=True):
            options = {"preset": preset}
            if method == "hybrid":  # whose proximal steps take the ratio of the others
                options["ratio"] = PRESETS[preset].ratio
            rows.append(row(name, data, method, paper, best.dual, norm, ridge, solver=method,
                            solver_options=options, tol=1e-7, max_iter=3000))  # fmt: skip
        rows.append(row(name, data, "auto", (None, None), best.dual, norm, ridge, tol=1e-6))
    return rows


def table_2():
    """The norm l1 on the coefficients, c = 0: M-ISG, IPPA and the hybrid method."""
    return Table(SHOWN, cells(TABLE_2, 1, 0.0))


def table_3():
    """The norm l2, c = 0, for which the paper has IPPA alone."""
    rows = []
    for name, paper in TABLE_3.items():
        name, *data = named(name)
        best = fitted(*data, 2, 0.0, tol=1e-8).certificate_
        for method, parameters in (
            ("ippa", {"solver": "ippa", "solver_options": {"preset": "table 4, a1a"},
                      "max_iter": 8000, "tol": 1e-7}),
            ("auto", {"tol": 1e-6}),
        ):  # fmt: skip
            given = paper if method == "ippa" else (None, None)
            rows.append(row(name, data, method, given, best.dual, 2, 0.0, **parameters))
    X, y = like_ijcnn1()
    best = fitted(X, y, 2, 0.0, tol=1e-8).certificate_
    for method, parameters in (
        ("ippa", {"solver": "ippa", "solver_options": {"preset": "table 3, ijcnn1"},
                  "max_iter": 1000, "tol": 1e-7}),
        ("auto", {"tol": 1e-6}),
    ):  # fmt: skip
        given = (None, None)
        rows.append(row("like ijcnn1", (X, y), method, given, best.dual, 2, 0.0, **parameters))
    note = "On ijcnn1 itself the paper has 0.4781876 after 20.567 s."
    return Table(SHOWN, rows, note)


def table_4():
    """The norm linf, c = 0: the hybrid method beside GS-ADMM, of which the paper has times."""
    rows = []
    for name, (hybrid, admm) in TABLE_4.items():
        name, X, y = named(name)
        best = fitted(X, y, np.inf, 0.0, tol=1e-8).certificate_
        options = {"preset": "table 4, a1a", "batch_size": 4}
        for method, seconds, parameters in (
            ("hybrid", hybrid, {"solver": "hybrid", "solver_options": options, "tol": 1e-7,
                                "max_iter": 8000, "accuracy": 2e-5}),
            ("auto", None, {"tol": 1e-6}),
        ):  # fmt: skip
            paper = None, seconds
            rows.append(row(name, (X, y), method, paper, best.dual, np.inf, 0.0, **parameters))
        objective, seconds = gs_admm(X.multiply(y[:, None]).toarray(), EPSILON, KAPPA)
        paper = admm if is_at_hand() else None
        rows.append([name, "GS-ADMM", None, f"{objective:.7f}", paper, f"{seconds:.2f}", None])
    note = (
        "The paper has times alone: that of the hybrid method here is to 2e-5 above the optimum. "
        "The paper prints the same time for both methods on a6a to a9a and on ijcnn1."
    )
    return Table(SHOWN, rows, note)


def table_7():
    """The norm l1 with c = 1."""
    return Table(SHOWN, cells(TABLE_7, 1, 1.0))


def table_8():
    """The norm linf with c = 1."""
    return Table(SHOWN, cells(TABLE_8, np.inf, 1.0))


def figure_1():
    """Epochs until the objective is within an accuracy of the optimum, with published steps."""
    paper, script = noisy_features(), noisy_scores()
    rows = []
    for part, data, norm, method, preset in (
        ("a", paper, np.inf, "isg", "figure 1a, isg"),
        ("a", paper, np.inf, "ippa", "figure 1a, ippa"),
        ("a, script", script, np.inf, "isg", "figure 1a, isg"),
        ("a, script", script, np.inf, "ippa", "figure 1a, ippa"),
        ("e", named("a1a")[1:], 1, "isg", "figure 1e, batch size 1"),
        ("e", named("a1a")[1:], 1, "isg", "figure 1e, batch size 32"),
        ("e", named("a1a")[1:], 1, "isg", "figure 1e, batch size 256"),
        ("f", named("a1a")[1:], 1, "hybrid", "figure 1e, batch size 32"),
    ):
        best = fitted(*data, norm, 0.0, tol=1e-9).certificate_
        model = fitted(*data, norm, 0.0, solver=method, solver_options={"preset": preset},
                       tol=1e-8, max_iter=10_000)  # fmt: skip
        history = model.gap_history_
        above = history["iterate_primal"] - best.dual
        epochs = [history["n_iter"][above <= e] for e in (1e-3, 1e-4, 1e-5, 1e-6)]
        own = PRESETS[preset]
        rows.append([
            part, method, own.first_step, f"{own.ratio:g}", str(own.batch_size),
            *(str(int(e[0])) if len(e) else "not" for e in epochs),
        ])  # fmt: skip
    header = ["part", "method", "alpha_0", "rho", "batch", "1e-3", "1e-4", "1e-5", "1e-6"]
    note = (
        "The paper shows curves: (a) of 1,000 generated rows of 100 features with noise, (e) and "
        "(f) of a1a. The norm and the steps of (a) are those of a script of its repository, which "
        'has 30 features and noise in the scores: "a, script". The steps of (f) are not '
        "published; these are those of (e)."
    )
    return Table(header, rows, note)


def noisy_features(n=1000, d=100):
    """Labels sign(w.(x + noise)), as the text of the paper has them."""
    rng = np.random.default_rng(0)
    X, coef = rng.normal(size=(n, d)), rng.normal(size=d)
    return X, np.where((X + 0.5 * rng.normal(size=(n, d))) @ coef > 0, 1.0, -1.0)


def noisy_scores(n=1000, d=30):
    """Labels sign(w.x + noise), as the script for figure 1 (a) has them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def like_ijcnn1():
    """49,990 rows of 22 features, a tenth of them positive: a one-hot digit and a random walk."""
    rng = np.random.default_rng(0)
    n = 49_990
    digit = np.eye(10)[rng.integers(10, size=n)]
    walk = 0.08 * np.cumsum(rng.normal(size=(n, 12)), axis=1)
    score = 8.0 * np.abs(walk[:, 5] * walk[:, 8]) + walk[:, :4].sum(axis=1)
    score += digit @ rng.normal(scale=0.3, size=10) + 0.3 * rng.normal(size=n)
    return np.hstack([digit, walk]), np.where(score > np.quantile(score, 0.903), 1.0, -1.0)


RESULTS = {
    "Table 2": table_2, "Table 3": table_3, "Table 4": table_4, "Table 7": table_7,
    "Table 8": table_8, "Figure 1": figure_1,
}  # fmt: skip

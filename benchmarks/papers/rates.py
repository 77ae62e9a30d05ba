"""Primal-dual rates and certificates

Celestine Dünner, Simone Forte, Martin Takáč and Martin Jaggi, ICML 2016. The paper proves how fast
the certified gap of an algorithm falls whose objective is known to converge, also for penalties
whose ordinary gap is infinite. Its figure shows coordinate descent (CD) and its accelerated kind
(APPROX) on the lasso and on the SVM, as curves without numbers. Here are the epochs, of as many
steps as there are coordinates, until the certified relative gap of the iterate itself is below
1e-2, 1e-4 and 1e-6, and the slope of the gap over the last two thirds of the epochs on logarithmic
axes. Beside it is the power of t with which the gap falls at least, by the paper's theorems. If
the objective converges as 1 / t^k, they say, the gap of the iterate falls as 1 / t^(k / 2): -1/2
for coordinate descent and -1 for APPROX, whose objective converges as 1 / t^2. The average of
the last iterates of coordinate descent has -1, and so has that of all, up to a logarithm. Powers
are of bounds on the gap, and the slope of a stretch of it can be less steep.
The data sets of the paper's lasso, and the alpha of its SVM, cannot be read from its text.

**What was claimed.** The gap of an average of coordinate descent falls as 1 / t, and so does that
of the iterates of APPROX; where the penalty is strongly convex, the gap of coordinate descent
falls linearly. **What we saw.** Slopes of -1.0 to -1.1 for averages of all iterates and of -2.0 to
-3.0 for APPROX, whose gap falls as fast as its objective is known to converge. Coordinate descent
itself is faster than its theory on the lasso, with slopes near -10; on the SVM its slopes are -0.4
to -4.4. With groups and total variation averages of Pdprox have slopes of -1.3 to -1.8.
**Why they differ.** Once the coefficients that are not 0 are known, the lasso is strongly convex
in those; the theory does not use this, and an average of all iterates never forgets its first
ones.
"""

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from benchmarks.papers import Table
from benchmarks.papers.data import named
from skpd import ElasticNetPD, LassoPDCertified, PdproxRegressor, PdproxSVC
from skpd.penalties import FusedLasso, GroupL2

FIGURE = (
    "Gaps of iterates over epochs, on logarithmic axes, for the breast cancer data. On the "
    "lasso coordinate descent falls steeply after a hundred epochs; averages of all iterates "
    "fall as one over the epochs, APPROX as their inverse square. On the dual of the SVM "
    "APPROX is ahead of coordinate descent, until both are near 1e-6 after a thousand epochs."
)
CONTENTS = (
    (
        "Algorithm 1, coordinate descent",
        "``solver='cd'`` of `~skpd.LassoPDCertified`, `~skpd.ElasticNetPD`, and "
        "of `~skpd.PdproxSVC` with ``penalty='l2'``; ``average`` and ``burn_in`` are options",
    ),
    ("APPROX of Fercoq and Richtarik", "``solver='approx'``"),
    ("The Lipschitzing trick", "every certificate of a norm: ``certificate_.kind``, ``radius``"),
    ("Theorems on the gap of any algorithm", "``gap_history_`` of every solver"),
    (
        "Lasso, elastic net, group lasso, total variation as problems (A)",
        "the penalties of "
        "`skpd.penalties`; coordinate methods for those that are sums over coordinates, "
        "others below with Pdprox",
    ),
    ("Figure 1, the trick", "the page on certificates of the user guide"),
    ("Figure 2, lasso and SVM", "below"),
)

EPOCHS = 1000
METHODS = {
    "CD": ("cd", {}),
    "CD, average of all": ("cd", {"average": True, "burn_in": 0.0}),
    "CD, average of the last half": ("cd", {"average": True}),
    "APPROX": ("approx", {}),
}
PDPROX = {
    "Pdprox, averages": ("pdprox-dual", {}),
    "Pdprox, iterates": ("pdprox-dual", {"algorithm": 3, "average": False}),
}
HEADER = ["data", "method", "theory", "slope", "1e-2", "1e-4", "1e-6"]
THEORY = {"CD": "-1/2", "CD, average of all": "-1", "CD, average of the last half": "-1",
          "APPROX": "-1", "Pdprox, averages": "-1", "Pdprox, iterates": "-"}  # fmt: skip
STRONGLY_CONVEX = {"CD": "linear", "APPROX": "-2"}


def data_sets():
    X, y = load_breast_cancer(return_X_y=True)
    return [("breast cancer", scale(X), 2.0 * y - 1.0), named("a1a"), named("reuters")]


def rows(model, shown=METHODS, theory=THEORY):
    """The epochs to each gap for every data set; ``model`` makes an estimator for X and y."""
    found = []
    for name, X, y in data_sets():
        for method in shown:
            solver, options = shown[method]
            estimator = model(X, y).set_params(
                solver=solver, solver_options=options, fit_intercept=False, tol=1e-9,
                max_iter=EPOCHS, random_state=0,
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                estimator.fit(X, y)
            history = estimator.gap_history_
            dual = history["iterate_dual"]
            gaps = (history["iterate_primal"] - dual) / (history["primal"][0] - dual)
            late = (history["n_iter"] > history["n_iter"][-1] / 3) & (gaps > 0.0)
            logs = np.log(history["n_iter"][late]), np.log(gaps[late])
            slope = np.polyfit(*logs, 1)[0] if late.sum() > 2 else np.nan
            epochs = [history["n_iter"][gaps <= gap] for gap in (1e-2, 1e-4, 1e-6)]
            cells = [str(int(some[0])) if len(some) else "-" for some in epochs]
            found.append([name, method, theory[method], f"{slope:.1f}", *cells])
    return found


def strongest(X, y):
    """The least alpha for which the lasso has no feature."""
    return float(np.max(np.abs(X.T @ y))) / len(y)


def lasso():
    """CD and APPROX in the primal, alpha a tenth of the largest of interest."""
    return Table(HEADER, rows(lambda X, y: LassoPDCertified(0.1 * strongest(X, y))))


def svm():
    """CD and APPROX on the dual, alpha = 1 / n."""
    return Table(HEADER, rows(lambda X, y: PdproxSVC(1.0 / len(y), penalty="l2")))


def elastic_net():
    """CD in the primal, for which the theory promises a linear rate, as R is strongly convex. The
    gap is then at most a constant times the excess of the objective, that of APPROX too."""
    shown = {name: METHODS[name] for name in STRONGLY_CONVEX}

    def model(X, y):
        return ElasticNetPD(0.1 * strongest(X, y), l1_ratio=0.5)

    return Table(HEADER, rows(model, shown, STRONGLY_CONVEX))


def norms_of_several():
    """The group lasso and the total variation, which are no sums over coordinates: the theorems
    hold for any algorithm, and here it is Pdprox, whose own theory is that the gap of averages
    falls as 1 / t."""
    found = []
    for kind, penalty in (
        ("groups of three", lambda d: GroupL2([3] * (d // 3) + [d % 3] * (d % 3 > 0))),
        ("total variation", lambda d: FusedLasso(0.5)),
    ):

        def model(X, y, penalty=penalty):
            return PdproxRegressor(
                0.1 * strongest(X, y), loss="squared", penalty=penalty(X.shape[1])
            )

        found += [[f"{row[0]}, {kind}", *row[1:]] for row in rows(model, PDPROX)]
    return Table(HEADER, found)


RESULTS = {
    "Figure 2, top: lasso": lasso,
    "Figure 2, bottom: SVM": svm,
    "Corollary, elastic net": elastic_net,
    "Group lasso and total variation": norms_of_several,
}

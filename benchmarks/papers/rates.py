"""Primal-dual rates and certificates

Celestine Dünner, Simone Forte, Martin Takáč and Martin Jaggi, ICML 2016. The paper proves how fast
the certified gap of an algorithm falls whose objective is known to converge, also for penalties
whose ordinary gap is infinite. Its figure shows coordinate descent (CD) and its accelerated kind
(APPROX) on the lasso and on the SVM, as curves without numbers. Here are the epochs, in each of
which as many coordinates are drawn as there are, until the certified relative gap of the iterate
itself is below 1e-2, 1e-4 and 1e-6, and the slope of the gap over the last two thirds of the
epochs on logarithmic axes. Beside it is the power of t with which the gap falls at least, by the
paper's theorems. If the objective converges as 1 / t^k, they say, the gap of the iterate falls as
1 / t^(k / 2): -1/2 for coordinate descent and -1 for APPROX, whose objective converges as 1 / t^2.
The average of the last iterates of coordinate descent has -1, and so has that of all, up to a
logarithm. Powers are of bounds on the gap, and the slope of a stretch of it can be less steep.
The data sets of the paper's lasso, and the alpha of its SVM, cannot be read from its text.

The columns with "theorem" are the epochs after which a theorem guarantees the gap in expectation,
with the constants of the problem at hand. It is the theorem on coordinate descent for averages
and, where g is strongly convex, for iterates. For APPROX, and for iterates of coordinate descent
otherwise, it is the theorem on any algorithm, with the known bound on the objective. The diameter
of a ball of radius L is 2 L there, where the paper's formula has L.

**What was claimed.** The gap of an average of coordinate descent falls as 1 / t, and so does that
of the iterates of APPROX; where the penalty is strongly convex, the gap of coordinate descent
falls linearly. For an elastic net this holds on both sides, and the data decide which is faster.

**What we saw.** Slopes of -1.0 to -1.1 for averages of all iterates and of -2.0 to -3.0 for APPROX
on the lasso and the SVM, whose gap falls as fast as its objective is known to converge. Coordinate
descent itself is faster than its theory on the lasso, with slopes near -10; on the SVM its slopes
are -0.4 to -4.4. With groups and total variation averages of Pdprox have slopes of -1.3 to -1.8.
No run needed more epochs than a theorem guarantees. On the lasso and the SVM the theorems
guarantee at least 800 times the epochs that were needed. The linear rate is another matter: on the
dual of the elastic net it asks for 2.0 to 2.8 times the epochs needed for a1a and reuters. For
every smooth loss dual coordinates need fewer epochs to 1e-6 than coefficients, down to a ninth,
and fewer are guaranteed. With 16 coordinates in a step, APPROX takes 4.9 to 8.9 times fewer steps
to 1e-4.

**Why they differ.** Bounds without strong convexity take every coordinate to be as far from its
optimum, at all times, as its support allows. Once the coefficients that are not 0 are known, the
lasso is strongly convex in those; the theory does not use this, and an average of all iterates
never forgets its first ones.

.. skpd-figure:: paper_rates
   :alt: Gaps of iterates over epochs, on logarithmic axes, for the breast cancer data. On the
         lasso coordinate descent falls steeply after a hundred epochs; averages of all iterates
         fall as one over the epochs, APPROX as their inverse square. On the dual of the SVM APPROX
         is ahead of coordinate descent, until both are near 1e-6 after a thousand epochs.

.. list-table::
   :header-rows: 1

   * - of the paper
     - here
   * - Algorithm 1, coordinate descent
     - ``solver='cd'`` of `~skpd.LassoPDCertified`, `~skpd.ElasticNetPD`,
       `~skpd.ElasticNetPDClassifier`, `~skpd.LogisticPD` and others, and of `~skpd.PdproxSVC` with
       ``penalty='l2'``; ``average`` and ``burn_in`` are options
   * - Coordinate descent on the dual of an elastic net, and SDCA as a special case
     - the option ``variables='dual'``, for every loss
   * - APPROX of Fercoq and Richtarik, with tau coordinates in a step
     - ``solver='approx'``; ``coordinates_per_step`` is an option
   * - The Lipschitzing trick
     - every certificate of a norm: ``certificate_.kind``, ``radius``
   * - Theorems on the gap of any algorithm, and on coordinate descent
     - ``gap_history_`` of every solver, beside the guarantees below
   * - Lasso, elastic net, group lasso, total variation as problems (A)
     - the penalties of `skpd.penalties`; coordinate methods for those that are sums over
       coordinates, others below with Pdprox
   * - Figure 1, the trick
     - the page on certificates of the user guide
   * - Figure 2, lasso and SVM
     - below
"""

from functools import partial
from math import ceil

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from benchmarks.papers import Table, fitted
from benchmarks.papers import rate_theorems as theorems
from benchmarks.papers.data import named
from benchmarks.papers.staleness import stale_coordinates
from skpd import ElasticNetPD, LassoPDCertified, PdproxRegressor, PdproxSVC
from skpd.losses import Hinge, Huber, Logistic, SmoothedHinge, Squared, SquaredHinge
from skpd.penalties import ElasticNet, FusedLasso, GroupL2

EPOCHS = 1000
SEEDS = range(5)
LEVELS = {"1e-2": 1e-2, "1e-4": 1e-4, "1e-6": 1e-6}
GUARANTEED = [f"theorem, {level}" for level in LEVELS]
HEADER = ["data", "method", "theory", "slope", *LEVELS, *GUARANTEED]
AVERAGE = partial(theorems.average_of_the_last, burn_in=0.5)
# each with its options, the power of t of the theory, and the theorem
METHODS = {
    "CD": ("cd", {"average": False}, "-1/2", theorems.last_iterate),
    "CD, average of all": ("cd", {"burn_in": 0.0}, "-1", None),
    "CD, average of the last half": ("cd", {}, "-1", AVERAGE),
    "APPROX": ("approx", {}, "-1", theorems.approx),
}
STRONGLY_CONVEX = {
    f"{name}, {variables}": (solver, {"variables": variables, **options}, power, theorem)
    for name, solver, options, power, theorem in (
        ("CD", "cd", {"average": False}, "linear", theorems.linear),
        ("APPROX", "approx", {}, "-2", theorems.approx_strongly_convex),
    )
    for variables in ("primal", "dual")
}
PDPROX = {
    "Pdprox, averages": ("pdprox-dual", {}, "-1", None),
    "Pdprox, iterates": ("pdprox-dual", {"algorithm": 3, "average": False}, "-", None),
}


def data_sets():
    X, y = load_breast_cancer(return_X_y=True)
    return [("breast cancer", scale(X), 2.0 * y - 1.0), named("a1a"), named("reuters")]


def run(estimator, X, y, solver="auto", options=None, seed=0):
    """The estimator after a fit without an intercept, however far it has come."""
    estimator.set_params(
        solver=solver, solver_options=options, random_state=seed, fit_intercept=False, tol=1e-9,
        max_iter=EPOCHS,
    )  # fmt: skip
    return fitted(estimator, X, y)


def measured(estimator, X, y, solver, options, seed=0):
    """The epochs at which iterates are certified, and their relative gaps."""
    history = run(estimator, X, y, solver, options, seed).gap_history_
    dual = history["iterate_dual"]
    gaps = (history["iterate_primal"] - dual) / (history["primal"][0] - dual)
    return history["n_iter"], gaps


def first_below(epochs, gaps, level):
    """The first epoch with a gap below a level, or inf."""
    return min(epochs[gaps <= level], default=np.inf)


def number(epochs):
    """A number of epochs as text."""
    if epochs < 1e4:
        return str(ceil(epochs))
    mantissa, exponent = f"{epochs:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def reached(epochs):
    return str(int(epochs)) if np.isfinite(epochs) else "-"


def constants(estimator, X, y, problem_of, options):
    """The problem of the theorems from an exact fit, and the unit of relative gaps."""
    exact = run(estimator, X, y)
    start = exact.gap_history_["primal"][0]
    return problem_of(X, y, exact, start, options), start - exact.certificate_.primal


def cells(method, estimator, X, y, problem_of=None):
    """Theory, slope, and measured and guaranteed epochs of a method."""
    solver, options, power, theorem = method
    guaranteed = ["-"] * len(LEVELS)
    if theorem is not None:
        problem, unit = constants(estimator, X, y, problem_of, options)
        guaranteed = [number(theorem(problem, level * unit)) for level in LEVELS.values()]
    epochs, gaps = measured(estimator, X, y, solver, options)
    late = (epochs > epochs[-1] / 3) & (gaps > 0.0)
    logs = np.log(epochs[late]), np.log(gaps[late])
    slope = np.polyfit(*logs, 1)[0] if late.sum() > 2 else np.nan
    times = [reached(first_below(epochs, gaps, level)) for level in LEVELS.values()]
    return [power, f"{slope:.1f}", *times, *guaranteed]


def rows(model, methods=METHODS, problem_of=None):
    """The epochs to each gap for every data set; ``model`` makes an estimator for X and y."""
    return [
        [name, method, *cells(methods[method], model(X, y), X, y, problem_of)]
        for name, X, y in data_sets()
        for method in methods
    ]


def strongest(X, y):
    """The least alpha for which the lasso has no feature."""
    return float(np.max(np.abs(X.T @ y))) / len(y)


def lasso_problem(X, y, exact, start, options):
    optimum = exact.certificate_.primal
    return theorems.primal(X, 1.0, start, optimum, exact.coef_, alpha_l1=exact.alpha)


def svm_problem(X, y, exact, start, options):
    return theorems.dual(X, exact.alpha, exact.certificate_.primal, theta=np.ones(len(y)))


def elastic_net_problem(X, y, exact, start, options):
    ridge, optimum = exact.alpha * (1.0 - exact.l1_ratio), exact.certificate_.primal
    if options["variables"] == "dual":
        return theorems.dual(X, ridge, optimum, theta=X @ exact.coef_ - y, smoothness=1.0)
    return theorems.primal(X, 1.0, start, optimum, exact.coef_, ridge=ridge)


def lasso():
    """CD and APPROX in the primal, alpha a tenth of the largest of interest."""
    return Table(
        HEADER,
        rows(lambda X, y: LassoPDCertified(0.1 * strongest(X, y)), problem_of=lasso_problem),
    )


def svm():
    """CD and APPROX on the dual, alpha = 1 / n."""
    return Table(
        HEADER,
        rows(lambda X, y: PdproxSVC(1.0 / len(y), penalty="l2"), problem_of=svm_problem),
    )


def elastic_net():
    """The squared loss, alpha a tenth of the largest of interest, and half of the penalty an l1
    norm. On both sides g is strongly convex, so that the theory promises CD a linear rate, and the
    gap is at most a constant times the excess of the objective, that of APPROX too."""

    def model(X, y):
        return ElasticNetPD(0.1 * strongest(X, y))

    return Table(HEADER, rows(model, STRONGLY_CONVEX, elastic_net_problem))


def loss_problem(X, y, exact, start, options):
    ridge, smoothness = 0.5 * exact.alpha, exact.loss.smoothness
    optimum = exact.certificate_.primal
    if options["variables"] == "dual":
        return theorems.dual(X, ridge, optimum, smoothness=smoothness)
    return theorems.primal(X, smoothness, start, optimum, exact.coef_, ridge=ridge)


LOSSES = (
    (PdproxRegressor, Squared()), (PdproxRegressor, Huber()), (PdproxSVC, Logistic()),
    (PdproxSVC, SquaredHinge()), (PdproxSVC, SmoothedHinge()), (PdproxSVC, Hinge()),
)  # fmt: skip


def losses():
    """CD on both sides of an elastic net, alpha a twentieth of the lasso's largest of interest;
    on the dual it is SDCA. Steps along a coordinate are exact for every loss. For the hinge loss,
    which is not smooth, the theorem is that on any algorithm."""
    found = []
    header = ["data", "loss", *(f"{side}, {level}" for side in ("primal", "dual") for level in (
        "1e-6", "theorem, 1e-6"))]  # fmt: skip
    for name, X, y in data_sets()[:2]:
        for kind, loss in LOSSES:
            model = kind(0.05 * strongest(X, y), loss=loss, penalty=ElasticNet(0.5))
            row, is_smooth = [name, type(loss).__name__], np.isfinite(loss.smoothness)
            for variables in ("primal", "dual") if is_smooth else ("dual",):
                theorem = theorems.linear if is_smooth else theorems.last_iterate
                options = {"variables": variables, "average": False}
                method = "cd", options, "linear", theorem
                shown = cells(method, model, X, y, loss_problem)
                row += [shown[4], shown[7]]
            found.append(row if is_smooth else [*row[:2], "-", "-", *row[2:]])
    return Table(header, found)


def several_coordinates():
    """The lasso and the SVM above with tau coordinates in a step of APPROX, which parallel
    processors could share; medians of five runs. No row of A has more than omega entries. An epoch
    has as many steps as there are coordinates, over tau; the last rows have all coordinates in a
    step."""
    found = []
    breast_cancer, a1a, reuters = data_sets()
    for (name, X, y), kind, A, estimator, problem_of in (
        *(
            (data, "lasso", data[1], LassoPDCertified(0.1 * strongest(*data[1:])), lasso_problem)
            for data in (breast_cancer, a1a)
        ),
        (reuters, "SVM", reuters[1].T, PdproxSVC(1 / len(reuters[2]), penalty="l2"), svm_problem),
    ):
        n, omega = A.shape[1], int(np.max(np.asarray((A != 0).sum(axis=1))))
        problem, unit = constants(estimator, X, y, problem_of, None)
        for tau in (1, 4, 16, n):
            options = {"coordinates_per_step": tau}
            runs = [measured(estimator, X, y, "approx", options, seed) for seed in SEEDS]
            first, second = (
                float(np.median([first_below(*run, level) for run in runs]))
                for level in (1e-2, 1e-4)
            )
            stretch = 1.0 + (omega - 1) * (tau - 1) / (n - 1)
            bound = theorems.approx(problem, 1e-2 * unit, tau, stretch)
            steps = reached(second * ceil(n / tau))
            times = reached(first), reached(second), steps, number(bound)
            found.append([f"{name}, {kind}", str(tau), str(omega), *times])
    header = ["data", "tau", "omega", "1e-2", "1e-4", "steps, 1e-4", "theorem, 1e-2"]
    return Table(header, found)


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

        found += [[f"{row[0]}, {kind}", *row[1 : 4 + len(LEVELS)]] for row in rows(model, PDPROX)]
    return Table(HEADER[: 4 + len(LEVELS)], found)


RESULTS = {
    "Figure 2, top: lasso": lasso,
    "Figure 2, bottom: SVM": svm,
    "Corollary, elastic net": elastic_net,
    "Corollary, dual coordinates for other losses": losses,
    "APPROX with several coordinates in a step": several_coordinates,
    "Stale residuals in coordinate descent": stale_coordinates,
    "Group lasso and total variation": norms_of_several,
}

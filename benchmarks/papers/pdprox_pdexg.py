"""The tables of Yang et al. beside the excessive gap technique, Pdexg."""

from sklearn.base import clone

from benchmarks.papers import Table
from benchmarks.papers import pdprox_excess as pdprox
from benchmarks.papers.data import is_at_hand
from benchmarks.papers.excessive_gap import Saddle, excessive_gap
from benchmarks.papers.pdprox_groups import group_lassos
from benchmarks.papers.pdprox_groups import saddle_point as of_groups
from benchmarks.papers.pdprox_ratings import LABEL, completion, completions
from benchmarks.papers.pdprox_tasks import LAMBDAS, MISSING, model_of, school
from benchmarks.papers.pdprox_tasks import saddle_point as of_tasks
from skpd import PdproxSVC

LEVELS = (10.0, 0.1, 1e-2, 1e-3, 1e-4)  # factors of the second one where both effects are equal


def runs_of_pdexg(problem, optimum, numbers):
    """The excesses of runs with equal effects and with the best levels, and their last w."""
    unit = problem.objective(problem.start)

    def run(factor, n_iter):
        saddle, values = Saddle(problem), []
        for state in excessive_gap(saddle, n_iter, factor):
            values.append((problem.objective(state.w) - optimum) / unit)
        return values, state.w

    best = min(LEVELS, key=lambda factor: run(factor, pdprox.AFTER[1])[0][-1])
    for name, factor in {"Pdexg": 1.0, f"Pdexg, second level times {best:g}": best}.items():
        values, w = run(factor, max(numbers))
        yield name, [values[n - 1] for n in numbers], w


def beside_pdexg(problem, optimum, model, X, y, numbers=pdprox.AFTER, zeros=()):
    """Rows of the four methods, with the zeros of Pdexg and of Pdprox in the paper, if any."""
    rows = []
    for name, values, w in runs_of_pdexg(problem, optimum, numbers):
        share = [zeros[0], f"{problem.norm.zeros(w):.4f}"] if zeros else []
        rows.append([name, *pdprox.cells(values), *share])
    own = pdprox.excesses(optimum, model, X, y, numbers=numbers)
    ratio, tuned = pdprox.with_best_ratio(optimum, model, X, y, numbers=numbers)
    two_steps = f"Pdprox-dual, sigma / tau = {ratio:g}"
    for name, values, some in ("Pdprox-dual", own, None), (two_steps, tuned, ratio):
        zero = pdprox.sparsity(model, X, y, problem.norm, some) if zeros else 0.0
        share = [zeros[1], f"{zero:.4f}"] if zeros else []
        rows.append([name, *pdprox.cells(values), *share])
    return rows


def figure_5_groups():
    """Pdprox-dual against Pdexg: the group lasso and the hinge loss of figure 2.

    An iteration of Pdprox-dual takes two products with X or its transpose, beside those of
    certificates, one of Pdexg three. Pdexg starts with levels of smoothing of the same effect, or
    with the second one times the best of 5 factors after 150 iterations and the first divided by
    it. Zeros are groups without a coefficient, for Pdprox the mean of the iterates (not averages)
    100, 200, ..., 500, for Pdexg those at the end.
    """
    rows = []
    zeros = ("0", "0.7886"), ("0", "0")
    for (X, y, sizes, lam, shared), share in zip(group_lassos(), zeros, strict=True):
        model = PdproxSVC(fit_intercept=False, **shared)
        best = clone(model).set_params(tol=1e-7).fit(X, y).certificate_.dual
        problem = of_groups(X, y, sizes, lam, "hinge")
        found = beside_pdexg(problem, best, model, X, y, zeros=share)
        rows += [["sequences", f"{lam:g}", *row] for row in found]
    return Table([*pdprox.HEADER, "zeros, paper", "here"], rows)


def figure_5_tasks():
    """Pdprox-dual against Pdexg: the l1,inf norm and the epsilon-insensitive loss of figure 3.

    Levels and zeros are those of the figure before, zeros of features in place of groups.
    """
    header = [*pdprox.HEADER, "zeros, paper", "here"]
    if not is_at_hand():
        return Table(header, [], MISSING)
    loss, (rows, (Z, y, _, _)) = "epsilon-insensitive", ([], school())
    for lam, share in zip(LAMBDAS, (("0", "0.3766"), ("-", "-")), strict=True):
        model, problem = model_of(lam, loss), of_tasks(Z, y, lam, loss)
        best = clone(model).set_params(tol=1e-6).fit(Z, y).certificate_.dual
        found = beside_pdexg(problem, best, model, Z, y, zeros=share)
        rows += [["School", f"{lam:g}", *row] for row in found]
    return Table(header, rows)


def figure_5_ratings():
    """Pdprox-dual against Pdexg: the trace norm and the absolute loss of figure 4.

    Levels are those of the figures before.
    """
    rows = []
    for pairs, y, lam, model, best in completions():
        problem = completion(pairs, y, lam)
        found = beside_pdexg(problem, best, model, pairs, y, pdprox.AFTER[:2])
        rows += [[LABEL, f"{lam:g}", *row] for row in found]
    return Table(pdprox.HEADER[:-1], rows)

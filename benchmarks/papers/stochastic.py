"""Stochastic Pdprox, which Yang et al. leave to the future, beside the deterministic one."""

from benchmarks.papers import Table, fitted
from benchmarks.papers.data import named
from skpd import PdproxSVC

AFTER = (10, 30, 100, 300)  # passes over the data
SIZES = {"a1a": (None, 400, 100, 25), "reuters": (None, 2000, 500)}


def stochastic_pdprox():
    """Pdprox-primal (Algorithm 2) with a block of rows in each step, ``rows_per_step``: the excess
    of the objective after passes over the data, as a share of that at w = 0, for the hinge loss
    with lambda ||w||_1, lambda = 1e-3. All rows in a step are Algorithm 2 itself.

    The steps are those of the paper for the block of the largest norm, divided between the steps
    of a pass. Excesses are of the last certified iterate at each number of passes. From 30 passes
    on the smallest blocks leave less than half of the excess of all rows.
    """
    rows = []
    for name, sizes in SIZES.items():
        label, X, y = named(name)
        model = PdproxSVC(1e-3, penalty="l1", fit_intercept=False, random_state=0)
        best = model.set_params(tol=1e-7).fit(X, y).certificate_.dual
        for average in (True, False):
            for size in sizes:
                model.set_params(
                    solver="pdprox-primal", tol=0.0, max_iter=AFTER[-1],
                    solver_options={"average": average, "rows_per_step": size},
                )  # fmt: skip
                history = fitted(model, X, y).gap_history_
                share = (history["iterate_primal"] - best) / history["primal"][0]
                cells = [f"{share[history['n_iter'] <= n][-1]:.1e}" for n in AFTER]
                rows.append([label, "average" if average else "last", str(size or "all"), *cells,
                             f"{history['seconds'][-1]:.2f}"])  # fmt: skip
    header = ["data", "iterate", "rows in a step", *(f"after {n}" for n in AFTER), "seconds"]
    return Table(header, rows)

"""Time of one Pdprox iteration in units of one X @ w plus one X.T @ theta of SciPy."""

import time

import numpy as np

from benchmarks.helpers.data import load
from skpd.designs import Design
from skpd.losses import Hinge
from skpd.penalties import L1
from skpd.problems import linear_problem
from skpd.solvers import SolverContext
from skpd.solvers.proximal.restarted import pdprox_restarted
from skpd.solvers.published.pdprox import pdprox_dual, pdprox_primal

SOLVERS = {
    "restarted": pdprox_restarted,
    "pdprox-dual": pdprox_dual,
    "pdprox-primal": pdprox_primal,
}


class Silent:
    """A monitor without certificates, so that the iterations alone are timed."""

    done, n_iter = False, 0

    def check(self, n_iter, point):
        return 1.0


def seconds(function, n=7):
    times = []
    for _ in range(n):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def main(arguments=()):
    print("| data | " + " | ".join(SOLVERS) + " | SciPy's pair |")
    print("| --- |" + " --- |" * (len(SOLVERS) + 1))
    worst = 0.0
    for name in ("a1a", "a9a", "reuters"):
        X, y = load(name)
        n, d = X.shape
        problem = linear_problem(Design(X), y, np.full(n, 1 / n), Hinge(), L1(), 1e-3, False)
        w, theta = np.full(d, 0.01), np.full(n, 0.01)
        pairs = max(20, 10**7 // X.nnz)

        def product_pairs(X=X, w=w, theta=theta, pairs=pairs):
            for _ in range(pairs):
                _ = X @ w
                _ = X.T @ theta

        def iterations(solver, k, problem=problem):
            random_state = np.random.RandomState(0)
            SOLVERS[solver](SolverContext(problem, Silent(), None, k, random_state))

        pair = seconds(product_pairs) / pairs
        ratios = []
        for solver in SOLVERS:
            # the difference leaves out what is done once
            many, few = pairs + 5, 5
            took = seconds(lambda s=solver, k=many: iterations(s, k))
            took -= seconds(lambda s=solver, k=few: iterations(s, k))
            ratios.append(took / (many - few) / pair)
        worst = max(worst, *ratios)
        cells = " | ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"| {name} | {cells} | {pair * 1e6:.0f} us |", flush=True)
    print(f"\nworst ratio {worst:.2f}")

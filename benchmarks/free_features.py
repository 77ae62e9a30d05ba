"""Features that are not penalised: certified to 1e-9, and never above an independent optimum.

Every problem draws a loss, weights of features or groups of which some are 0, perhaps bounds,
and awkward data as `benchmarks.certificates` does. Fits at tol = 1e-9 must converge, and their
interval must hold the optimal value found by HiGHS or Clarabel, up to what these err by.
"""

import time

import numpy as np

from benchmarks import certificates as random
from benchmarks.helpers.campaigns import solved
from skpd.solvers import solve

TOL = 1e-9
LEAST_UNIT = 0.1  # of objectives: below it the independent solvers err by 1e-9, not by a share


OPTIONS = {"--problems": 500, "--seed": 0, "--tolerance": (1e-8, "of the independent solver")}


def main(options):
    rng, start = np.random.default_rng(options.seed), time.perf_counter()
    outside, unfinished, longest = 0, 0, 0.0

    def draw(number):
        loss = random.LOSSES[number % len(random.LOSSES)]
        penalty = random.pick(rng, random.BY_FEATURE)
        problem, X = random.random_problem(rng, loss, penalty, mild=True)
        return problem, random.optimum(problem, X)

    for problem, value in solved(options.problems, draw):
        begin = time.perf_counter()
        arguments = {"max_iter": 100_000, "random_state": np.random.RandomState(0)}
        found = solve(problem, solver="auto", tol=TOL, **arguments)
        longest = max(longest, time.perf_counter() - begin)
        certificate = found.certificate
        at_zero = np.zeros(problem.n_samples)  # y of a loss with offsets has two columns
        unit = float(problem.weights @ problem.loss.value(problem.y, at_zero))
        unit = max(unit, LEAST_UNIT)
        error = max(certificate.dual - value, value - certificate.primal) / unit
        if error > options.tolerance:
            outside += 1
            print(f"OUTSIDE by {error:.1e}: {problem}")
        if not found.converged:
            unfinished += 1
            print(f"gap {certificate.relative_gap:.1e} by {found.method}: {problem}")
    print(
        f"{options.problems} problems, {time.perf_counter() - start:.0f} s: {outside} intervals "
        f"without the optimum, {unfinished} not certified to {TOL:g}, longest fit {longest:.2f} s"
    )
    raise SystemExit(1 if outside or unfinished else 0)

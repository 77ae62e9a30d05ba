"""No optimal coefficient outside of what a certificate says of it, over random problems.

The problems and the points that are certified are those of `benchmarks.certificates`. Whatever
model has an objective of at most the certificate's upper bound must be inside of
``coefficient_bounds``, but for coefficients that are proven to be 0: the solution of an
independent solver is such a model, unless skpd's is the better one. A coefficient that is proven
to be 0 must be 0 in that solution, up to what its solver leaves.
"""

import time
from collections import Counter

import numpy as np

from benchmarks import certificates as random
from benchmarks.helpers.campaigns import solved
from skpd.certificates import certify_point, primal_objective

ZERO = 1e-5  # of the largest coefficient, or of 1: what Clarabel leaves of a 0
ROUNDING = 1e-12  # of a coefficient


def outside(certificate, coef, objective):
    """Whether a model of this objective is outside of what a certificate says, or why not."""
    zeros = certificate.proven_zero
    if np.isinf(certificate.coefficient_bounds).all():
        return "nothing is known"
    if np.any(np.abs(coef[zeros]) > ZERO * max(1.0, np.abs(coef).max())):
        return "WRONG: not 0"
    if objective > certificate.primal:
        return "the certified model is better"
    low, high = certificate.coefficient_bounds[~zeros].T
    room = ROUNDING * np.abs(coef[~zeros])
    if np.any((coef[~zeros] < low - room) | (coef[~zeros] > high + room)):
        return "WRONG: outside"
    return "inside"


OPTIONS = {"--problems": 10_000, "--seed": 0}


def main(options):
    rng, start = np.random.default_rng(options.seed), time.perf_counter()
    found, widths, n_zeros, n_coefficients = Counter(), [], 0, 0

    def draw(number):
        loss = random.pick(rng, random.LOSSES)
        penalty = random.pick(rng, [*random.PENALTIES, *random.BY_FEATURE])
        problem, X = random.random_problem(rng, loss, penalty, mild=True)
        return problem, *random.solution(problem, X)

    for count, (problem, _, coef, intercept) in enumerate(solved(options.problems, draw), 1):
        coef = problem.penalty.feasible(np.asarray(coef))
        objective = primal_objective(problem, coef, intercept)
        for point in random.random_points(rng, problem):
            certificate, _ = certify_point(problem, *point)
            answer = outside(certificate, coef, objective)
            found[answer] += 1
            if answer.startswith("WRONG"):
                print(f"{answer}: {problem}, {coef}, {certificate.coefficient_bounds.tolist()}")
        # of the last point, which is the best one
        if np.isfinite(certificate.coefficient_bounds).all():
            widths.append(np.median(np.ptp(certificate.coefficient_bounds, axis=1)))
        n_zeros += int(certificate.proven_zero.sum())
        n_coefficients += len(coef)
        if count % 500 == 0:
            print(
                f"{count} problems, {time.perf_counter() - start:.0f} s: {dict(found)}; median "
                f"width {np.median(widths):.1e}, {n_zeros} of {n_coefficients} proven to be 0",
                flush=True,
            )
    raise SystemExit(1 if any(answer.startswith("WRONG") for answer in found) else 0)

"""LPBoost: certified, and beside HiGHS over all stumps.

Random small problems with ties and weights. The largest distance of both bounds from the optimum
of the linear programme of all stumps, solved by HiGHS; the largest excess of a bound of any round
over it, on the wrong side; and the largest distance for entropies that fall to 0, beyond what
these are worth.
"""

import numpy as np

from skpd import LPBoostClassifier
from tests.oracles.optima import linear_optimum

ALLOWED = 1e-8  # between the bounds and the optimum of HiGHS
ROUNDING = 1e-12  # of the optimum of HiGHS
ENTROPIES = (0.1, 0.01)


def every_stump(X):
    """The values of all stumps and constants on the rows."""
    values = [np.ones(len(X))]
    for column in X.T:
        values += [np.where(column <= t, 1.0, -1.0) for t in np.unique(column)[:-1]]
    return np.array(values + [-h for h in values])


def best_soft_margin(edges, caps):
    """max rho - caps.xi with edges' a >= rho - xi, by HiGHS."""
    t, n = edges.shape
    tolerances = "primal_feasibility_tolerance", "dual_feasibility_tolerance"
    found = linear_optimum(
        np.concatenate([np.zeros(t), [-1.0], caps]),
        A_ub=np.hstack([-edges.T, np.ones((n, 1)), -np.eye(n)]), b_ub=np.zeros(n),
        A_eq=np.concatenate([np.ones(t), np.zeros(n + 1)])[None, :], b_eq=[1.0],
        bounds=[(0, None)] * t + [(None, None)] + [(0, None)] * n,
        options=dict.fromkeys(tolerances, 1e-10),
    )  # fmt: skip
    return -found.fun


def random_problem(rng):
    n, d = int(rng.integers(4, 40)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d)).round(int(rng.integers(0, 3))) * 10.0 ** rng.uniform(-3, 3)
    y = np.where(X[:, 0] / np.std(X[:, 0] + 1e-9 * X[0, 0]) + rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = rng.choice([np.ones(n), rng.integers(1, 4, size=n), rng.uniform(size=n)], axis=0)
    return X, y, weights, float(rng.choice([0.05, 0.1, 0.3, 0.7, 1.0]))


OPTIONS = {"--problems": 200, "--seed": 0}


def main(options):
    distance, excess, of_entropy = 0.0, -np.inf, 0.0
    for k in range(options.problems):
        X, y, weights, nu = random_problem(np.random.default_rng([options.seed, k]))
        optimum = best_soft_margin(y * every_stump(X), weights / (weights.sum() * nu))
        clf = LPBoostClassifier(nu=nu, tol=1e-9).fit(X, y, sample_weight=weights)
        history, certificate = clf.gap_history_, clf.certificate_
        wrong = max(np.max(history["dual"]) - optimum, optimum - np.min(history["primal"]))
        excess = max(excess, wrong)
        away = max(abs(certificate.primal - optimum), abs(certificate.dual - optimum))
        distance = max(distance, away)
        if k % 20 == 0:  # which take longer
            for entropy in ENTROPIES:
                clf = LPBoostClassifier(nu=nu, entropy=entropy, tol=1e-5).fit(X, y, weights)
                above = clf.certificate_.dual - optimum - entropy * np.log(1.0 / nu)
                of_entropy = max(of_entropy, above, optimum - clf.certificate_.primal)
    print(f"{options.problems} problems, largest distance of a bound: {distance:.1e}")
    print(f"largest excess of a bound over the optimum:   {excess:.1e}")
    print(f"beyond the range of the entropy:              {of_entropy:.1e}")
    if distance > ALLOWED or excess > ROUNDING or of_entropy > ROUNDING:
        raise SystemExit("a bound is wrong, or far from the optimum")

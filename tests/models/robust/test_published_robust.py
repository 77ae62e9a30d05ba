"""The published methods of the robust SVM as printed (Li, Chen and So, 2020), no intercept."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from skpd.designs import Design
from skpd.models.robust.problem import robust_problem
from tests.oracles.projections import onto_epigraph
from tests.solvers.test_published import N, classes, last_iterate


def steps_of_table_1(q, ridge, alpha, n, k):
    if q == 2:  # of which nothing else is known
        return alpha / np.sqrt(k)
    return alpha / k if ridge > 0 else alpha * 0.98 ** (k - 1)


def robust(rng, q, ridge, n=12):
    X, y = classes(rng, n, 4)
    c = np.full(n, 1 / n)
    parameters = {"epsilon": 0.1, "kappa": 1.0, "ridge": ridge, "norm": q}
    problem = robust_problem(Design(X), y, c, fit_intercept=False, **parameters)
    return problem, X * y[:, None]


def subgradient_steps(q, w, lam, Z, step, ridge, batch=4, epsilon=0.1, kappa=1.0):
    """An epoch of equation (5), in cyclic order."""
    for rows in np.arange(len(Z)).reshape(-1, batch):
        g, slope = ridge * w, epsilon
        for z in Z[rows]:
            m = w @ z
            pieces = [1 - m, 1 + m - lam * kappa, 0.0]
            if np.argmax(pieces) == 0 and pieces[0] > 0:
                g = g - z / batch
            elif np.argmax(pieces) == 1:
                g, slope = g + z / batch, slope - kappa / batch
        w, lam = onto_epigraph(q, w - step * g, lam - step * slope)
    return w, lam


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("q", [1, 2, np.inf])
def test_projected_subgradients(q, ridge, rng):
    """Equation (5) with the step sizes of Table 1."""
    alpha, n = 0.2, 12
    problem, Z = robust(rng, q, ridge)
    scheme = {"first_step": alpha} if q != 2 and ridge == 0 else {"gamma": n * alpha}
    w, lam = np.zeros(4), 0.0
    for k in range(1, N + 1):
        w, lam = subgradient_steps(q, w, lam, Z, steps_of_table_1(q, ridge, alpha, n, k), ridge)
        found = last_iterate("isg", problem, k, **scheme)
        assert_allclose(problem.project(found.coef), w, rtol=1e-8, atol=1e-10)


def proximal_update(q, x, lam, z, step, epsilon, kappa):
    """The minimiser of f_i + (||w - x||^2 + (lam' - lam)^2) / (2 step) on the epigraph.

    It is the projection of (x + step (p - r) z, lam - step (epsilon - kappa r)), with multipliers
    p and r of the pieces 1 - m and 1 + m - kappa lam. The vertices, the edges and the inside of
    the triangle of p and r are looked at, and the point taken that is optimal.
    """

    def at(p, r):
        return onto_epigraph(q, x + step * (p - r) * z, lam - step * (epsilon - kappa * r))

    def pieces(p, r):
        w, radius = at(p, r)
        return np.array([1 - w @ z, 1 + w @ z - kappa * radius])

    def root(f):
        ends = f(0.0), f(1.0)
        return brentq(f, 0.0, 1.0, xtol=1e-16, rtol=1e-15) if ends[0] > 0 > ends[1] else None

    def share(r):  # of 1 - r, at which 1 - m vanishes
        ends = pieces(0.0, r)[0], pieces(1 - r, r)[0]
        between = root(lambda t: pieces(t * (1 - r), r)[0])
        return (1 - r) * (between if between is not None else float(ends[1] >= 0))

    found = [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]
    p, r = root(lambda p: pieces(p, 0.0)[0]), root(lambda r: pieces(0.0, r)[1])
    both = root(lambda r: np.subtract(*pieces(1 - r, r)[::-1]))
    found += [(p, 0.0)] if p is not None else []
    found += [(0.0, r)] if r is not None else []
    found += [(1 - both, both)] if both is not None else []
    r = root(lambda r: pieces(share(r), r)[1])
    found += [(share(r), r)] if r is not None else []

    def violation(point):
        one, other = pieces(*point)
        largest, rest = max(one, other, 0.0), 1 - sum(point)
        return point[0] * (largest - one) + point[1] * (largest - other) + rest * largest

    best = min(found, key=violation)
    assert violation(best) <= 1e-10
    return at(*best)


@pytest.mark.parametrize("preset", [None, "table 3, ijcnn1"])
@pytest.mark.parametrize("q", [1, 2, np.inf])
@pytest.mark.parametrize("name", ["ippa", "hybrid"])
def test_proximal_points(name, q, preset, rng):
    """Equation (6), in cyclic order, with the step sizes of Table 1 or of a preset.

    The hybrid method takes steps of (5) before, here all of them or those of at least half the
    first size.
    """
    epsilon, kappa, alpha, rho, n = 0.1, 1.0, 0.2, 0.95, 12
    problem, Z = robust(rng, q, 0.0)
    options = {"first_step": alpha} if q != 2 else {"gamma": n * alpha}
    switch = 0.02
    if preset is not None:
        options, alpha = {"preset": preset}, 1e-3
    if preset is not None and name == "hybrid":
        switch = 0.5
        options |= {"batch_size": 4, "switch": switch}
    w, lam = np.zeros(4), 0.0
    for k in range(1, N + 1):
        step = alpha * rho ** (k - 1) if preset else steps_of_table_1(q, 0.0, alpha, n, k)
        if name == "hybrid" and step >= switch * alpha:
            w, lam = subgradient_steps(q, w, lam, Z, step, 0.0)
        else:
            for z in Z:
                w, lam = proximal_update(q, w, lam, z, step, epsilon, kappa)
        found = last_iterate(name, problem, k, **options)
        assert_allclose(problem.project(found.coef), w, rtol=1e-8, atol=1e-10)

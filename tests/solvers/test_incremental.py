"""Epigraph projections, proximal updates of single rows, and the incremental methods."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from skpd import kernels
from skpd.designs import Design

NORMS = [1, 2, np.inf]
DUAL = {1: np.inf, 2: 2, np.inf: 1}


def in_normal_cone(norm, w, lam, gradient_w, gradient_lam, scale, aperture=1.0):
    """Whether a point of {||w|| <= aperture lam} minimises a function with this gradient on it.

    The gradient must lie in the dual cone, aperture ||g_w||_* <= g_lam, orthogonal to the point.
    """
    assert np.linalg.norm(w, norm) <= aperture * lam + 1e-9 * scale
    assert aperture * np.linalg.norm(gradient_w, DUAL[norm]) <= gradient_lam + 1e-9 * scale
    assert abs(w @ gradient_w + lam * gradient_lam) <= 1e-9 * scale**2


@pytest.mark.parametrize("norm", NORMS)
def test_epigraph_projections_are_optimal(norm):
    rng = np.random.default_rng(1)
    for _ in range(500):
        d = int(rng.integers(1, 12))
        x = rng.normal(size=d) * rng.choice([0.0, 1e-6, 1.0, 1e4])
        if rng.random() < 0.3:
            x = np.round(x)  # ties
        s, aperture = rng.normal() * rng.choice([0.0, 1.0, 100.0]), rng.choice([1.0, 0.3, 4.0])
        w, lam = kernels.project_epigraph(x, s, norm, aperture)
        scale = 1.0 + np.abs(x).sum() + abs(s)
        in_normal_cone(norm, w, lam, w - x, lam - s, scale, aperture)


def exact_projection(norm, x, s, aperture):
    """The projection of positive x onto the epigraph in fractions, by the entries above eta."""
    x, s, aperture = [Fraction(float(v)) for v in x], Fraction(float(s)), Fraction(aperture)
    total, slope = (aperture * s, aperture**2) if norm == 1 else (-s / aperture, 1 / aperture**2)
    above = []
    for v in sorted(x, reverse=True):
        if (sum(above) - total) / (slope + len(above)) >= v:
            break
        above.append(v)
    eta = max((sum(above) - total) / (slope + len(above)), Fraction(0))
    if norm == 1:
        return [max(v - eta, 0) for v in x], s + aperture * eta
    return [min(v, eta) for v in x], eta / aperture


@pytest.mark.parametrize("norm", [1, np.inf])
@pytest.mark.parametrize("aperture", [1.0, 1e2, 1e5, 3e7, 1e9])
def test_epigraph_projections_of_wide_cones(norm, aperture):
    """Points near the cone, where the threshold rounds to the largest entry."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        x = rng.choice([1.0, 0.3, 1.7]) * rng.choice([1.0, 0.5, 1e-3], size=rng.integers(1, 4))
        s = np.linalg.norm(x, norm) / aperture * (1.0 - 10.0 ** rng.uniform(-15.0, 0.0))
        w, lam = kernels.project_epigraph(x, s, norm, aperture)
        exact_w, exact_lam = exact_projection(norm, x, s, aperture)
        assert_allclose(w, np.array(exact_w, dtype=float), rtol=0.0, atol=2e-15)
        assert_allclose(lam, float(exact_lam), rtol=1e-14)


def random_update(rng):
    """A random proximal update; degenerate ones included."""
    d = int(rng.integers(1, 9))
    z = rng.normal(size=d) * (rng.random(d) < rng.choice([0.0, 0.5, 1.0, 1.0]))
    w = rng.normal(size=d) * rng.choice([0.0, 1e-8, 0.1, 1.0, 10.0])
    if rng.random() < 0.2:
        z, w = np.round(z), np.round(w)
    fit_intercept = bool(rng.random() < 0.4)
    return {
        "z": z,
        "w": w,
        "lam": rng.choice([0.0, 1.0, -1.0, 1.0, np.linalg.norm(w)]) * rng.exponential(),
        "b": rng.normal() * fit_intercept,
        "step": 10.0 ** rng.uniform(-4, 2),
        "kappa": rng.choice([1e-8, 1e-2, 1.0, 1.0, 3.0, 1e8, np.inf]),
        "epsilon": rng.choice([0.0, 0.1]),
        "ridge": rng.choice([0.0, 0.0, 1e-3, 2.0]),
        "fit_intercept": fit_intercept,
        "y": rng.choice([-1.0, 1.0]),
    }


def updated(norm, case, layout=np.atleast_2d):
    """The proximal update of one row: w, lam, b, p and r."""
    matrix = Design(layout(case["y"] * case["z"])).matrix
    method = kernels.incremental(
        matrix, np.array([case["y"]]), np.ones(1), norm, case["epsilon"], case["kappa"],
        case["ridge"], case["fit_intercept"],
    )  # fmt: skip
    method.move(case["w"], case["lam"], case["b"])
    method.proximal_pass(np.zeros(1, dtype=np.int64), case["step"])
    p, r = method.multipliers()
    return method.w(), method.radius, method.intercept, p[0], r[0]


def losses(case, w, lam, b):
    m = w @ case["z"] + case["y"] * b
    flipped = 1.0 + m - case["kappa"] * lam if np.isfinite(case["kappa"]) else -np.inf
    return 1.0 - m, flipped, 0.0


@pytest.mark.parametrize("norm", NORMS)
def test_proximal_updates_are_optimal(norm):
    """The optimality conditions of 2,000 random updates: multipliers that prove them."""
    rng = np.random.default_rng(2)
    for _ in range(2000):
        case = random_update(rng)
        w, lam, b, p, r = updated(norm, case)
        step, kappa = case["step"], case["kappa"] if np.isfinite(case["kappa"]) else 0.0
        size = np.abs(case["z"]).sum() + 1.0
        scale = 1.0 + np.abs(case["w"]).sum() + abs(case["lam"]) + step * (size + r * kappa)
        assert min(p, r) >= 0.0 and p + r <= 1.0 + 1e-12
        gradient = (1.0 + step * case["ridge"]) * w - case["w"] - step * (p - r) * case["z"]
        slope = lam - case["lam"] + step * (case["epsilon"] - kappa * r)
        in_normal_cone(norm, w, lam, gradient, slope, scale)
        pull = case["b"] + step * (p - r) * case["y"] if case["fit_intercept"] else case["b"]
        assert_allclose(b, pull, atol=1e-9 * scale)
        one, two, none = losses(case, w, lam, b)
        largest, room = max(one, two, none), 1e-8 * scale * size * (1.0 + kappa)
        assert p * (largest - one) <= room
        assert (r == 0.0) or r * (largest - two) <= room
        assert (1.0 - p - r) * largest <= room


@pytest.mark.parametrize("norm", NORMS)
def test_layouts_give_the_same_update(norm, rng):
    for _ in range(20):
        case = random_update(rng)
        first = updated(norm, case)
        rows = [
            lambda x: sp.csr_array(np.atleast_2d(x)),
            lambda x: sp.csr_matrix(np.atleast_2d(x)),
            lambda x: np.atleast_2d(x).astype(np.float32),
        ]
        for layout in rows[:2]:
            for one, other in zip(first, updated(norm, case, layout), strict=True):
                assert_allclose(one, other, rtol=1e-9, atol=1e-9)
        case["z"] = case["z"].astype(np.float32).astype(float)
        for one, other in zip(updated(norm, case), updated(norm, case, rows[2]), strict=True):
            assert_allclose(one, other, rtol=1e-9, atol=1e-9)

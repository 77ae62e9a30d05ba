"""Compiled projections against quadratic programmes and optimality conditions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq, minimize

from skpd import kernels


def bisected(point, lower, upper, normal, metric, total):
    """The same projection by bisection on the multiplier."""

    def project(eta):
        return np.clip(point - eta * normal / metric, lower, upper)

    def excess(eta):
        return normal @ project(eta) - total

    eta = brentq(excess, -1e7, 1e7, xtol=1e-14, rtol=1e-14, maxiter=500)
    return project(eta)


@settings(max_examples=200)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), ties=st.booleans())
def test_box_and_hyperplane(seed, n, ties):
    rng = np.random.default_rng(seed)
    point = rng.normal(size=n) * 3
    if ties:  # duplicate kinks, the case of Algorithm 8
        point = np.round(point)
    lower = -np.round(3 * rng.random(n)) if ties else -rng.random(n)
    upper = np.round(3 * rng.random(n)) if ties else rng.random(n)
    normal = rng.normal(size=n) * (rng.random(n) < 0.9)
    metric = 0.5 + rng.random(n)
    inside = lower + (upper - lower) * rng.random(n)
    total = float(normal @ inside)
    found = kernels.project_box_hyperplane(point, lower, upper, normal, metric, total)
    assert ((lower <= found) & (found <= upper)).all()
    assert_allclose(normal @ found, total, atol=1e-11)
    expected = bisected(point, lower, upper, normal, metric, total)
    assert np.sum(metric * (found - point) ** 2) <= np.sum(metric * (expected - point) ** 2) + 1e-8
    assert_allclose(found, expected, atol=1e-6)


def test_hyperplane_that_misses_the_box():
    ones = np.ones(2)
    with pytest.raises(ValueError, match="hyperplane"):
        kernels.project_box_hyperplane(ones, -ones, ones, ones, ones, 3.0)


@settings(max_examples=100)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), radius=st.floats(0.01, 10))
def test_l1_ball(seed, n, radius):
    rng = np.random.default_rng(seed)
    point = np.round(rng.normal(size=n) * 3, seed % 3)
    found = kernels.project_l1_ball(point, radius)
    norm = np.abs(point).sum()
    if norm <= radius:
        assert_allclose(found, point)
    else:
        # the sorting algorithm of Duchi et al. (2008)
        ordered = np.sort(np.abs(point))[::-1]
        excess = (np.cumsum(ordered) - radius) / np.arange(1, n + 1)
        eta = excess[np.flatnonzero(ordered > excess)[-1]]
        assert_allclose(found, np.sign(point) * np.maximum(np.abs(point) - eta, 0), atol=1e-12)


def test_box_and_hyperplane_is_linear_in_n():
    """The work on 100,000 coordinates with all kinks equal ends at once."""
    n = 100_000
    point, ones = np.zeros(n), np.ones(n)
    found = kernels.project_box_hyperplane(point, -ones, ones, ones, ones, n / 2.0)
    assert_allclose(found, 0.5)


def test_sparse_group_dual_norm_against_its_definition():
    """sup of v.w over l1_ratio ||w||_1 + (1 - l1_ratio) weight ||w||_2 <= 1, by SLSQP."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        n, ratio, weight = rng.integers(1, 5), rng.random(), 0.2 + 2 * rng.random()
        v = rng.normal(size=n)
        starts = np.array([0, n], dtype=np.int64)
        (found,) = kernels.sparse_group_dual_norms(v, starts, np.array([weight]), ratio)

        # with w = sign(v) p and p >= 0 the norm is smooth away from 0
        def norm(p, ratio=ratio, weight=weight):
            return ratio * p.sum() + (1 - ratio) * weight * np.sqrt(p @ p + 1e-18)

        best = minimize(
            lambda p, v=v: -(np.abs(v) @ p),
            np.full(n, 0.1),
            bounds=[(0, 1 / max(ratio, (1 - ratio) * weight))] * n,
            constraints={"type": "ineq", "fun": lambda p, norm=norm: 1 - norm(p)},
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 500},
        )
        assert_allclose(found, -best.fun, rtol=1e-6)


def test_l1_ball_of_radius_0(rng):
    assert not kernels.project_l1_ball(rng.normal(size=50), 0.0).any()


def test_rounding_leaves_zeros_alone(rng):
    """Of a point outside the ball by its rounding, projected."""
    for _ in range(300):
        x = rng.normal(size=1000) * (rng.random(1000) < 0.1)
        radius = np.abs(x).sum() * (1 - rng.integers(0, 3) * 1e-16)
        assert np.count_nonzero(kernels.project_l1_ball(x, radius)) <= np.count_nonzero(x)

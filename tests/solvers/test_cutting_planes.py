"""The maximum of cutting planes plus half the squared norm."""

from types import SimpleNamespace

import numpy as np
import pytest

from skpd import MetricSVC
from skpd.penalties import SquaredL2
from skpd.solvers.structured.ridge_master import minimised_with_ridge

ALPHA = 0.2


def planes(rng, n, d, intercept):
    """Planes with the value 0 as the first, some twice, and some far below the maximum."""
    slopes = rng.normal(size=(n, d + intercept))
    slopes[0], slopes[n // 2 : n // 2 + 3] = 0.0, slopes[1]
    losses = np.append(0.0, rng.random(n - 1)) - 10.0 * (np.arange(n) % 4 == 3)
    problem = SimpleNamespace(alpha=ALPHA, penalty=SquaredL2(), n_coefficients=d)
    return SimpleNamespace(
        problem=problem, slopes=slopes, losses=losses, gram=slopes[:, :d] @ slopes[:, :d].T,
        shares=np.append(1.0, np.zeros(n - 1)),
    )  # fmt: skip


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n, d", [(3, 5), (40, 100), (40, 5), (150, 60)])
def test_the_value_is_that_of_the_shares(n, d, intercept, rng):
    """By weak duality no value is below that of shares, so that equal values are optimal."""
    cuts = planes(rng, n, d, intercept)
    variables, shares = minimised_with_ridge(cuts, 1e-11)
    value = np.max(cuts.losses + cuts.slopes @ variables)
    value += 0.5 * ALPHA * np.sum(variables[:d] ** 2)
    slope = shares @ cuts.slopes
    assert np.all(shares >= 0.0) and np.sum(shares) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(slope[d:], 0.0, atol=1e-10)
    bound = shares @ cuts.losses - np.sum(slope[:d] ** 2) / (2.0 * ALPHA)
    assert value == pytest.approx(bound, abs=1e-9)
    assert len(variables) == d + intercept


def test_a_start_at_the_last_shares_has_the_same_minimum(rng):
    cuts = planes(rng, 60, 30, True)
    first = minimised_with_ridge(cuts, 1e-11)
    again = minimised_with_ridge(cuts, 1e-11)
    np.testing.assert_allclose(again[0], first[0], atol=1e-7)


@pytest.mark.parametrize("intercept", [False, True])
def test_planes_that_depend_on_each_other(intercept, rng):
    """Large slopes whose combination is small, and each plane twice."""
    cuts = planes(rng, 80, 10, intercept)
    cuts.slopes[:, :10] *= 30.0
    cuts.slopes[40:], cuts.losses[40:] = cuts.slopes[:40], cuts.losses[:40]
    cuts.gram = cuts.slopes[:, :10] @ cuts.slopes[:, :10].T
    variables, shares = minimised_with_ridge(cuts, 1e-11)
    value = np.max(cuts.losses + cuts.slopes @ variables)
    value += 0.5 * ALPHA * np.sum(variables[:10] ** 2)
    bound = shares @ cuts.losses - np.sum((shares @ cuts.slopes[:, :10]) ** 2) / (2.0 * ALPHA)
    assert value == pytest.approx(bound, abs=1e-7)


@pytest.mark.parametrize("scale, alpha", [(1.0, 1e-5), (100.0, 1e-3), (1e4, 1e-3)])
def test_features_of_any_scale_take_few_planes(scale, alpha):
    rng = np.random.default_rng(2)
    X = scale * rng.normal(size=(47, 681))
    model = MetricSVC(alpha=alpha).fit(X, X[:, 0] + scale * rng.normal(size=47) > 0.0)
    assert model.converged_ and model.n_iter_ <= 100


def test_wide_data_take_few_planes():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 300))
    model = MetricSVC(alpha=0.01).fit(X, X[:, :5].sum(axis=1) + rng.normal(size=60) > 0.0)
    assert model.converged_ and model.n_iter_ <= 150
    assert model.certificate_.dual <= model.certificate_.primal

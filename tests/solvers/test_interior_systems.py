"""The Newton systems of the interior-point method, over features and over rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from skpd.designs import Design
from skpd.losses import Hinge, Huber, Logistic, MarginLoss, Squared, SquaredHinge
from skpd.penalties import (
    L1,
    Box,
    ElasticNet,
    FusedLasso,
    GroupL2,
    L1Ball,
    LInf,
    SparseGroup,
    SquaredL2,
    TotalVariation,
)
from skpd.solvers.interior import programmes
from skpd.solvers.interior.row_systems import RowSystem
from skpd.solvers.interior.settings import SETTINGS
from skpd.solvers.interior.systems import FeatureSystem
from tests.oracles.reference import linear_programme
from tests.solvers.test_interior_point import posed, reached, strength


def test_the_curvature_of_a_small_penalty_is_not_lost(rng):
    """Along the difference of equal features there is nothing else."""
    X = rng.normal(size=(20, 3))
    X[:, 1] = X[:, 0]
    system = FeatureSystem(Design(X), 3, 0)
    system.add_rows(np.ones(20))
    system.diagonal += 1e-13
    system.prepare()
    assert_allclose(
        system.solve(np.array([1.0, -1.0, 0.0])), [1e13, -1e13, 0.0], rtol=0.01, atol=1
    )


@pytest.mark.parametrize("layout", [np.ascontiguousarray, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("penalty", [
    L1(), GroupL2(4), SparseGroup(4, l1_ratio=0.3), SquaredL2(), ElasticNet(0.5), LInf(),
    L1Ball(0.8), Box(-0.1, 0.2),
], ids=str)  # fmt: skip
def test_the_rows_system_finds_the_same(penalty, fit_intercept, layout, rng, monkeypatch):
    n, d = 24, 40
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.2)
    z = X[:, :4].sum(axis=1) + 0.5 * rng.normal(size=n)
    for loss in (SquaredHinge(), Logistic(), Squared(), Huber()):
        y = np.where(z > 0.1, 1.0, -1.0) if isinstance(loss, MarginLoss) else z
        alpha = 0.05 * strength(X, y, loss, fit_intercept)
        problem = posed(layout(X), y, loss, penalty, alpha, fit_intercept)
        founds = []
        for few, kind in ((d, FeatureSystem), (d - 1, RowSystem)):
            monkeypatch.setattr(SETTINGS, "few_features", few)
            assert type(programmes.programme_of(problem).system()) is kind
            founds.append(reached(problem))
            assert founds[-1].converged
        features, rows = founds
        accuracy = 1e-8 * problem.objective_unit
        assert abs(rows.certificate.primal - features.certificate.primal) <= accuracy
        assert abs(rows.n_iter - features.n_iter) <= 1
        assert_allclose(rows.coef, features.coef, atol=1e-4)


@pytest.mark.parametrize("penalty", [FusedLasso(0.5), TotalVariation()], ids=str)
def test_penalties_without_a_diagonal_stay_with_the_features(penalty, rng, monkeypatch):
    monkeypatch.setattr(SETTINGS, "few_features", 5)
    X, y = rng.normal(size=(10, 20)), rng.choice([-1.0, 1.0], 10)
    problem = posed(X, y, Hinge(), penalty, 0.02)
    assert type(programmes.programme_of(problem).system()) is FeatureSystem
    best = linear_programme(X, y, problem.weights, Hinge(), penalty, 0.02, True)
    assert_allclose(reached(problem).certificate.primal, best, rtol=1e-7, atol=1e-9)

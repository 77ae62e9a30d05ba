"""Representations by cones: which penalties declare one, and that of a penalty of one's own."""

from math import inf

import cvxpy as cp
import numpy as np
import pytest

from benchmarks.certificates import FUNCTIONS_OF_NORMS, PENALTIES
from skpd import PdproxRegressor
from skpd.penalties import (
    L1,
    GeneralizedLasso,
    GraphTotalVariation,
    GroupElasticNet,
    GroupL1Squared,
    GroupLInf,
    L1Ball,
    LInf,
    NormEpigraph,
    Penalty,
    Separable,
    Spectral,
    SquaredGroupL2,
    Structure,
    TotalVariation,
    WeightedL1,
    check_penalty,
)

CHAINED = [TotalVariation(), GeneralizedLasso(np.eye(4)), GraphTotalVariation([[0, 1], [1, 2]])]
OF_OUTPUTS = [
    GroupElasticNet(2), GroupLInf(2), GroupL1Squared(2), SquaredGroupL2(2), Spectral(L1(), 2),
]  # fmt: skip
NO_CONES = [Spectral(LInf(), 2), Spectral(L1Ball(), 2), NormEpigraph(2), *FUNCTIONS_OF_NORMS[1:]]


@pytest.mark.parametrize("penalty", [*PENALTIES, WeightedL1([1.0, 2.0]), Separable()], ids=str)
def test_cones_for_any_number_of_outputs(penalty):
    assert penalty.has_cones
    assert penalty.has_cones_of_outputs == (penalty.structure is not Structure.CHAINED)


@pytest.mark.parametrize("penalty", CHAINED, ids=str)
def test_neighbours_have_cones_for_one_output_only(penalty):
    assert penalty.has_cones and not penalty.has_cones_of_outputs


@pytest.mark.parametrize("penalty", OF_OUTPUTS, ids=str)
def test_cones_for_several_outputs_only(penalty):
    assert penalty.has_cones_of_outputs and not penalty.has_cones


@pytest.mark.parametrize("penalty", NO_CONES, ids=str)
def test_no_cones(penalty):
    assert not penalty.has_cones and not penalty.has_cones_of_outputs


class Growing(Penalty):
    """The sum of j |w_j| + w_j^2 / 2 over j = 1, 2, ..., as a user would write it."""

    structure = Structure.SEPARABLE

    def bind(self, n_features):
        self.weights = np.arange(1.0, n_features + 1.0)
        return self

    @property
    def terms(self):
        return self.weights, 1.0, -inf, inf

    def value(self, w):
        return float(np.sum(self.weights * np.abs(w) + 0.5 * w * w))

    def _shrunk(self, w, step):
        return np.sign(w) * np.maximum(np.abs(w) - step * self.weights, 0.0)

    def prox(self, w, step):
        return self._shrunk(w, step) / (1.0 + step)

    def conjugate(self, v, alpha):
        return float(np.sum(self._shrunk(v, alpha) ** 2)) / (2.0 * alpha)

    def support(self, v, radius):
        return radius * float(np.max(np.abs(v) / self.weights))


def test_a_sum_over_coefficients_of_ones_own_has_cones_by_its_terms(rng):
    """The terms alone send small data to the interior-point method."""
    check_penalty(Growing())
    X = rng.normal(size=(40, 5))
    y = X @ np.array([0.0, 3.0, 0.0, -2.0, 1.0]) + rng.normal(size=40)
    model = PdproxRegressor(0.05, loss="absolute", penalty=Growing(), tol=1e-8).fit(X, y)
    assert model.solver_ == "interior-point" and model.converged_
    w, b = cp.Variable(5), cp.Variable()
    penalty = np.arange(1.0, 6.0) @ cp.abs(w) + 0.5 * cp.sum_squares(w)
    objective = cp.norm1(X @ w + b - y) / 40 + 0.05 * penalty
    best = cp.Problem(cp.Minimize(objective)).solve(solver=cp.CLARABEL)
    assert model.certificate_.dual - 1e-6 <= best <= model.certificate_.primal + 1e-6
    assert np.count_nonzero(model.coef_) > 0
    assert model.certificate_.primal == pytest.approx(best, abs=1e-6)

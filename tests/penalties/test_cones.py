"""Representations by cones: which penalties declare one, and that of a penalty of one's own."""

from math import inf

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from benchmarks.certificates import FUNCTIONS_OF_NORMS, PENALTIES
from skpd import PdproxRegressor, PdproxSVC
from skpd.penalties import (
    L1,
    FusedLasso,
    GroupElasticNet,
    GroupL1Squared,
    GroupLInf,
    L1Ball,
    LInf,
    NormEpigraph,
    Separable,
    SeparablePenalty,
    Spectral,
    SquaredGroupL2,
    SquaredL2OnL1Ball,
    Structure,
    TotalVariation,
    WeightedL1,
    check_penalty,
)
from tests.oracles.optima import optimal_value

CHAINED = [TotalVariation(), FusedLasso(0.4)]
OF_OUTPUTS = [
    GroupElasticNet(2), GroupLInf(2), GroupL1Squared(2), SquaredGroupL2(2), Spectral(L1(), 2),
    Spectral(L1Ball(), 2), Spectral(SquaredL2OnL1Ball(2.0), 2),
]  # fmt: skip
NO_CONES = [Spectral(LInf(), 2), NormEpigraph(2), *FUNCTIONS_OF_NORMS[1:]]


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


class Growing(SeparablePenalty):
    """The sum of j |w_j| + w_j^2 / 2 over j = 1, 2, ..., which has terms and nothing else."""

    def for_n_features(self, n_features):
        penalty = Growing()
        penalty.terms = np.arange(1.0, n_features + 1.0), 1.0, -inf, inf
        return penalty


def test_a_sum_over_coefficients_of_ones_own_has_cones_by_its_terms(rng):
    """The terms alone send small data to the interior-point method."""
    check_penalty(Growing())
    check_penalty(Leaning())
    X = rng.normal(size=(40, 5))
    y = X @ np.array([0.0, 3.0, 0.0, -2.0, 1.0]) + rng.normal(size=40)
    model = PdproxRegressor(0.05, loss="absolute", penalty=Growing(), tol=1e-8).fit(X, y)
    assert model.solver_ == "interior-point" and model.converged_
    cp = pytest.importorskip("cvxpy")
    w, b = cp.Variable(5), cp.Variable()
    penalty = np.arange(1.0, 6.0) @ cp.abs(w) + 0.5 * cp.sum_squares(w)
    objective = cp.norm1(X @ w + b - y) / 40 + 0.05 * penalty
    best = optimal_value(cp.Problem(cp.Minimize(objective)))
    assert model.certificate_.dual - 1e-6 <= best <= model.certificate_.primal + 1e-6
    assert np.count_nonzero(model.coef_) > 0
    assert model.certificate_.primal == pytest.approx(best, abs=1e-6)


class Leaning(SeparablePenalty):
    """The sum of |w_j| / 2 + w_j^2 / 2 with w_j >= -1, whose methods a user wrote."""

    terms = (0.5, 1.0, -1.0, inf)
    even, is_finite = False, False

    def value(self, w):
        return float(np.sum(0.5 * np.abs(w) + 0.5 * w * w)) if np.min(w) >= -1.0 else inf

    def _shrunk(self, w, step):
        return np.sign(w) * np.maximum(np.abs(w) - 0.5 * step, 0.0)

    def prox(self, w, step):
        return np.maximum(self._shrunk(w, step) / (1.0 + step), -1.0)

    def feasible(self, w):
        return np.maximum(w, -1.0)

    def conjugate(self, v, alpha):
        w = np.maximum(self._shrunk(v, alpha) / alpha, -1.0)
        return float(v @ w) - alpha * self.value(w)

    def support(self, v, radius):
        return 2.0 * radius * float(np.max(np.abs(v)))

    def worst_case(self, v, error):
        low, high = v - error, v + error
        alone = [[self.conjugate(np.array([x]), 0.1) for x in side] for side in (low, high)]
        return np.where(np.greater(*alone), low, high)


@pytest.mark.parametrize("penalty", [Growing(), Leaning()], ids=["an array", "numbers"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_sum_over_coefficients_of_ones_own_has_newton_steps_by_its_terms(penalty, loss, rng):
    """With a smooth loss; the optimum is that of L-BFGS-B on positive and negative parts."""
    X = rng.normal(size=(300, 40))
    y = X[:, :5] @ np.array([0.0, 3.0, 0.0, -2.0, 1.0]) + rng.normal(size=300)
    model = PdproxRegressor if loss == "squared" else PdproxSVC
    y = y if loss == "squared" else np.sign(y)
    model = model(0.02, loss=loss, penalty=penalty, tol=1e-9).fit(X, y)
    assert model.solver_ == "multipliers" and model.converged_
    l1, l2, lower, _ = (np.broadcast_to(term, 40) for term in penalty.for_n_features(40).terms)

    def objective(parts):
        w = parts[:40] - parts[40:80]
        z = X @ w + parts[80]
        each = 0.5 * (z - y) ** 2 if loss == "squared" else np.logaddexp(0.0, -y * z)
        slope = (z - y if loss == "squared" else -y * expit(-y * z)) / 300
        of_w = X.T @ slope + 0.02 * l2 * w
        sizes = l1 @ (parts[:40] + parts[40:80]) + 0.5 * np.sum(l2 * w * w)
        gradient = np.concatenate([of_w + 0.02 * l1, 0.02 * l1 - of_w, [np.sum(slope)]])
        return np.mean(each) + 0.02 * sizes, gradient

    bounds = [(0.0, None)] * 40 + [(0.0, -each) for each in lower] + [(None, None)]
    best = minimize(
        objective, np.zeros(81), jac=True, bounds=bounds, method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-10},
    ).fun  # fmt: skip
    assert model.certificate_.dual - 1e-7 <= best <= model.certificate_.primal + 1e-7
    assert model.certificate_.primal == pytest.approx(best, abs=1e-7)
    assert 0 < np.count_nonzero(model.coef_) < 40

"""Choosing epsilon and kappa: epsilon = 0, paths, warnings."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from skpd import DRSVMClassifier, certify, regularization_path
from skpd.losses import Hinge
from skpd.penalties import L1
from tests.oracles.reference import linear_programme
from tests.oracles.robust_reference import robust_linear_programme

CASES = [(1, 1.0, 200, 6), (2, np.inf, 200, 6), (2, 1.0, 900, 8)]
LAYOUTS = [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_matrix]


def mean_hinge_programme(X, y, weights, fit_intercept):
    return linear_programme(X, y, weights, Hinge(), L1(), 0.0, fit_intercept)


def noisy(rng, n=150, d=5):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0.4, 1, 0)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kappa", [1e-3, np.inf])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_epsilon_0_is_the_mean_hinge_loss(layout, kappa, fit_intercept, rng):
    for norm in (1, 2, np.inf):
        X, y = noisy(rng)
        weights = rng.integers(0, 4, len(y))
        best = mean_hinge_programme(X, 2.0 * y - 1, weights / weights.sum(), fit_intercept)
        model = DRSVMClassifier(
            epsilon=0.0, kappa=kappa, norm=norm, fit_intercept=fit_intercept, tol=1e-9
        ).fit(layout(X), y, sample_weight=weights)
        certificate = model.certificate_
        assert model.converged_ and certificate.dual <= best + 1e-10
        assert_allclose([certificate.primal, certificate.dual], best, rtol=0, atol=1e-8)
        loss = np.maximum(1 - (2 * y - 1) * model.decision_function(X), 0)
        assert_allclose(np.average(loss, weights=weights), best, atol=1e-8)
        assert_allclose(
            model.worst_case_loss(layout(X), y, sample_weight=weights), best, atol=1e-8
        )
        assert certify(model, layout(X), y, weights).dual <= best + 1e-10
        data = model.worst_case_distribution(X, y, sample_weight=weights)
        assert_allclose(data.mass, weights[weights > 0] / weights.sum())
        assert np.array_equal(data.X, X[weights > 0]) and not data.cost.any()


def test_epsilon_0_of_separable_classes(cancer):
    """The least value is 0, and no bound is better than that the loss is not negative."""
    model = DRSVMClassifier(epsilon=0.0).fit(*cancer)
    assert model.converged_ and model.certificate_.dual == 0.0
    assert model.certificate_.primal <= 1e-9 and model.score(*cancer) == 1.0


def test_epsilon_0_resumes_and_is_the_limit(rng):
    X, y = noisy(rng)
    model = DRSVMClassifier(epsilon=0.0, warm_start=True, tol=1e-8).fit(X, y)
    value = model.certificate_.primal
    model.fit(X, y)
    assert model.n_iter_ == 0 and model.certificate_.primal <= value
    near = model.set_params(epsilon=1e-9).fit(X, y)
    assert_allclose(near.certificate_.primal, value, atol=1e-7)


@pytest.mark.parametrize("kappa", [1.0, np.inf])
@pytest.mark.parametrize("norm", [1, np.inf])
def test_a_model_that_ignores_all_features_warns(norm, kappa, rng):
    """With a bound that HiGHS confirms, and no search for it by fits."""
    X, y = noisy(rng)
    model = DRSVMClassifier(epsilon=5.0, norm=norm, kappa=kappa)
    with pytest.warns(UserWarning, match="DRSVMClassifier ignores all features") as caught:
        model.fit(X, y)
    assert not model.coef_.any() and model.solver_ == "null-model"
    (message,) = (str(w.message) for w in caught)
    assert caught[0].filename == __file__
    bound = float(message.split("of at least about ")[1].split(";")[0])
    weights = np.full(len(y), 1 / len(y))
    given = {"norm": norm, "kappa": kappa, "fit_intercept": True}
    without, best = (
        robust_linear_programme(Z, 2.0 * y - 1, weights, epsilon=1.01 * bound, **given)[0]
        for Z in (0 * X, X)
    )
    assert without - best <= 1e-9


@pytest.mark.filterwarnings("ignore:DRSVMClassifier ignores all features")
@pytest.mark.parametrize("norm, kappa, n, d", CASES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_path_over_epsilon(norm, kappa, n, d, fit_intercept, rng):
    """Each model is that of a fit, and the first is the best constant."""
    X, y = noisy(rng, n, d)
    model = DRSVMClassifier(
        epsilon=0.0, kappa=kappa, norm=norm, fit_intercept=fit_intercept, tol=1e-7
    )
    found = regularization_path(model, X, y, alphas=5)
    assert found.parameter == "epsilon" and found.converged.all()
    assert "5 epsilons from" in repr(found) and not found.coefs[0].any()
    for k in (1, 2, 4):
        assert found.models[k].epsilon == found.alphas[k]
        fit = DRSVMClassifier(**{**model.get_params(), "epsilon": found.alphas[k]}).fit(X, y)
        certificate = found.certificates[k]
        assert certificate.dual <= fit.certificate_.primal * (1 + 1e-12)
        assert fit.certificate_.dual <= certificate.primal * (1 + 1e-12)
        assert certificate.relative_gap <= 1e-7

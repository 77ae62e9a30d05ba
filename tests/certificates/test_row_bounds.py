"""What a gap says of predictions, decisions and rows, beside optima found otherwise."""

import re

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import scale

from benchmarks.gap_proofs import SOLVERS, a_problem, check
from skpd import (
    CoxPD,
    DRSVMClassifier,
    GammaPD,
    KernelPdproxSVC,
    LassoPDCertified,
    LogisticPD,
    LPBoostClassifier,
    MultinomialPD,
    PdproxSVC,
    PoissonPD,
    TweediePD,
    certify,
    regularization_path,
)
from skpd.certificates import certify_point
from skpd.certificates.row_bounds import most_turned
from skpd.designs import Design
from skpd.losses import (
    CrammerSinger,
    GeneralizedHinge,
    Hinge,
    Logistic,
    ModifiedHuber,
    SmoothedHinge,
    Softmax,
    Squared,
    SquaredHinge,
)
from skpd.penalties import L1, ElasticNet, SquaredL2
from skpd.problems import linear_problem


@pytest.mark.parametrize("kind", SOLVERS)
def test_statements_hold_for_optima_found_otherwise(kind):
    rng = np.random.default_rng(5)
    n_statements = 0
    for _ in range(6):
        drawn = a_problem([kind], rng)
        for what, solver, said, true, room in check(drawn, rng):
            assert true <= said + room, (what, solver)
            n_statements += 1
    assert n_statements >= 6


@pytest.mark.parametrize("share", [1e-2, 1e-4])
def test_distance_of_least_squares_is_attained(rng, share):
    """With the optimal dual point and a tiny penalty the gap is half the mean square."""
    X, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    weights = np.full(40, 1.0 / 40)
    problem = linear_problem(Design(X), y, weights, Squared(), SquaredL2(), 1e-9, False)
    best = Ridge(alpha=40e-9, fit_intercept=False, tol=1e-14).fit(X, y).coef_
    coef = best + share * rng.normal(size=5)
    certificate, _ = certify_point(problem, coef, 0.0, X @ best - y)
    true = np.sqrt(np.mean((X @ (coef - best)) ** 2))
    assert true <= certificate.prediction_distance <= 1.001 * true


def test_all_decisions_differ_where_the_gap_allows_it():
    """Rows with the same feature, a model on the other side of 0 than the optimum."""
    y = np.array([1.0] * 11 + [-1.0] * 9)
    X, weights = np.ones((20, 1)), np.full(20, 1.0 / 20)
    problem = linear_problem(Design(X), y, weights, Logistic(), SquaredL2(), 1e-9, False)
    best = np.log(11 / 9)  # up to the penalty
    coef = np.array([-best])
    certificate, _ = certify_point(problem, coef, 0.0, -y * expit(-y * best))
    assert certificate.decisions_that_may_differ == 20
    certificate, _ = certify_point(problem, np.array([best]), 0.0, -y * expit(-y * best))
    assert certificate.decisions_that_may_differ == 0


def least_beyond(loss, y, z, theta):
    """The least divergence and Fenchel-Young loss over predictions beyond 0, by search."""
    at = np.array([float(z)])

    def divergence(x):
        x = np.array([x])
        slope = loss.gradient(y, x)
        return float((loss.value(y, at) - loss.value(y, x) - slope * (at - x))[0])

    def young(x):
        x = np.array([x])
        return float((loss.value(y, x) + loss.conjugate(y, theta) - theta * x)[0])

    beyond = (-30.0, -1e-12) if z > 0 else (1e-12, 30.0)
    options = {"bounds": beyond, "method": "bounded", "options": {"xatol": 1e-10}}
    functions = [young, divergence] if np.isfinite(loss.smoothness) else [young]
    grid = np.linspace(*beyond, 301)
    return sum(min(minimize_scalar(f, **options).fun, *map(f, grid)) for f in functions)


@pytest.mark.parametrize(
    "loss",
    [Hinge(), Logistic(), SquaredHinge(), SmoothedHinge(), ModifiedHuber(), GeneralizedHinge(3.0)],
    ids=repr,
)
def test_costs_of_margin_losses_are_least_values(loss, rng):
    for _ in range(20):
        y, z = rng.choice([-1.0, 1.0], size=1), 2.0 * rng.normal(size=1)
        theta = loss.project_dual(y, loss.gradient(y, z + 0.5 * rng.normal(size=1)))
        cost = loss.decision_costs(y, np.array([0.5]), z, np.zeros(1), theta)[0]
        assert cost <= 0.5 * least_beyond(loss, y, z[0], theta) + 1e-9
        assert cost >= 0.5 * least_beyond(loss, y, z[0], theta) - 1e-6


def test_costs_of_the_softmax_are_divergences_of_the_nearest_other_decision(rng):
    """Against a search over probabilities with another first class."""
    loss = Softmax(3)
    for _ in range(30):
        z, Y = 2.0 * rng.normal(size=3), np.eye(3)[rng.integers(3)]
        p = loss.probabilities(z)[0]
        cost = loss.decision_costs(Y, np.ones(3), z, np.zeros(3), p - Y)[0]
        others = rng.dirichlet(np.ones(3), size=20_000)
        others = others[np.argmax(others, axis=1) != np.argmax(p)]
        divergence = np.sum(others * np.log(others / p), axis=1)
        reverse = np.sum(p * np.log(p / others), axis=1)
        assert cost <= np.min(divergence) + np.min(reverse) + 1e-12
        assert cost >= 0.8 * (np.min(divergence) + np.min(reverse)) - 0.01


def test_cost_of_crammer_and_singer_is_the_probability_of_the_own_class():
    loss, y = CrammerSinger(3), np.array([1.0, 0.0, 0.0])
    theta = np.array([-0.7, 0.5, 0.2])
    right, wrong = np.array([1.0, 0.0, -1.0]), np.array([0.0, 1.0, -1.0])
    assert loss.decision_costs(y, np.ones(3), right, np.zeros(3), theta)[0] == pytest.approx(0.3)
    assert loss.decision_costs(y, np.ones(3), wrong, np.zeros(3), theta)[0] == 0.0


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_decisions_of_the_robust_svm(norm):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    model = DRSVMClassifier(0.1, kappa=1.0, norm=norm, tol=1e-9).fit(X, y)
    best = model.decision_function(X) > 0.0
    for tol in (1e-1, 1e-2, 1e-4):
        other = DRSVMClassifier(0.1, kappa=1.0, norm=norm, tol=tol).fit(X, y)
        differ = np.count_nonzero((other.decision_function(X) > 0.0) != best)
        said = other.certificate_.decisions_that_may_differ
        assert differ <= said < len(y)


def test_costs_are_summed_from_the_least():
    costs = np.array([0.5, 0.0, 0.1, 0.3, np.inf])
    assert [most_turned(costs, gap) for gap in (0.0, 0.09, 0.4, 0.41, 10.0, np.inf)] == [
        1, 1, 3, 3, 4, 5,
    ]  # fmt: skip


def test_rows_without_weight_count():
    X, y = load_iris(return_X_y=True)
    weights = np.ones(len(y))
    weights[::3] = 0.0
    model = PdproxSVC(1e-2, loss="logistic", tol=1e-10).fit(X, y == 0, sample_weight=weights)
    assert model.certificate_.decisions_that_may_differ >= 50


def test_foreign_models_and_rigorous_certificates():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    best = LogisticRegression(tol=1e-12, max_iter=10_000).fit(X, y)
    with pytest.warns(ConvergenceWarning):
        loose = LogisticRegression(max_iter=3).fit(X, y)
    true = np.sqrt(np.mean((loose.predict_proba(X) - best.predict_proba(X))[:, 1] ** 2))
    for rigorous in (False, True):
        certificate = certify(loose, X, y, rigorous=rigorous)
        differ = np.count_nonzero(loose.predict(X) != best.predict(X))
        assert true <= certificate.prediction_distance < 1.0
        assert differ <= certificate.decisions_that_may_differ < len(y)


def test_probabilities_of_classes():
    X, y = load_iris(return_X_y=True)
    best = MultinomialPD(1e-2, tol=1e-12).fit(X, y)
    loose = MultinomialPD(1e-2, tol=1e-2).fit(X, y)
    apart = np.sum((best.predict_proba(X) - loose.predict_proba(X)) ** 2, axis=1)
    assert np.sqrt(np.mean(apart)) <= loose.certificate_.prediction_distance < 0.2
    differ = np.count_nonzero(best.predict(X) != loose.predict(X))
    assert differ <= loose.certificate_.decisions_that_may_differ < len(y)


def test_refit_without_inactive_rows():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    model = PdproxSVC(0.05, penalty="l2", tol=1e-13, max_iter=10**5).fit(X, y)
    kept = ~PdproxSVC(0.05, penalty="l2", tol=1e-6).fit(X, y).certificate_.proven_inactive_rows
    assert 0.1 < kept.mean() < 0.5
    fewer = PdproxSVC(0.05 / kept.mean(), penalty="l2", tol=1e-13, max_iter=10**5)
    np.testing.assert_allclose(fewer.fit(X[kept], y[kept]).coef_, model.coef_, atol=1e-6)


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize(
    ("model", "unknown"),
    [
        (PdproxSVC(), {"prediction_distance"}),
        (PdproxSVC(noise_budget=0.9), {"prediction_distance", "decisions_that_may_differ"}),
        (KernelPdproxSVC(), {"prediction_distance", "decisions_that_may_differ"}),
        (LogisticPD(), set()),
    ],
    ids=["hinge", "budget", "kernel", "logistic"],
)
def test_reasons_where_nothing_is_known(model, unknown):
    X, y = load_breast_cancer(return_X_y=True)
    certificate = model.fit(scale(X), y).certificate_
    assert set(certificate.not_known) == unknown
    for name in ("prediction_distance", "decisions_that_may_differ"):
        assert (getattr(certificate, name) is None) == (name in unknown)
    assert "decisions could change" in str(certificate) or "decisions_that_may_differ" in unknown


def test_reasons_of_other_models():
    X, y = load_breast_cancer(return_X_y=True)
    reasons = LPBoostClassifier().fit(X, y).certificate_.not_known
    assert set(reasons) == {"prediction_distance", "decisions_that_may_differ"}


def test_distance_along_a_path_that_moments_determine():
    X, y = load_diabetes(return_X_y=True)
    found = regularization_path(LassoPDCertified(), X, y, alphas=5, eps=1e-2)
    best = regularization_path(LassoPDCertified(tol=1e-12), X, y, alphas=found.alphas)
    for certificate, z, optimal in zip(
        found.certificates, found.predict(X), best.predict(X), strict=True
    ):
        true = np.sqrt(np.mean((z - optimal) ** 2))
        assert true <= certificate.prediction_distance + 1e-9


@pytest.mark.parametrize("model", [PoissonPD, GammaPD])
@pytest.mark.parametrize("tol", [0.5, 1e-2, 1e-4])
@pytest.mark.parametrize("with_offset", [False, True])
def test_predicted_means_beside_those_of_an_optimum(model, tol, with_offset, rng):
    """The mean of abs(f - 1) with the weights a_i, for the factors to an optimum at 1e-11."""
    X, offset = rng.normal(size=(200, 4)), with_offset * rng.normal(size=200)
    y, weights = rng.poisson(np.exp(0.5 * X[:, 0] + offset)) + 1.0, rng.uniform(0.5, 2.0, 200)
    data = {"X": X, "y": y, "sample_weight": weights, "offset": offset}
    fitted, best = (model(alpha=0.01, tol=each).fit(**data) for each in (tol, 1e-11))
    means, optimal = (each.predict(X, offset=offset) for each in (fitted, best))
    if model is PoissonPD:
        factors, shares = optimal / means, weights * means
    else:
        factors, shares = means / optimal, weights * y / means
    bound = fitted.certificate_.row_bounds.means
    assert np.average(np.abs(factors - 1.0), weights=shares) <= bound
    assert bound <= 3.0 * np.sqrt(fitted.certificate_.gap)
    shown = re.search(r"within factors of (\S+) and (\S+) of an optimal", str(fitted.certificate_))
    lower, upper = map(float, shown.groups())
    assert lower <= 1.0 - bound and 1.0 + bound <= upper <= 1.0 + 1.2 * bound


@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.5)], ids=str)
def test_a_constant_on_the_other_side_of_the_best_one(penalty, rng):
    """Every decision differs from those of the optimum, the constant of the larger class."""
    X, y = rng.normal(size=(40, 2)), np.where(np.arange(40) < 30, 1.0, -1.0)
    weights = np.full(40, 1.0 / 40)
    problem = linear_problem(Design(X), y, weights, Hinge(), penalty, 5.0)
    model = np.zeros(2), -1e-3
    certificate, _ = certify_point(problem, *model, problem.null_point.dual_coef)
    assert certificate.decisions_that_may_differ == 40


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
def test_no_such_bound_for_other_losses(rng):
    X, y = rng.normal(size=(50, 2)), rng.poisson(2.0, 50)
    for model in (
        PoissonPD(dispersion=0.5, alpha=1e-3, penalty="l1"),
        TweediePD(power=1.5, alpha=1e-3, penalty="l1"),
        LassoPDCertified(),
    ):
        assert model.fit(X, y).certificate_.row_bounds.means is None


def test_hazard_ratios_are_told_where_they_are_known(rng):
    X, time = rng.normal(size=(300, 3)), rng.exponential(size=300)
    y = np.column_stack([time * np.exp(-X[:, 0]), np.ones(300)])
    loose, tight = (CoxPD(0.1, penalty="l2", tol=tol).fit(X, y) for tol in (0.9, 1e-9))
    assert "hazard ratio" not in str(loose.certificate_)
    widths = np.ptp(tight.certificate_.coefficient_bounds, axis=1)
    assert "every hazard ratio of an optimal model is known within a factor of 1.0" in str(
        tight.certificate_
    )
    assert 0.0 < np.max(widths) < 0.1

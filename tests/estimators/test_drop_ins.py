"""What users of scikit-learn's Lasso and ElasticNet rely on, and models of float32 data."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import lsq_linear, nnls
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    ElasticNetCV,
    Lasso,
    LassoCV,
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    enet_path,
    lasso_path,
)

from skpd import (
    CoxPD,
    DRSVMClassifier,
    ElasticNetPD,
    ElasticNetPDCV,
    KernelPdproxRegressor,
    LassoPDCertified,
    LassoPDCertifiedCV,
    MultiTaskPD,
    MultiTaskPDCV,
    OrdinalPD,
    PathCV,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    QuantilePD,
    RowBlocks,
    TraceNormPD,
    certify,
    regularization_path,
)


def data(rng, n=60, d=8, n_targets=None):
    X = rng.normal(size=(n, d)) + 0.5
    shape = (d,) if n_targets is None else (d, n_targets)
    y = X @ (rng.normal(size=shape) * (rng.random(shape) < 0.5))
    return X, y + 0.3 * rng.normal(size=y.shape) + 1.0


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_a_penalty_it_is_least_squares(container, fit_intercept, rng):
    X, y = data(rng)
    X[:, 3] = X[:, 1]  # coefficients are not unique, predictions are
    weights = rng.uniform(0.1, 2.0, len(y))
    table = np.column_stack([X, np.ones(len(y))]) if fit_intercept else X
    root = np.sqrt(weights)
    best = np.linalg.lstsq(table * root[:, None], y * root, rcond=None)[0]
    least = weights @ (y - table @ best) ** 2 / 2 / weights.sum()
    for model in (LassoPDCertified(0.0), ElasticNetPD(0, l1_ratio=0.3)):
        model.set_params(fit_intercept=fit_intercept, tol=1e-10)
        model.fit(container(X), y, weights)
        assert model.converged_
        assert_allclose(model.predict(X), table @ best, atol=1e-7)
        assert model.certificate_.dual <= least * (1 + 1e-12)
        assert model.certificate_.primal >= least * (1 - 1e-12)
    blocks = LassoPDCertified(0.0, fit_intercept=fit_intercept, tol=1e-6)
    blocks.fit(RowBlocks([X[:20], X[20:]]), y, weights)
    assert_allclose(blocks.predict(X), table @ best, atol=1e-3)


def test_without_a_penalty_signs_and_constant_columns_hold(rng):
    X, y = data(rng)
    best, _ = nnls(X, y)
    ours = LassoPDCertified(0.0, positive=True, fit_intercept=False, tol=1e-11).fit(X, y)
    assert_allclose(ours.coef_, best, atol=1e-5)
    assert (ours.coef_ >= 0.0).all()
    found = regularization_path(
        LassoPDCertified(0.0), X, y, alphas=[0.1]
    )  # its own alpha has no part in it
    assert_allclose(found.coefs[0], Lasso(0.1, tol=1e-12).fit(X, y).coef_, atol=1e-2)


ALPHAS_TO_0 = [0.5, 0.4, 0.3, 0.2, 0.1, 0.0]


@pytest.mark.parametrize("alphas", [[0.0, 0.3, 1.0], ALPHAS_TO_0], ids=str)
@pytest.mark.parametrize("ours, theirs", [
    (LassoPDCertifiedCV(), LassoCV()),
    (LassoPDCertifiedCV(positive=True), LassoCV(positive=True)),
    (ElasticNetPDCV(l1_ratio=[0.2, 0.9]), ElasticNetCV(l1_ratio=[0.2, 0.9])),
], ids=str)  # fmt: skip
def test_grids_to_an_alpha_of_0_are_those_of_scikit_learn(ours, theirs, alphas, rng):
    X, y = data(rng)
    y = y + X @ np.ones(8)  # so that 0 is chosen where it may be
    ours = clone(ours).set_params(alphas=alphas, cv=3, tol=1e-11).fit(X, y)
    theirs = clone(theirs).set_params(alphas=alphas, cv=3, tol=1e-13, max_iter=10**5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the penalty is 0
        theirs.fit(X, y)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-6)
    assert ours.alpha_ == theirs.alpha_
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert certify(ours, X, y).relative_gap <= 1e-9


def test_paths_to_an_alpha_of_0_end_at_least_squares(rng):
    X, y = data(rng)
    best = np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]), y, rcond=None)[0]
    for estimator in (LassoPDCertified(tol=1e-11), ElasticNetPD(tol=1e-11)):
        found = regularization_path(estimator, X, y, alphas=ALPHAS_TO_0)
        assert_allclose(found.coefs[-1], best[:-1], atol=1e-6)
        assert found.converged.all() and found.models[-1].alpha == 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # there are no smaller alphas to try than 0
        search = PathCV(LassoPDCertified(), alphas=[1.0, 0.5, 0.0]).fit(X, y + X @ np.ones(8))
    assert search.best_estimator_.alpha == search.alpha_ == 0.0
    bounded = LassoPDCertified(penalty_weights=np.arange(8.0), bounds=(-0.1, 0.2), tol=1e-11)
    found = regularization_path(bounded, X, y, alphas=[0.1, 0.0])
    left = lsq_linear(X - X.mean(axis=0), y - y.mean(), (-0.1, 0.2), tol=1e-14)
    assert_allclose(found.coefs[-1], left.x, atol=1e-6)
    for options in ({"certified": 0.1}, {}):
        estimator = LassoPDCertified() if options else ElasticNetPD(l1_radius=1.0)
        with pytest.raises(
            ValueError,
            match="with a penalty of single coefficients, such as 'l1' or 'l2', without certified",
        ):
            regularization_path(estimator, X, y, alphas=[1.0, 0.0], **options)


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*end of the grid")
@pytest.mark.usefixtures("alphas_of_scikit_learn")
def test_elastic_net_of_positive_coefficients_by_cross_validation(rng):
    X, y = data(rng)
    options = {"positive": True, "l1_ratio": [0.3, 0.8], "cv": 3}
    ours = ElasticNetPDCV(**options, alphas=6, tol=1e-10).fit(X, y)
    theirs = ElasticNetCV(**options, alphas=6, tol=1e-12, max_iter=10**5).fit(X, y)
    assert_allclose(ours.alphas_, theirs.alphas_)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)
    assert (ours.alpha_, ours.l1_ratio_) == pytest.approx((theirs.alpha_, theirs.l1_ratio_))
    given = ElasticNetPDCV(**options, alphas=[1.0, 0.1]).fit(X, y)
    assert_array_equal(given.alphas_, [1.0, 0.1])  # one grid for all, as there


@pytest.mark.parametrize("container", [np.asarray, sp.csc_array, lambda X: RowBlocks([X])])
def test_several_targets_have_models_of_their_own(container, rng):
    X, Y = data(rng, n_targets=3)
    theirs = Lasso(0.1, tol=1e-13, max_iter=10**5).fit(X, Y)
    ours = LassoPDCertified(0.1, tol=1e-10, warm_start=True).fit(container(X), Y)
    assert ours.coef_.shape == (3, 8) and ours.intercept_.shape == (3,)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-3)
    assert_array_equal(ours.dual_gap_, [found.gap for found in ours.certificate_])
    for k in range(3):
        alone = LassoPDCertified(0.1, tol=1e-10).fit(X, Y[:, k])
        assert alone.certificate_.dual <= ours.certificate_[k].primal
        assert ours.certificate_[k].dual <= alone.certificate_.primal
        assert alone.dual_gap_ == alone.certificate_.gap
    assert ours.sparse_coef_.shape == (3, 8) and ours.sparse_coef_.nnz < 24
    coef = ours.coef_
    assert_allclose(ours.fit(container(X), Y).coef_, coef, atol=1e-4)
    assert_array_equal(ours.fit(X, Y[:, :1]).coef_.shape, (8,))


def test_several_targets_are_named_where_they_do_not_converge(rng):
    X, Y = data(rng, n_targets=2)
    with pytest.warns(ConvergenceWarning, match="converge for output [01]:"):
        LassoPDCertified(0.01, solver="cd", max_iter=1, tol=1e-12, random_state=0).fit(X, Y)
    model = ElasticNetPD(0.05, tol=1e-10).fit(X, Y)
    assert [found.gap for found in certify(model, X, Y)] == pytest.approx(model.dual_gap_)
    found = regularization_path(model, X, Y, alphas=[0.5, 0.05])
    assert_allclose(found.coefs[1], model.coef_, atol=1e-3)
    assert found.predict(X).shape == (2, 60, 2)


def test_paths_are_those_of_lasso_path(rng):
    X, y = data(rng)
    model, alphas = LassoPDCertified(fit_intercept=False, tol=1e-11), np.logspace(0.0, -2.0, 9)
    expected = lasso_path(X, y, alphas=alphas, tol=1e-13, max_iter=10**5)
    found = regularization_path(model, X, y, alphas=alphas)
    assert_allclose(found.coefs, expected[1].T, atol=1e-5)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.4, 1.0])
def test_several_tasks_have_the_attributes_and_paths_of_scikit_learn(l1_ratio, rng):
    X, Y = data(rng, n_targets=3)
    theirs = MultiTaskElasticNet(0.2, l1_ratio=l1_ratio, tol=1e-13, max_iter=10**5).fit(X, Y)
    for container in (np.asarray, sp.csr_array):
        ours = MultiTaskPD(0.2, l1_ratio=l1_ratio, tol=1e-12).fit(container(X), Y)
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
        assert ours.dual_gap_ == ours.certificate_.gap >= 0.0
        assert_array_equal(ours.sparse_coef_.toarray(), ours.coef_)
    assert certify(theirs, X, Y).relative_gap < 1e-9
    options = {"l1_ratio": l1_ratio, "alphas": [0.5, 0.1]}
    expected = enet_path(X, Y, **options, tol=1e-13, max_iter=10**5)
    model = MultiTaskPD(l1_ratio=l1_ratio, fit_intercept=False, tol=1e-12)
    found = regularization_path(model, X, Y, alphas=[0.5, 0.1])
    assert_allclose(np.moveaxis(found.coefs, 0, -1), expected[1], atol=1e-6)


def test_cross_validation_of_tasks_may_have_no_norm_of_groups(rng):
    X, Y = data(rng, n_targets=2)
    options = {"l1_ratio": 0, "alphas": [0.1, 10.0], "cv": 3}
    theirs = MultiTaskElasticNetCV(**options, tol=1e-10).fit(X, Y)
    with pytest.warns(UserWarning, match="the smallest of 2 alphas"):
        ours = MultiTaskPDCV(**options, tol=1e-10).fit(X, Y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-5)


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize(
    "kind", [LassoPDCertified, PoissonPD, OrdinalPD, CoxPD, KernelPdproxRegressor]
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_intercepts_are_numbers_of_numpy(kind, fit_intercept, rng):
    X, y = data(rng)
    model = kind(0.1)
    y = np.where(y > np.median(y), 1.0, 2.0)
    target = np.column_stack([y, y > 1.5]) if isinstance(model, CoxPD) else y
    if "fit_intercept" in model.get_params():
        model.set_params(fit_intercept=fit_intercept)
    intercept = model.fit(X, target).intercept_
    assert type(intercept) is np.float64 and intercept.shape == ()
    assert isinstance(intercept.item(), float)


@pytest.mark.parametrize(
    ("model", "n_outputs"),
    [(LassoPDCertified(0.1), 1), (LassoPDCertified(0.1), 2), (PoissonPD(0.1), 1),
     (PoissonPD(0.1, fit_intercept=False), 1), (PdproxSVC(0.1), 1),
     (PdproxSVC(0.1), 3), (QuantilePD([0.2, 0.8], alpha=0.1), 1)],
    ids=str,
)  # fmt: skip
def test_one_number_is_the_offset_of_all_rows(model, n_outputs, rng):
    X, Y = data(rng, n_targets=2)
    classes = np.digitize(Y[:, 0], [0.5, 1.5][: max(n_outputs - 1, 1)])
    target = classes if isinstance(model, PdproxSVC | PoissonPD) else Y[:, :n_outputs].squeeze()
    table = np.full((len(X), n_outputs), 0.7).squeeze()
    predicted = model.fit(X, target, offset=table).predict(X, offset=table)
    coef = model.coef_
    assert_array_equal(model.fit(X, target, offset=0.7).coef_, coef)
    assert_array_equal(model.predict(X, offset=0.7), predicted)


def test_alphas_must_not_be_strings(rng):
    X, y = data(rng)
    with pytest.raises(TypeError, match=r"alphas\[1\] must be an instance of float, not str"):
        ElasticNetPDCV(alphas=[1.0, "0.1"]).fit(X, y)


# float32


def exact_objective(X, y, model, loss, penalty):
    """The objective of the coefficients, in exact arithmetic."""
    coef = [Fraction(float(w)) for w in np.ravel(model.coef_)]
    intercept, total = Fraction(float(np.ravel(model.intercept_)[0])), Fraction(0)
    for row, target in zip(X, y, strict=True):
        z = intercept + sum(Fraction(float(x)) * w for x, w in zip(row, coef, strict=True))
        total += loss(Fraction(float(target)), z)
    return total / len(y) + penalty(coef)


def l1(coef):
    return sum(map(abs, coef))


MODELS = [
    (LassoPDCertified(0.05), lambda y, z: (y - z) ** 2 / 2, lambda w: Fraction(0.05) * l1(w)),
    (LassoPDCertified(0.0), lambda y, z: (y - z) ** 2 / 2, lambda w: 0),
    (ElasticNetPD(0.05, l1_ratio=1.0, l1_radius=0.7), lambda y, z: (y - z) ** 2 / 2,
     lambda w: 0 if l1(w) <= Fraction(0.7) else np.inf),
    (ElasticNetPD(0.05, l1_ratio=1.0, bounds=(-0.1, 0.3)), lambda y, z: (y - z) ** 2 / 2,
     lambda w: Fraction(0.05) * l1(w)
     if all(Fraction(-0.1) <= x <= Fraction(0.3) for x in w) else np.inf),
    (PdproxRegressor(0.05), lambda y, z: abs(y - z), lambda w: Fraction(0.05) * l1(w)),
    (PdproxSVC(0.05), lambda y, z: max(1 - y * z, 0), lambda w: Fraction(0.05) * l1(w)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "loss", "penalty"),
    MODELS,
    ids=["lasso", "least squares", "ball", "bounds", "absolute", "hinge"],
)
def test_certificates_are_those_of_coefficients_in_float32(model, loss, penalty, rng):
    X, y = data(rng)
    X[:, 0] += 1e3
    X = X.astype(np.float32)  # rounding shows where numbers are large
    y = np.where(y > 1.0, 1.0, -1.0) if isinstance(model, PdproxSVC) else y
    model.set_params(tol=1e-3).fit(X, y)
    assert model.coef_.dtype == model.intercept_.dtype == np.float32
    objective = exact_objective(X, y, model, loss, penalty)
    assert model.certificate_.dual <= objective <= model.certificate_.primal
    double = type(model)(**model.get_params()).fit(X.astype(np.float64), y)
    assert double.coef_.dtype == np.float64
    assert model.certificate_.dual <= double.certificate_.primal
    assert model.gap_history_["gap"][-1] == model.duality_gap_
    if model.get_params().get("alpha"):
        assert_array_equal(model.coef_ == 0.0, double.coef_ == 0.0)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, lambda X: RowBlocks([X])])
def test_predictions_have_the_precision_of_scikit_learn(container, rng):
    X, y = data(rng)
    single, y = container(X.astype(np.float32)), y.astype(np.float32)
    ours, theirs = LassoPDCertified(0.1).fit(single, y), Lasso(0.1).fit(X.astype(np.float32), y)
    for given in (X, X.astype(np.float32)):
        assert ours.predict(given).dtype == theirs.predict(given).dtype
    assert ours.coef_.dtype == theirs.coef_.dtype
    assert type(ours.intercept_) is type(theirs.intercept_) is np.float32
    of_double = LassoPDCertified(0.1).fit(X, y)
    assert of_double.predict(X.astype(np.float32)).dtype == np.float64
    for model in (DRSVMClassifier(), QuantilePD([0.2, 0.8]), TraceNormPD(radius=1.0)):
        if isinstance(single, RowBlocks):
            break
        model.fit(single, y > 1.0 if isinstance(model, DRSVMClassifier) else y)
        assert model.coef_.dtype == model.intercept_.dtype == np.float32
        scores = getattr(model, "decision_function", model.predict)
        assert scores(single).dtype == np.float32


def test_less_than_float32_can_say_is_no_convergence(rng):
    X, y = data(rng)
    X = (X + 1e4).astype(np.float32)
    with pytest.warns(ConvergenceWarning, match=r"float32.*Pass X in float64"):
        model = PdproxRegressor(0.01, tol=1e-9).fit(X, y)
    assert not model.converged_ and model.relative_gap_ > 1e-9
    assert PdproxRegressor(0.01, tol=1e-9).fit(X.astype(np.float64), y).converged_


def test_coefficients_beyond_float32_stay_in_float64(rng):
    X, y = data(rng)
    model = LassoPDCertified(1e-18).fit((X * 1e-30).astype(np.float32), y * 1e15)
    assert model.coef_.dtype == np.float64 and np.isfinite(model.coef_).all()

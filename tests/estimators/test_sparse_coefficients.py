"""sparsify and densify: the same predictions in either format."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier

import skpd
from skpd import MatrixCompletionPD, MultiTaskPD, PdproxRegressor, PdproxSVC, certify

OF_ONE_TARGET = [
    skpd.PdproxSVC(alpha=0.05), skpd.GroupLassoSVC(alpha=0.05), skpd.DRSVMClassifier(epsilon=0.1),
    skpd.ElasticNetPDClassifier(alpha=0.05), skpd.MultinomialPD(alpha=0.05),
    skpd.PdproxRegressor(alpha=0.05), skpd.ElasticNetPD(alpha=0.1),
    skpd.LassoPDCertified(alpha=0.1), skpd.LassoPDCertifiedCV(alphas=[0.1, 0.05], cv=2),
    skpd.TraceNormPD(alpha=0.1),
]  # fmt: skip
OF_SEVERAL = [
    skpd.MultiTaskPD(alpha=0.1), skpd.TraceNormPD(alpha=0.1),
    skpd.TraceNormPD(radius=2.0, alpha=0.1), skpd.MultiTaskPDCV(alphas=[0.1, 0.05], cv=2),
]  # fmt: skip


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 8))
    return X, X[:, :3] + 0.1 * rng.normal(size=(60, 3))


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*(end of the grid|has groups=None)")
@pytest.mark.parametrize("model", OF_ONE_TARGET + OF_SEVERAL, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("layout, dtype", [
    (np.asarray, np.float64), (np.asarray, np.float32), (sp.csr_array, np.float64),
    (sp.csc_matrix, np.float32),
])  # fmt: skip
def test_predictions(model, layout, dtype, data):
    X, Y = data
    y = Y if model in OF_SEVERAL else Y[:, 0]
    y = np.digitize(y, [-0.5, 0.5]) if is_classifier(model) else y
    model = clone(model).fit(X, y)
    X, dense = layout(X.astype(dtype)), model.coef_
    expected = model.predict(X)
    assert model.sparsify() is model and sp.issparse(model.coef_)
    for sparse in (model, pickle.loads(pickle.dumps(model)), model.sparsify()):
        found = sparse.predict(X)
        assert found.shape == expected.shape
        assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert_array_equal(model.densify().coef_, dense)
    assert_array_equal(model.densify().coef_, dense)
    assert isinstance(model.coef_, np.ndarray) and model.coef_.shape == dense.shape


def test_decision_values_of_scikit_learn(data):
    """A sparse coef_ of scikit-learn makes the same scores."""
    X, Y = data
    y = np.digitize(Y[:, 0], [-0.5, 0.5])
    ours, theirs = PdproxSVC(alpha=0.05).fit(X, y), SGDClassifier().fit(X, y)
    theirs.coef_, theirs.intercept_ = ours.coef_.copy(), ours.intercept_.copy()
    assert_allclose(
        ours.sparsify().decision_function(X), theirs.sparsify().decision_function(X), rtol=1e-12
    )


def test_tasks_with_rows_of_their_own(data):
    X, Y = data
    X = np.column_stack([np.arange(60) % 3, X])
    model = MultiTaskPD(alpha=0.1, tasks=0).fit(X, Y[:, 0])
    expected = model.predict(X)
    assert_allclose(model.sparsify().predict(X), expected, rtol=1e-12)


def test_the_worst_case_of_a_robust_model(data):
    X, Y = data
    y = (Y[:, 0] > 0).astype(int)
    model = skpd.DRSVMClassifier(epsilon=0.1).fit(X, y)
    loss = model.worst_case_loss(X, y)
    moved = model.worst_case_distribution(X, y)
    assert model.sparsify().worst_case_loss(X, y) == loss
    assert_array_equal(model.worst_case_distribution(X, y).X, moved.X)


def test_what_cannot_be_converted():
    with pytest.raises(NotFittedError):
        PdproxSVC().sparsify()
    with pytest.raises(NotFittedError):
        PdproxRegressor().densify()
    assert not hasattr(MatrixCompletionPD(), "sparsify")  # it has factors
    with pytest.raises(AttributeError, match="sparsify"):
        MatrixCompletionPD().sparsify()


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*(end of the grid|has groups=None)")
@pytest.mark.parametrize(
    "model",
    [*OF_ONE_TARGET, skpd.QuantilePD(), skpd.KernelPdproxSVC(), skpd.MKLClassifier()],
    ids=lambda model: type(model).__name__,
)
def test_without_dual_solutions(model, rng):
    X = rng.standard_normal((60, 5))
    y = X[:, 0] + rng.standard_normal(60)
    y = y > 0.0 if is_classifier(model) else y
    model = clone(model)
    if "warm_start" in model.get_params():
        model.set_params(warm_start=True)
    predicted, certificate = model.fit(X, y).predict(X), model.certificate_
    dual = model.dual_coef_
    without = pickle.loads(pickle.dumps(model.drop_dual_coef().drop_dual_coef()))
    assert not hasattr(without, "dual_coef_")
    assert_array_equal(without.predict(X), predicted)
    assert without.certificate_ == certificate
    assert_array_equal(without.certificate_.proven_zero, certificate.proven_zero)
    if hasattr(model, "coef_"):
        assert certify(without, X, y) == certify(model, X, y)
    assert without.fit(X, y).dual_coef_.shape == dual.shape  # which starts anew


def test_pickles_without_dual_solutions_are_small(rng):
    sizes = [
        len(pickle.dumps(PdproxSVC(0.05).fit(X, X[:, 0] > 0.0).drop_dual_coef()))
        for X in (rng.standard_normal((100, 5)), rng.standard_normal((10_000, 5)))
    ]
    assert sizes[1] < sizes[0] + 500 < 4000  # a history may have more entries
    with pytest.raises(NotFittedError):
        PdproxSVC().drop_dual_coef()

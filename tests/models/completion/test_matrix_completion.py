"""Matrix completion: closed forms, optima of Clarabel, bounds whatever the solver did."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skpd import MatrixCompletionPD, certify
from skpd.certificates import dual_bound
from skpd.designs import largest_singular
from skpd.designs.largest_singular import largest_singular_value_bound
from skpd.losses import Absolute, Hinge, Huber, Logistic, Pinball, Softmax, Squared
from skpd.models.completion.design import EntriesDesign
from skpd.models.completion.free_groups import FreeGroups
from skpd.models.completion.problem import entries_problem
from skpd.models.completion.rows import RowsOfEntries

# A constant model is as good as another for what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*all coefficients are 0")

# For `ratings(seed)` and each model, alpha = 0.02: the optimum by Clarabel at tolerances of 1e-12,
# from the definition, with the rows' and columns' numbers free where there are biases
OPTIMA = {
    ("squared", True): 0.126696918885,
    ("squared", False): 0.498882926444,
    ("absolute", True): 0.158747584176,
    ("absolute", False): 0.540070569396,
    ("huber", True): 0.126692857303,
    ("huber", False): 0.498733685006,
    ("hinge", True): 0.178983040623,
    ("hinge", False): 0.471680985751,
}


def ratings(seed=0, n=60, n_rows=9, n_columns=7):
    """Pairs, some of them twice, ratings from 1 to 4 and weights, some of them 0."""
    rng = np.random.default_rng(seed)
    pairs = np.column_stack([rng.integers(n_rows, size=n), rng.integers(n_columns, size=n)])
    U, V = rng.normal(size=(n_rows, 2)), rng.normal(size=(n_columns, 2))
    z = 2.5 + np.sum(U[pairs[:, 0]] * V[pairs[:, 1]], axis=1)
    weights = rng.exponential(size=n) * (rng.random(n) < 0.9)
    return pairs, np.clip(np.round(z), 1, 4), weights


def everywhere(Y):
    """All pairs of a matrix, in any order, and its entries."""
    pairs = np.indices(Y.shape).reshape(2, -1).T
    order = np.random.default_rng(1).permutation(len(pairs))
    return pairs[order], np.ravel(Y)[order]


def shrunk(Y, threshold):
    left, values, right = np.linalg.svd(Y, full_matrices=False)
    return (left * np.maximum(values - threshold, 0.0)) @ right


@pytest.mark.parametrize("biases", [False, True])
def test_all_entries_of_a_matrix(rng, biases):
    """With squares the solution is known: singular values less n alpha, means taken off before."""
    Y = rng.normal(size=(12, 8)) + 3.0 * rng.normal(size=(12, 1)) + rng.normal(size=8) + 5.0
    alpha = 0.03
    rows, columns = Y.mean(axis=1, keepdims=True), Y.mean(axis=0)
    means = rows + columns - Y.mean() if biases else 0.0 * Y
    M = shrunk(Y - means, alpha * Y.size)
    optimum = 0.5 * np.mean((M + means - Y) ** 2) + alpha * np.linalg.norm(M, "nuc")
    pairs, y = everywhere(Y)
    model = MatrixCompletionPD(alpha, biases=biases, tol=1e-10).fit(pairs, y)
    assert model.converged_
    assert model.certificate_.dual <= optimum * (1 + 1e-14)
    assert model.certificate_.primal == pytest.approx(optimum, rel=1e-9)
    np.testing.assert_allclose(
        model.predict(pairs), (M + means)[pairs[:, 0], pairs[:, 1]], atol=1e-4
    )
    assert model.rank_ == np.linalg.matrix_rank(M)
    if biases:
        np.testing.assert_allclose(model.intercept_, Y.mean(), rtol=1e-7)
        np.testing.assert_allclose(model.row_biases_, rows[:, 0] - Y.mean(), atol=1e-4)
        np.testing.assert_allclose(model.column_biases_, columns - Y.mean(), atol=1e-4)


@pytest.mark.parametrize("loss, biases", OPTIMA)
def test_against_clarabel(loss, biases):
    pairs, y, weights = ratings()
    optimum = OPTIMA[loss, biases]
    model = MatrixCompletionPD(0.02, loss=loss, biases=biases, tol=1e-8)
    found = model.fit(pairs, y, sample_weight=weights).certificate_
    assert model.converged_
    assert found.dual <= optimum * (1 + 1e-9)
    assert found.primal == pytest.approx(optimum, rel=5e-8)


# a bound holds of any model, so that the best need not be found
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("biases", [False, True])
@pytest.mark.parametrize(
    "loss", [Squared(), Absolute(), Huber(), Hinge(), Logistic(), Pinball(0.2)], ids=repr
)
def test_bounds_hold_whatever_the_dual_point(loss, biases, rng):
    pairs, y, weights = ratings(seed=2)
    if loss.of_labels:
        y = np.where(y > 2, 1.0, -1.0)
    model = MatrixCompletionPD(0.05, loss=loss, biases=biases, tol=1e-6, max_iter=500)
    best = model.fit(pairs, y, weights).certificate_
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    left, right = pairs[order].T
    c = weights[order] / weights.sum()
    groups = FreeGroups(left, right, 9, 7, c) if biases else None
    rows = RowsOfEntries(EntriesDesign(left, right, 9, 7), y[order], c, loss, groups)
    problem = entries_problem(rows, 0.05)
    for scale in (1e-3, 0.1, 1.0, 10.0):
        theta = scale * rng.normal(size=len(y))
        bound = dual_bound(problem, theta, best.primal * rng.uniform(1.0, 3.0))
        assert 0.0 <= bound.value <= best.primal
    # and that of the solution is as good as the solution
    theta = model.dual_coef_[order]
    assert dual_bound(problem, theta, best.primal).value >= best.dual - 1e-7 * best.primal


@pytest.mark.parametrize("parts", [1, 8])
@pytest.mark.parametrize("shape", [(30, 50), (50, 30), (7, 7), (2, 6), (6, 2)])
def test_the_largest_singular_value_is_never_above_its_bound(shape, parts, rng, monkeypatch):
    monkeypatch.setattr(largest_singular, "PARTS", parts)
    for scale in (1e-310, 1e-150, 1.0, 1e150):
        dense = scale * rng.normal(size=shape) * (rng.random(shape) < 0.3)
        matrix = sp.csr_array(dense)
        bound = largest_singular_value_bound(matrix)
        value = np.linalg.norm(dense, 2)
        assert value <= bound <= value * (1 + 1e-8) + 1e-307
    assert largest_singular_value_bound(sp.csr_array((3, 4))) < 1e-300


@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e120])
def test_the_largest_singular_value_of_a_matrix_of_any_scale(scale, rng):
    G = scale * rng.normal(size=(30, 20))  # squares of its entries squared are no finite numbers
    found, *_ = largest_singular.estimated_largest_singular_value(sp.csr_array(G))
    np.testing.assert_allclose(found, np.linalg.norm(G, 2), rtol=1e-10)


def test_equal_singular_values(rng):
    """A cluster that no single vector stands for."""
    Q = np.linalg.qr(rng.normal(size=(40, 20)))[0]
    matrix = sp.csr_array(Q)
    bound = largest_singular_value_bound(matrix)
    assert 1.0 - 1e-15 <= bound <= 1.0 + 1e-8


def objective(model, pairs, y, weights):
    """From the definition, at the fitted attributes; the trace norm by a whole decomposition."""
    i = np.searchsorted(model.row_labels_, pairs[:, 0])
    j = np.searchsorted(model.column_labels_, pairs[:, 1])
    M = model.row_factors_ @ model.column_factors_.T
    z = M[i, j] + model.row_biases_[i] + model.column_biases_[j] + model.intercept_
    c = weights / np.sum(weights)
    if model.loss == "hinge":
        thresholds = model.thresholds_
        thresholds = thresholds[i] if thresholds.ndim == 2 else thresholds
        signs = np.where(y[:, np.newaxis] > model.levels_[:-1], 1.0, -1.0)
        losses = np.maximum(1.0 - signs * (z[:, np.newaxis] - thresholds), 0.0).sum(axis=1)
    else:
        r = z - y
        losses = {
            "squared": 0.5 * r**2,
            "absolute": np.abs(r),
            "huber": np.where(np.abs(r) <= 1.35, 0.5 * r**2, 1.35 * np.abs(r) - 0.5 * 1.35**2),
        }[model.loss]
    return c @ losses + model.alpha * np.linalg.norm(M, "nuc")


@pytest.mark.parametrize(("loss", "biases"), OPTIMA)
def test_certify_of_anybodys_factors(loss, biases, rng):
    pairs, y, weights = ratings()
    model = MatrixCompletionPD(0.02, loss=loss, biases=biases).fit(pairs, y, weights)
    optimum = OPTIMA[loss, biases]
    n_rows, n_columns = len(model.row_labels_), len(model.column_labels_)
    # neither singular vectors nor near the optimum
    model.row_factors_ = 0.3 * rng.normal(size=(n_rows, 3))
    model.column_factors_ = 0.3 * rng.normal(size=(n_columns, 3))
    model.column_biases_ = biases * rng.normal(size=n_columns)
    for rigorous in (False, True):
        found = certify(model, pairs, y, weights, rigorous=rigorous, tol=1e-4)
        assert found.primal == pytest.approx(objective(model, pairs, y, weights), rel=1e-12)
        assert optimum - 1e-3 <= found.dual <= optimum + 1e-10


def test_certify_on_other_pairs():
    """Labels that the model has not seen have no factors; a sparse matrix holds its ratings."""
    pairs, y, _ = ratings()
    model = MatrixCompletionPD(0.02, tol=1e-9).fit(pairs, y)
    more = np.vstack([pairs, [[100, 0], [0, 200]]])
    found = certify(model, more, np.append(y, [2.0, 3.0]))
    best = MatrixCompletionPD(0.02, tol=1e-9).fit(more, np.append(y, [2.0, 3.0])).certificate_
    assert found.dual <= best.primal and found.primal >= best.dual
    sparse = sp.coo_array((y, pairs.T), shape=(9, 7)).tocsr()
    model.fit(sparse)
    assert certify(model, sparse, None).primal == pytest.approx(model.certificate_.primal)
    levels = MatrixCompletionPD(0.02, loss="hinge").fit(pairs, y)
    with pytest.raises(ValueError, match="y must hold the levels"):
        certify(levels, pairs, y + 1.0)
    with pytest.raises(NotFittedError):
        certify(MatrixCompletionPD(), pairs, y)


def test_weights_are_repetitions():
    pairs, y, _ = ratings(seed=4)
    counts = np.random.default_rng(0).integers(0, 3, size=len(y))
    weighted = MatrixCompletionPD(0.02, tol=1e-9).fit(pairs, y, sample_weight=counts)
    repeated = MatrixCompletionPD(0.02, tol=1e-9)
    repeated.fit(np.repeat(pairs, counts, axis=0), np.repeat(y, counts))
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-8)


def test_a_sparse_matrix_is_its_stored_places():
    pairs, y, _ = ratings(seed=5)
    pairs, first = np.unique(pairs, axis=0, return_index=True)
    y = y[first] - 2.0  # a stored 0 is a rating
    matrix = sp.coo_array((y, pairs.T), shape=(11, 7))
    by_pairs = MatrixCompletionPD(0.02, tol=1e-8).fit(pairs, y)
    for layout in (sp.csr_array, sp.csc_array, sp.coo_matrix):
        model = MatrixCompletionPD(0.02, tol=1e-8).fit(layout(matrix))
        assert len(model.row_labels_) == 11
        np.testing.assert_allclose(model.predict(pairs), by_pairs.predict(pairs), atol=1e-4)


def test_labels_of_any_type():
    pairs, y, _ = ratings(seed=6)
    frame = pd.DataFrame({"user": [f"u{i}" for i in pairs[:, 0]], "item": pairs[:, 1]})
    model = MatrixCompletionPD(0.02).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["user", "item"]
    expected = MatrixCompletionPD(0.02).fit(pairs, y).predict(pairs)
    np.testing.assert_allclose(model.predict(frame), expected, atol=1e-3)
    lists = [tuple(row) for row in frame.to_numpy()]
    np.testing.assert_allclose(
        MatrixCompletionPD(0.02).fit(lists, y).predict(lists), expected, atol=1e-3
    )
    # what has not been seen has no factors and the mean bias
    mean = model.intercept_
    with pytest.warns(UserWarning, match="unknown label"):
        unseen = model.predict(pd.DataFrame({"user": ["u1", "who", "who"], "item": [99, 3, 99]}))
    place = model.row_labels_.tolist().index("u1"), model.column_labels_.tolist().index(3)
    np.testing.assert_allclose(
        unseen, [mean + model.row_biases_[place[0]], mean + model.column_biases_[place[1]], mean]
    )


@pytest.mark.parametrize("biases", [False, True])
def test_levels(biases):
    pairs, y, _ = ratings(seed=7, n=300, n_rows=20, n_columns=15)
    stars = np.array([-3.0, 0.5, 2.0, 10.0])[y.astype(int) - 1]
    model = MatrixCompletionPD(3e-3, loss="hinge", biases=biases).fit(pairs, stars)
    predicted = model.predict(pairs)
    assert model.levels_.tolist() == [-3.0, 0.5, 2.0, 10.0]
    assert np.isin(predicted, model.levels_).all()
    assert np.mean(predicted == stars) > 0.8
    assert model.thresholds_.shape == ((20, 3) if biases else (3,))
    assert model.dual_coef_.shape == (300, 3)


def test_the_published_method():
    pairs, y, _ = ratings(seed=8)
    best = MatrixCompletionPD(0.05, loss="absolute", tol=1e-8).fit(pairs, y).certificate_.primal
    for options in ({}, {"average": False}, {"algorithm": 3, "average": False}):
        model = MatrixCompletionPD(
            0.05, loss="absolute", solver="pdprox-dual", solver_options=options, tol=3e-3
        ).fit(pairs, y)
        assert model.converged_, options
        assert model.certificate_.dual <= best <= model.certificate_.primal * (1 + 1e-9)


def test_large_alpha_leaves_the_biases():
    pairs, y, _ = ratings(seed=10)
    model = MatrixCompletionPD(10.0, tol=1e-10).fit(pairs, y)
    assert model.rank_ == 0
    assert model.row_factors_.shape == (9, 0)
    # least squares on indicators of rows and columns
    indicators = np.hstack([np.eye(9)[pairs[:, 0]], np.eye(7)[pairs[:, 1]]])
    fitted = indicators @ np.linalg.lstsq(indicators, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(pairs), fitted, atol=1e-6)


@pytest.mark.parametrize("parameters, X, y, message", [
    ({}, [[1, 2, 3]], [1.0], r"shape \(n_pairs, 2\), got \(1, 3\)"),
    ({}, [[1, 2]], None, "y must hold the ratings"),
    ({}, [[1, 2]], [np.nan], "contains NaN"),
    ({}, [[1, np.nan]], [1.0], "single values, got NaN"),
    ({}, [[1, np.inf]], [1.0], r"Numbers in column 1 of X must be whole, got array\(\[inf\]"),
    ({}, [[1, 2.5], [2, 3]], [1.0, 2.0], r"Numbers in column 1 of X must be whole, got array"),
    ({}, [[1, 2], [2, 1]], [1.0, np.inf], "contains infinity"),
    ({}, [[1, 2], [2, 1]], [1.0, 1e200], "y must hold values of at most 1e.70 in size"),
    ({}, [[1, 2], [2, 1]], [1.0, None], "must hold numbers alone"),
    ({}, np.ma.masked_equal([[1, 2], [2, 1]], 2), [1.0, 2.0], "X must have no masked values"),
    ({}, [[1, 2], [3, 4]], [1.0], "inconsistent numbers of samples"),
    ({}, np.empty((0, 2)), [], "at least one pair"),
    ({}, sp.eye_array(3), [1.0, 1.0, 1.0], "y must be None"),
    ({"loss": "hinge"}, [[1, 2], [2, 1]], [1.0, 1.0], "several levels"),
    ({"loss": Hinge()}, [[1, 2], [2, 1]], [1.0, 2.0], "labels -1 and 1"),
    ({"loss": Softmax(2)}, [[1, 2], [2, 1]], [1.0, 2.0], "single predictions"),
    ({"loss": "square"}, [[1, 2], [2, 1]], [1.0, 2.0], "'loss' parameter"),
    ({"alpha": 0.0}, [[1, 2], [2, 1]], [1.0, 2.0], "'alpha' parameter"),
])  # fmt: skip
def test_what_is_wrong_is_named(parameters, X, y, message):
    with pytest.raises(ValueError, match=message):
        MatrixCompletionPD(**parameters).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss, power", [("squared", 2), ("absolute", 1)])
def test_ratings_of_the_largest_size(loss, power):
    """Their optimum is that of the ratings over the scale, times its power."""
    pairs, y, _ = ratings(seed=10)
    scale = 2.0**230
    small = MatrixCompletionPD(0.01, loss=loss, tol=1e-6).fit(pairs, y).certificate_
    alpha = 0.01 * scale ** (power - 1)
    large = MatrixCompletionPD(alpha, loss=loss, max_iter=100).fit(pairs, scale * y).certificate_
    assert 0.0 <= large.dual / scale**power <= small.primal
    assert small.dual <= large.primal / scale**power <= 1.1 * small.primal


def test_labels_may_be_whole_numbers_of_any_type_and_dates():
    y = [1.0, 2.0, 3.0, 5.0]
    days = np.array(["2024-01-01", "2024-01-02"], dtype="M8[D]")
    pairs = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    expected = MatrixCompletionPD(0.01).fit(pairs, y).predict(pairs)
    for X in (pairs.astype(float), pd.DataFrame({"who": pairs[:, 0], "when": days[pairs[:, 1]]})):
        np.testing.assert_allclose(MatrixCompletionPD(0.01).fit(X, y).predict(X), expected)


def test_weights_that_are_all_zero():
    with pytest.raises(ValueError, match="at least one non-zero"):
        MatrixCompletionPD().fit([[1, 2]], [1.0], sample_weight=[0.0])


def test_words_for_ratings():
    pairs = [["u1", "a"], ["u1", "b"], ["u2", "a"], ["u3", "b"]]
    with pytest.warns(ConvergenceWarning) as caught:
        MatrixCompletionPD(1e-3, tol=1e-12, max_iter=2).fit(*ratings(seed=9)[:2])
    assert "features" not in str(caught[0].message)
    model = MatrixCompletionPD(1e-3).fit(pairs, [5.0, 3.0, 4.0, 2.0])
    with pytest.warns(UserWarning, match=r"1 pair\(s\) .* of a row, first 'nobody'"):
        found = model.predict([["nobody", "a"], ["u1", "a"]])
    assert found[0] == pytest.approx(model.intercept_ + model.column_biases_[0])
    with pytest.warns(UserWarning, match=r"2 pair\(s\) .* of a column, first 'z'"):
        model.predict([["u1", "z"], ["u2", "y"]])
    with pytest.raises(ValueError, match="must be real numbers, got complex"):
        model.fit(pairs, [1j, 2.0, 3.0, 4.0])


def test_certify_takes_no_other_objective():
    pairs, y, weights = ratings()
    model = MatrixCompletionPD(0.5).fit(pairs, y, weights)
    with pytest.raises(ValueError, match="must be None for MatrixCompletionPD, which has its own"):
        certify(model, pairs, y, weights, loss="absolute", penalty="trace", alpha=0.02)

"""Matrix completion with chosen thresholds: a closed form, optima of Clarabel, and refusals."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from skpd import MatrixCompletionPD, certify
from skpd.certificates import dual_bound
from tests.models.completion.test_matrix_completion import objective, ratings

STARS = (0.0, 3.0, 6.0, 9.0)  # section 5.3 of Yang et al. (2015)
THRESHOLDS = (0.0, 3.0, 6.0)  # of the four levels of `ratings`


def test_one_rating_of_each_level_in_a_row_and_a_column_of_its_own():
    """The least size that is above by 1 each threshold below the rating, and below the others."""
    pairs, y = np.column_stack([np.arange(5)] * 2), np.arange(1.0, 6.0)
    model = MatrixCompletionPD(1e-3, loss="hinge", thresholds=STARS, biases=False, tol=1e-8)
    model.fit(pairs, y)
    sizes = np.array([-1.0, 1.0, 4.0, 7.0, 10.0])
    M = model.row_factors_ @ model.column_factors_.T
    np.testing.assert_allclose(np.diag(M), sizes, atol=1e-5)
    assert model.certificate_.primal == pytest.approx(1e-3 * 23.0, rel=1e-6)
    assert model.certificate_.dual <= 1e-3 * 23.0
    assert model.predict(pairs).tolist() == y.tolist()
    assert model.thresholds_.tolist() == list(STARS)
    # without a matrix a rating of k loses 1, 3, 7, 13 and 22: the sums of max(0, 1 -+ threshold)
    with pytest.warns(UserWarning, match="all coefficients are 0"):
        model.set_params(alpha=100.0).fit(pairs, y)
    values = [1.0, 1.0, 1.0 + 4.0, 1.0 + 4.0 + 7.0, 1.0 + 4.0 + 7.0 + 10.0]
    assert model.certificate_.primal == pytest.approx(np.mean(values), rel=1e-12)


def optimum(pairs, y, weights, alpha, biases):
    cp = pytest.importorskip("cvxpy")
    M, rows, columns = cp.Variable((9, 7)), cp.Variable(9), cp.Variable(7)
    i, j = pairs.T
    z = M[i, j] + biases * (rows[i] + columns[j])
    signs = np.where(y[:, None] > np.arange(1.0, 4.0), 1.0, -1.0)
    losses = sum(
        cp.pos(1.0 - cp.multiply(sign, z - threshold))
        for sign, threshold in zip(signs.T, THRESHOLDS, strict=True)
    )
    value = weights @ losses / weights.sum() + alpha * cp.normNuc(M)
    return cp.Problem(cp.Minimize(value)).solve(solver="CLARABEL")


@pytest.mark.parametrize("biases", [False, True])
def test_against_clarabel(biases, rng):
    pairs, y, weights = ratings()
    expected = optimum(pairs, y, weights, 0.02, biases)
    model = MatrixCompletionPD(
        0.02, loss="hinge", thresholds=THRESHOLDS, biases=biases, tol=1e-6
    ).fit(pairs, y, weights)
    found = model.certificate_
    assert model.converged_
    assert found.primal == pytest.approx(expected, rel=1e-5)
    assert expected * (1 - 1e-5) <= found.dual <= expected * (1 + 1e-7)
    assert found.primal == pytest.approx(objective(model, pairs, y, weights), rel=1e-12)
    published = clone(model).set_params(solver="pdprox-dual", tol=1e-2).fit(pairs, y, weights)
    assert published.converged_
    assert published.certificate_.dual <= expected * (1 + 1e-7) <= published.certificate_.primal
    (problem,) = model._problems(pairs, y, weights).problems
    for scale in (0.1, 1.0, 10.0):
        theta = scale * rng.normal(size=3 * len(y))
        assert dual_bound(problem, theta, 2.0 * found.primal).value <= expected * (1 + 1e-7)
    # neither singular vectors nor near the optimum
    model.row_factors_ = 0.3 * rng.normal(size=(9, 3))
    model.column_factors_ = 0.3 * rng.normal(size=(7, 3))
    for rigorous in (False, True):
        found = certify(model, pairs, y, weights, rigorous=rigorous, tol=1e-4)
        assert found.primal == pytest.approx(objective(model, pairs, y, weights), rel=1e-12)
        assert expected - 1e-3 <= found.dual <= expected * (1 + 1e-7)


@pytest.mark.parametrize("parameters, message", [
    ({"loss": "absolute"}, "thresholds needs loss='hinge', got loss='absolute'"),
    ({"thresholds": (0, 3, 6)}, r"must be 4 increasing finite numbers.*5 levels.*\(0, 3, 6\)"),
    ({"thresholds": (0, 3, 3, 6)}, r"increasing finite numbers.*got \(0, 3, 3, 6\)"),
    ({"thresholds": (9, 6, 3, 0)}, r"increasing finite numbers.*got \(9, 6, 3, 0\)"),
    ({"thresholds": (0, 3, 6, np.inf)}, "increasing finite numbers.*inf"),
    ({"thresholds": (0, 3, 6, 1e100)}, "thresholds must hold values of at most 1e.70 in size"),
    ({"thresholds": [STARS]}, "must be 4 increasing finite numbers"),
    ({"thresholds": list("abcd")}, "thresholds must hold numbers"),
    ({"thresholds": 3.0}, "'thresholds' parameter of MatrixCompletionPD must be an array-like"),
])  # fmt: skip
def test_what_is_wrong_is_named(parameters, message):
    pairs = np.column_stack([np.arange(5)] * 2)
    with pytest.raises(ValueError, match=message):
        MatrixCompletionPD(**{"loss": "hinge", "thresholds": STARS, **parameters}).fit(
            pairs, np.arange(1.0, 6.0)
        )


@pytest.mark.parametrize("biases", [False, True])
def test_like_other_models(biases):
    pairs, y, weights = ratings(seed=7, n=300)
    stars = np.array([-3.0, 0.5, 2.0, 10.0])[y.astype(int) - 1]
    model = MatrixCompletionPD(
        3e-3, loss="hinge", thresholds=np.array(THRESHOLDS), biases=biases, warm_start=True
    ).fit(pairs, stars, weights)
    predicted = model.predict(pairs)
    assert np.mean((predicted == stars)[weights > 0.0]) > 0.6
    assert model.dual_coef_.shape == (300, 3)
    assert model.row_biases_.any() == model.column_biases_.any() == biases
    z = (model.row_factors_ @ model.column_factors_.T)[pairs[:, 0], pairs[:, 1]]
    z += model.row_biases_[pairs[:, 0]] + model.column_biases_[pairs[:, 1]] + model.intercept_
    levels = np.searchsorted(THRESHOLDS, z)  # one more for each threshold below z
    np.testing.assert_array_equal(predicted, model.levels_[levels])
    before = model.n_iter_
    assert model.fit(pairs, stars, weights).n_iter_ < before
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict(pairs), predicted)
    narrow = clone(model).fit(pairs, stars.astype(np.float32), weights)
    assert narrow.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-3)
    with pytest.warns(UserWarning, match="unknown label of a row"):
        (unknown,) = model.predict([[100, 0]])
    bias = model.column_biases_[0] + model.intercept_
    assert unknown == model.levels_[np.searchsorted(THRESHOLDS, bias)]

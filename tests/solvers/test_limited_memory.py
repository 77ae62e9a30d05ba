"""L-BFGS for all outputs at once, beside scikit-learn's models."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.special import logsumexp, softmax, xlogy
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import skpd
from skpd.designs import Design
from skpd.losses import Softmax
from skpd.penalties import SquaredL2
from skpd.problems import Problem
from skpd.problems.output_rows import rows_of_outputs
from skpd.problems.regularisation import Regularisation
from skpd.problems.workspace import Descent
from skpd.solvers.accelerated.limited_memory import _between, _is_slow, _predicted
from skpd.solvers.accelerated.mean_losses import losses_of

LAYOUTS = {
    "rows": np.ascontiguousarray, "columns": np.asfortranarray, "sparse": sp.csr_array,
    "float32": lambda X: X.astype(np.float32),
}  # fmt: skip


def tables(rng, n=600, d=15, n_classes=5):
    centres = rng.normal(size=(n_classes, d))
    y = rng.integers(n_classes, size=n)
    return centres[y] + 1.5 * rng.normal(size=(n, d)), y, 1.0 + rng.integers(0, 3, size=n)


def objective(X, y, weights, coef, intercept, alpha):
    z = np.asarray(X, dtype=np.float64) @ np.float64(coef).T + np.float64(intercept)
    losses = logsumexp(z, axis=1) - z[np.arange(len(y)), y]
    return np.average(losses, weights=weights) + 0.5 * alpha * np.sum(np.float64(coef) ** 2)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_classes_beside_scikit_learn(layout, weighted, fit_intercept, rng):
    X, y, weights = tables(rng)
    weights = weights if weighted else np.ones(len(y))
    stored, alpha = LAYOUTS[layout](X), 1e-2
    X = stored.toarray() if layout == "sparse" else stored
    ours = skpd.LogisticPD(alpha, fit_intercept=fit_intercept, tol=1e-6)
    ours.fit(stored, y, sample_weight=weights)
    theirs = LogisticRegression(
        C=1.0 / (alpha * weights.sum()), fit_intercept=fit_intercept, tol=1e-12, max_iter=10_000
    ).fit(np.float64(X), y, weights)
    best = objective(X, y, weights, theirs.coef_, theirs.intercept_, alpha)
    own = objective(X, y, weights, ours.coef_, ours.intercept_, alpha)
    assert ours.solver_ == "l-bfgs" and ours.converged_
    assert ours.certificate_.dual <= best * (1.0 + 1e-12)
    assert own <= ours.certificate_.primal * (1.0 + 1e-12)
    assert_allclose(ours.coef_, theirs.coef_, atol=5e-3)
    shift = theirs.intercept_ - theirs.intercept_.mean()
    assert_allclose(ours.intercept_, shift, atol=5e-3)


@pytest.mark.parametrize("n_classes", [3, 40])
def test_a_class_of_a_single_row(n_classes, rng):
    X, y, _ = tables(rng, n_classes=n_classes)
    y = np.append(y, n_classes)
    X = np.vstack([X, rng.normal(size=(1, X.shape[1]))])
    model = skpd.LogisticPD(1e-3, tol=1e-5).fit(X, y)
    assert model.converged_ and model.coef_.shape[0] == n_classes + 1
    best = LogisticRegression(C=1e3 / len(y), tol=1e-10, max_iter=10_000).fit(X, y)
    value = objective(X, y, None, best.coef_, best.intercept_, 1e-3)
    assert model.certificate_.dual <= value * (1.0 + 1e-12) <= model.certificate_.primal * 1.0001


def test_products_of_single_precision_with_many_outputs(rng):
    """They are those of the numbers in double precision, in blocks of rows."""
    from skpd.designs import Design

    X, W = rng.normal(size=(400, 30)).astype(np.float32), rng.normal(size=(30, 7))
    design, rows = Design(X), rng.normal(size=(400, 7))
    assert_allclose(design.matmul(W, np.arange(30)), np.float64(X) @ W, rtol=1e-12, atol=1e-12)
    assert_allclose(design.rmatmul(rows), np.float64(X).T @ rows, rtol=1e-12, atol=1e-12)
    single = design.matmul(W.astype(np.float32), np.arange(30))
    assert single.dtype == np.float32
    assert_allclose(single, np.float64(X) @ W, atol=1e-4)


def test_mean_rows_of_classes(rng):
    """Each is the mean of the rows of a class, and an interval holds the optimal intercepts."""
    X, y, weights = tables(rng)
    model = skpd.MultinomialPD(0.05, penalty="l2", tol=1e-8).fit(X, y, sample_weight=weights)
    groups = Softmax(5).row_groups(np.ravel(np.eye(5)[y]), np.repeat(weights / weights.sum(), 5))
    for k, group in enumerate(groups):
        expected = np.average(X, axis=0, weights=weights * (y == k))
        assert_allclose((group.weights / group.total) @ X, expected)
    assert np.max(np.abs(model.intercept_)) <= model.certificate_.intercept_radius


def losses_of_scores(size, rng):
    """The losses of classes at scores of a size: targets, weights, scores and a change of them."""
    X, labels, weights = tables(rng, n=40, d=3, n_classes=4)
    c, Y = weights / weights.sum(), np.eye(4)[labels]
    rows = rows_of_outputs(Design(X), Y, c, Softmax(4), True, 1.0)
    losses = losses_of(Problem(rows, Regularisation(SquaredL2(), 1.0)))
    z, b = size * rng.normal(size=Y.shape), rng.normal(size=4)
    losses.value = losses.evaluate(np.ravel(z), b)
    return losses, X, Y, c[:, np.newaxis], z + b, rng.normal(size=Y.shape)


@pytest.mark.parametrize("size", [1.0, 800.0])
def test_losses_of_classes(size, rng):
    """Values and derivatives by SciPy's softmax, also of scores whose exponentials overflow."""
    losses, X, Y, c, scores, along = losses_of_scores(size, rng)
    P = softmax(scores, axis=1)
    value = np.sum(c * (logsumexp(scores, axis=1, keepdims=True) - scores) * Y)
    assert_allclose(losses.value, value, rtol=1e-13)
    assert_allclose(losses.theta.reshape(Y.shape), P - Y, atol=1e-14)
    assert_allclose(losses.gradient().reshape(3, 4), X.T @ (c * (P - Y)), atol=1e-13)
    assert_allclose(losses.slope(np.ravel(along)), np.sum(c * (P - Y) * along), atol=1e-13)
    squares = np.sum(c * P * along**2) - np.sum(c[:, 0] * np.sum(P * along, axis=1) ** 2)
    assert_allclose(losses.curvature(np.ravel(along)), squares, atol=1e-13)


def test_newton_steps_of_intercepts(rng):
    losses, _, Y, c, scores, along = losses_of_scores(1.0, rng)
    P = softmax(scores, axis=1)
    mixed = np.sum(c * P * (along - np.sum(P * along, axis=1, keepdims=True)), axis=0)
    step = losses.change_of_intercepts(np.ravel(along))
    H = np.diag(np.sum(c * P, axis=0)) - P.T @ (c * P)
    assert_allclose(H @ step, -np.sum(c * (P - Y), axis=0) - mixed, atol=1e-10)


def test_lengths_of_a_line_search():
    assert _between((1.0, -2.0), (np.inf, 0.0)) > 1.0
    assert _between((0.0, -1.0), (4.0, 3.0)) == 1.0  # where a line through both slopes is 0
    assert _between((0.0, -1.0), (4.0, -0.5)) == 2.0  # the slopes say nothing
    assert _between((0.0, -1.0), (4.0, 1e9)) == pytest.approx(0.4)


def test_when_a_run_counts_as_slow():
    fast, slow = 0.5 ** np.arange(20), 0.99 ** np.arange(20)
    assert not _is_slow(list(fast), 1e-6, 150) and _is_slow(list(slow), 1e-6, 150)
    assert not _is_slow(list(slow[:5]), 1e-6, 150)  # too early to say
    assert _is_slow([1.0] * 20, 1e-6, 150) and not _is_slow([*fast, 0.0], 1e-6, 150)


@pytest.mark.parametrize("steepness", [0.0, 2.0])  # with the second, steps become too slow
def test_paths_on_tall_tables(steepness, rng):
    n, d = 12_000, 50
    X = rng.normal(size=(n, d)) * np.arange(1.0, d + 1.0) ** -steepness
    X = X @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    y = X[:, :5].sum(axis=1) + rng.logistic(size=n) > 0.0
    alphas = np.geomspace(1.0, 1e-5, 8)
    path = skpd.regularization_path(skpd.LogisticPD(tol=1e-6), X, y, alphas=alphas)
    assert np.all(path.converged)
    for k in (2, 5, 7):
        best = LogisticRegression(
            C=1.0 / (n * alphas[k]), solver="newton-cholesky", tol=1e-10, max_iter=1000
        ).fit(X, y)
        margins = X @ best.coef_[0] + best.intercept_
        value = np.logaddexp(0.0, np.where(y, -margins, margins)).mean()
        value += alphas[k] / 2.0 * float(best.coef_[0] @ best.coef_[0])
        certificate = path.certificates[k]
        assert certificate.dual <= value * (1.0 + 1e-12)
        assert certificate.primal <= value + 1e-6 * np.log(2.0)


def test_predictions_along_a_path():
    """They are linear in the logarithm of alpha, over no longer a step than the last one."""

    def model(x):
        return np.array([x]), np.array([2.0 * x]), np.array([-x])

    first, last = Descent(0.0, model(1.0), False), Descent(-1.0, model(3.0), False)
    assert_allclose(_predicted([first, last], -1.5), [[4.0], [8.0], [-4.0]])
    assert_allclose(_predicted([first, last], -9.0), [[5.0], [10.0], [-5.0]])
    assert_allclose(_predicted([first, last], -0.5), [[3.0], [6.0], [-3.0]])
    assert_allclose(_predicted([last], -2.0), [[3.0], [6.0], [-3.0]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_tables_with_many_features(weighted, dtype, rng):
    """The optimum of a logistic and of a Poisson model is that of scikit-learn's."""
    n, d = 400, 900
    X = sp.csr_matrix(sp.random_array((n, d), density=0.03, format="csr", rng=rng).astype(dtype))
    z = np.asarray(X @ rng.normal(size=d)).ravel()
    weights = 1.0 + rng.integers(0, 3, size=n) if weighted else np.ones(n)
    y, counts = z + rng.logistic(size=n) > 0.0, rng.poisson(np.exp(0.2 * z))
    given, exact = weights if weighted else None, X.astype(float)

    def check(ours, best, losses, alpha):
        w = np.ravel(best.coef_)
        scores = np.ravel(exact @ w) + np.ravel(best.intercept_)
        value = np.average(losses(scores), weights=weights) + alpha / 2.0 * float(w @ w)
        assert ours.solver_ == "l-bfgs" or alpha < 1e-3  # which may take too many steps
        assert ours.converged_ and ours.certificate_.dual <= value * (1.0 + 1e-12)
        assert ours.certificate_.primal <= value * (1.0 + 1e-4)

    for alpha in (1e-2, 1e-4):
        C = 1.0 / (alpha * weights.sum())
        best = LogisticRegression(C=C, tol=1e-9, max_iter=10_000).fit(exact, y, given)
        ours = skpd.LogisticPD(alpha, tol=1e-6).fit(X, y, sample_weight=given)
        check(ours, best, lambda s: np.logaddexp(0.0, np.where(y, -s, s)), alpha)
    best = PoissonRegressor(alpha=1e-1, tol=1e-9, max_iter=10_000).fit(exact, counts, given)
    ours = skpd.PoissonPD(1e-1, tol=1e-6).fit(X, counts, sample_weight=given)
    deviance = xlogy(counts, counts) - counts
    check(ours, best, lambda s: np.exp(s) - counts * s + deviance, 1e-1)


def test_results_that_are_kept(rng):
    """The last product with bounds and the last shifted data, for equal vectors only."""
    from skpd.designs import Design

    X, w = rng.normal(size=(30, 4)), rng.normal(size=4)
    design = Design(X)
    z, error = design.matvec_bounded(w, 1.0)
    assert design.matvec_bounded(w.copy(), 1.0)[0] is z
    assert_allclose(design.matvec_bounded(w, 2.0)[0], X @ w + 2.0)
    w *= 2.0  # the vector that was asked for has changed
    assert_allclose(design.matvec_bounded(w, 2.0)[0], X @ w + 2.0)
    assert np.all(error > 0.0)
    shift = np.arange(4.0)
    assert design.shifted(shift) is design.shifted(shift.copy())
    assert_allclose(design.shifted(2.0 * shift).as_given, X - 2.0 * shift)

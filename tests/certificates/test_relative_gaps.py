"""The relative gap, the gap that meets a tolerance, and the bounds on constants behind them."""

from dataclasses import replace
from math import inf, isnan, nan

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize, minimize_scalar
from sklearn.datasets import load_wine, make_classification
from sklearn.linear_model import PoissonRegressor, TweedieRegressor
from sklearn.preprocessing import StandardScaler

from skpd import (
    MatrixCompletionPD,
    MultinomialPD,
    MultiTaskPD,
    PdproxSVC,
    PoissonPD,
    RowBlocks,
    TweediePD,
    certify,
    regularization_path,
)
from skpd.certificates.relative_gaps import (
    FINEST,
    NEGLIGIBLE,
    NO_GAIN,
    OF_OBJECTIVE,
    bound_on_constants,
    largest_gap,
    relative_gap,
)  # fmt: skip
from skpd.designs import Design
from skpd.losses import (
    Absolute,
    CrammerSinger,
    EpsilonInsensitive,
    Gamma,
    GeneralizedHinge,
    Hinge,
    Huber,
    Logistic,
    ModifiedHuber,
    PiecewiseLinear,
    Pinball,
    Poisson,
    SmoothedHinge,
    Squared,
    SquaredHinge,
    Tweedie,
)  # fmt: skip
from skpd.models.robust.problem import robust_problem
from skpd.penalties import L1
from skpd.problems import linear_problem
from skpd.problems.in_memory import RowsInMemory
from skpd.problems.noise_budget import noise_budget_problem
from skpd.problems.output_rows import outputs_problem
from skpd.problems.regularisation import Regularisation
from skpd.problems.shards.problem_of_shards import problem_of_shards
from skpd.problems.shards.shard import Shard, Targets
from skpd.problems.shards.shards import LocalShards
from tests.certificates.small import Objective, Point

# A constant model is as good as another for what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*all coefficients are 0")

# P_0 = 9, with rounding of up to 0.125 and NEGLIGIBLE times 8
OBJECTIVE = Objective(null_lower_bound=9.0, null_rounding=0.0625, objective_unit=8.0)
LEAST = 0.125 + 8.0 * NEGLIGIBLE
THETA = np.array([1.0, -2.0])


def test_numbers_that_users_rely_on():
    """What counts as 0, as nothing to gain, and as a small share of the objective."""
    assert (NEGLIGIBLE, NO_GAIN, OF_OBJECTIVE, FINEST) == (1e-12, 1e-11, 100.0, 1e-9)


def test_gaps_as_shares_of_what_can_be_gained():
    at = [relative_gap(OBJECTIVE, primal, 5.0) for primal in (5.0, 5.0 + LEAST, 6.0, 9.0, 13.0)]
    assert at == [0.0, 0.0, 0.25, 1.0, 2.0]
    assert relative_gap(OBJECTIVE, 9.0, -inf) == 1.0 and relative_gap(OBJECTIVE, inf, 5.0) == inf
    assert isnan(relative_gap(OBJECTIVE, nan, 5.0))
    # where the constant is optimal, up to rounding, the unit is that rounding
    assert relative_gap(OBJECTIVE, 9.0, 9.0) == 0.0
    assert relative_gap(OBJECTIVE, 10.0, 9.0) == 1.0 / LEAST
    # nothing can be learnt where that is all that any model could gain
    exact = Objective(null_lower_bound=1.0, objective_unit=1.0)
    assert relative_gap(exact, 1.0, 1.0 - 0.5 * NO_GAIN) == 0.0
    assert relative_gap(exact, 1.0, 1.0 - 2.0 * NO_GAIN) == 1.0
    assert largest_gap(exact, 1e-4, 1.0, 1.0 - 0.5 * NO_GAIN) >= 0.5 * NO_GAIN
    below = Objective(null_lower_bound=1.0 - NO_GAIN, objective_unit=1.0)  # a bound that lost more
    assert relative_gap(below, 1.0, 1.0 - 0.5 * NO_GAIN) == 0.0
    tiny = 0.5 * NO_GAIN  # a constant of hardly any loss, beside the unit of one far away
    near = Objective(null_objective=tiny, null_lower_bound=tiny, objective_unit=1.0)
    assert relative_gap(near, tiny, 0.0) == 0.0 and relative_gap(near, 3.0 * tiny, 0.0) == 3.0
    without_loss = Objective(null_lower_bound=0.0, objective_unit=0.0)
    assert (relative_gap(without_loss, 0.0, 0.0), relative_gap(without_loss, 1.0, 0.0)) == (0, inf)


def test_nothing_meets_a_tolerance_by_numbers_that_overflow():
    overflows = replace(OBJECTIVE, null_lower_bound=inf, objective_unit=inf)
    assert largest_gap(overflows, 0.5, inf, 0.0) == 0.0
    assert relative_gap(overflows, 6.0, 5.0) > 0.0


def test_gaps_where_constraints_exclude_constants():
    """The unit is then a feasible model's, or the size of the interval where that is below it."""
    excluded = replace(OBJECTIVE, null_is_allowed=False)
    assert relative_gap(excluded, 6.0, 5.0) == 1.0 / 3.0
    assert relative_gap(excluded, 12.0, 9.0) == 0.25


def test_gaps_that_meet_a_tolerance():
    assert largest_gap(OBJECTIVE, 0.5, 8.0, 5.0) == 2.0
    assert largest_gap(OBJECTIVE, 1e-9, 8.0, 5.0) == LEAST
    # a share of an objective value that is small in comparison with that of the constant
    exact = Objective(null_lower_bound=1.0)
    assert largest_gap(exact, 1e-4, 1e-3, 0.0) == 1e-4 * OF_OBJECTIVE * 1e-3
    assert largest_gap(exact, 1e-4, 1e-9, 0.0) == FINEST
    assert largest_gap(exact, 1e-10, 1e-9, 0.0) == 1e-10
    # for decisions a share of what can be gained is enough
    assert largest_gap(replace(exact, loss=Hinge()), 1e-4, 1e-3, 0.0) == 1e-4


def test_bounds_on_constants_are_of_the_first_good_point():
    """Value minus rounding plus the least of s b, of theta or, where that is poor, others."""
    sums = dict(sums=[(0.5, 0.0)], others=[(0.0, 0.0)])
    exact = Point(lambda _: 0.75, rounding=0.0, sums=[(0.0, 0.0)])
    objective = Objective(intervals=[(-1.0, 1.0)], point=exact)
    assert bound_on_constants(objective, 0.75, THETA) == pytest.approx(0.75, rel=1e-13)
    poor = Point(lambda _: 0.75, rounding=0.125, sums=sums["sums"])
    objective = Objective(intervals=[(-1.0, 1.0)], point=poor, nearby=poor, exact=exact)
    assert bound_on_constants(objective, 0.75, THETA) == pytest.approx(0.75, rel=1e-13)
    objective = Objective(intervals=[(-1.0, 1.0)], point=poor, nearby=poor, exact=poor)
    assert bound_on_constants(objective, 0.75, THETA) == pytest.approx(0.125, rel=1e-12)
    unbounded = replace(objective, intervals=[(-inf, inf)])
    assert bound_on_constants(unbounded, 0.75, THETA) == 0.0
    assert bound_on_constants(replace(objective, point=None), 0.75, THETA) == 0.0


# The best constants of losses, by other means

N, D = 60, 3
IN_BLOCKS = [Hinge(), Logistic(), Squared(), Huber(1.0), Absolute(), Poisson()]
LOSSES = [
    *IN_BLOCKS, SquaredHinge(), SmoothedHinge(0.5), GeneralizedHinge(2.0), ModifiedHuber(),
    EpsilonInsensitive(0.3), Pinball(0.3),
    PiecewiseLinear((-1.0, 0.2), (-2.0, 0.0, 1.0)), Gamma(), Tweedie(1.5),
]  # fmt: skip


def constants_by_scipy(loss, y, weights, offset=0.0):
    """The least mean loss of a constant; that of a loss with linear pieces is at a kink."""

    def mean_loss(b):
        return float(weights @ loss.value(y, np.full(N, b) + offset))

    found = minimize_scalar(mean_loss, bounds=(-30.0, 30.0), method="bounded",
                            options={"xatol": 1e-12})  # fmt: skip
    places = np.ravel(np.add.outer(y - offset, [-1.0, -0.3, 0.0, 0.2, 0.3]))
    return min(found.fun, *map(mean_loss, places), mean_loss(-1.0), mean_loss(1.0))


def data_for(loss, rng):
    X, weights = rng.normal(size=(N, D)), rng.uniform(0.5, 2.0, N)
    y = X[:, 0] + rng.normal(size=N)
    if loss.of_labels:
        y = np.where(y > 0.4, 1.0, -1.0)
    elif loss.has_log_link:
        y = 0.5 + np.abs(y)
    return X, y, weights / np.sum(weights)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_best_constant(loss, fit_intercept, rng):
    X, y, weights = data_for(loss, rng)
    problem = linear_problem(Design(X), y, weights, loss, L1(), 0.1, fit_intercept)
    least = constants_by_scipy(loss, y, weights)
    if not fit_intercept:
        least = float(weights @ loss.value(y, np.zeros(N)))
    bound = problem.null_lower_bound
    assert bound <= least * (1.0 + 1e-12) and bound >= least * (1.0 - 1e-9)


@pytest.mark.parametrize("loss", IN_BLOCKS, ids=str)
def test_the_best_constant_of_blocks(loss, rng):
    X, y, weights = data_for(loss, rng)
    shards = LocalShards(Shard(RowBlocks(np.split(X, [20, 30])), Targets(y, weights), loss))
    bound = problem_of_shards(shards, loss, L1(), 0.1, True).null_lower_bound
    least = constants_by_scipy(loss, y, weights)
    # without the targets the constant is found to some digits only
    assert least * (1.0 - 1e-6) <= bound <= least * (1.0 + 1e-12)


def test_the_best_constant_with_offsets(rng):
    X, y, weights = data_for(Logistic(), rng)
    offset = rng.normal(size=N)
    model = PdproxSVC(loss="logistic", alpha=10.0).fit(X, y, sample_weight=weights, offset=offset)
    least = constants_by_scipy(Logistic(), y, weights / np.sum(weights), offset)
    certificate = model.certificate_
    assert not model.coef_.any() and certificate.relative_gap == 0.0
    assert_allclose([certificate.primal, certificate.dual], least, rtol=1e-10)


@pytest.mark.parametrize("counts", [(20, 20, 20), (40, 15, 5), (29, 21, 10)])
def test_the_best_constants_of_classes(counts, rng):
    """Of the Crammer-Singer loss, by a linear programme."""
    labels = np.repeat([0, 1, 2], counts)
    units, costs = np.eye(3), np.append(np.zeros(3), np.array(counts) / N)
    pairs = [(k, other) for k in range(3) for other in range(3)]
    # 1[other != k] + b_other - b_k <= t_k
    A = [np.append(units[other] - units[k], -units[k]) for k, other in pairs]
    right = [float(other == k) - 1.0 for k, other in pairs]
    least = linprog(costs, A, right, bounds=(None, None)).fun
    X, weights = rng.normal(size=(N, D)), np.full(N, 1.0 / N)
    problem = outputs_problem(
        Design(X),
        np.eye(3)[labels],
        weights,
        CrammerSinger(3),
        L1(),
        alpha=0.1,
        fit_intercept=True,
    )
    assert_allclose(problem.null_lower_bound, least, rtol=1e-12)
    assert problem.null_lower_bound <= least * (1.0 + 1e-15)


@pytest.mark.parametrize("share", [0.1, 0.4, 0.8])
def test_the_best_constant_within_a_noise_budget(share, rng):
    """The share, or that of the smaller class twice if it is less, as for (19) at w = 0."""
    X, y, weights = data_for(Hinge(), rng)
    rows = RowsInMemory(Design(X), y, weights, Hinge())
    problem = noise_budget_problem(rows, Regularisation(L1(), 0.1), share)
    found = linprog(
        -weights, weights[np.newaxis], [share], (weights * y)[np.newaxis], [0.0], (0, 1)
    )
    assert_allclose(problem.null_lower_bound, -found.fun, rtol=1e-10)


@pytest.mark.parametrize("kappa", [0.25, 1.0, inf])
def test_the_best_constant_of_a_robust_svm(kappa, rng):
    """Over the intercept and the radius, by a linear programme."""
    X, y, weights = data_for(Hinge(), rng)
    problem = robust_problem(Design(X), y, weights, epsilon=0.05, kappa=kappa)
    zeros, c = np.zeros((N, 1)), weights
    A, right = [np.hstack([-y[:, None], zeros, -np.eye(N)])], [-np.ones(N)]
    if kappa < inf:
        A.append(np.hstack([y[:, None], np.full((N, 1), -kappa), -np.eye(N)]))
        right.append(-np.ones(N))
    bounds = [(None, None), (0, None)] + [(0, None)] * N
    found = linprog(np.r_[0.0, 0.05, c], np.vstack(A), np.concatenate(right), bounds=bounds)
    assert_allclose(problem.null_lower_bound, found.fun, rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber"])
def test_the_best_biases_of_a_matrix(loss, rng):
    """Biases of rows and columns, by least squares, HiGHS or Newton's method of scipy."""
    pairs = np.column_stack([rng.integers(0, 8, 120), rng.integers(0, 5, 120)])
    y = rng.normal(size=8)[pairs[:, 0]] + rng.normal(size=5)[pairs[:, 1]] + rng.normal(size=120)
    F = np.hstack([np.eye(8)[pairs[:, 0]], np.eye(5)[pairs[:, 1]]])
    if loss == "squared":
        least = 0.5 * np.mean((y - F @ np.linalg.lstsq(F, y)[0]) ** 2)
    elif loss == "absolute":
        A = np.block([[F, -np.eye(120)], [-F, -np.eye(120)]])
        cost = np.append(np.zeros(13), np.full(120, 1.0 / 120))
        least = linprog(
            cost, A, np.append(y, -y), bounds=[(None, None)] * 13 + [(0, None)] * 120
        ).fun
    else:

        def mean_loss(f):
            return float(np.mean(Huber(1.0).value(y, F @ f)))

        least = minimize(mean_loss, np.zeros(13), tol=1e-12,
                         jac=lambda f: F.T @ Huber(1.0).gradient(y, F @ f) / 120).fun  # fmt: skip
    loss = Huber(1.0) if loss == "huber" else loss
    model = MatrixCompletionPD(10.0, loss=loss, biases=True).fit(pairs, y)
    assert model.certificate_.relative_gap <= 1e-4
    assert_allclose(model.certificate_.primal, least, rtol=1e-6)


# Models of users


def test_a_model_that_learnt_nothing():
    """Counts whose fit by scikit-learn has coefficients of nearly 0, since a feature is large."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(4, 16, 2000), np.exp(rng.normal(6.0, 1.8, 2000))])
    mean = np.exp(-2.6 + 0.05 * X[:, 0] + 0.09 * np.log(X[:, 1]))
    y = rng.poisson(mean)
    model = PoissonRegressor(alpha=1e-4).fit(X, y)
    model.coef_, model.intercept_ = np.zeros(2), np.log(np.mean(y))
    assert certify(model, X, y).relative_gap == pytest.approx(1.0, abs=1e-9)
    model.intercept_ += 0.5
    assert certify(model, X, y).relative_gap > 1.0


def test_counts_with_little_noise():
    """A share of the objective itself: of 9.12, where that of the constant is far above it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 1000))
    y = rng.poisson(np.exp(X[:, :3] @ [4, 3, -2]))
    model = PoissonPD(alpha=1.0, penalty="l1").fit(X, y)
    assert model.certificate_.gap <= 0.01 * model.certificate_.primal


def test_tasks_without_noise():
    """Data as in scikit-learn's issue 27928, where a gap of 1e-4 P_0 is most of the objective."""
    random = np.random.RandomState(114514)
    X, coef = random.normal(size=(256, 512)), np.zeros((512, 2))
    coef[random.permutation(512)[:25]] = random.normal(size=(25, 2))
    certificate = MultiTaskPD(alpha=0.01 / 256).fit(X, X @ coef).certificate_
    assert certificate.gap <= 0.01 * certificate.primal


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_just_below_the_largest_alpha(loss, share, rng):
    X, y, _ = data_for(Hinge(), rng)
    largest = regularization_path(PdproxSVC(loss=loss), X, y, alphas=2).alphas[0]
    model = PdproxSVC(loss=loss, alpha=share * largest).fit(X, y)
    assert model.converged_ and 0.0 <= model.relative_gap_ <= model.tol


def test_classes_of_which_nothing_can_be_learnt():
    """Zeros are optimal for weak features; bounds lose 2e-12 of the objective value, 1."""
    X, y = make_classification(2000, 10, n_informative=5, n_classes=8, random_state=1)
    model = MultinomialPD(alpha=1e-5, loss="crammer_singer").fit(
        StandardScaler().fit_transform(X), y
    )
    assert model.converged_ and model.relative_gap_ == 0.0
    assert_allclose([model.certificate_.primal, model.certificate_.dual], 1.0, rtol=1e-11)


def test_a_bound_on_constants_below_that_on_models():
    """The constant is optimal at alpha=1, where no slope of the loss is above 0.2."""
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X[:, 1:]), X[:, 0]
    model = TweediePD(alpha=1.0, penalty="l1").fit(X, y)
    constant = TweedieRegressor(power=1.5, alpha=1e9, tol=1e-12).fit(X, y)
    slopes = X.T @ (constant.predict(X) ** -0.5 * (y - constant.predict(X))) / len(y)
    assert np.max(np.abs(slopes)) < 0.2
    assert model.converged_ and model.relative_gap_ == 0.0 and not model.coef_.any()


def test_biases_that_fit_all_targets():
    """What is left of the loss is rounding, and the constant is optimal."""
    pairs = [(0, 0), (0, 1), (1, 0), (1, 2), (2, 1)]
    model = MatrixCompletionPD(alpha=0.1, loss="absolute").fit(pairs, [5.0, 3.0, 4.0, 1.0, 3.0])
    assert model.converged_ and model.relative_gap_ == 0.0 and model.rank_ == 0

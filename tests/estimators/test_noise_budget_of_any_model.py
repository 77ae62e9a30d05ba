"""A budget of multipliers beside any penalty of vectors, and of any loss of margins."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone

from skpd import PdproxSVC, certify, regularization_path
from skpd.designs import Design
from skpd.losses import Hinge, Logistic, ModifiedHuber, SmoothedHinge, SquaredHinge
from skpd.penalties import (
    L1,
    FusedLasso,
    GroupElasticNet,
    GroupL1Squared,
    GroupLInf,
    L1Ball,
    LInf,
    NonNegativeGroupL2,
    SparseGroup,
    Spectral,
    SquaredGroupL2,
    check_penalty,
)
from skpd.penalties.weighted import with_extra_coefficient
from skpd.problems.in_memory import RowsInMemory
from skpd.problems.noise_budget import noise_budget_problem
from skpd.problems.regularisation import Regularisation
from tests.oracles.reference import constraints_of, losses_of, value_of

N, D, ALPHA = 60, 6, 0.02
PENALTIES = {
    "linf": LInf(),
    "l1inf": GroupLInf(2),
    "sparse_group": SparseGroup(3),
    "exclusive": GroupL1Squared(2),
    "squared_groups": SquaredGroupL2(2),
    "fused_lasso": FusedLasso(0.3),
    "group_elastic_net": GroupElasticNet(2),
    "nonnegative": NonNegativeGroupL2(3),
    "l1_ball": L1Ball(1.5),
    "l1": L1(),
}
LOSSES = {
    "hinge": Hinge(),
    "logistic": Logistic(),
    "smoothed_hinge": SmoothedHinge(),
    "squared_hinge": SquaredHinge(),
}


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, D)) + 0.5
    return X, np.where(X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(N) > 0.3, 1.0, -1.0)


def optimum(X, y, loss, penalty, budget, intercept):
    """For the hinge loss the mean of the largest losses, and for others the least over shifts."""
    cp = pytest.importorskip("cvxpy")
    w, b, shift = cp.Variable(D), cp.Variable(), cp.Variable(nonneg=True)
    z = X @ w + (b if intercept else 0.0)
    if loss == "hinge":
        value = cp.sum_largest(losses_of(cp, LOSSES[loss], y, z), budget) / N
    else:
        shifted = losses_of(cp, LOSSES[loss], y, z + y * shift)
        value = (budget * shift + cp.sum(shifted)) / N
    value += ALPHA * value_of(cp, PENALTIES[penalty], w)
    limits = constraints_of(cp, PENALTIES[penalty], w)
    return cp.Problem(cp.Minimize(value), limits).solve(solver="CLARABEL")


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize(("share", "intercept"), [(0.9, True), (1.1, False)])
@pytest.mark.parametrize(
    ("loss", "penalty"),
    [("hinge", name) for name in PENALTIES]
    + [(name, penalty) for name in LOSSES if name != "hinge" for penalty in ("l1inf", "l1")]
    + [("logistic", "squared_groups"), ("squared_hinge", "fused_lasso")],
)
def test_optima(loss, penalty, share, intercept):
    """The budget is a share of the multipliers of the model without one.

    With the hinge loss and a norm, a budget that binds leaves nothing: the objective at (s w, t),
    with t = 1 - s, is linear in s between 0 and 1.
    """
    (X, y), tol = data(), 2e-5
    model = PdproxSVC(ALPHA, loss=loss, penalty=PENALTIES[penalty], fit_intercept=intercept)
    budget = round(share * np.abs(model.fit(X, y).dual_coef_).sum())
    expected = optimum(X, y, loss, penalty, budget, intercept)
    found = model.set_params(noise_budget=budget, tol=tol).fit(X, y).certificate_
    assert model.converged_
    is_norm_with_hinge = loss == "hinge" and model.penalty.is_norm
    assert model.coef_.any() == (share > 1.0 or not is_norm_with_hinge)
    assert found.primal == pytest.approx(expected, abs=tol)
    assert expected - tol <= found.dual <= expected + 1e-8
    binds = np.abs(model.dual_coef_).sum() > (1.0 - 1e-3) * budget
    assert binds == (share < 1.0)
    again = certify(model, X, y, rigorous=True)
    assert again.primal == pytest.approx(found.primal, rel=1e-12)
    assert expected - 1e-3 <= again.dual <= expected + 1e-8


def test_the_objective_is_a_maximum_over_multipliers_within_the_budget():
    """For the logistic loss of a fitted model: p m less the entropy of p, by its definition."""
    X, y = data(1)
    model = PdproxSVC(ALPHA, loss="logistic", penalty="linf", noise_budget=9.0, tol=1e-7)
    model.fit(X, y)
    margins = y * model.decision_function(X)

    def negative(p):
        return np.mean(p * margins + p * np.log(p) + (1.0 - p) * np.log(1.0 - p))

    found = minimize(
        negative, np.full(N, 0.1), bounds=[(1e-9, 1.0 - 1e-9)] * N, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda p: 9.0 - p.sum()},
        options={"ftol": 1e-13, "maxiter": 500},
    )  # fmt: skip
    value = -found.fun + ALPHA * np.max(np.abs(model.coef_))
    assert model.certificate_.primal == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    ("loss", "shares"),
    [
        (Hinge(), (0.1, 0.6)), (Logistic(), (0.05, 0.3)), (SmoothedHinge(), (0.1, 0.5)),
        (SquaredHinge(), (0.1, 1.2)), (ModifiedHuber(), (0.1, 1.2)),
    ],
)  # fmt: skip
def test_the_best_constant(loss, shares, intercept, rng):
    y = np.where(np.arange(20) < 6, 1.0, -1.0)
    c = rng.exponential(size=20)
    c /= c.sum()
    rows = RowsInMemory(Design(rng.normal(size=(20, 3))), y, c, loss, intercept)
    for share in (*shares, 100.0):
        problem = noise_budget_problem(rows, Regularisation(LInf(), 0.1), share)

        def value(parameters, share=share):
            b, shift = parameters[0] * intercept, abs(parameters[1])
            return share * shift + c @ loss.value(y, b + shift * y)

        best = min(
            minimize(
                value, start, method="Nelder-Mead",
                options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000},
            ).fun
            for start in ([0.0, 0.5], [-0.7, 0.2])
        )  # fmt: skip
        assert problem.null_objective == pytest.approx(best, rel=1e-7)
        assert problem.null_objective <= best * (1.0 + 1e-12)
        assert 1.0 - 1e-9 <= problem.null_lower_bound / problem.null_objective <= 1.0


@pytest.mark.parametrize("name", sorted(PENALTIES.keys() - {"l1"}))
def test_a_penalty_with_one_more_coefficient(name, rng):
    penalty = PENALTIES[name].for_n_features(D)
    check_penalty(with_extra_coefficient(PENALTIES[name], D, 0.7), D + 1)
    found = with_extra_coefficient(penalty, D, 0.7).for_n_features(D + 1)
    w = np.r_[0.1 * np.abs(rng.normal(size=D)), -2.0]
    assert found.value(w) == pytest.approx(penalty.value(w[:-1]) + 1.4, rel=1e-14)
    np.testing.assert_allclose(found.prox(w, 0.5), np.r_[penalty.prox(w[:-1], 0.5), -1.65])


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
def test_a_path_and_the_published_methods():
    X, y = data()
    for loss, budget in (("hinge", 15.0), ("logistic", 8.0)):
        model = PdproxSVC(ALPHA, loss=loss, penalty="l1inf", groups=2, noise_budget=budget)
        best = model.set_params(tol=1e-5).fit(X, y).certificate_
        path = regularization_path(model, X, y, alphas=[0.05, ALPHA])
        assert path.certificates[1].primal == pytest.approx(best.primal, abs=1e-5)
        for solver in ("pdprox-dual", "pdprox-primal"):
            published = clone(model).set_params(solver=solver, tol=5e-2)
            published.set_params(solver_options={"output": "best"}).fit(X, y)
            assert published.converged_ and published.solver_ == solver
            assert published.certificate_.dual <= best.primal
            assert best.dual <= published.certificate_.primal <= best.primal + 5e-2


@pytest.mark.parametrize(
    ("changes", "offset", "message"),
    [
        ({"loss": "generalized_hinge"}, None, "one multiplier a row, got loss=GeneralizedHinge"),
        ({"penalty": "total_variation"}, None, "leaves no level free, .* got TotalVariation"),
        ({"penalty": Spectral(L1(), 2)}, None, "noise_budget needs a penalty of vectors"),
        ({}, 1.0, "noise_budget takes no offset"),
    ],
)
def test_what_stays_out_is_named(changes, offset, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        PdproxSVC(noise_budget=5.0, **changes).fit(X, y, offset=offset)

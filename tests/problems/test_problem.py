"""The parts of a problem: what another alpha, penalty or layout shares, and what it does not."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from scipy.optimize import LinearConstraint

from skpd import PdproxRegressor
from skpd.certificates import dual_bound, primal_objective
from skpd.designs import Design
from skpd.formulation.constraints import linear_constraints
from skpd.losses import Hinge, Squared
from skpd.penalties import L1, ElasticNet, GroupL2, SquaredL2, TotalVariation, WeightedL1
from skpd.problems import Problem, linear_problem
from skpd.problems.regularisation import Regularisation

PENALTIES = [
    L1(), SquaredL2(), ElasticNet(0.4), WeightedL1([0.0, 1.0, 2.0, 0.5]), TotalVariation(),
    GroupL2(2, np.ones(2)),
]  # fmt: skip


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 4))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0.0, 1.0, -1.0)
    return Design(X), y, np.full(40, 1.0 / 40)


def everything(problem, w, theta):
    """What a solver and a certificate see of a problem."""
    upper = primal_objective(problem, w, 0.2)
    return (
        upper, dual_bound(problem, theta, upper).value, problem.objective_unit,
        problem.largest_alpha, problem.prediction_scale, problem.regularisation.threshold,
        *problem.null_gradient, *problem.squares, *np.ravel(problem.free_intervals(1.0)),
    )  # fmt: skip


@pytest.mark.parametrize("loss", [Hinge(), Squared()], ids=repr)
@pytest.mark.parametrize("last", PENALTIES, ids=repr)
@pytest.mark.parametrize("first", PENALTIES, ids=repr)
def test_nothing_stale_is_left_of_another_penalty(first, last, loss, data, rng):
    """Any way from one problem to another gives the numbers of one that is made anew."""
    w, theta = rng.normal(size=4), -0.5 * data[1] * rng.random(40)
    before = linear_problem(*data, loss, first, 0.3).in_workspace()
    everything(before, w, theta)
    expected = everything(linear_problem(*data, loss, last, 0.1), w, theta)
    for other in (
        before.with_penalty(last, 0.1),
        before.with_alpha(7.0).with_penalty(last, 2.0).with_alpha(0.1),
        before.of_rows(replace(before.rows)).with_penalty(last, 0.1),
        replace(before, regularisation=Regularisation(last, 0.1)),
    ):
        np.testing.assert_array_equal(everything(other, w, theta), expected)


def test_what_problems_share(data):
    """One null model and one free part for all alphas, one null model for all penalties."""
    problem = linear_problem(*data, Hinge(), GroupL2(2, np.ones(2)), 0.3)
    other = problem.with_alpha(0.1)
    assert other.rows is problem.rows and other.free is problem.free
    assert other.penalty is problem.penalty and other.null_gradient is problem.null_gradient
    penalised = problem.with_penalty(L1(), 0.1)
    assert penalised.null is problem.null and penalised.free is not problem.free
    by_columns = problem.with_penalty(L1(), 0.1).rows.by_columns(L1())
    assert by_columns.design is problem.design  # linear tails: Newton's method needs no columns
    smooth = linear_problem(*data, Squared(), L1(), 0.3)
    assert smooth.by_columns().null_gradient is smooth.null_gradient
    assert smooth.by_columns().workspace.of_path


def test_a_workspace_stays_with_its_rows(data):
    problem = linear_problem(*data, Hinge(), L1(), 0.3).in_workspace()
    assert problem.with_alpha(0.1).workspace is problem.workspace
    assert problem.of_rows(problem.rows.of_rows(np.arange(20))).workspace is None


def test_constraints_join_the_columns(data):
    """Constraints are checked against the penalty, whichever comes last."""
    problem = linear_problem(*data, Hinge(), L1(), 0.3)
    constraints = linear_constraints(LinearConstraint(np.eye(4)[:1], 0.1, np.inf), 4)
    constrained = replace(
        problem, regularisation=replace(problem.regularisation, constraints=constraints)
    )
    assert constrained.null_is_allowed is False and np.isnan(constrained.largest_alpha)
    assert constrained.mean_loss(np.zeros(4), 0.0, 0.0) == np.inf
    feasible, _ = constrained.feasible_model(np.zeros(4), 0.0)
    assert feasible[0] >= 0.1 * (1.0 - 1e-12)
    with pytest.raises(ValueError, match="need finite bounds of these features"):
        constrained.with_penalty(WeightedL1([0.0, 1.0, 1.0, 1.0]), 0.3)
    with pytest.raises(ValueError, match="rows of A that sum to 0"):
        constrained.with_penalty(TotalVariation(), 0.3)


def test_a_problem_is_frozen(data):
    problem = linear_problem(*data, Hinge(), L1(), 0.3)
    assert isinstance(problem, Problem)
    for name in ("alpha", "rows", "penalty"):
        with pytest.raises((FrozenInstanceError, AttributeError)):
            setattr(problem, name, None)


def test_a_target_without_a_weight_does_not_count(rng):
    """Its loss may be as large as no other number."""
    X, y, weights = rng.standard_normal((300, 60)), rng.standard_normal(300), np.ones(300)
    y[0], weights[0] = 1e200, 0.0
    model = PdproxRegressor(0.01, loss="squared", penalty="l2").fit(X, y, weights)
    others = PdproxRegressor(0.01, loss="squared", penalty="l2").fit(X[1:], y[1:])
    assert model.converged_
    np.testing.assert_allclose(model.coef_, others.coef_, atol=1e-9)

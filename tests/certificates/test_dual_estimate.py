"""The estimate of a lower bound from sums that a solver has, against its formulas."""

import numpy as np
import pytest

from skpd.certificates.bounds import dual_estimate
from skpd.designs import Design
from skpd.losses import Squared
from skpd.penalties import L1, SquaredL2, WeightedL1
from skpd.problems import linear_problem

ALPHA = 0.5
GRADIENT = np.array([0.25, -0.4, 0.1])
UPPERS = pytest.mark.parametrize("upper", [0.3, 1.0, 100.0])


def problem_of(penalty):
    """With the objective y'y / (2 n) = 2 at w = 0."""
    y = np.array([2.0, -2.0, 2.0, -2.0])
    return linear_problem(
        Design(np.eye(4, 3)), y, np.full(4, 0.25), Squared(), penalty, ALPHA, False
    )


@UPPERS
@pytest.mark.parametrize("value", [-0.5, 0.0, 0.2, 0.9])
@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0, 1.5, 5.0])
def test_a_norm_takes_the_better_of_a_ball_and_of_scaling(scale, value, upper):
    norm = 0.4 * scale
    by_ball = value - min(upper, 2.0) / ALPHA * max(norm - ALPHA, 0.0)
    by_scaling = min(1.0, ALPHA / norm if norm else np.inf) * value
    found = dual_estimate(problem_of(L1()), value, scale * GRADIENT, upper)
    assert found == pytest.approx(max(by_ball, by_scaling, 0.0), rel=1e-14)


@UPPERS
@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0, 1.5, 5.0])
def test_half_a_squared_norm_takes_its_conjugate(scale, upper):
    conjugate = scale**2 * np.sum(GRADIENT**2) / (2.0 * ALPHA)
    found = dual_estimate(problem_of(SquaredL2()), 0.9, scale * GRADIENT, upper)
    assert found == pytest.approx(max(0.9 - conjugate, 0.0), rel=1e-14)


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_of_some_of_the_features(scale):
    """The dual norm of the second feature alone is |u_2| / 2."""
    problem, penalty = problem_of(WeightedL1([1.0, 2.0, 4.0])), WeightedL1([2.0])
    found = dual_estimate(problem, 0.9, -scale * GRADIENT[1:2], 100.0, penalty)
    assert found == pytest.approx(min(1.0, ALPHA / (scale * 0.4 / 2.0)) * 0.9)

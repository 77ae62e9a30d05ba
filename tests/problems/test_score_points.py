"""Convex combinations of labelings as dual points, and the intercept of a loss of all scores."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skpd.designs import Design
from skpd.losses.structured import StructuredDual
from skpd.penalties import L1, NonNegativeL1
from skpd.problems.structured_rows import StructuredPoint, scores_problem
from tests.problems.test_structured import MeanHinge

EPSILON = 2.0**-52
NOTHING = (0.0, 0.0)
Y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0])  # 5 of 8 are positive


def problem_of(rng, fit_intercept=True, penalty=None):
    X = rng.normal(size=(8, 2)) + np.array([0.5, -0.25])
    return scores_problem(Design(X), MeanHinge(Y), penalty or L1(), 0.25, fit_intercept), X


def balanced_dual(theta, mean_loss=0.5):
    return StructuredDual(np.asarray(theta), mean_loss, 1e-15, 2e-15)


@pytest.mark.parametrize("upper", [0.1, 0.5, 0.9, 2.0])
@pytest.mark.parametrize("penalty", [L1(), NonNegativeL1()], ids=str)
def test_intervals_of_the_intercept(penalty, upper, rng):
    """The losses of all rows of a sign bound it, as the penalty bounds the other scores."""
    problem, X = problem_of(rng, penalty=penalty)
    [(low, high)] = problem.free_intervals(upper)
    radius, ends = upper / 0.25, []
    for sign, share in ((1.0, 5.0 / 8.0), (-1.0, 3.0 / 8.0)):
        v = sign * np.sum(X[sign * Y > 0.0], axis=0) / 8.0
        size = np.max(np.abs(v)) if penalty.even else max(np.max(v), 0.0)
        ends.append(max(upper - share + size * radius, 0.0) / share)
    # theta is -1 for rows with y = 1: larger sums of c theta z are those of smaller b
    assert_allclose([low, high], [-ends[0], ends[1]], rtol=0.0, atol=1.1e-6 * max(ends))
    assert -low >= ends[0] * (1.0 + 0.9e-6) and high >= ends[1] * (1.0 + 0.9e-6)
    assert problem_of(rng, False)[0].free_intervals(upper) == [NOTHING]


def test_intervals_include_the_errors_of_mean_losses(rng):
    class Rounded(MeanHinge):
        @property
        def points_of_both_signs(self):
            return tuple(
                replace(mixture, mean_loss_error=0.125) for mixture in super().points_of_both_signs
            )

    plain, X = problem_of(rng)
    rounded = scores_problem(Design(X), Rounded(Y), L1(), 0.25, True)
    [(low, high)], [(lower, higher)] = (p.free_intervals(2.0) for p in (plain, rounded))
    assert_allclose(
        [low - lower, higher - high], [0.125 * 8.0 / 5.0, 0.125 * 8.0 / 3.0], rtol=1e-4
    )


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_mixtures_are_balanced_by_labelings(sign, rng):
    """The shares are those at which both sums cancel."""
    problem, _ = problem_of(rng)
    theta = np.where(sign * Y > 0.0, -Y * rng.uniform(0.2, 0.9, 8), 0.0)
    mixture = balanced_dual(theta)
    point = StructuredPoint(problem.rows, mixture)
    found = problem.projected(point)
    other = problem.loss.points_of_both_signs[1 if sign > 0.0 else 0]
    here, there = np.mean(theta), np.mean(other.theta)
    share = here / (here - there)
    assert_allclose(found.theta.theta, (1.0 - share) * theta + share * other.theta, rtol=1e-14)
    assert_allclose(found.theta.mean_loss, (1.0 - share) * 0.5 + share * other.mean_loss)
    assert found.is_balanced and not point.is_balanced
    assert found.sums_without_products() == [NOTHING]
    assert problem.projected(found) is found and problem.balanced(point).is_balanced
    without, _ = problem_of(rng, False)
    unbalanced = StructuredPoint(without.rows, mixture)
    assert without.projected(unbalanced) is unbalanced
    assert unbalanced.sums_without_products() == [NOTHING]


def test_a_mixture_with_a_sum_of_zero_needs_no_other(rng):
    problem, _ = problem_of(rng)
    theta = np.array([-0.5, 0.0, 0.0, 0.5, 0.0, -0.25, 0.0, 0.25])
    point = StructuredPoint(problem.rows, balanced_dual(theta))
    assert problem.projected(point) is point
    [(value, error)] = point.sums_without_products()
    assert value == 0.0 and 1e-15 <= error <= 1.1e-15


@pytest.mark.parametrize("beyond", [0.0, 0.375])
@pytest.mark.parametrize("precise", [True, False])
def test_sums_of_mixtures(precise, beyond, rng):
    """A balanced mixture is one of other shares, which differ by 4 units and twice its sum."""
    problem, X = problem_of(rng)
    theta = rng.uniform(-1.0, 1.0, 8)
    theta -= np.mean(theta)
    mixture = balanced_dual(theta)
    point = StructuredPoint(problem.rows, mixture, beyond)
    slope, error = problem.rows.slope_of(mixture)
    moved = 4.0 * EPSILON + 2.0 * (abs(slope) + error) / beyond if beyond else 0.0
    assert (point.linear, point.quadratic, point.largest_scale()) == (True, False, 1.0)
    assert point.is_balanced is (beyond > 0.0)
    for scale in (0.5, 1.0):
        value, rounding = point.value(scale)
        own, of_mixture = mixture.value(scale)
        assert value == own
        added = scale * moved * (1.0 + problem.null_objective)
        assert_allclose(rounding, of_mixture + added, rtol=1e-12)
    products, errors = point.products(precise)
    product = problem.design.rmatvec_compensated if precise else problem.design.rmatvec_bounded
    plain, own = product(problem.loss.weights, theta)
    norms = np.linalg.norm(X, axis=0) / np.sqrt(8.0) * (1.0 + 1e-9)
    assert_array_equal(products, plain)
    assert_allclose(errors, own + (1e-15 + 2.0 * moved) * norms, rtol=1e-8)
    exact = [sum(Fraction(x) * Fraction(t) for x, t in zip(x, theta, strict=True)) for x in X.T]
    for value, error, expected in zip(products, errors, exact, strict=True):
        assert abs(Fraction(value) - expected / 8) <= Fraction(error)

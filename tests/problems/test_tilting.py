"""Dual points with sums of exactly 0, near computed ones, in 40 digits."""

import mpmath as mp
import numpy as np
import pytest

from skpd.designs import Design
from skpd.losses import Softmax
from skpd.models.survival.partial_likelihood import PartialLikelihood
from skpd.models.survival.rows import hazards_problem
from skpd.penalties import Separable
from skpd.problems import tilting
from skpd.problems.output_rows import outputs_problem

N, D, K = 12, 3, 3
mp.mp.dps = 40
FREE = [0, 1]


def root(gradient, n):
    """The t at which a gradient vanishes, by Newton's method with differences."""
    return mp.findroot(lambda *t: gradient(list(t)), [mp.mpf(0)] * n, tol=1e-60)


def softmax_at(X, y, weights, p, t):
    """The probabilities of all rows for tilts of all classes but the last, and their sums."""
    table, sums = [], [mp.mpf(0)] * len(t)
    for i in range(N):
        terms = [mp.mpf(float(p[i, k])) for k in range(K)]
        for k in range(K - 1):
            score = sum(mp.mpf(float(X[i, j])) * t[k * len(FREE) + j] for j in FREE)
            terms[k] *= mp.exp(score)
        total = mp.fsum(terms)
        table.append([term / total for term in terms])
        for k in range(K - 1):
            for j in FREE:
                theta = table[i][k] - (1 if y[i] == k else 0)
                sums[k * len(FREE) + j] += mp.mpf(float(weights[i] * X[i, j])) * theta
    return table, sums


@pytest.mark.parametrize("small", [1e-14, 0.03])
def test_probabilities_of_classes(small, rng, monkeypatch):
    """For a crude point the distances are large, and their bounds still hold."""
    monkeypatch.setattr(tilting, "SMALL", small)
    X, y = 0.3 * rng.normal(size=(N, D)), np.arange(N) % K
    labels = np.eye(K)[y]
    penalty = Separable(0.0, np.repeat([0.0, 0.0, 1.0], K))
    problem = outputs_problem(
        Design(X), labels, np.full(N, 1.0 / N), Softmax(K), penalty, alpha=1.0, fit_intercept=False
    )
    point = problem.feasible_point(np.ravel(rng.dirichlet(np.full(K, 40.0), N) - labels))
    near = problem.balanced(point)
    assert (near.distance > 1e-4) == (small > 1e-3)
    p = np.reshape(near.theta, (N, K)) + labels
    t = root(lambda t: softmax_at(X, y, np.full(N, 1.0 / N), p, t)[1], (K - 1) * len(FREE))
    exact, _ = softmax_at(X, y, np.full(N, 1.0 / N), p, list(t))
    products, errors = near.products(precise=True)
    for j in range(D):
        for k in range(K):
            product = mp.fsum(
                mp.mpf(float(X[i, j])) * (exact[i][k] - (1 if y[i] == k else 0)) for i in range(N)
            )
            assert abs(product / N - products[j * K + k]) <= errors[j * K + k]
    for scale in (1.0, 0.5):
        value, rounding = near.value(scale)
        mixed = [
            [scale * q + (1 - scale) * (y[i] == k) for k, q in enumerate(row)]
            for i, row in enumerate(exact)
        ]
        entropy = -mp.fsum(q * mp.log(q) for row in mixed for q in row) / N
        assert abs(entropy - value) <= rounding
    assert near.free_sums(products, errors) == [(0.0, 0.0)] * (K + K * len(FREE))


def hazards_at(X, time, event, z, t):
    """The distributions on all risk sets for tilted scores, and the sums of theta with columns."""
    scores = [
        mp.mpf(float(z[i])) + sum(mp.mpf(float(X[i, j])) * t[j] for j in FREE) for i in range(N)
    ]
    distributions, theta = [], [mp.mpf(0)] * N
    for i in np.flatnonzero(event):
        at_risk = [j for j in range(N) if time[j] >= time[i]]
        total = mp.fsum(mp.exp(scores[j]) for j in at_risk)
        distributions.append([mp.exp(scores[j]) / total if j in at_risk else 0 for j in range(N)])
        theta = [theta[j] + (distributions[-1][j] - (i == j)) / N for j in range(N)]
    sums = [mp.fsum(mp.mpf(float(X[i, j])) * theta[i] for i in range(N)) for j in range(D)]
    return distributions, sums


@pytest.mark.parametrize("small", [1e-14, 0.2])
def test_hazards(small, rng, monkeypatch):
    monkeypatch.setattr(tilting, "SMALL", small)
    X, time, event = 0.2 * rng.normal(size=(N, D)), np.arange(N) + 1.0, np.arange(N) % 4 != 1
    loss = PartialLikelihood(time, event, np.ones(N), np.zeros(N, dtype=int))
    penalty = Separable(0.0, np.array([0.0, 0.0, 1.0]))
    problem = hazards_problem(Design(X), loss, penalty, 1.0)
    dual = loss.loss_augmented(0.1 * rng.normal(size=N), 0.0)[1]
    near = problem.balanced(problem.feasible_point(dual))
    z = near.theta.predictions
    t = root(lambda t: hazards_at(X, time, event, z, t)[1][:2], len(FREE))
    distributions, sums = hazards_at(X, time, event, z, list(t))
    products, errors = near.products(precise=True)
    assert all(abs(s - p) <= e for s, p, e in zip(sums, products, errors, strict=True))
    assert (errors[2] > 1e-4) == (small > 1e-3)
    for scale in (1.0, 0.5):
        value, rounding = near.value(scale)
        entropy = mp.mpf(0)
        for i, p in zip(np.flatnonzero(event), distributions, strict=True):
            mixed = [scale * q + (1 - scale) * (i == j) for j, q in enumerate(p)]
            entropy -= mp.fsum(q * mp.log(q) for q in mixed if q > 0) / N
        assert abs(entropy - value) <= rounding
    assert near.free_sums(products, errors) == [(0.0, 0.0)] * 3


def test_no_proof_where_the_hessian_is_singular(rng, monkeypatch):
    X = np.repeat(rng.normal(size=(N, 1)), 2, axis=1)
    loss = PartialLikelihood(np.arange(N) + 1.0, np.full(N, True), np.ones(N), np.zeros(N, int))
    problem = hazards_problem(Design(X), loss, Separable(0.0, 0.0), 1.0)
    point = problem.feasible_point(loss.loss_augmented(np.zeros(N), 0.0)[1])
    assert problem.balanced(point) is not point  # the second column is the first
    monkeypatch.setattr(tilting, "CERTAIN", 2.0)
    assert problem.balanced(point) is point
    monkeypatch.undo()
    monkeypatch.setattr(tilting, "MOST_MOVES", 1)
    assert problem.balanced(point) is point


def test_columns_that_no_risk_set_compares(rng):
    """All of their sums vanish; a share of a distribution is no gradient, and stays as it is."""
    time, event = np.arange(N) + 1.0, np.arange(N) > 1
    X = np.column_stack([np.arange(N) == 0, np.ones(N)]).astype(float)
    loss = PartialLikelihood(time, event, np.ones(N), np.zeros(N, int))
    problem = hazards_problem(Design(X), loss, Separable(0.0, 0.0), 1.0)
    dual = loss.loss_augmented(rng.normal(size=N), 0.0)[1]
    near = problem.balanced(problem.feasible_point(dual))
    assert near.free_sums(*near.products(precise=True)) == [(0.0, 0.0)] * 3
    assert problem.balanced(near) is near
    share = problem.feasible_point(0.5 * dual)
    assert problem.balanced(share) is share
    other = hazards_problem(Design(X.copy()), loss, Separable(0.0, 0.0), 1.0)
    again = other.feasible_point(near.theta)
    assert other.balanced(again) is not again

"""The directions of predictions along which losses do not reach their infimum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from skpd.losses import (
    Absolute,
    Gamma,
    Hinge,
    Logistic,
    NegativeBinomial,
    Poisson,
    Softmax,
    SquaredHinge,
    Tweedie,
)
from skpd.losses.shifted import Shifted
from skpd.models.ordinal.losses import OrdinalLoss
from skpd.models.survival.partial_likelihood import PartialLikelihood

N_ROWS = 6
FAR = 1e5


def labels(random):
    return random.choice([-1.0, 1.0], N_ROWS)


def counts(random):
    return random.poisson(0.7, N_ROWS).astype(float)


def mean_loss(loss, targets, weights):
    """The mean loss of predictions, and its recession matrix."""
    used = weights > 0.0

    def value(z):
        return float(weights[used] @ loss.value(targets, z)[used])

    return value, loss.recession(targets, weights)


def of_rows(loss, draw):
    def drawn(random):
        weights = random.integers(0, 3, N_ROWS).astype(float)
        return mean_loss(loss, draw(random), weights), N_ROWS

    return drawn


def with_offset(random):
    targets = np.asfortranarray(np.column_stack([labels(random), random.normal(size=N_ROWS)]))
    return mean_loss(Shifted(Logistic()), targets, np.ones(N_ROWS)), N_ROWS


def of_classes(random):
    weights = np.repeat(random.integers(0, 3, N_ROWS).astype(float), 3)
    targets = np.eye(3)[random.integers(0, 3, N_ROWS)].ravel()
    return mean_loss(Softmax(3), targets, weights), 3 * N_ROWS


def of_scores(loss):
    return (lambda z: loss.value(z)[0], loss.recession()), N_ROWS


def of_orders(random):
    weights = np.append(np.ones(3), random.integers(0, 2, N_ROWS - 3))
    classes = np.append(np.arange(3), random.integers(0, 3, N_ROWS - 3))
    return of_scores(OrdinalLoss(classes, weights, None, Logistic()))


def of_hazards(efron, late=False):
    def drawn(random):
        event = np.append(True, random.random(N_ROWS - 1) < 0.6)
        weights = np.append(1.0, random.integers(0, 3, N_ROWS - 1))
        strata = random.integers(0, 2, N_ROWS)
        time = random.integers(1, 4, N_ROWS).astype(float)
        entry = time - random.integers(1, 4, N_ROWS) if late else None
        return of_scores(PartialLikelihood(time, event, weights, strata, efron=efron, entry=entry))

    return drawn


CASES = {
    "logistic": of_rows(Logistic(), labels),
    "offset": with_offset,
    "poisson": of_rows(Poisson(), counts),
    "negative binomial": of_rows(NegativeBinomial(dispersion=0.5), counts),
    "tweedie": of_rows(Tweedie(power=1.5), counts),
    "gamma": of_rows(Gamma(), lambda random: 1.0 + counts(random)),
    "softmax": of_classes,
    "ordinal": of_orders,
    "efron": of_hazards(efron=True),
    "breslow": of_hazards(efron=False),
    "late rows": of_hazards(efron=True, late=True),
}


@pytest.mark.parametrize("name", CASES)
def test_no_loss_rises_along_a_direction_of_the_cone_and_some_do_along_any_other(name):
    random = np.random.default_rng(0)
    n_inside = 0
    for _ in range(60):
        (value, matrix), n_scores = CASES[name](random)
        u = random.choice([-1.0, 0.0, 0.0, 1.0], n_scores)
        if random.random() < 0.6:  # most directions near a direction of the cone
            rows = matrix[:, :n_scores].toarray()
            u = np.sign(rows.T @ random.choice([0.0, 1.0], len(rows)))
        # the numbers t of the loss that make the largest of the violations of A (u, t) >= 0 least
        A = np.hstack([-matrix[:, n_scores:].toarray(), -np.ones((matrix.shape[0], 1))])
        cost = np.append(np.zeros(A.shape[1] - 1), 1.0)
        bounds = [(-9.0, 9.0)] * len(cost)
        is_inside = True
        if matrix.shape[0]:
            is_inside = linprog(cost, A, matrix[:, :n_scores] @ u, bounds=bounds).fun <= 1e-9
        with np.errstate(over="ignore"):
            assert is_inside == (value(FAR * u) <= value(0.0 * u) + 1e-9)
        n_inside += is_inside
    assert (3 if name != "gamma" else 0) <= n_inside < 60


def test_which_losses_separate():
    assert not any(loss.can_separate for loss in (Hinge(), SquaredHinge(), Absolute()))
    assert all(loss.can_separate for loss in (Logistic(), Poisson(), Softmax(3)))
    assert Shifted(Poisson()).can_separate and not Shifted(Hinge()).can_separate
    ordered = [OrdinalLoss(np.arange(3), np.ones(3), None, phi) for phi in (Hinge(), Logistic())]
    assert [loss.can_separate for loss in ordered] == [False, True]


def test_parts_that_risk_sets_do_not_connect():
    """Rows that leave before any event, and those that enter after all before have left."""
    time = np.array([0.5, 1.0, 2.0, 4.0, 5.0, 6.0])
    entry = np.array([0.0, 0.0, 0.0, 3.0, 3.0, 5.5])
    event = np.array([False, True, True, True, True, False])
    loss = PartialLikelihood(time, event, np.ones(6), np.zeros(6, int), entry=entry)
    table = np.column_stack([np.arange(6.0) ** 2, [5.0, 1.0, 1.0, 2.0, 2.0, 9.0]])
    expected = [[0.0, 0.0], [-1.5, 0.0], [1.5, 0.0], [-3.5, 0.0], [3.5, 0.0], [0.0, 0.0]]
    assert_array_equal(loss.without_means(table), expected)
    nobody_late = PartialLikelihood(time, event, np.ones(6), np.array([0, 0, 0, 1, 1, 1]))
    centred = table[:, 0] - np.array([0.0, 2.5, 2.5, 50 / 3, 50 / 3, 50 / 3])
    assert_allclose(nobody_late.without_means(table)[:, 0], np.append(0.0, centred[1:]))

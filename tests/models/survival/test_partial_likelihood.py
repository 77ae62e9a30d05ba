"""The partial likelihood: against its definition, Breslow's baseline and formulas of rounding."""

from math import log

import mpmath
import numpy as np
import pytest
from mpmath import mpf
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime

from skpd import kernels
from skpd.designs import Design
from skpd.models.survival import risk_set_hessians
from skpd.models.survival.partial_likelihood import PartialLikelihood

N, D, EPSILON = 150, 4, 2.0**-52


def entries(rng, time):
    """Times of entry, of which some are 0 and some those of events; risk sets become small."""
    steps = np.floor(time * rng.random(len(time)) * 4.0) / 4.0
    return np.where(rng.random(len(time)) < 0.7, np.minimum(steps, 0.999 * time), 0.0)


def by_definition(time, event, weights, strata, u, efron, entry=-1.0):
    """The loss, from one loop over all event times."""
    entry = np.broadcast_to(entry, len(time))
    c, total = weights / weights.sum(), 0.0
    for stratum in np.unique(strata):
        for t in np.unique(time[(strata == stratum) & event & (weights > 0)]):
            tied = np.flatnonzero((strata == stratum) & event & (time == t) & (weights > 0))
            at_risk = (strata == stratum) & (entry < t) & (time >= t) & (weights > 0)
            sums = np.sum(weights[at_risk] * np.exp(u[at_risk]))
            own, d = np.sum(weights[tied] * np.exp(u[tied])), len(tied)
            terms = [sums - k / d * own * efron for k in range(d)]
            total += (
                c[tied].mean() * np.sum(np.log(terms)) if efron else c[tied].sum() * np.log(sums)
            )
            total -= np.sum(c[tied] * (u[tied] + np.log(weights[tied])))
    return total


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("efron", [True, False])
def test_the_loss_and_its_dual_points(efron, late, rng):
    for trial in range(60):
        n = int(rng.integers(2, 25))
        time = rng.integers(1, 8, n).astype(float) if trial % 2 else rng.random(n)
        event = rng.random(n) < rng.choice([0.3, 0.9])
        event[0] = True
        weights = np.ones(n)
        if trial % 3 == 0:
            weights = rng.random(n) * (rng.random(n) < 0.8)
            weights[0] = 0.5
        strata = rng.integers(0, 3, n) if trial % 4 == 0 else np.zeros(n, dtype=int)
        offset = rng.normal(size=n) if trial % 5 == 0 else None
        z = rng.normal(size=n) * rng.choice([0.1, 1.0, 10.0])
        entry = entries(rng, time) if late else None
        loss = PartialLikelihood(time, event, weights, strata, offset, efron=efron, entry=entry)
        u = z if offset is None else z + offset
        value, rounding = loss.value(z)
        more = {"entry": entry} if late else {}
        expected = by_definition(time, event, weights, strata, u, efron, **more)
        if trial % 3:  # with other weights Efron's terms may need a constant to be at least 0
            assert_allclose(value, expected, atol=1e-12)
        assert value >= -rounding
        _, theta, _ = loss.derivatives(z)
        gradient = approx_fprime(z, lambda q, loss=loss: loss.value(q)[0], 1e-6)
        assert_allclose(theta / n, gradient, atol=1e-5)
        _, mixture = loss.loss_augmented(z, 0.0)
        at_z, error = mixture.value(1.0)
        assert abs(at_z + theta @ z / n - value) <= error + rounding + 1e-13
        for share in (1.0, 0.7, 1e-3, 0.0):
            constant, error = mixture.value(share)
            assert_allclose((share * mixture).value(1.0)[0], constant, atol=1e-14)
            for _ in range(3):
                other = rng.normal(size=n) * rng.choice([0.1, 1.0, 5.0])
                most, rounding = loss.value(other)
                assert constant - error + share * (theta @ other) / n <= most + rounding


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("efron", [True, False])
def test_the_hessian(efron, late, rng):
    X, time, event = rng.normal(size=(N, D)), np.ceil(8.0 * rng.random(N)), rng.random(N) < 0.6
    weights, strata = rng.uniform(0.1, 2.0, N), rng.integers(0, 3, N)
    weights[::7] = 0.0
    offset, entry = rng.normal(size=N), entries(rng, time) if late else None
    loss = PartialLikelihood(time, event, weights, strata, offset, efron=efron, entry=entry)
    w, h = rng.normal(size=D), 1e-6

    def gradient(w):
        return X.T @ loss.derivatives(X @ w)[1] / N

    differences = [(gradient(w + h * e) - gradient(w - h * e)) / (2 * h) for e in np.eye(D)]
    assert_allclose(loss.hessian(X @ w, Design(X), np.arange(X.shape[1])), differences, atol=1e-8)


def drawn(rng, n=30, efron=True, ties=True, offset=True, n_strata=3, late=False):
    """A loss with strata and offsets, the arrays that it is made of, and scores."""
    time = rng.integers(1, 6, n).astype(float) if ties else rng.random(n)
    given = {
        "time": time,
        "event": rng.random(n) < 0.6,
        "sample_weight": rng.uniform(0.1, 2.0, n) * (np.arange(n) % 7 > 0),
        "strata": rng.integers(0, n_strata, n),
        "offset": rng.normal(size=n) + 3.0 if offset else None,
        **({"entry": entries(rng, time)} if late else {}),
    }
    return PartialLikelihood(**given, efron=efron), given, 2.0 * rng.normal(size=n)


def test_rows_in_order(rng):
    loss, given, _ = drawn(rng)
    weights, c = given["sample_weight"], given["sample_weight"] / given["sample_weight"].sum()
    places = [
        i
        for _, _, i in sorted(zip(given["strata"], given["time"], range(30), strict=True))
        if weights[i] > 0.0
    ]
    assert_array_equal(loss.used_rows, places)
    assert_allclose(loss.shares, (c * given["event"])[places])
    total = c @ given["event"]
    assert_allclose([loss.total, loss.sum_of_weights], [total, weights.sum()])
    assert_allclose(loss.weights, 1 / 30)
    assert_allclose(loss.largest_theta, 30 * total)
    assert_allclose(loss.entropy_range, total * log(30))
    groups = {(given["strata"][i], given["time"][i]): [] for i in places}
    for i in places:
        groups[given["strata"][i], given["time"][i]].append(given["event"][i])
    assert_array_equal(loss.starts, np.cumsum([0, *map(len, groups.values())]))
    strata = [stratum for stratum, _ in groups]
    assert_array_equal(loss.last, np.append(np.diff(strata) > 0, True))
    assert_array_equal(loss.terms, [sum(events) for events in groups.values()])
    breslow = PartialLikelihood(**given, efron=False)
    assert_array_equal(breslow.terms, [any(events) for events in groups.values()])
    log_s = np.log(weights[places])
    assert_allclose(breslow.constant, loss.shares @ log_s, rtol=1e-13)
    assert_allclose(loss._largest_log, np.abs(log_s).max())
    assert_allclose(loss._constant_size, loss.shares @ np.abs(log_s) + abs(loss.constant))


@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0], [1.0, 1e-3, 1e-4], [5.0, 5.0, 1e-9]])
def test_the_least_value_of_tied_events(weights):
    """It is 0, or what Efron's sums have at least where the scores do not matter."""
    loss = PartialLikelihood(np.ones(3), np.ones(3, bool), np.array(weights), np.zeros(3, int))
    c = [mpf(w) / mpmath.fsum(map(mpf, weights)) for w in weights]
    least = mpmath.log(mpf(6) / 27) / 3 - mpmath.fsum([x * mpmath.log(x) for x in c])
    assert_allclose(loss.value(np.zeros(3))[0], float(max(least, 0)), atol=1e-15)
    for z in np.random.default_rng(0).normal(size=(20, 3)):
        assert loss.value(z)[0] >= -1e-15


@pytest.mark.parametrize("efron", [True, False])
def test_the_infimum_over_all_scores(efron, rng):
    """It is approached where events are far above all that are at risk, and tied ones equal."""
    for _ in range(20):
        time, event = rng.integers(1, 9, 40).astype(float), rng.random(40) < 0.6
        event[0], weights, strata = True, rng.uniform(0.1, 2.0, 40), rng.integers(0, 2, 40)
        loss = PartialLikelihood(time, event, weights, strata, efron=efron)
        limit, rounding = loss.value(100.0 * (event - time))
        assert_allclose(limit, loss.saturated, rtol=0.0, atol=1e-12 + rounding)
        assert loss.value(rng.normal(size=40))[0] > loss.saturated


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("efron", [True, False])
def test_roundings(efron, offset, rng):
    n_strata = 3 if offset else 2
    loss, given, z = drawn(rng, efron=efron, offset=offset, n_strata=n_strata)
    places, n = loss.used_rows, 30
    u = z[places] + (given["offset"][places] if offset else 0.0)
    strata = given["strata"][places]
    means = np.array([u[strata == k].mean() for k in range(n_strata)])[strata]
    assert_allclose(loss._shifted(z), u - means, atol=1e-14)
    u = loss._shifted(z)
    most = max(loss.terms) if efron else 1
    roundings, of_exponents = (
        (64 + 4 * most) * EPSILON,
        8 * EPSILON * (np.abs(u).max() + np.abs(np.log(given["sample_weight"][places])).max()),
    )
    _, weighted, size = loss.sets.log_sums(u)
    low = np.abs(loss._offset_low) if offset else np.zeros(len(u))

    def change(error):
        return (loss.total * error.max() + loss.shares @ error) * (1.0 + 1e-9)

    size_of_all = size + loss.shares @ np.abs(u) + loss._constant_size + loss.total
    expected = kernels.compensated_dot(loss.shares, u)[1] + roundings * size_of_all
    expected += of_exponents * loss.total + change(EPSILON * np.abs(u) + low)
    assert_allclose(loss.value(z)[1], expected, rtol=1e-12)
    error = rng.random(n)
    assert_allclose(loss.sensitivity(error), change(error[places]), rtol=1e-13)
    assert_allclose(loss.sensitivity(0.25), change(np.full(len(u), 0.25)), rtol=1e-13)

    mixture = loss.loss_augmented(z, 0.0)[1]
    marginals = loss.sets.marginals(u, mixture.log_sums)
    assert_allclose(mixture.theta[places] / n, marginals - loss.shares, atol=1e-15)
    errors = (roundings + of_exponents) * (marginals + loss.shares)
    assert_allclose(mixture.theta_error, np.sqrt(n * np.sum(errors**2)), rtol=1e-10)
    assert (mixture.mean_loss, mixture.mean_loss_error) == (0.0, 0.0)
    of_scores, rounding = kernels.compensated_dot(marginals, u)
    rounding += (roundings + of_exponents) * (size + marginals @ np.abs(u) + loss.total)
    assert_allclose(mixture.entropies, [weighted - of_scores, rounding], rtol=1e-10)
    shift = missed = 0.0
    if offset:
        own = loss.offset
        shift, missed = kernels.compensated_dot(marginals - loss.shares, own)
        missed += errors @ np.abs(own) + (marginals + loss.shares) @ low
        missed *= 1.0 + 1e-9
    assert_allclose(mixture.of_offsets[0], shift, atol=1e-14)
    assert_allclose(mixture.of_offsets[1], missed, rtol=1e-11)
    for share in (1.0, 0.3):
        value, found = mixture.value(share)
        of_events, size = loss.sets.entropy_of_events(u, mixture.log_sums, share)
        constant = share * (mixture.entropies[0] + shift) - share * log(share) * loss.total
        assert_allclose(value, constant + of_events - loss.constant, atol=1e-14)
        expected = share * (mixture.entropies[1] + mixture.of_offsets[1])
        expected += of_exponents * (size + loss.total)
        size += abs(constant) + abs(share * shift) + loss._constant_size + loss.total
        assert_allclose(found, expected + roundings * size, rtol=1e-12)
        assert (share * (0.5 * mixture)).share == 0.5 * share


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("efron", [True, False])
def test_baselines_by_definition(efron, ties, late, rng):
    """The weight of the events of a time over each of its sums, in every stratum."""
    loss, given, z = drawn(rng, efron=efron, ties=ties, offset=ties, late=late)
    time, event, s, strata, offset, *entry = given.values()
    entry = entry[0] if late else np.full(30, -1.0)
    offset = offset if ties else np.zeros(30)
    risk, expected = s * np.exp(z + offset), []
    counted = event & (s > 0.0)
    for stratum, t in sorted(set(zip(strata[counted], time[counted], strict=True))):
        own = strata == stratum
        tied = own & counted & (time == t)
        d = tied.sum() if efron else 1
        at_risk = own & (time >= t) & (entry < t)
        sums = risk[at_risk].sum() - np.arange(d) / d * risk[tied].sum()
        expected.append((stratum, t, np.log(np.sum(s[tied].sum() / d / sums))))
    rows, found = loss.baseline(z)
    assert_array_equal(strata[rows], [stratum for stratum, _, _ in expected])
    assert_array_equal(time[rows], [t for _, t, _ in expected])
    assert_allclose(found, [value for _, _, value in expected], rtol=1e-12)


def test_one_stratum_and_no_event_at_a_time():
    """By hand: ln(e^1 + e^2) - 1 for the first of two rows, whose second is censored."""
    loss = PartialLikelihood(
        np.array([1.0, 2.0]), np.array([True, False]), np.ones(2), np.zeros(2, int)
    )
    z = np.array([1.0, 2.0])
    assert_allclose(loss.value(z)[0], 0.5 * (log(np.e + np.e**2) - 1.0))
    value, theta = loss.value_and_theta(z)
    p = 1.0 / (1.0 + np.exp(-1.0))
    assert_allclose([value, *theta], [loss.value(z)[0], -p, p])
    assert_allclose(loss.derivatives(z)[2], [1.0 - p, p])
    assert (loss.true_labeling.share, abs(loss.true_labeling.value(1.0)[0])) == (0.0, 0.0)
    assert_array_equal(loss.true_labeling.theta, 0.0)


def test_hessians_of_sums_that_underflow_and_distances(rng, monkeypatch):
    loss, given, z = drawn(rng, ties=False)
    X = rng.normal(size=(30, 2))
    design, columns = Design(X), np.arange(2)
    # the last row at risk, beside which all others are nothing, leaves their sums at 0
    z = np.where(given["time"] == given["time"].max(), 3000.0, 0.0)
    z[np.argmin(given["time"])] = 6000.0
    monkeypatch.setattr(risk_set_hessians, "MOST_PAIRS", 0)
    assert loss.hessian(z, design, columns) is None
    kept = loss.used_rows
    ranges = 0.5 * np.ptp(X[kept], axis=0)
    found = loss.distances_of_products(design)
    expected = np.sqrt(2.0 * loss.total) * (1.0 + 1e-9) * design.half_ranges(kept)
    assert_allclose(found, expected, rtol=1e-13)
    assert_allclose(found, np.sqrt(2.0 * loss.total) * ranges, rtol=1e-8)


def test_the_hessian_of_scores_that_are_far_apart(rng):
    """Scores of which the exponentials of most are 0 beside the largest, at risk alone later."""
    X, time = rng.normal(size=(N, D)), np.arange(1.0, N + 1)
    loss = PartialLikelihood(time, np.ones(N, dtype=bool), np.ones(N), np.zeros(N, dtype=int))
    z = np.linspace(3000.0, 0.0, N) + rng.normal(size=N)
    z[N // 2 : N // 2 + 5] = z[N // 2]  # a risk set of equal scores
    expected = np.zeros((D, D))
    for i in range(N):
        shares = np.exp(z[i:] - z[i:].max())
        expected += np.cov(X[i:], rowvar=False, aweights=shares, ddof=0) / N
    assert np.max(np.abs(expected)) > 0.01
    assert_allclose(loss.hessian(z, Design(X), np.arange(D)), expected, atol=1e-13)


def exact_loss(given, efron, z):
    """The loss and its gradient in 60 digits, without the constant."""
    time, event, s, strata, offset, entry = given.values()
    with mpmath.workdps(60):
        u = [mpf(float(x)) + mpf(float(y)) for x, y in zip(z, offset, strict=True)]
        weights = [mpf(float(x)) for x in s]
        total, value, gradient = mpmath.fsum(weights), mpf(0), [mpf(0)] * len(z)
        for k, t in sorted(set(zip(strata[event & (s > 0)], time[event & (s > 0)], strict=True))):
            own = (strata == k) & (s > 0)
            tied = np.flatnonzero(own & event & (time == t))
            at_risk = np.flatnonzero(own & (entry < t) & (t <= time))
            top = max(u[i] for i in at_risk)
            risk = {i: weights[i] * mpmath.exp(u[i] - top) for i in at_risk}
            n_terms = len(tied) if efron else 1
            share = mpmath.fsum([weights[i] for i in tied]) / total / n_terms
            for j in range(n_terms):
                left = {i: r * (1 - mpf(j) / n_terms * (i in tied)) for i, r in risk.items()}
                size = mpmath.fsum(left.values())
                value += share * (top + mpmath.log(size))
                for i, r in left.items():
                    gradient[i] += share * r / size
            for i in tied:
                value -= weights[i] / total * u[i]
                gradient[i] -= weights[i] / total
        return value, gradient


@pytest.mark.parametrize("efron", [True, False])
def test_late_rows_against_60_digits(efron, rng):
    """Values and dual points are within their bounds on rounding, at scores of all scales."""
    for trial in range(24):
        loss, given, z = drawn(rng, n=20, efron=efron, ties=trial % 2, late=True)
        z *= 10.0 ** rng.integers(-1, 7)
        value, rounding = loss.value(z)
        exact, gradient = exact_loss(given, efron, z)
        assert abs(float(exact - loss.constant - mpf(value))) <= rounding
        assert rounding <= 1e-12 * (1.0 + np.abs(z).max())
        _, dual = loss.loss_augmented(z, 0.0)
        errors = [float(20 * g - mpf(t)) for g, t in zip(gradient, dual.theta, strict=True)]
        assert np.sqrt(np.mean(np.square(errors))) <= dual.theta_error
        for share in (1.0, 0.6):
            constant, error = dual.value(share)
            for other in (z, 0.9 * z, z + rng.normal(size=20)):
                linear = share * mpmath.fdot(gradient, map(mpf, other))
                gap = exact_loss(given, efron, other)[0] - loss.constant - linear - mpf(constant)
                assert float(gap) >= -error


def test_rows_that_enter_before_all_events_are_not_late(rng):
    """They leave everything as it is, bit by bit, and rows that are never at risk have no part."""
    loss, given, z = drawn(rng)
    entry = np.where(given["time"] > 1.0, 0.5, 0.0)
    early = PartialLikelihood(**given, entry=entry)
    assert early.value(z) == loss.value(z)
    assert_array_equal(early.derivatives(z)[1], loss.derivatives(z)[1])
    X = Design(rng.normal(size=(30, 3)))
    columns = np.arange(3)
    assert_array_equal(early.hessian(z, X, columns), loss.hessian(z, X, columns))
    never = {"entry": np.array([0.0, 0.0, 1.0]), "sample_weight": np.ones(3)}
    between = PartialLikelihood(
        np.array([1.0, 2.0, 1.5]), np.array([True, True, False]), strata=np.zeros(3, int), **never
    )
    assert_array_equal(between.derivatives(np.array([0.3, 0.0, 9.0]))[2][2], 0.0)


def test_sums_that_would_cancel(rng, monkeypatch):
    """At the first events few rows are at risk, and one that enters later is e^60 as large."""
    time = np.array([1.0, 2.0, 3.0, 4.0])
    entry, event = np.array([0.0, 0.0, 2.0, 2.5]), np.ones(4, bool)
    loss = PartialLikelihood(time, event, np.ones(4), np.zeros(4, int), entry=entry)
    z = np.array([0.0, 1.0, 60.0, 59.0])
    expected = log(1.0 + np.e) + log(1.0 + np.exp(-1.0))
    assert_allclose(4.0 * loss.value(z)[0], expected, rtol=1e-14)
    p = np.array([1.0, np.e]) / (1.0 + np.e)
    q = np.array([np.e, 1.0]) / (1.0 + np.e)
    marginals = [p[0], p[1] + 1.0, q[0], q[1] + 1.0]
    assert_allclose(loss.derivatives(z)[2], marginals, rtol=1e-14)
    X = rng.normal(size=(4, 2))
    spread = p[0] * p[1] * np.outer(X[1] - X[0], X[1] - X[0])
    spread += q[0] * q[1] * np.outer(X[3] - X[2], X[3] - X[2])
    assert_allclose(4.0 * loss.hessian(z, Design(X), np.arange(2)), spread, rtol=1e-12)
    monkeypatch.setattr(risk_set_hessians, "MOST_PAIRS", 15)
    assert loss.hessian(z, Design(X), np.arange(2)) is None


def test_the_hessian_of_strata_whose_scores_are_far_apart(rng):
    time, strata = np.array([1.0, 2.0, 3.0, 1.0, 2.0, 3.0]), np.array([0, 0, 0, 1, 1, 1])
    loss = PartialLikelihood(time, np.ones(6, bool), np.ones(6), strata)
    X, z = rng.normal(size=(6, 2)), np.array([30.0, 0.0, 1.0, 0.0, 60.0, -60.0])
    hessian = np.zeros((2, 2))
    for at_risk in ([0, 1, 2], [1, 2], [2], [3, 4, 5], [4, 5], [5]):
        p = np.exp(z[at_risk] - np.max(z[at_risk]))
        centred = X[at_risk] - (p / np.sum(p)) @ X[at_risk]
        hessian += (p / np.sum(p) * centred.T) @ centred
    computed = 6.0 * loss.hessian(z, Design(X), np.arange(2))
    assert_allclose(computed, hessian, rtol=1e-12, atol=1e-15)

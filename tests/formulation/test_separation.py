"""Warnings of unpenalised features that separate, against linear programmes and constructions."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from benchmarks.helpers.thin_margins import KINDS, drawn, outcome
from skpd import (
    CoxPD,
    GammaPD,
    LogisticPD,
    MultinomialPD,
    OrdinalPD,
    PdproxSVC,
    PoissonPD,
    TweediePD,
)
from skpd.estimators import fitting
from skpd.formulation import exact_directions, separation, solve_problems


def message(model, X, y, **fit_parameters):
    """The warning of separation of a fit, or None."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, **fit_parameters)
    texts = [str(each.message) for each in caught if each.category is ConvergenceWarning]
    texts = [text for text in texts if "separate the targets" in text]
    assert len(texts) <= 1
    return texts[0] if texts else None


def named(model, X, y, **fit_parameters):
    """The indices of the features that the warning names, in sets; None without a warning."""
    text = message(model, X, y, **fit_parameters)
    if text is None:
        return None
    sets = re.search(r"separate the targets: (.*?)\. Their", text)[1].split("; ")
    return [[int(j) for j in re.findall(r"feature (\d+)", each)] for each in sets]


@pytest.fixture
def rated():
    """Levels of a factor without its first one and two numbers, with counts."""
    random = np.random.default_rng(0)
    level, Z = random.integers(0, 5, 240), random.normal(size=(240, 2))
    X = np.column_stack([level == k for k in range(1, 5)] + [Z]).astype(float)
    return X, random.poisson(np.exp(0.4 * Z[:, 0])).astype(float), level


def survival(time, event):
    return np.array(list(zip(event, time, strict=True)), dtype=[("e", bool), ("t", float)])


COUNTS = [PoissonPD(alpha=0), TweediePD(alpha=0), PoissonPD(alpha=0, dispersion=1.0)]


@pytest.mark.parametrize("model", COUNTS, ids=["poisson", "tweedie", "negative binomial"])
def test_levels_whose_counts_are_all_0_are_named(model, rated):
    X, y, level = rated
    assert message(model, X, y) is None
    y[level == 3] = 0.0
    assert named(model, X, y) == [[2]]
    y[level == 1] = 0.0
    assert sorted(named(model, X, y)) == [[0], [2]]
    assert sorted(named(model, X, y, offset=X[:, 4])) == [[0], [2]]
    assert message(GammaPD(alpha=0), X, y + 1.0) is None


def test_the_level_left_out_separates_by_all_others(rated):
    X, y, level = rated
    y[level == 0] = 0.0
    assert [sorted(each) for each in named(PoissonPD(alpha=0), X, y)] == [[0, 1, 2, 3]]


def test_only_unpenalised_features_separate(rated):
    X, y, level = rated
    y[level == 3] = 0.0
    weights = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    assert named(PoissonPD(alpha=0.01, penalty_weights=weights), X, y) == [[2]]
    weights = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    assert message(PoissonPD(alpha=0.01, penalty_weights=weights), X, y) is None
    assert message(PoissonPD(alpha=0.01), X, y) is None


def test_bounds_stop_coefficients(rated):
    X, y, level = rated
    y[level == 3] = 0.0
    none, zero = np.full(6, np.inf), np.append([np.inf, np.inf, 0.0], np.full(3, np.inf))
    assert message(PoissonPD(alpha=0, bounds=(-zero, none)), X, y) is None  # not below 0
    assert named(PoissonPD(alpha=0, bounds=(-none, zero)), X, y) == [[2]]
    assert message(PoissonPD(alpha=0, bounds=(-4.0, 4.0)), X, y) is None


def test_names_of_features_and_advice(rated):
    pd = pytest.importorskip("pandas")
    X, y, level = rated
    y[level == 3] = 0.0
    frame = pd.DataFrame(X, columns=[*(f"region_{k}" for k in "BCDE"), "age", "income"])
    text = message(PoissonPD(alpha=0), frame, y)
    assert text.startswith("PoissonPD has no optimum: ") and ": 'region_D'. " in text
    assert all(words in text for words in ("alpha", "penalty_weights", "join"))


def hazards(rated):
    X, _, level = rated
    random = np.random.default_rng(1)
    time = np.ceil(9.0 * random.exponential(np.exp(-X[:, 4])))
    event = random.random(len(X)) < 0.7
    return X, survival(time, event), survival(time, event & (level != 3))


def orders(rated):
    X, _, level = rated
    classes = np.digitize(X[:, 4] + np.random.default_rng(1).logistic(size=len(X)), [-1.0, 1.0])
    return X, classes, np.where(level == 3, 2, classes)


def of_two(rated):
    X, classes, separated = orders(rated)
    return X, classes > 0, separated > 0


@pytest.mark.parametrize(
    ("data", "model"),
    [
        (hazards, CoxPD),
        (orders, OrdinalPD),
        (of_two, LogisticPD),
        (of_two, lambda **p: PdproxSVC(loss="logistic", **p)),
        (orders, LogisticPD),
    ],
    ids=["cox", "ordinal", "logistic", "svc", "softmax"],
)
def test_models_of_events_and_classes(data, model, rated):
    X, y, separated = data(rated)
    weights = np.append(np.zeros(5), 1.0)
    fitted = model(alpha=0.01, penalty_weights=weights)
    assert message(fitted, X, y) is None
    assert named(fitted, X, separated) == [[2]]
    assert fitted.n_iter_ < 200  # the fit ends early


def test_losses_with_a_minimum_do_not_separate():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X[:, 0] + X[:, 1] > 0.0
    assert message(PdproxSVC(loss="squared_hinge", alpha=0), X, y) is None
    assert named(LogisticPD(alpha=0), X, y) is not None


def separates(X, y, columns):
    """Whether some columns and an intercept separate labels -1 and 1 (Konis, 2007)."""
    table = y[:, np.newaxis] * np.column_stack([X[:, columns], np.ones(len(y))])
    solution = linprog(-table.sum(axis=0), -table, np.zeros(len(y)), bounds=(-1.0, 1.0))
    return -solution.fun > 1e-6


@pytest.mark.parametrize("seed", range(40))
def test_random_classes_against_a_linear_programme(seed):
    random = np.random.default_rng(seed)
    n, d = int(random.integers(12, 60)), int(random.integers(1, 5))
    X = random.integers(-2, 3, (n, d)) if seed % 2 else random.normal(size=(n, d))
    X = X.astype(float)
    X[:, 0] = random.random(n) < 0.3
    y = np.where(
        X @ random.normal(size=d) * random.choice([0.5, 9.0]) > random.logistic(size=n), 1, -1
    )
    y[:2] = -1, 1
    # units and origins far apart change nothing
    scaled = X * 10.0 ** random.integers(-6, 7, d) + random.choice([0.0, 1e3], d)
    sets = named(LogisticPD(alpha=0), scaled if seed % 3 else X, y)
    assert (sets is not None) == separates(X, y, range(d))
    rest = set(range(d))
    for each in sets or []:
        assert separates(X, y, each)
        assert not any(separates(X, y, [i for i in each if i != j]) for j in each)
        rest -= set(each)
    assert not (rest and separates(X, y, sorted(rest)))


def test_ordinary_fits_solve_no_linear_programme(rated, monkeypatch):
    monkeypatch.setattr(separation, "linprog", None)
    X, y, _ = rated
    for model in (PoissonPD(alpha=0), PoissonPD(alpha=0.01)):
        assert message(model, X, y) is None
    assert message(LogisticPD(alpha=0), X, y > 0.0) is None
    assert message(MultinomialPD(alpha=0), X, np.minimum(y, 2.0)) is None
    X, y, _ = hazards(rated)
    assert message(CoxPD(alpha=0), X, y) is None


EXPONENTS = [30, 40, 60]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_tiny_margins_and_overlaps(kind, exponent):
    """No false alarm and no silence, where the construction says whether anything separates."""
    for overlaps in (True, False):
        rng = np.random.default_rng([exponent, overlaps])
        said = outcome(*drawn(kind, rng, 2.0**-exponent, overlaps))
        assert said == ("silent" if overlaps else "alarm")


def with_entries(y, entry):
    return np.column_stack([entry, y["t"], y["e"]])


@pytest.mark.parametrize("ties", ["breslow", "efron"])
def test_hazards_with_times_of_entry(ties, rated):
    """With entries before all events, and with entries between them."""
    X, y, separated = hazards(rated)
    model = CoxPD(alpha=0, ties=ties)
    for entry in (np.zeros(len(X)), 0.9 * y["t"] * (np.arange(len(X)) % 2)):
        assert message(model, X, with_entries(y, entry)) is None
        assert named(model, X, with_entries(separated, entry)) == [[2]]


def test_only_rows_at_risk_together_count():
    """Event times fall as x rises: a late entry that skips one comparison changes the answer."""
    x = np.array([4.0, 3.0, 2.0, 1.0, 2.5])
    time, event = np.array([1.0, 2.0, 3.0, 4.0, 1.5]), np.ones(5)
    early, late = np.zeros(5), np.array([0.0, 1.6, 0.0, 0.0, 0.0])
    model = CoxPD(alpha=0)
    assert message(model, x[:, None], np.column_stack([early, time, event])) is None
    assert named(model, x[:, None], np.column_stack([late, time, event])) == [[0]]


@pytest.mark.parametrize("ties", ["breslow", "efron"])
@pytest.mark.parametrize("has_entries", [False, True])
def test_bounds_of_hazards_are_those_of_the_limit(ties, has_entries, rated):
    """In the limit a level without events is not at risk: the optimum is that of the others."""
    X, y, separated = hazards(rated)
    level = X[:, 2] == 1.0
    entry = 0.9 * y["t"] * (np.arange(len(X)) % 2) * has_entries
    target = with_entries(separated, entry) if has_entries else separated
    model = CoxPD(alpha=0, ties=ties, tol=1e-8)
    with pytest.warns(ConvergenceWarning, match="separate the targets"):
        certificate = model.fit(X, target).certificate_
    others = CoxPD(alpha=0, ties=ties, tol=1e-8).fit(X[~level][:, [0, 1, 3, 4, 5]], target[~level])
    limit = others.certificate_.primal * np.sum(~level) / len(level)  # means over the rows
    assert limit * (1.0 - 1e-7) <= certificate.dual <= limit * (1.0 + 1e-12)
    assert certificate.relative_gap < 1e-2


def test_bounds_of_classes_and_orders_are_those_of_the_limit(rated):
    """As tight as that of LogisticPD, whose problem of two classes is the same."""
    X, _, separated = of_two(rated)
    bounds = []
    for model in (LogisticPD, MultinomialPD, OrdinalPD):
        with pytest.warns(ConvergenceWarning, match="separate the targets"):
            bounds.append(model(alpha=0, tol=1e-6).fit(X, separated).certificate_)
    for each in bounds:
        np.testing.assert_allclose(each.dual, bounds[0].primal, rtol=1e-3)
        assert each.dual <= bounds[0].primal * (1.0 + 1e-12)


@pytest.mark.parametrize("overlap", [1e-3, 1e-5, 1e-7])
def test_classes_that_hardly_overlap_are_certified(overlap, rng):
    """MultinomialPD with two classes is LogisticPD; with three their sum of losses is no less."""
    x = np.concatenate([-rng.random(30) - 0.1, rng.random(30) + 0.1, [overlap, -overlap]])
    y = np.repeat([0, 1, 0, 1], [30, 30, 1, 1])
    logistic = LogisticPD(alpha=0).fit(x[:, None], y)
    softmax = MultinomialPD(alpha=0).fit(x[:, None], y)
    assert logistic.converged_ and softmax.converged_
    np.testing.assert_allclose(
        softmax.certificate_.primal, logistic.certificate_.primal, rtol=2e-4
    )
    assert softmax.n_iter_ < 300
    assert softmax.certificate_.dual <= logistic.certificate_.primal * (1.0 + 1e-12)


def test_what_cannot_be_decided_is_said_in_other_words(rated, monkeypatch):
    X, y, level = rated
    y[level == 3] = 0.0
    monkeypatch.setattr(exact_directions, "MOST_COLUMNS", 1)
    with pytest.warns(ConvergenceWarning) as caught:
        PoissonPD(alpha=0).fit(X, y)
    (text,) = [str(w.message) for w in caught if "decided" in str(w.message)]
    assert text.startswith("It could not be decided whether PoissonPD has an optimum with finite")
    assert not any("separate the targets" in str(w.message) for w in caught)


def test_the_programme_only_proposes(rated, monkeypatch):
    """Whatever it says, an alarm is proven, and so is that there is none."""
    X, y, level = rated
    monkeypatch.setattr(
        separation, "_proposed", lambda A, limits, allowed: np.flatnonzero(allowed)
    )
    assert message(PoissonPD(alpha=0), X, y) is None
    y[level == 3] = 0.0
    assert named(PoissonPD(alpha=0), X, y) == [[2]]
    monkeypatch.setattr(separation, "_proposed", lambda A, limits, allowed: np.arange(0))
    assert named(PoissonPD(alpha=0), X, y) == [[2]]


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sums_of_columns_up_to_rounding_are_no_alarm(fit_intercept, rng):
    """What rounding has left of a - b - c may separate exactly, and says nothing of the data."""
    X = rng.normal(size=(10, 2))
    y = np.where(X[:, 0] + rng.logistic(size=10) > 0.0, 1, 0)
    assert message(LogisticPD(alpha=0, fit_intercept=fit_intercept), X, y) is None
    for _ in range(20):
        unit = rng.normal(size=2)
        Z = np.column_stack([X, X @ unit])
        assert message(LogisticPD(alpha=0, fit_intercept=fit_intercept), Z, y) is None
    Z = np.column_stack([X, X[:, 0] + 2.0**-30 * np.where(y == 1, 1.0, -1.0)])
    assert named(LogisticPD(alpha=0, fit_intercept=fit_intercept), Z, y) == [[0, 2]]


@pytest.mark.parametrize("name", ["separation", "with_bound_of_limit"])
def test_ctrl_c_during_the_search_keeps_the_model(name, rated, monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    X, _, separated = hazards(rated)
    model = CoxPD(alpha=0)
    monkeypatch.setattr(fitting, name, pressed)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, separated)
    assert np.isfinite(model.coef_).all() and model.certificate_.primal > 0.0


def test_ctrl_c_during_the_fit_of_the_limit_is_not_lost(rated, monkeypatch):
    X, _, separated = hazards(rated)
    plain, calls = solve_problems.solve_problem, []

    def once_interrupted(*arguments):
        calls.append(arguments)
        return replace(plain(*arguments), interrupted=True)

    monkeypatch.setattr(solve_problems, "solve_problem", once_interrupted)  # of the limit alone
    model = CoxPD(alpha=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, separated)
    assert len(calls) == 1 and np.isfinite(model.coef_).all()

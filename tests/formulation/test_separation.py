"""Warnings of unpenalised features that separate, against linear programmes and constructions."""

import re
import warnings

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

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
from skpd.formulation import separation


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

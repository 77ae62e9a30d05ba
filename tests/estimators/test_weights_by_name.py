"""Weights, bounds and groups of features by the names of the features."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Lasso, LinearRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler

import skpd
from skpd import (
    ElasticNetPD,
    GroupLassoPD,
    LassoPDCertified,
    PathCV,
    PdproxRegressor,
    PdproxSVC,
    PoissonPD,
    certify,
    coef_table,
    regularization_path,
    track_columns,
)

NAMES = ["age", "age__squared", "region_north", "region_south", "wealth"]


@pytest.fixture(scope="module")
def frame():
    X = np.random.default_rng(0).normal(size=(120, len(NAMES)))
    return pd.DataFrame(X, columns=NAMES)


def targets(frame):
    """Targets of each kind, by the estimators that take them."""
    rng = np.random.default_rng(1)
    score = frame.to_numpy() @ [1.0, 0.3, -0.5, 0.5, 0.0] + rng.normal(size=len(frame))
    labels, means = score > 0.0, np.exp(0.3 * score)
    return {
        "CoxPD": np.column_stack([means, labels]),
        "ElasticNetPD": score,
        "ElasticNetPDClassifier": labels,
        "GammaPD": means,
        "LassoPDCertified": np.column_stack([score, -score[::-1]]),
        "LogisticPD": np.digitize(score, [-1.0, 1.0]),
        "OrdinalPD": np.digitize(score, [-1.0, 1.0]),
        "PdproxRegressor": score,
        "PdproxSVC": labels,
        "PoissonPD": rng.poisson(means),
        "TweediePD": means * labels,
    }


def with_weights():
    """The names of the estimators that have weights of features."""
    kinds = {name: getattr(skpd, name) for name in skpd.__all__}
    return {
        name for name, kind in kinds.items()
        if "penalty_weights" in getattr(kind, "_parameter_constraints", {})
    }  # fmt: skip


def test_all_estimators_are_tested(frame):
    assert targets(frame).keys() == with_weights()


@dataclass(frozen=True)
class Weights:
    """A function of names that pickles."""

    by_name: bool

    def __call__(self, names):
        weights = {name: 3.0 for name in names if name.startswith("age")} | {"wealth": 0.5}
        return weights if self.by_name else [weights.get(name, 1.0) for name in names]


@pytest.mark.parametrize("kind", sorted(with_weights()))
def test_models_are_those_of_arrays(frame, kind):
    y, options = targets(frame)[kind], {"alpha": 0.01, "tol": 1e-6}
    model = getattr(skpd, kind)(**options)
    arrays = {"penalty_weights": [3.0, 3.0, 1.0, 1.0, 0.5]}
    arrays["bounds"] = [-np.inf, 0.0, 0.0, 0.0, -np.inf], [0.2, np.inf, 0.4, 0.4, np.inf]
    limits = {"age": (None, 0.2), "age__*": (0, np.inf), "region_*": (0.0, 0.4)}
    expected = clone(model).set_params(**arrays).fit(frame, y)
    assert not np.array_equal(expected.coef_, clone(model).fit(frame, y).coef_)
    for weights in ({"age*": 3, "wealth": 0.5}, Weights(by_name=True), Weights(by_name=False)):
        for bounds in (limits, lambda names: limits, lambda names: arrays["bounds"]):
            by_name = clone(model).set_params(penalty_weights=weights, bounds=bounds)
            by_name.fit(frame, y)
            assert_allclose(by_name.coef_, expected.coef_, rtol=1e-9)
            assert_allclose(by_name.certificate_.dual, expected.certificate_.dual, rtol=1e-9)


def test_names_go_before_patterns_and_later_patterns_before_earlier_ones(frame):
    y = targets(frame)["PdproxRegressor"]

    def coef(weights):
        return PdproxRegressor(0.1, penalty_weights=weights, tol=1e-9).fit(frame, y).coef_

    by_name = {"age": 2.0, "*": 5.0, "age*": 3.0, "region_?outh": 4.0, "region_*": 1.0}
    assert_allclose(coef(by_name), coef([2.0, 3.0, 1.0, 1.0, 5.0]), rtol=1e-9)
    literal = frame.rename(columns={"wealth": "wealth_[0, 1)"})
    model = PdproxRegressor(0.1, penalty_weights={"wealth_[0, 1)": 5.0}, tol=1e-9)
    assert_allclose(model.fit(literal, y).coef_, coef([1.0, 1.0, 1.0, 1.0, 5.0]), rtol=1e-9)


def test_a_feature_without_a_penalty_is_regressed_out_first(frame):
    """Frisch and Waugh: the lasso of what a regression on the free features leaves."""
    y, free = targets(frame)["ElasticNetPD"], NAMES[:2]
    others = frame.drop(columns=free)
    left = LinearRegression().fit(frame[free], np.column_stack([others, y]))
    left = np.column_stack([others, y]) - left.predict(frame[free])
    expected = Lasso(0.05, tol=1e-12, fit_intercept=False).fit(left[:, :-1], left[:, -1])
    for model in (LassoPDCertified(0.05), ElasticNetPD(0.05, l1_ratio=1.0)):
        model.set_params(penalty_weights={"age*": 0}, tol=1e-12).fit(frame, y)
        assert_allclose(model.coef_[2:], expected.coef_, atol=1e-7)


@pytest.fixture(scope="module")
def policies():
    rng = np.random.default_rng(2)
    n = 300
    often = np.r_[0.5, 0.3, 0.17, 0.03]
    table = pd.DataFrame({
        "age": rng.uniform(18.0, 80.0, n),
        "region": rng.choice(["north", "south", "east", "west"], n, p=often),
    })  # fmt: skip
    mean = np.exp(0.02 * np.abs(table["age"] - 45.0) + 0.4 * (table["region"] == "south") - 1.0)
    return table, rng.poisson(mean)


def encoder(sparse=True):
    region = OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)
    return make_column_transformer((SplineTransformer(4), ["age"]), (region, ["region"]))


def first_words(names):
    return [name.split("_")[0] for name in names]


def is_penalised(names):
    return [float("spline" not in name) for name in names]


BY_NAME = [{"splinetransformer__age_sp_*": 0}, is_penalised]
ENCODERS = [track_columns(encoder()), encoder(sparse=False).set_output(transform="pandas")]
POISSON = PoissonPD(0.01, penalty="l1", tol=1e-9)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("weights", BY_NAME, ids=["dict", "callable"])
@pytest.mark.parametrize("steps", ENCODERS, ids=["track_columns", "set_output"])
def test_pipelines_leave_columns_out_of_the_penalty(policies, steps, weights):
    table, counts = policies
    array = encoder().fit_transform(table)
    expected = clone(POISSON).set_params(penalty_weights=np.repeat([0.0, 1.0], [6, 4]))
    expected.fit(array, counts)
    model = make_pipeline(steps, clone(POISSON).set_params(penalty_weights=weights))
    names = [
        *(f"splinetransformer__age_sp_{k}" for k in range(6)),
        *(f"onehotencoder__region_{name}" for name in ("east", "north", "south", "west")),
    ]
    assert list(coef_table(model.fit(table, counts)).index)[-10:] == names
    assert_allclose(model[-1].coef_, expected.coef_, atol=1e-9)
    alone = certify(model[-1], array, counts)  # which says no names
    for proof in (certify(model, table, counts), alone):
        assert proof.relative_gap <= 1e-8
    path = regularization_path(model, table, counts, alphas=[0.1, 0.01])
    assert_allclose(path.coefs[-1], expected.coef_, atol=1e-6)


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*end of the grid")
@pytest.mark.parametrize("steps", ENCODERS, ids=["track_columns", "set_output"])
def test_searches_over_weights_and_folds_whose_levels_differ(policies, steps):
    table, counts = policies
    west = np.flatnonzero(table["region"] == "west")
    others = np.setdiff1d(np.arange(len(table)), west)
    folds = [(others, west), *KFold(2).split(table)]  # the first has no level "west"
    model = make_pipeline(steps, POISSON)
    grid = GridSearchCV(model, {"poissonpd__penalty_weights": [None, *BY_NAME]}, cv=folds)
    grid.fit(table, counts)
    scores = grid.cv_results_
    for k, (train, test) in enumerate(folds):
        fitted = encoder().fit(table.iloc[train])
        for j, free in enumerate((1.0, 0.0, 0.0)):
            weights = np.r_[np.full(6, free), np.ones(fitted.transform(table).shape[1] - 6)]
            by_hand = clone(POISSON).set_params(penalty_weights=weights)
            by_hand.fit(fitted.transform(table.iloc[train]), counts[train])
            score = by_hand.score(fitted.transform(table.iloc[test]), counts[test])
            assert_allclose(scores[f"split{k}_test_score"][j], score, atol=1e-6)
    named = clone(model).set_params(poissonpd__penalty_weights=BY_NAME[0])
    along = PathCV(named, alphas=[0.1, 0.01], cv=folds).fit(table, counts)
    assert_allclose(along.cv_results_["mean_test_score"][1], scores["mean_test_score"][1],
                    atol=1e-6)  # fmt: skip


def test_blocks_with_names(tmp_path, frame):
    pytest.importorskip("pyarrow")
    y = targets(frame)["PdproxSVC"]
    frame.to_parquet(tmp_path / "rows.parquet")
    model = PdproxSVC(0.01, penalty_weights={"age*": 0.0}, tol=1e-9)
    blocks = model.fit(skpd.RowBlocks([tmp_path / "rows.parquet"]), y).coef_
    assert_allclose(blocks, clone(model).fit(frame, y).coef_, atol=1e-6)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"penalty_weights": {"agee": 0}}, r"penalty_weights must hold names .* 'agee' is not, "
         r".*; similar of the 5 names are \['age'\]"),
        ({"penalty_weights": {"north": 0}}, r"similar of the 5 names are \['region_north'\]"),
        ({"penalty_weights": {"zzz*": 0}}, r"first of the 5 names are \['age', .*'wealth'\]"),
        ({"penalty_weights": {0: 0}}, "columns of X, which 0 is not"),
        ({"penalty_weights": {"age": (0, 1)}}, "must be a number for 'age', got \\(0, 1\\)"),
        ({"penalty_weights": {"age": -1}}, "penalty_weights must be numbers from 0"),
        ({"penalty_weights": lambda names: [1.0]}, "each of the 5 features, got 1"),
        ({"penalty_weights": lambda names: {"income": 1}}, "which 'income' is not"),
        ({"bounds": {"age": 0}}, r"bounds must be a pair \(lower, upper\) for 'age', got 0"),
        ({"bounds": {"wage": (0, 1)}}, r"bounds must hold names .* 'wage'"),
        ({"bounds": lambda names: 1.0}, "bounds must be a pair"),
        ({"penalty": "group", "groups": lambda names: [["age"]]}, "groups must hold every column"),
    ],
)  # fmt: skip
def test_errors_say_what_is_allowed(frame, options, message):
    with pytest.raises(ValueError, match=message):
        PdproxRegressor(**options).fit(frame, targets(frame)["PdproxRegressor"])


@pytest.mark.parametrize(
    "name, given",
    [
        ("penalty_weights", {"age": 0.0}),
        ("penalty_weights", is_penalised),
        ("bounds", {"age": (0, 1)}),
        ("groups", first_words),
    ],
)
def test_names_need_names(policies, frame, name, given):
    """An encoder without names would give weights that its user did not mean."""
    table, counts = policies
    model = PoissonPD(0.01, **{name: given}, penalty="group" if name == "groups" else "l1")
    message = f"{name} asks for names of columns, but X has none: .*track_columns"
    with pytest.raises(ValueError, match=message):
        make_pipeline(encoder(), model).fit(table, counts)
    fitted = clone(model).fit(frame, counts[: len(frame)])
    with pytest.raises(ValueError, match=message):
        fitted.fit(frame.to_numpy(), counts[: len(frame)])


def test_groups_by_patterns_and_by_functions_of_the_names(frame):
    y = targets(frame)["PdproxRegressor"]
    named = {"years": ["age", "age_*"], "place": "region_*", "money": ["wealth"]}
    expected = GroupLassoPD(0.05, groups=[2, 2, 1], group_weights=[1.0, 2**0.5, 1.0], tol=1e-9)
    expected.fit(frame, y)
    for groups, weights in (
        (named, {"years": 1.0}),
        (lambda names: named, {"years": 1.0}),
        (first_words, {"age": 1.0}),
    ):
        model = GroupLassoPD(0.05, groups=groups, group_weights=weights, tol=1e-9)
        assert_allclose(model.fit(frame, y).coef_, expected.coef_, rtol=1e-9)
    sparse = PdproxRegressor(0.05, penalty="sparse_group", groups=first_words, l1_ratio=0.5)
    numbered = PdproxRegressor(0.05, penalty="sparse_group", groups=[2, 2, 1], l1_ratio=0.5)
    assert_allclose(sparse.fit(frame, y).coef_, numbered.fit(frame, y).coef_, rtol=1e-9)
    copies = GroupLassoPD(0.05, groups={"a": ["age*", "wealth"], "b": "region_*", "c": "*"})
    assert copies.fit(frame, y).latent_coef_.size == 10


def test_a_scaler_behind_an_encoder_keeps_the_names(policies):
    table, counts = policies
    steps = track_columns(encoder(sparse=False), StandardScaler())
    model = make_pipeline(steps, clone(POISSON).set_params(penalty_weights=BY_NAME[0]))
    expected = clone(POISSON).set_params(penalty_weights=np.repeat([0.0, 1.0], [6, 4]))
    array = StandardScaler().fit_transform(encoder(sparse=False).fit_transform(table))
    assert_allclose(model.fit(table, counts)[-1].coef_, expected.fit(array, counts).coef_,
                    atol=1e-9)  # fmt: skip

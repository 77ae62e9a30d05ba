"""Groups of the columns that features come from, found when a model is fitted."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
    TargetEncoder,
)

from skpd import (
    GroupLassoSVC,
    PathCV,
    PdproxRegressor,
    certify,
    feature_groups,
    regularization_path,
    track_columns,
)

NUMBERS, WORDS = make_column_selector(dtype_include="number"), ["job", "region"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 400
    often = np.r_[np.full(4, 0.2), np.full(20, 0.01)]
    X = pd.DataFrame(
        {
            "income": rng.lognormal(size=n),
            "age": rng.integers(18, 80, n).astype(float),
            "job": rng.choice([f"j{k}" for k in range(24)], n, p=often),
            "region": rng.choice(list("abcd"), n),
        }
    )
    y = np.log(X["income"]) + X["job"].isin(["j1", "j3"]) + rng.normal(size=n) > 0.5
    X.loc[rng.random(n) < 0.1, "income"] = np.nan
    return X, np.where(y, "yes", "no")


def preparation(**one_hot):
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    return make_column_transformer((numbers, NUMBERS), (OneHotEncoder(**one_hot), WORDS))


def groups_by_hand(fitted):
    """The groups of `preparation`, from the categories of its encoder."""
    encoder = fitted.transformers_[1][1]
    names = np.array([name.split("_")[0] for name in encoder.get_feature_names_out()])
    return np.concatenate([["income", "age", "income"], names])


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*end of the grid")
@pytest.mark.parametrize(
    "one_hot",
    [
        {"handle_unknown": "ignore"},
        {"handle_unknown": "infrequent_if_exist", "min_frequency": 10},
        {"handle_unknown": "ignore", "sparse_output": False},
    ],
    ids=["rare levels", "min_frequency", "dense"],
)
def test_each_fold_has_the_groups_of_its_features(table, one_hot):
    X, y = table
    folds = list(StratifiedKFold(4).split(X, y))
    expected, n_features = [], set()
    for train, test in folds:
        steps = preparation(**one_hot)
        Z = steps.fit_transform(X.iloc[train])
        n_features.add(Z.shape[1])
        by_hand = GroupLassoSVC(0.01, groups=groups_by_hand(steps), loss="logistic")
        scores = by_hand.fit(Z, y[train]).decision_function(steps.transform(X.iloc[test]))
        expected.append(np.mean(np.where(scores > 0, "yes", "no") == y[test]))
    model = make_pipeline(
        track_columns(preparation(**one_hot)), GroupLassoSVC(0.01, groups="auto", loss="logistic")
    )
    if "min_frequency" not in one_hot:
        assert len(n_features) > 1  # so that no labels fit all folds
    assert_allclose(cross_val_score(model, X, y, cv=folds), expected, rtol=1e-12)
    grid = {"grouplassosvc__alpha": [0.01, 0.1]}
    search = GridSearchCV(model, grid, cv=folds).fit(X, y)
    assert_allclose(search.cv_results_["mean_test_score"][0], np.mean(expected), rtol=1e-12)
    along = PathCV(model, alphas=[0.01, 0.1], cv=folds).fit(X, y)
    found = along.cv_results_["mean_test_score"][::-1]
    assert_allclose(found, search.cv_results_["mean_test_score"], atol=0.006)
    best = along.best_estimator_
    assert_array_equal(best[-1].groups_, groups_by_hand(best[0].steps[0][1]))
    assert best[-1].groups == "auto"


def test_calibration_around_and_inside(table):
    X, y = table
    steps, model = (
        track_columns(preparation(handle_unknown="ignore")),
        GroupLassoSVC(groups="auto"),
    )
    around = CalibratedClassifierCV(make_pipeline(steps, model), cv=3).fit(X, y)
    inside = make_pipeline(steps, CalibratedClassifierCV(model, cv=3)).fit(X, y)
    for calibrated in around.calibrated_classifiers_:
        fitted = calibrated.estimator
        assert_array_equal(fitted[-1].groups_, groups_by_hand(fitted[0].steps[0][1]))
    expected = groups_by_hand(inside[0].steps[0][1])
    for calibrated in inside[-1].calibrated_classifiers_:
        assert_array_equal(calibrated.estimator.groups_, expected)


def test_path_and_certify_take_the_groups(table):
    X, y = table
    steps, model = (
        track_columns(preparation(handle_unknown="ignore")),
        GroupLassoSVC(0.02, groups="auto"),
    )
    fitted = make_pipeline(steps, model).fit(X, y)
    Z = sp.csr_array(fitted[:-1].transform(X))
    by_hand = GroupLassoSVC(0.02, groups=groups_by_hand(steps.steps[0][1])).fit(Z, y)
    assert_allclose(fitted[-1].certificate_.primal, by_hand.certificate_.primal, rtol=1e-12)
    along = regularization_path(make_pipeline(steps, model), X, y, alphas=[0.02])
    assert_allclose(along.coefs[0], by_hand.coef_[0], atol=1e-4)
    proof = certify(
        fitted[-1], Z.toarray(), y
    )  # an array that does not say where features come from
    assert_allclose(proof.primal, by_hand.certificate_.primal, rtol=1e-9)
    assert proof.gap <= 1.01 * by_hand.certificate_.gap


def test_from_a_table_with_gaps_to_probabilities_of_a_model_in_a_file(table, tmp_path):
    X, y = table
    steps = preparation(min_frequency=15, handle_unknown="infrequent_if_exist")
    model = make_pipeline(track_columns(steps), GroupLassoSVC(groups="auto", loss="logistic"))
    folds = StratifiedKFold(3)
    search = PathCV(
        model, alphas=6, cv=folds, scoring="neg_log_loss", rule="one_standard_error"
    ).fit(X, y)
    chosen = CalibratedClassifierCV(search.best_estimator_, cv=folds).fit(X, y)
    joblib.dump(chosen, tmp_path / "model")
    loaded = joblib.load(tmp_path / "model")
    rare = X.groupby("job").size().idxmin()
    known, unseen = X.head(20).assign(job=rare), X.head(20).assign(job="a new one")
    probabilities = loaded.predict_proba(unseen)
    assert_array_equal(probabilities, chosen.predict_proba(unseen))
    assert_allclose(probabilities, chosen.predict_proba(known), rtol=1e-12)  # both are rare
    score = np.mean(np.log(chosen.predict_proba(X)[np.arange(len(y)), (y == "yes") * 1]))
    assert score > np.log(0.5) + 0.05


def product_of_three(X):
    return np.column_stack([X[:, 0] * X[:, 1] * X[:, 2], X[:, 1]])


def test_sources_of_many_transformers(table):
    X = table[0]
    full = X.fillna(1.0)
    three = np.random.default_rng(0).normal(size=(50, 3))
    classes = np.arange(len(full)) % 3
    combiner = {"feature_name_combiner": lambda feature, category: f"is_{category}"}
    words = pd.DataFrame({"text": ["a good day", "a bad day", "good"], "n": [1.0, 2.0, 3.0]})
    cases = [
        (SimpleImputer(add_indicator=True), X[["age", "income"]], ["age", "income", "income"]),
        (PolynomialFeatures((3, 3), interaction_only=True, include_bias=False), three,
         ["x0+x1+x2"]),
        (FunctionTransformer(product_of_three), three, ["x0+x1+x2", "x1"]),
        (TargetEncoder(cv=2), full[WORDS], ["job"] * 3 + ["region"] * 3),
        (OneHotEncoder(**combiner), full[["region"]], ["region"] * 4),
        (OneHotEncoder(**combiner), full[["job", "region"]].iloc[:200], None),
        (make_column_transformer((TfidfVectorizer(token_pattern=r"\w+"), "text"), ("passthrough",
         ["n"])), words, ["text"] * 4 + ["n"]),
    ]  # fmt: skip
    for transformer, data, expected in cases:
        fitted = transformer.fit(data, classes[: len(data)])
        if expected is None:
            sizes = map(len, fitted.categories_)
            expected = np.repeat(["job", "region"], list(sizes))
        assert_array_equal(feature_groups(fitted, data), expected)


def test_labels_that_would_collide():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 3)), columns=["a", "b", "a+b"])
    products = PolynomialFeatures(interaction_only=True, include_bias=False).fit(X[["a", "b"]])
    steps = make_column_transformer((products, ["a", "b"]), ("passthrough", ["a+b"])).fit(X)
    labels = feature_groups(steps)
    assert len(labels) == len(set(labels)) == 4


# Some of the models that it fits are constant.
@pytest.mark.filterwarnings("ignore:.*all coefficients are 0")
@pytest.mark.parametrize("dense", [False, True])
def test_what_carries_the_sources(table, dense, tmp_path):
    X, y = table
    steps = track_columns(preparation(handle_unknown="ignore", sparse_output=not dense))
    Z = steps.fit_transform(X)
    assert sp.issparse(Z) != dense
    if dense:
        steps = track_columns(
            steps, FunctionTransformer(np.asarray, feature_names_out="one-to-one")
        )
        Z = steps.fit_transform(X)
    expected = feature_groups(steps)
    model = GroupLassoSVC(0.05, groups="auto")
    joblib.dump(Z, tmp_path / "Z")
    for rows in (Z, Z[:200], Z[np.arange(0, 400, 2)], Z[y == "no", ...], Z[:, :],
                 pickle.loads(pickle.dumps(Z)), joblib.load(tmp_path / "Z")):  # fmt: skip
        labels = np.resize(["no", "yes"], rows.shape[0])
        assert_array_equal(model.fit(rows, labels).groups_, expected)
    for changed in (
        Z[:, ::-1],
        Z[:, :3],
        Z * 2.0,
        StandardScaler(with_mean=False).fit_transform(Z),
    ):
        with pytest.raises(ValueError, match=r"groups='auto' needs .*track_columns"):
            model.fit(changed, y)
    assert not hasattr(model, "groups_")


def test_frames_carry_the_sources_by_name(table):
    X, y = table
    steps = track_columns(preparation(sparse_output=False, handle_unknown="ignore"))
    Z = steps.set_output(transform="pandas").fit_transform(X)
    expected = groups_by_hand(steps.steps[0][1])
    chosen = Z.columns[::-2]
    model = GroupLassoSVC(0.05, groups="auto").fit(Z[chosen], y)
    assert_array_equal(model.groups_, expected[::-2])
    with pytest.raises(ValueError, match="track_columns"):
        model.fit(Z.rename(columns=str.upper), y)


def test_selectors_and_memory(table, tmp_path):
    X, y = table
    chosen = track_columns(
        preparation(handle_unknown="ignore"), SelectKBest(k=9), memory=str(tmp_path)
    )
    regressor = PdproxRegressor(0.01, penalty="group", groups="auto")
    model = make_pipeline(chosen, regressor, memory=str(tmp_path))
    for _ in range(2):  # the second time from memory
        model.fit(X, (y == "yes") * 1.0)
        fitted = model[0]
        support = fitted.steps[1][1].get_support()
        assert_array_equal(model[-1].groups_, groups_by_hand(fitted.steps[0][1])[support])


def test_weights_by_name(table):
    X, y = table
    steps = preparation(handle_unknown="ignore").fit(X)
    Z, labels = steps.transform(X), feature_groups(steps)
    names = list(dict.fromkeys(labels))
    sizes = [np.sqrt(np.sum(labels == name)) for name in names]
    sizes[names.index("job")] = 0.5
    expected = GroupLassoSVC(0.02, groups=labels, group_weights=sizes).fit(Z, y).coef_
    by_name = GroupLassoSVC(0.02, groups="auto", group_weights={"job": 0.5})
    found = make_pipeline(track_columns(preparation(handle_unknown="ignore")), by_name).fit(X, y)
    assert_array_equal(found[-1].coef_, expected)
    few = make_pipeline(
        track_columns(preparation(handle_unknown="ignore"), SelectKBest(k=1)), by_name
    )
    assert "job" not in few.fit(X, y)[-1].groups_  # a weight without a group is none too many
    with pytest.raises(ValueError, match="group_weights must hold names of groups, which 'wage'"):
        GroupLassoSVC(groups=labels, group_weights={"wage": 1.0}).fit(Z, y)


def test_steps_must_be_transformers():
    with pytest.raises(TypeError, match=r"track_columns takes transformers, got GroupLassoSVC"):
        track_columns(StandardScaler(), GroupLassoSVC())


def test_words_in_a_frame_ask_for_an_encoder(table):
    X, y = table
    message = r"its columns \['job', '.*'\] do not\. Encode them by a OneHotEncoder"
    with pytest.raises(ValueError, match=message):
        PdproxRegressor().fit(X.fillna(0.0), y == "yes")

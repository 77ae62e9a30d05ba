"""Groups of features by labels, by names of columns, and by what a transformer made."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)

from skpd import GroupLassoSVC, PdproxRegressor, feature_groups
from skpd.penalties import GroupL2

LISTS = [[0, 3], [1, 2], [4, 5]]
COLUMNS = ["age", "city_Oslo", "city_Rome", "age^2", "pay", "pay^2"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 6)), columns=COLUMNS)
    return X, X["age"] + X["city_Rome"] + 0.5 * rng.normal(size=80) > 0.3


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "age": rng.normal(size=60),
            "city": rng.choice(["Oslo", "Paris", "Rome"], size=60),
            "city_size": rng.choice(["large", "small"], size=60),
            "pay": rng.normal(size=60),
        }
    )


@pytest.mark.parametrize(
    "groups",
    [
        ["a", "b", "b", "a", "c", "c"],
        np.array([7, 3, 3, 7, 5, 5]),
        pd.Series(["a", "b", "b", "a", "c", "c"], dtype="category"),
        [0, 1, 1, 0, 2, 2],  # whose sum is 6 as well
        [["age", "age^2"], ["city_Oslo", "city_Rome"], ["pay", "pay^2"]],
        {"age": ["age", "age^2"], "city": ["city_Oslo", "city_Rome"], "pay": ["pay", "pay^2"]},
    ],
    ids=["strings", "numbers", "categorical", "sum of 6", "names", "dict"],
)
def test_groups_equal_those_by_indices(data, groups):
    X, y = data
    weights = [1.0, 2.0, 0.5]
    by_indices = GroupLassoSVC(0.05, groups=LISTS, group_weights=weights).fit(X, y)
    clf = GroupLassoSVC(0.05, groups=groups, group_weights=weights).fit(X, y)
    assert_array_equal(clf.coef_, by_indices.coef_)
    regressor = PdproxRegressor(0.05, penalty="group", groups=groups).fit(X, X["age"] + 1.0 * y)
    direct = PdproxRegressor(0.05, penalty=GroupL2(LISTS)).fit(X, X["age"] + 1.0 * y)
    assert_allclose(regressor.coef_, direct.coef_, rtol=1e-12)


def test_labels_are_in_the_order_of_appearance():
    partition = GroupL2(["z", "a", "z", "m"]).for_n_features(4).partition
    assert_array_equal(partition.labels, [0, 1, 0, 2])
    assert_array_equal(partition.order, [0, 2, 1, 3])


@pytest.mark.parametrize(
    "groups, message",
    [
        (["a", "b"], "labels must hold one for each of the 6 features, got 2"),
        ([1] * 6, "6 ones .* may be sizes or labels: pass groups=1 .* groups=6"),
        ([2, 3], "sum is the number of features, 6, or a label for each feature, got 2 numbers"),
        ([["age", "pay"]], "hold every column of X, but they miss 'city_Oslo'"),
        ([["age", "wage"]], "names of the columns of X, which 'wage' is not"),
    ],
)
def test_groups_that_are_none(data, groups, message):
    with pytest.raises(ValueError, match=message):
        GroupLassoSVC(groups=groups).fit(*data)


def test_names_need_names(data):
    X, y = data
    with pytest.raises(ValueError, match="names of columns, but X has none"):
        GroupLassoSVC(groups=[["age"], COLUMNS[1:]]).fit(X.to_numpy(), y)


def test_no_groups_are_the_lasso_and_say_so(data):
    with pytest.warns(UserWarning, match="groups=None.*the lasso"):
        silent = GroupLassoSVC(0.05).fit(*data)
    assert_array_equal(silent.coef_, GroupLassoSVC(0.05, groups=1).fit(*data).coef_)


TRANSFORMERS = {
    "scaler": (StandardScaler(), ["age", "pay"], ["age", "pay"]),
    "imputer": (SimpleImputer(), ["age", "pay"], ["age", "pay"]),
    "one-hot": (OneHotEncoder(), ["city", "city_size"], ["city"] * 3 + ["city_size"] * 2),
    "drop": (OneHotEncoder(drop="first"), ["city", "city_size"], ["city"] * 2 + ["city_size"]),
    "binary": (OneHotEncoder(drop="if_binary"), ["city", "city_size"],
               ["city"] * 3 + ["city_size"]),
    "infrequent": (OneHotEncoder(max_categories=2), ["city", "city_size"],
                   ["city"] * 2 + ["city_size"] * 2),
    "bins": (KBinsDiscretizer(4), ["age", "pay"], ["age"] * 4 + ["pay"] * 4),
    "ordinal bins": (KBinsDiscretizer(4, encode="ordinal"), ["age", "pay"], ["age", "pay"]),
    "splines": (SplineTransformer(n_knots=3), ["age", "pay"], ["age"] * 5 + ["pay"] * 5),
    "products": (PolynomialFeatures(include_bias=False, interaction_only=True), ["age", "pay"],
                 ["age", "pay", "age+pay"]),
    "components": (PCA(1), ["age", "pay"], ["age+pay"]),
    "pipeline": (make_pipeline(StandardScaler(), SplineTransformer(n_knots=3)), ["pay"],
                 ["pay"] * 5),
    "selection": (make_pipeline(StandardScaler(), SelectKBest(k=1)), ["pay", "age"], ["age"]),
    "union": (make_union(StandardScaler(), PCA(1)), ["age", "pay"], ["age", "pay", "age+pay"]),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:The current default behavior, quantile_method")
@pytest.mark.parametrize("as_arrays", [False, True])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_groups_from_a_transformer(table, name, as_arrays):
    transformer, columns, expected = TRANSFORMERS[name]
    chosen = [list(table.columns).index(column) for column in columns] if as_arrays else columns
    parts = make_column_transformer(
        (transformer, chosen), ("passthrough", ["city"] if not as_arrays else [1])
    )
    X = table.to_numpy(dtype=object) if as_arrays else table
    Z = parts.fit_transform(X, np.sign(table["age"]))
    named = {f"{column}": f"x{k}" if as_arrays else column for k, column in enumerate(table)}
    expected = ["+".join(named[part] for part in label.split("+")) for label in expected]
    assert Z.shape[1] == len(expected) + 1
    assert_array_equal(feature_groups(parts), [*expected, named["city"]])


def test_one_hot_groups_in_a_pipeline(table):
    y = (table["city"] == "Rome") | (table["age"] > 1.0)
    transformer = ColumnTransformer(
        [("scaled", StandardScaler(), ["age", "pay"]), ("one-hot", OneHotEncoder(), ["city"])]
    )
    groups = feature_groups(transformer.fit(table))
    model = make_pipeline(transformer, GroupLassoSVC(0.02, groups=groups)).fit(table, y)
    by_hand = GroupLassoSVC(0.02, groups=[[0], [1], [2, 3, 4]])
    assert_array_equal(model[-1].coef_, by_hand.fit(transformer.transform(table), y).coef_)


def test_groups_from_slices(table):
    transformer = make_column_transformer(
        (OneHotEncoder(), slice("city", "city_size")),
        (StandardScaler(), [True, False, False, True]),
    )
    expected = ["city"] * 3 + ["city_size"] * 2 + ["age", "pay"]
    assert_array_equal(feature_groups(transformer.fit(table)), expected)


def test_one_feature_may_have_any_label(rng):
    X = rng.normal(size=(30, 1))
    for groups in ([0], ["age"], 1):
        assert GroupLassoSVC(groups=groups).fit(X, X[:, 0] > 0.0).coef_.shape == (1, 1)
    assert GroupL2([0]).for_n_features(1).partition.n_groups == 1

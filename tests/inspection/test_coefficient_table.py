"""Coefficients as a data frame, beside the attributes of the models."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from skpd import (
    ElasticNetPD,
    GroupLassoSVC,
    KernelPdproxSVC,
    LogisticPD,
    MultinomialPD,
    PathCV,
    PdproxSVC,
    PoissonPD,
    QuantilePD,
    coef_table,
    track_columns,
)

pd = pytest.importorskip("pandas")
INTERVAL = ["optimum_from", "optimum_to"]
FRAME, LABELS = load_breast_cancer(return_X_y=True, as_frame=True)


def test_names_bounds_and_zeros_of_a_pipeline():
    model = make_pipeline(StandardScaler(), LogisticPD(0.02, penalty="l1")).fit(FRAME, LABELS)
    table, certificate = coef_table(model), model[-1].certificate_
    assert list(table.columns) == ["coef", *INTERVAL, "proven_zero"]
    assert list(table.index) == ["intercept", *FRAME.columns]
    assert_array_equal(table["coef"], np.r_[model[-1].intercept_, model[-1].coef_[0]])
    assert_array_equal(table[INTERVAL], [(-np.inf, np.inf), *certificate.coefficient_bounds])
    assert_array_equal(table["proven_zero"], [False, *certificate.proven_zero])
    without = model.set_params(logisticpd__fit_intercept=False).fit(FRAME, LABELS)
    assert list(coef_table(without).index) == list(FRAME.columns)


def test_numbers_without_names_and_factors():
    X, y = FRAME.to_numpy(), LABELS.to_numpy()
    table = coef_table(LogisticPD(1.0).fit(X, y), link="exp")
    assert list(table.index) == ["intercept", *(f"x{j}" for j in range(30))]
    assert list(table.columns)[:2] == ["coef", "exp(coef)"]
    assert_array_equal(table["exp(coef)"], np.exp(table["coef"]))
    with pytest.raises(ValueError, match="link must be 'exp' or None, got 'log'"):
        coef_table(LogisticPD(1.0).fit(X, y), link="log")


def test_names_where_a_step_has_none():
    def angle():
        return FunctionTransformer(np.arctan)  # without get_feature_names_out

    def names(*steps):
        model = make_pipeline(*steps, ElasticNetPD(0.01)).fit(FRAME.to_numpy(), LABELS)
        return list(coef_table(model).index)[1:]

    numbered = [f"x{j}" for j in range(30)]
    assert names(angle()) == names(angle(), StandardScaler()) == numbered
    assert names(StandardScaler(), angle()) == names("passthrough", StandardScaler()) == numbered
    columns = make_column_transformer(
        (StandardScaler(), [3, 2]), ("drop", [4]),
        (make_pipeline(StandardScaler(), angle()), [0, 1]), (SelectKBest(k=1), [5, 6]),
        remainder="passthrough",
    )  # fmt: skip
    found = names(columns)
    assert found[:4] == [
        "standardscaler__x3", "standardscaler__x2", "pipeline__x2", "pipeline__x3",
    ]  # fmt: skip
    assert found[4] in ("selectkbest__x5", "selectkbest__x6")
    assert found[5:] == [f"remainder__x{j}" for j in range(7, 30)]
    columns.set_params(verbose_feature_names_out=False)
    assert names(columns) == numbered[:28]  # where x2 and x3 would be two features each


def test_names_of_a_frame_beside_a_part_without_names():
    columns = make_column_transformer(
        (FunctionTransformer(np.log1p), ["mean area"]), ("passthrough", ["mean radius"])
    )
    model = make_pipeline(columns, ElasticNetPD(0.01)).fit(FRAME, LABELS)
    names = ["intercept", "functiontransformer__x0", "passthrough__mean radius"]
    assert list(coef_table(model).index) == names
    logs = make_pipeline(FunctionTransformer(np.log1p), ElasticNetPD(0.01)).fit(FRAME, LABELS)
    assert list(coef_table(logs).index)[1:] == list(FRAME.columns)  # a frame too after the step


def test_classes_one_against_the_rest_and_together():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["a", "b", "c"])[y]
    for model in (PdproxSVC(0.01), MultinomialPD(0.01)):
        table = coef_table(model.fit(X, names))
        assert list(table["output"]) == ["a"] * 5 + ["b"] * 5 + ["c"] * 5
        assert list(table.index) == ["intercept", *X.columns] * 3
        assert_array_equal(table.loc["intercept", "coef"], model.intercept_)
        table = table.drop(index="intercept")
        assert_array_equal(table["coef"], model.coef_.ravel())
        bounds = np.reshape(
            [c.coefficient_bounds for c in np.atleast_1d(model.certificate_)], (-1, 2)
        )
        assert_array_equal(table[INTERVAL], bounds)


def test_quantiles_without_names():
    X, y = load_diabetes(return_X_y=True)
    table = coef_table(QuantilePD((0.2, 0.8)).fit(X, y))
    assert list(table["output"]) == [0.2] * 11 + [0.8] * 11
    assert list(table.index) == ["intercept", *(f"x{j}" for j in range(10))] * 2


# Of so few alphas the best is often an end.
@pytest.mark.filterwarnings("ignore:.*end of the grid")
def test_searches():
    scaled = make_pipeline(StandardScaler(), ElasticNetPD())
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    for search in (PathCV(scaled, alphas=4), GridSearchCV(scaled, {"elasticnetpd__alpha": [1.0]})):
        table = coef_table(search.fit(X, y))
        assert list(table.index) == ["intercept", *X.columns]
        assert_array_equal(table["coef"].iloc[1:], search.best_estimator_[-1].coef_)


def test_groups_that_overlap_have_no_bounds():
    groups = [[0, 1, 2], [2, 3, 4], list(range(4, 30))]
    model = make_pipeline(StandardScaler(), GroupLassoSVC(groups=groups)).fit(FRAME, LABELS)
    table = coef_table(model)
    assert_array_equal(table["coef"].iloc[1:], model[-1].coef_[0])
    assert np.all(np.isinf(table["optimum_from"])) and not table["proven_zero"].any()


def test_sparse_coefficients():
    model = LogisticPD(0.1, penalty="l1").fit(FRAME, LABELS)
    coef = model.coef_[0].copy()
    assert_array_equal(coef_table(model.sparsify())["coef"].iloc[1:], coef)


def rated(n=400):
    """A rating table of two categories, the exposures and the counts."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "region": rng.choice(["east", "north", "south"], n),
        "fuel": rng.choice(["diesel", "petrol"], n),
    })  # fmt: skip
    exposure = rng.uniform(0.2, 1.0, n)
    return table, exposure, rng.poisson(3.0 * exposure * (1 + (table["region"] == "south")))


def test_relativities_of_one_category_are_ratios_of_rates():
    """Without a penalty, the rate of each level over that of the base level."""
    table, exposure, counts = rated()
    encoder = OneHotEncoder(drop=["north"])
    model = make_pipeline(encoder, PoissonPD(alpha=0.0, tol=1e-12))
    model.fit(table[["region"]], counts, poissonpd__offset=np.log(exposure))
    rates = pd.Series(counts).groupby(table["region"]).sum()
    rates /= pd.Series(exposure).groupby(table["region"]).sum()
    rating = coef_table(model, link="exp")["exp(coef)"]
    levels = ["region_east", "region_north", "region_south"]
    assert list(rating.index) == ["intercept", *levels]
    assert_allclose(rating["intercept"], rates["north"], rtol=1e-6)
    assert_allclose(rating[levels], rates / rates["north"], rtol=1e-6)


@pytest.mark.parametrize("tracked", [False, True])
def test_base_levels_are_where_the_encoder_would_have_them(tracked):
    table, exposure, counts = rated()
    table["rare"] = np.where(np.arange(len(table)) < 350, "a", np.arange(len(table)).astype(str))

    def columns(**options):
        words = ["region", "fuel", "rare"]
        part = OneHotEncoder(min_frequency=10, sparse_output=False, **options)
        steps = make_column_transformer((StandardScaler(), ["exposure"]), (part, words))
        return track_columns(steps) if tracked else steps

    X = table.assign(exposure=exposure)
    model = make_pipeline(columns(drop="first"), PoissonPD(1e-3)).fit(X, counts)
    found = coef_table(model)
    assert list(found.index) == ["intercept", *columns().fit(X).get_feature_names_out()]
    base = ["onehotencoder__" + name for name in ("region_east", "fuel_diesel", "rare_a")]
    assert found.loc[base, "proven_zero"].all() and not found.loc[base, "coef"].any()
    assert_array_equal(found.loc[base, INTERVAL], np.zeros((3, 2)))
    others = found.drop(index=[*base, "intercept"])
    assert_array_equal(others["coef"], model[-1].coef_)
    assert_array_equal(others[INTERVAL], model[-1].certificate_.coefficient_bounds)


def test_base_levels_that_later_steps_hide_are_left_out():
    table, _, counts = rated()
    encoder = OneHotEncoder(drop="first", sparse_output=False)
    model = make_pipeline(encoder, StandardScaler(), PoissonPD(1e-3)).fit(table, counts)
    names = ["intercept", "region_north", "region_south", "fuel_petrol"]
    assert list(coef_table(model).index) == names


def test_groups_of_base_levels_and_of_the_intercept_are_missing():
    table, _, counts = rated()
    model = PoissonPD(1e-3, penalty="group", groups="auto")
    model = make_pipeline(track_columns(OneHotEncoder(drop="first")), model).fit(table, counts)
    groups = coef_table(model)["group"]
    assert list(groups.dropna()) == ["region", "region", "fuel"]
    assert len(groups) == 6
    alone = coef_table(model[-1])  # which keeps the names of its features
    assert list(alone.index) == ["intercept", "region_north", "region_south", "fuel_petrol"]


def test_models_without_a_table():
    with pytest.raises(TypeError, match=r"an estimator of skpd with coef_, .* KernelPdproxSVC"):
        coef_table(KernelPdproxSVC().fit(FRAME, LABELS))
    with pytest.raises(TypeError, match="got StandardScaler"):
        coef_table(StandardScaler().fit(FRAME))
    with pytest.raises(NotFittedError):
        coef_table(LogisticPD())


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(), StandardScaler(with_mean=False), StandardScaler(with_std=False),
        RobustScaler(), RobustScaler(with_centering=False), MinMaxScaler((-1, 2)), MaxAbsScaler(),
        make_pipeline(SimpleImputer(), MinMaxScaler(), StandardScaler()),
        make_pipeline(make_pipeline(RobustScaler(), SimpleImputer()), StandardScaler()),
    ],
    ids=repr,
)  # fmt: skip
def test_original_units_predict_from_columns_as_they_were(scaler):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    model = make_pipeline(scaler, ElasticNetPD(alpha=0.1, l1_ratio=0.5, tol=1e-10)).fit(X, y)
    table = coef_table(model, units="original")
    assert_allclose(X @ table["coef"][1:] + table["coef"].iloc[0], model.predict(X), rtol=1e-9)
    inside = table.iloc[1:]
    assert (inside["optimum_from"] <= inside["coef"] + 1e-9).all()
    assert (inside["coef"] <= inside["optimum_to"] + 1e-9).all()


def test_original_units_of_some_columns_beside_categories():
    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame["sex"] = frame["sex"].map({1.0: "a", 2.0: "b"})
    X, y = frame[["bmi", "sex", "age"]], frame["target"]
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    steps = make_column_transformer(
        (numbers, ["age", "bmi"]), (OneHotEncoder(), ["sex"]), verbose_feature_names_out=False
    )
    for transformer in (steps, track_columns(steps)):
        model = make_pipeline(transformer, ElasticNetPD(alpha=0.1, tol=1e-10)).fit(X, y)
        coef = coef_table(model, units="original")["coef"]
        by_hand = coef["intercept"] + X["age"] * coef["age"] + X["bmi"] * coef["bmi"]
        by_hand += np.where(X["sex"] == "a", coef["sex_a"], coef["sex_b"])
        assert_allclose(by_hand, model.predict(X), rtol=1e-9)


def test_original_units_of_the_columns_that_a_selector_keeps():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    steps = StandardScaler(), SelectKBest(k=4), MinMaxScaler()
    model = make_pipeline(*steps, ElasticNetPD(alpha=0.1, tol=1e-10)).fit(X, y)
    coef, kept = coef_table(model, units="original")["coef"], model[1].get_support()
    assert_allclose(X[:, kept] @ coef[1:] + coef.iloc[0], model.predict(X), rtol=1e-9)


def test_scalers_before_a_column_transformer_stay():
    """It may take columns in another order, so that its features have the unit of its input."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    columns = make_column_transformer(("passthrough", [2, 0]), (PCA(2), [3, 4]))
    model = make_pipeline(StandardScaler(), columns, ElasticNetPD(alpha=0.1)).fit(X, y)
    assert_array_equal(
        coef_table(model, units="original")["coef"], coef_table(model)["coef"].to_numpy()
    )


def test_principal_components_stay_as_they_are():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    model = make_pipeline(StandardScaler(), PCA(), ElasticNetPD(alpha=0.1)).fit(X, y)
    assert_array_equal(
        coef_table(model, units="original")["coef"], coef_table(model)["coef"].to_numpy()
    )
    with pytest.raises(ValueError, match="units must be 'original' or None, got 'raw'"):
        coef_table(model, units="raw")


def test_models_inside_of_others():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    path = PathCV(LogisticPD(penalty="l1"), alphas=3)
    pipeline = make_pipeline(StandardScaler(), path).fit(X, y)
    inner = pipeline[-1].best_estimator_
    table = coef_table(pipeline)
    assert_array_equal(table["coef"][1:], inner.coef_[0])
    assert list(table.index[1:]) == list(X.columns)
    calibrated = CalibratedClassifierCV(
        make_pipeline(StandardScaler(), LogisticPD()), ensemble=False
    ).fit(X, y)
    own = calibrated.calibrated_classifiers_[0].estimator
    assert_array_equal(coef_table(calibrated)["coef"], coef_table(own)["coef"])
    several = CalibratedClassifierCV(LogisticPD(), cv=2).fit(X, y)
    with pytest.raises(TypeError, match=r"calibrated classifier \(ensemble=False\)"):
        coef_table(several)

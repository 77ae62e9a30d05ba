"""``python -m skpd``."""

import gzip
import inspect
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import (
    dump_svmlight_file,
    load_breast_cancer,
    load_diabetes,
    load_iris,
)
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skpd import PdproxRegressor, PdproxSVC
from skpd.__main__ import main


def table(text):
    """The rows of the printed table as lists of cells."""
    (part,) = [part for part in text.split("\n\n") if part.startswith("data ")]
    lines = part.splitlines()
    return [re.split(r" {2,}", line.strip()) for line in lines]


def test_demo(capsys):
    main(["--tol", "1e-2", "--estimator", "GroupLassoSVC"])
    head, cancer, digits = table(capsys.readouterr().out)
    assert head[:2] == ["data", "estimator"] and head[-2:] == ["certified gap", "seconds"]
    for row in (cancer, digits):
        assert row[1] == "GroupLassoSVC"
        constant, score, folds = float(row[2]), float(row[3]), row[4]
        assert constant < 0.7 < 0.9 < score and float(row[7]) <= 1e-2
        assert float(folds.split(" +- ")[0]) == pytest.approx(score, abs=0.06)


@pytest.mark.parametrize("suffix", ["", ".bz2", ".gz"])
def test_svmlight_file_and_plot(suffix, tmp_path, capsys):
    import bz2

    path, image = tmp_path / f"data.svm{suffix}", tmp_path / "gap.png"
    X, y = load_breast_cancer(return_X_y=True)
    with {"": open, ".bz2": bz2.open, ".gz": gzip.open}[suffix](path, "wb") as file:
        dump_svmlight_file(X, y, file)
    main([str(path), "--alpha", "0.01", "--tol", "1e-2", "--plot", str(image)])
    _, row = table(capsys.readouterr().out)
    assert row[0] == path.name and row[1] == "PdproxSVC" and float(row[3]) > 0.9
    assert image.read_bytes().startswith(b"\x89PNG")


def test_csv_file(tmp_path, capsys):
    path = tmp_path / "iris.csv"
    iris = load_iris(as_frame=True).frame
    iris["colour"] = np.where(iris.index % 2, "red", "blue")
    iris["target"] = np.array(["setosa", "versicolor", "virginica"])[iris["target"]]
    iris.to_csv(path, index=False)
    main([str(path), "--target", "target", "--groups", "2", "--tol", "1e-2"])
    _, first, second = table(capsys.readouterr().out)
    assert [first[1], second[1]] == ["PdproxSVC", "GroupLassoSVC"]
    assert first[5].endswith("of 18")  # three classes, four numbers and two colours
    saved = tmp_path / "model"
    arguments = ["--estimator", "GroupLassoSVC", "--groups", "auto", "--save", str(saved)]
    main([str(path), "--target", "target", *arguments])
    capsys.readouterr()
    groups = joblib.load(saved)[-1].groups_
    assert list(groups) == [*iris.columns[:4], "colour", "colour"]
    main([str(path), "--target", "sepal width (cm)", "--loss", "huber"])
    _, row = table(capsys.readouterr().out)
    assert row[1] == "PdproxRegressor"


def test_help_names_the_choices(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for name, estimator in (("loss", PdproxSVC), ("loss", PdproxRegressor), ("penalty", PdproxSVC),
                            ("solver", PdproxSVC)):  # fmt: skip
        parameter = inspect.signature(estimator).parameters[name]
        assert parameter.default in shown.split(f"--{name}")[2].replace(",", "").split()


def test_data_are_described(tmp_path, capsys):
    X, y = load_breast_cancer(return_X_y=True)
    path = tmp_path / "some.svm"
    dump_svmlight_file(X * (np.median(X, axis=0) < X), y, str(path))
    main([str(path), "--tol", "1e-2", "--folds", "0"])
    out = capsys.readouterr().out
    assert "some.svm: 569 rows, 30 columns, 50 % of the entries not 0, 2 classes of 212" in out
    constant, _, cross_validated = table(out)[1][2:5]
    assert float(constant) == pytest.approx(357 / 569, abs=0.01) and cross_validated == "-"


@pytest.mark.filterwarnings("ignore:PdproxRegressor ignores all features")
def test_scores_are_those_of_scikit_learn(tmp_path, capsys):
    path = tmp_path / "diabetes.csv"
    load_diabetes(as_frame=True, scaled=False).frame.to_csv(path, index=False)
    main([str(path), "--alpha", "1", "--tol", "1e-8", "--folds", "4"])
    row = table(capsys.readouterr().out)[1]
    X, y = load_diabetes(return_X_y=True, scaled=False)
    pipeline = make_pipeline(StandardScaler(), PdproxRegressor(alpha=1.0, tol=1e-8))
    folds = KFold(4, shuffle=True, random_state=0)
    scores = cross_val_score(pipeline, X, y, cv=folds)
    assert row[4] == f"{scores.mean():.4f} +- {scores.std():.4f}"
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    assert row[3] == f"{pipeline.fit(X_train, y_train).score(X_test, y_test):.4f}"
    assert float(row[2]) == pytest.approx(r2_score(y_test, 0 * y_test + y_train.mean()), abs=1e-4)


def test_a_saved_pipeline_takes_the_columns_of_the_file(tmp_path, capsys):
    iris = load_iris(as_frame=True).frame
    iris["colour"] = np.where(iris.index % 2, "red", "blue")
    iris["target"] = np.array(["setosa", "versicolor", "virginica"])[iris["target"]]
    path, saved = tmp_path / "iris.csv", tmp_path / "model"
    iris.to_csv(path, index=False)
    main([str(path), "--target", "target", "--save", str(saved)])
    out = capsys.readouterr().out
    assert f"saved {saved}" in out
    pipeline = joblib.load(saved)
    frame = iris.drop(columns="target").assign(colour="green")  # a word that was not in the file
    assert pipeline.score(frame, iris["target"]) == pytest.approx(float(table(out)[1][3]), abs=0.1)
    assert pipeline[-1].certificate_[0].relative_gap <= 1e-4


def test_a_constant_model_is_said(tmp_path, capsys, rng):
    """Once, of the fit that is reported and not of the folds."""
    table = np.column_stack([rng.normal(size=(200, 3)), rng.random(200) < 0.1])
    np.savetxt(tmp_path / "rare.csv", table, delimiter=",", header="a,b,c,y", comments="")
    main([str(tmp_path / "rare.csv")])
    printed = capsys.readouterr().out
    assert "0 of 3" in printed and printed.count("warning:") == 1
    assert "warning: PdproxSVC ignores all features: all coefficients are 0" in printed


def test_not_converged_is_said(capsys):
    main(["--estimator", "PdproxRegressor", "--max-iter", "5", "--tol", "1e-9"])
    assert "warning: PdproxRegressor did not converge" in capsys.readouterr().out


@pytest.mark.parametrize("arguments, message", [
    (["no such file"], "No such file"),
    (["--loss", "foo"], "'loss' parameter"),
    (["--alpha", "-1"], "'alpha' parameter"),
    (["--estimator", "GroupLassoSVC", "--penalty", "l1"], "no --penalty"),
    (["--plot", "no/such/folder.png"], "--plot"),
    (["--plot", "figure.foo"], "--plot"),
    (["file", "--save", "no/such/folder/model"], "--save must name a file in a folder that"),
    (["--estimator", "GroupLassoSVC", "--groups", "7"], "divide"),
])  # fmt: skip
def test_errors_are_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    error = capsys.readouterr().err.strip()
    assert message in error and "\n" not in error


def test_many_numbers_are_a_regression(tmp_path, capsys):
    path = tmp_path / "diabetes.svm"
    dump_svmlight_file(*load_diabetes(return_X_y=True), str(path))
    main([str(path), "--tol", "1e-2"])
    out = capsys.readouterr().out
    assert "214 distinct numbers: a regression" in out
    assert table(out)[1][1] == "PdproxRegressor"


def test_bad_files(tmp_path, capsys):
    words, missing = tmp_path / "words.svm", tmp_path / "missing.csv"
    words.write_text("these are words\n")
    pd.DataFrame({"a": [1.0, 4.0, 2.0, 3.0], "b": ["x", "y", None, "y"]}).to_csv(missing)
    for path, message in (
        (words, "not an svmlight file"),
        (missing, "the target 'b' misses 1 value"),
    ):
        with pytest.raises(SystemExit):
            main([str(path), "--test-size", "0.5"])
        assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([str(missing), "--target", "c"])
    assert "got 'c'" in capsys.readouterr().err


ROWS = "".join(f"{k}.5,{k % 3},w{k}\n" for k in range(12))
ODD_FILES = [
    ("empty.svm", b"", [], "0 row(s) of data"),
    ("one row.svm", b"1 1:2\n", [], "1 row(s) of data"),
    ("one class.svm", b"1 1:2\n" * 9, [], "the target is 1.0 in every row"),
    ("nan.svm", b"1 1:nan 2:inf\n0 1:1\n" * 3, [], "6 NaN or infinite value(s)"),
    ("nan target.svm", b"nan 1:1\n0 1:1\n", [], "1 NaN or infinite target(s)"),
    ("cut.gz", gzip.compress(b"1 1:2\n" * 9)[:-9], [], "Compressed file ended before"),
    ("corrupt.gz", gzip.compress(b"1 1:2\n" * 9, mtime=0)[:10] + b"\xff" * 9, [], "Error -3"),
    ("plain.bz2", b"1 1:2\n", [], "Invalid data stream"),
    ("empty.csv", b"", [], "not a CSV file with a header: No columns"),
    ("header.csv", b"a,b\n", [], "0 row(s) of data"),
    ("ragged.csv", b"a,b\n1,2\n1,2,3\n", [], "not a CSV file with a header"),
    ("infinite.csv", b"a,b\ninf,1\n2,0\n", [], "1 NaN or infinite value(s)"),
    ("rare.csv", f"a,b,c\n{ROWS}".encode(), [], "12 of 12 classes have 1 row, such as w0"),
    ("half.csv", f"a,b,c\n{ROWS}".encode(), ["--target", "a", "--estimator", "PdproxSVC"],
     "PdproxSVC needs labels as targets, words or whole numbers, got 0.5"),
    ("words.csv", f"a,b,c\n{ROWS}".encode(), ["--estimator", "PdproxRegressor"],
     "PdproxRegressor needs numbers as targets, got 'w0'"),
]  # fmt: skip


@pytest.mark.parametrize(
    "name, content, options, message", ODD_FILES, ids=[f[0] for f in ODD_FILES]
)
def test_odd_files_are_refused_in_one_line(name, content, options, message, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SystemExit) as caught:
        main([str(path), *options])
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert message in printed.err and "\n" not in printed.err.strip()
    if not options and name != "rare.csv":  # what is wrong is wrong with the file
        assert f"error: {path}: " in printed.err
    assert not printed.out


def test_labels_that_are_not_whole_are_a_regression(tmp_path, capsys):
    path = tmp_path / "half.csv"
    path.write_text(f"a,b,c\n{ROWS}")
    main([str(path), "--target", "a"])
    out = capsys.readouterr().out
    assert "12 distinct numbers, not all whole: a regression (labels must be whole)" in out
    assert table(out)[1][1] == "PdproxRegressor"


def test_ctrl_c_prints_what_is_done(monkeypatch, capsys):
    fits = []

    def interrupted(estimator, X, y, sample_weight=None):
        fits.append(estimator)
        if len(fits) > 1:
            raise KeyboardInterrupt
        return fit(estimator, X, y)

    fit = PdproxSVC.fit
    monkeypatch.setattr(PdproxSVC, "fit", interrupted)
    with pytest.raises(SystemExit) as caught:
        main(["--estimator", "PdproxSVC", "--tol", "1e-2"])
    assert caught.value.code == 130
    assert [row[0] for row in table(capsys.readouterr().out)] == ["data", "breast cancer"]


@pytest.mark.parametrize("options, message", [
    (["--save", "model"], "--save needs a FILE"), (["--folds", "1"], "--folds must be 0 or at"),
])  # fmt: skip
def test_options_that_do_not_go_together(options, message, capsys):
    with pytest.raises(SystemExit):
        main(options)
    assert message in capsys.readouterr().err


def test_only_one_pipeline_is_saved(tmp_path, capsys):
    path = tmp_path / "iris.svm"
    dump_svmlight_file(*load_iris(return_X_y=True), str(path))
    with pytest.raises(SystemExit):
        main([str(path), "--groups", "2", "--save", str(tmp_path / "model")])
    error = capsys.readouterr().err
    assert "one --estimator to fit, got ['PdproxSVC', 'GroupLassoSVC']" in error


def test_too_few_rows_for_folds(tmp_path, capsys):
    path = tmp_path / "few.svm"
    path.write_text("0.5 1:1\n1.5 1:2\n2.5 1:3\n")
    main([str(path), "--test-size", "0.6"])
    assert table(capsys.readouterr().out)[1][4] == "-"


def test_columns_are_standardised_and_filled(tmp_path, capsys, rng):
    """A column of years counts as much as others; medians and a word stand for what is missing."""
    n = 400
    frame = pd.DataFrame(
        {
            "year": rng.integers(2000, 2020, n).astype(float),
            "plan": rng.choice(["basic", "plus"], n),
            "noise": 1e6 * rng.normal(size=n),
        }
    )
    frame["price"] = (
        3.0 * (frame["year"] - 2010.0) + (frame["plan"] == "plus") + rng.normal(size=n)
    )
    frame.loc[5:30, "year"] = np.nan
    frame.loc[50:60, "plan"] = None
    path, model = tmp_path / "prices.csv", tmp_path / "model.joblib"
    frame.to_csv(path, index=False)
    main([str(path), "--alpha", "0.01", "--save", str(model), "--folds", "0"])
    printed = capsys.readouterr().out
    assert "2 columns of numbers standardised, 1 of words one-hot: 5 features" in printed
    assert "37 missing values filled" in printed
    saved = joblib.load(model)

    X = frame[["year", "noise"]].fillna(frame[["year", "noise"]].median())
    X = X.join(pd.get_dummies(frame["plan"].fillna("missing")).astype(float))
    train, _ = train_test_split(np.arange(n), test_size=0.25, random_state=0)
    medians = frame.loc[train, ["year", "noise"]].median()
    X[["year", "noise"]] = frame[["year", "noise"]].fillna(medians)
    scaled = StandardScaler().fit(X.loc[train, ["year", "noise"]])
    X[["year", "noise"]] = scaled.transform(X[["year", "noise"]])
    names = ["year", "noise", "basic", "missing", "plus"]
    own = PdproxRegressor(alpha=0.01).fit(X.loc[train, names].to_numpy(), frame["price"][train])
    expected = own.predict(X[names].to_numpy())
    np.testing.assert_allclose(saved.predict(frame.drop(columns="price")), expected, atol=0.05)
    assert saved[-1].coef_[0] > 10.0  # 3 a year

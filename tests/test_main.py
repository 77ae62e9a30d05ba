"""``python -m skpd``."""

import contextlib
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
)
from sklearn.linear_model import LogisticRegression, QuantileRegressor, Ridge
from sklearn.metrics import d2_pinball_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skpd
from skpd import PdproxRegressor
from skpd.__main__ import main


def blocks(text):
    """For each model that was printed its entries by their labels, and its coefficients."""
    for name, block in re.findall(r"(?m)^(\w+), fitted in [\d.]+ s\n((?:  .*\n)+)", text):
        entries = {"estimator": name}
        for line in block.splitlines():
            label, part = line[2:20].strip(), line[20:]
            if label:
                last = label
                entries[label] = part
            elif part.startswith("  "):
                entries.setdefault("coefficients", []).append(re.split(r" {2,}", part.strip()))
            else:
                entries[last] += f" {part}"
        yield entries


def score(entry):
    """The first number of an entry."""
    return float(entry.split()[0])


def test_demo(capsys):
    """One table of classes and one of numbers, with their verdicts."""
    main(["--folds", "0"])
    cancer, diabetes = blocks(capsys.readouterr().out)
    assert [cancer["estimator"], diabetes["estimator"]] == ["PdproxSVC", "PdproxRegressor"]
    assert score(cancer["accuracy"]) > 0.9 and "class: 0.629" in cancer["accuracy"]
    assert cancer["model"] == "loss hinge, penalty l1"
    assert {name for name, _ in diabetes["coefficients"]} == set(load_diabetes().feature_names)
    for block in (cancer, diabetes):
        assert block["in short"].startswith("converged") and len(block["coefficients"]) == 10


def test_demo_for_one_estimator(capsys):
    main(["--tol", "1e-2", "--estimator", "GroupLassoSVC", "--groups", "10"])
    out = capsys.readouterr().out
    (block,) = blocks(out)
    assert out.startswith("breast cancer") and block["estimator"] == "GroupLassoSVC"
    assert score(block["cross-validation"]) == pytest.approx(score(block["accuracy"]), abs=0.06)


def test_csv_file(tmp_path, capsys):
    path = tmp_path / "iris.csv"
    iris = load_iris(as_frame=True).frame
    iris["colour"] = np.where(iris.index % 2, "red", "blue")
    iris["target"] = np.array(["setosa", "versicolor", "virginica"])[iris["target"]]
    iris.to_csv(path, index=False)
    main([str(path), "--target", "target", "--groups", "2", "--tol", "1e-2"])
    (block,) = blocks(capsys.readouterr().out)
    assert block["estimator"] == "PdproxSVC"
    assert "of 6 have an effect" in block["features"]  # four numbers and two colours
    saved = tmp_path / "model"
    arguments = ["--estimator", "GroupLassoSVC", "--groups", "auto", "--save", str(saved)]
    main([str(path), "--target", "target", *arguments])
    capsys.readouterr()
    groups = joblib.load(saved)[-1].groups_
    assert list(groups) == [*iris.columns[:4], "colour", "colour"]
    main([str(path), "--target", "sepal width (cm)", "--loss", "huber"])
    (block,) = blocks(capsys.readouterr().out)
    assert block["estimator"] == "PdproxRegressor"


def test_data_are_described(tmp_path, capsys):
    path = tmp_path / "some.csv"
    load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    main([str(path), "--tol", "1e-2", "--folds", "0"])
    out = capsys.readouterr().out
    assert "some.csv: 569 rows, 30 columns; target: 2 classes of 212 to 357 rows" in out
    (block,) = blocks(out)
    assert "always the commonest class: 0.629" in block["accuracy"]  # 90 of 143
    assert "cross-validation" not in block


@pytest.mark.filterwarnings("ignore:PdproxRegressor ignores all features")
def test_scores_are_those_of_scikit_learn(tmp_path, capsys):
    path = tmp_path / "diabetes.csv"
    load_diabetes(as_frame=True, scaled=False).frame.to_csv(path, index=False)
    main([str(path), "--alpha", "1", "--tol", "1e-8", "--folds", "4"])
    (block,) = blocks(capsys.readouterr().out)
    X, y = load_diabetes(return_X_y=True, scaled=False)
    pipeline = make_pipeline(StandardScaler(), PdproxRegressor(alpha=1.0, tol=1e-8))
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    folds = KFold(4, shuffle=True, random_state=0)
    scores = cross_val_score(pipeline, X_train, y_train, cv=folds)
    assert block["cross-validation"] == f"{scores.mean():.3f} +- {scores.std():.3f} over folds"
    expected = pipeline.fit(X_train, y_train).score(X_test, y_test)
    assert block["R2"] == f"{expected:.3f} on 111 held-out rows; a constant: 0.000"


def test_alpha_is_chosen_by_cross_validation(tmp_path, capsys):
    """As GridSearchCV chooses it among the same values."""
    path, saved = tmp_path / "cancer.csv", tmp_path / "model"
    load_breast_cancer(as_frame=True).frame.to_csv(path, index=False)
    main([str(path), "--estimator", "LogisticPD", "--cv", "--save", str(saved), "--tol", "1e-6"])
    (block,) = blocks(capsys.readouterr().out)
    X, y = load_breast_cancer(return_X_y=True)
    X, _, y, _ = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    alphas = [joblib.load(saved)[-1].alpha * ratio for ratio in (0.01, 1.0, 100.0)]
    ridge = LogisticRegression(max_iter=1000, tol=1e-8)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ridge),
        {"logisticregression__C": [1.0 / (284 * alpha) for alpha in alphas]}, cv=folds,
    ).fit(X, y)  # fmt: skip
    assert block["alpha"] == f"{alphas[1]:.3g}; the best of --cv" and search.best_index_ == 1
    assert score(block["cross-validation"]) == pytest.approx(search.best_score_, abs=1e-3)


def test_coefficients_are_named(tmp_path, capsys):
    """The largest of those of scikit-learn, for the class where each is largest."""
    path = tmp_path / "wine.csv"
    wine = load_wine(as_frame=True)
    wine.frame.to_csv(path, index=False)
    main([str(path), "--estimator", "LogisticPD", "--alpha", "0.01", "--tol", "1e-8"])
    (block,) = blocks(capsys.readouterr().out)
    X, _, y, _ = train_test_split(
        wine.data, wine.target, test_size=0.25, random_state=0, stratify=wine.target
    )
    model = LogisticRegression(C=1.0 / (0.01 * len(y)), tol=1e-10, max_iter=10_000)
    coef = model.fit(StandardScaler().fit_transform(X), y).coef_
    order = np.argsort(-abs(coef).max(axis=0))[:10]
    largest = abs(coef).argmax(axis=0)
    assert [row[0] for row in block["coefficients"]] == [wine.feature_names[j] for j in order]
    assert [row[2] for row in block["coefficients"]] == [f"class {k}" for k in largest[order]]
    for row, j in zip(block["coefficients"], order, strict=True):
        assert float(row[1]) == pytest.approx(coef[largest[j], j], rel=6e-3)


def test_quantile(tmp_path, capsys):
    """Coefficients and score as those of scikit-learn's QuantileRegressor."""
    path = tmp_path / "diabetes.csv"
    load_diabetes(as_frame=True, scaled=False).frame.to_csv(path, index=False)
    main([str(path), "--quantile", "0.9", "--alpha", "0.05", "--tol", "1e-8", "--folds", "0"])
    (block,) = blocks(capsys.readouterr().out)
    X, y = load_diabetes(return_X_y=True, scaled=False, as_frame=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
    scaler = StandardScaler().fit(X)
    model = QuantileRegressor(quantile=0.9, alpha=0.05, solver="highs").fit(scaler.transform(X), y)
    expected = d2_pinball_score(y_test, model.predict(scaler.transform(X_test)), alpha=0.9)
    assert block["estimator"] == "QuantilePD"
    assert score(block["D2"]) == pytest.approx(expected, abs=1e-3)
    coef = dict(zip(X.columns, model.coef_, strict=True))
    assert len(block["coefficients"]) == np.count_nonzero(abs(model.coef_) > 1e-6)
    for name, printed in block["coefficients"]:
        assert float(printed) == pytest.approx(coef[name], rel=1e-2)


def test_lines_of_80_characters(tmp_path, capsys, rng):
    """The whole text, for a ridge regression whose solution is a formula."""
    a, b = rng.normal(size=(2, 100))
    frame = pd.DataFrame({"temperature at noon": a, "rain": 5.0 * b, "sales": 20.0 * a - b})
    frame.to_csv(tmp_path / "sales.csv", index=False)
    main([
        str(tmp_path / "sales.csv"), "--loss", "squared", "--penalty", "l2", "--alpha", "0.5",
        "--tol", "1e-12", "--folds", "0",
    ])  # fmt: skip
    X, X_test, y, y_test = train_test_split(
        frame.iloc[:, :2], frame["sales"], test_size=0.25, random_state=0
    )
    ridge = make_pipeline(StandardScaler(), Ridge(alpha=0.5 * len(y))).fit(X, y)
    coef, r2 = ridge[-1].coef_, ridge.score(X_test, y_test)
    low, high = frame["sales"].min(), frame["sales"].max()
    printed = capsys.readouterr().out
    assert (
        re.sub(r"[\d.]+ s\n", "0.01 s\n", printed)
        == f"""\
sales.csv: 100 rows, 2 columns; sales from {low:.6g} to {high:.6g}
  columns: 2 of numbers standardised
  the target has 100 distinct numbers, not all whole: a regression

PdproxRegressor, fitted in 0.01 s
  model             loss squared, penalty l2
  alpha             0.5; --cv chooses it by the data
  R2                {r2:.3f} on 25 held-out rows; a constant: 0.000
  certificate       finished: no model of this kind is better, within rounding
                    errors
  features          2 of 2 have an effect; the largest changes of sales by one
                    standard deviation:
                      temperature at noon  {coef[0]:>+8.3g}
                      rain                 {coef[1]:>+8.3g}
  in short          converged, and clearly better than a constant on other rows
"""
    )


@pytest.mark.parametrize("arguments", [
    ["--folds", "0"], ["--help"], ["{path}", "--folds", "2"],
    ["{path}", "--target", "word", "--max-iter", "1"],
])  # fmt: skip
def test_no_line_is_longer(arguments, tmp_path, capsys, monkeypatch, rng):
    monkeypatch.setenv("COLUMNS", "80")
    columns = {f"a long name of the column number {k} among all": rng.random(60) for k in range(9)}
    ids = {f"identifier number {k}": [f"name {j}" for j in range(60)] for k in range(30)}
    words = {"word": rng.choice(["one of several long words", "another one"], 60)}
    path = tmp_path / "a-long-name-of-a-file-with-data-that-were-written-down-yesterday.csv"
    pd.DataFrame(columns | ids | words | {"y": rng.random(60)}).to_csv(path)
    with contextlib.suppress(SystemExit):
        main([argument.format(path=path) for argument in arguments])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 10 and max(map(len, lines)) <= 80


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0 and capsys.readouterr().out == f"skpd {skpd.__version__}\n"


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
    (block,) = blocks(out)
    assert pipeline.score(frame, iris["target"]) == pytest.approx(
        score(block["accuracy"]), abs=0.1
    )
    assert pipeline[-1].certificate_[0].relative_gap <= 1e-4


def test_a_constant_model_is_said(tmp_path, capsys, rng):
    """Once, of the fit that is reported and not of the folds."""
    table = np.column_stack([rng.normal(size=(200, 3)), rng.random(200) < 0.1])
    np.savetxt(tmp_path / "rare.csv", table, delimiter=",", header="a,b,c,y", comments="")
    main([str(tmp_path / "rare.csv")])
    (block,) = blocks(capsys.readouterr().out)
    assert block["features"] == "0 of 3 have an effect" and "in short" not in block
    assert block["PROBLEMS"].startswith("PdproxSVC ignores all features: all coefficients are 0")
    assert block["PROBLEMS"].count("all coefficients are 0") == 1


def test_noise_is_not_well(tmp_path, capsys, rng):
    """A score above the constant's by luck is not taken for a better model."""
    frame = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    frame.assign(y=rng.permutation(np.repeat(["no", "yes"], 150))).to_csv(tmp_path / "noise.csv")
    main([str(tmp_path / "noise.csv")])
    (block,) = blocks(capsys.readouterr().out)
    assert block["PROBLEMS"].startswith("Not clearly better than a constant on other rows: --cv")


def test_not_converged_is_said(capsys):
    main(["--estimator", "PdproxRegressor", "--max-iter", "5", "--tol", "1e-9"])
    (block,) = blocks(capsys.readouterr().out)
    assert block["PROBLEMS"].startswith("PdproxRegressor did not converge")
    assert "Increase max_iter (now 5)" in block["PROBLEMS"]


@pytest.mark.parametrize("arguments, message", [
    (["no such file"], "No such file"),
    (["--loss", "foo"], "'loss' parameter"),
    (["--alpha", "-1"], "'alpha' parameter"),
    (["--estimator", "GroupLassoSVC", "--penalty", "l1"],
     "GroupLassoSVC has no parameter 'penalty'."),
    (["--quantile", "90"], "got [90.0]"),
    (["--target", "y"], "--target needs a FILE to fit to, got none"),
    (["--cv", "--alpha", "1"], "neither --alpha nor --folds 0"),
    (["--save", "model"], "--save needs a FILE"),
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
    path = tmp_path / "diabetes.csv"
    load_diabetes(as_frame=True).frame.to_csv(path, index=False)
    main([str(path), "--tol", "1e-2"])
    out = capsys.readouterr().out
    assert "214 distinct numbers: a regression" in out
    assert next(blocks(out))["estimator"] == "PdproxRegressor"


def test_counts(tmp_path, capsys, rng):
    """Numbers that occur once are no labels; the model of counts is named, and has a log."""
    frame = pd.DataFrame({"a": rng.normal(size=200)})
    frame["count"] = rng.poisson(np.exp(1.0 + frame["a"]))
    path = tmp_path / "counts.csv"
    frame.to_csv(path, index=False)
    main([str(path), "--folds", "0"])
    assert "PoissonPD for counts" in capsys.readouterr().out
    main([str(path), "--estimator", "PoissonPD", "--alpha", "1e-6", "--folds", "0"])
    (block,) = blocks(capsys.readouterr().out)
    assert "changes of log(count)" in block["features"]
    ((_, slope),) = block["coefficients"]
    assert float(slope) == pytest.approx(1.0, abs=0.15)


def test_amounts_that_are_often_0(tmp_path, capsys, rng):
    frame = pd.DataFrame({"a": rng.normal(size=200)})
    frame["amount"] = np.where(rng.random(200) < 0.5, 0.0, np.exp(2.0 * frame["a"]))
    path = tmp_path / "amounts.csv"
    frame.to_csv(path, index=False)
    main([str(path), "--folds", "0", "--quantile", "0.5", "--quantile", "0.9"])
    assert "quantile 0.9" in capsys.readouterr().out


def test_few_numbers_are_labels(tmp_path, capsys):
    path = tmp_path / "wine.csv"
    load_wine(as_frame=True).frame.to_csv(path, index=False)
    main([str(path), "--folds", "0"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "3 distinct numbers: labels (--estimator PdproxRegressor for quantities" in printed


def test_labels_that_are_not_whole_are_a_regression(tmp_path, capsys):
    path = tmp_path / "half.csv"
    rows = "".join(f"{k}.5,{k % 3},w{k % 2}\n" for k in range(12))
    path.write_text(f"a,b,c\n{rows}")
    main([str(path), "--target", "a"])
    out = capsys.readouterr().out
    assert "12 distinct numbers, not all whole: a regression" in out
    assert next(blocks(out))["estimator"] == "PdproxRegressor"


def test_ctrl_c_leaves_what_is_done(monkeypatch, capsys):
    def interrupted(estimator, X, y, sample_weight=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(PdproxRegressor, "fit", interrupted)
    with pytest.raises(SystemExit) as caught:
        main(["--tol", "1e-2", "--folds", "0"])
    assert caught.value.code == 130
    printed = capsys.readouterr()
    assert [block["estimator"] for block in blocks(printed.out)] == ["PdproxSVC"]
    assert printed.err == "python -m skpd: interrupted\n"


def test_too_few_rows_for_folds(tmp_path, capsys):
    path = tmp_path / "few.csv"
    path.write_text("a,b\n1,0.5\n3,1.5\n2,2.5\n")
    main([str(path)])
    (block,) = blocks(capsys.readouterr().out)
    assert "cross-validation" not in block

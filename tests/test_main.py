"""``python -m skpd``."""

import gzip
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import (
    dump_svmlight_file,
    load_breast_cancer,
    load_diabetes,
    load_iris,
)

from skpd import PdproxSVC
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
        assert float(row[2]) > 0.9 and float(row[5]) <= 1e-2


@pytest.mark.parametrize("suffix", ["", ".bz2", ".gz"])
def test_svmlight_file_and_plot(suffix, tmp_path, capsys):
    import bz2

    path, image = tmp_path / f"data.svm{suffix}", tmp_path / "gap.png"
    X, y = load_breast_cancer(return_X_y=True)
    with {"": open, ".bz2": bz2.open, ".gz": gzip.open}[suffix](path, "wb") as file:
        dump_svmlight_file(X, y, file)
    main([str(path), "--alpha", "0.01", "--tol", "1e-2", "--plot", str(image)])
    _, row = table(capsys.readouterr().out)
    assert row[0] == path.name and row[1] == "PdproxSVC" and float(row[2]) > 0.9
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
    assert first[3].endswith("of 18")  # three classes, four numbers and two colours
    main([str(path), "--target", "sepal width (cm)", "--loss", "huber"])
    _, row = table(capsys.readouterr().out)
    assert row[1] == "PdproxRegressor"


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
    pd.DataFrame({"a": [1.0, np.nan, 2.0, 3.0], "b": list("xyxy")}).to_csv(missing, index=False)
    for path, message in ((words, "not an svmlight file"), (missing, "column 'a' misses 1 value")):
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

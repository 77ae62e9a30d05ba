"""The files that ``python -m skpd`` reads."""

import gzip
import sys
from argparse import Namespace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skpd import PdproxRegressor
from skpd.__main__ import main
from skpd._read_files import columns_of_words, read


def options_of(path, target=None, drop=(), categorical=()):
    return Namespace(file=path, target=target, drop=list(drop), categorical=list(categorical))


@pytest.fixture
def sales(rng):
    """A frame with columns of all kinds, of which a model should use four."""
    n = 300
    return pd.DataFrame({
        "id": range(1000, n + 1000),
        "day": pd.date_range("2023-01-01", periods=n).strftime("%d.%m.%Y"),
        "price": rng.normal(10.0, 3.0, n).round(),
        "customer": [f"c{k}" for k in rng.permutation(n)],
        "city": rng.choice([f"city {k}" for k in range(40)], n),
        "same": 1,
        "weekend": rng.random(n) < 0.3,
        "month": rng.choice(["2023-01", "2023-02"], n),
        "sales": rng.normal(size=n).round(3),
    })  # fmt: skip


def test_columns_that_no_model_should_use(sales, tmp_path):
    path = tmp_path / "sales.csv"
    sales.to_csv(path)
    data = read(options_of(path, drop=["weekend"], categorical=["price"]))
    assert list(data.X) == ["price", "city", "month"] and data.target == "sales"
    assert columns_of_words(data.X) == ["price", "city", "month"]
    assert data.notes == (
        "left out: 'Unnamed: 0' (numbers of the rows), 'id' (numbers of the rows), "
        "'day' (300 different words), 'customer' (300 different words), 'same' (constant)",
    )


def test_many_words_share_an_indicator(sales, tmp_path, capsys):
    """Those that are not among the 19 most frequent of a column."""
    path = tmp_path / "sales.csv"
    frequent = sales["city"].value_counts().index[:19]
    sales["sales"] = 5.0 * ~sales["city"].isin(frequent) + sales["price"]
    sales.loc[:, ["price", "city", "sales"]].to_csv(path, index=False)
    main([str(path), "--folds", "0", "--alpha", "0.01"])
    assert "city = any other" in capsys.readouterr().out


def test_a_column_of_numbers_and_words(tmp_path, capsys):
    """Its numbers are words too, wherever in a long file they stand, and no warning is printed."""
    path = tmp_path / "long.csv"
    code, n = ["1"] * 150_000 + ["x"] * 150_000, 300_000
    pd.DataFrame({"code": code, "y": np.arange(n) % 2}).to_csv(path, index=False)
    assert set(read(options_of(path)).X["code"]) == {"1", "x"}


def test_without_pandas(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SystemExit) as caught:
        main(["table.csv"])
    error = capsys.readouterr().err
    assert caught.value.code == 2
    assert error.endswith("table.csv: a CSV file needs pandas: pip install pandas\n")


def test_bad_files(tmp_path, capsys):
    missing = tmp_path / "missing.csv"
    pd.DataFrame({"a": [1.0, 4.0, 2.0, 3.0], "b": ["x", "y", None, "y"]}).to_csv(missing)
    with pytest.raises(SystemExit):
        main([str(missing)])
    assert "the target 'b' misses 1 value" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([str(missing), "--target", "c"])
    assert "got 'c'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--drop", "y"], ["--categorical", "y"], ["--drop", "q"]])
def test_columns_that_are_no_others_are_refused(arguments, tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_text("a,b,y\n1,2,x\n3,4,z\n2,7,x\n5,1,z\n")
    with pytest.raises(SystemExit):
        main([str(path), *arguments])
    assert f"{arguments[1]!r} is none of the other columns ['a', 'b']" in capsys.readouterr().err
    options = options_of(path, drop=["a"], categorical=["a"])
    assert list(read(options).X) == ["b"]


ROWS = "".join(f"{k}.5,{k % 3},w{k}\n" for k in range(12))
ODD_FILES = [
    ("empty.csv", b"", [], "No columns to parse"),
    ("header.csv", b"a,b\n", [], "the target must differ between rows, got [] in 0 row(s)"),
    ("one row.csv", b"a,b\n1,2\n", [], "the target must differ between rows, got [2] in 1 row(s)"),
    ("one class.csv", b"a,b\n1,x\n4,x\n3,x\n", [], "got ['x'] in 3 row(s)"),
    ("ragged.csv", b"a,b\n1,2\n1,2,3\n", [], "Expected 2 fields in line 3, saw 3"),
    ("cut.csv.gz", gzip.compress(b"a,b\n1,2\n" * 9)[:-9], [], "Compressed file ended before"),
    ("corrupt.csv.gz", gzip.compress(b"1,2\n" * 9, mtime=0)[:10] + b"\xff" * 9, [], "Error -3"),
    ("latin.csv", "gr\xf6\xdfe,y\n1,2\n".encode("latin-1"), [], "'utf-8' codec can't decode"),
    ("spaces.csv", b"a b\n1 2\n3 4\n", [], "'a b' needs columns beside it, separated by commas"),
    ("rare.csv", f"a,b,c\n{ROWS}".encode(), [], "classes in y have only 1 member"),
    ("half.csv", f"a,b,c\n{ROWS}".encode(), ["--target", "a", "--estimator", "PdproxSVC"],
     "Unknown label type: continuous"),
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
    assert message in printed.err and "\n" not in printed.err.strip() and len(printed.err) < 400
    if not options and name != "rare.csv":  # what is wrong is wrong with the file
        assert f"error: {path}: " in printed.err
        assert not printed.out


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
    columns = "2 of numbers standardised, 1 of words one-hot encoded"
    assert f"columns: {columns}, 37 missing values filled" in " ".join(printed.split())
    saved = joblib.load(model)

    X = frame[["year", "noise"]].fillna(frame[["year", "noise"]].median())
    X = X.join(pd.get_dummies(frame["plan"].fillna("missing")).astype(float))
    train, _ = train_test_split(np.arange(n), test_size=0.25, random_state=0)
    medians = frame.loc[train, ["year", "noise"]].median()
    X[["year", "noise"]] = frame[["year", "noise"]].fillna(medians)
    scaled = StandardScaler().fit(X.loc[train, ["year", "noise"]])
    X[["year", "noise"]] = scaled.transform(X[["year", "noise"]])
    names = ["year", "noise", "basic", "plus", "missing"]
    assert "\n                      year " in printed
    own = PdproxRegressor(alpha=0.01).fit(X.loc[train, names].to_numpy(), frame["price"][train])
    expected = own.predict(X[names].to_numpy())
    np.testing.assert_allclose(saved.predict(frame.drop(columns="price")), expected, atol=0.05)
    assert saved[-1].coef_[0] > 10.0  # 3 a year

"""The files that ``python -m skpd`` reads."""

import gzip
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skpd import PdproxRegressor
from skpd.__main__ import main
from skpd._read_files import read


@pytest.fixture
def sales(rng):
    """A frame with columns of all kinds, of which a model should use four."""
    n = 300
    return pd.DataFrame({
        "id": range(1, n + 1),
        "day": pd.date_range("2023-01-01", periods=n).strftime("%d.%m.%Y"),
        "price": rng.normal(10.0, 3.0, n).round(2),
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
    data = read(path)
    assert list(data.X) == ["price", "city", "weekend", "month"] and data.target == "sales"
    assert data.notes == (
        "left out: 'Unnamed: 0' (numbers of the rows), 'id' (numbers of the rows), 'day' (dates), "
        "'customer' (300 different words), 'same' (constant)",
    )


@pytest.mark.parametrize(
    "days", ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d %B %Y", "%Y-%m-%dT%H:%M"]
)
def test_dates(days, sales, tmp_path):
    path = tmp_path / "sales.csv"
    sales["day"] = pd.to_datetime(sales["day"], dayfirst=True).dt.strftime(days)
    sales.loc[3:5, "day"] = None
    sales.to_csv(path, index=False)
    assert "'day' (dates)" in read(path).notes[0]


@pytest.mark.parametrize("name, options", [
    ("sales.csv", {}), ("sales.CSV.gz", {"compression": "gzip"}), ("sales.tsv", {"sep": "\t"}),
    ("sales.csv", {"sep": ";"}), ("sales.csv", {"sep": ";", "decimal": ","}),
    ("sales.csv", {"sep": "|", "header": False}), ("sales.tsv", {"sep": "\t", "decimal": ","}),
    ("sales.csv", {"sep": ";", "decimal": ",", "header": False}),
])  # fmt: skip
def test_text_files(name, options, sales, tmp_path):
    """What pandas has written is read back."""
    path = tmp_path / name
    frame = sales[["price", "city", "sales"]]
    frame.to_csv(path, index=False, **options)
    data = read(path)
    np.testing.assert_array_equal(data.X.to_numpy(), frame[["price", "city"]].to_numpy())
    np.testing.assert_array_equal(data.y, frame["sales"])
    headerless = options.get("header") is False
    assert list(data.X) == (["column 1", "column 2"] if headerless else ["price", "city"])
    assert ("the first row is taken as data: --header says otherwise" in data.notes) == headerless
    assert ("numbers are read with decimal commas" in data.notes) == ("decimal" in options)


def test_first_rows(tmp_path):
    """Numbers that count up are names, as pandas writes them for an array; options overrule."""
    path = tmp_path / "array.csv"
    table = np.array([[0.5, 2.5, 1.0], [1.5, 3.5, 2.0], [3.0, 0.0, 4.0]])
    pd.DataFrame(table).to_csv(path, index=False)
    assert len(read(path).y) == 3
    assert read(path).notes == ("the first row is taken as names: --no-header says otherwise",)
    assert len(read(path, header=False).y) == 4
    path.write_text("3,1,a\n1,2,b\n2,4,a\n5,1,b\n")
    assert len(read(path).y) == 4 and read(path).target == "column 3"
    assert len(read(path, header=True).y) == 3 and not read(path, header=True).notes


def test_parquet_file(sales, tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "sales.parquet"
    sales["day"] = pd.to_datetime(sales["day"], dayfirst=True)
    sales["city"] = sales["city"].astype("category")
    sales["text"] = pd.array(["a", None, "b"] * 100, dtype="string")
    sales["whole"] = pd.array([1, None, 2] * 100, dtype="Int64")
    sales.to_parquet(path)
    data = read(path, "sales")
    assert list(data.X) == ["price", "city", "weekend", "month", "text", "whole"]
    np.testing.assert_array_equal(data.y, sales["sales"])
    assert "'day' (dates)" in data.notes[0]


def test_a_parquet_file_is_fitted(sales, tmp_path, capsys):
    """With missing values of all types of pandas, and words that are rare."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "sales.parquet"
    sales["text"] = pd.array(["a", None, "b"] * 100, dtype="string")
    sales["whole"] = pd.array([1, None, 2] * 100, dtype="Int64")
    sales["sales"] = (
        3.0 * (sales["text"] == "a").fillna(False).astype(float) + 0.1 * sales["price"]
    )
    sales.to_parquet(path)
    main([str(path), "--target", "sales", "--folds", "0", "--alpha", "0.1"])
    printed = capsys.readouterr().out
    assert "text = a" in printed and "200 missing values filled" in " ".join(printed.split())


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
    assert set(read(path).X["code"]) == {"1", "x"}


def test_a_table_of_lists_is_refused(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = tmp_path / "lists.parquet"
    pd.DataFrame({"a": [[1], [2]] * 20, "y": [0, 1] * 20}).to_parquet(path)
    with pytest.raises(SystemExit) as caught:
        main([str(path)])
    error = capsys.readouterr().err
    assert (
        caught.value.code == 2
        and error.startswith("python -m skpd: error")
        and error.count("\n") == 1
    )


def test_without_pandas(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SystemExit) as caught:
        main(["table.csv"])
    error = capsys.readouterr().err
    assert caught.value.code == 2
    assert error.endswith("table.csv: tables need pandas, Parquet files pyarrow too\n")


def test_question_marks_are_missing(tmp_path):
    path = tmp_path / "marks.csv"
    path.write_text("a,b\n1.5,0\n?,1\n2.5,0\n")
    np.testing.assert_array_equal(read(path).X["a"], [1.5, np.nan, 2.5])


def test_headerless_iris(tmp_path, capsys):
    """As the UCI repository has it."""
    path = tmp_path / "iris.csv"
    iris = load_iris(as_frame=True)
    frame = iris.data.assign(kind=iris.target_names[iris.target])
    frame.to_csv(path, index=False, header=False)
    main([str(path), "--folds", "0"])
    assert "150 rows, 4 columns; column 5: 3 classes of 50 to 50" in capsys.readouterr().out


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
    ("empty.csv", b"", [], "not a table of the kind of its suffix: No columns"),
    ("header.csv", b"a,b\n", [], "0 row(s) of data"),
    ("ragged.csv", b"a,b\n1,2\n1,2,3\n", [], "not a table of the kind of its suffix"),
    ("data.json", b'[{"a": 1, "b": "' + 9999 * b"x" + b'"}]', [],
     "not an svmlight file, nor by its suffix a table (.csv, .tsv, .parquet): could not"),
    ("plain.parquet", b"a,b\n1,2\n", [], "not a table of the kind of its suffix"),
    ("latin.csv", "gr\xf6\xdfe,y\n1,2\n".encode("latin-1"), [], "'utf-8' codec can't decode"),
    ("spaces.csv", b"a b\n1 2\n3 4\n", [], "there is no column beside 'a b' to learn from"),
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
    columns = "2 of numbers standardised, 1 of words one-hot encoded (20 words each at most)"
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

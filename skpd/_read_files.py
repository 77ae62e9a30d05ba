"""Reading of data files for ``python -m skpd``, and the scaling of their columns."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

TABLES = (".csv", ".tsv", ".parquet")  # suffixes of files with named columns
SEPARATORS = "\t;|,"  # the first that divides the first row
MAX_LEVELS = 20  # different words of a column with an indicator each; the rest share one
MAX_DATES = 1000  # different words that are tried as dates
SHOWN = 60  # characters of a reader's message: some contain the file


@dataclass(frozen=True)
class Data:
    """Samples with their targets.

    Attributes
    ----------
    name : str
    X : ndarray, sparse matrix or data frame of shape (n_samples, n_columns)
    y : ndarray of shape (n_samples,)
    target : str
        What y is called.
    columns : sequence of str or None
        Names of the columns of an array.
    notes : tuple of str
        What was decided when the file was read.
    """

    name: str
    X: Any
    y: np.ndarray
    target: str = "target"
    columns: Sequence[str] | None = None
    notes: tuple[str, ...] = ()


def examples():
    """Two sets of data that scikit-learn carries: one with classes, one with numbers."""
    tumours, patients = load_breast_cancer(), load_diabetes(scaled=False)
    kinds = tumours.target_names[tumours.target]
    return [
        Data("breast cancer", tumours.data, kinds, "diagnosis", tumours.feature_names),
        Data("diabetes", patients.data, patients.target, "progression", patients.feature_names),
    ]


def read(path, target=None, header=None):
    """Read the data of a file.

    Parameters
    ----------
    path : str
    target : str or None
        Name of the column with the targets of a table; the last one by default.
    header : bool or None
        Whether the first row of a text file holds the names of the columns. By default it does
        if no cell is a number, or if its numbers count up, as in files of unnamed columns.

    Raises
    ------
    ValueError
        If numbers are not finite, or if all targets are equal. The message begins with the path.
    """
    try:
        if not is_table(path):
            return Data(Path(path).name, *read_svmlight(path))
        return prepared(Path(path).name, *read_table(path, header), target)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    except ImportError as error:
        raise ValueError(f"{path}: tables need pandas, Parquet files pyarrow too") from error
    except (EOFError, zlib.error, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def is_table(path):
    """Whether a file has named columns, by its suffix or the one before ``.gz`` and others."""
    return any(suffix.lower() in TABLES for suffix in Path(path).suffixes[-2:])


def read_svmlight(path):
    try:
        X, y = load_svmlight_file(path)  # also compressed
    except ValueError as error:
        tables = f"not an svmlight file, nor by its suffix a table ({', '.join(TABLES)})"
        raise ValueError(f"{tables}: {str(error)[:SHOWN]}") from error
    check_data(X, y)
    return X, y


def check_data(X, y):
    """Raise an error for data from which no estimator can learn."""
    if len(y) < 2:
        raise ValueError(f"{len(y)} row(s) of data, at least 2 are needed: to train and to test")
    values = X.data if sp.issparse(X) else X
    for name, numbers in (("value", values), ("target", y)):
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            n_bad = np.count_nonzero(~np.isfinite(numbers))
            raise ValueError(f"{n_bad} NaN or infinite {name}(s): mend or remove their rows")
    if (y == y[0]).all():
        raise ValueError(f"the target is {y[0]} in every row: there is nothing to learn")


def read_table(path, header):
    """A data frame from a text or Parquet file, and notes on how it was read."""
    import pandas as pd

    try:
        if str(path).lower().endswith(".parquet"):
            return pd.read_parquet(path), []
        rows = {sep: pd.read_csv(path, sep=sep, header=None, nrows=1) for sep in SEPARATORS}
        sep = next((sep for sep, row in rows.items() if row.shape[1] > 1), ",")
        first = rows[sep].iloc[0].astype(str).str.replace(",", ".")
        numbers = pd.to_numeric(first, errors="coerce").dropna()
        notes = []
        if header is None:
            header = numbers.empty or (len(numbers) > 1 and (numbers.diff()[1:] == 1.0).all())
            if not numbers.empty:
                kinds, other = ("names", "no-header") if header else ("data", "header")
                notes.append(f"the first row is taken as {kinds}: --{other} says otherwise")
        form = {"sep": sep, "header": 0 if header else None, "na_values": "?", "low_memory": False}
        marks = "." if sep == "," else ".,"
        frames = [pd.read_csv(path, decimal=mark, **form) for mark in marks]
    except ValueError as error:
        raise ValueError(f"not a table of the kind of its suffix: {str(error)[:SHOWN]}") from error
    frame = max(frames, key=lambda frame: frame.select_dtypes("number").shape[1])
    if not header:
        frame.columns = [f"column {k + 1}" for k in range(frame.shape[1])]
    if frame is not frames[0]:
        notes.append("numbers are read with decimal commas")
    return frame, notes


def prepared(name, frame, notes, target):
    """The data of a frame without the columns that no model should use."""
    frame.columns = frame.columns.map(str)
    target = frame.columns[-1] if target is None else target
    if target not in frame.columns:
        raise ValueError(f"--target must be one of {list(frame.columns)}, got {target!r}")
    n_missing = int(frame[target].isna().sum())
    if n_missing:
        raise ValueError(f"the target {target!r} misses {n_missing} value(s): remove their rows")
    y = frame.pop(target).to_numpy()
    reasons = {column: why_unusable(frame[column]) for column in frame}
    left_out = [f"{column!r} ({reason})" for column, reason in reasons.items() if reason]
    if left_out:
        notes = [*notes, f"left out: {', '.join(left_out)}"]
    frame = frame.drop(columns=[column for column, reason in reasons.items() if reason])
    if frame.shape[1] == 0:
        raise ValueError(
            f"there is no column beside {target!r} to learn from (columns are separated by "
            f"commas, semicolons, tabs or |) {'; '.join(notes)}"
        )
    words = columns_of_words(frame)
    frame[words] = frame[words].astype(object).where(frame[words].notna(), None)
    numbers = frame.drop(columns=words).to_numpy(dtype=np.float64, na_value=np.nan)
    check_data(np.where(np.isnan(numbers), 0.0, numbers), y)
    return Data(name, frame, y, target, notes=tuple(notes))


def why_unusable(column):
    """Why no model should use a column of a frame; an empty text where there is no reason."""
    import pandas as pd

    kind, present = column.dtype.kind, column.dropna()
    levels = (present if kind in "iuf" else present.astype(str)).unique()
    if len(levels) + column.hasnans <= 1 < len(column):
        return "constant"
    if kind in "iuf":
        counts = column.iloc[:1].isin([0, 1]).all() and (column.diff()[1:] == 1).all()
        return "numbers of the rows" if counts and len(column) > 2 else ""
    if kind in "mM":
        return "dates"
    if len(levels) <= MAX_LEVELS:
        return ""
    some = levels[:MAX_DATES]
    if pd.to_datetime(some, errors="coerce", format="mixed", dayfirst=True).notna().all():
        return "dates"
    return f"{len(levels)} different words" if 2 * len(levels) > len(column) else ""


def columns_of_words(X):
    """The columns of a data frame that do not hold numbers; an empty list for arrays."""
    plain = isinstance(X, np.ndarray) or sp.issparse(X)
    return [] if plain else list(X.select_dtypes(exclude="number").columns)


def preparation(X):
    """The steps of a pipeline that scale each column.

    In a data frame, missing numbers are replaced by the median of their column. Columns of words
    are one-hot encoded, with an indicator for missing words and one for all that are not among
    the most frequent. Sparse data remain sparse.
    """
    if sp.issparse(X):
        return [MaxAbsScaler()]
    if isinstance(X, np.ndarray):
        return [StandardScaler()]
    words = columns_of_words(X)
    numbers = [name for name in X.columns if name not in words]
    filled = SimpleImputer(strategy="median", keep_empty_features=True)
    encoded = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MAX_LEVELS,
        feature_name_combiner=name_of_indicator,
    )  # fmt: skip
    scaled = make_pipeline(filled, StandardScaler())
    return [make_column_transformer((scaled, numbers), (encoded, words))]


def name_of_indicator(column, level):
    """The name of the feature that is 1 where a column has a word."""
    others = {None: "missing", "infrequent_sklearn": "any other"}
    return f"{column} = {'missing' if level != level else others.get(level, level)}"


def describe_preparation(X):
    """A description of the steps of `preparation`."""
    if sp.issparse(X):
        return "each column divided by its largest size; x0 is the first"
    n_words = len(columns_of_words(X))
    n_missing = 0 if isinstance(X, np.ndarray) else int(X.isna().sum().sum())
    numbers = {
        "of numbers standardised": X.shape[1] - n_words,
        f"of words one-hot encoded ({MAX_LEVELS} words each at most)": n_words,
        "missing values filled": n_missing,
    }
    return "columns: " + ", ".join(f"{n} {what}" for what, n in numbers.items() if n)

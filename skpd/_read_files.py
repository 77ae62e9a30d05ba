"""The data of ``python -m skpd``, from a CSV file or scikit-learn, and the scaling of columns."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

MAX_LEVELS = 20  # different words of a column with an indicator each; the rest share one


@dataclass(frozen=True)
class Data:
    """Samples with their targets.

    Attributes
    ----------
    name : str
    X : ndarray or data frame of shape (n_samples, n_columns)
    y : ndarray of shape (n_samples,)
    target : str
        What y is called.
    columns : sequence of str or None
        Names of the columns of an array.
    notes : tuple of str
        What was decided when the file was read.
    """

    name: str
    X: object
    y: np.ndarray
    target: str
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


def read(options):
    """Read the data of a CSV file whose first row holds the names of the columns.

    Parameters
    ----------
    options : Namespace
        ``file``, the path; ``target``, the name of the column with the targets, the last one if it
        is None; ``drop``, columns to leave out; and ``categorical``, columns of numbers that
        stand for words.

    Raises
    ------
    ValueError
        If the file is no such table, or if no model can learn its target. The message begins with
        the path.
    """
    try:
        import pandas as pd

        return data_of_frame(pd.read_csv(options.file, low_memory=False), options)
    except ImportError as error:
        raise ValueError(f"{options.file}: a CSV file needs pandas: pip install pandas") from error
    except (EOFError, zlib.error, ValueError) as error:
        raise ValueError(f"{options.file}: {error}") from error


def data_of_frame(frame, options):
    """The data of a frame without the columns that no model should use."""
    target = frame.columns[-1] if options.target is None else options.target
    if target not in frame.columns:
        raise ValueError(f"--target must be one of {list(frame.columns)}, got {target!r}")
    if n_missing := int(frame[target].isna().sum()):
        raise ValueError(f"the target {target!r} misses {n_missing} value(s): remove their rows")
    y = frame.pop(target).to_numpy()
    for name in (*options.drop, *options.categorical):
        if name not in frame.columns:
            raise ValueError(f"{name!r} is none of the other columns {list(frame.columns)}")
    frame = frame.astype(dict.fromkeys(options.categorical, "category"))
    frame = frame.drop(columns=options.drop)
    reasons = {column: why_unusable(frame[column]) for column in frame}
    left_out = [f"{column!r} ({reason})" for column, reason in reasons.items() if reason]
    frame = frame.drop(columns=[column for column, reason in reasons.items() if reason])
    notes = (f"left out: {', '.join(left_out)}",) if left_out else ()
    if len(y) < 2 or (y == y[0]).all():
        raise ValueError(f"the target must differ between rows, got {y[:1]} in {len(y)} row(s)")
    if frame.shape[1] == 0:
        raise ValueError(f"{target!r} needs columns beside it, separated by commas, got none")
    words = columns_of_words(frame)
    frame[words] = frame[words].astype(object).where(frame[words].notna(), None)
    return Data(options.file.name, frame, y, target, notes=notes)


def why_unusable(column):
    """Why no model should use a column of a frame; an empty text where there is no reason."""
    n_levels, n_rows = column.nunique(), len(column)
    if n_levels < 2:
        return "constant"
    if column.dtype.kind in "iuf":
        return "numbers of the rows" if n_rows > 2 and (column.diff()[1:] == 1).all() else ""
    return f"{n_levels} different words" if n_levels > max(MAX_LEVELS, n_rows / 2) else ""


def columns_of_words(X):
    """The columns of a data frame that do not hold numbers; an empty list for arrays."""
    return [] if isinstance(X, np.ndarray) else list(X.select_dtypes(exclude="number").columns)


def preparation(X):
    """The steps of a pipeline that scale each column.

    In a data frame, missing numbers are replaced by the median of their column. Columns of words
    are one-hot encoded, with an indicator for missing words and one for all that are not among
    the most frequent.
    """
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

"""Reading of data files for ``python -m skpd``."""

import zlib
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler


def read(path, target):
    """Read the data (X, y) of a file.

    Raises
    ------
    ValueError
        If numbers are not finite, or if all targets are equal. The message begins with the path.
    """
    try:
        return read_csv(path, target) if is_csv(path) else read_svmlight(path)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    except (EOFError, zlib.error, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def read_svmlight(path):
    try:
        X, y = load_svmlight_file(path)  # also compressed
    except ValueError as error:
        raise ValueError(f"not an svmlight file: {error}") from error
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


def is_csv(path):
    return ".csv" in [suffix.lower() for suffix in Path(path).suffixes[-2:]]


def read_csv(path, target):
    """Read (X, y) from a CSV file, with X as a data frame."""
    try:
        import pandas as pd
    except ImportError:
        raise ValueError("reading a CSV file needs pandas: pip install pandas") from None
    try:
        frame = pd.read_csv(path)
    except ValueError as error:
        raise ValueError(f"not a CSV file with a header: {error}") from error
    target = frame.columns[-1] if target is None else target
    if target not in frame.columns:
        raise ValueError(f"--target must be one of {list(frame.columns)}, got {target!r}")
    n_missing = int(frame[target].isna().sum())
    if n_missing:
        raise ValueError(f"the target {target!r} misses {n_missing} value(s): remove their rows")
    y, frame = frame[target].to_numpy(), frame.drop(columns=target)
    if frame.shape[1] == 0:
        raise ValueError(f"no column beside {target!r}: are its values comma-separated?")
    numbers = frame.drop(columns=columns_of_words(frame)).to_numpy(dtype=np.float64)
    check_data(np.where(np.isnan(numbers), 0.0, numbers), y)
    return frame, y


def columns_of_words(X):
    """The columns of a data frame that do not hold numbers; an empty list for an array."""
    return [] if isinstance(X, np.ndarray) else list(X.select_dtypes(exclude="number").columns)


def preparation(X):
    """The steps of a pipeline that scale each column.

    In a data frame, missing numbers are replaced by the median of their column, and columns of
    words are one-hot encoded, with a category for missing words. Sparse data remain sparse.
    """
    if sp.issparse(X):
        return [MaxAbsScaler()]
    if isinstance(X, np.ndarray):
        return [StandardScaler()]
    words = columns_of_words(X)
    numbers = [name for name in X.columns if name not in words]
    filled = SimpleImputer(strategy="median", keep_empty_features=True)
    named = SimpleImputer(strategy="constant", fill_value="missing")
    encoded = OneHotEncoder(handle_unknown="ignore")
    return [
        ColumnTransformer([
            ("numbers", make_pipeline(filled, StandardScaler()), numbers),
            ("words", make_pipeline(named, encoded), words),
        ])
    ]  # fmt: skip


def describe_preparation(X, n_features):
    """A description of the steps of `preparation` and of the number of features after them."""
    if sp.issparse(X):
        return "each feature divided by its largest size"
    if isinstance(X, np.ndarray):
        return "features standardised"
    n_words, n_missing = len(columns_of_words(X)), int(X.isna().sum().sum())
    parts = []
    if n_words < X.shape[1]:
        parts.append(f"{_counted(X.shape[1] - n_words, 'column')} of numbers standardised")
    if n_words:
        parts.append(f"{n_words} of words one-hot")
    line = f"{', '.join(parts)}: {_counted(n_features, 'feature')}"
    if n_missing:
        line += (
            f"\n  {_counted(n_missing, 'missing value')} filled: medians, or a word of their own"
        )
    return line


def _counted(number, name):
    return f"{number} {name}" if number == 1 else f"{number} {name}s"

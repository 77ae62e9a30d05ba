"""Data in files, as ``python -m skpd`` takes them."""

import bz2
import gzip
import zlib
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

__all__ = ["is_csv", "preparation", "read"]


def read(path, target):
    """(X, y) of a file: finite numbers, and targets or labels that differ.

    Raises
    ------
    ValueError
        If it does not hold these; the message begins with the path.
    """
    try:
        return read_csv(path, target) if is_csv(path) else read_svmlight(path)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror or error}") from error
    except (EOFError, zlib.error, ValueError) as error:
        raise ValueError(f"{path}: {error}") from error


def read_svmlight(path):
    opener = {".bz2": bz2.open, ".gz": gzip.open}.get(Path(path).suffix, open)
    with opener(path, "rb") as file:
        try:
            X, y = load_svmlight_file(file)
        except ValueError as error:
            raise ValueError(f"not an svmlight file: {error}") from error
    check_data(X, y)
    return X, y


def check_data(X, y):
    """Refuse what no estimator can learn from."""
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
    """(X, y), X a data frame."""
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
    missing = frame.isna().sum()
    if missing.any():
        column = missing.idxmax()
        raise ValueError(f"column {column!r} misses {missing[column]} value(s): fill them first")
    y, frame = frame[target].to_numpy(), frame.drop(columns=target)
    if frame.shape[1] == 0:
        raise ValueError(f"no column beside {target!r}: are its values comma-separated?")
    words = frame.select_dtypes(exclude="number").columns
    numbers = frame.drop(columns=words).to_numpy(dtype=np.float64)
    check_data(numbers, y)
    return frame, y


def preparation(X):
    """The steps of a pipeline that bring data to a common scale, all columns by themselves.

    A column of words of a data frame makes one of zeros and ones for each word. Sparse data keep
    their zeros.
    """
    if sp.issparse(X):
        return [MaxAbsScaler()]
    words = [] if isinstance(X, np.ndarray) else X.select_dtypes(exclude="number").columns
    if len(words) == 0:
        return [StandardScaler()]
    encoder = OneHotEncoder(handle_unknown="ignore")
    numbers = [name for name in X.columns if name not in words]
    columns = ColumnTransformer([("numbers", "passthrough", numbers), ("words", encoder, words)])
    return [columns, MaxAbsScaler()]

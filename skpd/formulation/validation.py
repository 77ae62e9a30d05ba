"""Validation of data, so that compiled code may read them."""

from itertools import compress
from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import assert_all_finite, validate_data

from .._checks import require_unmasked, shown
from .._compat import _check_sample_weight, _check_y, _num_samples
from .._typing import Array, ArrayLike, Matrix, MatrixLike, PerRow
from ..designs import RowBlocks
from ..designs.products_with_tables import canonical

_DATA = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32]}
MOST_COLUMNS = 2**31  # for each of which there are several numbers, 16 GiB of them together
OF_OUTPUTS = "MultiTaskPD fits several targets, with tasks= also where rows lack some of them."
LARGEST = 1e70  # the product of the fourth powers of two such numbers does not overflow


def validated(estimator: BaseEstimator, X: MatrixLike, *y: ArrayLike, **options: Any) -> Any:
    """Validate X, or X and y, by `validate_data` of scikit-learn, safe for compiled code.

    With ``reset`` the estimator stores the precision of X, which its coefficients have.
    `RowBlocks` are returned as they are.

    Raises
    ------
    ValueError
        For RowBlocks if the estimator does not take them, or if y does not fit them.
    """
    X = _in_numpy(X)
    if isinstance(X, RowBlocks):
        arrays = _validated_blocks(estimator, X, *y, **options)
    else:
        arrays = _validated_table(estimator, X, *y, **options)
    if options.get("reset", True):
        precisions = getattr(X, "dtype", None), (arrays[0] if y else arrays).dtype
        estimator._precision = np.float32 if np.float32 in precisions else np.float64
    return arrays


def _validated_table(estimator: BaseEstimator, X: Matrix, *y: ArrayLike, **options: object) -> Any:
    X, targets = checked(X), tuple(map(of_one_type, y))
    try:
        arrays = validate_data(estimator, X, *targets, **options)
    except OverflowError:
        require_numbers("X", X)
        require_numbers("y", y[0])
        raise
    except (TypeError, ValueError) as error:
        if X is None or isinstance(X, str):
            raise ValueError(f"X must be a table of rows and features, got {shown(X)}.") from error
        words = _columns_of_words(X)
        if not words:
            if y and getattr(X, "ndim", 0) == 2:
                require_lengths(X=X, y=y[0])
            if "could not convert" in str(error) and options.get("y_numeric"):
                require_numbers("y", y[0])
            of_outputs = bool(y) and np.ndim(y[0]) == 2
            if of_outputs and ("1d array" in str(error) or "y contains NaN" in str(error)):
                raise ValueError(f"{error} {OF_OUTPUTS}") from error
            raise
        raise ValueError(
            f"X must hold numbers, but its columns {shown(words)} do not. "
            "Encode them by a OneHotEncoder in a pipeline: make_pipeline(make_column_transformer("
            f"(OneHotEncoder(handle_unknown='ignore'), {words[:3]}), remainder='passthrough'), "
            f"{type(estimator).__name__}())."
        ) from error
    return tuple(map(_aligned, arrays)) if isinstance(arrays, tuple) else _aligned(arrays)


def _columns_of_words(X: Matrix) -> list:
    """The names or numbers of the columns of a table that cannot be converted to numbers."""
    is_array = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OSU"
    columns = []
    for name in range(X.shape[1]) if is_array else getattr(X, "columns", ()):
        try:
            np.asarray(X[:, name] if is_array else X[name], dtype=np.float64)
        except ValueError:
            columns.append(name)
        except TypeError:  # other objects than words
            columns += [] if is_array else [name]
    return columns


def require_lengths(**arrays: object) -> None:
    """Raise a ValueError that names the arrays if their lengths differ; None stands for any."""
    lengths = {name: _num_samples(each) for name, each in arrays.items() if each is not None}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{length} in {name}" for name, length in lengths.items())
        raise ValueError(f"Found inconsistent numbers of samples: {counts}.")


def of_one_type(y: ArrayLike | None) -> Any:
    """Targets, after a check that all are numbers or all are strings.

    Raises
    ------
    ValueError
        If types are mixed; the message names the first value that differs, and its index.
    """
    require_unmasked("y", y)
    try:  # NumPy would make strings of the numbers in a list with strings
        values = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    except ValueError:  # scikit-learn raises the error for ragged lists
        return y
    if values.ndim and values.dtype.kind == "O":
        kind = str if values.size and isinstance(values.flat[0], str) else Number
        for index, value in zip(np.ndindex(values.shape), values.flat, strict=True):
            if not isinstance(value, kind):
                raise ValueError(
                    f"y must hold numbers alone or strings alone, got {value!r} in row {index[0]}."
                )
    return _in_numpy(y)


def validated_array(X: MatrixLike, **options: object) -> Any:
    """Validate an array by `check_array` of scikit-learn, safe for compiled code."""
    return _aligned(check_array(checked(_in_numpy(X)), **options))


def checked_weights(sample_weight: PerRow, X: Matrix | RowBlocks) -> Array:
    """Weights of the rows of X in float64, at least 0; 1 by default."""
    weights = given_weights(sample_weight, X)
    return np.ones(X.shape[0]) if weights is None else weights.astype(np.float64, copy=False)


def given_weights(sample_weight: PerRow, X: Matrix | RowBlocks) -> Array | None:
    """Valid weights of samples in their own precision, None if None are given."""
    if sample_weight is None:
        return None
    require_numbers("sample_weight", sample_weight)
    return _check_sample_weight(sample_weight, X, ensure_non_negative=True)


def require_numbers(name: str, values: ArrayLike) -> None:
    """Raise a ValueError that names a parameter unless it has numbers, none of them masked."""
    require_unmasked(name, values)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return
    try:
        with np.printoptions(legacy="1.25"):  # shows strings without the types of NumPy
            if np.asarray(values).dtype.kind == "c":
                raise TypeError("complex numbers have no order")
            np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold numbers, but {error}.") from error


def finite_targets(y: ArrayLike, estimator_name: str) -> Array:
    """Targets in float64, checked to be finite after None has become NaN."""
    _require_plain("y", y)
    require_numbers("y", y)
    y = np.require(y, np.float64, ["C", "A"])
    assert_all_finite(y, estimator_name=estimator_name, input_name="y")
    return y


def require_size(name: str, values: ArrayLike) -> None:
    """Raise a ValueError unless no product of two squares of values overflows."""
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"{name} must hold values of at most {LARGEST:g} in size, got {largest:.3g}: bring it "
            "to a smaller scale."
        )


def _validated_blocks(
    estimator: BaseEstimator, X: RowBlocks, *y: ArrayLike, reset: bool = True,
    multi_output: bool = False, y_numeric: bool = False, **_: object,
) -> Any:  # fmt: skip
    if not estimator._takes_blocks:
        raise ValueError(
            f"{type(estimator).__name__} takes X as an array or a sparse matrix, got RowBlocks. "
            "PdproxSVC, LogisticPD, GroupLassoSVC, PdproxRegressor, GroupLassoPD, "
            "LassoPDCertified, ElasticNetPD, ElasticNetPDClassifier, PoissonPD, GammaPD and "
            "TweediePD take these; gathered() copies them to memory."
        )
    check_features(estimator, X, *y, reset=reset)
    if not y:
        return X
    options = {"multi_output": multi_output, "y_numeric": y_numeric, "estimator": estimator}
    targets = _check_y(of_one_type(y[0]), **options)
    require_lengths(X=X, y=targets)
    return X, targets


def check_features(estimator: BaseEstimator, X: RowBlocks, *y: ArrayLike, reset: bool) -> None:
    """Set or check the number and the names of features, as scikit-learn's `validate_data`."""
    named = X if X.header is None else X.header
    validate_data(estimator, named, *y, reset=reset, skip_check_array=True)


def _aligned(array: Any) -> Any:
    """The array, copied if the addresses of its numbers are not multiples of their size."""
    if not sp.issparse(array):
        return np.require(array, requirements="A")
    parts = array.data, array.indices, array.indptr
    return array if all(part.flags.aligned for part in parts) else array.copy()


def _in_numpy(array: MatrixLike | None) -> Any:
    """A NumPy array of lists, and of arrays of other libraries under the array API dispatch.

    Raises
    ------
    ValueError
        For frames whose rows are not computed yet.
    """
    if hasattr(array, "collect"):
        name = type(array).__name__
        raise ValueError(f"A {name} has no rows yet: pass the frame that its collect() returns.")
    other = hasattr(array, "__array_namespace__") and not isinstance(array, np.ndarray)
    return np.asarray(array) if other or isinstance(array, list | tuple) else array


def checked(X: Any) -> Any:
    """X, in canonical format and after a check of the index arrays if it is sparse.

    Products read and write at these indices, and nobody may have checked that they fit. Formats
    without such arrays are converted to CSR. Several entries
    at one place are added, as kernels and norms take squares of entries.

    Raises
    ------
    ValueError
        If an index array is invalid, with what SciPy says of it; if values are masked, or if they
        are dates, which conversions would take for numbers.
    """
    if not sp.issparse(X) or X.ndim != 2:
        _require_plain("X", X)
        return X
    if X.shape[1] > MOST_COLUMNS:
        raise ValueError(f"X must have at most {MOST_COLUMNS} columns, got {X.shape[1]}.")
    if X.format not in ("coo", "csr", "csc", "bsr"):
        X = X.tocsr()
    is_coo = X.format == "coo"
    names = ("row", "col") if is_coo else ("indices", "indptr")
    for name in names:
        if (kind := getattr(X, name).dtype).kind not in "iu":
            raise ValueError(f"{name} of the sparse X must be whole numbers, got {kind}.")
    arrays = (X.row, X.col) if is_coo else (X.indices, X.indptr)
    try:
        same = type(X)((X.data, arrays) if is_coo else (X.data, *arrays), shape=X.shape)
        if not is_coo:
            same.check_format()
    except ValueError as error:
        raise ValueError(f"{' and '.join(names)} of the sparse X do not fit: {error}.") from error
    return X if is_coo else canonical(X)


def _require_plain(name: str, values: ArrayLike) -> None:
    """Raise a ValueError for what conversions take for numbers: masked values, dates and times.

    Types of NumPy and of pandas have a ``kind``, those of polars an ``is_temporal``.
    """
    require_unmasked(name, values)
    dtypes: Any = getattr(values, "dtypes", getattr(values, "dtype", None))
    types = np.atleast_1d(dtypes)
    is_date = [getattr(t, "kind", "-") in "mM" or getattr(t, "is_temporal", bool)() for t in types]
    if dates := list(compress(getattr(values, "columns", [name]), is_date)):
        raise ValueError(
            f"{name} must hold numbers, but dates or times are in {dates}: pass their differences "
            "from a date, divided by np.timedelta64(1, 'D'), or the year, the month and so on."
        )
